#!/usr/bin/env python3
"""What fastgpu says and does when a cloud, its credentials or its machines fail, on the stand-in:
trouble_test.py FASTGPU CLOUDSIM [TEST ...]

What is decided alike for all clouds is tried on one of them.
"""

import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import end_by_signal, run_tests, within
from cloud_sim import SCENARIO, CloudSim, Customer
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

CLOUDSIM = sys.argv.pop(2)


def with_customer(user, test, cloud="aws", boot="instant", account=0):
    with CloudSim(CLOUDSIM, boot) as sim:
        test(Customer(user, sim, cloud, account))


def expired_account(cloud):
    accounts = json.loads(SCENARIO.read_text())["vendors"][cloud]["accounts"]
    return next(n for n, account in enumerate(accounts) if account.get("expired"))


def without_keys(customer):
    return {name: "" for name in customer.about["keys"]}


def take_away(customer, cluster, index=0):
    machine = customer.nodes(cluster)[index]["instance"]
    customer.sim.control("reclaim", {"instance": machine, "notice_ms": 0})
    return machine


def clusters(customer):
    return json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"]


def test_a_provider_and_other_clouds_are_a_contradiction(user):
    words = ("create", "cluster", "t", "--gpus", "T4:1", "--yes")
    user.refused((*words, "--provider", "aws", "--cloud", "alibaba"), 2, "contradict", "alibaba")
    user.refused((*words, "--provider", "aws", "--cloud", "any"), 2, "contradict")
    file = user.folder / "cluster.yaml"
    file.write_text("name: t\nprovider: aws\ncloud:\n  clouds: alibaba\n  gpus: A100:1\n")
    user.refused(("create", "cluster", "-f", file, "--yes"), 2, "contradict", "alibaba")


def test_expired_credentials_are_named_with_their_source(user):
    for cloud in ("aws", "alibaba"):

        def expired(customer):
            said = ("the credentials have expired", customer.about["keys"][0], "renew them")
            done = customer.refused(customer.creation("t", "--dry-run"), 3, *said)
            assert_not_in("clocks differ", done.err)

        with_customer(user, expired, cloud, account=expired_account(cloud))


def test_refused_credentials_are_named_with_their_source(user):
    def refused(customer):
        environment = {customer.about["keys"][1]: "wrong"}
        said = ("credentials refused", customer.about["keys"][0], "replace them there")
        customer.refused(customer.creation("t", "--dry-run"), 3, *said, environment=environment)

    with_customer(user, refused)


def test_without_credentials_gc_fails_and_a_cluster_can_be_forgotten(user):
    def blind(customer):
        nobody = without_keys(customer)
        customer.run("gc", environment=nobody)  # Nothing was made, and nothing is asked.
        customer.create("t", "--detach", nodes=1)
        machine = customer.nodes("t")[0]["instance"]
        done = customer.run("gc", code=1, environment=nobody)
        assert_in("orphans of provider aws", done.out.decode())
        assert_in("no credentials found", done.out.decode())
        done = customer.run("delete", "cluster", "t", "--forget", "--yes", environment=nobody)
        assert_in(machine, done.err)
        assert_in("may still run and cost money", done.err)
        assert_equal(clusters(customer), [])
        assert_equal([one["id"] for one in customer.sim.alive()[0]], [machine])
        customer.run("gc")  # Nobody owns them any more.
        customer.check_nothing_is_left()

    with_customer(user, blind)


def test_a_machine_that_was_taken_is_lost_at_once(user):
    def taken(customer):
        customer.create("t", "--detach", nodes=1)
        described = customer.run("describe", "cluster", "t").out.decode()
        assert_not_in("Unfinished", described)
        assert_in("1 node so far", described)
        take_away(customer, "t")
        assert_true(
            within(20, lambda: customer.nodes("t")[0]["state"] == "lost"), "the loss is not seen"
        )
        customer.run("delete", "cluster", "t", "--yes")

    with_customer(user, taken)


def test_after_a_loss_every_command_names_the_one_that_replaces_nodes(user):
    def lost(customer):
        customer.create("t", "--detach", nodes=1)
        take_away(customer, "t")
        within(20, lambda: customer.nodes("t")[0]["state"] == "lost")
        way = "fastgpu start cluster t --replace-lost"
        grown = customer.refused(("scale", "cluster", "t", "--nodes", "2", "--yes"), 6, way)
        assert_not_in("adding 1 node", grown.err)
        customer.refused(("start", "cluster", "t"), 6, "no node of cluster t runs", way)
        assert_in(way, customer.run("stop", "cluster", "t", "--yes").err)
        customer.run("delete", "cluster", "t", "--yes")

    with_customer(user, lost)


