"""A user of the command line, for tests that run it.

Needs root, sshd and mpirun; skipped where it cannot run. Whatever happens, it cleans up after
itself.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import shown_documents
import suite
from suite import assert_equal, assert_in


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
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **streams,
        }
        return subprocess.Popen(
            [*prefix, self.fastgpu, *words], env=self.environment(environment), **streams
        )

    def run(self, *words, code=0, timeout=120, **more):
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        process.out, process.err = out or b"", (err or b"").decode(errors="replace")
        if code is not None and process.returncode != code:
            raise AssertionError(
                f"{words}: exit code {process.returncode}, not {code}\n"
                f"{process.out[-2000:]}{process.err}"
            )
        shown_documents.check_output(words, process.out)
        return process

    def refused(self, words, code, *said, **more):
        """The command ends with the code, and its error says all of that."""
        done = self.run(*words, code=code, **more)
        lines = [line for line in done.err.split("\n") if line.startswith("error: ")]
        assert_equal(len(lines), 1, f"{words}: {len(lines)} errors: {done.err}")
        for text in said:
            assert_in(text, done.err, f"{words}")
        return done

    def nodes(self, count):
        if not self.made:
            self.run("create", "cluster", self.cluster, "--nodes", str(count))
            self.made = True
        return self.cluster

    def two_nodes(self):
        return self.nodes(2)

    def address_for(self, cluster):
        """Returns the address of this machine that the nodes of a cluster reach."""
        node = json.loads(self.run("get", "nodes", cluster, "-o", "json").out)["nodes"][0]
        route = subprocess.run(
            ["ip", "-j", "route", "get", node["address"]], check=True, capture_output=True
        ).stdout
        return json.loads(route)[0]["prefsrc"]

    def tmpfs(self, name, options):
        place = self.folder / name
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
        self.mounts.append(place)
        return place

    def clean_up(self):
        with contextlib.suppress(Exception):
            for cluster in json.loads(self.run("get", "clusters", "-o", "json", code=None).out)[
                "clusters"
            ]:
                self.run("delete", "cluster", cluster["name"], "--yes", code=None)
            self.run("gc", code=None)
        self.unmount()

    def unmount(self):
        while self.mounts:
            subprocess.run(["umount", "-l", self.mounts.pop()], check=False)

    def check_nothing_is_left(self, state=None):
        environment = {"FASTGPU_STATE_DIR": str(state)} if state else None
        found = json.loads(self.run("get", "clusters", "-o", "json", environment=environment).out)
        assert_equal(found["clusters"], [], f"left: {found}")
        assert_equal(
            json.loads(self.run("gc", "-o", "json", environment=environment).out)["settled"],
            [],
            "gc finds something",
        )


def job_words(cluster, ranks, program, *more):
    """Returns the words that run a job of that program. `more` are its name and further options."""
    return ("run", "job", *more, "-c", cluster, "-np", str(ranks), "--", *program)


def job_folders(user, cluster):
    """Returns the folders of jobs on the first node of a cluster."""
    words = ["exec", f"{cluster}/0", "--", "sh", "-c", "ls /root/.fastgpu/jobs 2>/dev/null; true"]
    return sorted(user.run(*words).out.decode().replace(f"{cluster}-0: ", "").split())


def take_ids(user, cluster, *ids):
    """Puts jobs of these ids on the nodes, as another machine with the same nodes does."""
    user.run(*job_words(cluster, 2, ["true"], "theirs", "--launcher", "plain"))
    copies = "; ".join(f"cp -a theirs-1 {one}" for one in ids)
    user.run("exec", cluster, "--", "sh", "-c", f"cd ~/.fastgpu/jobs; {copies}")


def signal_relays(name):
    """Returns a shell script that signals the agents that receive a copy and prints "signalled"."""
    return (
        "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q "
        f"'fastgpu-agent.* [r]elay --to' && kill -{name} ${{p#/proc/}} && echo signalled; "
        "done; true"
    )


def end_by_signal(process, number, code):
    """Sends the signal, and checks the exit code that the process ends with. Returns its errors."""
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert_equal(process.returncode, code, err.decode())
    return err.decode()


def inits_of(node):
    """The process, outside, that is number 1 of that node."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            status = (entry / "status").read_text()
            if (
                re.search(r"^NSpid:\t\d+\t1$", status, re.M)
                and (entry / "root/etc/hostname").read_text().strip() == node
            ):
                yield int(entry.name)


def within(seconds, condition):
    """Waits until the condition is true; returns False if that takes longer. A condition that runs
    a command leaves the processor to others as long as it has used it.
    """
    deadline = time.monotonic() + seconds
    began = time.monotonic()
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(min(max(0.02, time.monotonic() - began), 0.5))
        began = time.monotonic()
    return True


def shared_cluster(test, kind="usual"):
    """Marks a test that runs on the cluster that all such tests of its file share, those of each
    kind one. Any other has a state directory of its own.
    """
    test.on_shared_cluster = kind
    return test


class Users:
    """The users of a file's tests: one for each, and one for each cluster that tests share."""

    def __init__(self, fastgpu):
        self.fastgpu, self._open, self._shared = fastgpu, contextlib.ExitStack(), {}

    def shared(self, kind):
        if kind not in self._shared:
            folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="fastgpu-user-"))
            self._shared[kind] = User(self.fastgpu, folder)
            self._open.callback(self._shared[kind].clean_up)
        return self._shared[kind]

    @contextlib.contextmanager
    def user_for(self, test):
        """Yields the user of a test, with a folder for this test alone."""
        with (
            tempfile.TemporaryDirectory(prefix="fastgpu-user-") as folder,
            contextlib.ExitStack() as stack,
        ):
            if kind := getattr(test, "on_shared_cluster", None):
                user = self.shared(kind)
                user.folder = pathlib.Path(folder)
                stack.callback(user.unmount)
            else:
                user = User(self.fastgpu, folder)
                stack.callback(user.clean_up)
            yield user

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._open.close()


def run_tests(names):
    """Runs the tests of a file, given its globals(): TEST.py
    FASTGPU [TEST ...]. Each gets a User.
    """
    suite.need_root("mpirun", "ip", "unshare", "/usr/sbin/sshd")
    users = Users(os.path.abspath(sys.argv[1]))
    suite.main(suite.tests_of(names), users.user_for, sys.argv[2:], shared=users)
