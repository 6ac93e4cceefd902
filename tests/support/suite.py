"""Runs the tests of a file by unittest, all in one process: TEST.py PROGRAM... [TEST ...]

A test is a function whose name begins with test_ and is a sentence. It gets what the fixture of its
file makes: a function from the test to a context manager, which ends after the test. Assertions are
those of unittest as functions, and show the values they met. skip() leaves out a test, or all of
them when it is called by the file itself; the status is 77 if none has run.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
import unittest

SKIPPED = 77
__unittest = True  # By this name, unittest leaves a file's own frames out of tracebacks.

_CASE = unittest.TestCase()
_CASE.maxDiff = None
assert_equal = _CASE.assertEqual
assert_false = _CASE.assertFalse
assert_greater = _CASE.assertGreater
assert_greater_equal = _CASE.assertGreaterEqual
assert_is = _CASE.assertIs
assert_is_not = _CASE.assertIsNot
assert_less = _CASE.assertLess
assert_less_equal = _CASE.assertLessEqual
assert_not_equal = _CASE.assertNotEqual
assert_raises = _CASE.assertRaises
assert_true = _CASE.assertTrue


def _shown(value):
    """Returns a text of several lines as it is printed, and any other value as it is written."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return f"\n{text}" if isinstance(text, str) and "\n" in text.rstrip("\n") else repr(value)


def assert_in(member, container, message=""):
    if member not in container:
        raise AssertionError(f"{member!r} is not in {_shown(container)}\n{message}".rstrip())


def assert_not_in(member, container, message=""):
    if member in container:
        raise AssertionError(f"{member!r} is in {_shown(container)}\n{message}".rstrip())


class Skip(unittest.SkipTest, SystemExit):
    """Skips a test. Ends the program with status 77 where no test runs yet."""

    def __init__(self, reason):
        super().__init__(reason)
        self.code = SKIPPED


def skip(reason):
    """Skips the test that calls this, or the whole file."""
    print(f"skipped: {reason}", flush=True)
    raise Skip(reason)


def need_programs(*programs):
    """Skips unless these programs are installed."""
    for program in programs:
        if not shutil.which(program):
            skip(f"needs {program}")


def need_root(*programs):
    """Skips unless it is root that runs the tests, and these programs are installed."""
    if os.geteuid() != 0:
        skip("needs root")
    need_programs(*programs)


def tests_of(names):
    """Returns the tests among names, such as globals()."""
    return {name: function for name, function in names.items() if name.startswith("test_")}


class Test(unittest.TestCase):
    """One test function."""

    def __init__(self, name, function, fixture):
        super().__init__("call")
        self.name, self.function, self.fixture = name, function, fixture

    def call(self):
        if self.fixture is None:
            self.function()
            return
        with self.fixture(self.function) as made:
            self.function(made)


class Result(unittest.TestResult):
    """Prints what became of each test as it ends."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def print_line(self, word, test, more=""):
        print(f"{word}: {test.name} ({time.monotonic() - self.began:.1f} s){more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.print_line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.print_line("FAILED", test, f"\n{self.failures[-1][1]}")

    def addError(self, test, err):
        super().addError(test, err)
        self.print_line("FAILED", test, f"\n{self.errors[-1][1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.print_line("skipped", test, f": {reason}")

    def status(self):
        """Prints the sum. Returns the exit status."""
        failed, skipped = len(self.failures) + len(self.errors), len(self.skipped)
        passed = self.testsRun - failed - skipped
        print(
            f"test cases: {self.testsRun} | {passed} passed | {failed} failed | {skipped} skipped"
        )
        if failed:
            return 1
        return 0 if passed else SKIPPED


def main(tests, fixture=None, wanted=(), shared=None):
    """Runs tests, or those that `wanted` names, and ends the program. `shared` is a context manager
    that ends after the last of them.
    """
    unknown = [name for name in wanted if name not in tests]
    if unknown:
        sys.exit(f"there is no test {', '.join(unknown)}; there are {', '.join(tests)}")
    # Nothing but KeyboardInterrupt ends a run of unittest.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [
        Test(name, function, fixture)
        for name, function in tests.items()
        if not wanted or name in wanted
    ]
    result = Result()
    with shared or contextlib.nullcontext():
        unittest.TestSuite(chosen).run(result)
    sys.exit(result.status())
