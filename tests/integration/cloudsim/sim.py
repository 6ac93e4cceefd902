"""A running fastgpu-cloudsim and the vendors' own kits, for tests."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

SKIPPED = 77
HERE = pathlib.Path(__file__).parent


def use_kits(folder):
    """Makes the vendors' kits that `./dev test` has put into `folder` importable; ends as skipped
    where they are not those of kits.txt.
    """
    folder, wanted = pathlib.Path(folder), HERE / "kits.txt"
    done = folder / "done.txt"
    if not done.exists() or done.read_bytes() != wanted.read_bytes():
        print(
            "skipped: the vendors' kits are not installed; `./dev test` does that where PyPI can "
            "be reached"
        )
        sys.exit(SKIPPED)
    sys.path.insert(0, str(folder / "site"))


def resolve_localhost_names():
    """Makes NAME.localhost this machine, which not every resolver does."""
    resolve = socket.getaddrinfo
    socket.getaddrinfo = lambda host, *rest, **named: resolve(
        "127.0.0.1" if str(host).endswith(".localhost") else host, *rest, **named
    )


class Sim:
    def __init__(self, program, *options):
        self.folder = tempfile.mkdtemp(prefix="cloudsim-test-")
        port_file = os.path.join(self.folder, "port")
        # A folder with the vendors' own descriptions, where there is one.
        facts = os.environ.get("CLOUDSIM_API_FACTS")
        self.process = subprocess.Popen(
            [
                program,
                "--port-file",
                port_file,
                *(["--api-facts", facts] if facts else []),
                *options,
            ]
        )
        limit = time.monotonic() + 20
        while not os.path.exists(port_file):
            if self.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"cloudsim did not begin (status {self.process.poll()})")
            time.sleep(0.01)
        self.port = int(pathlib.Path(port_file).read_text())
        self.url = f"http://127.0.0.1:{self.port}"

    def end(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.folder)

    def ask(self, path):
        with urllib.request.urlopen(f"{self.url}/_control/{path}") as answer:
            return json.load(answer)

    def tell(self, path, body):
        request = urllib.request.Request(
            f"{self.url}/_control/{path}", json.dumps(body).encode(), method="POST"
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


class SimTest(unittest.TestCase):
    """Each test has a cloud of its own, and leaves no request that no client would send."""

    program = None
    options = ()
    wants_violations = False

    def setUp(self):
        self.sim = Sim(self.program, *self.options)
        self.addCleanup(self.sim.end)

    def tearDown(self):
        if not self.wants_violations:
            self.assertEqual(self.sim.ask("violations")["violations"], [])

    def check_machines_left_nothing(self):
        """No machine is left, and neither a disk nor a network interface of one."""
        books = self.sim.ask("books")
        self.assertEqual(books["instances_alive"], 0)
        kinds = ("interface", "disk", "volume")
        left = [each for each in books["resources"] if each["alive"] and each["kind"] in kinds]
        self.assertEqual(left, [])

    def wait_for(self, what, limit=20):
        end = time.monotonic() + limit
        while not (value := what()):
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.05)
        return value
