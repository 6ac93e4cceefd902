"""A user of the command line, for tests that run it: TEST.py FASTGPU [TEST ...]

Needs root, sshd and mpirun; exits with 77 where it cannot run. Whatever happens, it cleans up after itself.
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SKIPPED = 77


def check(condition, message):
    if not condition:
        raise AssertionError(message)


class User:
    """A state directory, and the program on it."""

    def __init__(self, fastgpu, folder):
        self.fastgpu, self.folder = fastgpu, pathlib.Path(folder)
        self.state = self.folder / "state"
        self.cluster = f"user{random.randrange(100000)}"
        self.made = False
        self.mounts = []

    def environment(self, more=None):
        return {**os.environ, "FASTGPU_STATE_DIR": str(self.state), "NO_COLOR": "1", **(more or {})}

    def start(self, *words, prefix=(), environment=None, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen([*prefix, self.fastgpu, *words], env=self.environment(environment), **streams)

    def run(self, *words, code=0, timeout=120, **more):
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        process.out, process.err = out or b"", (err or b"").decode(errors="replace")
        if code is not None and process.returncode != code:
            raise AssertionError(f"{words}: exit code {process.returncode}, not {code}\n{process.out[-2000:]}{process.err}")
        return process

    def refused(self, words, code, *said, **more):
        """The command ends with the code, and its error says all of that."""
        done = self.run(*words, code=code, **more)
        lines = [line for line in done.err.split("\n") if line.startswith("error: ")]
        check(len(lines) == 1, f"{words}: {len(lines)} errors: {done.err}")
        for text in said:
            check(text in done.err, f"{words}: no {text!r} in: {done.err}")
        return done

    def nodes(self, count):
        if not self.made:
            self.run("create", "cluster", self.cluster, "--nodes", str(count))
            self.made = True
        return self.cluster

    def two_nodes(self):
        return self.nodes(2)

    def tmpfs(self, name, options):
        place = self.folder / name
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
        self.mounts.append(place)
        return place

    def clean_up(self):
        with contextlib.suppress(Exception):
            for cluster in json.loads(self.run("get", "clusters", "-o", "json", code=None).out)["clusters"]:
                self.run("delete", "cluster", cluster["name"], "--yes", code=None)
            self.run("gc", code=None)
        self.unmount()

    def unmount(self):
        while self.mounts:
            subprocess.run(["umount", "-l", self.mounts.pop()], check=False)

    def check_nothing_is_left(self, state=None):
        environment = {"FASTGPU_STATE_DIR": str(state)} if state else None
        found = json.loads(self.run("get", "clusters", "-o", "json", environment=environment).out)
        check(found["clusters"] == [], f"left: {found}")
        check(json.loads(self.run("gc", "-o", "json", environment=environment).out)["settled"] == [], "gc finds something")


def inits_of(node):
    """The process, outside, that is number 1 of that node."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            status = (entry / "status").read_text()
            if re.search(r"^NSpid:\t\d+\t1$", status, re.M) and (entry / "root/etc/hostname").read_text().strip() == node:
                yield int(entry.name)


def within(seconds, condition):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def run_tests(tests):
    """Every function of that dictionary whose name begins with test_, or those that the command line names; one cluster for all that need one."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("mpirun", "ip", "unshare", "/usr/sbin/sshd"))):
        sys.exit(SKIPPED)
    fastgpu, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = 0
    shared = None
    with contextlib.ExitStack() as stack:
        for name, test in list(tests.items()):
            if not name.startswith("test_") or (wanted and name not in wanted):
                continue
            if shared is None:
                shared = User(fastgpu, stack.enter_context(tempfile.TemporaryDirectory(prefix="fastgpu-user-")))
                stack.callback(shared.clean_up)
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="fastgpu-user-") as folder:
                user = User(fastgpu, folder)
                with_nodes = not {"nodes", "two_nodes"}.isdisjoint(test.__code__.co_names)
                if with_nodes:  # One cluster for all tests that need one.
                    user = shared
                    user.folder = pathlib.Path(folder)
                try:
                    test(user)
                    print(f"ok: {name} ({time.monotonic() - began:.1f} s)", flush=True)
                except Exception:
                    failed += 1
                    print(f"FAILED: {name}", flush=True)
                    traceback.print_exc()
                finally:
                    if with_nodes:
                        user.unmount()
                    else:
                        user.clean_up()
    sys.exit(1 if failed else 0)
