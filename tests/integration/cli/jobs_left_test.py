"""Jobs that are left by what they need: a killed owner, a deleted cluster, a node that was stopped:
jobs_left_test.py FASTGPU [TEST ...]
"""

import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import inits_of, job_words, run_tests, shared_cluster, within
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

GONE = ": the fastgpu that was to do this has ended"


def owner_of(user, job):
    """Returns the process in the background that runs a job."""
    lock = user.state / "locks" / f"job.{job}.lock"
    found = subprocess.run(["fuser", str(lock)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    words = found.stdout.split()
    if words:
        return int(words[0])
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(fd) == str(lock) for fd in (entry / "fd").iterdir()):
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError(f"no process runs {job}")


def runs(user, job):
    shown = json.loads(user.run("get", "jobs", job, "-o", "json").out)["jobs"]
    return shown[0]["state"] == "running"


def left_by_its_owner(user, name, job, program, *more):
    """Starts a job in the background, kills its owner, and lets the job go on to its end."""
    program = ["sh", "-c", f"while [ ! -e /tmp/{job} ]; do sleep 0.1; done; {program}"]
    more = ("--detach", "--launcher", "plain", *more)
    user.run(*job_words(name, 1, program, job, *more))
    assert_true(within(30, lambda: runs(user, job)), f"{job} does not start")
    os.kill(owner_of(user, f"{job}-1"), signal.SIGKILL)
    user.run("exec", name, "--", "touch", f"/tmp/{job}")


@shared_cluster
def test_what_a_killed_owner_leaves_undone_is_in_the_reason(user):
    name = user.two_nodes()
    note = user.folder / "note"
    retry = ("--retry", "3", "--on", "failure", "--fetch", "x", "--notify", f"touch {note}")
    left_by_its_owner(user, name, "alone", "exit 3", *retry)
    reason = (
        f"rank 0 on {name}-0: exited with 3; it is not started again, and nothing is done for "
        f"--fetch, --notify{GONE}"
    )
    assert_in(reason, user.run("wait", "job", "alone", code=3).err)
    assert_in(reason, user.run("describe", "job", "alone").out.decode())
    assert_true(not note.exists())

    # A job that succeeds says it, too, whoever finds its end.
    left_by_its_owner(user, name, "good", "true", "--fetch", "x", "--post-mortem", "pm")
    assert_in(
        f"succeeded, but nothing is done for --fetch{GONE}",
        user.run("wait", "job", "good", code=1).err,
    )
    left_by_its_owner(user, name, "seen", "true", "--fetch", "x")
    time.sleep(4)  # Nobody looks. The job ended before that.
    looked = time.time()
    assert_true(within(30, lambda: not runs(user, "seen")))
    shown = json.loads(user.run("describe", "job", "seen", "-o", "json").out)
    ended = datetime.datetime.fromisoformat(shown["ended"].replace("Z", "+00:00")).timestamp()
    assert_less(ended, looked - 1, "the time at which somebody looked")
    assert_equal(
        (shown["state"], shown["reason"], shown["exit_code"]),
        ("succeeded", f"nothing is done for --fetch{GONE}", 1),
    )

    # Nothing is undone for a job with an owner, or without anything to do.
    left_by_its_owner(user, name, "none", "exit 3", "--retry", "3")
    assert_not_in(GONE, user.run("wait", "job", "none", code=3).err)
    user.run(*job_words(name, 1, ["true"], "kept", "-d", "--launcher", "plain", "--notify", "true"))
    assert_not_in("has ended", user.run("wait", "job", "kept").err)


@shared_cluster
def test_a_second_ctrl_c_says_how_long_the_job_may_last(user):
    name = user.two_nodes()
    program = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"]
    process = user.start(
        *job_words(name, 1, program, "deaf", "--launcher", "plain", "--grace", "9s")
    )
    assert_in(b"up", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert_in("SIGTERM within 30 s, and SIGKILL 9s after that (--grace)", err.decode())
    assert_in("and waits: fastgpu cancel job deaf-1", err.decode())
    user.run("cancel", "job", "deaf")


def test_a_job_whose_cluster_is_deleted_is_ended_and_reported(user):
    name = user.two_nodes()
    words = ("-d", "--launcher", "plain")
    user.run(*job_words(name, 1, ["sh", "-c", "exit 3"], "failed", *words))
    user.run("wait", "job", "failed", code=3)
    user.run(*job_words(name, 1, ["sleep", "100"], "lost", *words))
    user.run(*job_words(name, 1, ["sleep", "100"], "set", *words, "--array", "1-2"))
    user.run("delete", "cluster", name, "--yes")
    user.made = False

    done = user.run("cancel", "job", "lost")
    assert_in("job lost-1 has already ended: lost", done.err)
    assert_in("array set-1: ", user.run("cancel", "job", "set").err)
    done = user.run("report", "failed")
    assert_in("its cluster is deleted, and its logs with it", done.err)
    assert_in("exited with 3", done.out.decode())
    assert_equal(json.loads(user.run("report", "lost", "-o", "json").out)["job"]["state"], "lost")
    user.refused(["logs", "failed"], 6, "the cluster of job failed-1 is deleted")
    user.refused(["get", "jobs", "-c", name], 5, name)


def test_commands_that_follow_a_job_end_soon_with_its_cluster(user):
    name = user.two_nodes()
    program = ["sh", "-c", "echo begins; sleep 600"]
    user.run(*job_words(name, 2, program, "goes", "--detach"))
    commands = {
        "logs": user.start("logs", "goes", "-f"),
        "attach": user.start("attach", "job", "goes"),
        "run": user.start(*job_words(name, 2, program, "ours", "--share")),
    }
    for words, process in commands.items():
        assert_in(b"begins", process.stdout.readline(), words)
    user.run("delete", "cluster", name, "--yes")
    user.made = False
    deleted = time.monotonic()
    for words, process in commands.items():
        _, err = process.communicate(timeout=60)
        took = time.monotonic() - deleted
        print(f"   {words} ended {took:.1f} s after its cluster", flush=True)
        job = "ours-1" if words == "run" else "goes-1"
        assert_true(
            re.search(f"job {job} (is )?lost: its cluster was deleted", err.decode()), err.decode()
        )
        assert_equal(process.returncode, 1, words)
        assert_less(took, 15)


@shared_cluster
def test_the_jobs_of_one_cluster_are_listed(user):
    name = user.two_nodes()
    user.run(*job_words(name, 1, ["true"], "here", "--launcher", "plain"))
    user.run("create", "cluster", "elsewhere")
    user.run(*job_words("elsewhere", 1, ["true"], "there", "--launcher", "plain"))
    assert_equal(user.run("get", "jobs", "-c", "elsewhere", "-o", "name").out, b"there-1\n")
    ids = user.run("get", "jobs", "--cluster", name, "-o", "name").out.decode().split()
    assert_true("here-1" in ids and "there-1" not in ids, ids)
    assert_equal(user.run("get", "jobs", "here", "-c", "elsewhere", "-o", "name").out, b"")
    user.refused(["get", "jobs", "-c", "elsewhen"], 5, "elsewhere")
    user.run("delete", "cluster", "elsewhere", "--yes")


def test_a_job_on_a_node_that_was_stopped_is_refused_at_once(user):
    name = user.two_nodes()
    for init in list(inits_of(f"{name}-1")):
        os.kill(init, signal.SIGKILL)
    began = time.monotonic()
    remedy = f"{name}-1 is stopped: start it with: fastgpu start cluster {name}"
    words = job_words(name, 2, ["true"], "off", "--launcher", "plain")
    user.refused(words, 6, remedy)
    user.refused([*words[:2], "--dry-run", *words[2:]], 6, remedy)
    user.refused([*words[:2], "--detach", *words[2:]], 6, remedy)
    assert_less(time.monotonic() - began, 15)
    assert_equal(user.run("get", "jobs", "-o", "name").out, b"")
    # The other node is free for a job that fits there.
    user.run(*job_words(name, 1, ["true"], "fits", "--launcher", "plain"))
    user.run("start", "cluster", name)
    user.run(*words)


def test_what_a_job_left_on_the_other_nodes_is_shown_without_a_node_that_left(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sh", "-c", "echo out $RANK"], "speaks"))
    user.run("scale", "cluster", name, "--nodes", "1", "--yes")
    gone = f"node {name}-1 is no longer in the cluster: the output of the ranks there is missing"
    for more in ([], ["--tail", "5"], ["--timestamps"], ["-f"]):
        done = user.run("logs", "speaks", *more, code=5, timeout=60)
        assert_in(b"[0] out 0\n", done.out, f"{more} {done.err}")
        assert_in(f"error: {gone}", done.err)
    shown = json.loads(user.run("logs", "speaks", "-o", "json", code=5).out)
    assert_equal([(line["rank"], line["text"]) for line in shown["lines"]], [(0, "out 0")])
    assert_equal(shown["error"], {"kind": "not_found", "message": gone})
    assert_equal(user.run("logs", "speaks", "--rank", "0").out, b"out 0\n")
    user.refused(["logs", "speaks", "--rank", "1"], 5, gone)
    attached = user.run("attach", "job", "speaks", timeout=60)
    assert_in(b"[0] out 0\n", attached.out)
    assert_in(f"warning: {gone}", attached.err)


if __name__ == "__main__":
    run_tests(globals())
