#!/usr/bin/env python3
"""Clouds and networks that fail, on the stand-in: faults_test.py FASTGPU CLOUDSIM [TEST ...]

Every test runs for each cloud that fastgpu and the stand-in both know, or for those that
CLOUDS_ONLY names.
"""

import collections
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests, within
from cloud_sim import CLOUDS, KILL_STRIDE, CloudSim, Customer
from suite import assert_equal, assert_false, assert_greater, assert_in, assert_less, assert_true

CLOUDSIM = sys.argv.pop(2)


def for_each_cloud(user, test, *options, boot="instant"):
    cloud_sim.for_each_cloud(user, CLOUDSIM, test, *options, boot=boot)


def kinds_alive(customer):
    """How many there are of each kind, machines included."""
    instances, resources = customer.sim.alive()
    return collections.Counter(
        [text.split()[0] for text in resources] + ["instance"] * len(instances)
    )


READING = ("Describe", "List", "Show", "Get", "Nova", "Neutron", "Keystone", "Inquiry")


def test_whatever_answer_is_lost_nothing_is_made_twice(user):
    def lost(customer):
        customer.create("t", "--detach")
        wanted = kinds_alive(customer)
        calls = customer.sim.control("calls")["calls"]
        customer.run("delete", "cluster", "t", "--yes")
        changes = sorted(
            {call["action"] for call in calls if not call["action"].startswith(READING)}
        )
        assert_greater(len(changes), 3, f"{customer.cloud}: {changes}")
        for number, action in enumerate(changes):
            customer.sim.faults(
                {
                    "match": {"vendor": customer.cloud, "action": action, "count": 1},
                    "fault": {"kind": "reset_after"},
                }
            )
            made = customer.create(f"t{number}", "--detach", code=None)
            customer.sim.faults()
            assert_equal(
                made.returncode, 0, f"{customer.cloud} {action}: {made.returncode} {made.err}"
            )
            assert_equal(
                kinds_alive(customer),
                wanted,
                f"{customer.cloud} {action}: {kinds_alive(customer)} and not {wanted}",
            )
            customer.run("addip", f"t{number}", "--ssh-from", "127.0.0.2/32")
            customer.run("delete", "cluster", f"t{number}", "--yes")

    for_each_cloud(user, lost)


def test_an_error_in_an_answer_of_status_200_is_that_error(user):
    def lying(customer):
        customer.create("t", "--detach")
        wanted = kinds_alive(customer)
        actions = sorted({call["action"] for call in customer.sim.control("calls")["calls"]})
        customer.run("delete", "cluster", "t", "--yes")
        customer.sim.faults(
            *(
                {
                    "match": {"vendor": customer.cloud, "action": action, "count": 1},
                    "fault": {"kind": "error_in_200"},
                }
                for action in actions
            )
        )
        customer.create("t", "--detach")
        customer.sim.faults()
        assert_equal(
            kinds_alive(customer),
            wanted,
            f"{customer.cloud}: {kinds_alive(customer)} and not {wanted}",
        )
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, lying)


def test_one_region_that_refuses_hides_no_orphan_of_another(user):
    listed = {
        "aws": ("DescribeInstances", "UnauthorizedOperation"),
        "alibaba": ("DescribeInstances", "Forbidden.RAM"),
        "tencent": ("DescribeInstances", "UnauthorizedOperation"),
        "huawei": ("ListServersDetails", "Pdp.0001"),
    }
    others = {
        "aws": "us-west-2",
        "alibaba": "cn-beijing",
        "tencent": "ap-shanghai",
        "huawei": "cn-east-3",
    }

    def refused(customer):
        action, code = listed[customer.cloud]
        customer.create("t", "--detach")
        closed = {
            "match": {
                "vendor": customer.cloud,
                "region": others[customer.cloud],
                "action": action,
                "count": 999,
            },
            "fault": {"kind": "status", "status": 403, "code": code},
        }
        (customer.user.state / "state.db").rename(customer.user.state / "lost.db")
        customer.sim.faults(closed)
        seen = customer.run("gc", code=None)
        assert_in(
            f"region {others[customer.cloud]}",
            seen.err + seen.out.decode(),
            f"{seen.out} {seen.err}",
        )
        assert_equal(customer.sim.alive()[0], [], f"{customer.cloud}: {seen.out} {seen.err}")
        customer.sim.faults()
        customer.run("gc")

    for_each_cloud(user, refused)


