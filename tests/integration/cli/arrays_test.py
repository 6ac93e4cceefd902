"""Arrays of jobs: each index or line of a file is a job of its own: arrays_test.py FASTGPU [TEST
...]
"""

import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster, take_ids, within
from node_inside import NodeInside
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true


def jobs_of(user, array):
    """Returns the states of the array's jobs by their ids."""
    shown = user.run("get", "jobs", array, "-o", "json", code=None)
    if shown.returncode != 0:
        return {}
    return {one["id"]: one["state"] for one in json.loads(shown.out)["jobs"]}


def count(states, wanted):
    return sum(1 for state in states.values() if state == wanted)


def test_ids_of_other_machines_jobs_on_the_same_nodes_are_left_to_them(user):
    name = user.cluster
    user.run("create", "cluster", name, "--nodes", "2")
    take_ids(user, name, "mine-1", "mine-2", "mine-4", "set-1.2")
    # A job takes another number by itself.
    done = user.run(*job_words(name, 2, ["true"], "mine"))
    assert_in("has a job mine-1 of another machine or state directory: trying another", done.err)
    assert_in("job mine-8: 2 ranks", done.err)
    # An array has its numbers already: that job fails, with its reason.
    failed = user.run(*job_words(name, 1, ["true"], "set", "--array", "1-3"), code=6)
    assert_in("job set-1.2 failed: node", failed.err)
    states = {"set-1.1": "succeeded", "set-1.2": "failed", "set-1.3": "succeeded"}
    assert_equal(jobs_of(user, "set-1"), states)
    user.refused(["logs", "set-1.2"], 6, "job set-1.2 never started: node")
    # What is deleted is ours alone.
    user.run("delete", "job", "set-1", "--yes")
    left = user.run("exec", name, "--", "sh", "-c", "ls ~/.fastgpu/jobs").out.decode().split()
    assert_true("set-1.2" in left and "set-1.1" not in left, left)


@shared_cluster
def test_an_array_runs_a_job_for_each_index(user):
    name = user.two_nodes()
    program = ["sh", "-c", "echo $FASTGPU_ARRAY_ID $FASTGPU_ARRAY_INDEX of $FASTGPU_ARRAY_COUNT"]
    done = user.run(*job_words(name, 1, program, "squares", "--array", "2-6:2"))
    assert_in("array squares-1: 3 jobs", done.err)
    assert_in("job squares-1.4 succeeded", done.err)
    assert_equal(user.run("logs", "squares-1.6").out, b"squares-1 6 of 3\n")
    assert_equal(
        jobs_of(user, "squares"), {f"squares-1.{index}": "succeeded" for index in (2, 4, 6)}
    )
    shown = json.loads(user.run("describe", "job", "squares-1.4", "-o", "json").out)
    assert_equal(shown["spec"]["array"]["index"], 4)
    user.refused(["logs", "squares-1"], 2, "squares-1 is an array of jobs", "squares-1.")
    user.refused(["describe", "job", "squares"], 2, "is an array of jobs")
    user.run("delete", "job", "squares-1", "--yes")
    assert_equal(jobs_of(user, "squares-1"), {})


@shared_cluster
def test_the_lines_of_a_file_are_parameters(user):
    name = user.two_nodes()
    table = user.folder / "rates.csv"
    # As Windows' editors and Excel write it, with a byte order mark.
    table.write_text('\ufeffRATE,NOTE\n0.1,"small, safe"\n# left out\n0.5,large\n')
    job = user.folder / "job.yaml"
    job.write_text(
        f"name: rates\nnp: 1\nparameters: {table}\n"
        "command: [sh, -c, 'echo \"$RATE|$NOTE|$FASTGPU_PARAMETER_1|$FASTGPU_PARAMETERS|$KEY\"']\n"
        "secrets: [KEY]\n"
    )
    user.run("run", "job", "-f", job, "-c", name, environment={"KEY": "sesame"})
    wanted = b'0.1|small, safe|0.1|0.1,"small, safe"|sesame\n'
    assert_equal(user.run("logs", "rates-1.1").out, wanted)
    assert_equal(user.run("logs", "rates-1.2").out, b"0.5|large|0.5|0.5,large|sesame\n")
    text = user.run("describe", "job", "rates-1.2").out.decode()
    assert_in("RATE=0.5, NOTE=large", text)
    assert_not_in("sesame", text)
    words = ["--array", "2", "--parameters", str(table), "--set", "name=one"]
    user.run("run", "job", "-f", job, "-c", name, *words, environment={"KEY": "k"})
    assert_equal(list(jobs_of(user, "one-1")), ["one-1.2"])


