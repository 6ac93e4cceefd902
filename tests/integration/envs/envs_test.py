"""Environments of wheels on two local nodes: made, listed, verified, used, removed, and every fault
on the way. The packages are the test's own.

Skipped where there is no uv.
"""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import end_by_signal, inits_of, job_words, run_tests, within
from env_site import PREFIX, builds_in, changes, with_site
from own_python import python_archive
from package_index import wheel
from shared_place import share_home
from suite import (
    assert_equal,
    assert_false,
    assert_greater_equal,
    assert_in,
    assert_not_equal,
    assert_not_in,
    assert_true,
)
from wheels_site import UV, Wheels


@with_site(Wheels)
def test_made_listed_verified_used_and_removed_without_a_trace(site):
    site.user.run("env", "remove", "--all", "-c", site.name)
    before = changes(site)
    plan = site.create("--dry-run").out.decode()
    assert_in("solve and build", plan)
    assert_in("receive", plan)
    assert_equal(
        site.on_nodes("sh", "-c", "ls /opt/fastgpu 2>&1 || true").count("No such file"),
        2,
        "--dry-run has made something",
    )
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["built", "received"], f"{done}")
    began = time.monotonic()
    again = json.loads(site.create("-o", "json").out)
    print(f"   a second time: {time.monotonic() - began:.2f} s", flush=True)
    assert_equal([node["done"] for node in again["nodes"]], ["nothing", "nothing"], f"{again}")
    found = site.listed()["train"]
    assert_equal(found["state"], "complete", f"{found}")
    assert_equal(len(found["nodes"]), 2, f"{found}")
    assert_false(found["active"], f"{found}")
    site.user.run("env", "verify", "train", "-c", site.name)
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "the program does not run in it",
    )
    program = "python -c 'import alpha'; echo $FASTGPU_ENV $K"
    said = site.job("sh", "-c", program, more=("--env", "K=v"))
    assert_equal(said.count("alpha one"), 2, said)
    assert_equal(said.count("train v"), 2, said)
    site.user.run("env", "activate", "train", "-c", site.name)
    login = site.on_nodes("bash", "-lc", "echo $FASTGPU_ENV:$PATH")
    assert_equal(login.count("train:"), 2, f"logins do not get it: {login}")
    assert_equal(login.count(f"{PREFIX}/train/"), 2, f"logins do not get it: {login}")
    assert_true(site.listed()["train"]["active"], "it is not shown as active")
    job = site.user.run(*job_words(site.name, 2, ["python", "-c", "import alpha"]))
    assert_equal(job.out.count(b"alpha one"), 2, f"jobs do not get it: {job.out}")
    site.user.run("env", "remove", "--all", "-c", site.name)
    left = changes(site) ^ before
    assert_false(left, f"left: {sorted(left)[:20]}")


@with_site(Wheels)
def test_another_spec_is_switched_to_and_the_old_build_stays_for_running_jobs(site):
    site.create()
    first = site.listed()["train"]["version"]
    site.index.add("beta", "2.0", {"beta.py": "word = 'two'\n"})
    site.write("alpha", "beta==2.0")
    site.create()
    second = site.listed()["train"]["version"]
    assert_not_equal(first, second, "the version is the same")
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha two"),
        2,
        "the new one is not used",
    )
    kept = site.on_nodes("ls", f"{PREFIX}/train", nodes="/0")
    assert_in(first, kept)
    assert_in(second, kept)


@with_site(Wheels)
def test_two_builds_of_the_same_are_the_same_to_the_last_file(site):
    assert_in("__pycache__", site.manifest_of_two_builds(), "no bytecode")


