#!/usr/bin/env python3
"""Local clusters that stop by themselves: guards_local_test.py FASTGPU [TEST ...]"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import run_tests, within
from suite import assert_equal, assert_in, assert_true


def states(user):
    return [
        node["state"]
        for node in json.loads(user.run("get", "nodes", "t", "-o", "json").out)["nodes"]
    ]


def test_an_idle_local_node_stops_and_a_busy_one_does_not(user):
    file = user.folder / "cluster.yaml"
    file.write_text("name: t\nnodes: 2\nidle: stop after 3s\n")
    user.run("create", "cluster", "-f", str(file))
    program = "while ! test -e /root/enough; do :; done"
    busy = user.start("ssh", "t/0", "--", "timeout", "60", "sh", "-c", program)
    assert_true(within(60, lambda: states(user) == ["running", "stopped"]), f"{states(user)}")
    shown = user.run("why-awake", "t/0").out.decode()
    assert_in("connection", shown)
    assert_in("(idle)", shown)
    time.sleep(6)
    assert_equal(states(user), ["running", "stopped"], "it works and is not awake")
    user.run("exec", "t/0", "--", "touch", "/root/enough")
    busy.wait(30)
    assert_true(within(60, lambda: states(user) == ["stopped", "stopped"]), f"{states(user)}")
    user.run("guard", "cluster", "t", "--idle-stop", "off")
    user.run("start", "cluster", "t")
    time.sleep(6)
    assert_equal(states(user), ["running", "running"], "still guarded")
    user.run("delete", "cluster", "t", "--yes")


def test_guards_that_nobody_could_keep_are_refused(user):
    user.refused(("create", "cluster", "t", "--max-cost", "5USD"), 2, "--max-life")
    user.refused(("create", "cluster", "t", "--idle-stop", "soon"), 2, "soon")
    assert_equal(
        json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"],
        [],
        "a cluster was made",
    )


def test_a_local_cluster_whose_life_is_over_is_deleted(user):
    user.run("create", "cluster", "t", "--max-life", "10s")
    assert_true(within(40, lambda: states(user) == ["stopped"]), f"{states(user)}")
    assert_true(
        within(10, lambda: "its life of 10s is over" in user.run("gc").out.decode()),
        "gc does not end it",
    )
    assert_equal(
        json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"], [], "still there"
    )


if __name__ == "__main__":
    run_tests(globals())
