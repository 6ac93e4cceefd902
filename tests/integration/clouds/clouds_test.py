#!/usr/bin/env python3
"""Clusters in clouds, on the stand-in: clouds_test.py FASTGPU CLOUDSIM [TEST ...]

Every test runs for each cloud that fastgpu and the stand-in both know, or for those that CLOUDS_ONLY names.
"""
import base64
import collections
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
import cloud_sim  # noqa: E402
from cli_user import check, run_tests  # noqa: E402
from cloud_sim import CLOUDS, KILL_STRIDE, CloudSim, Customer, steps_to_kill_at  # noqa: E402

CLOUDSIM = sys.argv.pop(2)


def for_each_cloud(user, test, *options, boot="instant"):
    cloud_sim.for_each_cloud(user, CLOUDSIM, test, *options, boot=boot)


def test_a_cluster_in_a_cloud_lives_as_any_other(user):
    def journey(customer):
        customer.create("t", "--timeout", "90s")
        keys = {tuple(node["host_keys"]) for node in customer.nodes("t")}
        check(len(keys) == 2, f"nodes share host keys: {keys}")
        check(customer.run("exec", "t", "-b", "--", "hostname").out.count(b"t-") >= 2, "hostnames")
        check(b"t-1" in customer.run("run", "job", "--cluster", "t", "-np", "2", "--", "hostname").out, "no rank on t-1")
        again = customer.create("t")
        check("exists already as wanted" in again.err, again.err)
        customer.run("stop", "cluster", "t")
        check(all(node["state"] == "stopped" for node in customer.nodes("t")), "not stopped")
        customer.run("start", "cluster", "t", "--timeout", "60s")
        customer.run("scale", "cluster", "t", "--nodes", "3", "--timeout", "60s")
        check(len(customer.nodes("t")) == 3, "not three nodes")
        customer.run("exec", "t", "--", "true")
        customer.run("scale", "cluster", "t", "--nodes", "1", "--yes")
        instances, _ = customer.sim.alive()
        check(len(instances) == 1, f"{len(instances)} instances after scaling down")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, journey, boot="local")


def test_what_a_detached_creation_leaves_to_do_is_done_by_who_needs_the_nodes(user):
    def journey(customer):
        made = customer.create("t", "--detach")
        check("2 machines are on the way" in made.err and "waiting for" not in made.err, made.err)
        shared = {tuple(node["host_keys"]) for node in customer.nodes("t")}
        check(len(shared) == 1, f"not the key of the first boot: {shared}")
        customer.run("gc")
        customer.run("exec", "t/0", "--", "true")
        keys = [node["host_keys"] for node in customer.nodes("t")]
        check(tuple(keys[0]) not in shared and tuple(keys[1]) in shared, f"{shared} {keys}")
        again = customer.create("t", "--timeout", "90s")
        check("exists already as wanted" in again.err, again.err)
        keys = {tuple(node["host_keys"]) for node in customer.nodes("t")}
        check(len(keys) == 2 and not keys & shared, f"{shared} {keys}")
        shown = customer.run("exec", "t", "-b", "--", "cat", "/etc/ssh/ssh_host_ed25519_key.pub").out.decode()
        check(shared.pop()[0].split()[1] not in shown, "a node still shows the key of the first boot")
        check(json.loads(customer.run("describe", "cluster", "t", "-o", "json").out)["open_intents"] == 0, "something is open")
        tags = [instance["tags"] for instance in customer.sim.alive()[0]]
        check(any("fastgpu-host-key" in each for each in tags), f"the head node keeps no record: {tags}")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, journey, boot="local")


