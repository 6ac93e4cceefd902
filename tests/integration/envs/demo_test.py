"""What comes with every environment, on two local nodes: libfastgpu_comm's Python package, the demonstrations, and Open MPI, with the wheels of PyPI.

Needs uv and the wheels of wheels.txt, as `./dev test` puts them into the build's tools; skipped where they are not there.
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cli_user import SKIPPED, check, run_tests, within  # noqa: E402
from package_index import PackageIndex  # noqa: E402

PREFIX = "/opt/fastgpu/envs"
TOOLS = pathlib.Path(sys.argv[1]).resolve().parents[1] / "tools"
UV = os.environ.get("FASTGPU_UV", str(TOOLS / "uv/site/bin/uv"))
WHEELS = sorted((TOOLS / "wheels/site").glob("*.whl"))
if not WHEELS or not os.path.exists(UV):
    print(f"skipped: no uv, or no wheels, in {TOOLS}: ./dev test gets them from PyPI")
    sys.exit(SKIPPED)


class Nodes:
    """Two nodes, and an index with real wheels that they reach."""

    def __init__(self, user):
        self.user, self.name = user, user.two_nodes()
        address = json.loads(user.run("get", "nodes", self.name, "-o", "json").out)["nodes"][0]["address"]
        route = subprocess.run(["ip", "-j", "route", "get", address], capture_output=True, check=True, text=True).stdout
        self.index = PackageIndex(json.loads(route)[0]["prefsrc"])
        for file in WHEELS:
            self.index.files.setdefault(file.name.split("-")[0], {})[file.name] = file.read_bytes()

    def create(self, name, *packages, more=""):
        file = self.user.folder / f"{name}.yaml"
        lines = "".join(f"  - {package}\n" for package in packages)
        file.write_text(f"name: {name}\npython: /usr/bin/python3\nindex: {self.index.url}\npackages:\n{lines}{more}")
        self.user.run("env", "create", "-c", self.name, "-f", str(file), "--uv", UV)

    def program(self, name, *command, nodes=""):
        return self.user.run("env", "activate", name, "-c", self.name + nodes, "--", *command).out.decode()

    def job(self, name, *command, code=0, more=()):
        return self.user.run("run", "job", "-c", self.name, "-np", "2", "--env", name, *more, "--", *command, code=code).out.decode()

    def on_nodes(self, *command, code=0):
        return self.user.run("exec", self.name, "--", *command, code=code).out.decode()

    def demo(self, *more, **options):
        return self.user.run("env", "demo", *more, "-c", self.name, timeout=300, **options)


def with_nodes(test):
    def run(user):
        user.two_nodes()
        nodes = Nodes(user)
        try:
            test(nodes)
        finally:
            user.run("env", "remove", "--all", "-c", nodes.name, code=None)
            nodes.index.close()
    return run


@with_nodes
def test_the_demonstration_compares_one_rank_with_all(nodes):
    nodes.create("train", "numpy")
    done = nodes.demo("train", "-o", "json")
    runs = json.loads(done.out)["runs"]
    check([(run["framework"], run["ranks"]) for run in runs] == [("numpy", 1), ("numpy", 2)], f"{runs}")
    check(all(run["accuracy"] >= 0.95 for run in runs) and abs(runs[0]["accuracy"] - runs[1]["accuracy"]) <= 0.005, f"{runs}")
    nodes.user.run("env", "verify", "train", "-c", nodes.name)  # It leaves nothing in the environment.
    left = nodes.on_nodes("sh", "-c", f"find {PREFIX}/train/current/share/ -name '*.pyc'")
    check(left == "", left)
    readme = nodes.on_nodes("cat", f"{PREFIX}/train/current/share/fastgpu/demo/README.md")
    check(readme.count("fastgpu env demo NAME") == 2, readme)
    # Ranks that do not learn what one does: the second rank computes another gradient.
    script = f"{PREFIX}/train/current/share/fastgpu/demo/digits_numpy.py"
    nodes.on_nodes("sed", "-i", "s:error /= len(batch):error /= len(batch) * (1 - 2 * comm.rank):", script)
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name], 1, "numpy: the accuracy on 2 ranks is", "should be at least", timeout=300)
    nodes.on_nodes("sed", "-i", "s/^import numpy$/import nampy/", script)
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name], 1, "job demo-numpy", timeout=300)


@with_nodes
def test_the_python_package_is_there_without_being_pointed_at(nodes):
    nodes.create("train", "numpy")
    script = "import fastgpu_comm as f; c = f.init(); print(f.library_path(), c.size)"
    said = nodes.on_nodes("env", "-i", f"{PREFIX}/train/current/bin/python", "-c", script)
    check(said.count("lib/fastgpu/libfastgpu_comm.so.0 1") == 2, said)
    script = "import fastgpu_comm as f, numpy as n\nwith f.init() as c: print('sum', c.all_reduce(n.ones(3)).sum())"
    said = nodes.job("train", "python", "-c", script)
    check(said.count("sum 6.0") == 2, said)


# Which MPI carries the messages of a job.
CARRIER = ("import fastgpu_comm as f, numpy as n\n"
           "with f.init() as c:\n"
           "  assert c.all_reduce(n.ones(100000)).sum() == 100000 * c.size == 200000\n"
           "  print('carried by', *{line.split()[-1] for line in open('/proc/self/maps') if 'libmpi.so' in line})\n")
BY_MPI = ("-e", "FASTGPU_COMM_TRANSPORT=mpi", "-e", "FASTGPU_COMM_SHARED_MEMORY=0", "-e", "FASTGPU_COMM_TIMEOUT=30s")


@with_nodes
def test_open_mpi_is_the_environments_own(nodes):
    nodes.create("train", "numpy")
    check(nodes.program("train", "mpirun", "--version").count("(Open MPI) 5.0.11") == 2, "another mpirun")
    said = nodes.job("train", "python", "-c", CARRIER, more=BY_MPI)
    check(said.count(f"carried by {PREFIX}/train/") == 2 and said.count("/lib/libmpi.so") == 2, said)
    by_itself = CARRIER.replace("init()", "init({'FASTGPU_COMM_TRANSPORT': 'mpi'})")
    said = nodes.program("train", "mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "python", "-c", by_itself, nodes="/0")
    check(said.count(f"carried by {PREFIX}/train/") == 2, said)
    nodes.job("train", "sh", "-c", "exit $((OMPI_COMM_WORLD_RANK * 3))", code=3)
    job = nodes.user.run("run", "job", "-c", nodes.name, "-np", "2", "--env", "train", "--detach", "-o", "name", "--", "sleep", "987").out.decode().strip()
    check(within(30, lambda: nodes.on_nodes("pgrep", "-xc", "sleep", code=None).count(": 1") == 2), "the job does not run")
    nodes.user.run("cancel", "job", job)
    left = nodes.on_nodes("sh", "-c", "pgrep -x 'sleep|prterun|prted|mpirun' || true")
    check(left == "", f"left: {left}")


@with_nodes
def test_open_mpi_is_the_nodes_own_where_that_is_wanted(nodes):
    nodes.create("plain", "numpy", more="mpi: system\n")
    check(nodes.on_nodes("sh", "-c", f"ls {PREFIX}/plain/current/bin/mpirun 2>&1 || true").count("No such file") == 2, "it has one")
    said = nodes.job("plain", "python", "-c", CARRIER, more=BY_MPI)
    check(said.count("carried by /usr/lib/") == 2, said)


@with_nodes
def test_what_cannot_be_demonstrated_is_told(nodes):
    nodes.create("empty")
    nodes.user.refused(["env", "demo", "empty", "-c", nodes.name], 5, "neither numpy nor PyTorch", "install-frameworks empty")
    nodes.user.refused(["env", "demo", "other", "-c", nodes.name], 5, "other")
    nodes.create("train", "numpy")
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name + "/0"], 2, "--oversubscribe")
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name, "-np", "9"], 2, "9")


run_tests(dict(globals()))
