#!/usr/bin/env python3
"""Random mixes of faults: mixes.py FASTGPU CLOUDSIM [COUNT [SEED]]

A mix is a cloud, a command and some of the stand-in's faults, all drawn from its seed. The command
ends within its deadline, with success or one sentence and an exit code that fits; with the faults
off, `gc` and `delete` then leave nothing behind and nothing that costs. A mix that fails prints its
seed, by which it can be run again alone.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import User
from cloud_sim import CLOUDS, CloudSim, Customer
from suite import assert_false, assert_in, assert_less, assert_not_in, assert_true

NODES = 3
DEADLINE = 100  # Seconds a command: what all attempts of a call may take together, and some.
AT_ONCE = int(os.environ.get("CLOUDS_MIXES_AT_ONCE", "6"))  # They wait more than they work.
LATEST = 25  # No command has many more calls.

KINDS = {
    "delay": lambda draw: {"milliseconds": draw.choice((100, 400, 1500))},
    "status": lambda draw: {
        "status": draw.choice((429, 500, 503)),
        **draw.choice(({}, {"retry_after": draw.choice((0, 1, 2))})),
    },
    "reset_before": lambda draw: {},
    "reset_after": lambda draw: {},
    "half_body": lambda draw: {},
    "content_type": lambda draw: {
        "text": draw.choice(("text/html", "", "application/octet-stream"))
    },
    "error_in_200": lambda draw: {"status": draw.choice((429, 500, 503))},
    "slow_drip": lambda draw: {"milliseconds": 1},
    "garbage": lambda draw: {
        "text": draw.choice(
            ("", "<html>\u00ff{", "null", "[]", "{}", "<a/>", '{"Response": 3}', "[" * 5000)
        )
    },
}


class Mix:
    def __init__(self, seed):
        draw = random.Random(seed)
        self.seed, self.cloud = seed, draw.choice(sorted(CLOUDS))
        self.command = draw.choice(
            (
                "create",
                "create",
                "create",
                "scale up",
                "scale down",
                "stop",
                "start",
                "delete",
                "get prices",
                "gc",
            )
        )
        self.faults = [self.fault(draw) for _ in range(draw.randint(0, 4))]
        self.skew = draw.choice((0, 0, 0, -4000, 4000))
        # Of every machine, everywhere.
        self.stock = draw.randrange(NODES + 1) if draw.random() < 0.2 else None
        self.boot_failures = draw.randint(1, NODES) if draw.random() < 0.15 else 0
        # Not every cloud stops such machines.
        self.is_spot = draw.random() < 0.2 and self.command not in ("stop", "start")
        self.reclaimed = draw.randint(1, 2) if self.is_spot and draw.random() < 0.5 else 0
        self.killed_after = draw.uniform(0.02, 0.6)  # For what gc is to find.

    def fault(self, draw):
        kind = draw.choice(sorted(KINDS))
        match = {
            "vendor": self.cloud,
            "nth": draw.randint(1, LATEST),
            "count": draw.choice((1, 1, 1, 2, 3)),
        }
        return {"match": match, "fault": {"kind": kind, **KINDS[kind](draw)}}

    def __str__(self):
        return (
            f"{self.cloud}, {self.command}: {json.dumps(self.faults)} skew {self.skew} stock "
            f"{self.stock} boot failures {self.boot_failures} "
            f"spot {self.is_spot} reclaimed {self.reclaimed}"
        )

    def words(self, customer):
        return {
            "create": self.creation(customer),
            "scale up": ("scale", "cluster", "t", "--nodes", str(NODES + 2), "--timeout", "2s"),
            "scale down": ("scale", "cluster", "t", "--nodes", "1", "--yes"),
            "stop": ("stop", "cluster", "t"),
            "start": ("start", "cluster", "t", "--timeout", "2s"),
            "delete": ("delete", "cluster", "t", "--yes"),
            "get prices": (
                "get",
                "prices",
                "--cloud",
                self.cloud,
                "--region",
                customer.about["region"],
                "--gpus",
                customer.about["gpus"],
                "-o",
                "json",
            ),
            "gc": ("gc",),
        }[self.command]

    def creation(self, customer):
        return customer.creation(
            "t", "--detach", *(["--spot"] if self.is_spot else []), nodes=NODES
        )

    def codes(self):
        """The exit codes that the faults explain."""
        codes = {0, 1}
        if self.stock is not None or self.boot_failures or self.reclaimed:
            codes.add(4)
        if self.command in ("scale up", "start"):
            codes.add(124)  # No machine of the stand-in's answers here.
        if self.command in ("scale up", "start") and (self.boot_failures or self.reclaimed):
            codes.add(6)  # What is to grow or to start does not run.
        return codes


def prepare(mix, customer):
    """What the command works on, while all is well."""
    if mix.command == "gc":
        process = customer.user.start(*mix.creation(customer), environment=customer.environment())
        time.sleep(mix.killed_after)
        process.kill()
        process.communicate()
    elif mix.command not in ("create", "get prices"):
        customer.run(*mix.creation(customer))
        if mix.command == "start":
            customer.run("stop", "cluster", "t")


def begin_faults(mix, customer):
    sim = customer.sim
    if mix.stock is not None:
        sim.control("stock", {"vendor": mix.cloud, "stock": mix.stock, "spot_stock": mix.stock})
    if mix.boot_failures:
        sim.control("boot_failure", {"count": mix.boot_failures})
    sim.control("clock", {"skew_seconds": mix.skew})
    for instance in sim.alive()[0][: mix.reclaimed]:
        sim.control("reclaim", {"instance": instance["id"], "notice_ms": 300})
    sim.faults(*mix.faults)


def end_faults(customer):
    customer.sim.faults()
    customer.sim.control("boot_failure", {"count": 0})
    customer.sim.control("clock", {"skew_seconds": 0})
    customer.sim.control("stock", {"vendor": customer.cloud, "stock": 100, "spot_stock": 100})


def check_end(mix, customer, done, seconds):
    assert_less(seconds, DEADLINE, f"took {seconds:.0f} s")
    assert_in(
        done.returncode,
        mix.codes(),
        f"exit code {done.returncode}, not of {sorted(mix.codes())}: {done.err}",
    )
    errors = [line for line in done.err.split("\n") if line.startswith("error: ")]
    wanted = 0 if done.returncode == 0 else 1
    assert_true(
        len(errors) == wanted or mix.command == "gc",
        f"{len(errors)} errors with exit code {done.returncode}: {done.err}",
    )
    assert_not_in("internal", done.err)
    assert_true(all(len(error) < 3000 for error in errors), done.err)
    assert_not_in(customer.sim.account(mix.cloud)["secret_key"], done.err, "a secret is shown")
    if done.returncode == 0 and mix.command == "create":
        alive = [
            instance
            for instance in customer.sim.alive()[0]
            if instance["state"] not in ("shutting-down", "failed")
        ]
        assert_true(len(alive) == NODES or mix.boot_failures, f"{len(alive)} instances")
    if done.returncode == 0 and mix.command == "get prices":
        json.loads(done.out)


def check_books(customer):
    customer.run("gc")
    for cluster in json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"]:
        customer.run("delete", "cluster", cluster["name"], "--yes")
    customer.run("gc")
    running = [
        i["id"]
        for i in customer.sim.books()["instances"]
        if any(run["to"] is None for run in i["runs"])
    ]
    assert_false(running, f"the bill goes on for {running}")
    customer.check_nothing_is_left()


def play(mix, programs):
    fastgpu, cloudsim = programs
    with (
        tempfile.TemporaryDirectory(prefix="fastgpu-mix-") as folder,
        CloudSim(cloudsim, "instant", "--seed", str(mix.seed % 2**32)) as sim,
    ):
        customer = Customer(User(fastgpu, folder), sim, mix.cloud)
        prepare(mix, customer)
        begin_faults(mix, customer)
        began = time.monotonic()
        done = customer.run(*mix.words(customer), code=None, timeout=2 * DEADLINE)
        seconds = time.monotonic() - began
        end_faults(customer)
        check_end(mix, customer, done, seconds)
        check_books(customer)


def failure_of(mix, programs):
    try:
        play(mix, programs)
        return None
    except Exception:
        return traceback.format_exc(limit=-2)


def main():
    programs = [os.path.abspath(program) for program in sys.argv[1:3]]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        mixes = [Mix(number) for number in range(seed, seed + count)]
        for mix, failure in zip(
            mixes, pool.map(lambda mix: failure_of(mix, programs), mixes), strict=True
        ):
            if failure:
                failed += 1
                print(
                    f"FAILED: mix {mix.seed} (again: ./dev fuzz-faults 1 {mix.seed}): {mix}\n"
                    f"{failure}",
                    flush=True,
                )
    print(f"{count - failed} of {count} mixes ended well")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
