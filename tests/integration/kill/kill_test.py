"""Kills fastgpu everywhere it can be killed, and looks at what is left afterwards.

kill_test.py FASTGPU KILL_AT [create|delete|run|cp ...] [--points N]

Each command is run once to count its system calls that change the world outside, then again and
again, killed by SIGKILL at one of them; and once at each fault point that it passes, where the
build has them. After each kill either the same command is repeated and must succeed, or `gc` must
clear all away; then the books are opened: processes, links, mounts, node directories, the database.
N points are tried (spread evenly; 0 tries every one).
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from suite import need_root

PAYLOAD = os.urandom(3_000_000)


class Bench:
    """One state directory, and all that fastgpu makes under it."""

    def __init__(self, fastgpu, kill_at, state):
        self.fastgpu, self.kill_at, self.state = fastgpu, kill_at, pathlib.Path(state)
        self.links = set(os.listdir("/sys/class/net"))
        self.processes = helpers()

    def run(self, *argv, expect=(0,), prefix=(), environment=None):
        env = {**os.environ, "FASTGPU_STATE_DIR": str(self.state), **(environment or {})}
        done = subprocess.run(
            [*prefix, self.fastgpu, *argv],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if expect is not None and done.returncode not in expect:
            raise AssertionError(
                f"fastgpu {' '.join(argv)}: exit status {done.returncode}\n"
                f"{done.stdout}{done.stderr}"
            )
        return done

    def killed_at(self, call, argv):
        """Runs argv killed at its call-th system call; False where it ended before."""
        return self.run(*argv, expect=None, prefix=(self.kill_at, str(call))).returncode == 0

    def killed_by_fault(self, count, argv):
        """Runs argv killed at the count-th fault point that it
        passes; False where it ended before.
        """
        return (
            self.run(*argv, expect=None, environment={"FASTGPU_FAULT": f"any:{count}"}).returncode
            == -9
        )

    def calls_of(self, argv):
        done = self.run(*argv, expect=(3,), prefix=(self.kill_at, "0"))
        return int(done.stderr.rsplit("calls: ", 1)[1])

    def nodes(self):
        return json.loads(self.run("get", "nodes", "-o", "json").stdout)["nodes"]

    def check_books_are_empty(self):
        left = []
        left += [
            f"cluster {c['name']}"
            for c in json.loads(self.run("get", "clusters", "-o", "json").stdout)["clusters"]
        ]
        left += [f"link {name}" for name in set(os.listdir("/sys/class/net")) - self.links]
        left += [f"process {name}" for name in helpers() - self.processes]
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            left += [f"mount {line.split()[1]}" for line in mounts if str(self.state) in line]
        local = self.state / "local"
        left += (
            [f"directory {entry}" for entry in local.iterdir() if entry.is_dir()]
            if local.exists()
            else []
        )
        left += [f"directory {entry}" for entry in (self.state / "clusters").glob("*")]
        if left:
            raise AssertionError("left behind: " + ", ".join(left))


def helpers():
    """The processes of ours that outlive a command, as "pid name"."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "exe").split("/")[-1].startswith(
                "fastgpu-"
            ):
                found.add(f"{entry.name} {(entry / 'comm').read_text().strip()}")
    return found


def check_advice(bench):
    """A cluster that was left half-made or half-deleted is not to be started."""
    said = bench.run("exec", "k", "--", "true", expect=None).stderr
    assert "start it with" not in said, said


class Create:
    """Killed in create: the same create completes it, or gc clears it away."""

    leaves_nothing = True
    argv = ("create", "cluster", "k", "--nodes", "2", "--timeout", "60s")

    def prepare(self, bench):
        pass

    def repair(self, bench, turn):
        check_advice(bench)
        if turn % 2:
            bench.run("gc")
        else:
            bench.run(*self.argv)
            names = [node["name"] for node in bench.nodes()]
            assert names == ["k-0", "k-1"], names
            bench.run("exec", "k", "--", "true")
            bench.run("delete", "cluster", "k", "--yes")
        # gc rolls back what was half-made; a create that was complete stays, as it should.
        bench.run("delete", "cluster", "k", "--yes", expect=(0, 5))


class Delete:
    """Killed in delete: the same delete, or gc, finishes it."""

    leaves_nothing = True
    argv = ("delete", "cluster", "k", "--yes")

    def prepare(self, bench):
        bench.run("create", "cluster", "k", "--nodes", "2")

    def repair(self, bench, turn):
        check_advice(bench)
        if turn % 2:
            bench.run("gc")
        bench.run(*self.argv, expect=(0, 5))