@with_site(Wheels)
def test_locks_say_every_artefact_and_cannot_be_edited(site):
    lock = site.lock()
    text = lock.read_text()
    for name, files in site.index.files.items():
        for file, content in files.items():
            assert_in(hashlib.sha256(content).hexdigest(), text, f"no {name} in {text}")
            assert_in(file, text, f"no {name} in {text}")
    site.file.write_text(text.replace('version: "1.0"', 'version: "1.1"', 1))
    site.user.refused(site.words(), 2, "was changed by hand")
    site.file.write_text(text)
    # A lock does not move with its index.
    site.index.add("beta", "9.0", {"beta.py": "word = 'nine'\n"})
    site.create()
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "the lock was not kept to",
    )
    site.write("alpha")
    other = site.lock("other.lock")
    diff = site.user.run("env", "diff", str(lock), str(other), code=1).out.decode()
    assert_in("beta 1.0 -> 9.0", diff)
    site.user.refused(["env", "diff", "a.lock", "b.lock"], 5, "a.lock")


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
def test_what_cannot_be_solved_or_read_is_told_with_its_place(site):
    site.write()
    site.create()  # Nothing but what every environment has.
    site.user.run("env", "remove", "train", "-c", site.name)
    site.write("gamma")
    site.user.refused(site.words(), 1, "gamma")
    site.write("alpha", more="pakages: []\n")
    site.user.refused(site.words(), 2, f"{site.file}:7:1", "packages")
    site.write("-r /etc/passwd")
    site.user.refused(site.words(), 2, f"{site.file}:6:", "not a requirement")
    site.user.refused(["env", "create", "train", "-c", site.name, "--uv", UV], 2, "train")
    site.write("alpha")
    site.file.write_text(site.file.read_text().replace("/usr/bin/python3", "3.4"))
    site.user.refused(site.words(), 5, "Python 3.4")


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
        # What is built goes to the others at once; this one has lost it.
        if point == "env-relayed":
            site.create()
            site.on_nodes("rm", "-rf", f"{PREFIX}/train", nodes="/1")
        site.create(environment={"FASTGPU_FAULT": point}, code=-signal.SIGKILL)
        if point != "env-relayed":
            site.nothing_is_used()
        site.create()
        site.user.run("env", "verify", "train", "-c", site.name)
        site.user.run("env", "remove", "train", "-c", site.name)
    # What builds on the node is killed, wherever bash begins there.
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
        site.user.run("env", "remove", "train", "-c", site.name)
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
def test_a_node_with_another_processor_or_an_older_c_library_is_left_out(site):
    site.user.run("env", "create", "-c", site.name + "/0", "-f", str(site.file), *site.TOOL)
    with site.old_c_library("/1") as reason:
        done = site.create("-o", "json", code=6)
        assert_equal(
            [node["done"] for node in json.loads(done.out)["nodes"]],
            ["nothing", "failed"],
            f"{done.out}",
        )
        assert_in(reason, done.err)
    for prefix, code, said in (
        (("setarch", "i686"), 6, "its processor is i686, but the lock is for x86_64"),
        ((), 0, ""),
    ):
        for pid in inits_of(f"{site.name}-1"):
            os.kill(pid, signal.SIGKILL)
        site.user.run("start", "cluster", site.name, prefix=prefix)
        done = site.create("-o", "json", code=code)
        assert_in(said, done.err, f"{done.out} {done.err}")
        assert_equal(
            [node["done"] for node in json.loads(done.out)["nodes"]][0],
            "nothing",
            f"{done.out} {done.err}",
        )


@with_site(Wheels)
def test_frameworks_are_a_new_build_and_an_archive_has_all_of_it(site):
    site.index.add(
        "gamma",
        "3.0",
        {"gamma/__init__.py": "version = '3.0'\n", "gamma/tests/test_gamma.py": "import gamma\n"},
    )
    site.create()
    site.user.run(
        "env",
        "install-frameworks",
        "train",
        "-c",
        site.name,
        "--framework",
        "gamma==3.0",
        "--uv",
        UV,
    )
    assert_equal(
        site.program("python", "-c", "import alpha, gamma; print(gamma.version)").count("3.0"),
        2,
        "it is not there",
    )
    site.user.refused(
        ["env", "install-frameworks", "train", "-c", site.name, "--uv", UV], 2, "--framework"
    )
    archive = site.user.folder / "train.tar.zst"
    site.on_nodes("mount", "--bind", "/bin/false", "/usr/bin/zstd")  # Nodes need none.
    site.on_nodes("sh", "-c", "sed -i '1i cd /' /root/.bashrc")
    site.pack(archive)
    names = subprocess.run(
        ["tar", "--use-compress-program=zstd", "-tf", archive],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert_in("gamma/__init__.py", names, names[:2000])
    assert_in(".fastgpu/manifest", names, names[:2000])
    assert_in("libfastgpu_comm.so.0", names, names[:2000])
    assert_in("gamma/__pycache__/__init__.cpython-311.pyc", names, "what is compiled")
    assert_not_in("gamma/tests/__pycache__", names, "what is compiled")


@with_site(Wheels)
def test_where_modules_are_not_compiled_python_does_it_when_it_imports_them(site):
    site.write("alpha", more="bytecode: none\n")
    site.create()
    caches = f"find {PREFIX}/train/current/lib/ -name __pycache__"
    assert_equal(site.on_nodes("sh", "-c", caches).strip(), "", "modules were compiled")
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"), 2, "it does not run"
    )
    assert_greater_equal(
        site.on_nodes("sh", "-c", caches).count("__pycache__"),
        2,
        "Python keeps nothing of what it has compiled",
    )
    site.user.run("env", "verify", "train", "-c", site.name)
    site.user.refused([*site.words(), "--set", "bytecode=some"], 2, "must be compiled or none")


