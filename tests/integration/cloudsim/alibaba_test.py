"""Alibaba Cloud's Python kits against cloudsim: python3 alibaba_test.py CLOUDSIM KITS"""

import base64
import datetime
import json
import re
import sys
import unittest

import sim

if __name__ == "__main__":
    sim.SimTest.program = sys.argv[1]
    sim.use_kits(sys.argv[2])

from alibabacloud_ecs20140526 import models as ecs_models
from alibabacloud_ecs20140526.client import Client as EcsClient
from alibabacloud_tea_openapi.utils_models import Config
from alibabacloud_vpc20160428 import models as vpc_models
from alibabacloud_vpc20160428.client import Client as VpcClient
from darabonba.exceptions import DaraException

FULL = ("LTAI5tSimFull00000000001", "simFullSecretKeyAlibaba000001", None)
READ_ONLY = ("LTAI5tSimReadOnly0000001", "simReadOnlySecretKeyAlibaba01", None)
SESSION = ("STS.SimToken000000000001", "simTokenSecretKeyAlibaba00001", "sim-session-token-alibaba")
EXPIRED = ("STS.SimExpired0000000001", "simExpiredSecretKeyAlibaba001", "sim-expired-token-alibaba")
KITS = {"ecs": (EcsClient, ecs_models), "vpc": (VpcClient, vpc_models)}
REGION, ZONE = "cn-hangzhou", "cn-hangzhou-h"
IMAGE = "ubuntu_22_04_x64_20G_alibase_20260610.vhd"


class AlibabaTest(sim.SimTest):
    def call(self, service, action, keys=FULL, region=REGION, **body):
        kind, models = KITS[service]
        client = kind(
            Config(
                access_key_id=keys[0],
                access_key_secret=keys[1],
                security_token=keys[2],
                region_id=region,
                endpoint=f"127.0.0.1:{self.sim.port}",
                protocol="http",
            )
        )
        request = getattr(models, action + "Request")()
        names = request.__init__.__code__.co_varnames
        request.from_map({**({"RegionId": region} if "region_id" in names else {}), **body})
        # "DescribeVSwitches" is describe_vswitches to the kit.
        method = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", action).lower()
        return getattr(client, method)(request).body.to_map()

    def refused(self, code, *words, **body):
        with self.assertRaises(DaraException) as met:
            self.call(*words, **body)
        self.assertEqual(met.exception.code, code)

    def network(self):
        self.vpc = self.call("vpc", "CreateVpc", VpcName="v", CidrBlock="10.0.0.0/16")["VpcId"]
        self.available("DescribeVpcs", "Vpcs", "Vpc", VpcId=self.vpc)
        self.vswitch = self.call(
            "vpc",
            "CreateVSwitch",
            VpcId=self.vpc,
            VSwitchName="s",
            CidrBlock="10.0.0.0/20",
            ZoneId=ZONE,
        )["VSwitchId"]
        self.available("DescribeVSwitches", "VSwitches", "VSwitch", VSwitchId=self.vswitch)
        self.group = self.call("ecs", "CreateSecurityGroup", VpcId=self.vpc, SecurityGroupName="g")[
            "SecurityGroupId"
        ]

    def available(self, action, outer, inner, **names):
        self.wait_for(
            lambda: (
                [each["Status"] for each in self.call("vpc", action, **names)[outer][inner]]
                == ["Available"]
            )
        )

    def order(self, **more):
        return {
            **dict(
                ZoneId=ZONE,
                ImageId=IMAGE,
                InstanceType="ecs.g7.large",
                Amount=1,
                VSwitchId=self.vswitch,
                SecurityGroupId=self.group,
            ),
            **more,
        }

    def run_instances(self, **more):
        return self.call("ecs", "RunInstances", **self.order(**more))["InstanceIdSets"][
            "InstanceIdSet"
        ]

    def described(self, **names):
        return self.call("ecs", "DescribeInstances", **{"MaxResults": 100, **names})["Instances"][
            "Instance"
        ]

    def wait(self, state, ids):
        def all_so():
            found = self.described(InstanceIds=json.dumps(ids))
            return [each["Status"] for each in found] == [state] * len(ids) if state else not found

        self.wait_for(all_so)


