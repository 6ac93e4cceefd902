"""Packages that are built from source, among wheels, on two local nodes: with setuptools and wheel
of PyPI, as ./dev has put them into the build's tools. The packages are the test's own. Skipped
where there is no uv, or no setuptools.
"""

import hashlib
import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import end_by_signal, run_tests, within
from env_site import PREFIX, with_site
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true
from wheel_nodes import find_wheels
from wheels_site import Wheels

TOOLS = find_wheels("build-tools")
FLIT = "[build-system]\nrequires = ['flit_core']\nbuild-backend = 'flit_core.buildapi'\n"
RAN = "/root/setup-ran"  # Written by a setup.py that builds, on the node.
MARK = f"import sys\nif 'bdist_wheel' in sys.argv: open('{RAN}', 'a').write('x')\n"
SETUP = (
    "from setuptools import setup\nsetup(name='{name}', version='{version}', "
    "py_modules=['{name}'], scripts=['{name}-tool'])\n"
)
LEFT = (
    f"ls -A {PREFIX}/train; ls -d {PREFIX}/.fastgpu/cache/*tools* "
    f"{PREFIX}/.fastgpu/cache/sources 2>/dev/null || true"
)


class Sources(Wheels):
    def make_index(self, address):
        index = super().make_index(address)
        index.add_wheels(TOOLS)
        self.index = index
        self.add_old("old", "1.0")
        return index

    def add_old(self, name, version, before=MARK, word="was built"):
        self.index.add_source(
            name,
            version,
            {
                "setup.py": before + SETUP.format(name=name, version=version),
                f"{name}.py": f"word = '{word}'\n",
                f"{name}-tool": f"#!/usr/bin/python3\nimport {name}\nprint({name}.word)\n",
            },
        )

    def head(self):
        return super().head() + self.sources

    sources = "sources: [old]\n"

    def locked(self):
        """A lock, made on the nodes, in place of env.yaml."""
        self.lock(self.file)
        self.on_nodes("rm", "-f", RAN)
        return self.file.read_text()

    def nothing_ran(self):
        assert_equal(
            self.on_nodes("sh", "-c", f"ls {RAN} 2>/dev/null || true").strip(),
            "",
            "its code was run",
        )

    def nothing_is_left(self, *nodes):
        for node in nodes or ("/0", "/1"):
            left = self.on_nodes("sh", "-c", LEFT, nodes=node)
            assert_equal(left.strip(), "", f"left on {node}: {left}")

    def close(self):
        self.on_nodes("rm", "-f", RAN, code=None)
        super().close()


@with_site(Sources)
def test_what_exists_as_source_only_is_built_where_the_file_names_it_and_is_a_package_as_others_are(
    site,
):
    site.sources = ""
    site.write("alpha", "old")
    site.user.refused(site.words(), 1, "no wheel of old fits", "sources: [old]")
    site.nothing_ran()
    site.sources = "sources: [Old, missing]\n"
    site.write("alpha", "old")
    assert_not_in("build and", site.create("--dry-run").err, "--dry-run")
    made = site.create("-o", "json")
    assert_in("'sources' names missing, which is not in the environment", made.err)
    assert_equal(
        [node["done"] for node in json.loads(made.out)["nodes"]],
        ["built", "received"],
        f"{made.out}",
    )
    assert_equal(
        site.program("python", "-c", "import alpha, old; print(old.word)").count("was built"),
        2,
        "it is not there",
    )
    assert_equal(site.program("old-tool").count("was built"), 2, "its program does not run in it")
    assert_equal(
        site.on_nodes("sh", "-c", f"ls {RAN} 2>/dev/null || true").count(RAN),
        1,
        "it is not one node that builds",
    )
    site.user.run("env", "verify", "train", "-c", site.name)
    again = json.loads(site.create("-o", "json", "--upgrade").out)
    assert_equal([node["done"] for node in again["nodes"]], ["nothing", "nothing"], f"{again}")


