#!/usr/bin/env python3
"""Clusters in EC2 as moto, which is not ours, understands it: moto_test.py FASTGPU MOTO [TEST ...]

MOTO is where `./dev test` puts what moto.txt names; without it the test is skipped. Machines there never answer over SSH.
"""
import contextlib
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from cli_user import SKIPPED, check, run_tests  # noqa: E402

MOTO = pathlib.Path(sys.argv.pop(2)).resolve()
PAGE = 2  # Reservations: far fewer than asked for, so that every list has several pages.
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAMOTO000000000001", "AWS_SECRET_ACCESS_KEY": "moto/secret", "AWS_EC2_METADATA_DISABLED": "true", "no_proxy": "127.0.0.1"}
MARK = "fastgpu-cluster"


class Between(http.server.BaseHTTPRequestHandler):
    """Passes requests on to moto: with short pages, and as many machines as EC2 would give, where moto gives the fewest that were asked for."""

    protocol_version = "HTTP/1.1"
    moto, pages = "", 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = body.replace(b"MaxResults=1000", b"MaxResults=%d" % PAGE)
        if most := re.search(rb"MaxCount=(\d+)", body):
            body = re.sub(rb"MinCount=\d+", b"MinCount=" + most[1], body)
        Between.pages += b"NextToken=" in body
        headers = {name: value for name, value in self.headers.items() if name not in ("Host", "Content-Length")}
        request = urllib.request.Request(Between.moto + self.path, body, {**headers, "Host": self.headers["Host"]})
        try:
            answer = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        with answer:
            content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/xml"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def moto(user):
    """A function that runs fastgpu on a fresh moto, and a client of its EC2."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(MOTO / "site")}
    server = subprocess.Popen([sys.executable, MOTO / "site/bin/moto_server", "-H", "127.0.0.1", "-p", str(port)], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    between = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
    threading.Thread(target=between.serve_forever, daemon=True).start()
    Between.moto, Between.pages = f"http://127.0.0.1:{port}", 0
    try:
        ec2 = client(Between.moto)
        settings = {**KEYS, "HOME": str(user.folder), "AWS_ENDPOINT_URL": f"http://127.0.0.1:{between.server_port}"}
        yield lambda *words, **more: user.run(*words, environment=settings, **more), ec2
        check(left_in(ec2) == [], f"left: {left_in(ec2)}")
    finally:
        between.shutdown()
        between.server_close()
        server.send_signal(signal.SIGKILL)
        server.wait()


def client(url, region="us-east-1"):
    ec2 = boto3.client("ec2", endpoint_url=url, region_name=region, aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
                       aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"])
    deadline = time.monotonic() + 60
    while True:
        try:
            ec2.describe_vpcs()
            return ec2
        except EndpointConnectionError:
            check(time.monotonic() < deadline, "moto does not start")
            time.sleep(0.1)


def instances(ec2, *filters):
    found = ec2.get_paginator("describe_instances").paginate(Filters=[{"Name": "tag-key", "Values": [MARK]}, *filters])
    all_of_them = [i for page in found for reservation in page["Reservations"] for i in reservation["Instances"]]
    return [i for i in all_of_them if i["State"]["Name"] != "terminated"]


def left_in(ec2):
    """The books, as boto3 reads them: whatever carries a cluster's mark."""
    marked = [{"Name": "tag-key", "Values": [MARK]}]
    return ([i["InstanceId"] for i in instances(ec2)] + [v["VpcId"] for v in ec2.describe_vpcs(Filters=marked)["Vpcs"]]
            + [s["SubnetId"] for s in ec2.describe_subnets(Filters=marked)["Subnets"]]
            + [g["GroupId"] for g in ec2.describe_security_groups(Filters=marked)["SecurityGroups"]]
            + [g["InternetGatewayId"] for g in ec2.describe_internet_gateways(Filters=marked)["InternetGateways"]])


def image_of(ec2):
    """One of moto's own."""
    images = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"]
    return next(i["ImageId"] for i in images if "ubuntu" in i["Name"])


def creation(ec2, name, nodes):
    return ("create", "cluster", name, "--cloud", "aws", "--region", "us-east-1", "--instance-type", "g4dn.xlarge", "--image", image_of(ec2), "--nodes",
            str(nodes), "--ssh-from", "127.0.0.1/32", "--yes", "--detach")


