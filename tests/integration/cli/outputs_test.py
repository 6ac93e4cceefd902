"""What is done here when a job has ended: outputs_test.py FASTGPU [TEST ...]

Needs root, sshd and mpirun; exits with 77 where it cannot run. It cleans up after itself.
"""

import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cli_user
import suite
from cli_user import shared_cluster, within
from suite import assert_equal, assert_false, assert_in, assert_not_in, assert_true

SHOW = 'echo "$JOB_ID $JOB_STATE $JOB_EXIT_CODE: $JOB_REASON" > '


def job(user, name, ranks, program, *more, **options):
    words = ["run", "job", name, "-c", user.cluster, "--np", str(ranks), "--launcher", "plain"]
    return user.run(*words, *more, "--", "sh", "-c", program, **options)


def state_of(user, name):
    """Returns the state of the newest job of that name; None before there is one."""
    seen = user.run("describe", "job", name, "-o", "json", code=None)
    return json.loads(seen.out)["state"] if seen.returncode == 0 else None


def files_of(place):
    return {
        str(path.relative_to(place)): path.read_text()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


@shared_cluster
def test_outputs_of_all_nodes_are_copied_and_a_node_may_lack_one(user):
    user.two_nodes()
    source = user.folder / "source"
    source.mkdir(exist_ok=True)
    (source / "name").write_text("x")
    program = (
        "mkdir -p out; cp name out/$RANK; "
        '[ "$RANK" = 1 ] || echo best > model; echo $RANK > /tmp/other'
    )
    place = user.folder / "here"
    fetch = ["--fetch", "out", "--fetch", "model", "--fetch", "/tmp/other"]
    done = job(
        user,
        "two",
        2,
        program,
        *["--npernode", "1", "--sync", str(source), *fetch, "--fetch-to", str(place)],
    )
    first, second = (f"two-1/{user.cluster}-{index}" for index in (0, 1))
    wanted = {
        f"{first}/out/0": "x",
        f"{first}/model": "best\n",
        f"{first}/other": "0\n",
        f"{second}/out/1": "x",
        f"{second}/other": "1\n",
    }
    assert_equal(files_of(place), wanted)
    assert_in(f"outputs of job two-1: {place}/two-1", done.err)
    assert_not_in("not fetched", done.err)


@shared_cluster
def test_outputs_of_a_failed_job_are_copied_and_missing_ones_are_a_failure(user):
    user.two_nodes()
    place = user.folder / "there"
    to = ["--workdir", "/tmp", "--fetch-to", str(place)]
    done = job(user, "bad", 1, "echo a > a; exit 7", "--fetch", "a", *to, code=7)
    assert_equal(files_of(place), {"bad-1/a": "a\n"})
    done = job(user, "none", 1, "true", "--fetch", "no-such", "--fetch", "a", *to, code=1)
    assert_in("not fetched", done.err)
    assert_in("no-such", done.err)
    assert_equal(files_of(place / "none-1"), {"a": "a\n"})
    done = job(user, "lines", 1, "true", "--fetch", "no\nsuch", *to, code=1)
    assert_in("no\\nsuch does not exist", done.err)
    job(user, "nothing", 1, "true", "--fetch", "no-such", *to, code=1)
    shown = json.loads(user.run("describe", "job", "nothing", "-o", "json").out)
    assert_equal((shown["state"], shown["exit_code"]), ("succeeded", 1))
    assert_in("no-such", shown["reason"])
    assert_equal(shown["spec"]["outputs"], "incomplete")
    done = job(user, "script", 1, "true", "--fetch", "no-such", *to, "-o", "json", code=1)
    shown = json.loads(done.out)
    assert_equal((shown["exit_code"], shown["spec"]["outputs"]), (1, "incomplete"))
    assert_true(not (place / "nothing-1").exists(), "an empty directory is left")
    refused = job(user, "alone", 1, "true", "--fetch-to", str(place), code=2)
    assert_in("--fetch", refused.err)


@shared_cluster
def test_outputs_of_one_name_are_refused_before_the_job_starts(user):
    user.two_nodes()
    fetch = ["--fetch", "a/model.pt", "--fetch", "./b/model.pt"]
    done = job(user, "same", 1, "touch /root/has-run", *fetch, code=2)
    assert_in("'a/model.pt' and './b/model.pt' would both be 'model.pt'", done.err)
    done = user.run("exec", user.cluster, "--", "ls", "/root/has-run", code=None)
    assert_in("No such file", done.err + done.out.decode())
    node = f"{user.cluster}/{user.cluster}-0"
    done = user.run("cp", f"{node}:a/x", f"{node}:b/x", str(user.folder), code=2)
    assert_in("would both be 'x'", done.err)
    job(
        user,
        "twice",
        1,
        "touch c",
        "--fetch",
        "c",
        "--fetch",
        "./c",
        "--fetch-to",
        str(user.folder),
    )


@shared_cluster
def test_the_outputs_of_jobs_in_the_background_are_waited_for(user):
    user.two_nodes()
    place = user.folder / "background"
    slow = "mkdir -p many && cd many && for i in $(seq 2000); do echo $i > $i; done"
    words = ["--workdir", "/tmp", "--fetch-to", str(place), "--fetch"]
    job(user, "files", 1, slow, *words, "many", "--detach")
    user.run("wait", "job", "files")
    assert_equal(len(files_of(place / "files-1")), 2000)
    job(user, "more", 1, slow, *words, "many", "--detach")
    copied = within(60, lambda: b"succeeded" in user.run("get", "jobs", "more").out)
    assert_true(copied, "the job has not ended")
    if (
        json.loads(user.run("describe", "job", "more", "-o", "json").out)["spec"]["outputs"]
        == "awaited"
    ):
        done = user.run("delete", "job", "more", "--yes", code=None)
        assert_true(done.returncode in (0, 6), done.err)
        assert_true(done.returncode == 0 or "are being copied" in done.err, done.err)
    user.run("wait", "job", "more", code=None)
    job(user, "lacks", 1, "true", *words, "no-such", "--detach")
    junit = user.folder / "outputs.xml"
    done = user.run("wait", "job", "lacks", "--junit", str(junit), code=1)
    assert_in("job lacks-1 succeeded, but not fetched to", done.err)
    assert_in('failures="1"', junit.read_text())
    done = job(user, "all", 1, "true", *words, "no-such", "--array", "1-2", code=1)
    assert_in("job all-1.1 succeeded, but not fetched to", done.err)


@shared_cluster
def test_failures_in_the_background_after_the_end_are_on_record(user):
    user.two_nodes()
    job(user, "deaf", 1, "true", "--notify", "echo away >&2; exit 4", "--detach")
    user.run("wait", "job", "deaf")
    failure = "the command of --notify exited with 4"

    def description():
        return user.run("describe", "job", "deaf").out.decode()

    assert_true(within(20, lambda: failure in description()), description())
    assert_in("Not done:", description())
    assert_in(failure, user.run("wait", "job", "deaf").err)
    shown = json.loads(user.run("describe", "job", "deaf", "-o", "json").out)
    assert_equal((shown["exit_code"], shown["spec"]["not_done"]), (0, [failure]))


@shared_cluster
def test_the_post_mortem_of_a_job_in_the_background_is_waited_for(user):
    user.two_nodes()
    place = user.folder / "evidence"
    bundle = ["--post-mortem", str(place), "--detach"]
    job(user, "ill", 1, "echo last words; exit 3", *bundle)
    user.run("wait", "job", "ill", code=3)
    assert_equal((place / "ill-1/logs/0.out").read_text(), "last words\n")
    job(user, "fine", 1, "true", *bundle)
    assert_not_in("post-mortem", user.run("wait", "job", "fine").err)

    moved = user.folder / "moved"
    job(user, "gone", 1, "sleep 2; exit 3", "--post-mortem", str(moved), "--detach")
    moved.write_text("in the way")
    done = user.run("wait", "job", "gone", code=3)
    assert_in("no post-mortem of job gone-1: ", done.err)
    assert_in("no post-mortem of job gone-1: ", user.run("describe", "job", "gone").out.decode())


@shared_cluster
def test_outputs_whose_fastgpu_was_killed_are_said_to_be_missing(user):
    user.two_nodes()
    to = ["--workdir", "/tmp", "--fetch-to", str(user.folder / "killed"), "--detach"]
    kill = {"environment": {"FASTGPU_FAULT": "outputs:awaited"}}
    job(user, "killed", 1, "echo a > a; sleep 1", "--fetch", "a", *to, **kill)
    done = user.run("wait", "job", "killed", code=1)
    assert_in("the fastgpu that ran it has ended", done.err)
    shown = json.loads(user.run("describe", "job", "killed", "-o", "json").out)
    assert_equal((shown["exit_code"], shown["spec"]["outputs"]), (1, "incomplete"))


@shared_cluster
def test_a_command_learns_how_the_job_ended(user):
    user.two_nodes()
    note = user.folder / "note"
    job(user, "fails", 1, "exit 3", "--notify", f"{SHOW}{note}; echo told", code=3)
    assert_equal(note.read_text(), f"fails-1 failed 3: rank 0 on {user.cluster}-0: exited with 3\n")
    done = job(user, "wrong", 1, "true", "--notify", "exit 4")
    assert_in("the command of --notify exited with 4", done.err)

    words = ["run", "job", "stop", "-c", user.cluster, "--np", "1", "--launcher", "plain"]
    process = user.start(
        *words, "--notify", SHOW + str(note), "--", "sh", "-c", "echo up; sleep 60"
    )
    assert_in(b"up", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert_equal(process.returncode, 130)
    assert_in("stop-1 cancelled 130", note.read_text())


@shared_cluster
def test_a_command_learns_of_a_job_that_ends_before_its_turn(user):
    name = user.two_nodes()
    note = user.folder / "note"
    words = ["--notify", SHOW + str(note), "--fetch", "out", "--fetch-to", str(user.folder / "o")]
    user.run("run", "job", "first", "-c", name, "-np", "2", "--detach", "--", "sleep", "600.61")
    for stop in ("cancel", "signal"):
        note.unlink(missing_ok=True)
        waiting = user.start("run", "job", "second", "-c", name, "-np", "1", *words, "--", "true")
        assert_true(within(20, lambda: state_of(user, "second") == "queued"), "it is not queued")
        if stop == "cancel":
            user.run("cancel", "job", "second")
        else:
            waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=20)
        assert_in("cancelled 130", note.read_text())
        assert_not_in("Outputs", user.run("describe", "job", "second").out.decode())
    user.run("cancel", "job", "first")
    third = ["run", "job", "third", "-c", name, "-np", "2", "--after", "first", *words]
    user.run(*third, "--", "true", code=None)
    assert_in("third-1 cancelled", note.read_text())


def test_a_detached_job_does_both_by_itself(user):
    user.two_nodes()
    place, note = user.folder / "later", user.folder / "later-note"
    file = user.folder / "job.yaml"
    file.write_text(
        f"name: later\ncluster: {user.cluster}\nnp: 1\nlauncher: plain\nworkdir: /tmp\n"
        f"command: [sh, -c, 'sleep 1; echo b > b']\ndetach: true\nfetch: [b]\n"
        f"fetch_to: {place}\nnotify: '{SHOW}{note}'\n"
    )
    name = user.run("run", "job", "-f", str(file)).out.decode().strip()
    assert_false(note.exists())
    user.run("wait", "job", name)
    assert_true(within(20, note.exists), "the command has not run")
    assert_true(within(5, lambda: note.read_text().startswith("later-1 succeeded 0")))
    assert_equal(files_of(place), {"later-1/b": "b\n"})


@shared_cluster
def test_the_home_directory_of_a_node_is_written_as_in_a_shell(user):
    user.two_nodes()
    user.run("exec", user.cluster, "--", "mkdir", "-p", "/root/at-home/work")
    place = user.folder / "from-home"
    program = 'pwd; echo "$FASTGPU_CHECKPOINT_DIR"; echo 1 > inner; echo 2 > ../outer'
    words = ["--workdir", "~/at-home/work", "--checkpoints", "~/at-home/steps"]
    fetch = ["--fetch", "inner", "--fetch", "~/at-home/outer", "--fetch-to", str(place)]
    done = job(user, "home", 1, program, *words, *fetch)
    assert_equal(done.out, b"[0] /root/at-home/work\n[0] /root/at-home/steps\n")
    assert_equal(files_of(place), {"home-1/inner": "1\n", "home-1/outer": "2\n"})
    user.run("exec", f"{user.cluster}/0", "--", "test", "-d", "/root/at-home/steps")
    user.run("exec", f"{user.cluster}/0", "--", "test", "!", "-e", "/root/~")
    job(user, "nobody", 1, "true", "--checkpoints", "~nobody/steps", code=2)
    job(user, "variable", 1, "true", "--checkpoints", "$HOME/steps", code=2)
    source = user.folder / "f"
    source.write_text("")
    for path in ("~nobody/f", "$HOME/f"):
        refused = user.run("cp", str(source), f"{user.cluster}:{path}", code=2)
        assert_in(f"'{path}': ", refused.err)


@shared_cluster
def test_a_directory_that_cannot_take_the_outputs_is_found_before_the_job_starts(user):
    user.two_nodes()
    file = user.folder / "file"
    file.write_text("")
    for words in (
        ["--fetch", "x", "--fetch-to", str(file)],
        ["--fetch", "x", "--fetch-to", "/proc/x"],
        ["--post-mortem", str(file)],
        ["--fetch", "x", "--fetch-to", str(file), "--detach"],
        ["--post-mortem", f"{file}/below", "--detach"],
    ):
        refused = job(user, "unborn", 1, "touch /tmp/unborn", *words, code=2)
        assert_in(f"run job: {words[-3] if words[-1] == '--detach' else words[-2]} ", refused.err)
        assert_not_in("filesystem error", refused.err)
    user.run("get", "jobs", "unborn", code=5)
    user.run("exec", f"{user.cluster}/0", "--", "test", "!", "-e", "/tmp/unborn")


@shared_cluster
def test_outputs_that_are_left_out_or_have_no_room_are_named(user):
    user.two_nodes()
    place = user.folder / "left-out"
    to = ["--fetch", "/tmp/odd", "--fetch-to"]
    program = "mkdir -p /tmp/odd; rm -f /tmp/odd/*; mkfifo /tmp/odd/pipe; echo a > /tmp/odd/a; "
    done = job(user, "pipe", 1, program, *to, str(place))
    assert_in("odd/pipe was not copied: it is a pipe, a socket or a device", done.err)
    assert_equal(files_of(place), {"pipe-1/odd/a": "a\n"})
    small = user.tmpfs("small", "size=1m")
    fills = program + "head -c 4000000 /dev/urandom > /tmp/odd/big"
    done = job(user, "full", 2, fills, "--npernode", "1", *to, str(small), code=1)
    for index in (0, 1):
        node = f"{user.cluster}-{index}"
        assert_in(f"not fetched to {small}/full-1: {node}: writing odd/", done.err)
    assert_equal(done.err.count("No space left on device"), 2, done.err)


@shared_cluster
def test_ctrl_c_while_outputs_are_copied_says_that_the_job_has_ended(user):
    user.two_nodes()
    place = user.folder / "stopped-copy"
    note = user.folder / "stopped-note"
    process = user.start(
        *["run", "job", "slow", "-c", user.cluster, "--np", "1", "--launcher", "plain"],
        *["--fetch", "/tmp/slow", "--fetch-to", str(place), "--notify", SHOW + str(note)],
        *["--", "truncate", "--size", "200G", "/tmp/slow"],
    )
    assert_true(within(60, lambda: any(place.rglob(".*"))), "the copy does not begin")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    user.run("exec", f"{user.cluster}/0", "--", "rm", "/tmp/slow")
    assert_equal(process.returncode, 130)
    assert_in("stopping the copy of the outputs; job slow-1 has ended", err.decode())
    assert_in(f"interrupted: the outputs of job slow-1 are not complete in {place}", err.decode())
    assert_not_in("stopping job", err.decode())
    assert_equal(note.read_text(), "slow-1 succeeded 1: the copy of its outputs was interrupted\n")


if __name__ == "__main__":
    suite.need_root("unshare", "ip", "ssh-keygen", "/usr/sbin/sshd")
    os.makedirs("/run/sshd", exist_ok=True)
    cli_user.run_tests(globals())
