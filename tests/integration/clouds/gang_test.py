#!/usr/bin/env python3
"""All nodes at one place, or none, on the stand-in: gang_test.py FASTGPU CLOUDSIM [TEST ...]"""

import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import run_tests, within
from cloud_sim import CLOUDS, CloudSim, Customer, clouds_of, for_each_cloud, steps_to_kill_at
from suite import (
    assert_equal,
    assert_greater_equal,
    assert_in,
    assert_less,
    assert_not_equal,
    assert_not_in,
    assert_true,
)

CLOUDSIM = sys.argv.pop(2)


def offers(customer, *more):
    shown = json.loads(customer.create("t", "--dry-run", "-o", "json", *more).out)
    return [offer for offer in shown["offers"] if "unusable" not in offer]


def put_stock(customer, stock):
    """So many at each (zone, type), and none elsewhere."""
    customer.sim.control("stock", {"vendor": customer.cloud, "stock": 0})
    for (zone, kind), count in stock.items():
        customer.sim.control(
            "stock", {"vendor": customer.cloud, "zone": zone, "type": kind, "stock": count}
        )


def places(customer):
    instances, _ = customer.sim.alive()
    found = {}
    for instance in instances:
        place = (instance["zone"], instance["type"])
        found[place] = found.get(place, 0) + 1
    return found


def test_a_cluster_may_begin_with_fewer_nodes_in_the_place_that_has_most(user):
    def begin(customer):
        known = [(offer["zone"], offer["type"]) for offer in offers(customer)]
        assert_greater_equal(len(known), 2, f"{customer.cloud}: one place alone: {known}")
        put_stock(customer, {known[0]: 2, known[1]: 3})
        made = customer.create("t", "--detach", "--min-nodes", "2", nodes=4)
        assert_equal(
            places(customer),
            {known[1]: 3},
            f"{customer.cloud}: {places(customer)} of {known}: {made.err}",
        )
        assert_in("continuing with 3", made.err)
        assert_equal(len(customer.nodes("t")), 3, customer.nodes("t"))
        again = customer.create("t", "--detach", "--min-nodes", "2", nodes=4)
        assert_in("already exists and matches the request", again.err)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, begin)


def test_too_few_for_the_least_is_no_cluster(user):
    def refused(customer):
        known = [(offer["zone"], offer["type"]) for offer in offers(customer)]
        put_stock(customer, {known[0]: 1, known[1]: 1})
        customer.refused(
            customer.creation("t", "--detach", "--min-nodes", "2", nodes=4), 4, "stock"
        )
        assert_equal(customer.sim.alive(), ([], []))

    for_each_cloud(user, CLOUDSIM, refused)


def test_what_was_got_is_held_until_the_rest_can_be_had(user):
    def held(customer):
        place = [(offer["zone"], offer["type"]) for offer in offers(customer)][0]
        put_stock(customer, {place: 2})

        def refill():
            within(30, lambda: places(customer) == {place: 2})
            put_stock(customer, {place: 8})

        refilling = threading.Thread(target=refill)
        refilling.start()
        customer.create("t", "--detach", "--min-nodes", "3", "--hold", "60s", nodes=4)
        refilling.join()
        assert_equal(places(customer), {place: 4}, f"{customer.cloud}")
        launched = customer.sim.books()["instances"]
        if customer.cloud in ("aws", "alibaba"):  # Clouds that give a part of what is asked for.
            assert_equal(
                len(launched), 4, f"{customer.cloud}: {len(launched)} machines were ever made"
            )
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, held)


def states(customer):
    return sorted(instance["state"] for instance in customer.sim.alive()[0])


def test_a_start_without_machines_for_all_stops_what_it_has_started(user):
    def short(customer):
        customer.create("t", nodes=3)
        customer.run("stop", "cluster", "t")
        customer.sim.control("stock", {"vendor": customer.cloud, "stock": 1, "spot_stock": 1})
        told = customer.refused(("start", "cluster", "t"), 4, "no stock", "stopped again")
        assert_not_in("something is left", told.err)
        assert_equal(states(customer), ["stopped"] * 3, f"{customer.cloud}: {told.err}")
        shown = json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"][0]
        assert_equal(shown["state"], "stopped", shown)
        customer.sim.control("stock", {"vendor": customer.cloud, "stock": 8, "spot_stock": 8})
        customer.run("start", "cluster", "t")
        assert_equal(states(customer), ["running"] * 3)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, short, boot="local")