@with_site(Sources)
def test_a_lock_says_what_is_a_source_and_what_builds_it_and_two_builds_of_it_are_the_same(site):
    site.write("alpha", "old")
    wanted = site.file.read_text()
    text = site.locked()
    for name in ("old", "alpha", "beta", "setuptools", "wheel"):
        for file, content in site.index.files[name].items():
            assert_in(hashlib.sha256(content).hexdigest(), text, f"no {name} in {text}")
            assert_in(file, text, f"no {name} in {text}")
    assert_equal(text.count("source: true"), 1, text)
    assert_less(text.index("build_tools:"), text.index("setuptools"), text)
    manifest = site.manifest_of_two_builds()
    assert_in("old.py", manifest, "what is in it")
    assert_equal(manifest.count("setuptools"), 0, "what is in it")
    other = site.user.folder / "other.lock"
    other.write_text(text)
    site.add_old("old", "2.0")
    site.file.write_text(wanted)
    site.locked()
    diff = site.user.run("env", "diff", str(other), str(site.file), code=1).out.decode()
    assert_equal(diff.splitlines()[1:], ["~ old 1.0 -> 2.0"], diff)


@with_site(Sources)
def test_a_source_may_be_a_zip_archive_with_a_pyproject_and_need_another_that_is_built(site):
    project = (
        "[build-system]\nrequires = ['setuptools>=61', 'wheel']\n"
        "build-backend = 'setuptools.build_meta'\n"
    )
    setup = (
        "from setuptools import setup\nsetup(name='Zipped.One', version='1.0', "
        "py_modules=['zipped_one'], install_requires=['old==1.0'])\n"
    )
    site.index.add_source(
        "zipped_one",
        "1.0",
        {"pyproject.toml": project, "setup.py": setup, "zipped_one.py": "from old import word\n"},
        ".zip",
    )
    site.sources = "sources: [old, Zipped_One]\n"
    site.write("Zipped.One")
    site.create()
    assert_equal(
        site.program("python", "-c", "import zipped_one; print(zipped_one.word)").count(
            "was built"
        ),
        2,
        "it is not there",
    )
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(Sources)
def test_a_wheel_is_taken_where_one_fits(site):
    site.index.add("old", "1.0", {"old.py": "word = 'a wheel'\n"})
    site.write("alpha", "old")
    text = site.locked()
    assert_not_in("source: true", text)
    assert_not_in("build_tools", text)
    site.create()
    assert_equal(
        site.program("python", "-c", "import old; print(old.word)").count("a wheel"),
        2,
        "it was built",
    )
    site.nothing_ran()
    # Of one there are wheels, and its newest source cannot be built; the other needs to be.
    site.sources = "sources: [beta, elder]\n"
    site.add_old("elder", "1.0")
    site.index.add_source(
        "beta",
        "1.0",
        {"pyproject.toml": "[build-system]\nrequires = ['nothing']\nbuild-backend = 'nothing'\n"},
    )
    site.write("alpha", "elder")
    assert_equal(site.locked().count("source: true"), 1, "beta is built, too")


@with_site(Sources)
def test_a_preview_is_no_solution_where_there_are_releases(site):
    site.index.add("old", "0.3.dev5", {"old.py": "word = 'a preview'\n"})
    site.write("old")
    assert_in("source: true", site.locked())
    site.sources = ""
    site.write("old")
    words = ["env", "lock", "-f", str(site.file), "-c", site.name, *site.TOOL, "--force"]
    wanted = "no wheel of old fits; to have it built from its source, name it in env.yaml"
    site.user.refused(words, 1, wanted)
    site.write("old==0.3.dev5")
    assert_in("0.3.dev5", site.locked())
    # Of one there are previews alone, and another package needs it.
    site.index.add("early", "0.66b2", {"early.py": ""})
    site.index.add("late", "1.0", {"late.py": ""}, ["early"])
    site.write("late")
    assert_in("0.66b2", site.locked())


