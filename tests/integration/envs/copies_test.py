"""How builds of environments come from the node that has one to others: over nodes that vanish,
and chains that break.

Skipped where there is no uv.
"""

import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import inits_of, run_tests, within
from env_site import PREFIX, with_site
from suite import (
    assert_equal,
    assert_greater,
    assert_in,
    assert_less,
    assert_not_equal,
    assert_not_in,
    assert_true,
)
from wheels_site import LARGE, LargeWheels, ManyNodes, Wheels


@with_site(Wheels)
def test_what_has_changed_where_it_comes_from_is_in_use_nowhere_else(site):
    site.create()
    site.on_nodes(
        "sed",
        "-i",
        "s/one/own/",
        f"{PREFIX}/train/current/lib/python3.11/site-packages/beta.py",
        nodes="/0",
    )
    site.on_nodes("rm", "-rf", f"{PREFIX}/train", nodes="/1")
    done = site.create(code=None)
    assert_not_equal(done.returncode, 0, f"{done.returncode} {done.err}")
    assert_in(
        f"{site.name}-1: the copy of the build was damaged on the way: "
        "lib/python3.11/site-packages/beta.py: has another content",
        done.err,
        f"{done.returncode} {done.err}",
    )
    assert_in(
        "No such file",
        site.on_nodes("sh", "-c", f"ls {PREFIX}/train/current 2>&1 || true", nodes="/1"),
        "it is in use",
    )
    assert_not_equal(
        site.create(code=None).returncode,
        0,
        "the damaged copy is still there, and counts as complete",
    )


@with_site(Wheels)
def test_a_node_that_vanishes_is_reported_and_repaired_later(site):
    for pid in inits_of(f"{site.name}-1"):
        os.kill(pid, signal.SIGKILL)
    done = site.create(code=None, timeout=180)
    assert_not_equal(done.returncode, 0, f"{done.returncode} {done.err}")
    assert_in(f"{site.name}-1 (", done.err, f"{done.returncode} {done.err}")
    assert_in("built", done.out.decode())
    site.user.run("start", "cluster", site.name)
    assert_equal(
        json.loads(site.create("-o", "json").out)["nodes"][1]["done"],
        "received",
        "the node was not repaired",
    )


@with_site(Wheels)
def test_a_node_without_the_python_that_the_environment_uses_is_told_and_not_switched(site):
    own = pathlib.Path("/usr/bin/python3").resolve()

    def has(command, nodes):
        site.on_nodes(
            "sh", "-c", f"rm -rf /opt/py; mkdir /opt/py; cd /opt/py; {command}", nodes=nodes
        )

    def refused(code, said):
        done = site.create("-o", "json", code=code)
        assert_in(said, done.err)
        assert_in(
            "No such file",
            site.on_nodes("sh", "-c", f"ls {PREFIX}/train/current 2>&1 || true", nodes="/1"),
            "it is in use",
        )
        return [node["done"] for node in json.loads(done.out)["nodes"]]

    has(f"ln -s {own} python3", "/0")
    site.file.write_text(site.file.read_text().replace("/usr/bin/python3", "/opt/py/python3"))
    try:
        assert_equal(
            refused(5, f"{site.name}-1: the environment was made with Python 3.11."),
            ["built", "failed"],
            "not left behind",
        )
        has("cp /bin/true python3.99; ln -s python3.99 python3", "/1")
        assert_equal(
            refused(
                6,
                f"{site.name}-1: /opt/py/python3 is Python 3.99 on this node, and the "
                "environment was made with 3.11.",
            ),
            ["nothing", "failed"],
            "taken",
        )
        has("printf '#!/bin/sh\\necho 3.10.4\\n' >python3; chmod 755 python3", "/1")
        refused(6, "/opt/py/python3 is Python 3.10.4 on this node")
        has(f"ln -s {own} python3", "/1")
        assert_equal(
            [node["done"] for node in json.loads(site.create("-o", "json").out)["nodes"]],
            ["nothing", "switched"],
            "not repaired",
        )
        assert_equal(
            site.program("python", "-c", "import alpha").count("alpha one"), 2, "it does not run"
        )
    finally:
        site.on_nodes("rm", "-rf", "/opt/py")


def receives(init):
    """Whether a node, known by its first process, receives a build from another one."""

    def is_relay(process):
        words = (process / "cmdline").read_bytes().split(b"\0")
        return b"relay" in words and b"--to" in words and b"--from" not in words

    world = os.readlink(f"/proc/{init}/ns/pid")
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns/pid") == world and is_relay(process):
                return True
        except OSError:
            pass  # It has just ended.
    return False


@with_site(ManyNodes)
def test_a_node_that_vanishes_while_it_receives_is_named_and_the_others_are_complete(site):
    inits = list(inits_of(f"{site.name}-2"))
    process = site.user.start(*site.words("-o", "json"))
    assert_true(
        within(60, lambda: any(map(receives, inits))), "nothing passes over the node in the middle"
    )
    for pid in inits:
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=180)
    assert_not_equal(process.returncode, 0, f"{process.returncode} {err}")
    assert_in(f"{site.name}-2 (".encode(), err, f"{process.returncode} {err}")
    done = {node["name"]: node["done"] for node in json.loads(out)["nodes"]}
    assert_equal(
        [done[f"{site.name}-{number}"] == "failed" for number in range(4)],
        [False, False, True, False],
        f"{done} {err}",
    )
    assert_equal(
        done[f"{site.name}-3"], "received", f"not by a chain that leaves it out: {done} {err}"
    )
    for number in (0, 1, 3):
        site.user.run("env", "verify", "train", "-c", f"{site.name}/{number}")
    site.user.run("start", "cluster", site.name)
    assert_equal(
        json.loads(site.create("-o", "json").out)["nodes"][2]["done"],
        "received",
        "the node was not repaired",
    )


