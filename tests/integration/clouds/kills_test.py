#!/usr/bin/env python3
"""What changes clusters in clouds is killed at many of its steps, on the stand-in: kills_test.py
FASTGPU CLOUDSIM [TEST ...]

Every test runs for each cloud that fastgpu and the stand-in both know, or for those that
CLOUDS_ONLY names.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests
from cloud_sim import steps_to_kill_at
from suite import assert_equal, assert_greater, assert_in

CLOUDSIM = sys.argv.pop(2)


def for_each_cloud(user, test, *options, boot="instant"):
    cloud_sim.for_each_cloud(user, CLOUDSIM, test, *options, boot=boot)


def kill_everywhere(customer, words, settle, check_after):
    """Runs `words` killed at its n-th step, for many n until it comes to its end; then settles and
    checks.
    """
    for step in steps_to_kill_at(customer.cloud):
        ended = customer.run(*words(step), code=None, environment={"FASTGPU_FAULT": f"any:{step}"})
        if ended.returncode != -9:
            assert_equal(ended.returncode, 0, f"unkilled: {ended.returncode} {ended.err}")
            return step
        settle(step)
        check_after(step)
    raise AssertionError("the command has no end")


def test_a_creation_that_was_killed_anywhere_is_rolled_back(user):
    def killed(customer):
        customer.sim.settings(listing_delay_ms=50)

        def nothing_or_all(step):
            # Killed after its end.
            if json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"]:
                assert_equal(
                    len(customer.sim.alive()[0]),
                    2,
                    f"{customer.cloud}, step {step}: {customer.sim.alive()}",
                )
                customer.run("delete", "cluster", f"t{step}", "--yes")
            assert_equal(customer.sim.alive(), ([], []), f"{customer.cloud}, step {step}")

        steps = kill_everywhere(
            customer,
            lambda step: customer.creation(f"t{step}", "--detach"),
            lambda step: customer.run("gc"),
            nothing_or_all,
        )
        assert_greater(steps, 15, f"only {steps} steps")
        customer.run("delete", "cluster", f"t{steps}", "--yes")

    for_each_cloud(user, killed)


def test_a_creation_that_was_killed_anywhere_can_be_repeated(user):
    def killed(customer):
        customer.sim.settings(listing_delay_ms=50)

        def again(step):
            customer.create(f"t{step}", "--detach")

        def exactly_two(step):
            instances, _ = customer.sim.alive()
            assert_equal(
                len(instances), 2, f"{customer.cloud}, step {step}: {len(instances)} instances"
            )
            customer.run("delete", "cluster", f"t{step}", "--yes")
            assert_equal(customer.sim.alive(), ([], []), f"{customer.cloud}, step {step}")

        steps = kill_everywhere(
            customer, lambda step: customer.creation(f"t{step}", "--detach"), again, exactly_two
        )
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
            assert_equal(ended.returncode, -9, f"step {step}: {ended.err}")
            again = customer.run(*words, code=None)
            # Not found: what runs settle first has finished it.
            assert_in(again.returncode, (0, 5), again.err)
            assert_equal(customer.sim.alive(), ([], []), f"{customer.cloud}, step {step}")
        raise AssertionError("deletions have no end")

    for_each_cloud(user, killed)


if __name__ == "__main__":
    run_tests(globals())
