"""What comes with every environment, on two local nodes: libfastgpu_comm's Python package, and the demonstrations, with the numpy of PyPI.

Needs uv and the wheels of wheels.txt, as `./dev test` puts them into the build's tools; skipped where they are not there.
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cli_user import SKIPPED, check, run_tests  # noqa: E402
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

    def create(self, name, *packages):
        file = self.user.folder / f"{name}.yaml"
        lines = "".join(f"  - {package}\n" for package in packages)
        file.write_text(f"name: {name}\npython: /usr/bin/python3\nindex: {self.index.url}\npackages:\n{lines}")
        self.user.run("env", "create", "-c", self.name, "-f", str(file), "--uv", UV)

    def on_nodes(self, *command):
        return self.user.run("exec", self.name, "--", *command).out.decode()

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
    table = nodes.demo("train", "-np", "3", "--oversubscribe").out.decode()
    check(table.count("numpy") == 2 and "ACCURACY" in table, table)
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
    job = nodes.user.run("run", "job", "-c", nodes.name, "-np", "2", "--env", "train", "--", "python", "-c", script)
    check(job.out.count(b"sum 6.0") == 2, f"{job.out}")


@with_nodes
def test_what_cannot_be_demonstrated_is_told(nodes):
    nodes.create("empty")
    nodes.user.refused(["env", "demo", "empty", "-c", nodes.name], 5, "neither numpy nor PyTorch", "install-frameworks empty")
    nodes.user.refused(["env", "demo", "other", "-c", nodes.name], 5, "other")
    nodes.create("train", "numpy")
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name + "/0"], 2, "--oversubscribe")
    nodes.user.refused(["env", "demo", "train", "-c", nodes.name, "-np", "9"], 2, "9")


run_tests(dict(globals()))
