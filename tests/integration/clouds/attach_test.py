#!/usr/bin/env python3
"""Clusters taken over by another state directory, on the stand-in: attach_test.py FASTGPU CLOUDSIM
[TEST ...]

Every cloud goes through the journey; what is decided by us and not by a cloud is tried on one
(CLOUDS_ONLY chooses).
"""

import copy
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envs"))
import cloud_sim
from cli_user import job_words, run_tests, within
from cloud_sim import CloudSim, Customer
from env_site import built_tool
from suite import (
    assert_equal,
    assert_greater_equal,
    assert_in,
    assert_not_equal,
    assert_not_in,
    assert_true,
)

CLOUDSIM = sys.argv.pop(2)
LEASE = 60  # Seconds, after which that of a killed fastgpu has run out.


def key_of(user):
    key = user.folder / "key"
    if not key.exists():
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me@home", "-f", key], check=True
        )
    return str(key)


def elsewhere(customer, name="other"):
    """The same person at another machine: the same key, and a
    state directory that knows nothing.
    """
    other = copy.copy(customer)
    other.user = copy.copy(customer.user)
    other.user.state = customer.user.folder / name
    return other


def attachment(customer, *more, name="t"):
    return (
        "attach",
        "cluster",
        name,
        "--provider",
        customer.cloud,
        "--region",
        customer.about["region"],
        "--ssh-key",
        key_of(customer.user),
        "--ssh-from",
        "127.0.0.1/32",
        *more,
    )


def tags_of(sim):
    return [{**instance["tags"], "id": instance["id"]} for instance in sim.alive()[0]]


def owners(sim):
    return {tags["fastgpu-owner"] for tags in tags_of(sim)}


def in_one_cloud(user, test, boot="local"):
    """In the first cloud only; nothing may be left."""
    cloud = cloud_sim.clouds_of(user)[0]
    with CloudSim(CLOUDSIM, boot) as sim:
        customer = Customer(user, sim, cloud)
        test(customer, elsewhere(customer))
        customer.check_nothing_is_left()


def created(customer, *more, nodes=2):
    customer.create(
        "t", "--ssh-key", key_of(customer.user) + ".pub", "--timeout", "90s", *more, nodes=nodes
    )


def kill_scaling(customer, point):
    """Kills fastgpu at that point, while it scales the cluster to two nodes."""
    environment = {"FASTGPU_FAULT": point}
    customer.run("scale", "cluster", "t", "--nodes", "2", code=-9, environment=environment)


def test_a_cluster_is_taken_over_changed_and_taken_back(user):
    def journey(customer):
        other = elsewhere(customer)
        made = customer.create("t", "--ssh-key", key_of(customer.user) + ".pub", "--timeout", "90s")
        assert_not_in("warning", made.err)
        assert_equal(
            len({tags.get("fastgpu-host-key") for tags in tags_of(customer.sim)}),
            2,
            "not one fingerprint, of the head node",
        )
        before = owners(customer.sim)
        other.run(*attachment(other))
        assert_equal(len(owners(customer.sim)), 1, f"{before} {owners(customer.sim)}")
        assert_not_equal(owners(customer.sim), before)
        pinned = [[node["host_keys"] for node in who.nodes("t")] for who in (customer, other)]
        assert_equal(pinned[0], pinned[1], f"other host keys: {pinned}")
        assert_greater_equal(
            other.run("exec", "t", "-b", "--", "hostname").out.count(b"t-"), 2, "hostnames"
        )
        # The old one uses it as before, and changes nothing any more.
        customer.run("exec", "t", "--", "true")
        customer.run("get", "clusters")
        for words in (
            ("scale", "cluster", "t", "--nodes", "3"),
            ("stop", "cluster", "t"),
            ("delete", "cluster", "t", "--yes"),
            ("guard", "cluster", "t", "--max-life", "8h"),
            ("addip", "t", "--ssh-from", "10.0.0.1/32"),
        ):
            customer.refused(words, 6, "was taken over by", "attach cluster t", "--forget")
        customer.run("gc")
        assert_equal(len(customer.sim.alive()[0]), 2, "the old owner has ended something")
        # A later node lets the same person in, too.
        other.run("scale", "cluster", "t", "--nodes", "3", "--timeout", "60s")
        customer.run(*attachment(customer))
        assert_equal(len(customer.nodes("t")), 3, customer.nodes("t"))
        customer.run("exec", "t", "--", "true")
        other.refused(("scale", "cluster", "t", "--nodes", "1", "--yes"), 6, "was taken over by")
        other.run("delete", "cluster", "t", "--forget", "--yes")
        other.run("gc")
        assert_equal(len(customer.sim.alive()[0]), 3, "who has forgotten it ends it")
        customer.run("stop", "cluster", "t")
        customer.run("start", "cluster", "t", "--timeout", "60s")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_environments_are_ready_for_who_takes_the_cluster_over(user):
    uv = built_tool("uv/site/bin/uv")
    if uv is None:
        return

    def ready(customer, other):
        created(customer, nodes=1)
        spec = user.folder / "env.yaml"
        spec.write_text("name: train\npython: /usr/bin/python3\nmpi: system\n")
        customer.run("env", "create", "-c", "t", "-f", str(spec), "--uv", uv)
        other.run(*attachment(other))
        program = ["python", "-c", "import sys; print(sys.prefix)"]
        job = other.run(*job_words("t", 1, program, "--environment", "train"))
        assert_in(b"/envs/train/", job.out)
        other.run("delete", "cluster", "t", "--yes")
        customer.run("delete", "cluster", "t", "--forget", "--yes")

    in_one_cloud(user, ready)


