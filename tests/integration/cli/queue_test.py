"""The queue of a cluster: jobs never have the same slots unless they ask for it: queue_test.py
FASTGPU [TEST ...]
"""

import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, take_ids, within
from node_inside import NodeInside
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true


def state_of(user, job):
    jobs = json.loads(user.run("get", "jobs", "-o", "json").out)["jobs"]
    return next((one["state"] for one in jobs if one["id"] == job), None)


def detached(user, cluster, job, ranks, program, *more):
    """Starts a job with --detach, and returns what fastgpu says about it."""
    return user.run(*job_words(cluster, ranks, program, job, "--detach", *more)).err


def test_a_job_whose_fastgpu_is_killed_while_it_starts_has_an_end_and_no_slots(user):
    name = user.two_nodes()
    ends = {
        ("job:turn", "--detach"): "lost",
        ("job:turn",): "lost",
        ("job:prepared", "--detach"): "lost",
        ("job:prepared",): "lost",
        ("job:started", "--detach"): "succeeded",  # It is on its way without us.
    }
    for i, ((point, *words), wanted) in enumerate(ends.items()):
        killed = user.run(
            *job_words(name, 2, ["sleep", "1"], f"j{i}", *words),
            environment={"FASTGPU_FAULT": point},
            code=None,
        )
        if i == 0 and killed.returncode == 0:
            return print("   fault points are not built in", flush=True)
        assert_equal(killed.returncode, -signal.SIGKILL, killed.err)
        assert_true(
            within(40, lambda job=f"j{i}-1", wanted=wanted: state_of(user, job) == wanted),
            f"{point} {words}: {user.run('get', 'jobs').out}",
        )
    assert_in(b"after", user.run(*job_words(name, 2, ["echo", "after"], "after")).out)


def test_a_job_whose_fastgpu_is_killed_before_its_start_frees_its_slots_without_an_answer(user):
    name = user.two_nodes()
    for i, point in enumerate(("job:turn", "job:prepared")):
        killed = user.run(
            *job_words(name, 2, ["sleep", "1"], f"held{i}"),
            environment={"FASTGPU_FAULT": point},
            code=None,
        )
        if killed.returncode == 0:
            return print("   fault points are not built in", flush=True)
        assert_equal(killed.returncode, -signal.SIGKILL, killed.err)
        with NodeInside(f"{name}-0").cut():
            began = time.monotonic()
            done = user.run(*job_words(f"{name}/1", 1, ["echo", "up"], f"next{i}"), timeout=60)
            took = time.monotonic() - began
            print(f"   {point}: the next job took {took:.1f} s", flush=True)
            assert_in(b"up\n", done.out)
            assert_less(took, 15)
        assert_equal(state_of(user, f"held{i}-1"), "lost")
        shown = json.loads(user.run("describe", "job", f"held{i}", "-o", "json").out)
        assert_equal(shown["reason"], "the fastgpu that started it has ended")


def test_jobs_wait_for_slots_in_their_order(user):
    name = user.two_nodes()
    order = "echo $FASTGPU_JOB_ID >>/root/order; sleep 1"
    detached(user, name, "holds", 2, ["sleep", "600"])
    assert_in("waits for holds-1", detached(user, f"{name}/0", "first", 1, ["sh", "-c", order]))
    detached(user, f"{name}/0", "second", 1, ["sh", "-c", order])
    detached(user, f"{name}/0", "urgent", 1, ["sh", "-c", order], "--priority", "5")
    for job in ("first", "second", "urgent"):
        assert_equal(state_of(user, f"{job}-1"), "queued")
    waits = "job first-1 waits in the queue: cancel it first: fastgpu cancel job first-1"
    user.refused(["delete", "job", "first", "--yes"], 6, waits)
    counted = "1 job runs on it: holds-1; 3 jobs wait for it: first-1, second-1, urgent-1"
    user.refused(["stop", "cluster", name], 2, counted)
    for verb in ("stop", "delete"):  # They outlive a stop.
        steps = json.loads(user.run(verb, "cluster", name, "--dry-run", "-o", "json").out)["steps"]
        ends = "end job first-1, which waits in the queue" in steps
        assert_equal(ends, verb == "delete", steps)
    user.refused(["logs", "first"], 6, "queued")
    shown = json.loads(user.run(*job_words(name, 1, ["true"], "--dry-run", "-o", "json")).out)
    assert_in("holds-1", shown["waits_for"])
    plan = user.run(*job_words(name, 1, ["true"], "--dry-run")).err
    waits = "the job would wait for urgent-1, second-1, first-1, holds-1"
    assert_in(f"{waits}, and begins on the nodes that become free first\n", plan)
    plan = user.run(*job_words(name, 1, ["true"], "--dry-run", "--share")).err
    assert_not_in("would wait", plan)
    done = user.run(*job_words(name, 2, ["echo", "beside"], "shares", "--share"))
    assert_in(b"beside", done.out)
    user.run("cancel", "job", "holds")
    user.run("wait", "job", "first", "second", "urgent", timeout=90)
    ran = user.run("exec", f"{name}/0", "--", "cat", "/root/order").out.decode()
    words = [word for word in ran.split() if word.endswith("-1")]
    assert_equal(words, ["urgent-1", "first-1", "second-1"], "the order")