def test_a_key_pair_that_the_cloud_keeps_opens_the_nodes(user):
    key = user.folder / "rsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "4096", "-N", "", "-C", "me@home", "-f", key], check=True)
    public = key.with_suffix(".pub").read_text().strip()

    def whoami(node):
        unchecked = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR")  # Ours are tried elsewhere.
        return subprocess.run(["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", *unchecked, "-i", key, "-p", str(node["port"]),
                               f"root@{node['address']}", "hostname"], capture_output=True, text=True, check=False).stdout

    for cloud in cloud_sim.clouds_of(user):
        with CloudSim(CLOUDSIM, "local") as sim:
            customer = Customer(user, sim, cloud)
            customer.refused(customer.creation("t", "--key-pair", "mine"), 5, "the key pair 'mine' in", "is not there")
            check(sim.alive() == ([], []), f"{cloud}: something was made")
            sim.control("key_pair", {"vendor": cloud, "account": sim.account(cloud)["name"], "region": customer.about["region"], "name": "mine", "public": public})
            customer.create("t", "--key-pair", "mine", "--timeout", "90s", nodes=1)
            customer.run("scale", "cluster", "t", "--nodes", "2", "--timeout", "60s")
            check([whoami(node) for node in customer.nodes("t")] == ["t-0\n", "t-1\n"], f"{cloud}: the key opens not both")
            customer.run("delete", "cluster", "t", "--yes")
            check(sim.alive()[0] == [] and len(sim.alive()[1]) == 1, f"{cloud}: not the key pair alone is left: {sim.alive()}")


def test_machines_that_were_only_promised_can_be_stopped(user):
    def journey(customer):
        customer.sim.settings(boot_ms=1500, listing_delay_ms=1000)
        customer.create("t", "--detach")
        customer.run("stop", "cluster", "t")
        states = {node["state"] for node in customer.nodes("t")}
        check(states == {"stopped"}, f"{customer.cloud}: {states}")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, journey)


def test_a_first_contact_that_was_killed_goes_on(user):
    def killed(customer):
        customer.create("t", "--detach")
        for point in ("provision:reached", "provision:host_keys_made", "provision:host_keys_shown", "provision:met"):
            ended = customer.run("exec", "t", "--", "true", code=None, environment={"FASTGPU_FAULT": point})
            check(ended.returncode == -9, f"{point}: {ended.returncode} {ended.err}")
        customer.run("exec", "t", "--", "true")
        check(len({tuple(node["host_keys"]) for node in customer.nodes("t")}) == 2, "nodes share host keys")
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
        check(offers and offers[0]["price_per_hour"] > 0, shown)
        prices = [offer["price_per_hour"] for offer in offers if "unusable" not in offer and offer["price_per_hour"]]
        check(prices == sorted(prices), f"not by price: {prices}")
        check(abs(shown["price_per_hour"] - 2 * offers[0]["price_per_hour"]) < 1e-9, shown["price_per_hour"])
        check(customer.sim.books()["instances"] == [], "a plan made machines")

    for_each_cloud(user, plan)


def kill_everywhere(customer, words, settle, check_after):
    """Runs `words` killed at its n-th step, for many n until it comes to its end; then settles and checks."""
    for step in steps_to_kill_at(customer.cloud):
        ended = customer.run(*words(step), code=None, environment={"FASTGPU_FAULT": f"any:{step}"})
        if ended.returncode != -9:
            check(ended.returncode == 0, f"unkilled: {ended.returncode} {ended.err}")
            return step
        settle(step)
        check_after(step)
    raise AssertionError("the command has no end")


def test_a_creation_that_was_killed_anywhere_is_rolled_back(user):
    def killed(customer):
        customer.sim.settings(listing_delay_ms=50)

        def nothing_or_all(step):
            if json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"]:  # Killed after its end.
                check(len(customer.sim.alive()[0]) == 2, f"{customer.cloud}, step {step}: {customer.sim.alive()}")
                customer.run("delete", "cluster", f"t{step}", "--yes")
            check(customer.sim.alive() == ([], []), f"{customer.cloud}, step {step}: {customer.sim.alive()}")

        steps = kill_everywhere(customer, lambda step: customer.creation(f"t{step}", "--detach"),
                                lambda step: customer.run("gc"), nothing_or_all)
        check(steps > 15, f"only {steps} steps")
        customer.run("delete", "cluster", f"t{steps}", "--yes")

    for_each_cloud(user, killed)


def test_a_creation_that_was_killed_anywhere_can_be_repeated(user):
    def killed(customer):
        customer.sim.settings(listing_delay_ms=50)

        def again(step):
            customer.create(f"t{step}", "--detach")

        def exactly_two(step):
            instances, _ = customer.sim.alive()
            check(len(instances) == 2, f"{customer.cloud}, step {step}: {len(instances)} instances")
            customer.run("delete", "cluster", f"t{step}", "--yes")
            check(customer.sim.alive() == ([], []), f"{customer.cloud}, step {step}: {customer.sim.alive()}")

        steps = kill_everywhere(customer, lambda step: customer.creation(f"t{step}", "--detach"), again, exactly_two)
        customer.run("delete", "cluster", f"t{steps}", "--yes")

    for_each_cloud(user, killed)