class Run:
    """Killed in run: gc ends the job's processes on the nodes."""

    leaves_nothing = False
    argv = ("run", "job", "j", "--cluster", "k", "-np", "2", "--", "sleep", "3.125")

    def prepare(self, bench):
        if not bench.nodes():
            bench.run("create", "cluster", "k", "--nodes", "2")

    def repair(self, bench, turn):
        bench.run("gc")
        found = bench.run("exec", "k", "--", "pgrep", "-x", "sleep", expect=None)
        assert found.returncode == 1, (
            f"ranks run on after gc: {found.returncode} {found.stdout}{found.stderr}"
        )
        bench.run("run", "job", "j", "--cluster", "k", "-np", "2", "--", "true")


class Cp:
    """Killed in cp: repeated, it is whole, and nothing half-made stays beside it."""

    leaves_nothing = False

    def __init__(self, payload):
        self.argv = ("cp", payload, "k:/root/target/payload")

    def prepare(self, bench):
        if not bench.nodes():
            bench.run("create", "cluster", "k", "--nodes", "2")
        bench.run("exec", "k", "--", "sh", "-c", "rm -rf /root/target; mkdir /root/target")

    def repair(self, bench, turn):
        seen = bench.run(
            "exec", "k", "--", "sh", "-c", "cat /root/target/payload 2>/dev/null | wc -c"
        )
        for line in seen.stdout.splitlines():
            assert line.split()[-1] in ("0", str(len(PAYLOAD))), (
                f"a half-made file is visible: {line}"
            )
        bench.run(*self.argv)
        seen = bench.run(
            "exec", "k", "--", "sh", "-c", "ls -A /root/target; wc -c < /root/target/payload"
        )
        wanted = {f"k-{i}: {text}" for i in (0, 1) for text in ("payload", str(len(PAYLOAD)))}
        assert set(seen.stdout.splitlines()) == wanted, seen.stdout


def points_of(total, wanted):
    if wanted == 0 or wanted >= total:
        return list(range(1, total + 1))
    return sorted({1 + i * (total - 1) // (wanted - 1) for i in range(wanted)})


def kills(bench, scenario, wanted):
    """Yields (where, a function that kills there and says whether it did)."""
    scenario.prepare(bench)
    total = bench.calls_of(scenario.argv)
    scenario.repair(bench, 0)
    for n in points_of(total, wanted):
        yield f"call {n} of {total}", lambda n=n: bench.killed_at(n, scenario.argv)
    for n in itertools.count(1):
        yield f"fault point {n}", lambda n=n: bench.killed_by_fault(n, scenario.argv)


def try_kills(bench, scenario, wanted):
    """Yields (where, failure or None) for each kill; ends where a
    fault point is beyond the last.
    """
    for turn, (where, kill) in enumerate(kills(bench, scenario, wanted)):
        try:
            scenario.prepare(bench)
            hit = kill()
            scenario.repair(bench, turn)
            if scenario.leaves_nothing:
                bench.check_books_are_empty()
            if where.startswith("fault") and not hit:
                return
            yield where, None
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            yield where, str(failure)
            bench.run("gc", expect=None)
            bench.run("delete", "cluster", "k", "--yes", expect=None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fastgpu")
    parser.add_argument("kill_at")
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--points", type=int, default=12)
    arguments = parser.parse_args()
    need_root()
    state = tempfile.mkdtemp(prefix="fastgpu-kill-", dir="/var/tmp")
    payload = pathlib.Path(state, "payload")
    payload.write_bytes(PAYLOAD)
    bench = Bench(os.path.abspath(arguments.fastgpu), os.path.abspath(arguments.kill_at), state)
    scenarios = {"create": Create(), "delete": Delete(), "run": Run(), "cp": Cp(str(payload))}
    passed = failed = 0
    start = time.monotonic()
    try:
        for name in arguments.scenarios or scenarios:
            for where, failure in try_kills(bench, scenarios[name], arguments.points):
                passed, failed = passed + (failure is None), failed + (failure is not None)
                if failure:
                    print(f"{name} killed at {where}: {failure}")
            bench.run("delete", "cluster", "k", "--yes", expect=None)
        bench.check_books_are_empty()
    finally:
        bench.run("delete", "cluster", "k", "--yes", expect=None)
        bench.run("gc", expect=None)
        shutil.rmtree(state, ignore_errors=True)
    print(f"{time.monotonic() - start:.0f} s")
    print(f"test cases: {passed + failed} | {passed} passed | {failed} failed | 0 skipped")
    sys.exit(1 if failed else 0)


main()
