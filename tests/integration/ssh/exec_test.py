"""`fastgpu exec` as a person has it, on two nodes of this machine: exec_test.py FASTGPU [TEST...]

Exit code 77: this machine cannot carry it.
"""

import contextlib
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests, shared_cluster, within
from suite import assert_equal, assert_in, assert_not_in, assert_true
from terminal import Terminal

# The first node ends, the second has said something and goes on, with a process behind it.
UNEVEN = "echo begun on $(hostname); case $(hostname) in *-0) exit;; esac; sleep 987 & sleep 987"


def interrupted(user, name, *words):
    """The data and what else a terminal shows, after a Ctrl-C once one of two nodes has ended."""
    command = 'exec "$@" >"$0"'  # So that what is data can be told from what is said beside it.
    data = user.folder / "data"
    with contextlib.closing(
        Terminal(
            "sh",
            "-c",
            command,
            str(data),
            user.fastgpu,
            "exec",
            name,
            *words,
            "--",
            "sh",
            "-c",
            UNEVEN,
            columns=200,
            variables=user.environment(),
        )
    ) as terminal:
        terminal.expect(f"1 done, waiting for {name}-1")
        assert_true(within(10, lambda: sleeps(user, name) == 2), "the second node does not run it")
        terminal.seen = b""
        terminal.type("\x03")
        code = terminal.end()
        said = terminal.seen.decode()
    assert_equal(code, 130, f"exit code {code}: {said}")
    assert_true(within(5, lambda: sleeps(user, name) == 0), "something is left running")
    return data.read_text(), said


def sleeps(user, name):
    return (
        len(user.run("exec", f"{name}/1", "--", "pgrep", "-x", "sleep", code=None).out.split(b"\n"))
        - 1
    )


@shared_cluster
def test_ctrl_c_leaves_what_was_shown_and_names_who_had_not_ended(user):
    name = user.two_nodes()
    data, said = interrupted(user, name)
    assert_equal(
        sorted(data.splitlines()), [f"{name}-{i}: begun on {name}-{i}" for i in (0, 1)], data
    )
    assert_true(re.search(rf"{name}-1 \([^ ]+\): interrupted\r?\n", said), said)
    assert_equal(said.count(f"{name}-1"), 1, said)
    assert_not_in(f"{name}-0", said)


@shared_cluster
def test_ctrl_c_shows_the_folded_outputs_that_have_come(user):
    name = user.two_nodes()
    data, said = interrupted(user, name, "-b")
    for i in (0, 1):
        assert_in(f"{name}-{i} (1)\n----------------\nbegun on {name}-{i}\n", data)
    assert_true(re.search(rf"{name}-1 \([^ ]+\): interrupted\r?\n", said), said)
    assert_equal(said.count(f"{name}-1"), 1, said)
    assert_not_in(f"{name}-0", said)


@shared_cluster
def test_ctrl_c_leaves_a_whole_json_document(user):
    name = user.two_nodes()
    data, _ = interrupted(user, name, "-o", "json")
    found = json.loads(data)
    ended, stopped = found["hosts"]
    assert_equal(found["exit_code"], 130, f"{found}")
    assert_equal(
        (ended["name"], ended["exit_code"], ended["error"]), (f"{name}-0", 0, None), f"{ended}"
    )
    assert_equal(
        (stopped["name"], stopped["exit_code"], stopped["error"]["kind"]),
        (f"{name}-1", 130, "interrupted"),
        f"{stopped}",
    )
    assert_equal(
        [host["stdout"] for host in found["hosts"]],
        [f"begun on {name}-{i}\n" for i in (0, 1)],
        f"{found}",
    )


@shared_cluster
def test_what_is_left_out_runs_nothing(user):
    name = user.two_nodes()
    for words in (
        (name, "-x", "0"),
        (f"{name}/0-1", "-x", f"{name}-0"),
        (f"{name}/@running", "--exclude", "@head"),
    ):
        said = user.run("exec", *words, "--", "hostname").out.decode()
        assert_equal(said, f"{name}-1: {name}-1\n", f"{words}")
    user.refused(["exec", name, "-x", "0-1", "--", "hostname"], 2, "excludes every node")
    user.refused(["exec", name, "-x", "7", "--", "hostname"], 5, "no node '7'")


@shared_cluster
def test_more_than_is_kept_is_cut_and_said(user):
    name = user.two_nodes()
    megabytes = (
        f"case $(hostname) in *-1) head -c {70 << 20} /dev/zero | tr '\\0' x;; *) echo little;; "
        "esac"
    )
    done = user.run("exec", name, "-b", "--", "sh", "-c", megabytes)
    assert_in(f"{name}-1: output truncated: with -b or -o at most 64 MiB per stream", done.err)
    assert_not_in(f"{name}-0", done.err)
    assert_in(
        f"{name}-0 (1)\n----------------\nlittle\n".encode(),
        done.out,
        "the short output is missing",
    )
    assert_in(
        f"{name}-1 (1), cut\n----------------\n".encode(), done.out, "what was cut looks whole"
    )
    assert_equal(done.out.count(b"x"), 64 << 20, f"{done.out.count(b'x')} bytes")


if __name__ == "__main__":
    run_tests(globals())