def test_a_deletion_that_was_killed_anywhere_is_finished(user):
    def killed(customer):
        for step in steps_to_kill_at(customer.cloud):
            customer.create(f"t{step}", "--detach")
            words = ("delete", "cluster", f"t{step}", "--yes")
            ended = customer.run(*words, code=None, environment={"FASTGPU_FAULT": f"any:{step}"})
            if ended.returncode == 0:
                return
            check(ended.returncode == -9, f"step {step}: {ended.err}")
            again = customer.run(*words, code=None)
            check(again.returncode in (0, 5), again.err)  # Not found: what runs settle first has finished it.
            check(customer.sim.alive() == ([], []), f"{customer.cloud}, step {step}: {customer.sim.alive()}")
        raise AssertionError("deletions have no end")

    for_each_cloud(user, killed)


def test_no_stock_in_one_zone_leads_to_another(user):
    def moved(customer):
        plan = json.loads(customer.create("t", "--dry-run", "-o", "json").out)["offers"]
        best = plan[0]
        # So much that most clouds' plans do not tell that it is little; what a plan tells is not tried in vain.
        customer.sim.control("stock", {"vendor": customer.cloud, "zone": best["zone"], "type": best["type"], "stock": 5})
        first = json.loads(customer.create("t", "--dry-run", "-o", "json", nodes=6).out)["offers"][0]
        made = customer.create("t", "--detach", nodes=6)
        instances, _ = customer.sim.alive()
        places = {(i["zone"], i["type"]) for i in instances}
        check(len(instances) == 6 and len(places) == 1, f"{customer.cloud}: {instances}")
        check(places != {(best["zone"], best["type"])}, f"still in {places}")
        is_tried = (first["zone"], first["type"]) == (best["zone"], best["type"])
        check("stock" in made.err or not is_tried, made.err)
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
        customer.refused(customer.creation("t", "--detach"), 3, "no credentials", environment=nobody)
        for kind in ("images", "quotas"):  # In many regions, and told once.
            done = customer.refused(("get", kind, "--cloud", customer.cloud), 3, "no credentials", environment=nobody)
            check("warning" not in done.err, f"{customer.cloud}: {done.err}")
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
            yield base64.b64decode(found[:len(found) // 4 * 4])


def seen_by_others(program, until):
    """The argument lists and limits of all processes of the program that were there until then."""
    arguments, limits = set(), set()
    while not until():
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "exe").readlink() == program:
                    arguments.add((process / "cmdline").read_bytes())
                    limits.update(re.findall(r"Max core file size +(\S+)", (process / "limits").read_text()))
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
        making = user.start(*customer.creation("t", "--detach", "-vv"), environment=customer.environment())
        said = []
        reader = threading.Thread(target=lambda: said.extend(making.communicate()))
        reader.start()
        arguments, limits = seen_by_others(program, lambda: not reader.is_alive())
        check(making.returncode == 0, f"{customer.cloud}: {said}")
        check(arguments and limits, f"{customer.cloud}: no process was seen")
        check("0" in limits, f"{customer.cloud}: a core may be left: {limits}")
        for text in (*said, *arguments):
            check(b"PRIVATE KEY" not in text and not any(secret in text for secret in secrets), f"{customer.cloud}: a secret is shown: {text}")
            check(not any(b"PRIVATE KEY" in inner or b"#cloud-config" in inner for inner in decoded_texts(text.decode())), f"{customer.cloud}: user data is shown")
        check(customer.about["launch"].encode() in said[1], said[1])
        for file in customer.user.state.rglob("*"):
            if not file.is_file():
                continue
            content = file.read_bytes()
            check(not any(secret in content for secret in secrets), f"{customer.cloud}: a secret in {file}")
            check(file.stat().st_mode & 0o077 == 0, f"{file} is open to others")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, grep)


def kinds_alive(customer):
    """How many there are of each kind, machines included."""
    instances, resources = customer.sim.alive()
    return collections.Counter([text.split()[0] for text in resources] + ["instance"] * len(instances))


READING = ("Describe", "List", "Show", "Get", "Nova", "Neutron", "Keystone", "Inquiry")


