"""What our client asks of EC2, asked by boto3 one call after another: cloud_boto3.py URL (instances
COUNT ZONE TYPE | plan TYPE... -- REGION...)

Prints seconds as JSON. PYTHONPATH leads to boto3, the environment has credentials.
"""

import json
import sys
import time

import boto3
from botocore.config import Config

CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 8})
IMAGE = "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id"
POLL = 0.5  # Seconds.


def client(url, service, region="us-east-1"):
    return boto3.client(service, endpoint_url=url, region_name=region, config=CONFIG)


def instances_of(ec2, vpc):
    pages = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "vpc-id", "Values": [vpc]}], PaginationConfig={"PageSize": 1000}
    )
    return [
        i
        for page in pages
        for reservation in page["Reservations"]
        for i in reservation["Instances"]
    ]


def create(url, count, zone, kind):
    ec2 = client(url, "ec2", zone[:-1])
    image = client(url, "ssm", zone[:-1]).get_parameter(Name=IMAGE)["Parameter"]["Value"]
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    table = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"][
        0
    ]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20", AvailabilityZone=zone)["Subnet"][
        "SubnetId"
    ]
    group = ec2.create_security_group(GroupName="bench", Description="bench", VpcId=vpc)["GroupId"]
    ec2.authorize_security_group_ingress(
        GroupId=group,
        IpPermissions=[
            {
                "IpProtocol": "tcp",
                "FromPort": 22,
                "ToPort": 22,
                "IpRanges": [{"CidrIp": "127.0.0.1/32"}],
            }
        ],
    )
    ec2.run_instances(
        ImageId=image,
        InstanceType=kind,
        MinCount=count,
        MaxCount=count,
        SubnetId=subnet,
        SecurityGroupIds=[group],
    )
    while sum(i["State"]["Name"] == "running" for i in instances_of(ec2, vpc)) < count:
        time.sleep(POLL)
    return ec2, vpc, gateway, subnet, group


def delete(ec2, vpc, gateway, subnet, group):
    ec2.terminate_instances(InstanceIds=[i["InstanceId"] for i in instances_of(ec2, vpc)])
    while any(i["State"]["Name"] != "terminated" for i in instances_of(ec2, vpc)):
        time.sleep(POLL)
    ec2.delete_security_group(GroupId=group)
    ec2.delete_subnet(SubnetId=subnet)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    ec2.delete_vpc(VpcId=vpc)


def main():
    url, what = sys.argv[1:3]
    if what == "plan":
        plan(url, sys.argv[3 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :])
        return
    began = time.monotonic()
    made = create(url, int(sys.argv[3]), *sys.argv[4:6])
    created = time.monotonic()
    delete(*made)
    print(json.dumps({"create": created - began, "delete": time.monotonic() - created}))


def plan(url, types, regions):
    began = time.monotonic()
    for region in regions:
        ec2 = client(url, "ec2", region)
        ec2.describe_instance_types(Filters=[{"Name": "instance-type", "Values": types}])
        ec2.describe_instance_type_offerings(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": types}]
        )
        client(url, "service-quotas", region).get_service_quota(
            ServiceCode="ec2", QuotaCode="L-417A185B"
        )
        for kind in types:
            client(url, "pricing").get_products(
                ServiceCode="AmazonEC2",
                Filters=[
                    {"Type": "TERM_MATCH", "Field": "instanceType", "Value": kind},
                    {"Type": "TERM_MATCH", "Field": "regionCode", "Value": region},
                ],
            )
    print(json.dumps({"plan": time.monotonic() - began}))


main()
