"""moto, an EC2 that is not ours, as a process, and a proxy before it for what it lacks, for pages,
for calls that take time, and to count them.
"""

import http.client
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

from answering import Answering
from suite import assert_is, assert_less

KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAMOTO000000000001",
    "AWS_SECRET_ACCESS_KEY": "moto/secret",
    "AWS_EC2_METADATA_DISABLED": "true",
    "no_proxy": "127.0.0.1",
}
REGION = "us-east-1"
TYPE = "g4dn.xlarge"


class Passing(Answering):
    """Passes requests on: with short pages where they are wanted, and as many machines as EC2 would
    give, where moto gives the fewest that were asked for.
    """

    def do_POST(self):
        body, target = self.request_body(), self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        self.server.note(body, target)
        time.sleep(self.server.latency)
        if target == "GetProducts" and self.server.price:
            self.give(200, price_list(self.server.price), "application/x-amz-json-1.1")
        else:
            self.pass_on(self.server.changed(body))

    def pass_on(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.moto, timeout=60)
        connection.request(
            "POST",
            self.path,
            body,
            {name: value for name, value in self.headers.items() if name != "Content-Length"},
        )
        answer = connection.getresponse()
        self.give(answer.status, answer.read(), answer.headers.get("Content-Type", "text/xml"))
        connection.close()


class Between(http.server.ThreadingHTTPServer):
    def __init__(self, moto, page, latency, price):
        super().__init__(("127.0.0.1", 0), Passing)
        self.moto, self.page, self.latency, self.price = moto, page, latency, price
        self.pages, self.calls = 0, []

    def note(self, body, target):
        self.pages += b"NextToken=" in body
        action = re.search(rb"Action=(\w+)", body)
        self.calls.append((time.monotonic(), action[1].decode() if action else target))

    def changed(self, body):
        if self.page:
            body = body.replace(b"MaxResults=1000", b"MaxResults=%d" % self.page)
        if most := re.search(rb"MaxCount=(\d+)", body):
            body = re.sub(rb"MinCount=\d+", b"MinCount=" + most[1], body)
        # IAM takes a policy that does not say of which version it is.
        return body.replace(
            b"PolicyDocument=%7B%22Statement%22",
            b"PolicyDocument=%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22",
        )


class Moto:
    """Of what stands in a folder of tools; ends with its `with` block. `address` is the server's,
    `url` the proxy's.

    A page is of reservations. With a price, in dollars an hour, the proxy has the price list that
    moto has not.
    """

    def __init__(self, folder, page=None, latency=0.0, price=None):
        self.folder, self.page, self.latency, self.price = (
            pathlib.Path(folder),
            page,
            latency,
            price,
        )

    def __enter__(self):
        port = free_port()
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "site"),
            "MOTO_IAM_LOAD_MANAGED_POLICIES": "true",
        }
        self.process = subprocess.Popen(
            [
                sys.executable,
                self.folder / "site/bin/moto_server",
                "-H",
                "127.0.0.1",
                "-p",
                str(port),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.between = Between(port, self.page, self.latency, self.price)
        threading.Thread(target=self.between.serve_forever, daemon=True).start()
        self.address, self.url = (
            f"http://127.0.0.1:{port}",
            f"http://127.0.0.1:{self.between.server_port}",
        )
        try:
            self.wait_until_up(port)
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait_until_up(self, port):
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except ConnectionRefusedError:
                assert_is(self.process.poll(), None, "moto does not start")
                assert_less(time.monotonic(), deadline, "moto does not start")
                time.sleep(0.1)

    def __exit__(self, *_):
        self.between.shutdown()
        self.between.server_close()
        self.process.kill()
        self.process.wait()

    def environment(self, home):
        return {**KEYS, "HOME": str(home), "AWS_ENDPOINT_URL": self.url}


def price_list(price):
    attributes = {
        "instanceType": TYPE,
        "regionCode": REGION,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
    }
    terms = {
        "OnDemand": {
            "1": {"priceDimensions": {"1": {"unit": "Hrs", "pricePerUnit": {"USD": str(price)}}}}
        }
    }
    return json.dumps(
        {
            "FormatVersion": "aws_v1",
            "PriceList": [json.dumps({"product": {"attributes": attributes}, "terms": terms})],
        }
    ).encode()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def creation(image, name, nodes):
    return (
        "create",
        "cluster",
        name,
        "--cloud",
        "aws",
        "--region",
        REGION,
        "--instance-type",
        TYPE,
        "--image",
        image,
        "--nodes",
        str(nodes),
        "--ssh-from",
        "127.0.0.1/32",
        "--yes",
        "--detach",
    )
