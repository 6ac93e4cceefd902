"""Environments of wheels on two local nodes while something fails: their index, this command, a
disk or a step of the build. The packages are the test's own.

Skipped where there is no uv.
"""

import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import end_by_signal, run_tests, within
from env_site import PREFIX, with_site
from suite import assert_equal, assert_in, assert_not_equal, assert_not_in, assert_true
from wheels_site import Wheels


@with_site(Wheels)
def test_an_artefact_with_another_hash_stops_it_all(site):
    site.index.fault = "corrupt"
    site.user.refused(site.words(), 1, "Hash mismatch")
    site.nothing_is_used()
    site.index.fault = "truncated"
    site.user.refused(site.words(), 1, "uv exited")
    site.nothing_is_used()
    site.index.fault = ""
    lock = site.lock()
    site.index.files[
        "beta"
    ].clear()  # The same file name with another content: the index has changed.
    site.index.add("beta", "1.0", {"beta.py": "word = 'other'\n"})
    site.file.write_text(lock.read_text())
    site.user.refused(site.words(), 1, "Hash mismatch")
    site.nothing_is_used()


@with_site(Wheels)
def test_an_index_that_answers_500_is_told(site):
    site.index.fault = "500"
    site.user.refused(site.words(), 1, "500", timeout=180)
    site.nothing_is_used()
    site.index.fault = ""
    site.create()


@with_site(Wheels)
def test_an_index_that_says_nothing_is_given_up(site):
    site.index.fault = "hang"
    site.user.refused(site.words("--index-timeout", "1s"), 124, "timed out")
    site.index.fault = "hang files"
    site.user.refused(site.words("--index-timeout", "1s"), 124, "timed out")
    site.nothing_is_used()


@with_site(Wheels)
def test_killed_after_what_is_new_the_same_command_goes_on_and_the_old_build_is_used_till_then(
    site,
):
    old = json.loads(site.create("-o", "json").out)["version"]
    site.write("alpha", more="variables: {COLOUR: red}\n")
    site.create(environment={"FASTGPU_FAULT": "env-given"}, code=-signal.SIGKILL)
    assert_equal(
        site.on_nodes("readlink", f"{PREFIX}/train/current").count(old),
        2,
        "the new build is in use",
    )
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["switched", "switched"], f"{done}")
    assert_equal(
        site.program("sh", "-c", "echo $COLOUR").count("red"), 2, "the old build is in use"
    )
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(Wheels)
def test_killed_at_every_step_the_same_command_repairs(site):
    for point in ("env-solved", "env-built", "env-relayed", "env-copied"):
        # The build goes to the others at once; this one has lost it.
        if point == "env-relayed":
            site.create()
            site.on_nodes("rm", "-rf", f"{PREFIX}/train", nodes="/1")
        site.create(environment={"FASTGPU_FAULT": point}, code=-signal.SIGKILL)
        if point != "env-relayed":
            site.nothing_is_used()
        site.create()
        site.user.run("env", "verify", "train", "-c", site.name)
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    # The programs that build on the node are killed, wherever bash begins there.
    for point in ("env-build-python", "env-build-packages"):
        site.on_nodes(
            "sh",
            "-c",
            "touch /root/.bashrc; cp /root/.bashrc /root/kept; echo export "
            f"FASTGPU_FAULT={point} >/root/.bashrc",
            nodes="/0",
        )
        try:
            done = site.create(code=None)
        finally:
            site.on_nodes("mv", "/root/kept", "/root/.bashrc", nodes="/0")
        assert_not_equal(done.returncode, 0, f"{point}: {done.returncode} {done.err}")
        assert_in(
            f"{site.name}-0: fastgpu-agent ended with 137",
            done.err,
            f"{point}: {done.returncode} {done.err}",
        )
        site.nothing_is_used()
        site.create()
        site.user.run("env", "verify", "train", "-c", site.name)
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    # The node itself dies while it builds.
    site.on_nodes("mkdir", "-p", f"{PREFIX}/train/000000000000/bin", nodes="/1")
    site.create()
    assert_equal(site.listed()["train"]["state"], "complete", "not repaired")


