"""The folders of former jobs on nodes, which gc removes: job_folders_test.py FASTGPU [TEST ...]"""

import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_folders, job_words, run_tests, within
from suite import assert_equal, assert_in, assert_true


def collected(user, *words, environment=None):
    """Returns what gc has found in the folders of jobs, and the nodes that it has skipped."""
    shown = json.loads(user.run("gc", *words, "-o", "json", environment=environment).out)
    whats = [one["what"] for one in shown["settled"] if "folder" in one["what"]]
    assert_equal([one["error"] for one in shown["settled"]], [None] * len(shown["settled"]))
    return whats, [one["node"] for one in shown["skipped"]]


def test_gc_removes_the_folders_that_no_job_needs(user):
    name = user.two_nodes()
    for _ in range(3):
        user.run(*job_words(name, 2, ["true"], "kept"))
    running = user.start(*job_words(name, 2, ["sleep", "1000"], "held"))
    alive = ["exec", name, "--", "pgrep", "-x", "sleep"]
    assert_true(within(20, lambda: user.run(*alive, code=None).returncode == 0), "no start")
    # As a deletion that was interrupted, another state directory, and an older fastgpu leave them.
    made = ("gone-1", "gone-2.r1", "theirs-1", "old-1")
    copies = "; ".join(f"cp -a kept-1 {one}" for one in made)
    marks = "echo other >theirs-1/owner; rm old-1/owner"
    user.run("exec", f"{name}/0", "--", "sh", "-c", f"cd ~/.fastgpu/jobs; {copies}; {marks}")
    before = job_folders(user, name)
    assert_equal(
        collected(user, "--dry-run"),
        ([f"2 folders of deleted jobs on {name}-0: gone-1, gone-2.r1"], []),
    )
    assert_equal(job_folders(user, name), before, "after the dry run")
    assert_equal(len(collected(user)[0]), 1)
    others = ["held-1", "kept-1", "kept-2", "kept-3", "old-1", "theirs-1"]
    assert_equal(job_folders(user, name), others)
    assert_equal(collected(user), ([], []))
    few = {"FASTGPU_KEEP_JOBS": "1"}
    beyond = [f"2 folders of jobs beyond keep-jobs on {name}-{i}: kept-2, kept-1" for i in (0, 1)]
    assert_equal(collected(user, environment=few), (beyond, []))
    assert_equal(job_folders(user, name), ["held-1", "kept-3", "old-1", "theirs-1"])
    # The flag decides for the start of one job, whatever the setting is.
    user.run(*job_words(name, 1, ["true"], "last", "--share", "--keep-jobs", "0"))
    assert_true(
        within(10, lambda: job_folders(user, name) == ["held-1", "last-1"]), "--keep-jobs 0"
    )
    user.run("exec", f"{name}/1", "--", "sh", "-c", "pkill -x sshd; true", code=None)
    done = user.run("gc")
    assert_in(f"folders of jobs on node {name}-1 of cluster {name} were not looked at", done.err)
    assert_equal(collected(user)[1], [f"{name}-1"])
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)


if __name__ == "__main__":
    run_tests(globals())
