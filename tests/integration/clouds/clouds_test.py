#!/usr/bin/env python3
"""Clusters in clouds, on the stand-in: clouds_test.py FASTGPU CLOUDSIM [TEST ...]

Every test runs for each cloud that fastgpu and the stand-in both know, or for those that
CLOUDS_ONLY names.
"""

import base64
import contextlib
import json
import pathlib
import re
import resource
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests, within
from cloud_sim import CLOUDS, CloudSim, Customer
from suite import (
    assert_equal,
    assert_false,
    assert_greater,
    assert_greater_equal,
    assert_in,
    assert_less,
    assert_not_equal,
    assert_not_in,
    assert_true,
)

CLOUDSIM = sys.argv.pop(2)


def for_each_cloud(user, test, *options, boot="instant"):
    cloud_sim.for_each_cloud(user, CLOUDSIM, test, *options, boot=boot)


def test_a_cluster_in_a_cloud_lives_as_any_other(user):
    def journey(customer):
        customer.create("t", "--timeout", "90s")
        keys = {tuple(node["host_keys"]) for node in customer.nodes("t")}
        assert_equal(len(keys), 2, f"nodes share host keys: {keys}")
        assert_greater_equal(
            customer.run("exec", "t", "-b", "--", "hostname").out.count(b"t-"), 2, "hostnames"
        )
        assert_in(
            b"t-1",
            customer.run("run", "job", "--cluster", "t", "-np", "2", "--", "hostname").out,
            "no rank on t-1",
        )
        again = customer.create("t")
        assert_in("already exists and matches the request", again.err)
        customer.run("stop", "cluster", "t")
        assert_true(all(node["state"] == "stopped" for node in customer.nodes("t")), "not stopped")
        customer.run("start", "cluster", "t", "--timeout", "60s")
        customer.run("scale", "cluster", "t", "--nodes", "3", "--timeout", "60s")
        assert_equal(len(customer.nodes("t")), 3, "not three nodes")
        customer.run("exec", "t", "--", "true")
        customer.run("scale", "cluster", "t", "--nodes", "1", "--yes")
        instances, _ = customer.sim.alive()
        assert_equal(len(instances), 1, f"{len(instances)} instances after scaling down")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, journey, boot="local")


def test_what_a_detached_creation_leaves_to_do_is_done_by_who_needs_the_nodes(user):
    def journey(customer):
        made = customer.create("t", "--detach")
        assert_in("2 machines are starting", made.err)
        assert_not_in("waiting for", made.err)
        shared = {tuple(node["host_keys"]) for node in customer.nodes("t")}
        assert_equal(len(shared), 1, f"not the key of the first boot: {shared}")
        customer.run("gc")
        customer.run("exec", "t/0", "--", "true")
        keys = [node["host_keys"] for node in customer.nodes("t")]
        assert_not_in(tuple(keys[0]), shared, f"{shared} {keys}")
        assert_in(tuple(keys[1]), shared, f"{shared} {keys}")
        again = customer.create("t", "--timeout", "90s")
        assert_in("already exists and matches the request", again.err)
        keys = {tuple(node["host_keys"]) for node in customer.nodes("t")}
        assert_equal(len(keys), 2, f"{shared} {keys}")
        assert_false(keys & shared, f"{shared} {keys}")
        shown = customer.run(
            "exec", "t", "-b", "--", "cat", "/etc/ssh/ssh_host_ed25519_key.pub"
        ).out.decode()
        assert_not_in(
            shared.pop()[0].split()[1], shown, "a node still shows the key of the first boot"
        )
        assert_equal(
            json.loads(customer.run("describe", "cluster", "t", "-o", "json").out)["open_intents"],
            0,
            "something is open",
        )
        tags = [instance["tags"] for instance in customer.sim.alive()[0]]
        assert_true(
            any("fastgpu-host-key" in each for each in tags),
            f"the head node keeps no record: {tags}",
        )
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, journey, boot="local")