@with_site(Wheels)
def test_a_python_comes_from_the_archive_that_is_named(site):
    content = python_archive()
    site.index.archives["/python.tar.gz"] = content
    python = (
        f"python:\n  archive: {site.index.root}/python.tar.gz\n"
        f"  sha256: {hashlib.sha256(content).hexdigest()}\n"
    )
    site.file.write_text(
        f"name: train\nindex: {site.index.url}\nmpi: system\npackages: [alpha]\n{python}"
    )
    site.index.fault = "corrupt"
    site.user.refused(site.words(), 1, "python.tar.gz has the SHA-256")
    site.nothing_is_used()
    site.index.fault = ""
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["built", "received"], f"{done}")
    place = f"{PREFIX}/train/{done['version']}"
    said = site.program(
        "python", "-c", "import alpha, os, sys; print(sys.base_prefix, os.__file__)"
    )
    assert_equal(said.count(f"{place}/python "), 2, said)
    assert_equal(said.count(f"{place}/python/lib/"), 2, said)
    assert_equal(said.count("alpha one"), 2, said)
    site.user.run("env", "verify", "train", "-c", site.name)
    assert_equal(
        json.loads(site.create("-o", "json").out)["nodes"][0]["done"], "nothing", "made again"
    )
    site.index.archives["/python.tar.gz"] = b"nothing"
    python = (
        f"python:\n  archive: {site.index.root}/python.tar.gz\n"
        f"  sha256: {hashlib.sha256(b'nothing').hexdigest()}\n"
    )
    site.file.write_text(
        f"name: train\nindex: {site.index.url}\nmpi: system\npackages: [alpha]\n{python}"
    )
    site.user.refused(site.words(), 1, "tar")


@with_site(Wheels)
def test_a_name_of_the_matrix_says_what_frameworks_are_installed(site):
    site.index.add("tensorflow", "2.20.0", requires=["beta"])
    site.index.add("tensorflow", "2.21.0")
    site.file.write_text(f"name: train\nindex: {site.index.url}\nmpi: system\n")
    made = site.create("--from", "tf2.20_cpu_py311")
    assert_in(f"fastgpu env install-frameworks train --cluster {site.name}", made.err)
    assert_equal(
        site.program("python", "-c", "import sys; print(sys.version_info[:2])").count("(3, 11)"),
        2,
        "another Python",
    )
    site.user.run(
        "env",
        "activate",
        "train",
        "-c",
        site.name,
        "--",
        "python",
        "-c",
        "import tensorflow",
        code=1,
    )
    done = site.user.run("env", "install-frameworks", "train", "-c", site.name, "--uv", UV)
    assert_in("requires tensorflow==2.20.0", done.err)
    assert_in(f"from {site.index.url}\n", done.err)
    assert_not_in("next:", done.err)
    assert_equal(
        site.program(
            "python", "-c", "import beta, tensorflow; print(tensorflow.version, beta.word)"
        ).count("2.20.0 one"),
        2,
        "not there",
    )
    site.user.refused(site.words("--from", "tf2.20_cu99.9_py311"), 2, "99.9")


@with_site(Wheels)
def test_frameworks_that_no_index_offers_are_refused_with_the_reason_and_what_is_near(site):
    lost, near = (
        "PyTorch 1.3.0 is no longer available: only AIACC-Training",
        "the nearest available name is tf1.14.0_tr1.3.0_mx1.5.0_cu10.0_py36",
    )
    spec = (
        "name: train\nfrom: tf1.12_tr1.3.0_mx1.5.0_cu9.0_py36\npython: /usr/bin/python3\n"
        "mpi: system\n"
    )
    site.file.write_text(spec)
    made = site.create()
    assert_in(f"warning: {lost}", made.err)
    assert_in(near, made.err)
    assert_not_in("install-frameworks", made.err)
    words = ["env", "install-frameworks", "train", "-c", site.name, "--uv", UV]
    done = site.user.refused(words, 5, lost)
    assert_in(near, done.err)
    assert_not_in("requires", done.err)

    # An index of one's own may have them.
    for name, version in (
        ("tensorflow-gpu", "1.12.0"),
        ("mxnet-cu90", "1.5.0"),
        ("torch", "1.3.0+cu90"),
        ("protobuf", "3.19.6"),
    ):
        site.index.add(name, version)
    site.file.write_text(f"{spec}index: {site.index.url}\n")
    site.create()
    done = site.user.run(*words, "--dry-run")
    assert_in("requires torch==1.3.0+cu90", done.err)
    assert_in("may build termcolor from its source", done.err)
    site.file.write_text(
        f"{spec}index: {site.index.url}\n".replace(
            "tf1.12_tr1.3.0_mx1.5.0_cu9.0", "tf1.15_tr1.4.0_mx1.5.0_cu10.0"
        )
    )
    site.create()
    done = site.user.run(*words, "--dry-run")
    assert_in("requires tensorflow-gpu==1.15.5", done.err)
    assert_in("torch from https://download.pytorch.org/whl/cu100\n", done.err)