def test_a_start_that_can_be_undone_neither_says_what_runs_for_how_much(user):
    def stuck(customer):
        customer.create("t", nodes=3)
        customer.run("stop", "cluster", "t")
        customer.sim.control("stock", {"vendor": customer.cloud, "stock": 1, "spot_stock": 1})
        stop = {"huawei": "BatchStopServers"}.get(customer.cloud, "StopInstances")
        customer.sim.faults(
            {
                "match": {"vendor": customer.cloud, "action": stop, "count": 999},
                "fault": {"kind": "status", "status": 403, "code": "UnauthorizedOperation"},
            }
        )
        customer.refused(
            ("start", "cluster", "t"),
            4,
            "no stock",
            "something is left",
            "1 of 3 nodes of cluster t runs, for",
            "`fastgpu start cluster t` continues; `fastgpu stop cluster t` stops them",
        )
        customer.sim.faults()
        customer.run("stop", "cluster", "t")
        assert_equal(states(customer), ["stopped"] * 3)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, stuck, boot="local")


def settled(customer):
    """Later commands end what a killed run had elsewhere, as soon as the cloud lists it."""
    deadline = time.monotonic() + 20
    while len(places(customer)) > 1:
        assert_less(
            time.monotonic(), deadline, f"{customer.cloud}: at two places: {places(customer)}"
        )
        customer.run("gc")


def test_a_creation_killed_while_it_holds_leaves_none_double(user):
    def killed(customer):
        known = [(offer["zone"], offer["type"]) for offer in offers(customer)]
        stock = {known[0]: 2, known[1]: 3}
        words = customer.creation("t", "--detach", "--min-nodes", "3", nodes=4)
        first = 12 + 3 * sorted(CLOUDS).index(customer.cloud)
        for step in range(first, 2000, 41):
            put_stock(customer, stock)
            ended = customer.run(*words, code=None, environment={"FASTGPU_FAULT": f"any:{step}"})
            put_stock(customer, stock)  # What is ending gives its room back only later.
            customer.run(*words)
            settled(customer)
            count = len(customer.nodes("t"))
            assert_greater_equal(count, 3, f"{customer.cloud}, step {step}: {places(customer)}")
            assert_equal(
                list(places(customer).values()),
                [count],
                f"{customer.cloud}, step {step}: {places(customer)}",
            )
            customer.run("delete", "cluster", "t", "--yes")
            if ended.returncode == 0:
                return
        raise AssertionError("the creation has no end")

    for_each_cloud(user, CLOUDSIM, killed)


def test_a_creation_killed_between_two_requests_waits_for_the_machines_that_it_holds(user):
    def killed(customer):
        place = [(offer["zone"], offer["type"]) for offer in offers(customer)][0]
        put_stock(customer, {place: 2})
        customer.sim.control("settings", {"listing_delay_ms": 600_000})
        words = customer.creation("t", "--detach", "--min-nodes", "3", "--hold", "60s", nodes=4)
        # The second time, new tokens are on record for the nodes that are missing.
        ended = customer.run(
            *words, code=None, environment={"FASTGPU_FAULT": "provision:gathered:2"}
        )
        assert_equal(ended.returncode, -9, f"{customer.cloud}: {ended.returncode} {ended.err}")
        made = len(customer.sim.books()["instances"])
        assert_equal(made, 2, f"{customer.cloud}: {made} machines are held")
        put_stock(customer, {place: 8})

        def list_them():
            time.sleep(4)
            customer.sim.control("settings", {"listing_delay_ms": 300})
            customer.sim.control("advance", {"seconds": 600})

        listing = threading.Thread(target=list_them)
        listing.start()
        customer.run(*words)
        listing.join()
        made = len(customer.sim.books()["instances"])
        assert_equal(made, 4, customer.cloud)
        assert_equal(places(customer), {place: 4}, customer.cloud)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, killed)


def test_a_killed_creation_is_deleted_before_its_machines_are_listed(user):
    def killed(customer):
        customer.sim.settings(listing_delay_ms=600_000, known_delay_ms=0)
        ended = customer.run(
            *customer.creation("t", "--detach"),
            code=None,
            environment={"FASTGPU_FAULT": "provision:gathered:1"},
        )
        assert_equal(ended.returncode, -9, f"{customer.cloud}: {ended.returncode} {ended.err}")
        assert_equal(len(customer.sim.alive()[0]), 2, customer.cloud)
        customer.run("delete", "cluster", "t", "--yes")  # Does not wait for the list.
        assert_equal(customer.sim.alive(), ([], []), customer.cloud)

    for_each_cloud(user, CLOUDSIM, killed)