@shared_cluster
def test_wrong_arrays_are_refused_before_anything_is_recorded(user):
    name = user.two_nodes()
    empty = user.folder / "empty.txt"
    empty.write_text("# nothing\n")
    ranks = user.folder / "ranks.csv"
    ranks.write_text("RANK\n1\n")
    search = user.folder / "search.csv"
    search.write_text("x,PATH\n1,2\n")
    one = user.folder / "one.csv"
    one.write_text("RATE\n1\n")
    for words, said in (
        (["--array", "5-1"], "goes from 5 down to 1"),
        (["--array", "1-2000"], "2000 jobs; at most 1000"),
        (["--array", "x"], "'x', which is not a number"),
        (["--parameters", str(empty)], "empty.txt has no parameters"),
        (["--parameters", str(ranks)], "ranks.csv:1: the variable RANK is set by fastgpu"),
        (["--parameters", str(search)], "search.csv:1: the variable PATH is needed"),
        (["--array", "1-2", "--parameters", str(one)], "lines 1 to 1"),
        (["--array", "1-2", "--stdin", "rank0"], "no standard input"),
    ):
        user.refused(job_words(name, 1, ["true"], "wrong", *words), 2, said)
    missing = job_words(name, 1, ["true"], "wrong", "--parameters", str(user.folder / "none"))
    user.refused(missing, 5, "none")
    assert_equal(jobs_of(user, "wrong"), {})
    plan = json.loads(
        user.run(*job_words(name, 1, ["true"], "--array", "1-9%2", "--dry-run", "-o", "json")).out
    )
    assert_equal(plan["array"], {"jobs": 9, "limit": 2})


@shared_cluster
def test_only_as_many_as_allowed_run_at_once_and_the_first_failure_counts(user):
    name = user.nodes(2)
    program = ["sh", "-c", "sleep 1; exit $((FASTGPU_ARRAY_INDEX % 3 * 7))"]
    process = user.start(*job_words(name, 1, program, "few", "--share", "--array", "3-6%2"))
    most = 0
    while process.poll() is None:
        states = jobs_of(user, "few-1")
        most = max(most, count(states, "running") + count(states, "starting"))
        assert_true(within(0.3, lambda: True), "")
    _, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 7, err.decode())
    assert_in("job few-1.4 failed: rank 0", err.decode())
    assert_less(most, 3)
    assert_equal(count(jobs_of(user, "few-1"), "failed"), 2)
    user.run("wait", "job", "few-1", code=7)
    user.run("wait", "job", "few-1.3")


@shared_cluster
def test_the_commands_of_notify_of_an_array_are_heard(user):
    name = user.two_nodes()
    # Such a command may start another job: it is not taken for one of the array.
    again = f"{user.fastgpu} run job after -c {name} -np 1 --launcher plain -- true"
    words = ("--array", "1-2", "--launcher", "plain", "--notify", f"echo told $JOB_ID; {again}")
    done = user.run(*job_words(name, 1, ["true"], "told", *words, "-o", "json"))
    assert_equal([job["id"] for job in json.loads(done.out)["jobs"]], ["told-1.1", "told-1.2"])
    lines = [line for line in done.err.splitlines() if line.startswith("told ")]
    assert_equal(sorted(lines), ["told told-1.1", "told told-1.2"])
    assert_equal(jobs_of(user, "after-2"), {"after-2": "succeeded"})


@shared_cluster
def test_a_detached_array_is_waited_for_and_others_start_after_it(user):
    name = user.two_nodes()
    began = user.run(*job_words(name, 1, ["sleep", "1"], "back", "--array", "1-4", "--detach"))
    assert_equal(began.out, b"back-1\n")
    words = job_words(name, 1, ["echo", "after all"], "last", "--after", "back", "--detach")
    assert_in("waits for back-1", user.run(*words).err)
    user.run("wait", "job", "back-1", "last", timeout=60)
    assert_equal(count(jobs_of(user, "back-1"), "succeeded"), 4)
    assert_equal(user.run("logs", "last").out, b"after all\n")
    program = ["sh", "-c", "exit $FASTGPU_ARRAY_INDEX"]
    user.run(*job_words(name, 1, program, "bad", "--array", "0-2"), code=1)
    done = user.run(*job_words(name, 1, ["true"], "never", "--after", "bad-1"), code=1)
    assert_in("bad-1, after which it was to start, did not succeed", done.err)
    many = job_words(name, 1, ["true"], "all", "--array", "1-3", "--after", "bad-1")
    user.run(*many, code=1)
    assert_equal(count(jobs_of(user, "all-1"), "cancelled"), 3)


@shared_cluster
def test_the_next_job_of_a_detached_array_starts_soon_after_the_last_one(user):
    name = user.two_nodes()
    words = ("quick", "--array", "1-4%1", "--detach", "--launcher", "plain")
    began = time.monotonic()
    user.run(*job_words(name, 1, ["sleep", "0.5"], *words))
    user.run("wait", "job", "quick-1", timeout=60)
    # Nodes that are asked every three seconds alone need sixteen seconds.
    assert_less(time.monotonic() - began, 12)