def test_a_region_that_cannot_be_asked_hides_no_cluster_in_another(user):
    regions = {
        "aws": "us-west-2",
        "alibaba": "cn-beijing",
        "tencent": "ap-shanghai",
        "huawei": "cn-east-3",
    }

    def attached(customer, other):
        created(customer, nodes=1)
        words = [
            word for word in attachment(other) if word not in ("--region", customer.about["region"])
        ]
        fault = {"fault": {"kind": "status", "status": 403, "code": "Forbidden"}}
        customer.sim.faults({"match": {"region": regions[customer.cloud], "count": 99}, **fault})
        nowhere = [word if word != "t" else "nobody" for word in words]
        missed = other.run(*nowhere, code=None)
        assert_in(missed.returncode, (1, 3), f"{missed.returncode}: {missed.err}")
        assert_in("it may be in a region that could not", missed.err, f"{missed.returncode}")
        other.run(*words)
        customer.sim.faults()
        other.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, attached)


def test_what_cannot_be_attached_is_refused_with_a_way_out(user):
    def refused(customer, other):
        other.refused(("attach", "cluster", "t", "--provider", "local"), 2, "log in")
        other.refused(("attach", "cluster", "t", "--provider", "static"), 2, "create cluster -f")
        other.refused(("attach", "cluster", "t"), 2, "--provider")
        other.refused(attachment(other), 5, "was searched in", other.about["region"])
        created(customer, nodes=1)
        customer.refused(("delete", "cluster", "t", "--forget"), 6, "no other state directory owns")
        wrong = user.folder / "wrong"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", wrong], check=True)
        other.refused(
            [str(wrong) if word == key_of(user) else word for word in attachment(other)], 3
        )
        customer.refused(
            customer.creation("u", "--ssh-key", "/etc/hostname"), 2, "no public Ed25519 key"
        )
        customer.run("stop", "cluster", "t")
        other.refused(attachment(other), 6, "is not running", "--start")
        assert_equal(
            json.loads(other.run("get", "clusters", "-o", "json").out)["clusters"],
            [],
            "something was written down",
        )
        customer.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, refused)


def keys_on(customer, name="t"):
    words = ("exec", name, "--", "cat", "/root/.ssh/authorized_keys")
    return customer.run(*words).out.decode().count("fastgpu-")


def test_an_attach_that_fails_leaves_nothing_changed(user):
    def failing(customer, other):
        created(customer)
        before = keys_on(customer)
        wrong = user.folder / "wrong"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", wrong], check=True)

        def words(*more, key=None):
            others = {key_of(user): key or key_of(user), "127.0.0.1/32": "127.0.0.9/32"}
            return (*[others.get(word, word) for word in attachment(other)], *more)

        def is_closed(ssh_from):
            closing = ("addip", "t", "--remove", "--ssh-from", ssh_from)
            customer.refused(closing, 5, f"{ssh_from} may not log in", "127.0.0.1/32")

        # Known before anything is changed.
        other.refused(words(key="nokey"), 5, "does not exist")
        other.refused(words("--user", "a b"), 2, "a b")
        is_closed("127.0.0.9/32")
        # Found out by the node.
        done = other.refused(words(key=str(wrong)), 3)
        assert_in("what it had changed is undone", done.err)
        is_closed("127.0.0.9/32")
        customer.run("stop", "cluster", "t")
        other.refused(words("--start", key=str(wrong)), 3, "what it had changed is undone")
        assert_equal([node["state"] for node in customer.nodes("t")], ["stopped"] * 2)
        customer.run("start", "cluster", "t")
        # The name is another cluster's here.
        other.create("t", "--detach", nodes=1)
        about = json.loads(customer.run("describe", "cluster", "t", "-o", "json").out)
        other.refused(words("--id", about["id"]), 6, "another cluster here")
        other.run("delete", "cluster", "t", "--yes")
        assert_equal(keys_on(customer), before, "a key is left")
        is_closed("127.0.0.9/32")
        customer.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, failing)