def test_a_key_pair_that_the_cloud_keeps_opens_the_nodes(user):
    key = user.folder / "rsa"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "rsa", "-b", "4096", "-N", "", "-C", "me@home", "-f", key],
        check=True,
    )
    public = key.with_suffix(".pub").read_text().strip()

    def whoami(node):
        # Ours are tried elsewhere.
        unchecked = (
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        )
        return subprocess.run(
            [
                "ssh",
                "-F",
                "none",
                "-o",
                "BatchMode=yes",
                "-o",
                "IdentitiesOnly=yes",
                *unchecked,
                "-i",
                key,
                "-p",
                str(node["port"]),
                f"root@{node['address']}",
                "hostname",
            ],
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    for cloud in cloud_sim.clouds_of(user):
        with CloudSim(CLOUDSIM, "local") as sim:
            customer = Customer(user, sim, cloud)
            customer.refused(
                customer.creation("t", "--key-pair", "mine"),
                5,
                "the key pair 'mine' in",
                "does not exist",
            )
            assert_equal(sim.alive(), ([], []), f"{cloud}: something was made")
            sim.control(
                "key_pair",
                {
                    "vendor": cloud,
                    "account": sim.account(cloud)["name"],
                    "region": customer.about["region"],
                    "name": "mine",
                    "public": public,
                },
            )
            customer.create("t", "--key-pair", "mine", "--timeout", "90s", nodes=1)
            customer.run("scale", "cluster", "t", "--nodes", "2", "--timeout", "60s")
            assert_equal(
                [whoami(node) for node in customer.nodes("t")],
                ["t-0\n", "t-1\n"],
                f"{cloud}: the key opens not both",
            )
            customer.run("delete", "cluster", "t", "--yes")
            assert_equal(
                sim.alive()[0], [], f"{cloud}: not the key pair alone is left: {sim.alive()}"
            )
            assert_equal(
                len(sim.alive()[1]), 1, f"{cloud}: not the key pair alone is left: {sim.alive()}"
            )


def test_machines_that_were_only_promised_can_be_stopped(user):
    def journey(customer):
        customer.sim.settings(boot_ms=1500, listing_delay_ms=1000)
        customer.create("t", "--detach")
        customer.run("stop", "cluster", "t")
        states = {node["state"] for node in customer.nodes("t")}
        assert_equal(states, {"stopped"}, f"{customer.cloud}")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, journey)


def test_a_first_contact_that_was_killed_goes_on(user):
    def killed(customer):
        customer.create("t", "--detach")
        for point in (
            "provision:reached",
            "provision:host_keys_made",
            "provision:host_keys_shown",
            "provision:met",
        ):
            ended = customer.run(
                "exec", "t", "--", "true", code=None, environment={"FASTGPU_FAULT": point}
            )
            assert_equal(ended.returncode, -9, f"{point}: {ended.returncode} {ended.err}")
        customer.run("exec", "t", "--", "true")
        assert_equal(
            len({tuple(node["host_keys"]) for node in customer.nodes("t")}),
            2,
            "nodes share host keys",
        )
        customer.run("delete", "cluster", "t", "--yes")

    cloud = cloud_sim.clouds_of(user)[0]
    with cloud_sim.CloudSim(CLOUDSIM, "local") as sim:
        customer = cloud_sim.Customer(user, sim, cloud)
        killed(customer)
        customer.check_nothing_is_left()


def test_the_plan_shows_offers_and_changes_nothing(user):
    def plan(customer):
        shown = json.loads(customer.create("t", "--dry-run", "-o", "json").out)
        offers = shown["offers"]
        assert_true(offers, shown)
        assert_greater(offers[0]["price_per_hour"], 0, shown)
        prices = [
            offer["price_per_hour"]
            for offer in offers
            if "unusable" not in offer and offer["price_per_hour"]
        ]
        assert_equal(prices, sorted(prices), "not by price")
        assert_less(
            abs(shown["price_per_hour"] - 2 * offers[0]["price_per_hour"]),
            1e-9,
            shown["price_per_hour"],
        )
        assert_equal(customer.sim.books()["instances"], [], "a plan made machines")

    for_each_cloud(user, plan)