def test_several_jobs_are_cancelled_at_once_and_those_that_wait_first(user):
    name = user.two_nodes()
    user.run(*job_words(name, 1, ["true"], "over", "--launcher", "plain"))
    for job in ("runs", "waits"):
        detached(user, name, job, 2, ["sleep", "600"])
    names = ["runs", "waits-1", "runs-1", "over"]
    user.refused(["cancel", "job", *names, "none"], 5, "there is no job 'none'")
    assert_equal((state_of(user, "runs-1"), state_of(user, "waits-1")), ("running", "queued"))
    said = user.run("cancel", "job", *names, "--dry-run").err
    assert_in("job runs-1 would be cancelled\njob waits-1 would be cancelled\njob over-1 has", said)
    said = user.run("cancel", "job", *names).err
    assert_in("cancelled job runs-1\n", said)
    assert_in("cancelled job waits-1\n", said)
    assert_in("job over-1 has already ended: succeeded\n", said)
    shown = json.loads(user.run("cancel", "job", *names, "-o", "json").out)["jobs"]
    states = {job["id"]: job["state"] for job in shown}
    assert_equal(states, {"runs-1": "cancelled", "waits-1": "cancelled", "over-1": "succeeded"})


def states_on_record(user, name):
    """Returns the states of jobs, by their ids, without asking any node."""
    with contextlib.closing(sqlite3.connect(user.state / "state.db")) as database:
        return dict(database.execute("SELECT id, state FROM jobs WHERE id GLOB ?", [f"{name}-*"]))


def test_a_queued_job_starts_although_each_login_takes_seconds(user):
    name = user.two_nodes()
    user.run("exec", name, "--", "sh", "-c", "echo 'sleep 3' >>~/.bashrc")
    detached(user, name, "first", 2, ["sleep", "4"])
    detached(user, name, "second", 2, ["true"])
    assert_true(
        within(60, lambda: states_on_record(user, "second") == {"second-1": "running"}),
        user.run("get", "jobs").out,
    )


def test_many_queued_jobs_all_run(user):
    name = user.two_nodes()
    detached(user, name, "holds", 2, ["sleep", "600"])
    waiting = [user.start(*job_words(name, 1, ["true"], "many", "--detach")) for _ in range(24)]
    for process in waiting:
        _, err = process.communicate(timeout=60)
        assert_equal(process.returncode, 0, err.decode())
    assert_equal(list(states_on_record(user, "many").values()), ["queued"] * 24)
    user.run("cancel", "job", "holds")
    begun = {"running", "succeeded"}  # The end of the last ones is recorded when somebody asks.
    assert_true(
        within(120, lambda: set(states_on_record(user, "many").values()) <= begun),
        user.run("get", "jobs").out,
    )
    user.run("wait", "job", *states_on_record(user, "many"), timeout=60)


def test_an_attached_job_waits_and_can_be_given_up(user):
    name = user.two_nodes()
    detached(user, name, "holds", 2, ["sleep", "600"])
    process = user.start(*job_words(name, 2, ["echo", "ran"], "waits"))
    assert_true(within(10, lambda: state_of(user, "waits-1") == "queued"), "it is not queued")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert_equal(process.returncode, 130, err.decode())
    user.refused(["logs", "waits"], 6, "job waits-1 never started: cancelled")
    assert_equal(state_of(user, "waits-1"), "cancelled")
    killed = user.start(*job_words(name, 2, ["echo", "ran"], "killed"))
    assert_true(within(10, lambda: state_of(user, "killed-1") == "queued"), "it is not queued")
    other = user.start(*job_words(name, 2, ["echo", "ran"], "other"))
    assert_true(within(10, lambda: state_of(user, "other-1") == "queued"), "it is not queued")
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=10)
    began = time.monotonic()
    user.run("cancel", "job", "holds")
    out, err = other.communicate(timeout=60)
    assert_equal(other.returncode, 0, err.decode())
    assert_in(b"ran", out)
    assert_less(time.monotonic() - began, 40)
    assert_equal(state_of(user, "killed-1"), "lost")


