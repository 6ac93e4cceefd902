"""Environments of wheels on two local nodes: made, listed, verified, repaired, used and removed.
The packages are the test's own.

Skipped where there is no uv.
"""

import hashlib
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import inits_of, job_words, run_tests
from env_site import PREFIX, builds_in, changes, with_site
from own_python import python_archive
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
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
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
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    left = changes(site) ^ before
    assert_false(left, f"left: {sorted(left)[:20]}")


# A program of the environment in place of PyTorch's.
TORCHRUN = '#!/bin/sh\necho "$FASTGPU_ENV runs $*"\n'
MODULE = "import os, sys\nprint(os.environ['FASTGPU_ENV'], 'runs', *sys.argv[1:])\n"


@with_site(Wheels)
def test_torchrun_is_that_of_the_environment(site):
    files = {
        "torch/__init__.py": "",
        "torch/distributed/__init__.py": "",
        "torch/distributed/run.py": MODULE,
        "torch-1.0.data/scripts/torchrun": TORCHRUN,
    }
    site.index.add("torch", "1.0", files)
    site.write("torch")
    site.create()
    interpreter = f"{PREFIX}/train/current/bin/python"
    for words in (["python", "a.py"], ["python3", "-u", "a.py"], ["a.py"], [interpreter, "a.py"]):
        said = site.job(*words, more=("elastic", "--launcher", "torchrun"))
        assert_equal(said.count("train runs a.py\n"), 2, f"{words}: {said}")
    described = site.user.run("describe", "job", "elastic").out.decode()
    assert_in(f"{interpreter} a.py\n", described)
    assert_not_in("sh -c", described)
    site.user.refused(
        [
            *("run", "job", "-c", site.name, "-np", "2", "--launcher", "torchrun"),
            *("--environment", "train", "--", "/none/bin/python", "a.py"),
        ],
        1,
        "/none/bin/python does not exist: it is to run torchrun",
    )


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
def test_a_build_stays_as_long_as_a_job_runs_in_it(site):
    site.create()
    first = site.listed()["train"]["version"]
    with site.job_that_runs("old") as job:
        for version in ("2.0", "3.0"):
            site.index.add("beta", version, {"beta.py": "word = 'later'\n"})
            site.write("alpha", f"beta=={version}")
            site.create()
        assert_in(first, site.on_nodes("ls", f"{PREFIX}/train", nodes="/0"), job)
        assert_not_in(first, site.on_nodes("ls", f"{PREFIX}/train", nodes="/1"), job)


@with_site(Wheels)
def test_an_environment_is_not_removed_under_its_jobs_nor_without_consent(site):
    site.create()
    remove = ["env", "remove", "train", "-c", site.name]
    with site.job_that_runs("use") as job:
        for words in (
            [*remove, "--yes"],
            [*remove, "--dry-run"],
            ["env", "remove", "--all", "--yes", "-c", site.name],
        ):
            site.user.refused(words, 6, f": {job};", f"fastgpu cancel job {job}")
        site.program("python", "-c", "import alpha")
        # Its one rank is on the first node.
        other = ["env", "remove", "train", "-c", site.name + "/1", "--yes", "--dry-run"]
        site.user.run(*other)
    site.user.refused(remove, 2, "Remove environment 'train' from 2 nodes", "--yes")
    site.user.run(*remove, "--yes")


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
def test_what_cannot_be_solved_or_read_is_told_with_its_place(site):
    site.write()
    site.create()  # Nothing but what every environment has.
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
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
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
        assert_not_in("fastgpu", site.on_nodes("ls", "/etc/profile.d"), "lines are left")
        site.user.run("env", "remove", "--yes", "--all", "-c", site.name, *prefix)
        assert_equal(list(place.iterdir()), [], f"left: {list(place.rglob('*'))}")
    finally:
        site.on_nodes("umount", "/srv/home")


run_tests(dict(globals()))