def test_a_plan_tells_who_may_not_launch(user):
    def tried(customer):
        # With its network there is one for the trial, too.
        customer.create("t", "--detach", nodes=1)
        try:
            customer.account = 2
            done = customer.run(*customer.creation("u", "--dry-run"), code=3)
            assert_in(
                "as a trial: no permission", done.err, f"{customer.cloud}: {done.out} {done.err}"
            )
            assert_in(b"u-1", done.out, f"{customer.cloud}: {done.out} {done.err}")
        finally:
            customer.account = 0
        done = customer.create("u", "--dry-run")
        assert_not_in("error", done.err, f"{customer.cloud}")
        assert_equal(len(customer.sim.alive()[0]), 1, f"{customer.cloud}: {customer.sim.alive()}")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, tried)


def test_no_stock_in_one_zone_leads_to_another(user):
    def moved(customer):
        plan = json.loads(customer.create("t", "--dry-run", "-o", "json").out)["offers"]
        best = plan[0]
        # So much that most clouds' plans do not tell that it is little; what a plan tells is not
        # tried in vain.
        customer.sim.control(
            "stock",
            {"vendor": customer.cloud, "zone": best["zone"], "type": best["type"], "stock": 5},
        )
        first = json.loads(customer.create("t", "--dry-run", "-o", "json", nodes=6).out)["offers"][
            0
        ]
        made = customer.create("t", "--detach", nodes=6)
        instances, _ = customer.sim.alive()
        places = {(i["zone"], i["type"]) for i in instances}
        assert_equal(len(instances), 6, f"{customer.cloud}: {instances}")
        assert_equal(len(places), 1, f"{customer.cloud}: {instances}")
        assert_not_equal(places, {(best["zone"], best["type"])}, f"still in {places}")
        is_tried = (first["zone"], first["type"]) == (best["zone"], best["type"])
        assert_true("stock" in made.err or not is_tried, made.err)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, moved)


def test_no_stock_anywhere_says_so_and_leaves_nothing(user):
    def empty(customer):
        customer.sim.control("stock", {"vendor": customer.cloud, "stock": 0})
        customer.refused(customer.creation("t", "--detach"), 4, "stock")

    for_each_cloud(user, empty)


def test_wrong_credentials_are_told_from_missing_rights(user):
    def refused(customer):
        account = CLOUDS[customer.cloud]["keys"]
        nobody = {name: "" for name in account}
        customer.refused(
            customer.creation("t", "--detach"), 3, "no credentials", environment=nobody
        )
        for kind in ("images", "quotas"):  # In many regions, and told once.
            done = customer.refused(
                ("get", kind, "--cloud", customer.cloud), 3, "no credentials", environment=nobody
            )
            assert_not_in("warning", done.err, f"{customer.cloud}")
        customer.refused(customer.creation("t", "--detach"), 3, environment={account[1]: "wrong"})
        customer.account = 2
        customer.refused(customer.creation("t", "--detach"), 3, "no permission")
        customer.account = 3
        customer.refused(customer.creation("t", "--detach"), 3)
        customer.account = 0

    for_each_cloud(user, refused)