def test_whatever_answer_is_lost_nothing_is_made_twice(user):
    def lost(customer):
        customer.create("t", "--detach")
        wanted = kinds_alive(customer)
        calls = customer.sim.control("calls")["calls"]
        customer.run("delete", "cluster", "t", "--yes")
        changes = sorted({call["action"] for call in calls if not call["action"].startswith(READING)})
        check(len(changes) > 3, f"{customer.cloud}: {changes}")
        for number, action in enumerate(changes):
            customer.sim.faults({"match": {"vendor": customer.cloud, "action": action, "count": 1}, "fault": {"kind": "reset_after"}})
            made = customer.create(f"t{number}", "--detach", code=None)
            customer.sim.faults()
            check(made.returncode == 0, f"{customer.cloud} {action}: {made.returncode} {made.err}")
            check(kinds_alive(customer) == wanted, f"{customer.cloud} {action}: {kinds_alive(customer)} and not {wanted}")
            customer.run("addip", f"t{number}", "--ssh-from", "127.0.0.2/32")
            customer.run("delete", "cluster", f"t{number}", "--yes")

    for_each_cloud(user, lost)


def test_an_error_in_an_answer_of_status_200_is_that_error(user):
    def lying(customer):
        customer.create("t", "--detach")
        wanted = kinds_alive(customer)
        actions = sorted({call["action"] for call in customer.sim.control("calls")["calls"]})
        customer.run("delete", "cluster", "t", "--yes")
        customer.sim.faults(*({"match": {"vendor": customer.cloud, "action": action, "count": 1}, "fault": {"kind": "error_in_200"}} for action in actions))
        customer.create("t", "--detach")
        customer.sim.faults()
        check(kinds_alive(customer) == wanted, f"{customer.cloud}: {kinds_alive(customer)} and not {wanted}")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, lying)


def test_who_may_not_read_quotas_can_plan_and_create(user):
    about = {"aws": ("GetServiceQuota", "AccessDeniedException"), "alibaba": ("DescribeAccountAttributes", "Forbidden.RAM"),
             "tencent": ("DescribeAccountQuota", "UnauthorizedOperation"), "huawei": ("ShowServerLimits", "Pdp.0001")}

    def unread(customer):
        action, code = about[customer.cloud]
        customer.sim.faults({"match": {"vendor": customer.cloud, "action": action, "count": 99}, "fault": {"kind": "status", "status": 403, "code": code}})
        offers = json.loads(customer.create("t", "--dry-run", "-o", "json").out)["offers"]
        check(offers and all(offer["quota"] is None for offer in offers), offers[:1])
        customer.refused(("get", "quotas", "--cloud", customer.cloud), 3, code)
        customer.create("t", "--detach")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, unread)


def test_what_runs_is_taken_off_the_quota(user):
    def counted(customer):
        def room():
            return json.loads(customer.create("u", "--dry-run", "-o", "json", nodes=1).out)["offers"][0]["quota"]

        before = room()
        customer.create("t", "--detach")
        deadline = time.monotonic() + 10
        while room() != before - 2 and time.monotonic() < deadline:  # New machines are listed late.
            time.sleep(0.5)
        check(room() == before - 2, f"{customer.cloud}: room for {before} before and {room()} after two")
        quotas = json.loads(customer.run("get", "quotas", "--cloud", customer.cloud, "--region", customer.about["region"], "-o", "json").out)["quotas"]
        check(any(quota["used"] for quota in quotas), f"{customer.cloud}: nothing is used: {quotas}")
        check(all(quota["raised_at"].startswith("https://") for quota in quotas), quotas)
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, counted)


def test_one_region_that_refuses_hides_no_orphan_of_another(user):
    listed = {"aws": ("DescribeInstances", "UnauthorizedOperation"), "alibaba": ("DescribeInstances", "Forbidden.RAM"),
              "tencent": ("DescribeInstances", "UnauthorizedOperation"), "huawei": ("ListServersDetails", "Pdp.0001")}
    others = {"aws": "us-west-2", "alibaba": "cn-beijing", "tencent": "ap-shanghai", "huawei": "cn-east-3"}

    def refused(customer):
        action, code = listed[customer.cloud]
        customer.create("t", "--detach")
        closed = {"match": {"vendor": customer.cloud, "region": others[customer.cloud], "action": action, "count": 999},
                  "fault": {"kind": "status", "status": 403, "code": code}}
        (customer.user.state / "state.db").rename(customer.user.state / "lost.db")
        customer.sim.faults(closed)
        seen = customer.run("gc", code=None)
        check(f"region {others[customer.cloud]}" in seen.err + seen.out.decode(), f"{seen.out} {seen.err}")
        check(customer.sim.alive()[0] == [], f"{customer.cloud}: {seen.out} {seen.err}")
        customer.sim.faults()
        customer.run("gc")

    for_each_cloud(user, refused)


