"""Environments of conda packages on two local nodes whose Pythons are too old for py-rattler: one
out of an archive runs it, and is no part of what is made.

The archive is made of this machine's Python, the table is the test's own. Skipped where there is no
py-rattler.
"""

import hashlib
import json
import pathlib
import platform
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from conda_site import PYTHON, Conda
from env_site import PREFIX, changes, with_site
from own_python import SHOW, hide, python_archive
from suite import assert_equal, assert_false, assert_in, assert_not_equal, assert_not_in

OLD = "/root/old-python"


class OldPython(Conda):
    """Nodes whose Pythons say that they are 3.9, and a table with one archive."""

    INTERPRETER = "/root/python-of-channel"

    def __init__(self, user):
        super().__init__(user)
        content = python_archive()
        self.index.archives["/pythons/python.tar.gz"] = content
        self.address = f"{self.index.root}/pythons/python.tar.gz"
        self.table = user.folder / "pythons.yaml"
        self.sum = hashlib.sha256(content).hexdigest()
        self.knows(PYTHON)
        self.TOOL = (*Conda.TOOL, "--python-table", str(self.table))
        self.note = (
            "has no Python 3.10 or newer: py-rattler gets its own, which is not part of the "
            f"environment, {self.address}"
        )
        self.on_nodes(
            "sh",
            "-c",
            f"cp -L /usr/bin/python3 {self.INTERPRETER}; printf '#!/bin/sh\\necho 3.9.18\\n' "
            f">{OLD}; chmod +x {OLD}; {hide(OLD)}",
        )

    def knows(self, version):
        self.table.write_text(
            f"base: {self.index.root}/pythons\narchives:\n  - version: {version}\n"
            f"    machine: {platform.machine()}\n"
            f"    file: python.tar.gz\n    sha256: {self.sum}\n"
        )

    def tools(self):
        return self.on_nodes(
            "sh",
            "-c",
            f"find {PREFIX}/.fastgpu/tools -path '*/conda/*' 2>/dev/null || true",
            nodes="/0",
        )

    def made(self, *more):
        done = self.create("-o", "json", *more)
        return json.loads(done.out), done.err

    def close(self):
        self.on_nodes("sh", "-c", SHOW)
        super().close()


@with_site(OldPython)
def test_an_archive_runs_py_rattler_and_is_no_part_of_what_is_made(site):
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    before = changes(site)
    plan = site.create("--dry-run").out.decode()
    assert_in(f"get Python for py-rattler from {site.address}, solve and build", plan)
    site.index.fault = "corrupt"
    site.user.refused(site.words(), 1, "python.tar.gz has the SHA-256")
    assert_equal(site.tools(), "", "something has reached the node")
    site.nothing_is_used()
    site.index.fault = ""
    made, said = site.made()
    assert_in(f"{site.name}-0 {site.note}", said)
    assert_equal([node["done"] for node in made["nodes"]], ["built", "received"], f"{made}")
    assert_in("/conda/python/bin/python3", site.tools())
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "the program does not run in it",
    )
    place = f"{PREFIX}/train/{made['version']}"
    lock = site.on_nodes("cat", f"{place}/.fastgpu/env.lock", nodes="/0")
    assert_not_in("archive", lock)
    assert_in(f'python_version: "{PYTHON}"', lock)
    again, said = site.made()
    assert_equal(
        [node["done"] for node in again["nodes"]], ["nothing", "nothing"], f"{again} {said}"
    )
    assert_not_in(site.note, said, f"{again} {said}")

    file = site.lock()
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    left = changes(site) ^ before
    assert_false(left, f"left: {sorted(left)[:20]}")
    wanted = site.file
    site.file = file
    again, said = site.made()
    assert_equal(again["version"], made["version"], f"of the lock: {again} {said}")
    assert_in(site.note, said, f"of the lock: {again} {said}")
    site.file = wanted
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    site.on_nodes("sh", "-c", SHOW)
    assert_equal(
        site.lock("other.lock").read_text(),
        file.read_text(),
        "the lock is another one where the node has a Python",
    )
    again, said = site.made()
    assert_equal(again["version"], made["version"], f"by the node's own: {again} {said}")
    assert_not_in(site.note, said, f"by the node's own: {again} {said}")
    assert_not_in("python.tar", site.tools())


@with_site(OldPython)
def test_killed_while_it_is_unpacked_the_same_command_goes_on(site):
    site.on_nodes(
        "sh",
        "-c",
        "touch /root/.bashrc; cp /root/.bashrc /root/kept; echo export "
        "FASTGPU_FAULT=env-python-unpacked >/root/.bashrc",
        nodes="/0",
    )
    try:
        done = site.create(code=None)
    finally:
        site.on_nodes("mv", "/root/kept", "/root/.bashrc", nodes="/0")
    assert_not_equal(done.returncode, 0, f"{done.returncode} {done.err}")
    assert_in(
        f"{site.name}-0: fastgpu-agent ended with 137", done.err, f"{done.returncode} {done.err}"
    )
    assert_in("/conda/python.new/", site.tools())
    assert_not_in("/conda/python/", site.tools())
    site.nothing_is_used()
    site.create(environment={"FASTGPU_FAULT": "env-solved"}, code=-signal.SIGKILL)
    site.create()
    assert_in("/conda/python/", site.tools())
    assert_not_in("/conda/python.new", site.tools())
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "the program does not run in it",
    )
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(OldPython)
def test_without_an_archive_that_is_new_enough_it_is_refused_before_anything_is_fetched_or_made(
    site,
):
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    site.knows("3.9.25")
    for more in (("--dry-run",), ()):
        site.user.refused(
            site.words(*more),
            5,
            f"{site.name}-0: there is no Python 3.10 or newer on this node",
            "(available: 3.9.25)",
            "--python-table",
        )
    assert_equal(site.index.asked, [])
    assert_equal(
        site.on_nodes("sh", "-c", "ls /opt/fastgpu 2>&1 || true").count("No such file"),
        2,
        "something was made",
    )


@with_site(OldPython)
def test_a_lock_that_is_made_here_needs_no_python_of_this_machine_either(site):
    programs = site.user.folder / "bin"
    programs.mkdir()
    for name in ("getconf", "tar", "gzip", "cp"):
        (programs / name).symlink_to(shutil.which(name))
    locks = []
    for path in (None, {"PATH": str(programs)}):
        file = site.user.folder / f"{len(locks)}.lock"
        done = site.user.run(
            "env",
            "lock",
            "-f",
            str(site.file),
            "--force",
            "--out",
            str(file),
            *site.TOOL,
            environment=path,
        )
        assert_equal(f"this machine {site.note}" in done.err, path is not None, done.err)
        locks.append(file.read_text())
    assert_equal(locks[0], locks[1], f"{locks}")
    assert_not_in("archive", locks[0], f"{locks}")


run_tests(dict(globals()))
