"""Jobs that hang are ended with the stacks of their ranks, and jobs are started again after a bad
end: recovery_test.py FASTGPU [TEST ...]
"""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import inits_of, job_words, run_tests, shared_cluster, within
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true, skip

# The first run fails as `$1` says; every later one writes where it found what the first one left.
TWICE = (
    'echo "run $FASTGPU_RESTART_COUNT of $FASTGPU_JOB_ID"; '
    'test "$FASTGPU_RESTART_COUNT" = 0 || '
    '{ echo "found $(cat "$FASTGPU_CHECKPOINT_DIR/step.$RANK")"; exit 0; }; '
    'echo 17 >"$FASTGPU_CHECKPOINT_DIR/step.$RANK"; '
)


def job(user, name):
    return json.loads(user.run("describe", "job", name, "-o", "json").out)


@shared_cluster
def test_a_job_that_hangs_is_ended_with_the_stacks_of_its_ranks(user):
    name = user.two_nodes()
    began = time.monotonic()
    program = ["sh", "-c", "echo up; exec sleep 600"]
    done = user.run(*job_words(name, 2, program, "hangs", "--hang-timeout", "3s"), code=124)
    assert_less(time.monotonic() - began, 40)
    assert_in("ranks 0-1 hung: no output, processor time or traffic for 3s", done.err)
    assert_in("rank 0, process", done.err)
    assert_in("sleep 600", done.err)
    shown = re.search(r"#\d+ .*nanosleep|thread \d+ \(sleep\): \S+", done.err)
    assert_true(shown, f"no stack: {done.err}")
    assert_equal(job(user, "hangs-1")["cause"], "hang")
    left = user.run("exec", name, "--", "sh", "-c", "pgrep -f '[s]leep 600' || true")
    assert_equal(left.out.strip(), b"", "processes are left")
    kept = user.run("exec", f"{name}/0", "--", "cat", ".fastgpu/jobs/hangs-1/stacks").out
    assert_in(b"rank 0, process", kept)


@shared_cluster
def test_all_who_follow_a_job_that_hangs_see_the_stacks_of_its_program(user):
    name = user.two_nodes()
    program = ["sh", "-c", "echo up; exec sleep 600"]
    user.run(*job_words(name, 2, program, "seen", "--hang-timeout", "3s", "--detach"))
    followers = [user.start("attach", "job", "seen") for _ in range(3)]
    for follower in followers:
        _, err = follower.communicate(timeout=60)
        text = err.decode()
        assert_equal(follower.returncode, 124, text)
        assert_equal(len(re.findall(r"rank \d, process \d+: sleep 600", text)), 2, text)
        assert_not_in("ptrace_stop", text)


@shared_cluster
def test_logs_of_a_job_that_is_started_again_go_on_with_its_next_run(user):
    name = user.two_nodes()
    program = [
        "sh",
        "-c",
        'echo "run $FASTGPU_RESTART_COUNT"; sleep 3; exit $((1-FASTGPU_RESTART_COUNT))',
    ]
    words = ["--retry", "1", "--on", "failure", "--detach"]
    user.run(*job_words(name, 1, program, "follows", *words))
    logs = user.start("logs", "follows", "-f")
    document = user.start("logs", "follows", "-f", "-o", "json")
    report = str(user.folder / "report.xml")
    waits = user.run("wait", "job", "follows", "--junit", report, "--timeout", "60s")
    assert_in("job follows-1 was started again, 1 of 1 (failure)", waits.err)
    out, err = logs.communicate(timeout=30)
    assert_equal(logs.returncode, 0, err)
    assert_equal(out, b"run 0\nrun 1\n")
    assert_in("job follows-1 was started again, 1 of 1 (failure)", err.decode())
    lines = json.loads(document.communicate(timeout=30)[0])["lines"]
    texts = [line["text"] for line in lines if line["rank"] == 0]
    assert_equal(texts, ["run 0", "run 1"], lines)
    assert_in("restarts: 1", pathlib.Path(report).read_text())


HANGS = """
import time

def waits_for_the_others():
    time.sleep(600)

waits_for_the_others()
"""


