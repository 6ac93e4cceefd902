"""The commands of ./dev, as far as they begin nothing: dev_test.py SOURCE [TEST ...]"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from suite import assert_equal, assert_in

SOURCE = pathlib.Path(sys.argv[1]).resolve()
RENAMED = {
    ("again",): "./dev retest",
    ("long",): "./dev test --long",
    ("huge",): "./dev test --huge",
    ("kills",): "./dev test --kill-every 1",
    ("kills", "5"): "./dev test --kill-every 5",
    ("mixes",): "./dev fuzz-faults",
    ("mixes", "10", "7"): "./dev fuzz-faults 10 7",
}


def dev(*words):
    """Returns the exit status, the output and the errors."""
    done = subprocess.run([SOURCE / "dev", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_without_arguments_the_commands_are_listed():
    status, listed, errors = dev()
    assert_equal((status, errors), (0, ""))
    assert_equal(dev("--help"), (0, listed, ""))
    headings = re.findall(r"^(\S.*):$", listed, re.M)
    assert_equal(headings, ["Set up", "Build and test", "Check", "Measure", "Release"])


def test_every_command_listed_has_a_row_in_the_page():
    listed = set(re.findall(r"^  ([a-z-]+(?: --[a-z-]+)?)", dev()[1], re.M))
    page = (SOURCE / "docs/hacking.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `\./dev ([a-z-]+(?: --[a-z-]+)?)", page, re.M))
    assert_equal(listed, described)


def test_a_former_word_names_the_new_one():
    for words, new in RENAMED.items():
        assert_equal(dev(*words), (2, "", f"dev: '{words[0]}' is now: {new}\n"))


def test_what_is_unknown_is_refused():
    status, _, errors = dev("tset")
    assert_equal(status, 2)
    assert_in("unknown command 'tset'", errors)
    status, _, errors = dev("test", "--lnog")
    assert_equal(status, 2)
    assert_in("test has no option '--lnog'", errors)
    for words in ((), ("0",), ("some",)):
        status, _, errors = dev("test", "--kill-every", *words)
        assert_equal(status, 2)
        assert_in("--kill-every needs a number of steps", errors)


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), wanted=sys.argv[2:])
