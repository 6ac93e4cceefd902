"""A terminal with a command in it, for tests: what a person types, and what they see."""

import fcntl
import os
import select
import struct
import subprocess
import termios
import time

PATIENCE = 15.0


class Terminal:
    """A terminal with a command in it; what it shows is in `seen`."""

    def __init__(self, *command, columns=97, rows=31, variables=()):
        self.master, self.slave = os.openpty()
        self.resize(columns, rows)
        modes = termios.tcgetattr(self.slave)
        modes[0] |= 0o40000  # IUTF8, as terminals set it
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            **dict(variables),
        }
        self.process = subprocess.Popen(
            command,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment,
            preexec_fn=self.take_terminal,
            close_fds=True,
        )

    def take_terminal(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def pump(self, seconds):
        """Takes what is shown, for at most so long; False where there is nothing."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def type(self, text):
        data = text.encode() if isinstance(text, str) else text
        os.set_blocking(self.master, False)
        end = time.monotonic() + PATIENCE
        while data and time.monotonic() < end:
            self.pump(0)
            try:
                data = data[os.write(self.master, data) :]
            except BlockingIOError:
                self.pump(0.05)
        assert not data, f"{len(data)} bytes were not taken"

    def expect(self, text):
        """Waits until `text` is shown; what comes after it is left to be seen."""
        wanted = text.encode()
        end = time.monotonic() + PATIENCE
        while wanted not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen[-600:]!r}"
            self.pump(0.1)
        before, self.seen = self.seen.split(wanted, 1)
        return before

    def expect_all(self, texts):
        """Waits until each of `texts` is shown, in whatever order."""
        end = time.monotonic() + PATIENCE
        while missing := [text for text in texts if text.encode() not in self.seen]:
            assert time.monotonic() < end, f"no {missing} in {self.seen[-600:]!r}"
            self.pump(0.1)
        self.seen = b""

    def run(self, line, answer):
        """Types a command line; the answer must be one that its echo cannot be taken for."""
        self.type(line + "\r")
        return self.expect(answer)

    def end(self):
        """The exit code, once the program has ended by itself."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, f"still running: {self.seen[-600:]!r}"
            self.pump(0.05)
        while self.pump(0.1):
            pass
        return self.process.returncode

    def modes_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)