class LifeTest(AlibabaTest):
    def setUp(self):
        super().setUp()
        self.network()

    def test_create_stop_start_delete_leaves_nothing_alive(self):
        ids = self.run_instances(
            Amount=12,
            MinAmount=12,
            InstanceName="n-[5,3]-x",
            Tag=[{"Key": "cluster", "Value": "c"}],
            InternetMaxBandwidthOut=5,
            UserData=base64.b64encode(b"x").decode(),
        )
        self.wait("Running", ids)
        pages, token = [], None
        while token != "":
            more = {"NextToken": token} if token else {}
            page = self.call(
                "ecs",
                "DescribeInstances",
                Tag=[{"Key": "cluster", "Value": "c"}],
                MaxResults=5,
                **more,
            )
            pages.append(page["Instances"]["Instance"])
            token = page.get("NextToken", "")
        found = [each for page in pages for each in page]
        self.assertEqual([len(page) for page in pages], [5, 5, 2])
        self.assertEqual(sorted(each["InstanceId"] for each in found), sorted(ids))
        self.assertEqual(
            sorted(each["InstanceName"] for each in found), [f"n-{n:03}-x" for n in range(5, 17)]
        )
        self.assertEqual(found[0]["Tags"]["Tag"], [{"TagKey": "cluster", "TagValue": "c"}])
        self.assertEqual(len(found[0]["PublicIpAddress"]["IpAddress"]), 1)
        self.call("ecs", "StopInstances", InstanceId=ids[:1], StoppedMode="StopCharging")
        self.wait("Stopped", ids[:1])
        self.assertEqual(
            self.described(InstanceIds=json.dumps(ids[:1]))[0]["PublicIpAddress"]["IpAddress"], []
        )
        self.refused("IncorrectInstanceStatus", "ecs", "StopInstances", InstanceId=ids)
        self.call("ecs", "StartInstances", InstanceId=ids[:1])
        self.wait("Running", ids)
        self.refused("IncorrectInstanceStatus", "ecs", "DeleteInstances", InstanceId=ids)
        self.call("ecs", "DeleteInstances", InstanceId=ids, Force=True)
        self.wait(None, ids)
        self.refused(
            "InvalidInstanceId.NotFound", "ecs", "DeleteInstances", InstanceId=ids[:1], Force=True
        )
        self.check_machines_left_nothing()

    def test_a_token_means_one_batch_of_one_kind(self):
        ids = self.run_instances(Amount=2, ClientToken="t")
        self.assertEqual(self.run_instances(Amount=2, ClientToken="t"), ids)
        self.refused(
            "IdempotentParameterMismatch",
            "ecs",
            "RunInstances",
            **self.order(Amount=3, ClientToken="t"),
        )
        self.assertEqual(self.sim.ask("books")["instances_alive"], 2)
        vpc = self.call("vpc", "CreateVpc", ClientToken="v")["VpcId"]
        self.assertEqual(self.call("vpc", "CreateVpc", ClientToken="v")["VpcId"], vpc)

    def test_stock_quota_zone_and_price_are_told_apart(self):
        self.sim.tell(
            "stock", {"vendor": "alibaba", "zone": ZONE, "type": "ecs.g7.large", "stock": 2}
        )
        self.refused("OperationDenied.NoStock", "ecs", "RunInstances", **self.order(Amount=3))
        self.assertEqual(len(self.run_instances(Amount=3, MinAmount=1)), 2)
        self.refused(
            "Zone.NotOnSale",
            "ecs",
            "RunInstances",
            **self.order(InstanceType="ecs.ebmgn8is.32xlarge"),
        )
        spot = dict(SpotStrategy="SpotWithPriceLimit", SpotPriceLimit=0.001)
        self.refused(
            "InvalidSpotPriceLimit.LowerThanPublicPrice",
            "ecs",
            "RunInstances",
            **self.order(**spot),
        )
        stock = self.call(
            "ecs",
            "DescribeAvailableResource",
            DestinationResource="InstanceType",
            InstanceType="ecs.g7.large",
            ZoneId=ZONE,
        )
        resource = stock["AvailableZones"]["AvailableZone"][0]["AvailableResources"][
            "AvailableResource"
        ][0]
        self.assertEqual(
            resource["SupportedResources"]["SupportedResource"][0]["StatusCategory"], "WithoutStock"
        )
        self.sim.tell("quota", {"vendor": "alibaba", "group": "vcpu", "limit": 0})
        self.refused(
            "QuotaExceed.ElasticQuota",
            "ecs",
            "RunInstances",
            **self.order(InstanceType="ecs.t6-c1m1.large"),
        )

    def test_a_rehearsal_is_an_error_and_makes_nothing(self):
        self.refused("DryRunOperation", "ecs", "RunInstances", **self.order(DryRun=True))
        self.assertEqual(self.sim.ask("books")["instances"], [])
        ids = self.run_instances()
        self.wait("Running", ids)
        self.refused("DRYRUN.SUCCESS", "ecs", "StopInstances", InstanceId=ids, DryRun=True)
        self.wait("Running", ids)

    def test_user_data_has_32_kilobytes_at_most(self):
        def data(size):
            return base64.b64encode(b"x" * size).decode()

        self.run_instances(UserData=data(32768))
        self.refused(
            "InvalidUserData.SizeExceeded",
            "ecs",
            "RunInstances",
            **self.order(UserData=data(32769)),
        )

    def test_the_clouds_own_timer_releases(self):
        def at(minutes):
            when = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(
                minutes=minutes
            )
            return when.strftime("%Y-%m-%dT%H:%M:%SZ")

        self.refused(
            "InvalidAutoReleaseTime.Malformed",
            "ecs",
            "RunInstances",
            **self.order(AutoReleaseTime=at(20)),
        )
        ids = self.run_instances(AutoReleaseTime=at(40))
        self.wait("Running", ids)
        self.call("ecs", "ModifyInstanceAutoReleaseTime", InstanceId=ids[0], AutoReleaseTime=at(60))
        self.sim.tell("advance", {"seconds": 45 * 60})
        self.wait("Running", ids)
        self.sim.tell("advance", {"seconds": 16 * 60})
        self.wait(None, ids)

    def test_elastic_rdma_is_for_types_that_have_it(self):
        primary = {
            "InstanceType": "Primary",
            "VSwitchId": self.vswitch,
            "SecurityGroupId": self.group,
            "NetworkInterfaceTrafficMode": "HighPerformance",
        }
        order = {**self.order(), "NetworkInterface": [primary]}
        del order["VSwitchId"], order["SecurityGroupId"]
        self.refused("InvalidParameter.NetworkInterfaceTrafficMode", "ecs", "RunInstances", **order)

    def test_network_pieces_go_in_their_order_alone(self):
        ids = self.run_instances()
        self.wait("Running", ids)
        self.refused("DependencyViolation", "vpc", "DeleteVSwitch", VSwitchId=self.vswitch)
        self.refused(
            "DependencyViolation", "ecs", "DeleteSecurityGroup", SecurityGroupId=self.group
        )
        self.call("ecs", "DeleteInstances", InstanceId=ids, Force=True)
        self.wait(None, ids)
        self.call("ecs", "DeleteSecurityGroup", SecurityGroupId=self.group)
        self.refused("DependencyViolation", "vpc", "DeleteVpc", VpcId=self.vpc)
        self.call("vpc", "DeleteVSwitch", VSwitchId=self.vswitch)
        self.call("vpc", "DeleteVpc", VpcId=self.vpc)
        self.assertEqual(
            [each["kind"] for each in self.sim.ask("books")["resources"] if each["alive"]], []
        )

    def test_rules_and_tags_come_and_go(self):
        rules = [
            {
                "IpProtocol": "TCP",
                "PortRange": "22/22",
                "SourceCidrIp": "192.0.2.1/32",
                "Policy": "accept",
            },
            {"IpProtocol": "ALL", "PortRange": "-1/-1", "SourceGroupId": self.group},
        ]
        self.call("ecs", "AuthorizeSecurityGroup", SecurityGroupId=self.group, Permissions=rules)
        self.call("ecs", "AuthorizeSecurityGroup", SecurityGroupId=self.group, Permissions=rules)
        there = self.call("ecs", "DescribeSecurityGroupAttribute", SecurityGroupId=self.group)[
            "Permissions"
        ]["Permission"]
        self.assertEqual([rule["PortRange"] for rule in there], ["22/22", "-1/-1"])
        ids = self.run_instances()
        self.wait("Running", ids)
        self.call(
            "ecs",
            "TagResources",
            ResourceType="instance",
            ResourceId=ids,
            Tag=[{"Key": "k", "Value": "v"}],
        )
        self.assertEqual(
            [each["InstanceId"] for each in self.described(Tag=[{"Key": "k", "Value": "v"}])], ids
        )
        self.call("ecs", "UntagResources", ResourceType="instance", ResourceId=ids, TagKey=["k"])
        self.assertEqual(self.described(Tag=[{"Key": "k"}]), [])