def without(words, name):
    """The words without an option and its value."""
    at = words.index(name)
    return words[:at] + words[at + 2 :]


def test_a_limit_or_a_name_that_one_region_lacks_leads_to_the_next(user):
    if "aws" not in cloud_sim.clouds_of(user):
        return  # What is decided is decided alike for all.
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        words = without(customer.creation("t", "--detach", nodes=1), "--region")
        offers = json.loads(customer.run(*words, "--dry-run", "-o", "json").out)["offers"]
        best, other = (
            offers[0]["region"],
            next(offer["region"] for offer in offers if offer["region"] != offers[0]["region"]),
        )
        sim.faults(
            {
                "match": {"vendor": "aws", "region": best, "action": "CreateVpc", "count": 99},
                "fault": {"kind": "status", "status": 400, "code": "VpcLimitExceeded"},
            }
        )
        made = customer.run(*words)
        assert_in("VpcLimitExceeded", made.err, f"{made.err} {sim.alive()[0]}")
        assert_false(sim.alive()[0][0]["zone"].startswith(best), f"{made.err} {sim.alive()[0]}")
        customer.run("delete", "cluster", "t", "--yes")
        sim.faults()
        customer.refused((*words, "--key-pair", "mine"), 5, "key pair 'mine'", best, other)
        key = user.folder / "pair"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        sim.control(
            "key_pair",
            {
                "vendor": "aws",
                "account": sim.account("aws")["name"],
                "region": other,
                "name": "mine",
                "public": key.with_suffix(".pub").read_text().strip(),
            },
        )
        customer.run(*words, "--key-pair", "mine")
        assert_true(sim.alive()[0][0]["zone"].startswith(other), f"{other}: {sim.alive()[0]}")
        customer.run("delete", "cluster", "t", "--yes")
        assert_equal(sim.alive()[0], [], f"not the key pair alone is left: {sim.alive()}")
        assert_equal(len(sim.alive()[1]), 1, f"not the key pair alone is left: {sim.alive()}")


def test_a_creation_killed_at_the_way_out_of_fabric_adapters_makes_it_when_repeated(user):
    if "aws" not in cloud_sim.clouds_of(user):
        return
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        words = (
            *without(customer.creation("t", "--rdma", "--detach"), "--gpus"),
            "--instance-type",
            "p4d.24xlarge",
        )
        sim.faults(
            {
                "match": {"action": "AuthorizeSecurityGroupEgress", "count": 99},
                "fault": {"kind": "reset_before"},
            }
        )
        making = user.start(*words, environment=customer.environment())

        def is_group_open():
            return any(
                call["action"] == "AuthorizeSecurityGroupIngress"
                for call in sim.control("calls")["calls"]
            )

        assert_true(within(30, is_group_open), "the group was never opened")
        making.kill()
        making.communicate()
        sim.faults()
        customer.run(*words)
        group = next(
            r
            for r in sim.books()["resources"]
            if r["alive"] and r["kind"] == "group" and r["name"].startswith("fastgpu")
        )
        assert_true(any("groups" in rule for rule in group["data"]["egress"]), group)
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()


