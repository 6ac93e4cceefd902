"""The files and programs of examples/, used on two nodes as their own comments say.

examples_test.py FASTGPU [TEST...], with EXAMPLE_C, EXAMPLE_CPP, COMM_LIBRARY and CLOUDSIM in the
environment: the compiled programs, the library that they link and the clouds' stand-in. Without
them their tests are skipped.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "tests/support"))
sys.path.insert(0, str(SOURCE / "tests/integration/envs"))
from cli_user import run_tests  # noqa: E402
from cloud_sim import CloudSim  # noqa: E402
from suite import assert_equal, assert_greater_equal, assert_in, skip  # noqa: E402
from wheel_nodes import with_nodes  # noqa: E402

EXAMPLES = SOURCE / "examples"
PYTHON = "/usr/bin/python3"  # Debian's package python3-torch is made for it.
AVERAGES = [f"[{rank}] rank {rank} of 2, step {step}: 2.5" for rank in (0, 1) for step in (0, 1, 2)]


def program(variable):
    """Returns the file that a variable names, or skips the test."""
    file = os.environ.get(variable)
    if not file:
        skip(f"{variable} is not set")
    return file


def needs_torch():
    probe = subprocess.run([PYTHON, "-c", "import torch"], check=False, capture_output=True)
    if probe.returncode != 0:
        skip("PyTorch is not installed (Debian, Ubuntu: apt-get install python3-torch)")


def copied(user):
    """Returns a directory with a copy of the examples, in which a test may write."""
    work = user.folder / "examples"
    shutil.copytree(EXAMPLES, work)
    return work


def job(user, *words, **more):
    done = user.run("run", "job", "-c", user.two_nodes(), *map(str, words), timeout=300, **more)
    return sorted(done.out.decode().splitlines())


def trained(ranks, per_node, name):
    return [
        f"[{rank}] rank {rank} of {ranks} on {name}-{rank // per_node}: trained"
        for rank in range(ranks)
    ]


def test_the_cluster_file_creates_a_cluster_that_ends_by_itself(user):
    user.run("create", "cluster", user.cluster, "-f", str(EXAMPLES / "cluster.yaml"))
    shown = user.run("get", "clusters", user.cluster, "-o", "wide").out.decode()
    assert_in("2/2", shown)
    assert_in("in 7h", shown)


def test_the_cluster_file_names_machines_of_a_cloud_in_its_comments(user):
    text = (EXAMPLES / "cluster.yaml").read_text().replace("provider: local ", "# ")
    cloud = re.sub(r"^# (provider:|cloud:|  |max-cost:)", r"\1", text, flags=re.M)
    file = user.folder / "cloud.yaml"
    file.write_text(cloud)
    with CloudSim(program("CLOUDSIM")) as sim:
        done = user.run(
            "create",
            "cluster",
            "-f",
            str(file),
            "--dry-run",
            environment={**sim.environment("aws"), "AWS_EC2_METADATA_DISABLED": "true"},
        )
    assert_in(b"8xA100", done.out)
    assert_in("43.92", done.out.decode(), f"{done.out}")


def test_the_job_file_says_where_its_ranks_would_run(user):
    work = copied(user)
    words = ("--set", f"command.0={PYTHON}", "--dry-run")
    done = user.run(
        "run",
        "job",
        "-f",
        str(work / "job.yaml"),
        "-c",
        user.two_nodes(),
        "--oversubscribe",
        *words,
    )
    assert_greater_equal(done.out.count(user.cluster.encode()), 2, f"{done.out}")


def test_the_job_file_trains_with_pytorch(user):
    needs_torch()
    work = copied(user)
    lines = job(
        user,
        "-f",
        work / "job.yaml",
        "--sync",
        work,
        "--oversubscribe",
        "--set",
        f"command.0={PYTHON}",
    )
    assert_equal(
        [line for line in lines if "trained" in line], trained(4, 2, user.cluster), f"{lines}"
    )


def test_a_pytorch_script_exchanges_gradients_by_fastgpu_comm(user):
    needs_torch()
    work, library = copied(user), program("COMM_LIBRARY")
    shutil.copy(library, work / "libfastgpu_comm.so.0")
    shutil.copytree(SOURCE / "comm/bindings/python/fastgpu_comm", work / "fastgpu_comm")
    lines = job(
        user,
        "-np",
        2,
        "--npernode",
        1,
        "--sync",
        work,
        "-e",
        "FASTGPU_COMM_LIBRARY=./libfastgpu_comm.so.0",
        "--",
        PYTHON,
        "train_comm.py",
    )
    assert_equal(
        [line for line in lines if "trained" in line], trained(2, 1, user.cluster), f"{lines}"
    )


def averages(user, variable):
    work = copied(user)
    shutil.copy(program(variable), work / "gradients")
    shutil.copy(program("COMM_LIBRARY"), work / "libfastgpu_comm.so.0")
    lines = job(
        user,
        "-np",
        2,
        "--npernode",
        1,
        "--sync",
        work,
        "-e",
        "LD_LIBRARY_PATH=.",
        "--",
        "./gradients",
    )
    assert_equal(lines, AVERAGES)


def test_the_program_in_c_averages_gradients(user):
    averages(user, "EXAMPLE_C")


def test_the_program_in_cpp_averages_gradients(user):
    averages(user, "EXAMPLE_CPP")


@with_nodes("wheels")
def from_wheels(nodes):
    """The tests' own index has the packages in place of PyPI."""
    nodes.user.run(
        "env",
        "create",
        "-f",
        str(EXAMPLES / "env.yaml"),
        "-c",
        nodes.name,
        "--uv",
        os.environ.get("FASTGPU_UV", str(built_uv())),
        "--set",
        f"python={PYTHON}",
        "--set",
        f"index={nodes.index.url}",
        timeout=400,
    )
    printed = nodes.program("train", "python", "-c", "import numpy; print(numpy.__version__)")
    assert_equal(printed.count(": 2.2."), 2, printed)


def built_uv():
    return pathlib.Path(sys.argv[1]).resolve().parents[1] / "tools/uv/site/bin/uv"


def test_the_environment_file_puts_its_packages_on_both_nodes(user):
    user.two_nodes()
    from_wheels(user)


def test_the_steps_of_the_ci_workflow_run(user):
    needs_torch()
    work = copied(user)
    text = (EXAMPLES / "github-actions.yml").read_text()
    steps = re.findall(r"^ +run: sudo (fastgpu .*)$", text, re.M)
    assert_equal(len(steps), 3, f"{steps}")
    assert_in("if: always()", text, f"{steps}")
    for step in steps:
        line = step.replace(" ci ", f" {user.cluster} ").replace("python3", PYTHON)
        line = line.replace("sudo fastgpu", "fastgpu")
        path = f"{pathlib.Path(user.fastgpu).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=work,
            check=False,
            capture_output=True,
            text=True,
            env=user.environment({"PATH": path}),
            timeout=300,
        )
        assert_equal(done.returncode, 0, f"{line}: {done.stdout}{done.stderr}")
    user.check_nothing_is_left()


if __name__ == "__main__":
    run_tests(globals())