@with_site(Wheels)
def test_a_driver_that_cannot_carry_the_environments_cuda_is_warned_of(site):
    version = (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.42.01  Tue Jun 15 21:26:37 UTC 2021"
    )
    site.on_nodes(
        "sh",
        "-c",
        f"mount -t tmpfs tmpfs /proc/driver && mkdir /proc/driver/nvidia && echo '{version}' "
        ">/proc/driver/nvidia/version",
        nodes="/1",
    )
    try:
        done = site.create("--from", "tr2.6_cu12.4_py311", "--dry-run")
        assert_in(f"{site.name}-1: its driver 470.42.01 does not support CUDA 12.4", done.err)
        assert_not_in(f"{site.name}-0: its driver", done.err)
    finally:
        site.on_nodes("umount", "/proc/driver", nodes="/1")


@with_site(Wheels)
def test_damage_is_found_and_a_node_without_it_gets_it_from_another(site):
    site.create()
    place = f"{PREFIX}/train/current/lib/python3.11/site-packages/beta.py"
    site.on_nodes("sh", "-c", f"echo changed >>{place}", nodes="/1")
    done = site.user.run("env", "verify", "train", "-c", site.name, code=1)
    assert_in("beta.py", done.out.decode())
    assert_equal(done.out.decode().count("ok"), 1, done.out.decode())
    site.on_nodes("sh", "-c", f"echo 'import os' >{place[: -len('beta.py')]}more.pth", nodes="/0")
    done = site.user.run("env", "verify", "train", "-c", site.name, code=1)
    assert_in("more.pth: was added", done.out.decode())
    assert_not_in("ok", done.out.decode())
    site.on_nodes("rm", f"{place[: -len('beta.py')]}more.pth", nodes="/0")
    site.on_nodes("rm", "-rf", f"{PREFIX}/train", nodes="/1")
    assert_equal(site.listed()["train"]["state"], "partial", "it counts as complete")
    asked = len(site.index.asked)
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["nothing", "received"], f"{done}")
    assert_equal(len(site.index.asked), asked, "the index was asked again")
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
    site.file.write_text(good + "post_install:\n  - ['false']\n")
    site.user.refused(site.words(), 1, "post_install: false: run exited with 1")
    for node in ("/0", "/1"):
        assert_equal(
            site.on_nodes("sh", "-c", left, nodes=node).strip(), "", f"a part is left on {node}"
        )
    site.file.write_text(good)
    site.create()


@with_site(Wheels)
def test_a_place_that_nodes_share_gets_it_once(site):
    place = share_home(site)
    try:
        prefix = ("--prefix", "/srv/home/work/envs")
        done = json.loads(site.create("-o", "json", *prefix).out)
        assert_equal([node["done"] for node in done["nodes"]], ["built", "switched"], f"{done}")
        assert_equal(builds_in(place / "work/envs/train"), [done["version"]])
        site.user.run("env", "verify", "train", "-c", site.name)
        assert_equal(
            site.program("python", "-c", "import alpha").count("alpha one"),
            2,
            "it does not run on both",
        )
        site.user.run("env", "activate", "train", "-c", site.name)
        site.index.add("beta", "2.0", {"beta.py": "word = 'two'\n"})
        site.write("alpha", "beta==2.0")
        site.create()
        assert_equal(
            site.on_nodes("bash", "-lc", '"$VIRTUAL_ENV/bin/python" -c "import alpha"').count(
                "alpha two"
            ),
            2,
            "logins do not get the new one",
        )
        site.user.run("env", "remove", "train", "-c", site.name)
        assert_not_in("fastgpu", site.on_nodes("ls", "/etc/profile.d"), "lines are left")
        site.user.run("env", "remove", "--all", "-c", site.name, *prefix)
        assert_equal(list(place.iterdir()), [], f"left: {list(place.rglob('*'))}")
    finally:
        site.on_nodes("umount", "/srv/home")