@with_site(Wheels)
def test_ctrl_c_and_kill_end_what_runs_on_the_nodes(site):
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        site.index.fault, site.index.asked = "hang", []
        process = site.user.start(*site.words())
        assert_true(within(60, lambda: site.index.asked), "the index is not asked")
        end_by_signal(process, number, code)
        if number == signal.SIGINT:
            left = site.on_nodes("ls", PREFIX)
            assert_not_in("train", left, "an empty folder is left")
        site.ends_everywhere("-x", "uv")
        site.nothing_is_used()
    site.index.fault = ""
    site.create()


@with_site(Wheels)
def test_interrupted_at_every_step_the_same_command_goes_on(site):
    for step in (
        "solving",
        "making the environment",
        "installing packages",
        "compiling modules",
        "computing sums",
        "copying to 1 node",
        "switching",
    ):
        # A build may have been complete before the signal was heard: this step would not come
        # about.
        site.on_nodes("sh", "-c", f"rm -rf {PREFIX}/train/*")
        process = site.user.start(*site.words())
        said = []
        for line in process.stderr:
            said.append(line.decode())
            if step in said[-1]:
                process.send_signal(signal.SIGINT)
                break
        _, rest = process.communicate(timeout=60)
        assert_in(step, said[-1], f"{step}: not reached: {said}{rest.decode()}")
        # The last step may be over before the signal is heard.
        assert_true(
            process.returncode == 130 or (step == "switching" and process.returncode == 0),
            f"{step}: {process.returncode} {said}{rest.decode()}",
        )
        if step != "switching":
            site.nothing_is_used()
    site.create()
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(Wheels)
def test_a_full_disk_is_told_and_nothing_is_half_there(site):
    with site.small_disk(PREFIX, "/1"):
        done = site.create(code=4)
        assert_in(f"{site.name}-1: the build needs ", done.err)
        assert_in(f"are free in {PREFIX}: free some space there", done.err)
        site.no_part_is_left("/1")
    # Not to be foreseen.
    with site.small_disk(f"{PREFIX}/train", "/1"):
        done = site.create(code=4)
        assert_in(f"{site.name}-1: ", done.err)
        assert_in("No space", done.err)
        site.no_part_is_left("/1")
    site.create()


@with_site(Wheels)
def test_a_build_that_fails_leaves_nothing_behind(site):
    left = f"ls -A {PREFIX}/train; ls -d {PREFIX}/.fastgpu/cache 2>/dev/null || true"
    with site.small_disk(f"{PREFIX}/train", "/0"):
        done = site.create(code=4)
        assert_in("No space", done.err)
        assert_equal(
            site.on_nodes("sh", "-c", left, nodes="/0").strip(), "", "a part is left on a full disk"
        )
    good = site.file.read_text()
    for command, said in (
        ("['false']", "post_install: false exited with 1"),
        (
            "[sh, -c, 'echo no >&2; exit 3']",
            "post_install: sh -c 'echo no >&2; exit 3' exited with 3: no",
        ),
        ("[no-such-program]", "post_install: no-such-program exited with 127"),
    ):
        site.file.write_text(good + f"post_install:\n  - {command}\n")
        site.user.refused(site.words(), 1, said)
    for node in ("/0", "/1"):
        assert_equal(
            site.on_nodes("sh", "-c", left, nodes=node).strip(), "", f"a part is left on {node}"
        )
    site.file.write_text(good)
    site.create()


@with_site(Wheels)
def test_two_at_once_are_one_and_a_conflict(site):
    first = site.user.start(*site.words())
    lock = site.user.state / "locks" / f"{site.name}.lock"
    assert_true(
        within(
            10,
            lambda: (
                lock.exists()
                and first.poll() is None
                and lock.read_text().startswith(str(first.pid))
            ),
        ),
        "no start",
    )
    second = site.user.run(*site.words(), code=None)
    first.communicate(timeout=120)
    assert_equal(first.returncode, 0, f"the first ended with {first.returncode}")
    assert_equal(second.returncode, 6, f"the second ended with {second.returncode}: {second.err}")


run_tests(dict(globals()))