# 0 until it is there.
KEPT = (
    f"stat -c %s {PREFIX}/train/.fastgpu-copy-*/tree/*/lib/python3.11/site-packages/large.bin "
    "2>/dev/null || echo 0"
)
KILL_RELAY = (
    "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q 'fastgpu-agent.* "
    "[r]elay --to' && kill -9 ${p#/proc/} && echo killed; done; true"
)


@with_site(LargeWheels)
def test_a_chain_that_breaks_goes_on_where_it_was_and_no_faster_than_it_may(site):
    site.write("large")
    site.user.refused(site.words("--limit-rate", "fast"), 2, "fast")
    site.create()
    for node in (1, 2, 3):
        site.said_by(node, "rm", "-rf", f"{PREFIX}/train")
    before = site.sent_by_first()
    site.create()
    unbroken = site.sent_by_first() - before
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    before, began = site.sent_by_first(), time.monotonic()
    process = site.user.start(*site.words("-o", "json", "--limit-rate", "20mbit"))
    assert_true(
        within(60, lambda: int(site.said_by(1, "sh", "-c", KEPT)) > LARGE // 2),
        "nothing passes over the second node",
    )
    assert_in("killed", site.said_by(1, "sh", "-c", KILL_RELAY), "it had all of it")
    out, err = process.communicate(timeout=180)
    assert_equal(process.returncode, 0, f"{process.returncode} {err}")
    assert_equal(
        [node["done"] for node in json.loads(out)["nodes"]], ["built"] + ["received"] * 3, f"{out}"
    )
    assert_greater(time.monotonic() - began, 8 * LARGE / 20e6 * 0.95, "faster than it may")
    sent = site.sent_by_first() - before
    assert_less(
        sent,
        unbroken + LARGE // 4,
        f"{sent} bytes have left the node that builds, and {unbroken} where nothing broke",
    )
    site.user.run("env", "verify", "train", "-c", site.name)
    assert_not_in(
        ".fastgpu-copy", site.on_nodes("ls", "-A", f"{PREFIX}/train"), "something is left"
    )


@with_site(LargeWheels)
def test_what_is_done_of_a_build_is_on_its_way_while_the_rest_is_made_and_stays_there_over_a_ctrl_c(
    site,
):
    site.write("large")
    site.wait_in_build()
    there = (
        f"stat -c %s {PREFIX}/train/.fastgpu-copy-*/tree/*/lib/python3.11/site-packages/large.bin"
    )
    process = site.user.start(*site.words())
    for node in (1, 2, 3):
        assert_true(
            within(60, lambda at=node: int(site.said_by(at, "sh", "-c", KEPT)) == LARGE),
            f"node {node} waits for the end of the build",
        )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 130, f"{process.returncode} {err}")
    assert_equal(int(site.said_by(3, "sh", "-c", there)), LARGE, "what was there is not kept")
    site.said_by(0, "touch", "/root/hurry")
    before = site.sent_by_first()
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["built"] + ["received"] * 3, f"{done}")
    sent = site.sent_by_first() - before
    assert_less(
        sent,
        LARGE // 2,
        f"{sent} bytes have left the node that builds, though the others had {LARGE} of them",
    )
    site.user.run("env", "verify", "train", "-c", site.name)
    assert_not_in(
        ".fastgpu-copy", site.on_nodes("ls", "-A", f"{PREFIX}/train"), "something is left"
    )


@with_site(LargeWheels)
def test_where_the_node_that_builds_vanishes_the_others_are_free_of_it_and_another_one_builds(site):
    site.write("large")
    site.wait_in_build()
    process = site.user.start(*site.words())
    assert_true(
        within(60, lambda: int(site.said_by(3, "sh", "-c", KEPT)) == LARGE),
        "the last node waits for the end of the build",
    )
    for pid in inits_of(f"{site.name}-0"):
        os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert_not_equal(process.returncode, 0, f"{process.returncode} {err}")
    assert_in(f"{site.name}-0: ".encode(), err, f"{process.returncode} {err}")
    for number in (1, 2, 3):
        assert_true(
            within(30, lambda at=number: not any(map(receives, inits_of(f"{site.name}-{at}")))),
            f"node {number} still receives",
        )
        site.said_by(number, "touch", "/root/hurry")
    done = {
        node["name"]: node["done"]
        for node in json.loads(site.create("-o", "json", code=None, timeout=180).out)["nodes"]
    }
    assert_equal(
        [done[f"{site.name}-{number}"] for number in range(4)],
        ["failed", "built", "received", "received"],
        f"{done}",
    )
    assert_not_in(
        ".fastgpu-copy",
        site.on_nodes("ls", "-A", f"{PREFIX}/train", nodes="/1-3"),
        "something is left",
    )
    site.user.run("start", "cluster", site.name)
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)


run_tests(dict(globals()))
