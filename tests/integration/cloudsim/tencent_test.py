"""Tencent Cloud's Python kit against cloudsim: python3 tencent_test.py CLOUDSIM KITS"""

import base64
import datetime
import json
import sys
import unittest

import sim

if __name__ == "__main__":
    sim.SimTest.program = sys.argv[1]
    sim.use_kits(sys.argv[2])
    sim.resolve_localhost_names()

from tencentcloud.common import credential
from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
from tencentcloud.common.profile.client_profile import ClientProfile
from tencentcloud.common.profile.http_profile import HttpProfile
from tencentcloud.cvm.v20170312 import cvm_client, models as cvm_models
from tencentcloud.sts.v20180813 import models as sts_models, sts_client
from tencentcloud.tag.v20180813 import models as tag_models, tag_client
from tencentcloud.vpc.v20170312 import models as vpc_models, vpc_client

FULL = ("AKIDsimfull00000000000000000000000001", "simfullsecretkeytencent000000001", None)
READ_ONLY = ("AKIDsimreadonly0000000000000000000001", "simreadonlysecretkeytencent00001", None)
SESSION = (
    "AKIDsimtoken0000000000000000000000001",
    "simtokensecretkeytencent00000001",
    "sim-session-token-tencent",
)
EXPIRED = (
    "AKIDsimexpired00000000000000000000001",
    "simexpiredsecretkeytencent000001",
    "sim-expired-token-tencent",
)
KITS = {
    "cvm": (cvm_client.CvmClient, cvm_models),
    "vpc": (vpc_client.VpcClient, vpc_models),
    "sts": (sts_client.StsClient, sts_models),
    "tag": (tag_client.TagClient, tag_models),
}
ZONE = "ap-guangzhou-3"


class TencentTest(sim.SimTest):
    def call(self, service, action, keys=FULL, region="ap-guangzhou", **body):
        kind, models = KITS[service]
        http = HttpProfile(protocol="http", endpoint=f"{service}.localhost:{self.sim.port}")
        client = kind(credential.Credential(*keys), region, ClientProfile(httpProfile=http))
        request = getattr(models, action + "Request")()
        request.from_json_string(json.dumps(body))
        return json.loads(getattr(client, action)(request).to_json_string())

    def refused(self, code, *words, **body):
        with self.assertRaises(TencentCloudSDKException) as met:
            self.call(*words, **body)
        self.assertEqual(met.exception.get_code(), code)

    def network(self):
        self.vpc = self.call("vpc", "CreateVpc", VpcName="v", CidrBlock="10.0.0.0/16")["Vpc"][
            "VpcId"
        ]
        self.subnet = self.call(
            "vpc",
            "CreateSubnet",
            VpcId=self.vpc,
            SubnetName="s",
            CidrBlock="10.0.0.0/20",
            Zone=ZONE,
        )["Subnet"]["SubnetId"]
        self.group = self.call("vpc", "CreateSecurityGroup", GroupName="g", GroupDescription="d")[
            "SecurityGroup"
        ]["SecurityGroupId"]

    def order(self, **more):
        return {
            **dict(
                Placement={"Zone": ZONE},
                ImageId="img-487zeit5",
                InstanceType="S5.MEDIUM2",
                InstanceCount=1,
                VirtualPrivateCloud={"VpcId": self.vpc, "SubnetId": self.subnet},
                SecurityGroupIds=[self.group],
            ),
            **more,
        }

    def run_instances(self, **more):
        return self.call("cvm", "RunInstances", **self.order(**more))["InstanceIdSet"]

    def wait(self, state, ids):
        def all_so():
            found = self.call("cvm", "DescribeInstances", InstanceIds=ids, Limit=100)["InstanceSet"]
            return (
                [each["InstanceState"] for each in found] == [state] * len(ids)
                if state
                else not found
            )

        self.wait_for(all_so)