def test_a_stopped_cluster_is_not_offered_more_nodes(user):
    def stopped(customer):
        customer.create("t", "--detach", nodes=1)
        customer.run("stop", "cluster", "t", "--yes")
        words = ("scale", "cluster", "t", "--nodes", "2", "--yes")
        done = customer.refused(words, 6, "`fastgpu start cluster t`")
        assert_not_in("adding 1 node", done.err)
        customer.run("delete", "cluster", "t", "--yes")

    with_customer(user, stopped)


def test_a_launch_that_is_throttled_ends_in_time(user):
    def throttled(customer):
        customer.sim.faults(
            {
                "match": {"vendor": "aws", "action": "RunInstances", "count": 999},
                "fault": {"kind": "status", "status": 503, "code": "RequestLimitExceeded"},
            }
        )
        began = time.monotonic()
        words = customer.creation("t", "--detach", "--timeout", "4s", nodes=1)
        customer.refused(words, 124, "too many calls", "--timeout leaves no time")
        assert_less(time.monotonic() - began, 20, "the retries go on after the time limit")
        customer.sim.faults()
        customer.check_nothing_is_left()

    with_customer(user, throttled)


def test_a_planning_that_is_throttled_ends_in_time(user):
    def throttled(customer):
        fault = {"kind": "status", "status": 503, "code": "RequestLimitExceeded"}
        customer.sim.faults({"match": {"vendor": "aws", "count": 999}, "fault": fault})
        said = ("too many calls", "--timeout leaves no time")
        for more in (("--dry-run",), ("--detach",)):
            began = time.monotonic()
            words = customer.creation("t", *more, "--timeout", "4s", nodes=1)
            customer.refused(words, 124, *said)
            assert_less(time.monotonic() - began, 20, "the retries go on after the time limit")
        customer.sim.faults()
        customer.check_nothing_is_left()

    with_customer(user, throttled)


def test_a_cloud_that_does_not_answer_is_asked_no_longer_than_the_timeout(user):
    def silent(customer):
        customer.create("t", "--detach", nodes=1)
        customer.slow(25000)
        for name, asked in (("new", "attempt at "), ("t", "attempt at DescribeInstances in ")):
            began = time.monotonic()
            words = customer.creation(name, "--detach", "--timeout", "4s", nodes=1)
            customer.refused(words, 124, asked)
            assert_less(time.monotonic() - began, 20, "the cloud is waited for")
        customer.sim.faults()
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()

    with_customer(user, silent)


def test_a_deletion_that_a_cloud_does_not_answer_says_what_still_costs(user):
    def silent(customer):
        customer.create("t", "--detach", nodes=1)
        customer.sim.faults(
            {"match": {"vendor": "aws", "count": 999}, "fault": {"kind": "status", "status": 500}}
        )
        said = ("deleting cluster 't'", "may still run and cost money", "delete cluster t` tries")
        began = time.monotonic()
        done = customer.refused(("delete", "cluster", "t", "--yes"), 1, *said, timeout=400)
        if time.monotonic() - began > 20:  # The pauses between attempts are random.
            assert_in("asking aws for the machines of cluster t", done.err)
        customer.sim.faults()
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()

    with_customer(user, silent)


def test_a_deletion_that_is_interrupted_says_that_it_goes_on(user):
    def interrupted(customer):
        customer.create("t", "--detach", nodes=1)
        customer.slow(500)
        words = ("delete", "cluster", "t", "--yes")
        process = user.start(*words, environment=customer.environment())
        actions = lambda: [c["action"] for c in customer.sim.control("calls")["calls"]]  # noqa: E731
        assert_true(within(30, lambda: "TerminateInstances" in actions()), "nothing is ended")
        err = end_by_signal(process, 2, 0)
        assert_in("finishing the deletion of cluster t", err)
        customer.sim.faults()
        customer.check_nothing_is_left()

    with_customer(user, interrupted)