def test_the_old_owner_is_shown_who_has_the_cluster(user):
    def shown(customer, other):
        created(customer, nodes=1)
        other.run(*attachment(other))
        listed = lambda: json.loads(customer.run("get", "clusters", "-o", "json").out)  # noqa: E731
        owner = listed()["clusters"][0]["owner"]
        assert_in("@", owner)
        assert_in(" UTC (state directory ", owner)
        assert_in("taken over", customer.run("get", "clusters").out.decode())
        assert_in(owner, customer.run("describe", "cluster", "t").out.decode())
        for words in (("stop", "cluster", "t"), ("delete", "cluster", "t", "--yes")):
            customer.refused(words, 6, f"was taken over by {owner}")
        other.run("delete", "cluster", "t", "--yes")
        assert_equal(listed()["clusters"][0]["owner"], owner)
        customer.run("delete", "cluster", "t", "--forget")

    in_one_cloud(user, shown)


def test_a_head_node_that_is_another_is_not_believed(user):
    def refused(customer, other):
        created(customer, nodes=1)
        # Somebody in between has a key of his own.
        customer.run(
            "exec",
            "t",
            "--",
            "sh",
            "-c",
            "rm -f /etc/ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N '' -f "
            "/etc/ssh/ssh_host_ed25519_key",
        )
        other.refused(attachment(other), 3, "is not machine", "SHA256:")
        assert_equal(
            other.run("get", "clusters", "-o", "name").out, b"", "written down all the same"
        )
        customer.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, refused)


def test_a_stopped_cluster_is_started_where_that_is_wished(user):
    def starts(customer, other):
        created(customer)
        customer.run("stop", "cluster", "t")
        # `stop` has given its lease back before the node went down.
        other.run(*attachment(other, "--start"))
        assert_equal(
            [node["state"] for node in other.nodes("t")], ["running"] * 2, other.nodes("t")
        )
        other.run("exec", "t", "--", "true")
        other.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, starts)


def test_the_lease_of_a_machine_that_is_dead_can_be_broken(user):
    def broken(customer, other):
        created(customer, nodes=1)
        kill_scaling(customer, "provision:written")
        other.refused((*attachment(other), "--wait", "1s"), 6, "is being changed by", "--force")
        done = other.run(*attachment(other, "--force"))
        assert_in("broke the lease of ", done.err)
        assert_in("process", done.err)
        assert_in("held for", done.err)
        other.run("scale", "cluster", "t", "--nodes", "2", "--timeout", "90s")
        customer.refused(("scale", "cluster", "t", "--nodes", "1", "--yes"), 6, "was taken over by")
        other.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, broken)


def test_a_cluster_that_was_renamed_and_grew_is_attached_whole(user):
    def renamed(customer, other):
        created(customer, nodes=1)
        customer.run("rename", "cluster", "t", "prod")
        customer.run("scale", "cluster", "prod", "--nodes", "2", "--timeout", "60s")
        other.run(*attachment(other, name="prod"))
        other.run("exec", "prod", "--", "true")
        assert_equal(len(other.nodes("prod")), 2, other.nodes("prod"))
        other.run("delete", "cluster", "prod", "--yes")

    in_one_cloud(user, renamed)


def test_a_cluster_that_was_renamed_is_attached_by_its_new_name(user):
    def renamed(customer, other):
        created(customer)
        customer.run(
            "rename",
            "cluster",
            "t",
            "prod",
            code=None,
            environment={"FASTGPU_FAULT": "provision:renamed_there"},
        )
        assert_equal(
            [node["cluster"] for node in customer.nodes("t")], ["t"] * 2, customer.nodes("t")
        )
        customer.run("rename", "cluster", "t", "prod")
        other.refused(attachment(other), 5, "prod")
        other.run(*attachment(other, name="prod"))
        assert_equal(len(other.nodes("prod")), 2, other.nodes("prod"))
        other.run("delete", "cluster", "prod", "--yes")

    in_one_cloud(user, renamed)


def test_of_two_that_attach_at_once_one_after_the_other_has_it(user):
    def both(customer, other):
        third = elsewhere(customer, "third")
        created(customer)
        started = [
            who.user.start(*attachment(who, "--wait", "60s"), environment=who.environment())
            for who in (other, third)
        ]
        ended = [process.communicate(timeout=120) + (process.returncode,) for process in started]
        assert_equal([code for _, _, code in ended], [0, 0], ended)
        assert_equal(len(owners(customer.sim)), 1, owners(customer.sim))
        codes = {
            who.run("scale", "cluster", "t", "--nodes", "1", "--yes", code=None).returncode
            for who in (other, third)
        }
        assert_equal(codes, {0, 6})
        for who in (other, third):
            who.run("delete", "cluster", "t", "--yes", code=None)

    in_one_cloud(user, both)


