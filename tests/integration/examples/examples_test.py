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
from cli_user import SKIPPED, check, run_tests  # noqa: E402
from cloud_sim import CloudSim  # noqa: E402
from wheel_nodes import with_nodes  # noqa: E402

EXAMPLES = SOURCE / "examples"
PYTHON = "/usr/bin/python3"  # Debian's package python3-torch is made for it.
AVERAGES = [f"[{rank}] rank {rank} of 2, step {step}: 2.5" for rank in (0, 1) for step in (0, 1, 2)]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


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
    return [f"[{rank}] rank {rank} of {ranks} on {name}-{rank // per_node}: trained"
            for rank in range(ranks)]


def test_the_cluster_file_creates_a_cluster_that_ends_by_itself(user):
    user.run("create", "cluster", user.cluster, "-f", str(EXAMPLES / "cluster.yaml"))
    shown = user.run("get", "clusters", user.cluster, "-o", "wide").out.decode()
    check("2/2" in shown and "in 7h" in shown, shown)


def test_the_cluster_file_names_machines_of_a_cloud_in_its_comments(user):
    text = (EXAMPLES / "cluster.yaml").read_text().replace("provider: local ", "# ")
    cloud = re.sub(r"^# (provider:|cloud:|  |max-cost:)", r"\1", text, flags=re.M)
    file = user.folder / "cloud.yaml"
    file.write_text(cloud)
    with CloudSim(program("CLOUDSIM")) as sim:
        done = user.run("create", "cluster", "-f", str(file), "--dry-run",
                        environment={**sim.environment("aws"), "AWS_EC2_METADATA_DISABLED": "true"})
    check(b"8xA100" in done.out and "43.92" in done.out.decode(), f"{done.out}")


def test_the_job_file_says_where_its_ranks_would_run(user):
    work = copied(user)
    words = ("--set", f"command.0={PYTHON}", "--dry-run")
    done = user.run("run", "job", "-f", str(work / "job.yaml"), "-c", user.two_nodes(),
                    "--oversubscribe", *words)
    check(done.out.count(user.cluster.encode()) >= 2, f"{done.out}")


def test_the_job_file_trains_with_pytorch(user):
    needs_torch()
    work = copied(user)
    lines = job(user, "-f", work / "job.yaml", "--sync", work, "--oversubscribe", "--set",
                f"command.0={PYTHON}")
    check([line for line in lines if "trained" in line] == trained(4, 2, user.cluster), f"{lines}")


def test_a_pytorch_script_exchanges_gradients_by_fastgpu_comm(user):
    needs_torch()
    work, library = copied(user), program("COMM_LIBRARY")
    shutil.copy(library, work / "libfastgpu_comm.so.0")
    shutil.copytree(SOURCE / "comm/bindings/python/fastgpu_comm", work / "fastgpu_comm")
    lines = job(user, "-np", 2, "--npernode", 1, "--sync", work, "-e",
                "FASTGPU_COMM_LIBRARY=./libfastgpu_comm.so.0", "--", PYTHON, "train_comm.py")
    check([line for line in lines if "trained" in line] == trained(2, 1, user.cluster), f"{lines}")


def averages(user, variable):
    work = copied(user)
    shutil.copy(program(variable), work / "gradients")
    shutil.copy(program("COMM_LIBRARY"), work / "libfastgpu_comm.so.0")
    lines = job(user, "-np", 2, "--npernode", 1, "--sync", work, "-e", "LD_LIBRARY_PATH=.", "--",
                "./gradients")
    check(lines == AVERAGES, f"{lines}")


def test_the_program_in_c_averages_gradients(user):
    averages(user, "EXAMPLE_C")


def test_the_program_in_cpp_averages_gradients(user):
    averages(user, "EXAMPLE_CPP")


@with_nodes("wheels")
def from_wheels(nodes):
    """The tests' own index has the packages in place of PyPI."""
    nodes.user.run("env", "create", "-f", str(EXAMPLES / "env.yaml"), "-c", nodes.name, "--uv",
                   os.environ.get("FASTGPU_UV", str(built_uv())), "--set", f"python={PYTHON}",
                   "--set", f"index={nodes.index.url}", timeout=400)
    printed = nodes.program("train", "python", "-c", "import numpy; print(numpy.__version__)")
    check(printed.count(": 2.2.") == 2, printed)


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
    check(len(steps) == 3 and "if: always()" in text, f"{steps}")
    for step in steps:
        line = step.replace(" ci ", f" {user.cluster} ").replace("python3", PYTHON)
        line = line.replace("sudo fastgpu", "fastgpu")
        path = f"{pathlib.Path(user.fastgpu).parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", line], cwd=work, check=False, capture_output=True,
                              text=True, env=user.environment({"PATH": path}), timeout=300)
        check(done.returncode == 0, f"{line}: {done.stdout}{done.stderr}")
    user.check_nothing_is_left()


if __name__ == "__main__":
    run_tests(globals())