class LifeTest(TencentTest):
    def setUp(self):
        super().setUp()
        self.network()

    def test_create_stop_start_terminate_leaves_nothing_alive(self):
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "cluster", "Value": "c"}]}]
        ids = self.run_instances(
            InstanceCount=12, TagSpecification=tags, UserData=base64.b64encode(b"x").decode()
        )
        self.wait("RUNNING", ids)
        by_tag = [{"Name": "tag:cluster", "Values": ["c"]}]
        pages = [
            self.call("cvm", "DescribeInstances", Filters=by_tag, Offset=at, Limit=5)["InstanceSet"]
            for at in (0, 5, 10)
        ]
        self.assertEqual(sorted(each["InstanceId"] for page in pages for each in page), sorted(ids))
        self.call("cvm", "StopInstances", InstanceIds=ids[:1], StoppedMode="STOP_CHARGING")
        self.wait("STOPPED", ids[:1])
        self.refused(
            "UnsupportedOperation.InstanceStateStopped", "cvm", "StopInstances", InstanceIds=ids[:1]
        )
        self.call("cvm", "StartInstances", InstanceIds=ids[:1])
        self.wait("RUNNING", ids)
        self.call("cvm", "TerminateInstances", InstanceIds=ids)
        self.wait(None, ids)
        self.check_machines_left_nothing()

    def test_a_token_means_one_batch_even_when_it_is_gone(self):
        ids = self.run_instances(InstanceCount=2, ClientToken="t")
        self.assertEqual(self.run_instances(InstanceCount=2, ClientToken="t"), ids)
        self.wait("RUNNING", ids)
        self.call("cvm", "TerminateInstances", InstanceIds=ids)
        self.wait(None, ids)
        self.assertEqual(self.run_instances(InstanceCount=2, ClientToken="t"), ids)
        self.assertEqual(self.sim.ask("books")["instances_alive"], 0)

    def test_stock_quota_zone_and_price_are_told_apart(self):
        self.sim.tell(
            "stock", {"vendor": "tencent", "zone": ZONE, "type": "S5.MEDIUM2", "stock": 0}
        )
        self.refused(
            "ResourceInsufficient.SpecifiedInstanceType", "cvm", "RunInstances", **self.order()
        )
        self.refused(
            "InvalidParameterValue.ZoneNotSupported",
            "cvm",
            "RunInstances",
            **self.order(InstanceType="GT4.4XLARGE96"),
        )
        self.sim.tell("quota", {"vendor": "tencent", "group": "instances", "limit": 0})
        self.refused(
            "LimitExceeded.InstanceQuota",
            "cvm",
            "RunInstances",
            **self.order(InstanceType="SA2.LARGE8"),
        )
        spot = dict(
            InstanceChargeType="SPOTPAID",
            InstanceMarketOptions={"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.001"}},
        )
        self.refused(
            "InvalidParameterValue.InsufficientPrice", "cvm", "RunInstances", **self.order(**spot)
        )
        offers = self.call(
            "cvm",
            "DescribeZoneInstanceConfigInfos",
            Filters=[
                {"Name": "zone", "Values": [ZONE]},
                {"Name": "instance-type", "Values": ["S5.MEDIUM2"]},
            ],
        )
        self.assertEqual(
            [each["Status"] for each in offers["InstanceTypeQuotaSet"]], ["SOLD_OUT", "SELL"]
        )

    def test_a_rehearsal_succeeds_and_makes_nothing(self):
        self.call("cvm", "RunInstances", **self.order(DryRun=True))
        self.assertEqual(self.sim.ask("books")["instances"], [])

    def test_hpc_types_want_a_cluster_and_others_refuse_one(self):
        zone = "ap-guangzhou-6"
        there = self.call(
            "vpc",
            "CreateSubnet",
            VpcId=self.vpc,
            SubnetName="t",
            CidrBlock="10.0.32.0/20",
            Zone=zone,
        )["Subnet"]["SubnetId"]
        order = self.order(
            Placement={"Zone": zone}, VirtualPrivateCloud={"VpcId": self.vpc, "SubnetId": there}
        )
        bare = {**order, "InstanceType": "HCCG5v.24XLARGE384"}
        self.refused(
            "InvalidParameterValue.InstanceTypeRequiredHpcCluster", "cvm", "RunInstances", **bare
        )
        hpc = self.call("cvm", "CreateHpcCluster", Zone=zone, Name="h")["HpcClusterSet"][0][
            "HpcClusterId"
        ]
        self.refused(
            "InvalidParameterValue.InstanceTypeNotSupportHpcCluster",
            "cvm",
            "RunInstances",
            **order,
            HpcClusterId=hpc,
        )
        self.call("cvm", "RunInstances", **bare, HpcClusterId=hpc)
        self.sim.tell("advance", {"seconds": 1})
        self.refused("ResourceInUse.HpcCluster", "cvm", "DeleteHpcClusters", HpcClusterIds=[hpc])

    def test_the_clouds_own_timer_terminates(self):
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=10)
        timer = {
            "TimerAction": "TerminateInstances",
            "ActionTime": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        ids = self.run_instances(ActionTimer=timer)
        self.wait("RUNNING", ids)
        self.sim.tell("advance", {"seconds": 660})
        self.wait(None, ids)

    def test_network_pieces_go_in_their_order_alone(self):
        ids = self.run_instances()
        self.wait("RUNNING", ids)
        self.refused("ResourceInUse", "vpc", "DeleteSubnet", SubnetId=self.subnet)
        self.refused("ResourceInUse", "vpc", "DeleteSecurityGroup", SecurityGroupId=self.group)
        self.call("cvm", "TerminateInstances", InstanceIds=ids)
        self.wait(None, ids)
        self.call("vpc", "DeleteSecurityGroup", SecurityGroupId=self.group)
        self.refused("ResourceInUse", "vpc", "DeleteVpc", VpcId=self.vpc)
        self.call("vpc", "DeleteSubnet", SubnetId=self.subnet)
        self.call("vpc", "DeleteVpc", VpcId=self.vpc)
        self.assertEqual(
            [each["kind"] for each in self.sim.ask("books")["resources"] if each["alive"]], []
        )

    def test_tags_and_addresses_come_and_go(self):
        ids = self.run_instances()
        self.wait("RUNNING", ids)
        name = f"qcs::cvm:ap-guangzhou:uin/100000000001:instance/{ids[0]}"
        self.call(
            "tag", "TagResources", ResourceList=[name], Tags=[{"TagKey": "k", "TagValue": "v"}]
        )
        self.assertEqual(self.sim.ask("books")["instances"][0]["tags"], {"k": "v"})
        address = self.call("vpc", "AllocateAddresses", AddressCount=1)["AddressSet"]
        self.call("vpc", "AssociateAddress", AddressId=address[0], InstanceId=ids[0])
        self.refused(
            "InvalidAddressIdStatus.NotPermit", "vpc", "ReleaseAddresses", AddressIds=address
        )
        self.call("vpc", "DisassociateAddress", AddressId=address[0])
        self.call("vpc", "ReleaseAddresses", AddressIds=address)


class EntryTest(TencentTest):
    def test_keys_that_are_wrong_unknown_expired_or_without_rights_are_told_apart(self):
        self.refused("AuthFailure.SignatureFailure", "cvm", "DescribeRegions", (FULL[0], "x", None))
        self.refused("AuthFailure.SecretIdNotFound", "cvm", "DescribeRegions", ("x", "x", None))
        self.refused("AuthFailure.TokenFailure", "cvm", "DescribeRegions", EXPIRED)
        self.refused("UnauthorizedOperation.CamNoAuth", "cvm", "RunInstances", READ_ONLY)
        self.refused("UnsupportedRegion", "cvm", "DescribeZones", region="xx-nowhere")
        self.assertEqual(
            self.call("sts", "GetCallerIdentity", SESSION)["AccountId"], "100000000001"
        )

    def test_a_clock_that_is_off_refuses(self):
        self.sim.tell("clock", {"skew_seconds": -900})
        self.refused("AuthFailure.SignatureExpire", "cvm", "DescribeRegions")

    def test_the_rate_of_an_action_is_limited(self):
        self.sim.tell(
            "rate", {"vendor": "tencent", "action": "DescribeRegions", "burst": 1, "per_second": 0}
        )
        self.call("cvm", "DescribeRegions")
        self.refused("RequestLimitExceeded", "cvm", "DescribeRegions")

    def test_an_ed25519_key_is_no_key_here(self):
        self.refused(
            "InvalidPublicKey.Malformed",
            "cvm",
            "ImportKeyPair",
            KeyName="k",
            ProjectId=0,
            PublicKey="ssh-ed25519 AAAA x",
        )


class ViolationTest(TencentTest):
    wants_violations = True

    def test_what_no_client_would_send_is_refused_and_written_down(self):
        self.refused("MissingParameter", "vpc", "CreateVpc", VpcName="v")
        self.refused("InvalidAction", "cvm", "DescribeHosts")
        self.refused(
            "InvalidFilter", "cvm", "DescribeImages", Filters=[{"Name": "no-such", "Values": ["x"]}]
        )
        self.assertEqual(len(self.sim.ask("violations")["violations"]), 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
