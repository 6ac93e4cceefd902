#!/usr/bin/env python3
"""Dry runs of the commands on clusters of clouds: dry_run_test.py FASTGPU CLOUDSIM [TEST ...]"""

import hashlib
import json
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests
from suite import assert_equal, assert_true

CLOUDSIM = sys.argv.pop(2)


def state_of(user):
    """All that the state directory holds: the database by its rows, every other file by its sum."""
    with sqlite3.connect(f"file:{user.state}/state.db?mode=ro", uri=True) as database:
        rows = list(database.iterdump())
    files = {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in user.state.rglob("*")
        if file.is_file() and not file.name.startswith("state.db")
    }
    return rows, files


def books_of(customer):
    """The books of the stand-in without what grows by itself."""
    books = customer.sim.books()
    return [{**instance, "cost": 0} for instance in books["instances"]], books["resources"]


def for_each_cloud(user, test):
    cloud_sim.for_each_cloud(user, CLOUDSIM, test)


def test_a_dry_run_shows_its_steps_and_changes_nothing(user):
    def tried(customer):
        customer.create("t", "--detach")
        commands = {
            ("delete", "cluster", "t"): ["delete node t-0", "delete node t-1"],
            ("stop", "cluster", "t"): ["stop node t-0"],
            ("start", "cluster", "t"): [],
            ("scale", "cluster", "t", "--nodes", "4"): ["create node t-2", "create node t-3"],
            ("scale", "cluster", "t", "--nodes", "1"): ["delete node t-1"],
            ("rename", "cluster", "t", "u"): ["rename cluster t to u"],
            customer.request("v", "--ssh-from", "192.0.2.1"): ["create node v-0"],
            ("guard", "cluster", "t", "--max-life", "5h"): None,
            ("addip", "t", "--ssh-from", "192.0.2.7/32"): None,
            ("mount", "t", "10.0.0.4:/models=/models"): None,
            ("gc",): None,
        }
        customer.run("get", "nodes", "t")  # What is learnt by looking is learnt before.
        before = state_of(user), books_of(customer)
        for words, steps in commands.items():
            done = customer.run(*words, "--dry-run", "-o", "json")
            shown = json.loads(done.out)
            told = [
                step.get("step", "") + " " + step.get("node", "")
                if isinstance(step, dict)
                else step
                for step in shown.get("steps", shown.get("plan", {}).get("steps", []))
            ]
            told = [text.replace("create-node", "create node") for text in told]
            assert_true(steps is None or all(step in told for step in steps), f"{words}: {shown}")
            assert_equal(
                (state_of(user), books_of(customer)),
                before,
                f"{customer.cloud}: {words} changed something",
            )
        customer.run("delete", "cluster", "t", "--yes")

    for_each_cloud(user, tried)


def test_a_dry_run_refuses_what_the_command_would(user):
    def refused(customer):
        customer.create("t", "--detach", nodes=1)
        customer.create("u", "--detach", nodes=1)
        before = state_of(user), books_of(customer)
        for words, code, said in (
            (("delete", "cluster", "x"), 5, "no cluster 'x'"),
            (("scale", "cluster", "t", "--nodes", "0"), 2, "--nodes"),
            (("rename", "cluster", "t", "u"), 6, "exists already"),
            (("rename", "cluster", "t", "U!"), 2, "U!"),
            (("guard", "cluster", "t", "--max-life", "soon"), 2, "soon"),
            (("addip", "t", "--ssh-from", "banana"), 2, "banana"),
            (("mount", "t", "nowhere"), 2, "nowhere"),
            (("delete", "image", "nothing", *customer.region()), 5, "nothing"),
            (
                customer.request("w", "--ssh-from", "192.0.2.1", "--vpc", "nowhere"),
                5,
                "no VPC 'nowhere'",
            ),
            (("delete", "cluster", "t", "--forget"), 6, "no other state directory owns"),
        ):
            customer.refused((*words, "--dry-run"), code, said)
            assert_equal(
                (state_of(user), books_of(customer)),
                before,
                f"{customer.cloud}: {words} changed something",
            )
        for name in ("t", "u"):
            customer.run("delete", "cluster", name, "--yes")

    for_each_cloud(user, refused)


if __name__ == "__main__":
    run_tests(globals())
