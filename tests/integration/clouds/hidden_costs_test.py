#!/usr/bin/env python3
"""What a change of one cluster means for others, and what it costs, on the stand-in:
hidden_costs_test.py FASTGPU CLOUDSIM [TEST ...]
"""

import json
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import run_tests, within
from cloud_sim import CloudSim, Customer, for_each_cloud
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

CLOUDSIM = sys.argv.pop(2)


def cluster(customer, name):
    return json.loads(customer.run("get", "clusters", name, "-o", "json").out)["clusters"][0]


def parts(customer, kind):
    return [r["id"] for r in customer.sim.books()["resources"] if r["alive"] and r["kind"] == kind]


def test_a_network_that_another_cluster_uses_holds_nobody_up(user):
    def shared(customer):
        customer.create("a", "--detach", nodes=1)
        vpc = parts(customer, "vpc")[0]
        made = customer.create("b", "--detach", "--vpc", vpc, "--public-address", "none", nodes=1)
        said = "belongs to cluster a: cluster b has to be deleted before"
        assert_in(said, made.err)
        gateways = parts(customer, "gateway")
        began = time.monotonic()
        left = customer.run("delete", "cluster", "a", "--yes")
        assert_in(f"its network {vpc} stays: cluster b uses it", left.err)
        assert_equal(len(customer.sim.alive()[0]), 1, "machines")
        assert_equal(parts(customer, "vpc"), [vpc], "the network")
        assert_equal(parts(customer, "gateway"), gateways, "the way out of b")
        customer.refused(("delete", "cluster", "a", "--yes"), 6, "cluster b uses it")
        stopped = customer.run("stop", "cluster", "b")
        assert_in("a: could not finish its deletion", stopped.err)
        assert_in("cluster b uses it", customer.run("gc", code=1).out.decode())
        customer.run("delete", "cluster", "b", "--yes")
        assert_less(time.monotonic() - began, 60, "the time for all of it")
        assert_equal(json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"], [])

    for_each_cloud(user, CLOUDSIM, shared)


def test_a_deletion_ends_after_its_timeout(user):
    def slow(customer):
        customer.create("a", "--detach", nodes=1)
        customer.sim.settings(terminate_ms=60_000)
        began = time.monotonic()
        words = ("delete", "cluster", "a", "--yes", "--timeout", "3s")
        customer.refused(words, 124, "have not all ended", "`fastgpu delete cluster a` tries again")
        assert_less(time.monotonic() - began, 20, "the time for all of it")
        customer.sim.control("advance", {"seconds": 90})
        customer.run("delete", "cluster", "a", "--yes")

    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        slow(customer)
        customer.check_nothing_is_left()


def test_places_without_the_named_network_are_not_planned(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        customer.create("a", "--detach", nodes=1)
        vpc = parts(customer, "vpc")[0]
        anywhere = ("create", "cluster", "v", "--cloud", "aws", "--gpus", customer.about["gpus"])
        words = (*anywhere, "--nodes", "1", "--ssh-from", "127.0.0.1/32", "--vpc", vpc)
        planned = customer.run(*words, "--dry-run").out.decode()
        assert_in("without network", planned)
        made = customer.run(*words, "--yes", "--detach")
        assert_not_in("trying the next zone", made.err)
        customer.refused(
            ("create", "cluster", "w", *anywhere[3:], "--image", "none"), 5, "no image"
        )
        customer.run("delete", "cluster", "--all", "--yes")
        customer.run("gc")
        customer.check_nothing_is_left()


def test_a_guard_that_ends_a_cluster_at_once_is_asked_about(user):
    def guarded(customer):
        customer.create("g", "--detach", nodes=1)
        soon = ("guard", "cluster", "g", "--max-life", "50s")
        customer.refused(soon, 2, "within a minute, because then its life of 50s is over", "--yes")
        time.sleep(1.2)
        words = ("guard", "cluster", "g", "--max-life", "1s")
        customer.refused(words, 2, "is deleted at once, because its life of 1s is over", "--yes")
        assert_equal(cluster(customer, "g")["guards"]["max_life_seconds"], None)
        assert_in("at once", customer.run(*words, "--dry-run").err)
        assert_not_in(
            "at once",
            customer.run("guard", "cluster", "g", "--max-life", "8h", "--dry-run").err,
        )
        customer.run("delete", "cluster", "g", "--yes")

    for_each_cloud(user, CLOUDSIM, guarded)


def test_nothing_is_bought_for_a_cluster_that_its_guard_has_ended(user):
    def ended(customer):
        customer.create("g", "--detach", "--max-life", "1s", nodes=1)
        time.sleep(1.5)
        said = ("its life of 1s is over", "`fastgpu guard cluster g --max-life off`")
        customer.refused(("scale", "cluster", "g", "--nodes", "2"), 6, *said)
        machine = customer.nodes("g")[0]["instance"]
        customer.sim.control("reclaim", {"instance": machine, "notice_ms": 0})
        assert_true(
            within(10, lambda: customer.nodes("g")[0]["state"] == "lost"), customer.nodes("g")
        )
        assert_in("ended", customer.run("get", "clusters").out.decode())
        made = len(customer.sim.books()["instances"])
        for change in (
            ("exec", "g", "--", "true"),
            ("start", "cluster", "g"),
            ("start", "cluster", "g", "--replace-lost"),
            ("start", "cluster", "g", "--replace-lost", "--dry-run"),
            ("scale", "cluster", "g", "--nodes", "2"),
        ):
            done = customer.refused(change, 6, *said)
            assert_not_in("is lost", done.err)
            assert_not_in("adding", done.err)
        assert_equal(len(customer.sim.books()["instances"]), made, "machines were bought")
        customer.run("guard", "cluster", "g", "--max-life", "off")
        planned = customer.run("start", "cluster", "g", "--replace-lost", "--dry-run")
        assert_in("g-0", planned.out.decode())
        customer.run("delete", "cluster", "g", "--yes")

    # The other clouds do not list what has ended, and a new machine may be listed late.
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        ended(customer)
        customer.check_nothing_is_left()


def test_what_a_killed_change_leaves_is_in_the_price(user):
    def killed(customer):
        customer.create("k", "--detach", nodes=1)
        one = cluster(customer, "k")["price_per_hour"]
        grow = ("scale", "cluster", "k", "--nodes", "3")
        fault = {"FASTGPU_FAULT": "provision:create"}
        customer.run(*grow, code=-signal.SIGKILL, environment=fault)
        fault = {"FASTGPU_FAULT": "provision:created"}
        customer.run(*grow, code=-signal.SIGKILL, environment=fault)
        alive = len(customer.sim.alive()[0])
        assert_equal(alive, 3, "machines")
        # New machines are listed after a moment.
        paid = round(alive * one, 4)
        assert_true(
            within(10, lambda: round(cluster(customer, "k")["price_per_hour"], 4) == paid),
            cluster(customer, "k"),
        )
        seen = cluster(customer, "k")
        assert_equal(seen["unfinished"], True, seen)
        assert_in("degraded, unfinished", customer.run("get", "clusters").out.decode())
        customer.run("gc")
        assert_equal(round(cluster(customer, "k")["price_per_hour"], 4), round(one, 4))
        customer.run("delete", "cluster", "k", "--yes")

    for_each_cloud(user, CLOUDSIM, killed)


if __name__ == "__main__":
    run_tests(globals())
