#!/usr/bin/env python3
"""What stops or deletes nodes names the jobs that run on them: running_jobs_test.py FASTGPU [TEST
...]
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import run_tests
from suite import assert_equal, assert_in, assert_not_in, assert_true


def started(user, cluster, name, ranks):
    user.run(
        "run",
        "job",
        name,
        "--cluster",
        cluster,
        "-np",
        str(ranks),
        "--detach",
        "--share",
        "--",
        "sleep",
        "600",
    )
    return next(
        job["id"]
        for job in json.loads(user.run("get", "jobs", "-o", "json").out)["jobs"]
        if job["id"].startswith(name)
    )


def test_the_questions_of_stop_delete_and_scale_name_the_jobs(user):
    name = user.cluster
    user.run("create", "cluster", name, "--nodes", "2")
    stop, delete, scale = (
        ("stop", "cluster", name),
        ("delete", "cluster", name),
        ("scale", "cluster", name, "--nodes", "1"),
    )
    assert_not_in(
        "job", user.refused(delete, 2, "(2 nodes)?", "--yes").err, "a job is named where none runs"
    )
    first, both = started(user, name, "first", 1), started(user, name, "both", 2)
    user.refused(delete, 2, f"2 jobs run on it: {first}, {both}", "--yes")
    user.refused(stop, 2, f"2 jobs run on it: {first}, {both}", "--yes")
    shown = user.refused(scale, 2, f"1 job runs on it: {both}", "--yes").err
    assert_not_in(first, shown, "the job of the other node is named")
    for words in (stop, delete, scale):
        steps = json.loads(user.run(*words, "--dry-run", "-o", "json").out)["steps"]
        assert_in(f"end job {both}, which is on record as running", steps)
    user.run("cancel", "job", both)
    user.refused(stop, 2, f"1 job runs on it: {first}")
    user.run("cancel", "job", first)
    user.run(*stop)
    user.run("start", "cluster", name)
    again = started(user, name, "again", 1)
    assert_true(again, "no job")
    note = f"cluster {name}: 1 job runs on it: {again}; stopping the cluster ends it"
    assert_in(note, user.run(*stop, "--yes").err)
    assert_equal(
        json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"][0]["state"],
        "stopped",
        "not stopped",
    )
    assert_not_in("job", user.run(*delete, "--yes").err, "a job is named where none runs")


def test_what_ends_jobs_without_a_question_names_them(user):
    name = user.cluster
    user.run("create", "cluster", name, "--nodes", "2")
    first, both = started(user, name, "first", 1), started(user, name, "both", 2)
    scaled = user.run("scale", "cluster", name, "--nodes", "1", "--yes").err
    assert_in(f"1 job runs on it: {both}; removing the last 1 node ends it", scaled)
    assert_not_in(first, scaled)
    deleted = user.run("delete", "cluster", name, "--yes").err
    jobs = f"cluster {name}: 1 job runs on it: {first}; deleting the cluster ends it"
    assert_in(jobs, deleted)


if __name__ == "__main__":
    run_tests(globals())
