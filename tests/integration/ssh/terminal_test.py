"""`fastgpu ssh` as a person at a terminal has it, on a node of this machine: terminal_test.py
FASTGPU

Exit code 77: this machine cannot carry it.
"""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from suite import need_root
from terminal import Terminal

FASTGPU = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ""
CLUSTER = f"tty{os.getpid()}"


class Login(unittest.TestCase):
    def setUp(self):
        self.terminal = None

    def tearDown(self):
        if self.terminal:
            self.terminal.close()

    def log_in(self, **options):
        self.terminal = Terminal(FASTGPU, "ssh", f"{CLUSTER}/0", **options)
        self.terminal.type("PS1='$''> '\r")
        self.terminal.expect("$> ")
        return self.terminal

    def test_the_size_is_that_of_our_terminal_and_follows_it(self):
        terminal = self.log_in(columns=97, rows=31)
        terminal.run("stty size", "31 97\r\n")
        terminal.resize(120, 40)
        terminal.run("sleep 0.2; stty size", "40 120\r\n")

    def test_the_type_of_the_terminal_and_the_language_arrive(self):
        terminal = self.log_in(variables={"TERM": "vt220"})
        terminal.run("echo =$TERM=$LANG=", "=vt220=C.UTF-8=\r\n")

    def test_ctrl_c_is_for_the_program_there(self):
        terminal = self.log_in()
        terminal.run("sh -c 'echo re\"\"ady; exec sleep 100'", "ready\r\n")
        terminal.type("\x03")
        terminal.expect("$> ")
        terminal.run("echo code=$?", "code=130\r\n")
        self.assertIsNone(terminal.process.poll())

    def test_the_exit_code_of_the_shell_is_ours_and_the_modes_are_restored(self):
        terminal = self.log_in()
        self.assertFalse(terminal.modes_restored())
        terminal.type("exit 7\r")
        self.assertEqual(terminal.end(), 7)
        self.assertTrue(terminal.modes_restored())

    def test_ctrl_d_ends_the_shell(self):
        terminal = self.log_in()
        terminal.type("\x04")
        self.assertEqual(terminal.end(), 0)

    def test_a_program_has_the_terminal_that_is_asked_for(self):
        self.terminal = Terminal(
            FASTGPU, "ssh", "-t", f"{CLUSTER}/0", "--", "sh", "-c", "stty size; exit 3"
        )
        self.terminal.expect("31 97\r\n")
        self.assertEqual(self.terminal.end(), 3)

    def test_a_lost_connection_is_said_and_the_modes_are_restored(self):
        terminal = self.log_in()
        terminal.type("kill -9 $PPID\r")
        self.assertEqual(terminal.end(), 1)
        self.assertIn(b"connection lost\r\n", terminal.seen)
        self.assertTrue(terminal.modes_restored())

    def test_sigterm_ends_us_and_the_modes_are_restored(self):
        terminal = self.log_in()
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.end(), 130)
        self.assertTrue(terminal.modes_restored())

    def test_two_signals_at_once_leave_the_modes_restored(self):
        terminal = self.log_in()
        terminal.process.send_signal(signal.SIGTERM)
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.end(), 130)
        self.assertTrue(terminal.modes_restored())

    def test_a_tilde_and_a_dot_leave(self):
        terminal = self.log_in()
        terminal.run("~?", "~.  leave")
        terminal.type("\r~.")
        self.assertEqual(terminal.end(), 130)
        self.assertTrue(terminal.modes_restored())

    def test_the_erase_key_takes_a_whole_letter_of_several_bytes(self):
        terminal = self.log_in()
        terminal.run("echo re''ady; read -r x; echo \"=$x=\"", "ready\r\n")
        terminal.type("aé\x7fb\r")
        terminal.expect("=ab=\r\n")

    def test_a_program_that_takes_the_whole_screen_works(self):
        if not shutil.which("less"):
            self.skipTest("no less here")
        terminal = self.log_in(columns=60, rows=12)
        terminal.run("for i in $(seq 100); do echo line-$i-é; done | less", "line-11-é")
        terminal.type("G")
        terminal.expect("line-100-é")
        terminal.type("q")
        terminal.expect("$> ")
        terminal.run("stty size", "12 60\r\n")

    def test_a_big_paste_arrives_whole(self):
        terminal = self.log_in()
        text = "".join(f"{i:08d} {'paste é ' * 8}\n" for i in range(1300))
        self.assertGreater(len(text), 90_000)
        terminal.run("stty -echo; echo re''ady; sha256sum", "ready\r\n")
        terminal.type(text.replace("\n", "\r"))
        terminal.type("\x04")
        terminal.expect(hashlib.sha256(text.encode()).hexdigest())

    def test_endless_output_leaves_room_for_ctrl_c(self):
        terminal = self.log_in()
        terminal.run("yes", "y\r\ny\r\n")
        terminal.type("\x03")
        terminal.run("echo code=$?", "code=130\r\n")

    def test_zz_ctrl_c_is_for_us_while_the_node_does_not_answer(self):
        stop = "kill -STOP $(pgrep -o sshd)"
        subprocess.run(
            [FASTGPU, "exec", f"{CLUSTER}/0", "--", "sh", "-c", stop],
            check=True,
            capture_output=True,
        )
        self.terminal = Terminal(FASTGPU, "ssh", f"{CLUSTER}/0")
        time.sleep(1)
        self.terminal.type("\x03")
        begin = time.monotonic()
        self.assertEqual(self.terminal.end(), 130)
        self.assertLess(time.monotonic() - begin, 3)


