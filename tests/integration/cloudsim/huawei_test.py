"""Huawei Cloud's Python kits against cloudsim: python3 huawei_test.py CLOUDSIM KITS"""

import importlib
import sys
import unittest
import uuid

import sim

if __name__ == "__main__":
    sim.SimTest.program = sys.argv[1]
    sim.use_kits(sys.argv[2])
    sim.resolve_localhost_names()

from huaweicloudsdkcore.auth.credentials import BasicCredentials, GlobalCredentials
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkcore.http.http_config import HttpConfig

FULL = ("HSTSIMFULL0000000001", "simfullsecretkeyhuawei0000000000000001", None)
SESSION = (
    "HSTSIMTOKEN000000001",
    "simtokensecretkeyhuawei000000000000001",
    "sim-session-token-huawei",
)
READ_ONLY = ("HSTSIMREADONLY000001", "simreadonlysecretkeyhuawei000000000001", None)
EXPIRED = (
    "HSTSIMEXPIRED0000001",
    "simexpiredsecretkeyhuawei0000000000001",
    "sim-expired-token-huawei",
)
DOMAIN = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
KITS = {
    "ecs": ("huaweicloudsdkecs.v2", "EcsClient"),
    "vpc": ("huaweicloudsdkvpc.v2", "VpcClient"),
    "ims": ("huaweicloudsdkims.v2", "ImsClient"),
    "iam": ("huaweicloudsdkiam.v3", "IamClient"),
}
ZONE = "cn-north-4a"
UBUNTU = "0a220400-0000-4000-8000-00000000a001"


class HuaweiTest(sim.SimTest):
    def setUp(self):
        super().setUp()
        projects = self.call("iam", "KeystoneListProjects", name="cn-north-4")["projects"]
        self.assertEqual([each["domain_id"] for each in projects], [DOMAIN])
        self.project = projects[0]["id"]

    def client(self, service, keys):
        module, name = KITS[service]
        kind = getattr(importlib.import_module(module), name)
        if service == "iam":
            who = GlobalCredentials(keys[0], keys[1], DOMAIN)
        else:
            who = BasicCredentials(keys[0], keys[1], self.project)
        if keys[2]:
            who.with_security_token(keys[2])
        return (
            kind.new_builder()
            .with_http_config(HttpConfig.get_default_config())
            .with_credentials(who)
            .with_endpoint(f"http://{service}.localhost:{self.sim.port}")
            .build()
        )

    def call(self, service, action, keys=FULL, **parts):
        snake = "".join("_" + c.lower() if c.isupper() else c for c in action).lstrip("_")
        request = getattr(importlib.import_module(KITS[service][0]), action + "Request")(**parts)
        return getattr(self.client(service, keys), snake)(request).to_json_object()

    def refused(self, code, *words, **parts):
        with self.assertRaises(ClientRequestException) as met:
            self.call(*words, **parts)
        self.assertEqual(met.exception.error_code, code)
        return met.exception

    def network(self):
        self.vpc = self.call(
            "vpc", "CreateVpc", body={"vpc": {"name": "v", "cidr": "10.0.0.0/16"}}
        )["vpc"]["id"]
        self.wait_for(lambda: self.call("vpc", "ShowVpc", vpc_id=self.vpc)["vpc"]["status"] == "OK")
        subnet = {"name": "s", "cidr": "10.0.0.0/20", "gateway_ip": "10.0.0.1", "vpc_id": self.vpc}
        self.subnet = self.call("vpc", "CreateSubnet", body={"subnet": subnet})["subnet"]["id"]
        self.wait_for(
            lambda: (
                self.call("vpc", "ShowSubnet", subnet_id=self.subnet)["subnet"]["status"]
                == "ACTIVE"
            )
        )
        group = self.call("vpc", "CreateSecurityGroup", body={"security_group": {"name": "g"}})[
            "security_group"
        ]
        self.group = group["id"]

    def order(self, **more):
        bandwidth = {"size": 5, "sharetype": "PER", "chargemode": "traffic"}
        server = {
            "name": "w",
            "imageRef": UBUNTU,
            "flavorRef": "s6.large.2",
            "vpcid": self.vpc,
            "nics": [{"subnet_id": self.subnet}],
            "security_groups": [{"id": self.group}],
            "root_volume": {"volumetype": "GPSSD", "size": 40},
            "availability_zone": ZONE,
            "count": 3,
            "server_tags": [{"key": "team", "value": "a"}],
            "publicip": {
                "eip": {"iptype": "5_bgp", "bandwidth": bandwidth},
                "delete_on_termination": True,
            },
        }
        return {"server": {**server, **more}}

    def create(self, token=None, **more):
        parts = {"x_client_token": token} if token else {}
        return self.call("ecs", "CreateServers", body=self.order(**more), **parts)

    def job(self, answer):
        def over():
            job = self.call("ecs", "ShowJob", job_id=answer["job_id"])
            return job if job["status"] in ("SUCCESS", "FAIL") else None

        return self.wait_for(over)

    def servers(self, **query):
        return self.call("ecs", "ListServersDetails", **query)

    def listed(self, ids):
        """How many of them a list knows by more than their id: one that is not listed is answered
        by an entry of nothing else.
        """
        return sum(
            server["status"] is not None
            for server in self.servers(server_id=",".join(ids))["servers"]
        )

    def made(self, **more):
        job = self.job(self.create(**more))
        ids = [each["entities"]["server_id"] for each in job["entities"]["sub_jobs"]]
        self.wait_for(lambda: self.listed(ids) == len(ids))
        return ids

    def delete(self, ids):
        body = {
            "servers": [{"id": each} for each in ids],
            "delete_publicip": True,
            "delete_volume": True,
        }
        self.assertEqual(
            self.job(self.call("ecs", "DeleteServers", body=body))["status"], "SUCCESS"
        )


