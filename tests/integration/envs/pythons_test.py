"""Environments for a Python that the nodes lack, on two local nodes: it comes out of an archive of
the table, or is refused before anything is made.

The archive is made of this machine's Python, the table is the test's own. Skipped where there is no
uv.
"""

import hashlib
import json
import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from env_site import PREFIX, with_site
from own_python import SHOW, hide, python_archive
from suite import assert_equal, assert_in, assert_not_equal, assert_not_in, assert_true
from wheels_site import Wheels

VERSION = pathlib.Path("/usr/bin/python3").resolve().name.removeprefix("python")  # "3.11"


class NoPython(Wheels):
    """Nodes on which no Python runs that could be the system's version, and a table with one
    archive of it.
    """

    def __init__(self, user):
        super().__init__(user)
        self.content = python_archive()
        self.sum = hashlib.sha256(self.content).hexdigest()
        self.index.archives["/pythons/python.tar.gz"] = self.content
        self.address = f"{self.index.root}/pythons/python.tar.gz"
        self.table = user.folder / "pythons.yaml"
        self.table.write_text(
            f"base: {self.index.root}/pythons\narchives:\n  - version: {VERSION}.99\n"
            f"    machine: {platform.machine()}\n"
            f"    file: python.tar.gz\n    sha256: {self.sum}\n"
        )
        self.wants(VERSION)
        self.on_nodes("sh", "-c", hide())

    def wants(self, version):
        self.file.write_text(
            f"name: train\npython: '{version}'\nindex: {self.index.url}\nmpi: system\n"
            "packages: [alpha]\n"
        )

    def words(self, *more):
        return super().words("--python-table", str(self.table), *more)

    def nothing_is_made(self):
        assert_equal(
            self.on_nodes("sh", "-c", f"ls -d {PREFIX}/train 2>&1 || true").count("No such file"),
            2,
            "something was made",
        )

    def close(self):
        self.on_nodes("sh", "-c", SHOW)
        super().close()


@with_site(NoPython)
def test_a_python_that_the_node_lacks_comes_from_the_table_and_is_in_the_lock(site):
    plan = site.create("--dry-run")
    assert_in(f"get Python from {site.address}, solve and build".encode(), plan.out)
    site.nothing_is_made()
    site.index.fault = "corrupt"
    site.user.refused(site.words(), 1, "python.tar.gz has the SHA-256")
    site.nothing_is_used()
    site.index.fault = ""
    done = site.create("-o", "json")
    assert_in(
        f"{site.name}-0 has no Python {VERSION}: the environment gets its own, {site.address}",
        done.err,
    )
    made = json.loads(done.out)
    assert_equal([node["done"] for node in made["nodes"]], ["built", "received"], f"{made}")
    place = f"{PREFIX}/train/{made['version']}"
    said = site.program(
        "python", "-c", "import alpha, os, sys; print(sys.base_prefix, os.__file__)"
    )
    assert_equal(said.count(f"{place}/python "), 2, said)
    assert_equal(said.count(f"{place}/python/lib/"), 2, said)
    assert_equal(said.count("alpha one"), 2, said)
    lock = site.on_nodes("cat", f"{place}/.fastgpu/env.lock", nodes="/0")
    assert_in(f'  archive: "{site.address}"\n', lock)
    assert_in(f"sha256: {site.sum}\n", lock)
    assert_equal(
        json.loads(site.create("-o", "json").out)["nodes"][0]["done"], "nothing", "made again"
    )

    file = site.user.folder / "env.lock"
    site.user.run("cp", f"{site.name}/0:{place}/.fastgpu/env.lock", str(file))
    site.on_nodes("sh", "-c", SHOW)
    assert_equal(
        json.loads(site.create("-o", "json").out)["nodes"][0]["done"],
        "nothing",
        "made again where the node has a Python by now",
    )
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    again = json.loads(
        site.user.run(
            "env", "create", "-c", site.name, "-f", str(file), *site.TOOL, "-o", "json"
        ).out
    )
    assert_equal(again["version"], made["version"], f"{again}")
    assert_equal(
        site.program("python", "-c", "import sys; print(sys.base_prefix)").count(f"{place}/python"),
        2,
        "another Python",
    )
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    own = site.create("-o", "json")
    assert_not_in("gets its own", own.err, "the node's own Python is not used")
    assert_not_equal(
        json.loads(own.out)["version"], made["version"], "the node's own Python is not used"
    )


@with_site(NoPython)
def test_the_known_archives_are_fetched_from_a_mirror_and_a_lock_names_their_makers(site):
    words = ["env", "create", "-c", site.name, "-f", str(site.file), *site.TOOL]
    site.user.refused(
        [*words, "--python-mirror", f"{site.index.root}/mirror/"],
        1,
        f"HTTP 404 from {site.index.root}/mirror/20",
    )
    assert_true(
        any(
            path.startswith("/mirror/20") and f"/cpython-{VERSION}." in path
            for path in site.index.asked
        ),
        f"{site.index.asked}",
    )
    path = next(path for path in site.index.asked if path.startswith("/mirror/"))
    site.index.archives[path] = b"something else"
    site.user.refused(
        [*words, "--python-mirror", f"{site.index.root}/mirror"], 1, "has the SHA-256"
    )
    plan = site.user.run(*words, "--dry-run").out.decode()
    assert_in("https://github.com/astral-sh/python-build-standalone/releases/download/20", plan)
    site.nothing_is_used()


@with_site(NoPython)
def test_a_python_without_archive_is_refused_before_anything_is_made(site):
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    for version in ("3.6", "2.7", f"{VERSION}.1"):
        site.wants(version)
        site.user.refused(site.words("--dry-run"), 5, f"there is no Python {version} on this node")
        site.user.refused(site.words(), 5, "or use conda (--builder conda)")
    site.nothing_is_made()
    site.table.unlink()
    site.user.refused(site.words(), 5, "there is no file")


run_tests(dict(globals()))
