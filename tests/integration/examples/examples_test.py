"""The files and programs of examples/, used on two nodes as their own comments say.

examples_test.py FASTGPU [TEST...], with EXAMPLE_C, EXAMPLE_CPP, COMM_LIBRARY and CLOUDSIM in the
environment: the compiled programs, the library that they link and the clouds' stand-in. Without
them their tests are skipped.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "tests/support"))
sys.path.insert(0, str(SOURCE / "tests/integration/envs"))
from cli_user import run_tests, within  # noqa: E402
from cloud_sim import CloudSim  # noqa: E402
from suite import (  # noqa: E402
    assert_equal,
    assert_greater_equal,
    assert_in,
    assert_less,
    assert_true,
    skip,
)
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


def workflow_steps(user):
    """Returns the lines of the CI workflow that use fastgpu, for the user's own cluster."""
    text = (EXAMPLES / "github-actions.yml").read_text()
    steps = re.findall(r"^ +run: sudo (fastgpu .*)$", text, re.M)
    assert_equal(len(steps), 3, f"{steps}")
    assert_in("if: always()", text, f"{steps}")
    lines = [step.replace(" ci ", f" {user.cluster} ") for step in steps]
    return [line.replace("python3", PYTHON).replace("sudo fastgpu", "fastgpu") for line in lines]


def start_step(user, line, work):
    path = f"{pathlib.Path(user.fastgpu).parent}:{os.environ['PATH']}"
    return subprocess.Popen(
        ["bash", "-c", line],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=user.environment({"PATH": path}),
        start_new_session=True,
    )


def test_the_steps_of_the_ci_workflow_run(user):
    needs_torch()
    work = copied(user)
    for line in workflow_steps(user):
        step = start_step(user, line, work)
        out, err = step.communicate(timeout=300)
        assert_equal(step.returncode, 0, f"{line}: {out}{err}")
    user.check_nothing_is_left()


# In the place of the training program: a child that leaves its session, and a file in memory.
LASTING = """
import os, pathlib, subprocess, sys, time
subprocess.Popen(["sleep", sys.argv[-1]], env={}, start_new_session=True)
pathlib.Path("up-" + os.environ["RANK"]).touch()
print("up", flush=True)
time.sleep(600)
"""
CANCELLED_WITHIN = 10


def processes_of(user, mark):
    """Returns the processes of the user's commands and nodes, and those of the job."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            places = command.encode() + (entry / "environ").read_bytes()
            is_ours = str(user.folder).encode() in places or mark in command
            if is_ours and int(entry.name) != os.getpid():
                found.append(f"{entry.name}: {command}")
    return found


def files_of(user):
    """Returns the files of clusters and jobs that are on record, or in memory."""
    kept = [str(path) for path in user.state.rglob("*") if user.cluster in str(path)]
    return kept + [str(path) for path in pathlib.Path("/dev/shm").glob("fastgpu-*-train-*")]


def cancel_workflow(user, work, at, number):
    """Cancels the step `at` in its middle with that signal. As CI does, the last step runs then."""
    mark = f"47{os.getpid()}.{at}{int(number)}"
    steps = [line.replace("--steps 20", f"--steps {mark}") for line in workflow_steps(user)]
    for line in steps[:at]:
        assert_equal(start_step(user, line, work).wait(timeout=60), 0, line)
    step = start_step(user, steps[at], work)
    if at == 0:
        within(30, lambda: any(user.cluster in str(path) for path in user.state.rglob("*")))
    else:
        for _ in range(2):
            assert_in("up", step.stdout.readline())
        assert_equal(sum(mark in line and "sleep" in line for line in processes_of(user, mark)), 2)
    began = time.monotonic()
    os.killpg(step.pid, number)
    step.communicate(timeout=60)
    assert_true(step.returncode != 0, f"{steps[at]} ended well")
    last = start_step(user, steps[-1], work)
    out, err = last.communicate(timeout=60)
    took = time.monotonic() - began
    assert_equal(last.returncode, 0, f"{out}{err}")
    within(CANCELLED_WITHIN - took, lambda: not processes_of(user, mark))
    assert_equal(processes_of(user, mark), [])
    assert_equal(files_of(user), [])
    took = time.monotonic() - began
    print(f"   step {at} by {number.name}: nothing was left after {took:.1f} s", flush=True)
    assert_less(took, CANCELLED_WITHIN)
    # The job of a command that was killed has no end on record before the next look at it.
    jobs = json.loads(user.run("get", "jobs", "-o", "json").out)["jobs"]
    assert_equal([job["name"] for job in jobs if job["state"] == "running"], [])
    user.check_nothing_is_left()


def test_a_ci_workflow_that_is_cancelled_leaves_nothing(user):
    work = copied(user)
    (work / "train_ddp.py").write_text(LASTING)
    for at, number in ((0, signal.SIGINT), (1, signal.SIGINT), (1, signal.SIGKILL)):
        cancel_workflow(user, work, at, number)


if __name__ == "__main__":
    run_tests(globals())