@shared_cluster
def test_the_stacks_of_python_are_those_of_its_functions(user):
    spy = shutil.which("py-spy")
    if not spy:
        skip("needs py-spy [pip install py-spy]")
    name = user.two_nodes()
    user.run("cp", spy, f"{name}:/usr/local/bin/")
    program = ["/usr/bin/python3", "-c", HANGS]
    done = user.run(*job_words(name, 2, program, "python", "--hang-timeout", "3s"), code=124)
    for rank in (0, 1):
        stack = done.err.partition(f"rank {rank}, process")[2].partition("rank ")[0]
        assert_in("waits_for_the_others (<string>:5)", stack, done.err)


@shared_cluster
def test_ranks_that_wait_for_a_busy_one_do_not_hang(user):
    name = user.two_nodes()
    busy = "end=$(($(date +%s) + 7)); while test $(date +%s) -lt $end; do :; done"
    program = ["sh", "-c", f"test $RANK = 1 && exec sleep 7; {busy}"]
    user.run(*job_words(name, 2, program, "waits", "--hang-timeout", "3s"), timeout=60)
    slow = ["sh", "-c", "for i in 1 2 3 4; do echo $i; sleep 1.5; done"]
    user.run(*job_words(name, 2, slow, "slow", "--hang-timeout", "3s"), timeout=60)
    short = job_words(name, 1, ["true"], "--hang-timeout", "1s")
    user.refused(short, 2, "shorter than 2s")


@shared_cluster
def test_a_job_that_hangs_is_started_again_with_its_checkpoints(user):
    name = user.two_nodes()
    user.run("exec", name, "--", "rm", "-rf", "/root/saved")
    program = ["sh", "-c", TWICE + "exec sleep 600"]
    words = ["--hang-timeout", "3s", "--retry", "2", "--checkpoints", "saved"]
    done = user.run(*job_words(name, 2, program, "again", *words), timeout=120)
    assert_in("job again-1 ended (hang)", done.err)
    assert_in("it is started again, 1 of 2", done.err)
    for rank in (0, 1):
        assert_in(f"[{rank}] run 0 of again-1\n", done.out.decode())
        assert_in(f"[{rank}] run 1 of again-1.r1\n", done.out.decode())
        assert_in(f"[{rank}] found 17\n", done.out.decode())
    shown = job(user, "again-1")
    assert_equal((shown["state"], shown["spec"]["restarts"]), ("succeeded", 1))
    assert_in("1 of at most 2", user.run("describe", "job", "again-1").out.decode())
    logs = user.run("logs", "again-1").out.decode()
    assert_in("run 1 of again-1.r1", logs)
    assert_not_in("run 0", logs)
    user.run("delete", "job", "again-1", "--yes")
    folders = user.run("exec", f"{name}/0", "--", "ls", ".fastgpu/jobs").out.decode()
    assert_not_in("again-1", folders)


@shared_cluster
def test_a_failure_is_a_cause_only_where_it_is_asked_for(user):
    name = user.two_nodes()
    fails = ["sh", "-c", 'echo "run $FASTGPU_RESTART_COUNT"; exit 7']
    done = user.run(*job_words(name, 1, fails, "once", "--retry", "3"), code=7)
    assert_not_in("started again", done.err)
    assert_equal(job(user, "once-1")["cause"], "failure")
    words = ["--retry", "2", "--on", "failure"]
    done = user.run(*job_words(name, 1, fails, "thrice", *words), code=7, timeout=60)
    assert_equal(done.out.decode().split("\n")[:-1], [f"[0] run {run}" for run in (0, 1, 2)])
    assert_in("2 of 2", done.err)
    user.refused(job_words(name, 1, fails, "--on", "failure"), 2, "no --retry")
    user.refused(job_words(name, 1, fails, "--retry", "1", "--on", "hangs"), 2, "did you mean hang")
    words = ["--retry", "1", "--stdin", "rank0"]
    user.refused(job_words(name, 1, fails, *words), 2, "no standard input")


@shared_cluster
def test_a_detached_job_is_started_again_and_others_wait_for_its_last_run(user):
    name = user.two_nodes()
    user.run("exec", name, "--", "rm", "-rf", "/root/kept")
    program = ["sh", "-c", TWICE + "sleep 3; exit 5"]
    words = ["--retry", "1", "--on", "failure", "--checkpoints", "kept", "--detach"]
    assert_equal(user.run(*job_words(name, 1, program, "far", *words)).out, b"far-1\n")
    user.run("wait", "job", "far-1", timeout=60)
    assert_in(b"found 17", user.run("logs", "far-1").out)
    sleeps = ["sh", "-c", "sleep 600; exit 1"]
    user.run(*job_words(name, 1, sleeps, "stopped", *words))
    user.run("cancel", "job", "stopped-1")
    time.sleep(2)
    assert_equal(job(user, "stopped-1")["state"], "cancelled")
    assert_equal(job(user, "stopped-1")["cause"], "cancelled")


