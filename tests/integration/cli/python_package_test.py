"""The Python package, as its users call it: python_package_test.py FASTGPU [TEST ...]

Needs root and sshd; exits with 77 where it cannot run. It cleans up after itself.
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "cli/python"))
import cli_user
import fastgpu
import suite
from suite import assert_equal, assert_in, assert_not_in, assert_raises


def job_of(user, **more):
    fastgpu.use(program=user.fastgpu, state_dir=str(user.state))
    user.made = True
    return fastgpu.make_job(user.cluster, num_tasks=2, slots=2, provider="local", **more)


def test_a_job_is_made_once_and_its_tasks_run_commands_and_take_files(user):
    job = job_of(user, install_script="echo ready > mark")
    assert_equal([task.name for task in job.tasks], [f"{user.cluster}-0", f"{user.cluster}-1"])
    same = job_of(user, install_script="echo again > mark")
    assert_equal([task.ip for task in same.tasks], [task.ip for task in job.tasks])
    assert_equal(job.run("cat mark; echo $0 >&2"), ["ready\n", "ready\n"])

    source = user.folder / "source"
    source.mkdir()
    (source / "a b").write_text("text\n")
    job.upload(source)
    assert_equal(job.tasks[1].read("source/a b"), "text\n")
    job.tasks[0].write("it's", "written")
    job.tasks[0].download("it's", user.folder / "back")
    assert_equal((user.folder / "back").read_text(), "written")
    assert_equal([task.exists("it's") for task in job.tasks], [True, False])


def test_what_fails_is_an_exception(user):
    job = job_of(user)
    with assert_raises(fastgpu.CommandError) as failed:
        job.tasks[1].run("echo why >&2; exit 3")
    assert_equal(failed.exception.exit_code, 3)
    assert_in(f"{user.cluster}-1", str(failed.exception))
    assert_in("returned status 3: why", str(failed.exception))
    assert_equal(job.run("echo out; exit 3", ignore_errors=True), ["out\n", "out\n"])
    with assert_raises(fastgpu.Error) as slow:
        job.tasks[0].run(["sleep", "60"], max_wait_sec=1)
    assert_equal(slow.exception.kind, "timeout")
    with assert_raises(fastgpu.Error) as missing:
        fastgpu.find_job("nowhere")
    assert_equal((missing.exception.kind, missing.exception.exit_code), ("not_found", 5))
    with assert_raises(fastgpu.Error) as unknown:
        fastgpu.make_job("other", no_such_flag=1)
    assert_in("--no-such-flag", str(unknown.exception))
    with assert_raises(fastgpu.Error) as size:
        fastgpu.make_job(user.cluster, num_tasks=5)
    assert_equal((size.exception.kind, size.exception.exit_code), ("conflict", 6))
    job.tasks[0].write("-w", "text")
    assert_equal((job.tasks[0].read("-w"), job.tasks[0].exists("-w")), ("text", True))
    with assert_raises(fastgpu.Error) as lacking:
        job.launch("true", np=True)
    assert_in("--np needs a value (N) (see", str(lacking.exception))


def test_a_job_whose_install_script_has_failed_is_not_returned_as_if_it_was_good(user):
    script = "case $(hostname) in *-1) exit 3 ;; esac"
    for _ in range(2):
        with assert_raises(fastgpu.Error) as failed:
            job_of(user, install_script=script)
    assert_equal(failed.exception.kind, "conflict")
    assert_in("install script", str(failed.exception))
    fastgpu.find_job(user.cluster).kill()
    job_of(user, install_script="true")
    assert_equal(len(job_of(user, install_script="exit 3").tasks), 2)


def test_a_program_is_launched_waited_for_and_cancelled(user):
    job = job_of(user)
    show = 'echo "$RANK of $WORLD_SIZE: $SECRET"; [ "$RANK" = 1 ] && exit 4; exec sleep 60'
    run = job.launch(
        ["sh", "-c", show], np=2, npernode=1, launcher="plain", env={"SECRET": "s3cret"}
    )
    assert_equal(run.wait(timeout="1m"), 4)
    assert_equal(run.state, "failed")
    assert_equal(sorted(run.logs()), ["0 of 2: s3cret", "1 of 2: s3cret"])
    assert_equal(run.logs(rank=1), ["1 of 2: s3cret"])
    with assert_raises(fastgpu.Error) as no_rank:
        run.logs(rank=7)
    assert_equal(no_rank.exception.exit_code, 2)
    assert_not_in("s3cret", str(run.describe()))

    run = job.launch(["sleep", "60"], np=1, launcher="plain")
    with assert_raises(fastgpu.Error) as late:
        run.wait(timeout="1s")
    assert_equal(late.exception.kind, "timeout")
    run.cancel()
    assert_equal(run.state, "cancelled")


def test_variables_of_ranks_are_not_those_of_the_command(user):
    job = job_of(user)
    env = {
        "PATH": "/usr/bin:/bin:/opt/odd place",
        "HOME": "/nowhere",
        "XDG_STATE_HOME": "/nowhere",
        "LD_LIBRARY_PATH": "/nowhere",
        "QUOTED": " 'a' \"b\" $C # d ",
        "EMPTY": "",
        "LINES": "one\ntwo",
    }
    show = "import json, os, sys; print(json.dumps({n: os.environ[n] for n in sys.argv[1:]}))"
    run = job.launch(["python3", "-c", show, *env], np=1, launcher="plain", env=env)
    assert_equal(run.wait(timeout="1m"), 0)
    assert_equal([json.loads(line) for line in run.logs()], [env])


def test_an_array_is_launched_and_waited_for(user):
    job = job_of(user)
    program = 'echo "$FASTGPU_ARRAY_INDEX"; exit $((FASTGPU_ARRAY_INDEX - 1))'
    run = job.launch(program, np=1, launcher="plain", array=[1, 2])
    assert_equal(run.wait(timeout="1m"), 1)
    assert_equal(run.state, "failed")
    assert_equal([one.state for one in run.runs], ["succeeded", "failed"])
    assert_equal(run.logs(), ["1", "2"])


def test_a_job_is_stopped_started_and_removed(user):
    job = job_of(user)
    job.stop()
    job.start()
    assert_equal(job.run("echo up"), ["up\n", "up\n"])
    job.kill()
    user.check_nothing_is_left()
    with assert_raises(fastgpu.Error):
        fastgpu.find_job(user.cluster)


if __name__ == "__main__":
    suite.need_root("unshare", "ip", "ssh-keygen", "/usr/sbin/sshd")
    os.makedirs("/run/sshd", exist_ok=True)
    cli_user.run_tests(globals())
