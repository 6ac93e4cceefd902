"""What tests of environments share: two nodes, an index beside them, and what lies on the nodes."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import shared_cluster
from suite import assert_equal, skip

PREFIX = "/opt/fastgpu/envs"
# What is not an environment's: the agent, the cluster's key, jobs, and what is logged whatever is
# run.
STAYS = (
    "/root/.fastgpu/bin",
    "/root/.fastgpu/clusters",
    "/root/.fastgpu/jobs",
    "/root/.fastgpu/jobs.lock",
    "/var/log",
)


def look_of(path):
    """Kind, mode, owner and content: all but times."""
    status = path.lstat()
    content = (
        os.readlink(path)
        if stat.S_ISLNK(status.st_mode)
        else hashlib.sha256(path.read_bytes()).hexdigest()
        if stat.S_ISREG(status.st_mode)
        else status.st_rdev
    )
    return oct(status.st_mode), status.st_uid, status.st_gid, content


def changes(site):
    """What the nodes have changed of their file systems since they were made, wherever it lies;
    what others do on this machine is not in it.
    """
    found = set()
    for upper in site.user.state.glob("local/*/*/layers/*/upper"):
        is_root = upper.parent.name == "root"
        for path in upper.rglob("*"):
            place = pathlib.Path("/", path.relative_to(upper))
            if any(place == top or top in place.parents for top in map(pathlib.Path, STAYS)):
                continue
            with contextlib.suppress(FileNotFoundError):
                if not is_root or not os.path.lexists(place) or look_of(path) != look_of(place):
                    found.add((str(upper), str(place), *look_of(path)))
    return found


def built_tool(pattern):
    """What `./dev test` has taken from PyPI, or None."""
    return next(
        map(str, (pathlib.Path(sys.argv[1]).resolve().parents[1] / "tools").glob(pattern)), None
    )


def find_uv():
    for found in (os.environ.get("FASTGPU_UV"), built_tool("uv/site/bin/uv"), shutil.which("uv")):
        if found:
            return found
    skip("no uv here; `./dev test` gets it from PyPI")


def find_rattler():
    for found in (os.environ.get("FASTGPU_PY_RATTLER"), built_tool("py-rattler/site/*.whl")):
        if found:
            return found
    skip("no py-rattler here; `./dev test` gets it from PyPI")


class Site:
    """A cluster of two nodes, or more, with an env.yaml. Who inherits makes an index that the nodes
    reach, by `make_index`, and says by `head` what stands in env.yaml above the packages.
    """

    NODES = 2
    TOOL = ()  # How the builder's program is named to fastgpu.

    def __init__(self, user):
        self.user, self.name = user, user.nodes(self.NODES)
        nodes = json.loads(user.run("get", "nodes", self.name, "-o", "json").out)["nodes"]
        route = subprocess.run(
            ["ip", "-j", "route", "get", nodes[0]["address"]],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        self.index = self.make_index(json.loads(route)[0]["prefsrc"])
        self.file = user.folder / "env.yaml"
        self.write("alpha")

    def make_index(self, address):
        raise NotImplementedError

    def head(self):
        raise NotImplementedError

    def write(self, *packages, more=""):
        lines = "".join(f"  - {package}\n" for package in packages)
        self.file.write_text(f"name: train\n{self.head()}packages:\n{lines}{more}")

    def words(self, *more):
        return ["env", "create", "-c", self.name, "-f", str(self.file), *self.TOOL, *more]

    def create(self, *more, **options):
        return self.user.run(*self.words(*more), **options)

    def listed(self):
        found = json.loads(self.user.run("env", "list", "-c", self.name, "-o", "json").out)[
            "environments"
        ]
        return {one["name"]: one for one in found}

    def on_nodes(self, *command, nodes="", code=0):
        return self.user.run("exec", self.name + nodes, "--", *command, code=code).out.decode()

    def said_by(self, node, *command):
        return json.loads(
            self.user.run("exec", f"{self.name}/{node}", "-o", "json", "--", *command).out
        )["hosts"][0]["stdout"]

    def sent_by_first(self):
        """Bytes that have left the node that builds."""
        lines = self.said_by(0, "cat", "/proc/net/dev").splitlines()[2:]
        counters = {
            name.strip(): numbers.split() for name, numbers in (line.split(":") for line in lines)
        }
        return sum(int(numbers[8]) for name, numbers in counters.items() if name != "lo")

    def program(self, *command, nodes=""):
        return self.user.run(
            "env", "activate", "train", "-c", self.name + nodes, "--", *command
        ).out.decode()

    def nothing_is_used(self):
        """No node runs anything of a new build."""
        left = self.on_nodes("sh", "-c", f"ls {PREFIX}/train/current 2>&1 || true")
        assert_equal(left.count("No such file"), self.NODES, f"something is in use: {left}")

    def close(self):
        """The builder's programs stay on the nodes for the next test."""
        self.user.run("env", "remove", "train", "-c", self.name, code=None)
        self.index.close()


def with_site(kind):
    """A test gets a site of that kind: on the cluster that tests share, or on its own if it needs
    more nodes.
    """

    def wrap(test):
        def run(user):
            with contextlib.closing(kind(user)) as site:
                test(site)

        return shared_cluster(run) if kind.NODES == Site.NODES else run

    return wrap