def states(run):
    return sorted(node["state"] for node in json.loads(run("get", "nodes", "t", "-o", "json").out)["nodes"])


def test_a_cluster_lives_in_an_ec2_that_is_not_ours(user):
    with moto(user) as (run, ec2):
        run(*creation(ec2, "t", 3))
        made = instances(ec2)
        check(len(made) == 3 and {i["Placement"]["AvailabilityZone"] for i in made} == {made[0]["Placement"]["AvailabilityZone"]}, made)
        tags = {tag["Key"]: tag["Value"] for tag in made[0]["Tags"]}
        check(tags["fastgpu-name"] == "t" and tags["fastgpu-owner"], tags)
        shown = json.loads(run("describe", "cluster", "t", "-o", "json").out)
        check({node["instance"] for node in shown["nodes"]} == {i["InstanceId"] for i in made}, shown)
        check("exists already as wanted" in run(*creation(ec2, "t", 3)).err, "made again")
        run("stop", "cluster", "t")
        check(states(run) == ["stopped"] * 3, states(run))
        check({i["State"]["Name"] for i in instances(ec2)} == {"stopped"}, "not stopped")
        run("start", "cluster", "t", "--timeout", "1s", code=None)  # Nobody answers there.
        check({i["State"]["Name"] for i in instances(ec2)} == {"running"}, "not started")
        run("scale", "cluster", "t", "--nodes", "5", "--timeout", "1s", code=None)
        check(len(instances(ec2)) == 3, "what could not be reached is kept")
        run("scale", "cluster", "t", "--nodes", "1", "--yes")
        check([i["State"]["Name"] for i in instances(ec2)] == ["running"], "not scaled down")
        run("delete", "cluster", "t", "--yes")


def test_lists_of_several_pages_are_read_to_their_end(user):
    with moto(user) as (run, ec2):
        run(*creation(ec2, "t", 1))
        owner = next(tag for tag in instances(ec2)[0]["Tags"] if tag["Key"] == "fastgpu-owner")

        def launch(tags):
            made = ec2.run_instances(ImageId=image_of(ec2), MinCount=1, MaxCount=1, InstanceType="g4dn.xlarge",
                                     TagSpecifications=[{"ResourceType": "instance", "Tags": tags}])
            return made["Instances"][0]["InstanceId"]

        strangers = [launch([{"Key": MARK, "Value": "0badcafe"}, {"Key": "fastgpu-owner", "Value": "somebody-else"}]) for _ in range(2 * PAGE)]
        orphans = {launch([{"Key": MARK, "Value": "deadbeef"}, owner]) for _ in range(2 * PAGE)}
        settled = json.loads(run("gc", "-o", "json").out)["settled"]
        check(Between.pages >= 3, f"{Between.pages} further pages were asked for")
        alive = {i["InstanceId"] for i in instances(ec2)}
        check(not orphans & alive and set(strangers) < alive, f"gc: {settled}, alive: {alive}")
        check(len(alive) == len(strangers) + 1, alive)
        run("delete", "cluster", "t", "--yes")
        ec2.terminate_instances(InstanceIds=strangers)


def test_an_unfinished_creation_is_rolled_back(user):
    with moto(user) as (run, ec2):
        words = creation(ec2, "t", 2)
        killed = 0
        for step in range(10, 60, 9):
            killed += run(*words, code=None, **{"prefix": ("env", f"FASTGPU_FAULT=any:{step}")}).returncode == -9
            run("gc")
            for cluster in json.loads(run("get", "clusters", "-o", "json").out)["clusters"]:
                run("delete", "cluster", cluster["name"], "--yes")
            check(left_in(ec2) == [], f"killed at step {step}: {left_in(ec2)}")
        check(killed >= 3, f"only {killed} were killed")


if __name__ == "__main__":
    list_there, done = HERE / "moto.txt", MOTO / "done.txt"
    if not done.exists() or done.read_bytes() != list_there.read_bytes():
        print("skipped: moto is not installed; `./dev test` does that where PyPI can be reached")
        sys.exit(SKIPPED)
    sys.path.insert(0, str(MOTO / "site"))
    import boto3
    from botocore.exceptions import EndpointConnectionError
    run_tests(globals())
