"""An account of moto's, through boto3: moto_account.py (prepare ROLE | look)

`prepare` gives the default network a way out, as every account of AWS has, and makes a role and its
profile of the name, where it is not empty. Both print an image, and how many things there are of
each kind, as JSON. PYTHONPATH leads to boto3, the environment to moto.
"""

import json
import sys

import boto3

REGION = "us-east-1"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}


def prepare(ec2, iam, role):
    vpc = ec2.describe_vpcs(Filters=[{"Name": "isDefault", "Values": ["true"]}])["Vpcs"][0]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    table = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"][
        0
    ]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    if role:
        iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps(TRUST))
        iam.create_instance_profile(InstanceProfileName=role)
        iam.add_role_to_instance_profile(InstanceProfileName=role, RoleName=role)


def image_of(ec2):
    """One of moto's own."""
    images = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"]
    return next(image["ImageId"] for image in images if "ubuntu" in image["Name"])


def things(ec2, iam):
    """Machines that have ended still show for a while; moto keeps their disks and interfaces too,
    which EC2 does not.
    """
    machines = [
        i
        for reservation in ec2.describe_instances()["Reservations"]
        for i in reservation["Instances"]
    ]
    return {
        "machines": sum(i["State"]["Name"] != "terminated" for i in machines),
        "networks": len(ec2.describe_vpcs()["Vpcs"]),
        "subnets": len(ec2.describe_subnets()["Subnets"]),
        "gateways": len(ec2.describe_internet_gateways()["InternetGateways"]),
        "route tables": len(ec2.describe_route_tables()["RouteTables"]),
        "security groups": len(ec2.describe_security_groups()["SecurityGroups"]),
        "key pairs": len(ec2.describe_key_pairs()["KeyPairs"]),
        "roles": len(iam.list_roles()["Roles"]),
        "instance profiles": len(iam.list_instance_profiles()["InstanceProfiles"]),
    }


def main():
    ec2, iam = boto3.client("ec2", region_name=REGION), boto3.client("iam", region_name=REGION)
    if sys.argv[1] == "prepare":
        prepare(ec2, iam, sys.argv[2])
    print(json.dumps({"image": image_of(ec2), "things": things(ec2, iam)}))


main()