def without(words, name):
    """The words without an option and its value."""
    at = words.index(name)
    return words[:at] + words[at + 2:]


def test_a_limit_or_a_name_that_one_region_lacks_leads_to_the_next(user):
    if "aws" not in cloud_sim.clouds_of(user):
        return  # What is decided is decided alike for all.
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        words = without(customer.creation("t", "--detach", nodes=1), "--region")
        offers = json.loads(customer.run(*words, "--dry-run", "-o", "json").out)["offers"]
        best, other = offers[0]["region"], next(offer["region"] for offer in offers if offer["region"] != offers[0]["region"])
        sim.faults({"match": {"vendor": "aws", "region": best, "action": "CreateVpc", "count": 99}, "fault": {"kind": "status", "status": 400, "code": "VpcLimitExceeded"}})
        made = customer.run(*words)
        check("VpcLimitExceeded" in made.err and not sim.alive()[0][0]["zone"].startswith(best), f"{made.err} {sim.alive()[0]}")
        customer.run("delete", "cluster", "t", "--yes")
        sim.faults()
        customer.refused((*words, "--key-pair", "mine"), 5, f"in {best}", f"in {other}")
        key = user.folder / "pair"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        sim.control("key_pair", {"vendor": "aws", "account": sim.account("aws")["name"], "region": other, "name": "mine", "public": key.with_suffix(".pub").read_text().strip()})
        customer.run(*words, "--key-pair", "mine")
        check(sim.alive()[0][0]["zone"].startswith(other), f"{other}: {sim.alive()[0]}")
        customer.run("delete", "cluster", "t", "--yes")
        check(sim.alive()[0] == [] and len(sim.alive()[1]) == 1, f"not the key pair alone is left: {sim.alive()}")


def test_a_creation_killed_at_the_way_out_of_fabric_adapters_makes_it_when_repeated(user):
    if "aws" not in cloud_sim.clouds_of(user):
        return
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        words = (*without(customer.creation("t", "--rdma", "--detach"), "--gpus"), "--instance-type", "p4d.24xlarge")
        sim.faults({"match": {"action": "AuthorizeSecurityGroupEgress", "count": 99}, "fault": {"kind": "reset_before"}})
        making = user.start(*words, environment=customer.environment())
        deadline = time.monotonic() + 30
        while not any(call["action"] == "AuthorizeSecurityGroupIngress" for call in sim.control("calls")["calls"]):
            check(time.monotonic() < deadline, "the group was never opened")
            time.sleep(0.1)
        making.kill()
        making.communicate()
        sim.faults()
        customer.run(*words)
        group = next(r for r in sim.books()["resources"] if r["alive"] and r["kind"] == "group" and r["name"].startswith("fastgpu"))
        check(any("groups" in rule for rule in group["data"]["egress"]), group)
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
                if KILL_STRIDE > 1 and (number + nth + sorted(CLOUDS).index(customer.cloud)) % 3 != 0:
                    continue  # Another cloud has its turn.
                name = f"t{number}x{nth}"
                customer.sim.faults({"match": {"vendor": customer.cloud, "nth": nth, "count": 1}, "fault": fault})
                made = customer.run(*customer.creation(name, "--detach"), code=None, timeout=60)
                errors = [line for line in made.err.split("\n") if line.startswith("error: ")]
                check(made.returncode in (0, 1, 3, 4, 5, 6) and len(errors) == (made.returncode != 0), f"{fault} {nth}: {made.returncode} {made.err}")
                customer.sim.faults()
                if made.returncode == 0:
                    there = kinds_alive(customer)
                    check(there == wanted, f"{customer.cloud} {fault} at {nth}: {there} and not {wanted}")
                    customer.run("delete", "cluster", name, "--yes")
                customer.run("gc")
                check(customer.sim.alive() == ([], []), f"{customer.cloud} {fault} at {nth}: {customer.sim.alive()}")

    for_each_cloud(user, faulty)


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
