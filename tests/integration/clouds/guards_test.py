#!/usr/bin/env python3
"""Clusters in clouds that end or stop by themselves, on the stand-in: guards_test.py FASTGPU
CLOUDSIM [TEST ...]
"""

import datetime
import json
import pathlib
import sqlite3
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import run_tests, within
from clouds_test import for_each_cloud
from suite import (
    assert_equal,
    assert_false,
    assert_greater,
    assert_in,
    assert_is,
    assert_less,
    assert_true,
)

MINUTE, HOUR, DAY = 60, 3600, 86400
TIMERS = {
    "alibaba": "ModifyInstanceAutoReleaseTime",
    "tencent": "ImportInstancesActionTimer",
    "huawei": "UpdateServerAutoTerminateTime",
}


def timers(customer):
    """Seconds from now until the cloud ends each instance; None where it does not."""
    instances, _ = customer.sim.alive()
    times = [
        i["release_at"]
        and datetime.datetime.fromisoformat(i["release_at"].replace("Z", "+00:00")).timestamp()
        for i in instances
    ]
    return [t and t - time.time() for t in times]


def check_timers(customer, expected, nodes=2):
    found = timers(customer)
    assert_equal(len(found), nodes, f"{customer.cloud}: {len(found)} instances")
    for left in found:
        near = (
            left is None
            if expected is None
            else left is not None and abs(left - expected) <= 3 * MINUTE
        )
        assert_true(near, f"{customer.cloud}: ends in {left} s, not {expected}")


def has_timer(customer):
    return customer.cloud in TIMERS


def calls_of(customer):
    return (
        customer.sim.control("calls")["counts"]
        .get(customer.cloud, {})
        .get(TIMERS[customer.cloud], 0)
    )


def cluster(customer, name="t"):
    return json.loads(customer.run("get", "clusters", name, "-o", "json").out)["clusters"][0]


def states(customer):
    return {node["state"] for node in customer.nodes("t")}


def awake(customer):
    return json.loads(customer.run("why-awake", "t", "-o", "json").out)["nodes"]


def test_a_cluster_that_everybody_has_forgotten_ends(user):
    def forgotten(customer):
        customer.create("t", "--detach", "--max-life", "8h")
        if has_timer(customer):
            check_timers(customer, 8 * HOUR)
        price = sum(i["price_per_hour"] for i in customer.sim.alive()[0])
        customer.sim.control("advance", {"seconds": 8 * HOUR - 3 * MINUTE})
        assert_equal(len(customer.sim.alive()[0]), 2, f"{customer.cloud}: ended too early")
        customer.sim.control("advance", {"seconds": 6 * MINUTE})
        assert_equal(customer.sim.alive()[0], [], f"{customer.cloud}: {customer.sim.alive()}")
        cost = sum(i["cost"] for i in customer.sim.books()["instances"])
        assert_less(
            abs(cost - 8 * price), 0.2 * price, f"{customer.cloud}: {cost} at {price} an hour"
        )
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, forgotten)


def test_an_end_that_the_timers_keep_only_later_is_said_before_machines_are_bought(user):
    def early(customer):
        if not has_timer(customer):
            return
        late = "accept no time that is so close: it is deleted at"
        words = customer.creation("t", "--detach", "--max-life", "2m", nodes=1)
        assert_in(late, customer.run(*words, "--dry-run").err)
        made = customer.run(*words)
        assert_in(late, made.err)
        assert_in(", after about ", made.err)
        customer.run("delete", "cluster", "t", "--yes")
        cheap = customer.creation("t", "--detach", "--max-cost", "0.01USD", nodes=1)
        told = ("--max-cost 0.", "cannot be kept", "until then the cluster costs about")
        customer.refused(cheap, 2, *told)
        customer.refused((*cheap, "--dry-run"), 2, *told)

    for_each_cloud(user, early)


def test_a_cost_becomes_a_time_that_follows_what_runs(user):
    def bounded(customer):
        offer = json.loads(customer.create("t", "--dry-run", "-o", "json").out)["offers"][0]
        price, currency = offer["price_per_hour"], offer["currency"]
        customer.refused(customer.creation("t", "--max-cost", "50xyz"), 2, "XYZ")
        customer.create(
            "t", "--max-cost", f"{price * 2 * 5:.6f}{currency.lower()}", "--timeout", "90s"
        )
        ends = {"now": 5 * HOUR}
        if has_timer(customer):
            check_timers(customer, ends["now"])
        else:
            assert_true(
                all(abs(n["powers_off_in"] - ends["now"]) <= 3 * MINUTE for n in offs(customer)),
                offs(customer),
            )
        customer.run("scale", "cluster", "t", "--nodes", "1", "--yes")
        if has_timer(customer):
            check_timers(customer, 10 * HOUR, nodes=1)
        else:
            assert_true(
                all(abs(n["powers_off_in"] - 10 * HOUR) <= 6 * MINUTE for n in offs(customer)),
                offs(customer),
            )
        before = cluster(customer)
        assert_less(0, before["cost_so_far"], before)
        assert_less(before["cost_so_far"], price, before)
        assert_equal(before["price_per_hour"], price, before)
        assert_equal(before["ends_because"], "max-cost", before)
        customer.run("stop", "cluster", "t")
        stopped = cluster(customer)
        assert_equal(stopped["price_per_hour"], 0, stopped)
        assert_is(stopped["ends"], None, stopped)
        if has_timer(customer):
            check_timers(customer, None, nodes=1)
        time.sleep(1.5)
        assert_equal(
            cluster(customer)["cost_so_far"], stopped["cost_so_far"], "what is stopped costs"
        )
        customer.run("start", "cluster", "t", "--timeout", "60s")
        if has_timer(customer):
            check_timers(customer, 10 * HOUR, nodes=1)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, bounded, boot="local")


