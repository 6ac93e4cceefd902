"""Environments of conda packages with wheels beside them, on two local nodes: from a channel and a
package index made here.
"""

import hashlib
import json
import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from conda_site import MODULES, PYTHON, Conda
from env_site import PREFIX, changes, find_uv, with_site
from package_index import PackageIndex, wheel
from suite import assert_true

SERIES = f"python{PYTHON.rpartition('.')[0]}"


def installed(name, version, text, requires=()):
    """The files of a conda package of Python modules, which pip would see as installed."""
    info = f"{MODULES}/{name}-{version}.dist-info"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    return {
        f"{MODULES}/{name}.py": text,
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/INSTALLER": "conda\n",
        f"{info}/RECORD": f"{name}.py,sha256=xxx,{len(text)}\n"
        + "".join(f"{info.rpartition('/')[2]}/{file},,\n" for file in ("METADATA", "RECORD")),
    }


class Both(Conda):
    """A channel whose Python is a real one, that of the nodes, and an index beside it."""

    def __init__(self, user):
        super().__init__(user)
        self.TOOL = (*Conda.TOOL, "--uv", find_uv())

    def make_index(self, address):
        channel = super().make_index(address)
        program = pathlib.Path("/usr/bin/python3").resolve().read_bytes()
        channel.packages["linux-64"] = {
            file: held
            for file, held in channel.packages["linux-64"].items()
            if not file.startswith("python-")
        }
        channel.add(
            "python",
            PYTHON,
            {
                f"bin/{SERIES}": program,
                "bin/python": program,
                "pyvenv.cfg": "home = /usr/bin\ninclude-system-site-packages = false\n"
                f"version = {PYTHON}\n",
            },
        )
        channel.add(
            "base", "1.5", installed("base", "1.5", "word = 'of conda'\n"), depends=["python"]
        )
        self.wheels = PackageIndex(address)
        self.wheels.add("base", "1.0", {"base.py": "word = 'of the index'\n"})
        self.wheels.add("base", "2.0", {"base.py": "word = 'of the index'\n"})
        self.wheels.add(
            "gamma",
            "1.0",
            {"gamma.py": "import base, delta\nprint('gamma', base.word, delta.word)\n"},
            ["base", "delta"],
        )
        self.wheels.add("delta", "1.0", {"delta.py": "word = 'delta'\n"})
        self.wheels.add("needy", "1.0", {"needy.py": ""}, ["base>=2"])
        return channel

    def write(self, *packages, more=""):
        """conda's own file."""
        lines = "".join(f"  - {package}\n" for package in ("python", "base", "alpha"))
        wheels = "".join(
            f"    - {package}\n" for package in (f"--index-url {self.wheels.url}", *packages)
        )
        self.file.write_text(
            f"name: train\n{self.head()}dependencies:\n{lines}  - pip:\n{wheels}{more}"
        )

    def close(self):
        super().close()
        self.wheels.close()


@with_site(Both)
def test_wheels_are_installed_beside_conda_packages_by_one_lock(site):
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    before = changes(site)
    name, content = wheel("local", "1.0", {"local.py": "print('local')\n"})
    (site.file.parent / name).write_bytes(content)
    site.write("gamma", f"./{name}")
    done = json.loads(site.create("-o", "json").out)
    assert_true([node["done"] for node in done["nodes"]] == ["built", "received"], f"{done}")
    site.user.run("env", "verify", "train", "-c", site.name)
    shown = site.program("python", "-c", "import sys, alpha, gamma, local; print(sys.prefix)")
    place = f"{PREFIX}/train/{done['version']}"
    for line in ("alpha one", "gamma of conda delta", "local", place):
        assert_true(shown.count(line + "\n") == 2, f"no {line} in {shown}")
    assert_true(
        "gamma.cpython" in site.on_nodes("ls", f"{place}/{MODULES}/__pycache__", nodes="/1"),
        "not compiled",
    )
    assert_true(site.program("sh", "-c", "echo $CONDA_PREFIX").count(place) == 2, "not activated")
    file = site.lock()
    text = file.read_text()
    for package in ("gamma-1.0", "delta-1.0"):
        assert_true(
            f"{site.wheels.root}/files/" in text and f"{package}-py3-none-any.whl" in text, text
        )
    assert_true(f"file:./{name}" in text and hashlib.sha256(content).hexdigest() in text, text)
    assert_true(
        "/base-1.5-0.tar.bz2" in text and "base-1.0-py3" not in text and "base-2.0-py3" not in text,
        text,
    )
    again = json.loads(site.create("-o", "json").out)
    assert_true([node["done"] for node in again["nodes"]] == ["nothing", "nothing"], f"{again}")
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    left = changes(site) ^ before
    assert_true(not left, f"left: {sorted(left)[:20]}")
    site.wheels.add("delta", "2.0", {"delta.py": "word = 'new'\n"})
    again = json.loads(
        site.user.run(
            "env", "create", "-c", site.name, "-f", str(file), "-o", "json", *site.TOOL
        ).out
    )
    assert_true(again["version"] == done["version"], f"{again}")
    assert_true(
        site.program("python", "-c", "import gamma").count("gamma of conda delta") == 2,
        "the lock is not followed",
    )
    diff = site.user.run(
        "env", "diff", str(file), str(site.lock("other.lock")), code=1
    ).out.decode()
    assert_true("wheel delta 1.0 -> 2.0" in diff, diff)


@with_site(Both)
def test_a_wheel_that_would_replace_a_conda_package_is_refused_with_both_versions(site):
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    site.write("needy")
    for words in (["create"], ["lock"]):
        site.user.refused(
            ["env", *words, "-f", str(site.file), "-c", site.name, *site.TOOL],
            1,
            "need base 2.0 in place of the conda package's 1.5",
        )
    site.nothing_is_used()
    site.write("absent-package")
    site.user.refused(site.words(), 1, "absent-package")
    site.write(f"needy-1.0-{platform.machine()}.whl")
    site.user.refused(site.words(), 2, "is not a wheel")


run_tests(dict(globals()))
