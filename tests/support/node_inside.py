"""A local node seen from inside, without ssh: for tests that break its network or its sshd."""

import contextlib
import os
import pathlib
import subprocess
import time

from cli_user import inits_of


class NodeInside:
    """The network, the processes and the files of a local node."""

    def __init__(self, node):
        self.init = next(iter(inits_of(node)))
        self.enter = ["nsenter", "-t", str(self.init), "-n", "-p", "-m"]
        shown = self.run("ip", "-o", "-4", "addr", "show", "scope", "global", check=True)
        self.link = shown.stdout.split()[1]

    def run(self, *words, check=False):
        return subprocess.run([*self.enter, *words], check=check, capture_output=True, text=True)

    def set_link(self, state):
        self.run("ip", "link", "set", self.link, state, check=True)

    def has(self, pattern):
        """Returns true if a process on the node has a command line that matches."""
        return self.run("pgrep", "-f", pattern).returncode == 0

    @contextlib.contextmanager
    def cut(self):
        """Yields the moment of the cut, and mends the link at the end."""
        self.set_link("down")
        try:
            yield time.monotonic()
        finally:
            self.set_link("up")

    def processes(self):
        """Returns the processes of the node, by their ids outside."""
        theirs = f"/proc/{self.init}/ns/pid"
        pids = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(entry / "ns/pid") == os.readlink(theirs):
                    pids.append(int(entry.name))
        return pids