class BatchPrograms(unittest.TestCase):
    """Programs without a terminal. They get our standard input, and end with us."""

    def ssh(self, *words, **options):
        return subprocess.run(
            [FASTGPU, "ssh", f"{CLUSTER}/0", *words],
            capture_output=True,
            timeout=60,
            check=False,
            **options,
        )

    def is_running(self, program):
        found = self.ssh("--", "pgrep", "-xf", program)
        return found.returncode == 0

    def wait_for(self, program, running):
        until = time.monotonic() + 20
        while self.is_running(program) != running:
            self.assertLess(time.monotonic(), until, program)
            time.sleep(0.1)

    def test_a_program_ends_with_us_however_we_end(self):
        for number, end in enumerate(
            (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
        ):
            program = f"sleep {7000 + number}"
            with self.subTest(end=end):
                ours = subprocess.Popen(
                    [FASTGPU, "ssh", f"{CLUSTER}/0", "--", *program.split()],
                    stdin=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                self.wait_for(program, running=True)
                ours.send_signal(end)
                self.assertEqual(ours.wait(20), -9 if end == signal.SIGKILL else 130)
                self.wait_for(program, running=False)
                ours.stdin.close()

    def test_bytes_go_through_unchanged_in_both_directions(self):
        data = os.urandom(3_000_000)
        done = self.ssh("--", "sh", "-c", "cat; printf '\\0\\377e' >&2; exit 5", input=data)
        self.assertEqual((done.returncode, done.stderr), (5, b"\0\xffe"))
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())

    def test_a_login_shell_reads_commands_from_our_input(self):
        done = self.ssh(input=b"shopt -q login_shell && echo login\ncd /\npwd\nexit 9\n")
        self.assertEqual((done.returncode, done.stdout), (9, b"login\n/\n"))

    def test_a_reader_that_leaves_ends_the_program(self):
        words = f"{FASTGPU} ssh {CLUSTER}/0 -- yes 8000 | head -n 1"
        done = subprocess.run(["bash", "-c", words], capture_output=True, timeout=60, check=False)
        self.assertEqual(done.stdout, b"8000\n")
        self.wait_for("yes 8000", running=False)


def main():
    need_root("/usr/sbin/sshd")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FASTGPU_STATE_DIR"] = folder + "/state"
        os.environ["NO_COLOR"] = "1"
        try:
            subprocess.run(
                [FASTGPU, "create", "cluster", CLUSTER, "--quiet"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], exit=False).result
        finally:
            subprocess.run([FASTGPU, "delete", "cluster", CLUSTER, "--yes", "--quiet"], check=False)
            subprocess.run([FASTGPU, "gc", "--quiet"], check=False, capture_output=True)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