def offs(customer):
    """What nodes that keep their own time say of it."""
    nodes = awake(customer)
    for node in nodes:
        when = datetime.datetime.fromisoformat(
            node["powers_off"].replace("Z", "+00:00")
        ).timestamp()
        node["powers_off_in"] = when - time.time()
    return nodes


def test_guards_can_be_changed_and_contact_puts_the_end_off(user):
    def changed(customer):
        customer.create("t", "--unattended", "2h", "--timeout", "90s")
        customer.run("guard", "cluster", "t", "--max-life", "12h")
        if has_timer(customer):
            check_timers(customer, 2 * HOUR)
            made = calls_of(customer)
            customer.run("exec", "t", "--", "true")
            assert_equal(calls_of(customer), made, f"{customer.cloud}: a call for nothing")
            long_ago(customer, HOUR)
            customer.run("exec", "t", "--", "true")
            assert_greater(calls_of(customer), made, f"{customer.cloud}: its end was not put off")
            check_timers(customer, 2 * HOUR)
        else:
            assert_true(
                within(
                    30,
                    lambda: all(
                        node["acts"] and node["because"] == "unattended" for node in offs(customer)
                    ),
                ),
                offs(customer),
            )
            assert_true(
                all(i["terminate_on_shutdown"] for i in customer.sim.alive()[0]),
                customer.sim.alive(),
            )
        customer.run("guard", "cluster", "t", "--unattended", "off")
        if has_timer(customer):
            check_timers(customer, 12 * HOUR)
        shown = json.loads(
            customer.run("guard", "cluster", "t", "--max-life", "off", "-o", "json").out
        )
        assert_is(shown["ends"], None, shown)
        if has_timer(customer):
            check_timers(customer, None)
        else:
            assert_false(
                any(i["terminate_on_shutdown"] for i in customer.sim.alive()[0]),
                customer.sim.alive(),
            )
            assert_true(
                all(node["powers_off"] is None for node in awake(customer)), awake(customer)
            )
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, changed, boot="local")


def long_ago(customer, seconds):
    """As if nobody had looked after the cluster for so long."""
    with sqlite3.connect(customer.user.state / "state.db") as database:
        database.execute(
            "UPDATE timers SET contact = contact - ?, ends = ends - ?",
            (seconds * 1000, seconds * 1000),
        )


def test_idle_nodes_stop(user):
    def idle(customer):
        customer.create("t", "--idle-stop", "3s", "--idle-delete", "7d", "--timeout", "90s")
        if not has_timer(customer):  # Its nodes do it themselves, and what is off is free.
            assert_true(
                within(60, lambda: all(i["state"] == "stopped" for i in customer.sim.alive()[0])),
                f"{customer.sim.alive()}",
            )
            assert_equal(states(customer), {"stopped"})
        else:
            assert_true(
                within(
                    60,
                    lambda: all(
                        n["because"] == "idle" and not n["awake"] and not n["acts"]
                        for n in awake(customer)
                    ),
                ),
                awake(customer),
            )
            assert_true(
                within(60, lambda: "stopped" in customer.run("gc", "--dry-run").out.decode()),
                "not idle for gc",
            )
            assert_equal(states(customer), {"running"}, "a dry run has stopped it")
            assert_true(
                within(60, lambda: customer.run("gc") and states(customer) == {"stopped"}),
                f"{states(customer)}",
            )
            check_timers(customer, 7 * DAY)
        customer.run("guard", "cluster", "t", "--idle-stop", "off", "--idle-delete", "off")
        customer.run("start", "cluster", "t", "--timeout", "60s")
        time.sleep(6)
        assert_equal(states(customer), {"running"}, "still guarded")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, idle, boot="local")


def test_what_works_is_not_idle_and_its_life_ends_all_the_same(user):
    def busy(customer):
        customer.create("t", "--idle-stop", "3s", "--timeout", "90s")
        job = (
            customer.run(
                "run", "job", "--cluster", "t", "-np", "2", "--detach", "--", "sleep", "600"
            )
            .out.decode()
            .strip()
        )
        time.sleep(8)
        assert_equal(states(customer), {"running"}, "a job was stopped as idle")
        for node in awake(customer):
            assert_true(
                any(w["kind"] == "job" and w["what"] == job and w["since"] for w in node["awake"]),
                node,
            )
        created = datetime.datetime.fromisoformat(
            cluster(customer)["created"].replace("Z", "+00:00")
        ).timestamp()
        customer.run(
            "guard",
            "cluster",
            "t",
            "--idle-stop",
            "off",
            "--max-life",
            f"{time.time() - created + 12:.0f}s",
            "--yes",
        )
        if not has_timer(customer):
            assert_true(
                within(60, lambda: customer.sim.alive()[0] == []), f"{customer.sim.alive()}"
            )
        time.sleep(max(0, 14 - (time.time() - created)))
        assert_true(
            within(30, lambda: "is over" in customer.run("gc").out.decode()), "gc does not end it"
        )
        assert_equal(
            json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"],
            [],
            "still on record",
        )

    for_each_cloud(user, busy, boot="local")


if __name__ == "__main__":
    run_tests(globals())
