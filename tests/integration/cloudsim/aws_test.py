"""boto3 and the aws command line against cloudsim: python3 aws_test.py CLOUDSIM KITS"""

import json
import os
import subprocess
import sys
import unittest

import sim

if __name__ == "__main__":
    sim.SimTest.program = sys.argv[1]
    kits = os.path.abspath(sys.argv[2])
    sim.use_kits(kits)

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

FULL = ("AKIASIMFULL000000001", "sim/full/secret/key+aws", None)
READ_ONLY = ("AKIASIMREADONLY00001", "sim/readonly/secret/key+aws", None)
SESSION = ("ASIASIMTOKEN00000001", "sim/temporary/secret/key+aws", "sim-session-token-aws")
EXPIRED = ("ASIASIMEXPIRED000001", "sim/expired/secret/key+aws", "sim-expired-token-aws")
UBUNTU = "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id"


class AwsTest(sim.SimTest):
    def client(self, service="ec2", keys=FULL, region="us-east-1", attempts=1):
        return boto3.client(
            service,
            endpoint_url=self.sim.url,
            region_name=region,
            aws_access_key_id=keys[0],
            aws_secret_access_key=keys[1],
            aws_session_token=keys[2],
            config=Config(retries={"total_max_attempts": attempts}, parameter_validation=False),
        )

    def setUp(self):
        super().setUp()
        self.ec2 = self.client()
        self.image = self.client("ssm").get_parameter(Name=UBUNTU)["Parameter"]["Value"]

    def network(self, zone="us-east-1a"):
        vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = self.ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20", AvailabilityZone=zone)[
            "Subnet"
        ]["SubnetId"]
        return vpc, subnet

    def run_instances(self, count=1, **more):
        request = dict(
            MinCount=count,
            MaxCount=count,
            ImageId=self.image,
            InstanceType="t3.small",
            SubnetId=self.subnet,
        )
        return [
            each["InstanceId"]
            for each in self.ec2.run_instances(**{**request, **more})["Instances"]
        ]

    def wait(self, state, ids):
        def all_so():
            found = self.ec2.describe_instances(Filters=[{"Name": "instance-id", "Values": ids}])[
                "Reservations"
            ]
            states = [
                each["State"]["Name"] for reservation in found for each in reservation["Instances"]
            ]
            return len(states) == len(ids) and set(states) == {state}

        self.wait_for(all_so)

    def refused(self, code, status, call, *rest, **named):
        with self.assertRaises(ClientError) as met:
            call(*rest, **named)
        self.assertEqual(met.exception.response["Error"]["Code"], code)
        self.assertEqual(met.exception.response["ResponseMetadata"]["HTTPStatusCode"], status)