def nodes_of(user, job):
    """Returns the nodes on which a job has, or would have, ranks."""
    shown = json.loads(user.run("describe", "job", job, "-o", "json").out)
    return [node["name"] for node in shown["spec"]["nodes"]]


def test_jobs_that_start_at_one_moment_have_different_free_nodes(user):
    name = user.two_nodes()
    program = ["sh", "-c", "until test -e /root/go; do sleep 0.1; done"]
    jobs = [user.start(*job_words(name, 1, program, "same", "--launcher", "plain")) for _ in "12"]
    both = ("same-1", "same-2")
    ran = within(30, lambda: all(state_of(user, job) == "running" for job in both))
    user.run("exec", name, "--", "touch", "/root/go")
    for job in jobs:
        _, err = job.communicate(timeout=30)
        assert_equal(job.returncode, 0, err.decode())
    assert_true(ran, "one waited for the other, although a node was free")
    assert_equal(
        sorted(node for job in both for node in nodes_of(user, job)), [f"{name}-0", f"{name}-1"]
    )


def test_a_queued_job_goes_where_a_node_becomes_free_first(user):
    name = user.two_nodes()
    for i in "01":
        program = ["sh", "-c", f"until test -e /root/go{i}; do sleep 0.1; done"]
        detached(user, f"{name}/{i}", f"holds{i}", 1, program, "--launcher", "plain")
    said = detached(user, name, "free", 1, ["sleep", "3"], "--launcher", "plain")
    assert_in("holds0-1", said)
    assert_in("holds1-1", said)
    # A choice among nodes that the user has named is one, too; --check has looked at one node.
    detached(user, f"{name}/0", "bound", 1, ["true"], "--launcher", "plain")
    user.run("exec", f"{name}/1", "--", "touch", "/root/go1")
    user.run("wait", "job", "free", timeout=60)
    assert_equal(nodes_of(user, "free-1"), [f"{name}-1"])
    assert_equal(state_of(user, "bound-1"), "queued")
    user.run("exec", f"{name}/0", "--", "touch", "/root/go0")
    user.run("wait", "job", "bound", timeout=60)
    assert_equal(nodes_of(user, "bound-1"), [f"{name}-0"])


def test_a_queued_job_ends_with_its_cluster(user):
    name = user.two_nodes()
    detached(user, name, "holds", 2, ["sleep", "600"])
    detached(user, name, "waits", 2, ["touch", "/root/ran"])
    attached = user.start(*job_words(name, 2, ["true"], "sees"))
    assert_true(within(10, lambda: state_of(user, "sees-1") == "queued"), "it is not queued")
    user.run("delete", "cluster", name, "--yes", timeout=60)
    _, err = attached.communicate(timeout=20)
    assert_in(b"job sees-1 was cancelled: its cluster was deleted before its turn", err)
    for job in ("waits-1", "sees-1"):
        user.run("wait", "job", job, code=1, timeout=20)
        assert_equal(state_of(user, job), "cancelled", job)


def test_a_queued_job_outlives_a_stop_of_its_cluster_and_has_one_end(user):
    name = user.two_nodes()
    detached(user, name, "first", 2, ["sleep", "600.41"])
    detached(user, name, "second", 1, ["echo", "ran"])
    user.run("stop", "cluster", name, "--yes")
    for _ in range(4):
        assert_true(state_of(user, "second-1") in ("queued", "starting"), "it has ended")
        time.sleep(1)
    user.run("start", "cluster", name)
    user.run("wait", "job", "second-1")
    assert_equal(user.run("logs", "second-1", "--rank", "0").out, b"ran\n")


def test_a_queued_job_is_cancelled_and_waited_for(user):
    name = user.two_nodes()
    detached(user, name, "holds", 2, ["sleep", "3"])
    detached(user, name, "waits", 1, ["sh", "-c", "exit 3"])
    detached(user, name, "dropped", 1, ["touch", "/root/dropped"])
    user.run("cancel", "job", "dropped")
    assert_equal(state_of(user, "dropped-1"), "cancelled")
    user.run("wait", "job", "waits", code=3, timeout=60)
    user.run("exec", f"{name}/0", "--", "test", "!", "-e", "/root/dropped")


