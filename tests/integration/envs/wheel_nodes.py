"""Two local nodes and an index beside them with real wheels of PyPI, as ./dev has put them into the
build's tools.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import job_words, shared_cluster
from package_index import PackageIndex
from suite import skip

PREFIX = "/opt/fastgpu/envs"
TOOLS = pathlib.Path(sys.argv[1]).resolve().parents[1] / "tools"
UV = os.environ.get("FASTGPU_UV", str(TOOLS / "uv/site/bin/uv"))


def find_wheels(*names):
    """Of the lists that ./dev gets by these names; the test is skipped where one is not there."""
    found = []
    for name in names:
        files = sorted((TOOLS / name / "site").glob("*.whl"))
        if not files or not os.path.exists(UV):
            skip(f"no uv, or no {name}, in {TOOLS}: ./dev gets them from PyPI")
        found += files
    return found


class Nodes:
    """Two nodes, and an index with those wheels that they reach."""

    def __init__(self, user, wheels):
        self.user, self.name = user, user.two_nodes()
        self.index = PackageIndex(user.address_for(self.name))
        self.index.add_wheels(wheels)

    def create(self, name, *packages, more=""):
        file = self.user.folder / f"{name}.yaml"
        lines = "".join(f"  - {package}\n" for package in packages)
        file.write_text(
            f"name: {name}\npython: /usr/bin/python3\nindex: {self.index.url}\npackages:\n"
            f"{lines}{more}"
        )
        self.user.run("env", "create", "-c", self.name, "-f", str(file), "--uv", UV, timeout=400)

    def program(self, name, *command, nodes=""):
        return self.user.run(
            "env", "activate", name, "-c", self.name + nodes, "--", *command
        ).out.decode()

    def job(self, name, *command, code=0, more=()):
        words = job_words(self.name, 2, command, "--environment", name, *more)
        return self.user.run(*words, code=code).out.decode()

    def on_nodes(self, *command, nodes="", **options):
        return self.user.run("exec", self.name + nodes, "--", *command, **options).out.decode()

    def demo(self, *more, **options):
        return self.user.run("env", "demo", *more, "-c", self.name, timeout=400, **options)


def with_nodes(*lists):
    """A test gets nodes beside an index with the wheels of those lists."""

    def wrap(test):
        def run(user):
            wheels = find_wheels(*lists)
            nodes = Nodes(user, wheels)
            try:
                test(nodes)
            finally:
                user.run("env", "remove", "--yes", "--all", "-c", nodes.name, code=None)
                nodes.index.close()

        return shared_cluster(run)

    return wrap
