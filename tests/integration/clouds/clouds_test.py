#!/usr/bin/env python3
"""Clusters in clouds, on the stand-in: clouds_test.py FASTGPU CLOUDSIM [TEST ...]

Every test runs for each cloud that fastgpu and the stand-in both know, or for those that CLOUDS_ONLY names.
"""
import json
import pathlib
import subprocess
import sys

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


def test_secrets_are_nowhere_to_be_seen(user):
    def grep(customer):
        secret = customer.sim.account(customer.cloud)["secret_key"]
        said = customer.create("t", "--detach", "-vv")
        for text in (said.out.decode(), said.err):
            check(secret not in text and "PRIVATE KEY" not in text, f"{customer.cloud}: a secret is shown")
        check(customer.about["launch"] in said.err, said.err)
        for file in customer.user.state.rglob("*"):
            if not file.is_file():
                continue
            content = file.read_bytes()
            check(secret.encode() not in content, f"{customer.cloud}: a secret in {file}")
            check(file.stat().st_mode & 0o077 == 0, f"{file} is open to others")
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, grep)


def test_every_fault_of_the_network_ends_well(user):
    kinds = (
        {"kind": "delay", "milliseconds": 300},
        {"kind": "status", "status": 503, "retry_after": 0},
        {"kind": "status", "status": 429, "retry_after": 0},
        {"kind": "reset_before"},
        {"kind": "reset_after"},
        {"kind": "half_body"},
        {"kind": "garbage", "text": "<html>\xff{"},
    )

    def faulty(customer):
        for number, fault in enumerate(kinds):
            for nth in (1, 4, 9, 14):
                if KILL_STRIDE > 1 and (number + nth + sorted(CLOUDS).index(customer.cloud)) % 3 != 0:
                    continue  # Another cloud has its turn.
                name = f"t{number}x{nth}"
                customer.sim.faults({"match": {"vendor": customer.cloud, "nth": nth, "count": 1}, "fault": fault})
                made = customer.run(*customer.creation(name, "--detach"), code=None)
                errors = [line for line in made.err.split("\n") if line.startswith("error: ")]
                check(made.returncode in (0, 1, 3, 4, 5, 6) and len(errors) == (made.returncode != 0), f"{fault} {nth}: {made.returncode} {made.err}")
                customer.sim.faults()
                if made.returncode == 0:
                    instances, _ = customer.sim.alive()
                    check(len(instances) == 2, f"{customer.cloud} {fault} at {nth}: {len(instances)} instances")
                    customer.run("delete", "cluster", name, "--yes")
                customer.run("gc")
                check(customer.sim.alive() == ([], []), f"{customer.cloud} {fault} at {nth}: {customer.sim.alive()}")

    for_each_cloud(user, faulty)


if __name__ == "__main__":
    run_tests(globals())