def test_a_queued_job_starts_soon_after_a_detached_one_has_ended(user):
    name = user.two_nodes()
    program = ["sh", "-c", "until test -e /root/go; do sleep 0.02; done"]
    detached(user, name, "holds", 2, program, "--launcher", "plain")
    detached(user, name, "next", 1, ["date", "+%s.%N"], "--launcher", "plain")
    time.sleep(3.3)  # The nodes have just been asked, and are not asked again for three seconds.
    user.run("exec", name, "--", "touch", "/root/go")
    touched = time.time()  # By the clock of the nodes, which are on this machine.
    user.run("wait", "job", "next", timeout=30)
    began = float(user.run("logs", "next").out)
    assert_less(began - touched, 2, "seconds until it began")


def test_jobs_in_the_background_leave_ids_of_other_machines_jobs_to_them(user):
    name = user.two_nodes()
    take_ids(user, name, "mine-1", "again-1")
    detached(user, name, "holds", 2, ["sleep", "600"])
    for job, more in (("mine", ()), ("again", ("--retry", "1"))):
        shown = user.run(*job_words(name, 1, ["true"], job, "--detach", *more))
        assert_equal(shown.out, f"{job}-1\n".encode())
    user.run("cancel", "job", "holds")
    for job in ("mine", "again"):
        # The id was shown already, so that the job cannot take another number.
        failed = user.run("wait", "job", job, code=6, timeout=60)
        assert_in(f"job {job}-1 failed: node", failed.err)
        assert_in(f"has a job {job}-1 of another machine or state directory", failed.err)
        user.refused(["logs", f"{job}-1"], 6, f"job {job}-1 never started: node")
        shown = json.loads(user.run("describe", "job", f"{job}-1", "-o", "json").out)
        assert_equal(shown["exit_code"], 6)
    user.run("delete", "job", "mine-1", "--yes")
    left = user.run("exec", f"{name}/0", "--", "sh", "-c", "ls ~/.fastgpu/jobs").out.decode()
    assert_in("mine-1", left.split())
    assert_in("job mine-2: ", user.run(*job_words(name, 1, ["true"], "mine")).err)


def test_jobs_start_after_others(user):
    name = user.two_nodes()
    detached(user, name, "before", 1, ["sh", "-c", "sleep 2; touch /root/before"])
    program = ["sh", "-c", "test -e /root/before && echo it was there"]
    done = user.run(*job_words(f"{name}/0", 1, program, "after", "--after", "before"))
    assert_in(b"it was there", done.out)
    detached(user, name, "bad", 1, ["sh", "-c", "sleep 1; exit 1"])
    words = job_words(name, 1, ["touch", "/root/never"], "never", "--after", "bad-1")
    done = user.run(*words, code=1)
    assert_in("bad-1, after which it was to start, did not succeed", done.err)
    assert_equal(state_of(user, "never-1"), "cancelled")
    user.refused(job_words(name, 1, ["true"], "--after", "nothing"), 5, "nothing")
    detached(user, name, "long", 1, ["sleep", "600"])
    detached(user, name, "later", 1, ["touch", "/root/never"], "--after", "long")
    assert_equal(state_of(user, "later-1"), "queued")
    user.run("cancel", "job", "long")
    assert_true(within(20, lambda: state_of(user, "later-1") == "cancelled"), "it waits for ever")
    user.run("exec", name, "--", "test", "!", "-e", "/root/never")


def test_the_wide_table_of_jobs_has_their_size_their_program_and_what_they_wait_for(user):
    name = user.two_nodes()
    detached(user, name, "holds", 2, ["sleep", "600"])
    detached(user, name, "waits", 1, ["echo", "a b"], "--priority", "3")
    wide = user.run("get", "jobs", "-o", "wide").out.decode().splitlines()
    for title in ("DURATION", "RANKS", "NODES", "PRIORITY", "ENVIRONMENT", "COMMAND", "REASON"):
        assert_in(title, wide[0])
    holds, waits = (next(line for line in wide if line.startswith(job)) for job in ("h", "w"))
    assert_in(f"{name}-[0-1]", holds)
    assert_in("sleep 600", holds)
    assert_in("waits for holds-1", waits)
    assert_in(" 3 ", waits)
    assert_in("echo 'a b'", waits)
    ordered = user.run("get", "jobs", "--sort-by", "ranks").out.decode().splitlines()[1:]
    assert_equal([line.split()[0] for line in ordered], ["waits-1", "holds-1"])
    jobs = json.loads(user.run("get", "jobs", "-o", "json").out)["jobs"]
    assert_equal([job["waits_for"] for job in jobs], [["holds-1"], []])
    waits, holds = jobs
    assert_equal((waits["started"], waits["duration_seconds"]), (None, 0))
    assert_true(holds["created"] <= holds["started"], holds)
    assert_in("Started:", user.run("describe", "job", "holds").out.decode())
    assert_not_in("Started:", user.run("describe", "job", "waits").out.decode())
    user.run("cancel", "job", "waits")
    waits = json.loads(user.run("describe", "job", "waits", "-o", "json").out)
    assert_equal((waits["started"], waits["duration_seconds"]), (None, 0))


