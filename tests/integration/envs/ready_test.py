"""Environments on two local nodes that this machine knows nothing of, or that some nodes lack; what
a name or a file says of them is chosen by the nodes.

Skipped where there is no uv.
"""

import contextlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from env_site import PREFIX, with_site
from suite import assert_equal, assert_in, assert_not_in, assert_true
from wheels_site import UV, Wheels


def forget(site):
    """As on a machine that has taken the cluster over, or after it was made of an image."""
    records = list(site.user.state.glob("clusters/*/environments.json"))
    assert_true(records, "nothing is remembered")
    for record in records:
        record.unlink()


def job(site, ranks, *more, **options):
    return site.user.run(
        "run",
        "job",
        "-c",
        site.name,
        "-np",
        str(ranks),
        *more,
        "--",
        "sh",
        "-c",
        "echo in $FASTGPU_ENV",
        **options,
    )


@with_site(Wheels)
def test_what_another_machine_has_made_is_found_on_the_nodes(site):
    site.create()
    forget(site)
    assert_equal(
        job(site, 2, "--environment", "train").out.count(b"in train"), 2, "a job does not run in it"
    )
    assert_equal(
        json.loads(next(site.user.state.glob("clusters/*/environments.json")).read_text())[
            "prefix"
        ],
        {"train": PREFIX},
        "it is not written down",
    )
    forget(site)
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "a program does not run in it",
    )
    forget(site)
    site.user.run("env", "activate", "train", "-c", site.name)
    assert_equal(job(site, 2).out.count(b"in train"), 2, "jobs do not get it")
    forget(site)  # What logins get is what jobs get.
    site.user.run("env", "verify", "train", "-c", site.name)
    assert_equal(job(site, 2).out.count(b"in train"), 2, "jobs do not get what logins get")
    forget(site)
    for words in (
        ["env", "activate", "nothing"],
        ["env", "demo", "nothing"],
        ["env", "verify", "nothing"],
        ["env", "remove", "nothing"],
    ):
        site.user.refused(
            [*words, "-c", site.name],
            5,
            "there is no environment 'nothing' on the nodes of cluster",
        )
    site.user.refused(
        ["run", "job", "-c", site.name, "--environment", "nothing", "--", "true"],
        5,
        "there is no environment 'nothing'",
    )
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    assert_equal(site.listed(), {}, "it is still there")


@with_site(Wheels)
def test_one_in_another_place_is_known_to_a_machine_that_did_not_make_it(site):
    place = ("--prefix", "/opt/other/envs")
    site.create(*place)
    forget(site)
    assert_equal(
        job(site, 2, "--environment", "train").out.count(b"in train"), 2, "a job does not run in it"
    )
    forget(site)
    site.user.run("env", "activate", "train", "-c", site.name, *place)
    assert_equal(job(site, 2).out.count(b"in train"), 2, "jobs do not get it")
    site.user.refused(
        ["env", "activate", "train", "-c", site.name, "--prefix", "/opt/third"],
        5,
        "there is no environment 'train'",
    )
    assert_equal(job(site, 2).out.count(b"in train"), 2, "a wrong place is remembered")


@with_site(Wheels)
def test_the_same_name_in_two_places_is_two_environments_until_all_are_removed(site):
    other = "/opt/other/envs"
    site.create()
    site.create("--prefix", other + "/")

    def listed():
        found = json.loads(site.user.run("env", "list", "-c", site.name, "-o", "json").out)
        return sorted(
            (one["prefix"], one["state"], len(one["nodes"])) for one in found["environments"]
        )

    assert_equal(listed(), [(PREFIX, "complete", 2), (other, "complete", 2)])
    planned = json.loads(
        site.user.run(
            "env", "remove", "--yes", "--all", "--dry-run", "-c", site.name, "-o", "json"
        ).out
    )["environments"]
    assert_equal([len(one["nodes"]) for one in planned], [2, 2], f"{planned}")
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    assert_equal(listed(), [(PREFIX, "complete", 2)], "not the one that was made last is gone")
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    assert_equal(listed(), [])
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    left = site.on_nodes("sh", "-c", f"ls -d {PREFIX} {other} 2>/dev/null || true")
    assert_equal(left.strip(), "", "tools are left")


@with_site(Wheels)
def test_all_places_are_removed_by_a_machine_that_did_not_make_them(site):
    other = "/opt/other/envs"
    site.create()
    site.create("--prefix", other)
    forget(site)
    planned = json.loads(
        site.user.run(
            "env", "remove", "--yes", "--all", "--dry-run", "-c", site.name, "-o", "json"
        ).out
    )["environments"]
    assert_equal(sorted(one["prefix"] for one in planned), [PREFIX, other], f"{planned}")
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    left = site.on_nodes("sh", "-c", f"ls -d {PREFIX} {other} 2>/dev/null || true")
    assert_equal(left.strip(), "", "environments are left")
    assert_equal(site.listed(), {})


