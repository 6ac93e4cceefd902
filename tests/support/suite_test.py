"""What suite.py makes of the tests of a file: suite_test.py [TEST ...]"""

import contextlib
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

import suite
from suite import assert_equal, assert_in, assert_not_in, assert_true

HERE = pathlib.Path(__file__).resolve().parent


class File:
    """A file of tests, which this test writes and runs."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder, "some_test.py")

    def write(self, text):
        head = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport suite\n"
        self.path.write_text(head + textwrap.dedent(text))

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, self.path, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words):
        """Returns the exit status and the output."""
        process = self.start(*words)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output


@contextlib.contextmanager
def file_for(_):
    with tempfile.TemporaryDirectory() as folder:
        yield File(folder)


MIXED = """
    def test_that_passes():
        suite.assert_equal(1 + 1, 2)
    def test_that_fails():
        suite.assert_in("three", ["one", "two"])
    def test_that_lacks_a_line():
        suite.assert_in("three", "one\\ntwo\\n", "numbers")
    def test_that_breaks():
        raise OSError("no such thing")
    def test_that_exits():
        sys.exit(0)
    def test_that_is_skipped():
        suite.skip("not here")
    suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
"""


def test_every_test_runs_and_each_failure_shows_what_it_met(file):
    file.write(MIXED)
    status, output = file.run()
    assert_equal(status, 1)
    for text in (
        "ok: test_that_passes",
        "FAILED: test_that_fails",
        "'three' is not in ['one', 'two']\n",
        "'three' is not in \none\ntwo\n\nnumbers\n",
        "OSError: no such thing",
        "FAILED: test_that_exits",
        "skipped: test_that_is_skipped",
        "test cases: 6 | 1 passed | 4 failed | 1 skipped",
    ):
        assert_in(text, output)
    assert_not_in("suite.py", output)  # Only the frames of tests are shown.


def test_named_tests_run_alone(file):
    file.write(MIXED)
    status, output = file.run("test_that_passes", "test_that_is_skipped")
    assert_equal(status, 0, output)
    assert_in("test cases: 2 | 1 passed | 0 failed | 1 skipped", output)


def test_a_name_that_is_unknown_is_an_error(file):
    file.write(MIXED)
    status, output = file.run("test_that_passed")
    assert_equal(status, 1)
    assert_in("there is no test test_that_passed; there are test_that_passes, ", output)


def test_a_file_in_which_all_is_skipped_ends_with_77(file):
    file.write(MIXED)
    assert_equal(file.run("test_that_is_skipped")[0], suite.SKIPPED)
    file.write("suite.need_programs('no-such-program')\n")
    assert_equal(file.run(), (suite.SKIPPED, "skipped: needs no-such-program\n"))


def test_a_fixture_sees_its_test_and_ends_after_it(file):
    file.write("""
        import contextlib
        @contextlib.contextmanager
        def fixture(test):
            print("begin", test.__name__)
            yield 7
            print("end")
        def test_one(number):
            print("runs with", number)
        suite.main(suite.tests_of(globals()), fixture, shared=contextlib.closing(open("/dev/null")))
    """)
    status, output = file.run()
    assert_equal((status, output.splitlines()[:3]), (0, ["begin test_one", "runs with 7", "end"]))


def test_sigterm_ends_the_run_and_its_fixtures(file):
    file.write("""
        import contextlib, time
        @contextlib.contextmanager
        def fixture(_):
            try:
                yield
            finally:
                print("cleaned up", flush=True)
        def test_long(_):
            print("runs", flush=True)
            time.sleep(60)
        def test_next(_):
            print("next", flush=True)
        suite.main(suite.tests_of(globals()), fixture)
    """)
    process = file.start()
    began = time.monotonic()
    assert_equal(process.stdout.readline(), "runs\n")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert_true(process.returncode != 0 and time.monotonic() - began < 30)
    assert_in("cleaned up", output)
    assert_not_in("next", output)


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), file_for, sys.argv[1:])