def test_every_fault_of_the_network_ends_well(user):
    kinds = (
        {"kind": "delay", "milliseconds": 300},
        {"kind": "status", "status": 503, "retry_after": 0},
        {"kind": "status", "status": 429, "retry_after": 1},
        {"kind": "reset_before"},
        {"kind": "reset_after"},
        {"kind": "half_body"},
        {"kind": "garbage", "text": "<html>\xff{"},
        {"kind": "content_type", "text": "text/html"},
        {"kind": "error_in_200"},
        {"kind": "slow_drip", "milliseconds": 5},
    )

    def faulty(customer):
        customer.create("t", "--detach")
        wanted = kinds_alive(customer)
        customer.run("delete", "cluster", "t", "--yes")
        for number, fault in enumerate(kinds):
            for nth in (1, 4, 9, 14):
                if (
                    KILL_STRIDE > 1
                    and (number + nth + sorted(CLOUDS).index(customer.cloud)) % 3 != 0
                ):
                    continue  # Another cloud has its turn.
                name = f"t{number}x{nth}"
                customer.sim.faults(
                    {"match": {"vendor": customer.cloud, "nth": nth, "count": 1}, "fault": fault}
                )
                made = customer.run(*customer.creation(name, "--detach"), code=None, timeout=60)
                errors = [line for line in made.err.split("\n") if line.startswith("error: ")]
                assert_in(
                    made.returncode,
                    (0, 1, 3, 4, 5, 6),
                    f"{fault} {nth}: {made.returncode} {made.err}",
                )
                assert_equal(
                    len(errors),
                    made.returncode != 0,
                    f"{fault} {nth}: {made.returncode} {made.err}",
                )
                customer.sim.faults()
                if made.returncode == 0:
                    there = kinds_alive(customer)
                    assert_equal(
                        there,
                        wanted,
                        f"{customer.cloud} {fault} at {nth}: {there} and not {wanted}",
                    )
                    customer.run("delete", "cluster", name, "--yes")
                customer.run("gc")
                assert_equal(customer.sim.alive(), ([], []), f"{customer.cloud} {fault} at {nth}")

    for_each_cloud(user, faulty)


def test_clusters_are_shown_as_recorded_while_their_cloud_does_not_answer(user):
    def silent(customer):
        customer.create("t", "--detach")
        customer.sim.faults(
            {"match": {"vendor": customer.cloud, "count": 1000}, "fault": {"kind": "reset_before"}}
        )
        for command in (("get", "clusters"), ("get", "nodes", "t"), ("describe", "cluster", "t")):
            shown = customer.run("-v", *command)
            assert_in("t: showing the last known state: ", shown.err)
            assert_in("attempt 3", shown.err)  # A lost packet does not decide,
            assert_false("attempt 4" in shown.err, shown.err)  # and nobody waits for minutes.
            assert_in(b"running", shown.out)
        customer.sim.faults()
        shown = customer.run("get", "clusters")
        assert_false("last known" in shown.err, shown.err)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, silent)


def test_a_cloud_that_falls_silent_holds_no_command_beyond_its_timeout_or_a_signal(user):
    def silent(customer):
        customer.create("t", "--detach")
        customer.sim.faults(
            {
                "match": {"vendor": customer.cloud, "count": 1000},
                "fault": {"kind": "delay", "milliseconds": 60_000},
            }
        )
        begin = time.monotonic()
        done = customer.run(
            "scale", "cluster", "t", "--nodes", "3", "--yes", "--timeout", "3s", code=None
        )
        assert_equal(done.returncode, 124, f"{customer.cloud}: {done.err}")
        assert_less(time.monotonic() - begin, 15, f"{customer.cloud}: {done.err}")
        for words in (
            ("scale", "cluster", "t", "--nodes", "3", "--yes"),
            ("addip", "t", "--ssh-from", "127.0.0.12/32"),
            ("start", "cluster", "t"),
            ("rename", "cluster", "t", "u"),
            ("guard", "cluster", "t", "--max-life", "3h"),
            ("stop", "cluster", "t"),
            ("gc",),
        ):
            asking = customer.user.start(*words, environment=customer.environment())
            time.sleep(1)
            begin = time.monotonic()
            asking.send_signal(signal.SIGINT)
            assert_equal(asking.wait(60), 130, f"{customer.cloud}: {words}")
            assert_less(time.monotonic() - begin, 10, f"{customer.cloud}: {words}")
        customer.sim.faults()
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()

    for_each_cloud(user, silent)


def test_a_clock_that_differs_by_an_hour_is_set_right(user):
    def skewed(customer):
        for number, seconds in enumerate((-4000, 4000)):
            customer.sim.control("clock", {"skew_seconds": seconds})
            customer.create(f"t{number}", "--detach")
            customer.run("delete", "cluster", f"t{number}", "--yes")
        customer.sim.control("clock", {"skew_seconds": 0})
        customer.check_nothing_is_left()

    for_each_cloud(user, skewed)


if __name__ == "__main__":
    run_tests(globals())
