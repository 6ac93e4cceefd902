#!/usr/bin/env python3
"""Clusters in EC2 as moto, which is not ours, understands it: moto_test.py FASTGPU MOTO [TEST ...]

MOTO is where `./dev test` puts what moto.txt names; without it the test is skipped. Machines there
never answer over SSH.
"""

import contextlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from cli_user import run_tests  # noqa: E402
from moto_server import KEYS, REGION, TYPE, Moto, creation  # noqa: E402
from suite import (  # noqa: E402
    assert_equal,
    assert_false,
    assert_greater_equal,
    assert_in,
    assert_less,
    assert_true,
    skip,
)

MOTO = pathlib.Path(sys.argv.pop(2)).resolve()
PAGE = 2  # Reservations: far fewer than asked for, so that every list has several pages.
MARK = "fastgpu-cluster"


@contextlib.contextmanager
def moto(user):
    """A function that runs fastgpu on a fresh moto, a client of its EC2, and the proxy between
    them.
    """
    with Moto(MOTO, page=PAGE) as there:
        ec2 = client(there.address)
        settings = there.environment(user.folder)
        yield (
            lambda *words, **more: user.run(*words, environment=settings, **more),
            ec2,
            there.between,
        )
        assert_equal(left_in(ec2), [], "left")


def client(url):
    return boto3.client(
        "ec2",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    )


def instances(ec2, *filters):
    found = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "tag-key", "Values": [MARK]}, *filters]
    )
    all_of_them = [
        i
        for page in found
        for reservation in page["Reservations"]
        for i in reservation["Instances"]
    ]
    return [i for i in all_of_them if i["State"]["Name"] != "terminated"]


def left_in(ec2):
    """The books, as boto3 reads them: whatever carries a cluster's mark."""
    marked = [{"Name": "tag-key", "Values": [MARK]}]
    return (
        [i["InstanceId"] for i in instances(ec2)]
        + [v["VpcId"] for v in ec2.describe_vpcs(Filters=marked)["Vpcs"]]
        + [s["SubnetId"] for s in ec2.describe_subnets(Filters=marked)["Subnets"]]
        + [g["GroupId"] for g in ec2.describe_security_groups(Filters=marked)["SecurityGroups"]]
        + [
            g["InternetGatewayId"]
            for g in ec2.describe_internet_gateways(Filters=marked)["InternetGateways"]
        ]
    )


def image_of(ec2):
    """One of moto's own."""
    images = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"]
    return next(i["ImageId"] for i in images if "ubuntu" in i["Name"])


def states(run):
    return sorted(
        node["state"] for node in json.loads(run("get", "nodes", "t", "-o", "json").out)["nodes"]
    )


def test_a_cluster_lives_in_an_ec2_that_is_not_ours(user):
    with moto(user) as (run, ec2, _):
        run(*creation(image_of(ec2), "t", 3))
        made = instances(ec2)
        assert_equal(len(made), 3, made)
        assert_equal(
            {i["Placement"]["AvailabilityZone"] for i in made},
            {made[0]["Placement"]["AvailabilityZone"]},
            made,
        )
        tags = {tag["Key"]: tag["Value"] for tag in made[0]["Tags"]}
        assert_equal(tags["fastgpu-name"], "t", tags)
        assert_true(tags["fastgpu-owner"], tags)
        shown = json.loads(run("describe", "cluster", "t", "-o", "json").out)
        assert_equal(
            {node["instance"] for node in shown["nodes"]}, {i["InstanceId"] for i in made}, shown
        )
        assert_in(
            "already exists and matches", run(*creation(image_of(ec2), "t", 3)).err, "made again"
        )
        run("stop", "cluster", "t")
        assert_equal(states(run), ["stopped"] * 3)
        assert_equal({i["State"]["Name"] for i in instances(ec2)}, {"stopped"}, "not stopped")
        run("start", "cluster", "t", "--timeout", "1s", code=None)  # Nobody answers there.
        assert_equal({i["State"]["Name"] for i in instances(ec2)}, {"running"}, "not started")
        run("scale", "cluster", "t", "--nodes", "5", "--timeout", "1s", code=None)
        assert_equal(len(instances(ec2)), 3, "what could not be reached is kept")
        run("scale", "cluster", "t", "--nodes", "1", "--yes")
        assert_equal([i["State"]["Name"] for i in instances(ec2)], ["running"], "not scaled down")
        run("delete", "cluster", "t", "--yes")


def test_lists_of_several_pages_are_read_to_their_end(user):
    with moto(user) as (run, ec2, between):
        run(*creation(image_of(ec2), "t", 1))
        owner = next(tag for tag in instances(ec2)[0]["Tags"] if tag["Key"] == "fastgpu-owner")

        def launch(tags):
            made = ec2.run_instances(
                ImageId=image_of(ec2),
                MinCount=1,
                MaxCount=1,
                InstanceType=TYPE,
                TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
            )
            return made["Instances"][0]["InstanceId"]

        strangers = [
            launch(
                [
                    {"Key": MARK, "Value": "0badcafe"},
                    {"Key": "fastgpu-owner", "Value": "somebody-else"},
                ]
            )
            for _ in range(2 * PAGE)
        ]
        orphans = {launch([{"Key": MARK, "Value": "deadbeef"}, owner]) for _ in range(2 * PAGE)}
        settled = json.loads(run("gc", "-o", "json").out)["settled"]
        assert_greater_equal(between.pages, 3, f"{between.pages} further pages were asked for")
        alive = {i["InstanceId"] for i in instances(ec2)}
        assert_false(orphans & alive, f"gc: {settled}, alive: {alive}")
        assert_less(set(strangers), alive, f"gc: {settled}")
        assert_equal(len(alive), len(strangers) + 1, alive)
        run("delete", "cluster", "t", "--yes")
        ec2.terminate_instances(InstanceIds=strangers)


def test_an_unfinished_creation_is_rolled_back(user):
    with moto(user) as (run, ec2, _):
        words = creation(image_of(ec2), "t", 2)
        killed = 0
        for step in range(10, 60, 9):
            killed += (
                run(
                    *words, code=None, **{"prefix": ("env", f"FASTGPU_FAULT=any:{step}")}
                ).returncode
                == -9
            )
            run("gc")
            for cluster in json.loads(run("get", "clusters", "-o", "json").out)["clusters"]:
                run("delete", "cluster", cluster["name"], "--yes")
            assert_equal(left_in(ec2), [], f"killed at step {step}")
        assert_greater_equal(killed, 3, f"only {killed} were killed")


if __name__ == "__main__":
    list_there, done = HERE / "moto.txt", MOTO / "done.txt"
    if not done.exists() or done.read_bytes() != list_there.read_bytes():
        skip("moto is not installed; `./dev test` does that where PyPI can be reached")
    sys.path.insert(0, str(MOTO / "site"))
    import boto3

    run_tests(globals())