class LifeTest(HuaweiTest):
    def setUp(self):
        super().setUp()
        self.network()

    def test_servers_live_and_end(self):
        ids = self.made()
        found = self.servers(tags="team=a")["servers"]
        self.assertEqual(sorted(each["name"] for each in found), ["w-0001", "w-0002", "w-0003"])
        self.assertEqual({each["status"] for each in found}, {"ACTIVE"})
        kinds = {
            address["OS-EXT-IPS:type"] for each in found for address in each["addresses"][self.vpc]
        }
        self.assertEqual(kinds, {"fixed", "floating"})
        listed = [{"id": each} for each in ids]
        self.job(
            self.call(
                "ecs", "BatchStopServers", body={"os-stop": {"type": "SOFT", "servers": listed}}
            )
        )
        self.assertEqual({each["status"] for each in self.servers()["servers"]}, {"SHUTOFF"})
        self.job(self.call("ecs", "BatchStartServers", body={"os-start": {"servers": listed}}))
        self.assertEqual({each["status"] for each in self.servers()["servers"]}, {"ACTIVE"})
        self.delete(ids)
        self.assertEqual(self.servers()["servers"], [])
        for kind, name in (
            ("DeleteSecurityGroup", {"security_group_id": self.group}),
            ("DeleteSubnet", {"vpc_id": self.vpc, "subnet_id": self.subnet}),
            ("DeleteVpc", {"vpc_id": self.vpc}),
        ):
            self.call("vpc", kind, **name)
        books = self.sim.ask("books")
        self.assertEqual([each["id"] for each in books["resources"] if each["alive"]], [])

    def test_the_offset_of_a_list_is_the_number_of_a_page(self):
        self.made()
        pages = [self.servers(limit=2, offset=page)["servers"] for page in (1, 2, 3)]
        self.assertEqual([len(page) for page in pages], [2, 1, 0])
        self.assertEqual(len({each["id"] for page in pages for each in page}), 3)

    def test_tags_come_and_go(self):
        server = self.made(count=1)[0]
        self.call(
            "ecs",
            "BatchCreateServerTags",
            server_id=server,
            body={"action": "create", "tags": [{"key": "k", "value": "v"}]},
        )
        self.assertIn(
            {"key": "k", "value": "v"}, self.call("ecs", "ShowServerTags", server_id=server)["tags"]
        )
        self.assertEqual(len(self.servers(tags="k=v")["servers"]), 1)
        self.call(
            "ecs",
            "BatchDeleteServerTags",
            server_id=server,
            body={"action": "delete", "tags": [{"key": "k"}]},
        )
        self.assertEqual(self.servers(tags="k=v")["servers"], [])

    def test_a_token_stands_for_one_request(self):
        token = str(uuid.uuid4())
        first = self.create(token=token)
        self.assertEqual(self.create(token=token), first)
        self.refused(
            "Ecs.0122", "ecs", "CreateServers", body=self.order(count=2), x_client_token=token
        )
        self.sim.tell("advance", {"seconds": 8 * 3600 + 1})
        self.refused("Ecs.0124", "ecs", "CreateServers", body=self.order(), x_client_token=token)

    def test_parts_of_a_job_fail_where_stock_runs_out(self):
        self.sim.tell("stock", {"vendor": "huawei", "zone": ZONE, "type": "s6.large.2", "stock": 2})
        job = self.job(self.create())
        self.assertEqual(job["status"], "FAIL")
        self.assertEqual(
            sorted(each["status"] for each in job["entities"]["sub_jobs"]),
            ["FAIL", "SUCCESS", "SUCCESS"],
        )
        self.assertIn("No valid host", job["fail_reason"])
        self.wait_for(lambda: len(self.servers()["servers"]) == 2)
        self.assertEqual(
            sorted(each["name"] for each in self.servers()["servers"]), ["w-0002", "w-0003"]
        )
        self.refused("Ecs.0319", "ecs", "CreateServers", body=self.order())

    def test_a_server_that_there_is_none_of_is_answered_by_its_id_and_a_fault(self):
        there, gone = self.made(count=1)[0], str(uuid.uuid4())
        found = {
            server["id"]: server for server in self.servers(server_id=f"{there},{gone}")["servers"]
        }
        self.assertEqual(found[there]["status"], "ACTIVE")
        self.assertIsNone(found[gone]["status"])
        self.assertIn(gone, found[gone]["fault"]["message"])
        self.delete([there])

    def test_what_is_in_use_stays(self):
        ids = self.made(count=1)
        self.refused("VPC.0209", "vpc", "DeleteSecurityGroup", security_group_id=self.group)
        self.refused("VPC.0209", "vpc", "DeleteVpc", vpc_id=self.vpc)
        self.delete(ids)