@with_site(Sources)
def test_a_source_with_another_hash_stops_it_all_before_anything_of_it_is_run(site):
    site.write("alpha", "old")
    site.locked()
    site.user.run(
        "env", "remove", "--yes", "--all", "-c", site.name
    )  # With the source, which nodes keep.
    good = site.index.files["old"].copy()
    site.add_old("old", "1.0", word="something else")
    site.user.refused(site.words(), 1, "the source of old 1.0", "has the SHA-256")
    site.nothing_is_used()
    site.index.files["old"] = {}
    site.user.refused(site.words(), 1, "the source of old 1.0", "404")
    site.nothing_is_used()
    # Of all that is installed nothing may be another: neither a wheel, nor a source on the node.
    site.index.files["old"] = good
    wheels, site.index.files["beta"] = site.index.files["beta"], {}
    site.index.add("beta", "1.0", {"beta.py": "word = 'other'\n"})
    site.user.refused(site.words(), 1, "Hash mismatch")
    site.index.files["beta"] = wheels
    site.on_nodes(
        "sh",
        "-c",
        f"for file in {PREFIX}/.fastgpu/tools/*/{hashlib.sha256(*good.values()).hexdigest()}; do "
        "echo >>$file; done",
        nodes="/0",
    )
    site.user.refused(site.words(), 1, "was changed: it is not the source of old")
    site.nothing_ran()
    site.nothing_is_left()
    # So are what builds it.
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    for name in ("wheel", "setuptools"):
        tools = dict(site.index.files[name])
        site.index.files[name] = {
            file: site.index.corrupted(content) for file, content in tools.items()
        }
        site.user.refused(site.words(), 1, "Hash mismatch")
        site.index.files[name] = tools
    site.nothing_ran()
    site.create()


@with_site(Sources)
def test_a_lock_that_was_edited_to_build_what_sources_does_not_name_is_refused(site):
    site.write("alpha", "old")
    text = site.locked()
    body = (
        text[: text.rindex("sum: ")]
        .replace('    - "old"\n', "", 2)
        .replace("sources:\n", "sources: []\n", 1)
    )
    site.file.write_text(body + f"sum: {hashlib.sha256(body.encode()).hexdigest()}\n")
    assert_in("sources: []", body)
    site.user.refused(site.words(), 2, "'old' has a source, but is not in 'sources'")
    body = text[: text.index("build_tools:")]
    site.file.write_text(body + f"sum: {hashlib.sha256(body.encode()).hexdigest()}\n")
    site.user.refused(site.words(), 2, "no 'build_tools'")
    body = text[: text.rindex("sum: ")].replace("    source: true\n", "")  # Then it is no wheel.
    site.file.write_text(body + f"sum: {hashlib.sha256(body.encode()).hexdigest()}\n")
    site.user.refused(site.words(), 1, "old-1.0.tar.gz")
    site.nothing_is_used()


@with_site(Sources)
def test_of_a_package_that_cannot_be_built_the_last_words_are_shown_and_nothing_is_left(site):
    fails = (
        "import sys\nprint('looking for a compiler')\n"
        "if 'bdist_wheel' in sys.argv: sys.exit('there is no compiler here')\n"
    )
    site.add_old("old", "1.0", fails)
    site.write("alpha", "old")
    site.user.refused(
        site.words(),
        1,
        "old 1.0 cannot be built from its source with setuptools and wheel alone: ",
        "looking for a compiler",
        "there is no compiler here",
    )
    site.nothing_is_left()
    site.add_old("old", "1.0", "import sys\nsys.exit('not on this system')\n")
    site.user.refused(site.words(), 1, "not on this system")
    site.nothing_is_left()
    site.index.files["old"] = {}
    site.index.add_source(
        "old", "1.0", {"pyproject.toml": FLIT, "old.py": "'''Old.'''\n__version__ = '1.0'\n"}
    )
    site.user.refused(site.words(), 1, "flit_core")
    site.nothing_is_left()
    site.index.files["old"] = {}
    site.index.files["setuptools"] = {}
    site.add_old("old", "1.0")
    site.user.refused(
        site.words(), 1, "solving setuptools and wheel, by which packages are built from source"
    )