@shared_cluster
def test_an_array_and_one_of_its_jobs_are_cancelled(user):
    name = user.two_nodes()
    user.run(*job_words(name, 1, ["sleep", "600"], "long", "--array", "1-6%2", "--detach"))
    assert_true(within(20, lambda: count(jobs_of(user, "long-1"), "running") == 2), "too few run")
    user.run("cancel", "job", "long-1.6")
    user.run("cancel", "job", "long-1.1")
    assert_equal(jobs_of(user, "long-1")["long-1.6"], "cancelled")
    assert_true(within(20, lambda: jobs_of(user, "long-1")["long-1.3"] == "running"), "no next one")
    user.run("cancel", "job", "long-1")
    assert_equal(count(jobs_of(user, "long-1"), "cancelled"), 6)
    left = user.run("exec", name, "--", "sh", "-c", "pgrep -f '[s]leep 600' || true")
    assert_equal(left.out.strip(), b"", "processes are left")


@shared_cluster
def test_younger_jobs_pass_those_that_an_array_holds_back(user):
    name = user.nodes(2)
    user.run(*job_words(name, 1, ["sleep", "600"], "held", "--array", "1-50%1", "--detach"))
    assert_true(within(20, lambda: count(jobs_of(user, "held-1"), "running") == 1), "none runs")
    user.run(*job_words(name, 1, ["true"], "younger"), timeout=30)
    user.run("cancel", "job", "held-1")
    assert_equal(count(jobs_of(user, "held-1"), "cancelled"), 50)


@shared_cluster
def test_a_node_on_which_only_the_daemon_of_mpirun_was_killed_is_not_put_aside(user):
    name = user.two_nodes()
    program = "test $FASTGPU_ARRAY_INDEX != 1 || { echo up; exec sleep 600; }; hostname"
    words = ("set", "--npernode", "1", "--array", "1-2%1")
    array = user.start(*job_words(name, 2, ["sh", "-c", program], *words))
    logs = ("logs", "set-1.1")
    assert_true(within(30, lambda: user.run(*logs, code=None).out.count(b"up") == 2))
    user.run("exec", f"{name}/1", "--", "pkill", "-KILL", "-x", "orted")
    _, err = array.communicate(timeout=90)
    err = err.decode()
    states = {"set-1.1": "lost", "set-1.2": "succeeded"}
    assert_equal(jobs_of(user, "set-1"), states, err)
    shown = json.loads(user.run("describe", "job", "set-1.1", "-o", "json").out)
    assert_equal(shown["lost_nodes"], [f"{name}-1"])
    for words in ("goes on with its other nodes", "see `fastgpu get nodes"):
        assert_not_in(words, err)
    assert_equal(len(set(user.run("logs", "set-1.2").out.decode().split())), 4)


@shared_cluster
def test_an_array_uses_a_lost_node_again_once_it_answers(user):
    name = user.two_nodes()
    nodes = json.loads(user.run("get", "nodes", name, "-o", "json").out)["nodes"]
    program = "echo up; test $FASTGPU_ARRAY_INDEX = 3 || sleep 120; hostname"
    words = ("returns", "--array", "1-3%2", "--launcher", "plain")
    ranks = nodes[0]["slots"]
    shown = user.folder / "array.err"
    with shown.open("wb") as errors:
        array = user.start(*job_words(name, ranks, ["sh", "-c", program], *words), stderr=errors)
    logs = ("logs", "returns-1.2")
    is_up = within(30, lambda: user.run(*logs, code=None).out.count(b"up") == ranks)
    assert_true(is_up, user.run("get", "jobs", code=None).out.decode())
    placed = json.loads(user.run("describe", "job", "returns-1.2", "-o", "json").out)
    where = placed["spec"]["nodes"][0]["name"]
    warning = f"array returns-1 goes on with its other nodes: the contact with {where} was lost"
    with NodeInside(where).cut():
        assert_true(within(60, lambda: warning in shown.read_text()), shown.read_text())
    again = f"array returns-1 uses {where} again, which answers now"
    assert_true(within(90, lambda: again in shown.read_text()), shown.read_text())
    # The other node is busy, so that only this one can have it.
    placed = within(30, lambda: "job returns-1.3 succeeded" in shown.read_text())
    print(f"   the next job ran there: {placed}", flush=True)
    user.run("cancel", "job", "returns-1")
    array.communicate(timeout=60)


@shared_cluster
def test_an_interrupted_array_ends_with_its_jobs_and_a_killed_one_is_lost(user):
    name = user.two_nodes()
    process = user.start(*job_words(name, 1, ["sleep", "600"], "stops", "--array", "1-5"))
    assert_true(within(20, lambda: count(jobs_of(user, "stops-1"), "running") == 2), "too few run")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=40)
    assert_equal(process.returncode, 130, err.decode())
    assert_equal(count(jobs_of(user, "stops-1"), "cancelled"), 5)
    killed = user.start(*job_words(name, 1, ["sleep", "601"], "killed", "--array", "1-5"))
    assert_true(within(20, lambda: count(jobs_of(user, "killed-1"), "running") == 2), "too few run")
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=10)
    user.run("gc")
    states = jobs_of(user, "killed-1")
    assert_equal(count(states, "lost"), 5, states)
    left = user.run("exec", name, "--", "sh", "-c", "pgrep -f '[s]leep 60' || true")
    assert_equal(left.out.strip(), b"", "processes are left")


if __name__ == "__main__":
    run_tests(globals())