class LifeTest(AwsTest):
    def setUp(self):
        super().setUp()
        self.vpc, self.subnet = self.network()

    def test_create_stop_start_terminate_leaves_nothing_alive(self):
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "cluster", "Value": "a b&c"}]}]
        ids = self.run_instances(3, TagSpecifications=tags, UserData="#cloud-config\n")
        self.wait("running", ids)
        self.ec2.stop_instances(InstanceIds=ids[:1])
        self.wait("stopped", ids[:1])
        self.ec2.start_instances(InstanceIds=ids[:1])
        self.wait("running", ids)
        self.ec2.create_tags(Resources=ids, Tags=[{"Key": "more", "Value": "x"}])
        found = self.ec2.describe_instances(
            Filters=[
                {"Name": "tag:cluster", "Values": ["a b&c"]},
                {"Name": "tag-key", "Values": ["more"]},
            ]
        )
        self.assertEqual(sum(len(each["Instances"]) for each in found["Reservations"]), 3)
        self.ec2.terminate_instances(InstanceIds=ids)
        self.wait("terminated", ids)
        self.check_machines_left_nothing()
        self.assertGreater(self.sim.ask("books")["cost"], 0)

    def test_instances_are_paged_five_and_a_hundred_at_a_time_without_loss(self):
        ids = self.run_instances(23)
        self.wait("running", ids)
        for size, pages in ((5, 5), (100, 1)):
            seen = []
            for page in self.ec2.get_paginator("describe_instances").paginate(
                PaginationConfig={"PageSize": size}
            ):
                seen.append(
                    [
                        each["InstanceId"]
                        for reservation in page["Reservations"]
                        for each in reservation["Instances"]
                    ]
                )
            self.assertEqual(len(seen), pages)
            self.assertEqual(sorted(sum(seen, [])), sorted(ids))

    def test_a_new_instance_is_not_found_at_once(self):
        self.sim.tell("settings", {"listing_delay_ms": 60_000})
        ids = self.run_instances()
        self.refused(
            "InvalidInstanceID.NotFound", 400, self.ec2.describe_instances, InstanceIds=ids
        )
        self.sim.tell("advance", {"seconds": 60})
        self.ec2.describe_instances(InstanceIds=ids)

    def test_a_token_means_one_batch(self):
        ids = self.run_instances(2, ClientToken="t1")
        self.assertEqual(self.run_instances(2, ClientToken="t1"), ids)
        self.refused("IdempotentParameterMismatch", 400, self.run_instances, 3, ClientToken="t1")
        self.wait("running", ids)
        self.ec2.terminate_instances(InstanceIds=ids)
        self.wait("terminated", ids)
        self.refused("IdempotentInstanceTerminated", 400, self.run_instances, 2, ClientToken="t1")
        self.assertEqual(len(self.sim.ask("books")["instances"]), 2)

    def test_a_rehearsal_makes_nothing(self):
        self.refused("DryRunOperation", 412, self.run_instances, DryRun=True)
        self.assertEqual(self.sim.ask("books")["instances"], [])

    def test_no_stock_no_quota_no_such_type_here_and_a_low_spot_limit_are_told_apart(self):
        self.sim.tell(
            "stock", {"vendor": "aws", "zone": "us-east-1a", "type": "t3.small", "stock": 1}
        )
        self.assertEqual(len(self.run_instances(MinCount=1, MaxCount=4)), 1)
        self.refused("InsufficientInstanceCapacity", 500, self.run_instances)
        self.refused("Unsupported", 400, self.run_instances, InstanceType="p5en.48xlarge")
        self.sim.tell("quota", {"vendor": "aws", "group": "Standard", "limit": 4})
        self.refused("VcpuLimitExceeded", 400, self.run_instances, 2, InstanceType="m5.large")
        spot = {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.001"}}
        self.refused("SpotMaxPriceTooLow", 400, self.run_instances, InstanceMarketOptions=spot)

    def test_network_pieces_go_in_their_order_alone(self):
        ids = self.run_instances()
        self.wait("running", ids)
        self.refused("DependencyViolation", 400, self.ec2.delete_subnet, SubnetId=self.subnet)
        self.refused("DependencyViolation", 400, self.ec2.delete_vpc, VpcId=self.vpc)
        self.ec2.terminate_instances(InstanceIds=ids)
        self.wait("terminated", ids)
        gateway = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=self.vpc)
        self.refused(
            "DependencyViolation", 400, self.ec2.delete_internet_gateway, InternetGatewayId=gateway
        )
        self.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=self.vpc)
        self.ec2.delete_internet_gateway(InternetGatewayId=gateway)
        self.ec2.delete_subnet(SubnetId=self.subnet)
        self.ec2.delete_vpc(VpcId=self.vpc)
        self.assertEqual(
            [each["kind"] for each in self.sim.ask("books")["resources"] if each["alive"]], []
        )

    def test_efa_interfaces_are_as_many_as_the_type_has(self):
        group = self.ec2.create_placement_group(GroupName="near", Strategy="cluster")[
            "PlacementGroup"
        ]["GroupName"]

        def interfaces(count):
            return [
                {
                    "NetworkCardIndex": card,
                    "DeviceIndex": 0 if card == 0 else 1,
                    "InterfaceType": "efa",
                    "SubnetId": self.subnet,
                }
                for card in range(count)
            ]

        request = dict(
            MinCount=1,
            MaxCount=1,
            ImageId=self.image,
            InstanceType="p4d.24xlarge",
            Placement={"GroupName": group},
        )
        self.ec2.run_instances(NetworkInterfaces=interfaces(4), **request)
        self.refused(
            "InvalidNetworkCardIndex",
            400,
            self.ec2.run_instances,
            NetworkInterfaces=interfaces(5),
            **request,
        )
        public = interfaces(2)
        public[0]["AssociatePublicIpAddress"] = True
        self.refused(
            "InvalidParameterCombination",
            400,
            self.ec2.run_instances,
            NetworkInterfaces=public,
            **request,
        )
        self.refused(
            "InvalidPlacementGroup.InUse", 400, self.ec2.delete_placement_group, GroupName=group
        )

    def test_shutting_itself_down_terminates_where_so_ordered(self):
        ends, stops = (
            self.run_instances(InstanceInitiatedShutdownBehavior="terminate"),
            self.run_instances(),
        )
        self.wait("running", ends + stops)
        for each in ends + stops:
            self.sim.tell("shutdown", {"instance": each})
        self.wait("terminated", ends)
        self.wait("stopped", stops)

    def test_user_data_has_a_limit(self):
        self.run_instances(UserData="x" * 16384)
        self.refused("InvalidParameterValue", 400, self.run_instances, UserData="x" * 16385)

    def test_a_reset_after_the_action_took_effect_is_seen_again_by_its_token(self):
        self.sim.tell(
            "faults", [{"match": {"action": "RunInstances"}, "fault": {"kind": "reset_after"}}]
        )
        with self.assertRaises(ConnectionClosedError):
            self.run_instances(2, ClientToken="t")
        self.assertEqual(len(self.run_instances(2, ClientToken="t")), 2)
        self.assertEqual(len(self.sim.ask("books")["instances"]), 2)

    def test_botocore_retries_what_is_throttled(self):
        self.sim.tell(
            "faults",
            [
                {
                    "match": {"action": "DescribeInstances", "count": 2},
                    "fault": {"kind": "status", "status": 503},
                }
            ],
        )
        self.refused("RequestLimitExceeded", 503, self.ec2.describe_instances)
        self.client(attempts=4).describe_instances()
        codes = [
            call["code"]
            for call in self.sim.ask("calls")["calls"]
            if call["action"] == "DescribeInstances"
        ]
        self.assertEqual(codes, ["RequestLimitExceeded"] * 2 + [""])

    def test_the_rate_of_an_action_is_limited(self):
        self.sim.tell(
            "rate", {"vendor": "aws", "action": "DescribeVpcs", "burst": 2, "per_second": 0}
        )
        self.ec2.describe_vpcs()
        self.ec2.describe_vpcs()
        self.refused("RequestLimitExceeded", 503, self.ec2.describe_vpcs)