def test_a_lost_node_is_replaced_in_its_place(user):
    def replaced(customer):
        customer.create("t", "--timeout", "90s")
        before = customer.nodes("t")
        customer.sim.control("reclaim", {"instance": before[1]["instance"], "notice_ms": 0})
        assert_true(
            within(30, lambda: customer.nodes("t")[1]["state"] == "lost"),
            "the machine is never lost",
        )
        told = customer.run("start", "cluster", "t")
        assert_in("--replace-lost", told.err)
        customer.run("start", "cluster", "t", "--replace-lost", "--timeout", "60s")
        after = customer.nodes("t")
        assert_equal(after[0]["instance"], before[0]["instance"], "the other node was touched")
        assert_equal(after[1]["name"], before[1]["name"], after)
        assert_not_equal(
            after[1]["host_keys"], before[1]["host_keys"], "the host key is the lost one's"
        )
        assert_greater_equal(
            customer.run("exec", "t", "-b", "--", "hostname").out.count(b"t-"), 2, "hostnames"
        )
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, replaced, boot="local")


def test_where_one_cloud_has_no_room_the_next_one_is_asked(user):
    if "aws" not in clouds_of(user):
        return  # The test of another cloud's turn has it.
    with CloudSim(CLOUDSIM) as sim:
        aws, tencent = Customer(user, sim, "aws"), Customer(user, sim, "tencent")
        both = sim.environment("tencent")
        words = (
            "create",
            "cluster",
            "t",
            "--cloud",
            "aws",
            "--cloud",
            "tencent",
            "--gpus",
            "V100:1",
            "--nodes",
            "2",
            "--ssh-from",
            "127.0.0.1/32",
            "--yes",
            "--detach",
            "--max-price",
            "100USD",
        )
        sim.control("prices", {"vendor": "aws", "price": 0.01})
        sim.control("stock", {"vendor": "aws", "stock": 0})  # Which no plan tells there.
        made = aws.run(*words, environment=both)
        assert_in("trying tencent", made.err)
        assert_equal({place[0][:2] for place in places(tencent)}, {"ap"}, places(tencent))
        aws.run("delete", "cluster", "t", "--yes", environment=both)
        assert_equal(sim.alive(), ([], []))


def test_one_address_more_is_let_in(user):
    def let_in(customer):
        customer.create("t", "--detach")
        shown = json.loads(
            customer.run("addip", "t", "--ssh-from", "198.51.100.7/32", "-o", "json").out
        )
        assert_equal(shown["clusters"][0]["ssh_from"], ["127.0.0.1/32", "198.51.100.7/32"], shown)
        customer.run("addip", "--all", "--ssh-from", "198.51.100.7/32")
        customer.refused(("addip",), 2, "--all")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, let_in)


def test_options_of_clouds_are_not_forgotten_elsewhere(user):
    user.refused(
        ("create", "cluster", "t", "--provider", "static", "--gpus", "A100:8"),
        2,
        "--gpus is for clouds",
    )
    user.refused(("create", "cluster", "t", "--spot"), 2, "--spot is for clouds")


def test_a_change_of_size_that_was_killed_anywhere_can_be_repeated(user):
    def killed(customer):
        customer.create("t", "--timeout", "90s")
        for step in steps_to_kill_at(customer.cloud):
            nodes = 3 if len(customer.nodes("t")) == 2 else 2
            words = ("scale", "cluster", "t", "--nodes", str(nodes), "--yes", "--timeout", "90s")
            ended = customer.run(*words, code=None, environment={"FASTGPU_FAULT": f"any:{step}"})
            assert_in(ended.returncode, (0, -9), f"step {step}: {ended.returncode} {ended.err}")
            customer.run(*words)
            customer.run("gc")  # A machine that was listed too late for the command.
            instances, _ = customer.sim.alive()
            assert_true(
                len(instances) == len(customer.nodes("t")) == nodes,
                f"{customer.cloud}, step {step}: {len(instances)} instances, not {nodes}",
            )
            customer.run("exec", "t", "--", "true")
            # The longer of the two has fewer steps than that.
            if ended.returncode == 0 and nodes == 3:
                break
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, CLOUDSIM, killed, boot="local")


if __name__ == "__main__":
    run_tests(globals())
