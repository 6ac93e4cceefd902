#!/usr/bin/env python3
"""Machines that their cloud takes back, on the stand-in:
spot_test.py FASTGPU CLOUDSIM [TEST ...]
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests, within
from suite import assert_equal, assert_in, assert_is, assert_not_in, assert_true

CLOUDSIM = sys.argv.pop(2)


def notices(customer):
    shown = json.loads(customer.run("describe", "cluster", "t", "-o", "json").out)
    return {notice["node"]: notice for notice in shown["taken_back"]}


def test_a_machine_that_will_be_taken_back_is_told_of_everywhere(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        assert_equal(notices(customer), {}, "taken back before anybody said so")
        job = (
            customer.run(
                "run",
                "job",
                "--cluster",
                "t",
                "-np",
                "2",
                "--detach",
                "-o",
                "name",
                "--",
                "sleep",
                "600",
            )
            .out.decode()
            .strip()
        )
        first, second = customer.nodes("t")
        if customer.cloud == "aws":
            customer.sim.control("rebalance", {"instance": first["instance"]})
            assert_true(within(60, lambda: "t-0" in notices(customer)), "no risk")
            assert_is(notices(customer)["t-0"]["when"], None, notices(customer))
            assert_true(notices(customer)["t-0"]["at_risk_since"], notices(customer))
        customer.sim.control("reclaim", {"instance": second["instance"], "notice_ms": 300_000})
        assert_true(within(60, lambda: "t-1" in notices(customer)), "no notice")
        when = notices(customer)["t-1"]["when"]
        said = f"node t-1 is taken back at {when} by the cloud"
        assert_in(said, customer.run("get", "clusters").err)
        awake = customer.run("why-awake", "t", "-o", "json")
        assert_in(said, awake.err)
        assert_equal(json.loads(awake.out)["nodes"][1]["taken_back"], when, awake.err)
        assert_true(
            within(30, lambda: "node t-1 is taken back at" in customer.run("logs", job).err),
            customer.run("logs", job).err,
        )
        customer.run("gc")
        assert_equal(len(customer.sim.alive()[0]), 2, "gc ends what its cloud will take back")
        customer.sim.control("advance", {"seconds": 400})
        assert_true(
            within(
                30, lambda: [node["state"] for node in customer.nodes("t")] == ["running", "lost"]
            ),
            customer.nodes("t"),
        )
        customer.run("cancel", "job", job, code=None)
        customer.run("start", "cluster", "t", "--replace-lost", "--timeout", "90s")
        assert_equal(
            [node["state"] for node in customer.nodes("t")], ["running"] * 2, customer.nodes("t")
        )
        assert_not_in("t-1", notices(customer), "the new machine is told to go, too")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


if __name__ == "__main__":
    os.umask(0o022)
    run_tests(globals())