@with_site(Wheels)
def test_new_nodes_without_an_environment_are_named_with_the_command_that_brings_it(site):
    site.create()
    third = f"{site.name}-2"
    scaled = site.user.run("scale", "cluster", site.name, "--nodes", "3")
    repair = f"fastgpu env create train --cluster {site.name}"
    try:
        assert_in(f"next: {repair}\n", scaled.err)
        assert_equal(
            job(site, 2, "--environment", "train").out.count(b"in train"),
            2,
            "it does not run where the environment is",
        )
        refused = f"{third} does not have environment 'train': {repair} copies it there"
        site.user.refused(
            ["run", "job", "-c", site.name, "-np", "3", "--environment", "train", "--", "true"],
            5,
            refused,
        )
        forget(site)
        site.user.refused(
            ["run", "job", "-c", site.name, "-np", "3", "--environment", "train", "--", "true"],
            5,
            refused,
        )
        done = json.loads(site.user.run(*repair.split()[1:], "--uv", UV, "-o", "json").out)
        assert_equal(
            [node["done"] for node in done["nodes"]], ["nothing", "nothing", "received"], f"{done}"
        )
        assert_equal(
            job(site, 3, "--environment", "train").out.count(b"in train"),
            3,
            "it does not run on all",
        )
    finally:
        site.user.run("scale", "cluster", site.name, "--nodes", "2", "--yes")


@with_site(Wheels)
def test_the_node_with_the_oldest_c_library_builds_and_one_that_is_older_than_a_build_is_left_out(
    site,
):
    site.on_nodes(
        "sh",
        "-c",
        "printf '#!/bin/sh\necho glibc 2.17\n"
        "' >/usr/local/bin/getconf; chmod 755 /usr/local/bin/getconf",
        nodes="/1",
    )
    try:
        done = json.loads(site.create("-o", "json").out)
        assert_equal([node["done"] for node in done["nodes"]], ["received", "built"], f"{done}")
        assert_equal(
            site.program("python", "-c", "import alpha").count("alpha one"), 2, "it does not run"
        )
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
        site.user.run("env", "create", "-c", site.name + "/0", "-f", str(site.file), *site.TOOL)
        done = site.create("-o", "json", code=6)
        assert_equal(
            [node["done"] for node in json.loads(done.out)["nodes"]],
            ["nothing", "failed"],
            f"{done.out}",
        )
    finally:
        site.on_nodes("rm", "/usr/local/bin/getconf", nodes="/1")


H100, ASCEND = "0302: 10de:2330", "1200: 19e5:d802"


@contextlib.contextmanager
def with_device(site, nodes, device):
    """On the bus of these nodes, as lspci shows it."""
    site.on_nodes(
        "sh",
        "-c",
        f"printf '#!/bin/sh\necho 0000:01:00.0 {device}\n"
        "' >/usr/local/bin/lspci; chmod 755 /usr/local/bin/lspci",
        nodes=nodes,
    )
    try:
        yield
    finally:
        site.on_nodes("rm", "/usr/local/bin/lspci", nodes=nodes)


def has_own_gpu():
    return any(
        (device / "class").read_text().startswith("0x03")
        and "10de" in (device / "vendor").read_text()
        for device in pathlib.Path("/sys/bus/pci/devices").glob("*")
    )


@with_site(Wheels)
def test_a_name_that_leaves_the_accelerator_open_gets_that_of_the_nodes(site):
    if has_own_gpu():
        return  # The nodes have it, too.
    site.file.write_text(f"from: tf2.20_py311\nindex: {site.index.url}\nmpi: system\n")
    done = site.create("train", "--dry-run", "-o", "json")
    assert_in("tf2.20_py311 is tf2.20_cpu_py311 here: no node has a GPU", done.err)
    assert_in('from: "tf2.20_cpu_py311"', json.loads(done.out)["spec"], f"{done.out}")
    assert_in('python: "3.11"', json.loads(done.out)["spec"], f"{done.out}")
    site.create("train")
    assert_equal(
        site.program("sh", "-c", f"grep -h ^from {PREFIX}/train/current/.fastgpu/env.yaml").count(
            "tf2.20_cpu_py311"
        ),
        2,
        "it is not written down",
    )
    with with_device(site, "/1", H100):
        site.user.refused(
            [*site.words("train"), "--dry-run"],
            6,
            f"the nodes differ: {site.name}-0 has no GPU, {site.name}-1 has 1 x nvidia 2330",
        )
        done = site.user.run(
            "env", "create", "train", "-c", site.name + "/1", "-f", str(site.file), "--dry-run"
        )
        assert_in(
            "tf2.20_cu12.9_py311 here: some nodes have no driver yet, and 580 supports CUDA 12.9",
            done.err,
        )
    done = site.create("train", "--dry-run", "--assume-gpu", "H100:8")
    assert_in("tf2.20_py311 is tf2.20_cu12.9_py311 here", done.err)
    lock = ["env", "lock", "-f", str(site.file), "--set", "name=train", "--uv", UV]
    site.user.refused(lock, 2, "tf2.20_py311 names no accelerator", "--cluster", "tf2.20_cpu_py311")
    assert_in(
        'from: "tf2.20_cpu_py311"',
        site.user.run(*lock, "-c", site.name).out.decode().replace('\\"', '"'),
        "a lock leaves it open",
    )


