"""The demonstrations of TensorFlow, JAX, MXNet and PyTorch in environments of two local nodes, and
the tests of what fastgpu_comm has for each.

Needs the wheels of frameworks/*.txt, as `./dev test --long` puts them into the build's tools, and
Debian's PyTorch; skipped where they are not there.
"""

import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
sys.path.insert(0, str(HERE))
from cli_user import run_tests  # noqa: E402
from suite import assert_equal, assert_in, assert_less_equal, assert_true, skip  # noqa: E402
from wheel_nodes import PREFIX, with_nodes  # noqa: E402

BINDINGS = HERE.parents[1] / "comm/python"
SUITE = HERE.parents[1] / "support/suite.py"
SHARED = ("ranks.py", "torch_models.py", "training.py")  # What the tests import.
TESTS = {"torch": ("torch_test.py", "torch_optimizer_test.py", "torch_tensors_test.py")}
DEBIANS = "/usr/lib/python3/dist-packages"


def learns(nodes, framework):
    """One rank and two come to the same, and nothing is left in the environment."""
    runs = [
        run
        for run in json.loads(nodes.demo("train", "-o", "json").out)["runs"]
        if run["framework"] == framework
    ]
    assert_equal([run["ranks"] for run in runs], [1, 2], f"{runs}")
    assert_true(all(run["accuracy"] >= 0.95 for run in runs), f"{runs}")
    assert_less_equal(abs(runs[0]["accuracy"] - runs[1]["accuracy"]), 0.005, f"{runs}")
    nodes.user.run("env", "verify", "train", "-c", nodes.name)


def passes_its_tests(nodes, framework):
    """With the Python of the environment, which needs nothing but what is in it."""
    tests = TESTS.get(framework, (f"{framework}_test.py",))
    files = [SUITE, *(BINDINGS / name for name in (*SHARED, *tests))]
    nodes.user.run("cp", *map(str, files), f"{nodes.name}/0:/root/")
    build = f"{PREFIX}/train/current"
    for test in tests:
        said = nodes.on_nodes(
            f"{build}/bin/python",
            f"/root/{test}",
            f"{build}/lib/fastgpu/python",
            f"{build}/lib/fastgpu/libfastgpu_comm.so.0",
            nodes="/0",
            timeout=400,
        )
        assert_in("ok: ", said)


def says_which_numpy_mxnet_needs(nodes):
    script = f"{PREFIX}/train/current/lib/python3.11/site-packages/numpy/__init__.py"
    newer = (
        "\n__version__ = '1.26.4'\n__deprecated_attrs__.pop('bool')\n"  # As numpy is from 1.24 on.
    )
    nodes.on_nodes("sh", "-c", f'printf %s "$0" >>{script}', newer)
    done = nodes.demo("train", code=1)
    assert_in("MXNet cannot be imported with numpy 1.26.4: it needs one older than 1.24", done.err)


@with_nodes("wheels", "tensorflow")
def test_tensorflow(nodes):
    nodes.create("train", "tensorflow-cpu")
    learns(nodes, "tensorflow")
    passes_its_tests(nodes, "tensorflow")


@with_nodes("wheels", "jax")
def test_jax(nodes):
    nodes.create("train", "jax")
    learns(nodes, "jax")
    passes_its_tests(nodes, "jax")


@with_nodes("wheels", "mxnet")
def test_mxnet(nodes):
    nodes.create("train", "mxnet", "numpy<1.24")
    learns(nodes, "mxnet")
    passes_its_tests(nodes, "mxnet")
    says_which_numpy_mxnet_needs(nodes)


@with_nodes("wheels")
def learns_by_debians_torch(nodes):
    """Nodes have this machine's files: a package of PyTorch's name leads to what is there."""
    nodes.index.add("torch", "1.13.1", {"debian.pth": DEBIANS + "\n"})
    nodes.create("train", "torch")
    learns(nodes, "torch")
    passes_its_tests(nodes, "torch")


def test_torch(user):
    if not os.path.exists(f"{DEBIANS}/torch"):
        skip("no PyTorch here (Debian: python3-torch)")
    learns_by_debians_torch(user)


run_tests(dict(globals()))