def test_nobody_attaches_in_the_middle_of_a_change(user):
    def waits(customer, other):
        created(customer)
        customer.sim.faults(
            {
                "match": {"vendor": customer.cloud, "action": customer.about["launch"]},
                "fault": {"kind": "delay", "milliseconds": 8000},
            }
        )
        scaling = customer.user.start(
            "scale",
            "cluster",
            "t",
            "--nodes",
            "3",
            "--timeout",
            "90s",
            environment=customer.environment(),
        )
        assert_true(within(30, lambda: lease_is_held(customer)), "no lease")
        other.refused((*attachment(other), "--wait", "1s"), 6, "is being changed by")
        out, err = scaling.communicate(timeout=120)
        assert_equal(scaling.returncode, 0, err)
        other.run(*attachment(other, "--wait", "30s"))
        assert_equal(len(other.nodes("t")), 3, other.nodes("t"))
        other.run("delete", "cluster", "t", "--yes")

    def lease_is_held(customer):
        book = customer.run(
            "exec",
            "t/0",
            "--",
            "sh",
            "-c",
            "cat ~/.fastgpu/lease/book 2>/dev/null || true",
            code=None,
        ).out
        return b"who=" in book and b"process" in book

    in_one_cloud(user, waits)


def test_a_takeover_that_was_killed_anywhere_goes_on(user):
    points = (
        "takeover:leased",
        "takeover:key_made",
        "takeover:keys_put",
        "takeover:adopted",
        "takeover:marked",
        "takeover:owned",
        "record:written",
    )

    def killed(customer, other):
        created(customer)
        for number, point in enumerate(points):
            who = elsewhere(customer, f"other{number}")
            ended = who.run(
                *attachment(who, "--wait", "90s"), code=None, environment={"FASTGPU_FAULT": point}
            )
            assert_equal(ended.returncode, -9, f"{point}: {ended.returncode} {ended.err}")
            who.run("gc", code=None)
            assert_equal(len(customer.sim.alive()[0]), 2, f"{point}: {customer.sim.alive()[0]}")
            who.run(*attachment(who))
            who.run("exec", "t", "--", "true")
            assert_equal(len(owners(customer.sim)), 1, f"{point}: {owners(customer.sim)}")
        who.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, killed)


def test_what_a_killed_change_left_is_told_before_it_is_ended(user):
    def unrecorded(customer, other):
        created(customer, nodes=1)
        kill_scaling(customer, "provision:reached")
        other.refused(
            (*attachment(other), "--wait", f"{LEASE + 30}s"), 6, "does not list", "--end-unrecorded"
        )
        other.run(*attachment(other, "--end-unrecorded"))
        customer.run("gc", code=None)  # Which has something to settle, and no right to.
        assert_equal(len(customer.sim.alive()[0]), 2, "the old owner has settled it")
        other.run("scale", "cluster", "t", "--nodes", "1", "--yes")
        assert_equal(len(customer.sim.alive()[0]), 1, customer.sim.alive()[0])
        other.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, unrecorded)


def test_a_record_that_was_tampered_with_is_refused(user):
    def refused(customer, other):
        created(customer, nodes=1)
        for what, said in (
            ("{}", "schema"),
            ("x" * 100, "not JSON"),
            ('{"schema":"fastgpu/cluster-record/v9"}', "v9"),
        ):
            customer.run("exec", "t", "--", "sh", "-c", f"echo '{what}' > ~/.fastgpu/cluster.json")
            other.refused(attachment(other), 1, said)
        mode = customer.run(
            "exec", "t", "--", "stat", "-c", "%a", "/root/.fastgpu/cluster.json"
        ).out
        assert_in(b"600", mode)
        assert_equal(
            json.loads(other.run("get", "clusters", "-o", "json").out)["clusters"],
            [],
            "something was written down",
        )
        customer.run("guard", "cluster", "t", "--max-life", "8h")  # Writes it anew.
        other.run(*attachment(other))
        guards = json.loads(other.run("guard", "cluster", "t", "-o", "json").out)
        assert_true("28800" in json.dumps(guards) or "8h" in json.dumps(guards), guards)
        other.run("delete", "cluster", "t", "--yes")

    in_one_cloud(user, refused)


if __name__ == "__main__":
    os.umask(0o022)
    run_tests(globals())