class EntryTest(AlibabaTest):
    def test_keys_that_are_wrong_unknown_expired_or_without_rights_are_told_apart(self):
        self.refused("SignatureDoesNotMatch", "ecs", "DescribeRegions", (FULL[0], "x", None))
        self.refused("InvalidAccessKeyId.NotFound", "ecs", "DescribeRegions", ("x", "x", None))
        self.refused("InvalidSecurityToken.Expired", "ecs", "DescribeRegions", EXPIRED)
        self.refused("Forbidden.RAM", "ecs", "RunInstances", READ_ONLY)
        self.refused("InvalidRegionId.NotFound", "ecs", "DescribeZones", region="xx-nowhere")
        self.assertIn(
            REGION,
            [
                each["RegionId"]
                for each in self.call("ecs", "DescribeRegions", SESSION)["Regions"]["Region"]
            ],
        )

    def test_a_clock_that_is_off_refuses(self):
        self.sim.tell("clock", {"skew_seconds": -1800})
        self.refused("InvalidTimeStamp.Expired", "ecs", "DescribeRegions")

    def test_the_rate_of_an_action_is_limited(self):
        self.sim.tell(
            "rate", {"vendor": "alibaba", "action": "DescribeRegions", "burst": 1, "per_second": 0}
        )
        self.call("ecs", "DescribeRegions")
        self.refused("Throttling.User", "ecs", "DescribeRegions")

    def test_types_prices_images_and_quotas_are_told(self):
        types = self.call("ecs", "DescribeInstanceTypes", InstanceTypes=["ecs.gn7-c13g1.26xlarge"])[
            "InstanceTypes"
        ]["InstanceType"]
        self.assertEqual(
            [(each["GPUAmount"], each["GPUSpec"], each["GPUMemorySize"]) for each in types],
            [(8, "NVIDIA A100", 40)],
        )
        price = self.call(
            "ecs",
            "DescribePrice",
            ResourceType="instance",
            InstanceType="ecs.gn7-c13g1.26xlarge",
            PriceUnit="Hour",
        )
        self.assertEqual(price["PriceInfo"]["Price"]["TradePrice"], 249.9)
        spot = self.call(
            "ecs",
            "DescribeSpotPriceHistory",
            InstanceType="ecs.gn7-c13g1.26xlarge",
            NetworkType="vpc",
        )
        self.assertEqual({each["ZoneId"] for each in spot["SpotPrices"]["SpotPriceType"]}, {ZONE})
        images = self.call(
            "ecs", "DescribeImages", ImageFamily="acs:ubuntu_22_04_x64", ImageOwnerAlias="system"
        )["Images"]["Image"]
        self.assertIn(IMAGE, [each["ImageId"] for each in images])
        quota = self.call(
            "ecs", "DescribeAccountAttributes", AttributeName=["max-spot-instance-vcpu-count"]
        )
        self.assertEqual(
            quota["AccountAttributeItems"]["AccountAttributeItem"][0]["AttributeValues"][
                "ValueItem"
            ][0]["Value"],
            "2048",
        )


class ViolationTest(AlibabaTest):
    wants_violations = True

    def test_what_no_client_would_send_is_refused_and_written_down(self):
        self.refused("MissingInstanceType", "ecs", "RunInstances", ImageId=IMAGE)
        self.refused("InvalidAction.NotFound", "ecs", "DescribeCommands")
        self.refused("InvalidInstanceIds.Malformed", "ecs", "DescribeInstances", InstanceIds="i-1")
        self.assertEqual(len(self.sim.ask("violations")["violations"]), 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
