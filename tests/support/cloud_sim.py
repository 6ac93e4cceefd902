"""The clouds' stand-in as a test has it: a process, its control page, and what a user needs to
reach it.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.request

from suite import assert_equal, assert_false, assert_is, assert_less

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCENARIO = SOURCE / "tests/cloudsim/scenarios/default.json"

# How to reach each cloud, and machines of which it has plenty.
CLOUDS = {
    "aws": {
        "endpoint": ("AWS_ENDPOINT_URL",),
        "keys": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        "region": "us-east-1",
        "gpus": "T4:1",
        "launch": "RunInstances",
    },
    "alibaba": {
        "endpoint": ("FASTGPU_ALIBABA_ENDPOINT",),
        "keys": (
            "ALIBABA_CLOUD_ACCESS_KEY_ID",
            "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
            "ALIBABA_CLOUD_SECURITY_TOKEN",
        ),
        "region": "cn-hangzhou",
        "gpus": "A100:1",
        "launch": "RunInstances",
    },
    "tencent": {
        "endpoint": ("FASTGPU_TENCENT_ENDPOINT",),
        "keys": ("TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY", "TENCENTCLOUD_TOKEN"),
        "region": "ap-guangzhou",
        "gpus": "V100:1",
        "launch": "RunInstances",
    },
    "huawei": {
        "endpoint": ("FASTGPU_HUAWEI_ENDPOINT",),
        "keys": ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK", "HUAWEICLOUD_SDK_SECURITY_TOKEN"),
        "region": "cn-north-4",
        "gpus": "V100:1",
        "launch": "CreateServers",
    },
}


def known_to_the_stand_in():
    return list(json.loads(SCENARIO.read_text())["vendors"])


def clouds_of(user):
    """Those that fastgpu and the stand-in both know, or those among them that CLOUDS_ONLY names."""
    known = {
        provider["name"]
        for provider in json.loads(user.run("get", "providers", "-o", "json").out)["providers"]
    }
    chosen = os.environ.get("CLOUDS_ONLY", " ".join(CLOUDS)).split()
    return [cloud for cloud in chosen if cloud in known and cloud in known_to_the_stand_in()]


def for_each_cloud(user, program, test, *options, boot="instant"):
    """A stand-in and a customer of each cloud; nothing may be left in the end."""
    for cloud in clouds_of(user):
        with CloudSim(program, boot, *options) as sim:
            customer = Customer(user, sim, cloud)
            test(customer)
            customer.check_nothing_is_left()


# 1: at every step, which takes minutes a cloud.
KILL_STRIDE = int(os.environ.get("CLOUDS_KILL_STRIDE", "23"))


def steps_to_kill_at(cloud):
    """Other steps for each cloud, so that together they are more."""
    return range(1 + sorted(CLOUDS).index(cloud) % KILL_STRIDE, 500, KILL_STRIDE)


class CloudSim:
    """Ends with its `with` block, and its machines with it."""

    def __init__(self, program, boot="instant", *options, facts=True):
        self.program, self.boot, self.options, self.facts = program, boot, options, facts

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="cloudsim-")
        port_file = pathlib.Path(self.folder.name, "port")
        # A directory of the vendors' own descriptions of their APIs, where there is one.
        facts = os.environ.get("CLOUDSIM_API_FACTS")
        checked = ("--api-facts", facts) if self.facts and facts else ()
        self.process = subprocess.Popen(
            [self.program, "--port-file", port_file, "--boot", self.boot, *checked, *self.options]
        )
        deadline = time.monotonic() + 60  # Reading descriptions takes its time on a busy machine.
        while not (port_file.exists() and port_file.read_text().strip()):
            assert_is(self.process.poll(), None, "the stand-in has ended")
            assert_less(time.monotonic(), deadline, "the stand-in does not start")
            time.sleep(0.02)
        self.url = f"http://127.0.0.1:{port_file.read_text().strip()}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def control(self, page, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.url}/_control/{page}", data), timeout=30
        ) as answer:
            return json.loads(answer.read() or b"null")

    def books(self):
        return self.control("books")

    def alive(self):
        """The instances that take room, and the other things that were made and are still there."""
        books = self.books()
        resources = [f"{r['kind']} {r['id']}" for r in books["resources"] if r["alive"]]
        return [i for i in books["instances"] if i["alive"]], resources

    def faults(self, *faults):
        self.control("faults", list(faults))

    def settings(self, **settings):
        self.control("settings", settings)

    def account(self, cloud, nth=0):
        return json.loads(SCENARIO.read_text())["vendors"][cloud]["accounts"][nth]

    def environment(self, cloud, nth=0):
        """Variables by which the n-th account of that cloud is found, and nothing else."""
        about, account = CLOUDS[cloud], self.account(cloud, nth)
        found = {name: self.url for name in about["endpoint"]}
        values = (account["access_key"], account["secret_key"], account.get("token", ""))
        found.update(
            {name: value for name, value in zip(about["keys"], values, strict=True) if value}
        )
        if self.boot == "local":
            found["FASTGPU_METADATA_ENDPOINT"] = self.control("metadata")["address"]
        return found


class Customer:
    """A user of one cloud: the words that all commands share."""

    def __init__(self, user, sim, cloud, account=0):
        self.user, self.sim, self.cloud, self.account = user, sim, cloud, account
        self.about = CLOUDS[cloud]

    def environment(self, **more):
        # No proxy, no file and no metadata service of this machine gets in between.
        quiet = {
            "HOME": str(self.user.folder),
            "AWS_EC2_METADATA_DISABLED": "true",
            "no_proxy": "127.0.0.1",
        }
        return {**quiet, **self.sim.environment(self.cloud, self.account), **more}

    def run(self, *words, **more):
        environment = self.environment(**more.pop("environment", {}))
        return self.user.run(*words, environment=environment, **more)

    def refused(self, words, code, *said, **more):
        environment = self.environment(**more.pop("environment", {}))
        return self.user.refused(words, code, *said, environment=environment, **more)

    def region(self):
        return ("--cloud", self.cloud, "--region", self.about["region"])

    def request(self, name, *more):
        """Returns the words that ask for a cluster of machines of which the cloud has plenty."""
        gpus = ("--gpus", self.about["gpus"])
        return ("create", "cluster", name, *self.region(), *gpus, *more)

    def slow(self, milliseconds):
        """Every call of this cloud takes that long, until `sim.faults()`."""
        fault = {"kind": "delay", "milliseconds": milliseconds}
        self.sim.faults({"match": {"vendor": self.cloud, "count": 999}, "fault": fault})

    def creation(self, name, *more, nodes=2):
        size = ("--nodes", str(nodes))
        return self.request(name, *size, "--ssh-from", "127.0.0.1/32", "--yes", *more)

    def create(self, name, *more, nodes=2, **options):
        return self.run(*self.creation(name, *more, nodes=nodes), **options)

    def nodes(self, name):
        return json.loads(self.run("get", "nodes", name, "-o", "json").out)["nodes"]

    def check_nothing_is_left(self):
        instances, resources = self.sim.alive()
        assert_false(instances, f"{self.cloud}: left: {instances} {resources}")
        assert_false(resources, f"{self.cloud}: left: {instances} {resources}")
        assert_equal(
            self.sim.control("violations")["violations"],
            [],
            f"{self.cloud}: {self.sim.control('violations')}",
        )