def test_a_deletion_that_is_interrupted_before_it_begins_says_what_still_costs(user):
    def interrupted(customer):
        customer.create("t", "--detach", nodes=1)
        customer.slow(2000)
        words = ("delete", "cluster", "t", "--yes", "-o", "json")
        process = user.start(*words, environment=customer.environment())
        time.sleep(1)
        err = end_by_signal(process, 2, 130)
        assert_not_in("finishing the deletion", err)
        assert_in("cluster t is not deleted", err)
        assert_in("cluster t was not deleted: 1 of 1 node of cluster t runs, for", err)
        customer.sim.faults()
        assert_equal(clusters(customer)[0]["state"], "running")
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()

    with_customer(user, interrupted)


def test_a_stop_that_is_interrupted_says_what_runs_and_how_to_continue(user):
    def interrupted(customer):
        customer.create("t", "--detach", nodes=2)
        customer.slow(2000)
        process = user.start("stop", "cluster", "t", environment=customer.environment())
        time.sleep(1)
        err = end_by_signal(process, 2, 130)
        assert_in("of 2 nodes of cluster t run, for", err)
        assert_in("`fastgpu stop cluster t` continues", err)
        customer.sim.faults()
        customer.run("stop", "cluster", "t")
        customer.run("delete", "cluster", "t", "--yes")

    with_customer(user, interrupted)


def test_a_change_ends_in_time_while_the_cloud_answers_nothing(user):
    def silent(customer):
        customer.create("t", "--detach", nodes=1)
        for fault in ({"kind": "status", "status": 500}, {"kind": "half_body"}):
            match = {"vendor": customer.cloud, "count": 9999}
            customer.sim.faults({"match": match, "fault": fault})
            for words in (
                ("delete", "cluster", "t", "--yes"),
                ("rename", "cluster", "t", "u"),
                ("stop", "cluster", "t"),
                ("addip", "t", "--ssh-from", "198.51.100.0/24"),
            ):
                began = time.monotonic()
                customer.refused((*words, "--timeout", "3s"), 124, "--timeout leaves no time")
                assert_less(time.monotonic() - began, 12, f"{words}")
        customer.sim.faults()
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()

    with_customer(user, silent)


def test_a_range_that_may_log_in_is_taken_away_again(user):
    for cloud in ("aws", "alibaba", "tencent", "huawei"):

        def closed(customer):
            customer.create("t", "--detach", nodes=1)
            words = ("addip", "t", "--ssh-from", "198.51.100.0/24")
            customer.run(*words)
            planned = customer.run(*words, "--remove", "--dry-run").out.decode()
            assert_not_in("198.51.100.0/24", planned)
            left = customer.run(*words, "--remove").out.decode()
            assert_not_in("198.51.100.0/24", left)
            assert_in("127.0.0.1/32", left)
            said = ("198.51.100.0/24 may not log in", "127.0.0.1/32")
            customer.refused((*words, "--remove"), 5, *said)
            world = ("addip", "t", "--ssh-from", "0.0.0.0/0")
            customer.refused(world, 2, "--yes")
            customer.refused((*world, "--remove"), 5, "may not log in")
            assert_in("0.0.0.0/0", customer.run(*world, "--yes").out.decode())
            assert_not_in("0.0.0.0/0", customer.run(*world, "--remove").out.decode())
            customer.run("delete", "cluster", "t", "--yes")
            customer.check_nothing_is_left()

        with_customer(user, closed, cloud)


def test_an_image_is_sought_beside_regions_that_are_not_enabled(user):
    def sought(customer):
        words = ("delete", "image", "nosuch", "--cloud", "aws", "--yes")
        done = customer.refused(words, 5, "no image created by fastgpu")
        assert_in("warning", done.err)
        assert_not_in("replace them there", done.err)

    with_customer(user, sought)


def test_machines_of_every_region_are_marked(user):
    def marked(customer):
        words = ["ap-shanghai" if w == "ap-guangzhou" else w for w in customer.creation("t")]
        made = customer.run(*words, "--detach")
        assert_not_in("warning", made.err)
        customer.run("rename", "cluster", "t", "u")
        customer.run("delete", "cluster", "u", "--yes")
        customer.check_nothing_is_left()

    with_customer(user, marked, "tencent")


def test_the_end_of_a_cluster_is_a_column_of_the_list(user):
    def ends(customer):
        customer.create("t", "--detach", nodes=1)
        assert_not_in("ENDS", customer.run("get", "clusters").out.decode())
        customer.create("u", "--detach", "--max-life", "8h", nodes=1)
        assert_in("ENDS", customer.run("get", "clusters").out.decode())
        customer.run("delete", "cluster", "t", "u", "--yes")

    with_customer(user, ends)