def test_a_job_that_any_end_gives_room_to_waits_for_one_of_the_others(user):
    name = user.two_nodes()
    detached(user, name, "one", 1, ["sleep", "600"])
    detached(user, name, "two", 1, ["sleep", "600"])
    shown = user.run(*job_words(name, 1, ["true"], "third", "--detach"))
    assert_in("job third-1 waits for one of one-1, two-1", shown.err)
    assert_in("one of one-1, two-1", user.run("describe", "job", "third").out.decode())
    assert_in("waits for one of one-1, two-1", user.run("get", "jobs", "-o", "wide").out.decode())
    user.run("cancel", "job", "two")
    user.run("wait", "job", "third", timeout=60)
    user.run("cancel", "job", "one")


def test_a_queued_job_that_is_given_up_by_two_signals_is_cancelled(user):
    name = user.two_nodes()
    stays = ["sh", "-c", "trap '' TERM; while :; do sleep 0.2; done"]
    holds = user.start(*job_words(name, 2, stays, "holds", "--grace", "20s"))
    assert_true(within(20, lambda: state_of(user, "holds-1") == "running"), "it does not run")
    holds.kill()
    holds.communicate(timeout=10)
    # It waits at the nodes until the job before it, whose fastgpu is gone, has been ended.
    waits = user.start(*job_words(name, 2, ["true"], "waits"))
    time.sleep(2)
    waits.send_signal(signal.SIGINT)
    time.sleep(0.7)
    waits.send_signal(signal.SIGINT)
    _, err = waits.communicate(timeout=20)
    assert_equal(waits.returncode, 130, err.decode())
    assert_equal(state_of(user, "waits-1"), "cancelled", err.decode())
    user.run("cancel", "job", "holds", code=None, timeout=60)


def test_a_job_that_others_wait_for_is_not_deleted(user):
    name = user.two_nodes()
    user.run(*job_words(name, 1, ["true"], "a"))
    user.run(*job_words(name, 1, ["true"], "sweep", "--array", "1-2"))
    user.run(*job_words(name, 1, ["true"], "other"))
    detached(user, name, "holds", 2, ["sleep", "600"])
    detached(user, name, "b", 1, ["true"], "--after", "a", "--after", "sweep")
    user.refused(["delete", "job", "a", "--yes"], 6, "job a-1 is needed", "job b-1 starts after")
    user.refused(["delete", "job", "sweep-1.2", "--yes"], 6, "job b-1 starts after")
    user.refused(["delete", "job", "sweep", "--dry-run"], 6, "job b-1 starts after")
    done = user.run("delete", "job", "--all", "--yes", "-o", "json")
    assert_equal([one["id"] for one in json.loads(done.out)["jobs"]], ["other-1"])
    assert_in("job a-1 is kept: job b-1 starts after job a-1", done.err)
    assert_in("job sweep-1.1 is kept", done.err)
    user.run("cancel", "job", "holds")
    user.run("wait", "job", "b", timeout=60)
    user.run("delete", "job", "a", "sweep", "--yes")


def test_a_job_that_starts_after_another_keeps_no_slots(user):
    name = user.two_nodes()
    detached(user, name, "long", 2, ["sleep", "600"])
    detached(user, name, "low", 2, ["true"], "--priority", "-5")
    detached(user, name, "last", 1, ["true"], "--after", "low")
    waits = {}
    for job in ("low-1", "last-1"):
        seen = json.loads(user.run("describe", "job", job, "-o", "json").out)
        waits[job] = seen["waits_for"]
    assert_equal(waits["low-1"], ["long-1"])
    assert_equal(sorted(waits["last-1"]), sorted(set(waits["last-1"])), "named twice")
    assert_in("low-1", waits["last-1"])
    assert_in("low-1", user.run("describe", "job", "last").out.decode())
    user.run("cancel", "job", "long")
    assert_true(within(30, lambda: state_of(user, "last-1") == "succeeded"), "it waits for ever")
    assert_equal(state_of(user, "low-1"), "succeeded")


if __name__ == "__main__":
    run_tests(globals())