def test_a_job_is_started_again_after_a_node_was_lost(user):
    name = user.nodes(3)
    program = ["sh", "-c", TWICE + "echo up; exec sleep 600"]
    words = ["--retry", "1", "--checkpoints", "steps"]
    process = user.start(*job_words(name, 2, program, "moves", *words))
    ran = within(30, lambda: user.run("logs", "moves-1", code=None).out.count(b"up\n") == 2)
    assert_true(ran, "it does not start")
    user.run("cp", f"{name}/1:steps/step.1", str(user.folder / "step"))
    user.run("exec", f"{name}/2", "--", "mkdir", "steps")
    user.run("cp", str(user.folder / "step"), f"{name}/2:steps/step.1")
    for pid in inits_of(f"{name}-1"):
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert_equal(process.returncode, 0, err.decode())
    assert_in("job moves-1 ended (node-loss)", err.decode())
    assert_in("[1] found 17", out.decode())
    nodes = [node["name"] for node in job(user, "moves-1")["spec"]["nodes"]]
    assert_equal(nodes, [f"{name}-0", f"{name}-2"])


@shared_cluster
def test_a_job_is_started_again_after_its_daemon_on_another_node_was_killed(user):
    name = user.two_nodes()
    program = ["sh", "-c", TWICE + "echo up; exec sleep 600"]
    daemons = {"mpirun": "[o]rted --daemonize", "plain": "agent-[0-9a-f]* [n]ode-ranks"}
    for launcher, daemon in daemons.items():
        user.run("exec", name, "--", "rm", "-rf", "/root/again")
        words = ["--npernode", "1", "--launcher", launcher, "--retry", "1"]
        words += ["--checkpoints", "again", "--on", "node-loss"]
        process = user.start(*job_words(name, 2, program, launcher, *words))
        logs = ["logs", f"{launcher}-1"]
        ran = within(30, lambda words=logs: user.run(*words, code=None).out.count(b"up\n") == 2)
        assert_true(ran, "it does not start")
        user.run("exec", f"{name}/1", "--", "pkill", "-KILL", "-f", daemon)
        out, err = process.communicate(timeout=60)
        assert_equal(process.returncode, 0, err.decode())
        assert_in(f"on {name}-0 has lost contact with {name}-1", err.decode())
        assert_in("[1] found 17", out.decode())


def test_a_job_whose_cluster_is_deleted_or_stopped_says_so(user):
    commands = {
        "deleted": ["delete", "cluster", user.cluster, "--yes"],
        "stopped": ["stop", "cluster", user.cluster, "--yes"],
    }
    for index, (word, command) in enumerate(commands.items()):
        user.made = False
        name = user.two_nodes()
        followers = {}
        again = ["--retry", "3", "--on", "failure,node-loss"]
        for more in ([], again) if word == "deleted" else ([],):
            job_name = f"j{index}{len(more)}"
            words = [*more, "--share", "--notify", f"touch {user.folder}/{job_name}"]
            program = ["sh", "-c", "echo up; exec sleep 600"]
            followers[f"{job_name}-1"] = user.start(*job_words(name, 2, program, job_name, *words))
        for id_ in followers:
            logs = ["logs", id_]
            ran = within(60, lambda words=logs: user.run(*words, code=None).out.count(b"up") == 2)
            assert_true(ran, f"{id_} does not start")
        user.run(*command)
        for id_, process in followers.items():
            _, err = process.communicate(timeout=90)
            seen = job(user, id_)
            assert_equal(
                (seen["state"], seen["reason"], seen["exit_code"], process.returncode),
                ("lost", f"its cluster was {word}", 1, 1),
                err.decode(),
            )
            assert_not_in("started again", err.decode())
            assert_in(f"its cluster was {word}", err.decode())
            assert_true((user.folder / id_[:-2]).exists(), "no word of --notify")
        if word == "stopped":
            user.run("delete", "cluster", name, "--yes")


if __name__ == "__main__":
    run_tests(globals())