@with_site(Sources)
def test_one_that_never_ends_is_ended_by_ctrl_c_and_kill(site):
    asleep = ("-f", "[s]leep 4242")
    find_asleep = ("exec", site.name, "--", "pgrep", *asleep)
    site.write("alpha", "old")
    for when, number, code in (
        ("if 'bdist_wheel' in sys.argv: ", signal.SIGINT, 130),
        ("", signal.SIGINT, 130),
        ("if 'bdist_wheel' in sys.argv: ", signal.SIGKILL, -signal.SIGKILL),
    ):
        site.add_old(
            "old", "1.0", f"import subprocess, sys\n{when}subprocess.run(['sleep', '4242'])\n"
        )
        process = site.user.start(*site.words())
        assert_true(
            within(30, lambda: site.user.run(*find_asleep, code=None).out.strip()),
            "it does not begin",
        )
        said = end_by_signal(process, number, code)
        assert_equal("building old 1.0 from its source" in said, bool(when), said)
        site.ends_everywhere(*asleep)
        # Others keep theirs, out of sight.
        assert_true(
            within(10, lambda: not site.on_nodes("sh", "-c", LEFT, nodes="/0").strip()),
            "a part is left",
        )
    site.add_old("old", "1.0")
    site.create()


@with_site(Sources)
def test_an_index_that_does_not_give_the_source_is_given_up(site):
    site.write("alpha", "old")
    site.locked()
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    site.index.fault = "hang files"
    site.user.refused(
        site.words("--index-timeout", "1s"), 124, "the source of old 1.0", "no data for 1s"
    )
    site.nothing_is_used()
    site.index.fault = ""
    site.create()


@with_site(Sources)
def test_what_an_earlier_build_has_is_not_built_again_unless_other_tools_build_it(site):
    site.write("alpha", "old")
    site.create()
    site.index.add("gamma", "1.0")
    site.write("alpha", "old", "gamma")
    site.on_nodes("rm", "-f", RAN)
    made = site.create()
    assert_not_in("building old", made.err)
    site.nothing_ran()
    assert_equal(site.program("old-tool").count("was built"), 2, "it is not there")
    site.user.run("env", "verify", "train", "-c", site.name)
    # A good one.
    site.index.files["wheel"] = {
        file: site.index.corrupted(content) for file, content in site.index.files["wheel"].items()
    }
    made = site.create("--upgrade")
    assert_in("building old 1.0 from its source", made.err)
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(Sources)
def test_frameworks_bring_the_names_of_what_may_be_built_for_them(site):
    site.index.add("tensorflow", "2.1.4", requires=["gast==0.2.2", "termcolor>=1.1.0"])
    site.index.add("protobuf", "3.19.6")
    site.index.add("termcolor", "2.3.0")
    site.add_old("gast", "0.2.2")
    site.sources = "from: tf2.1_cu10.1_py37\n"
    site.write()
    site.create()
    done = site.user.run("env", "install-frameworks", "train", "-c", site.name, *site.TOOL)
    assert_in("may build gast from its source", done.err)
    assert_in("building gast 0.2.2", done.err)
    assert_equal(
        site.program(
            "python", "-c", "import gast, tensorflow; print(gast.word, tensorflow.version)"
        ).count("was built 2.1.4"),
        2,
        "not there",
    )
    again = site.user.run(
        "env", "install-frameworks", "train", "-c", site.name, *site.TOOL, "-o", "json"
    )
    assert_equal(
        [node["done"] for node in json.loads(again.out)["nodes"]],
        ["nothing", "nothing"],
        f"{again.out}",
    )


run_tests(dict(globals()))