@with_site(Wheels)
def test_wheels_of_this_machine_and_of_an_address_are_locked_by_their_sums(site):
    folder = site.file.parent / "my dist"
    folder.mkdir()
    name, content = wheel(
        "gamma",
        "1.0+local",
        {"gamma.py": "from beta import word\nprint('gamma', word)\n"},
        ["beta"],
    )
    (folder / name).write_bytes(content)
    other, delta = wheel("delta", "2.0", {"delta.py": "print('delta')\n"})
    site.index.archives[f"/{other}"] = delta
    requirement = f"delta @ {site.index.root}/{other}"
    site.write(f"'./my dist/{name}'", f"'{requirement}'")
    lock = site.lock()
    text = lock.read_text()
    assert_true(
        f"file:./my dist/{name}" in text
        and hashlib.sha256(content).hexdigest() in text
        and hashlib.sha256(delta).hexdigest() in text,
        text,
    )
    for file in (site.file, lock):
        site.user.run("env", "create", "-c", site.name, "-f", str(file), *site.TOOL)
        assert_true(
            site.program("python", "-c", "import gamma, delta").count("gamma one") == 2,
            "the wheels are not there",
        )
        site.user.run("env", "remove", "train", "-c", site.name)
    site.user.refused(
        [
            "env",
            "lock",
            "-f",
            str(write_beside(site, requirement + "#sha256=" + "0" * 64)),
            "-c",
            site.name,
            *site.TOOL,
        ],
        1,
        "delta",
    )
    (folder / name).unlink()
    # A lock needs no file whose content the nodes have already.
    site.user.run("env", "create", "-c", site.name, "-f", str(lock), *site.TOOL)
    site.user.run("env", "remove", "--all", "-c", site.name)
    asked = len(site.index.asked)
    for file in (site.file, lock):
        site.user.refused(
            ["env", "create", "-c", site.name, "-f", str(file), *site.TOOL],
            5,
            f"there is no wheel {file.parent}/my dist/{name}",
        )
    assert_true(len(site.index.asked) == asked, f"fetched in vain: {site.index.asked[asked:]}")
    (folder / name).write_bytes(wheel("gamma", "1.0+local", {"gamma.py": "print('changed')\n"})[1])
    site.user.refused(
        ["env", "create", "-c", site.name, "-f", str(lock), *site.TOOL], 6, "has changed"
    )
    site.create()
    assert_true(
        site.program("python", "-c", "import gamma").count("changed") == 2,
        "the changed wheel is not taken",
    )


@with_site(Wheels)
def test_wheels_of_this_machine_come_by_lists_of_others_without_an_index_and_only_where_they_fit(
    site,
):
    folder = site.file.parent / "dist"
    folder.mkdir()
    name, content = wheel("gamma", "1.0", {"gamma.py": "print('gamma')\n"})
    (folder / name).write_bytes(content)
    foreign = name.replace("-any", "-macosx_11_0_arm64")
    (folder / foreign).write_bytes(content)
    (folder / "more.txt").write_text(f"./{name}\n")
    requirements, conda = folder.with_name("requirements.txt"), folder.with_name("environment.yml")
    requirements.write_text("-r dist/more.txt\n")
    conda.write_text(
        f"name: train\ndependencies:\n  - pip:\n    - gamma @ file://{folder}/{name}\n"
    )
    # No index answers: the wheel needs nothing of it.
    rest = [
        "-c",
        site.name,
        "--set",
        "python=/usr/bin/python3",
        "--set",
        "mpi=system",
        "--set",
        "index=http://127.0.0.1:9/simple",
        *site.TOOL,
    ]
    for words in (["train", "-r", str(requirements)], ["-f", str(conda)]):
        site.user.run("env", "create", *words, *rest)
        assert_true(
            site.program("python", "-c", "import gamma").count("gamma") == 2,
            "the wheel is not there",
        )
        site.user.run("env", "remove", "train", "-c", site.name)
    site.write(f"./dist/{foreign}")
    for words in (["create"], ["lock"]):
        site.user.refused(
            ["env", *words, "-f", str(site.file), "-c", site.name, *site.TOOL],
            2,
            f"./dist/{foreign} does not fit",
            "macosx_11_0_arm64",
        )
    site.nothing_is_used()


def write_beside(site, *packages):
    """Another env.yaml in the same folder."""
    before, other = site.file.read_text(), site.file.with_name("other.yaml")
    site.write(*(f"'{package}'" for package in packages))
    other.write_text(site.file.read_text())
    site.file.write_text(before)
    return other


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