def decoded_texts(text):
    """What base64 in a text says, as far as it is base64."""
    for found in re.findall(r"[A-Za-z0-9+/]{40,}", urllib.parse.unquote(text)):
        with contextlib.suppress(ValueError):
            yield base64.b64decode(found[: len(found) // 4 * 4])


def seen_by_others(program, until):
    """The argument lists and limits of all processes of the program that were there until then."""
    arguments, limits = set(), set()
    while not until():
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "exe").readlink() == program:
                    arguments.add((process / "cmdline").read_bytes())
                    limits.update(
                        re.findall(r"Max core file size +(\S+)", (process / "limits").read_text())
                    )
        time.sleep(0.01)
    return arguments, limits


def test_secrets_are_nowhere_to_be_seen(user):
    program = pathlib.Path(user.fastgpu).resolve()
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]

    def grep(customer):
        customer.account = 1  # With a session token.
        account = customer.sim.account(customer.cloud, 1)
        secrets = [account["secret_key"].encode(), account["token"].encode()]
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
        making = user.start(
            *customer.creation("t", "--detach", "-vv"), environment=customer.environment()
        )
        said = []
        reader = threading.Thread(target=lambda: said.extend(making.communicate()))
        reader.start()
        arguments, limits = seen_by_others(program, lambda: not reader.is_alive())
        assert_equal(making.returncode, 0, f"{customer.cloud}: {said}")
        assert_true(arguments, f"{customer.cloud}: no process was seen")
        assert_true(limits, f"{customer.cloud}: no process was seen")
        assert_in("0", limits, f"{customer.cloud}: a core may be left")
        for text in (*said, *arguments):
            assert_not_in(b"PRIVATE KEY", text, f"{customer.cloud}: a secret is shown")
            assert_false(
                any(secret in text for secret in secrets),
                f"{customer.cloud}: a secret is shown: {text}",
            )
            assert_false(
                any(
                    b"PRIVATE KEY" in inner or b"#cloud-config" in inner
                    for inner in decoded_texts(text.decode())
                ),
                f"{customer.cloud}: user data is shown",
            )
        assert_in(customer.about["launch"].encode(), said[1])
        for file in customer.user.state.rglob("*"):
            if not file.is_file():
                continue
            content = file.read_bytes()
            assert_false(
                any(secret in content for secret in secrets),
                f"{customer.cloud}: a secret in {file}",
            )
            assert_equal(file.stat().st_mode & 0o077, 0, f"{file} is open to others")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, grep)


def test_who_may_not_read_quotas_can_plan_and_create(user):
    about = {
        "aws": ("GetServiceQuota", "AccessDeniedException"),
        "alibaba": ("DescribeAccountAttributes", "Forbidden.RAM"),
        "tencent": ("DescribeAccountQuota", "UnauthorizedOperation"),
        "huawei": ("ShowServerLimits", "Pdp.0001"),
    }

    def unread(customer):
        action, code = about[customer.cloud]
        customer.sim.faults(
            {
                "match": {"vendor": customer.cloud, "action": action, "count": 99},
                "fault": {"kind": "status", "status": 403, "code": code},
            }
        )
        offers = json.loads(customer.create("t", "--dry-run", "-o", "json").out)["offers"]
        assert_true(offers, offers[:1])
        assert_true(all(offer["quota"] is None for offer in offers), offers[:1])
        customer.refused(("get", "quotas", "--cloud", customer.cloud), 3, code)
        customer.create("t", "--detach")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, unread)


def test_what_runs_is_taken_off_the_quota(user):
    def counted(customer):
        def room():
            return json.loads(customer.create("u", "--dry-run", "-o", "json", nodes=1).out)[
                "offers"
            ][0]["quota"]

        before = room()
        customer.create("t", "--detach")
        within(10, lambda: room() == before - 2)  # New machines are listed late.
        assert_equal(
            room(), before - 2, f"{customer.cloud}: room for {before} before and {room()} after two"
        )
        quotas = json.loads(
            customer.run(
                "get",
                "quotas",
                "--cloud",
                customer.cloud,
                "--region",
                customer.about["region"],
                "-o",
                "json",
            ).out
        )["quotas"]
        assert_true(
            any(quota["used"] for quota in quotas), f"{customer.cloud}: nothing is used: {quotas}"
        )
        assert_true(all(quota["raised_at"].startswith("https://") for quota in quotas), quotas)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, counted)


if __name__ == "__main__":
    run_tests(globals())