class QuestionsTest(HuaweiTest):
    def test_flavors_tell_their_zones_and_gpus(self):
        flavors = {each["id"]: each for each in self.call("ecs", "ListFlavors")["flavors"]}
        specs = flavors["p2v.2xlarge.8"]["os_extra_specs"]
        self.assertEqual(specs["cond:operation:az"], "cn-north-4a(normal), cn-north-4g(normal)")
        self.assertIn("V100", specs["info:gpus"])
        limits = self.call("ecs", "ShowServerLimits")["absolute"]
        self.assertEqual(limits["maxTotalInstances"], 1200)
        zones = self.call("ecs", "NovaListAvailabilityZones")["availabilityZoneInfo"]
        self.assertIn(ZONE, [each["zoneName"] for each in zones])

    def test_images_are_found_by_platform(self):
        images = self.call(
            "ims", "ListImages", imagetype="gold", platform="Ubuntu", flavor_id="kai1s.4xlarge.2"
        )["images"]
        self.assertEqual([each["name"] for each in images], ["Ubuntu 22.04 server 64bit with ARM"])

    def test_keys_are_looked_at(self):
        self.assertEqual(self.call("ecs", "ListServersDetails", keys=SESSION)["servers"], [])
        for keys in ((FULL[0], "wrong", None), ("nobody", FULL[1], None), EXPIRED):
            self.refused("APIGW.0301", "ecs", "ListServersDetails", keys=keys)
        self.network()
        self.refused("Pdp.0001", "ecs", "CreateServers", keys=READ_ONLY, body=self.order())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
