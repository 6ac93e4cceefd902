"""What tests of environments share: two nodes, an index beside them, and what lies on the nodes."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import stat
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import job_words, shared_cluster, within
from suite import assert_equal, assert_true, skip

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


def builds_in(folder):
    """Returns the names of an environment's builds in its folder."""
    return [entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]


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
        self.index = self.make_index(user.address_for(self.name))
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

    def lock(self, out="env.lock"):
        """Makes a lock of env.yaml on the nodes. Returns its path."""
        file = self.user.folder / out
        self.user.run(
            *("env", "lock", "-f", str(self.file), "--force", "--out", str(file)),
            *(*self.TOOL, "-c", self.name),
        )
        return file

    def pack(self, archive):
        words = ("env", "pack", "train", "-c", self.name, "--force", "--out", str(archive))
        return self.user.run(*words)

    def remove(self):
        self.user.run("env", "remove", "--yes", "train", "-c", self.name)

    def manifest_of_two_builds(self):
        """Checks that two builds have the same files. Returns their manifest."""
        manifests = []
        for _ in range(2):
            self.create()
            show = f"tr '\\0' '\\n' <{PREFIX}/train/current/.fastgpu/manifest"
            manifests.append(self.on_nodes("sh", "-c", show, nodes="/0"))
            self.remove()
        one, other = (set(manifest.splitlines()) for manifest in manifests)
        assert_equal(manifests[0], manifests[1], "\n".join(sorted(one ^ other)[:10]))
        return manifests[0]

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

    def job(self, *program, more=()):
        """Runs a job of two ranks in the environment. Returns its output."""
        words = job_words(self.name, 2, program, "--environment", "train", *more)
        return self.user.run(*words).out.decode()

    @contextlib.contextmanager
    def job_that_runs(self, name):
        """Yields the id of a job of one rank that runs in the environment during the block."""
        words = ("--detach", "--environment", "train", "--", "sleep", "600")
        self.user.run("run", "job", name, "-c", self.name, "-np", "1", *words)
        jobs = json.loads(self.user.run("get", "jobs", "-o", "json").out)["jobs"]
        job = next(one["id"] for one in jobs if one["id"].startswith(name))
        try:
            yield job
        finally:
            self.user.run("cancel", "job", job)

    @contextlib.contextmanager
    def small_disk(self, place, node, size="300k"):
        """A node's file system of that size at that place, as long as the `with` block runs."""
        mount = f"mkdir -p {place} && mount -t tmpfs -o size={size} tmpfs {place}"
        self.on_nodes("sh", "-c", mount, nodes=node)
        try:
            yield
        finally:
            self.on_nodes("umount", place, nodes=node)

    @contextlib.contextmanager
    def old_c_library(self, node):
        """A node that reports an older C library, as long as the `with` block runs."""
        getconf = "/usr/local/bin/getconf"
        script = "#!/bin/sh\necho glibc 2.17\n"
        self.on_nodes("sh", "-c", f"printf '{script}' >{getconf}; chmod 755 {getconf}", nodes=node)
        try:
            yield f"{self.name}-{node[1:]}: its C library is glibc 2.17, but the lock is for glibc"
        finally:
            self.on_nodes("rm", getconf, nodes=node)

    def no_part_is_left(self, node):
        show = f"ls -A {PREFIX}/train 2>/dev/null || true"
        left = self.on_nodes("sh", "-c", show, nodes=node)
        assert_equal(left.strip(), "", f"a part is left on {node}")

    def ends_everywhere(self, *pattern):
        """Checks that the nodes soon run no process that this pattern of pgrep finds."""
        pgrep = ("exec", self.name, "--", "pgrep", *pattern)
        assert_true(
            within(20, lambda: self.user.run(*pgrep, code=None).returncode == 1), "it runs on"
        )

    def nothing_is_used(self):
        """No node runs anything of a new build."""
        left = self.on_nodes("sh", "-c", f"ls {PREFIX}/train/current 2>&1 || true")
        assert_equal(left.count("No such file"), self.NODES, f"something is in use: {left}")

    def close(self):
        """The builder's programs stay on the nodes for the next test."""
        self.user.run("env", "remove", "--yes", "train", "-c", self.name, code=None)
        self.index.close()


def with_site(kind):
    """A test gets a site of that kind, on the cluster of so many nodes that tests share."""

    def wrap(test):
        def run(user):
            with contextlib.closing(kind(user)) as site:
                test(site)

        return shared_cluster(run, f"{kind.NODES} nodes")

    return wrap