@with_site(Wheels)
def test_from_in_a_file_says_what_it_says_on_the_command_line(site):
    def spec_of(text, *more):
        site.file.write_text(f"name: train\nindex: {site.index.url}\nmpi: system\n{text}")
        return json.loads(site.create("--dry-run", "-o", "json", *more).out)["spec"]

    assert_in('python: "3.10"', spec_of("from: tf2.20_cpu_py310\n"), "Python is not the name's")
    assert_in(
        'python: "/usr/bin/python3"',
        spec_of("from: tf2.20_cpu_py310\npython: /usr/bin/python3\n"),
        "Python is not the file's",
    )
    assert_in(
        'python: "3.12"',
        spec_of("python: /usr/bin/python3\n", "--from", "tf2.20_cpu_py312"),
        "the command line does not win",
    )
    site.file.write_text("name: train\nfrom: tf2.20_cu99.9_py311\n")
    site.user.refused(site.words(), 2, "99.9")
    site.user.refused(["env", "lock", "-f", str(site.file), "--uv", UV], 2, "99.9")


@with_site(Wheels)
def test_a_lock_is_taken_without_a_builder_or_anything_else_beside_it(site):
    lock = site.user.folder / "env.lock"
    site.user.run(
        "env", "lock", "-f", str(site.file), "--out", str(lock), "--uv", UV, "-c", site.name
    )
    site.file.write_text(lock.read_text())
    for more in (("--builder", "conda"), ("--from", "tf2.20_cpu_py311"), ("--set", "mpi=package")):
        site.user.refused(
            site.words(*more), 2, "a lock cannot be changed: omit --set, --from and --builder"
        )


CANN = """mkdir -p /usr/local/Ascend/cann-8.5.0/$(uname -m)-linux
ln -s cann-8.5.0 /usr/local/Ascend/cann
cd /usr/local/Ascend/cann-8.5.0
echo version=8.5.0 >$(uname -m)-linux/ascend_toolkit_install.info
cat >set_env.sh <<'END'
if [[ -z $NOTHING ]]; then export ASCEND_TOOLKIT_HOME=$(dirname "${BASH_SOURCE[0]}"); fi
END
"""


@with_site(Wheels)
def test_cann_is_entered_where_it_is_and_missed_where_it_is_not(site):
    site.on_nodes("sh", "-ec", CANN, nodes="/1")
    try:
        site.file.write_text(
            f"name: train\nfrom: tr2.8.0_can8.5.0_py311\nindex: {site.index.url}\nmpi: system\n"
            "packages: [alpha]\n"
        )
        done = site.create()
        assert_in(f"{site.name}-0: it has no CANN, but the environment needs CANN 8.5.0", done.err)
        assert_not_in(f"{site.name}-1: it", done.err)
        said = site.program(
            "sh", "-c", "python -c 'import alpha'; echo has ${ASCEND_TOOLKIT_HOME:-none}"
        )
        assert_in(f"{site.name}-0: has none", said)
        assert_in(f"{site.name}-1: has /usr/local/Ascend/cann-8.5.0", said)
        assert_equal(said.count("alpha one"), 2, said)
        site.user.run("env", "activate", "train", "-c", site.name)
        login = site.on_nodes("bash", "-lc", "echo has $ASCEND_TOOLKIT_HOME", nodes="/1")
        assert_in("has /usr/local/Ascend/cann-8.5.0", login)
        if not has_own_gpu():
            with with_device(site, "/1", ASCEND):
                done = site.user.run(
                    "env", "create", "-c", site.name + "/1", "--from", "tr2.8.0_py311", "--dry-run"
                )
                assert_in(
                    "tr2.8.0_py311 is tr2.8.0_can8.5.0_py311 here: CANN 8.5.0 is installed",
                    done.err,
                )
    finally:
        site.on_nodes("rm", "-r", "/usr/local/Ascend", nodes="/1")


run_tests(dict(globals()))