class EntryTest(AwsTest):
    def test_keys_that_are_wrong_unknown_expired_or_without_rights_are_told_apart(self):
        self.refused(
            "SignatureDoesNotMatch", 403, self.client(keys=(FULL[0], "x", None)).describe_regions
        )
        self.refused("AuthFailure", 401, self.client(keys=("x", "x", None)).describe_regions)
        self.refused("AuthFailure", 401, self.client(keys=(*SESSION[:2], "y")).describe_regions)
        self.refused("RequestExpired", 400, self.client(keys=EXPIRED).describe_regions)
        self.refused(
            "UnauthorizedOperation",
            403,
            self.client(keys=READ_ONLY).run_instances,
            MinCount=1,
            MaxCount=1,
            ImageId="x",
        )
        self.assertEqual(
            self.client("sts", SESSION).get_caller_identity()["Account"], "111122223333"
        )

    def test_a_clock_that_is_off_refuses(self):
        self.sim.tell("clock", {"skew_seconds": 900})
        self.refused("RequestExpired", 400, self.ec2.describe_regions)

    def test_quotas_prices_and_types_are_there(self):
        self.assertEqual(
            self.client("service-quotas").get_service_quota(
                ServiceCode="ec2", QuotaCode="L-417A185B"
            )["Quota"]["Value"],
            3072,
        )
        filters = [
            {"Type": "TERM_MATCH", "Field": "instanceType", "Value": "p4d.24xlarge"},
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"},
        ]
        prices = self.client("pricing").get_products(ServiceCode="AmazonEC2", Filters=filters)[
            "PriceList"
        ]
        self.assertEqual(
            json.loads(prices[0])["product"]["attributes"]["instanceType"], "p4d.24xlarge"
        )
        kind = self.ec2.describe_instance_types(InstanceTypes=["p5.48xlarge"])["InstanceTypes"][0]
        self.assertEqual(
            (
                kind["GpuInfo"]["Gpus"][0]["Count"],
                kind["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"],
            ),
            (8, 32),
        )

    def test_the_command_line_works_too(self):
        environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": FULL[0],
            "AWS_SECRET_ACCESS_KEY": FULL[1],
            "AWS_DEFAULT_REGION": "us-west-2",
            "AWS_ENDPOINT_URL": self.sim.url,
            "PYTHONPATH": os.path.join(kits, "site"),
            "AWS_CONFIG_FILE": "/dev/null",
        }
        words = [
            "ec2",
            "describe-availability-zones",
            "--query",
            "AvailabilityZones[].ZoneName",
            "--output",
            "text",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "awscli", *words],
            env=environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            done.stdout.split(), ["us-west-2a", "us-west-2b", "us-west-2c"], done.stderr
        )


class ViolationTest(AwsTest):
    wants_violations = True

    def test_what_no_client_would_send_is_refused_and_written_down(self):
        self.refused("InvalidAction", 400, self.ec2.describe_hosts)
        self.refused("MissingParameter", 400, self.ec2.create_vpc)
        self.refused("InvalidParameterValue", 400, self.ec2.describe_instances, MaxResults=2)
        self.refused(
            "InvalidParameterValue",
            400,
            self.ec2.describe_vpcs,
            Filters=[{"Name": "no-such", "Values": ["x"]}],
        )
        self.assertEqual(len(self.sim.ask("violations")["violations"]), 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
