"""What comes with every environment, on two local nodes: libfastgpu_comm's Python package, the
demonstrations, and Open MPI, with the wheels of PyPI.

Needs uv and the wheels of wheels.txt, as `./dev test` puts them into the build's tools; skipped
where they are not there.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cli_user import run_tests, within
from suite import assert_equal, assert_less_equal, assert_true
from wheel_nodes import PREFIX, with_nodes


@with_nodes("wheels")
def test_the_demonstration_compares_one_rank_with_all(nodes):
    nodes.create("train", "numpy")
    done = nodes.demo("train", "-o", "json")
    runs = json.loads(done.out)["runs"]
    assert_equal(
        [(run["framework"], run["ranks"]) for run in runs], [("numpy", 1), ("numpy", 2)], f"{runs}"
    )
    assert_true(all(run["accuracy"] >= 0.95 for run in runs), f"{runs}")
    assert_less_equal(abs(runs[0]["accuracy"] - runs[1]["accuracy"]), 0.005, f"{runs}")
    # It leaves nothing in the environment.
    nodes.user.run("env", "verify", "train", "-c", nodes.name)
    left = nodes.on_nodes("sh", "-c", f"find {PREFIX}/train/current/share/ -name '*.pyc'")
    assert_equal(left, "")
    readme = nodes.on_nodes("cat", f"{PREFIX}/train/current/share/fastgpu/demo/README.md")
    assert_equal(readme.count("fastgpu env demo NAME"), 2, readme)
    # Ranks that do not learn what one does: the second rank computes another gradient.
    script = f"{PREFIX}/train/current/share/fastgpu/demo/digits_numpy.py"
    nodes.on_nodes(
        "sed", "-i", "s:error /= len(batch):error /= len(batch) * (1 - 2 * comm.rank):", script
    )
    nodes.user.refused(
        ["env", "demo", "train", "-c", nodes.name],
        1,
        "numpy: the accuracy on 2 ranks is",
        "should be at least",
        timeout=300,
    )
    nodes.on_nodes("sed", "-i", "s/^import numpy$/import nampy/", script)
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name], 1, "job demo-numpy", timeout=300)


@with_nodes("wheels")
def test_the_python_package_is_there_without_being_pointed_at(nodes):
    nodes.create("train", "numpy")
    script = "import fastgpu_comm as f; c = f.init(); print(f.library_path(), c.size)"
    said = nodes.on_nodes("env", "-i", f"{PREFIX}/train/current/bin/python", "-c", script)
    assert_equal(said.count("lib/fastgpu/libfastgpu_comm.so.0 1"), 2, said)
    script = (
        "import fastgpu_comm as f, numpy as n\n"
        "with f.init() as c: print('sum', c.all_reduce(n.ones(3)).sum())"
    )
    said = nodes.job("train", "python", "-c", script)
    assert_equal(said.count("sum 6.0"), 2, said)


# Which library carries the messages of a job.
CARRIER = (
    "import fastgpu_comm as f, numpy as n\n"
    "with f.init() as c:\n"
    "  assert c.all_reduce(n.ones(100000)).sum() == 100000 * c.size == 200000\n"
    "  print('carried by', *{line.split()[-1] for line in open('/proc/self/maps') if 'libmpi.so' "
    "in line})\n"
)
BY_MPI = (
    "-e",
    "FASTGPU_COMM_TRANSPORT=mpi",
    "-e",
    "FASTGPU_COMM_SHARED_MEMORY=0",
    "-e",
    "FASTGPU_COMM_TIMEOUT=30s",
)


@with_nodes("wheels")
def test_libfabric_of_the_nodes_carries_messages_where_it_is_named(nodes):
    nodes.create("train", "numpy")
    by_fabric = ["-e", "FASTGPU_COMM_FABRIC=tcp;ofi_rxm", "-e", "FASTGPU_COMM_SHARED_MEMORY=0"]
    script = CARRIER.replace("libmpi.so", "libfastgpu_comm_fabric.so")
    said = nodes.job("train", "python", "-c", script, more=by_fabric)
    assert_equal(said.count("/lib/fastgpu/libfastgpu_comm_fabric.so"), 2, said)


@with_nodes("wheels")
def test_open_mpi_is_the_environments_own(nodes):
    nodes.create("train", "numpy")
    assert_equal(
        nodes.program("train", "mpirun", "--version").count("(Open MPI) 5.0.11"),
        2,
        "another mpirun",
    )
    said = nodes.job("train", "python", "-c", CARRIER, more=BY_MPI)
    assert_equal(said.count(f"carried by {PREFIX}/train/"), 2, said)
    assert_equal(said.count("/lib/libmpi.so"), 2, said)
    by_itself = CARRIER.replace("init()", "init({'FASTGPU_COMM_TRANSPORT': 'mpi'})")
    said = nodes.program(
        "train",
        "mpirun",
        "--allow-run-as-root",
        "--oversubscribe",
        "-np",
        "2",
        "python",
        "-c",
        by_itself,
        nodes="/0",
    )
    assert_equal(said.count(f"carried by {PREFIX}/train/"), 2, said)
    nodes.job("train", "sh", "-c", "exit $((OMPI_COMM_WORLD_RANK * 3))", code=3)
    job = (
        nodes.user.run(
            "run",
            "job",
            "-c",
            nodes.name,
            "-np",
            "2",
            "--environment",
            "train",
            "--detach",
            "-o",
            "name",
            "--",
            "sleep",
            "987",
        )
        .out.decode()
        .strip()
    )
    assert_true(
        within(30, lambda: nodes.on_nodes("pgrep", "-xc", "sleep", code=None).count(": 1") == 2),
        "the job does not run",
    )
    nodes.user.run("cancel", "job", job)
    left = nodes.on_nodes("sh", "-c", "pgrep -x 'sleep|prterun|prted|mpirun' || true")
    assert_equal(left, "", "left")


@with_nodes("wheels")
def test_open_mpi_is_the_nodes_own_where_that_is_wanted(nodes):
    nodes.create("plain", "numpy", more="mpi: system\n")
    assert_equal(
        nodes.on_nodes("sh", "-c", f"ls {PREFIX}/plain/current/bin/mpirun 2>&1 || true").count(
            "No such file"
        ),
        2,
        "it has one",
    )
    said = nodes.job("plain", "python", "-c", CARRIER, more=BY_MPI)
    assert_equal(said.count("carried by /usr/lib/"), 2, said)


@with_nodes("wheels")
def test_what_cannot_be_demonstrated_is_told(nodes):
    nodes.create("empty")
    nodes.user.refused(
        ["env", "demo", "empty", "-c", nodes.name],
        5,
        "no framework with a demonstration",
        "install-frameworks empty",
    )
    nodes.user.refused(["env", "demo", "other", "-c", nodes.name], 5, "other")
    nodes.create("train", "numpy")
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name + "/0"], 2, "--oversubscribe")
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name, "-np", "9"], 2, "9")


run_tests(dict(globals()))
