"""Environments on two local nodes with wheels of this machine, named by their paths: in a spec, in
lists of others, and locked. The packages are the test's own.

Skipped where there is no uv.
"""

import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from env_site import with_site
from package_index import wheel
from suite import assert_true
from wheels_site import Wheels


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
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
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
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
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


def write_beside(site, *packages):
    """Another env.yaml in the same folder."""
    before, other = site.file.read_text(), site.file.with_name("other.yaml")
    site.write(*(f"'{package}'" for package in packages))
    other.write_text(site.file.read_text())
    site.file.write_text(before)
    return other


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
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    site.write(f"./dist/{foreign}")
    for words in (["create"], ["lock"]):
        site.user.refused(
            ["env", *words, "-f", str(site.file), "-c", site.name, *site.TOOL],
            2,
            f"./dist/{foreign} does not fit",
            "macosx_11_0_arm64",
        )
    site.nothing_is_used()


run_tests(dict(globals()))