def test_spot_machines_without_prices_are_no_larger_than_asked_for(user):
    def scarce(customer):
        for kind in json.loads(SCENARIO.read_text())["vendors"]["huawei"]["offers"]:
            if kind["type"].startswith(("p2s.2x", "p2s.4x", "p2v.2x")):
                customer.sim.control(
                    "stock",
                    {"vendor": "huawei", "type": kind["type"], "stock": 0, "spot_stock": 0},
                )
        words = customer.creation("t", "--spot", "--detach", nodes=1)
        done = customer.refused(words, 4, "at an unknown price: not without --instance-type")
        assert_equal(customer.sim.alive()[0], [], done.err)
        limited = (*words, "--max-price", "0.1USD")
        customer.refused(limited, 4, "huawei has no prices of spot machines", "--max-life")
        costly = (*customer.creation("t", "--spot", "--detach", nodes=1), "--max-cost", "5USD")
        customer.sim.control(
            "stock", {"vendor": "huawei", "type": "p2s.2xlarge.8", "stock": 8, "spot_stock": 8}
        )
        customer.refused(costly, 2, "huawei has no prices of spot machines", "--max-life")

    with_customer(user, scarce, "huawei")


def test_a_quota_is_refused_with_its_room_and_its_page(user):
    def limited(customer):
        for group in json.loads(SCENARIO.read_text())["vendors"]["aws"]["quotas"]:
            customer.sim.control("quota", {"vendor": "aws", "group": group["group"], "limit": 4})
        words = customer.creation("t", "--detach", nodes=3)
        page = "https://console.aws.amazon.com/servicequotas"
        customer.refused(words, 4, "room for 1 more of", "3 requested", page)

    with_customer(user, limited)


def test_a_read_only_state_directory_leaves_no_cost_unsaid(user):
    place = user.tmpfs("narrow", "size=90m")
    state = {"FASTGPU_STATE_DIR": str(place / "state")}

    def journey(customer):
        customer.run(*customer.creation("t", "--detach"), environment=state)
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        for words in (("stop", "cluster", "t"), ("delete", "cluster", "t", "--yes")):
            done = customer.refused(words, 3, "is read-only", environment=state)
        assert_in("machines may still run and cost money", done.err)
        subprocess.run(["mount", "-o", "remount,rw", place], check=True)
        customer.run("delete", "cluster", "t", "--yes", environment=state)
        customer.check_nothing_is_left()

    with_customer(user, journey)


ACCOUNT_CODES = {  # An account that cannot pay, and one that is not verified.
    "alibaba": ("InvalidAccountStatus.NotEnoughBalance", "RealNameAuthenticationError"),
    "tencent": (
        "InvalidAccount.InsufficientBalance",
        "UnauthorizedOperation.NoRealNameAuthentication",
    ),
    "huawei": ("Ecs.0067", "Ecs.0003"),
    "aws": ("PaymentMethodInvalid", "PendingVerification"),
}


def test_an_account_that_cannot_pay_is_said_once_with_what_its_owner_does(user):
    def poor(customer):
        creation = customer.creation("t", "--detach", nodes=1)
        unpaid, restricted = ACCOUNT_CODES[customer.cloud]
        for code, remedy in (
            (unpaid, "the account cannot pay: " + unpaid),
            (unpaid, "pay what is due, or top up the account: see https://"),
            (restricted, "the account is restricted: " + restricted),
            (restricted, "its owner enables it in the cloud's console"),
        ):
            customer.sim.faults(
                {
                    "match": {
                        "vendor": customer.cloud,
                        "action": customer.about["launch"],
                        "count": 99,
                    },
                    "fault": {"kind": "status", "status": 403, "code": code},
                }
            )
            done = customer.refused(creation, 3, remedy)
            assert_equal(done.err.count(code), 1, done.err)

    for cloud in ACCOUNT_CODES:
        with_customer(user, poor, cloud)


def test_an_unknown_type_of_data_disk_is_warned_of_before_anything_is_bought(user):
    def wished(customer):
        creation = customer.creation("t", "--data-disk", "500:nope", "--dry-run", nodes=1)
        done = customer.run(*creation)
        assert_in("alibaba may refuse disks of type 'nope'; it is known to have cloud", done.err)

    with_customer(user, wished, "alibaba")


if __name__ == "__main__":
    run_tests(globals())
