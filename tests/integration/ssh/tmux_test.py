"""`fastgpu tmux` on two nodes of this machine, which share its programs: tmux_test.py FASTGPU
[TEST...]

Exit code 77: this machine cannot carry it, or has no tmux.
"""

import contextlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests, shared_cluster, within
from suite import assert_equal, assert_in, assert_not_in, assert_true, need_programs
from terminal import Terminal


@contextlib.contextmanager
def entered(user, *words):
    """A terminal in which `fastgpu tmux` runs."""
    with contextlib.closing(
        Terminal(user.fastgpu, "tmux", *words, variables=user.environment())
    ) as terminal:
        yield terminal


@contextlib.contextmanager
def no_sessions_after(user, name):
    try:
        yield name
    finally:
        user.run("exec", name, "--", "sh", "-c", "tmux kill-server 2>/dev/null; true")


def listed(user, target):
    return json.loads(user.run("tmux", target, "--list", "-o", "json").out)["sessions"]


def leave(terminal):
    terminal.type("\x02d")  # tmux's own keys for it.
    terminal.expect("[detached (from session")
    assert_equal(terminal.end(), 0, "leaving is a failure")
    assert_true(terminal.modes_restored(), "the terminal is left in other modes")


@shared_cluster
def test_the_shell_is_there_again_after_the_client_was_killed(user):
    with no_sessions_after(user, user.two_nodes()) as name:
        with entered(user, name) as terminal:
            terminal.run(
                'kept=some; kept=${kept}thing; echo "=$kept=$(hostname)="', f"=something={name}-0="
            )
            terminal.process.kill()
        assert_true(
            within(10, lambda: [one["attached"] for one in listed(user, name)] == [0]),
            f"{listed(user, name)}",
        )
        with entered(user, f"{name}/0") as terminal:
            terminal.run('echo "again:$kept:"', "again:something:")
            leave(terminal)
        with entered(user, name) as terminal:
            terminal.type("exit\r")
            terminal.expect("[exited]")
            assert_equal(terminal.end(), 0, "the end of the shell is a failure")
        assert_equal(listed(user, name), [], "the session has not ended with its shell")


@shared_cluster
def test_the_size_is_that_of_our_terminal_and_follows_it(user):
    with no_sessions_after(user, user.two_nodes()) as name, entered(user, name) as terminal:
        terminal.run('echo "=$(tput cols)="', "=97=")
        terminal.resize(120, 40)
        assert_true(within(5, lambda: "=120=" in look(terminal)), "it does not follow")


def look(terminal):
    terminal.type('echo "=$(tput cols)="\r')
    terminal.pump(0.3)
    return terminal.seen.decode(errors="replace")


@shared_cluster
def test_sessions_have_names_and_are_listed(user):
    with no_sessions_after(user, user.two_nodes()) as name:
        said = user.run("tmux", name, "--list")
        assert_equal(said.out, b"", f"{said.out} {said.err}")
        assert_in("no sessions", said.err, f"{said.out} {said.err}")
        user.run("tmux", f"{name}/1", "-d", "-s", "one", "--", "sleep", "987")
        user.run("tmux", f"{name}/1", "-d", "-s", "two")
        with entered(user, name, "--session", "mine") as terminal:
            terminal.run("echo in-$((1 + 1))", "in-2")
            found = {
                (one["node"], one["name"], one["windows"], one["attached"])
                for one in listed(user, name)
            }
        assert_equal(
            found,
            {(f"{name}-0", "mine", 1, 1), (f"{name}-1", "one", 1, 0), (f"{name}-1", "two", 1, 0)},
        )
        assert_equal(
            [one["name"] for one in listed(user, f"{name}/1")],
            ["one", "two"],
            "nodes that were not named are listed",
        )
        table = user.run("tmux", name, "-l").out.decode()
        assert_equal(
            table.split("\n")[0].split(),
            ["NODE", "SESSION", "CREATED", "WINDOWS", "ATTACHED"],
            table,
        )
        names = user.run("tmux", name, "-l", "-o", "name").out.decode().split()
        assert_in(f"{name}-1/one", names)


@shared_cluster
def test_a_server_that_fails_is_told_and_not_taken_for_no_sessions(user):
    with no_sessions_after(user, user.two_nodes()) as name:
        user.run("tmux", name, "-d", "-s", "one")
        user.run(
            "exec",
            f"{name}/1",
            "--",
            "sh",
            "-c",
            "printf '#!/bin/sh\necho lost server >&2\nexit 1\n"
            "' >/usr/local/bin/tmux; chmod 755 /usr/local/bin/tmux",
        )
        try:
            done = user.run("tmux", name, "--list", "-o", "json", code=1)
            assert_in(f"{name}-1: tmux exited with 1: lost server", done.err)
            assert_equal(
                [one["node"] for one in json.loads(done.out)["sessions"]],
                [f"{name}-0"],
                f"{done.out}",
            )
            said = user.run("tmux", f"{name}/1", "--list", code=1)
            assert_not_in("no sessions", said.err, f"{said.out} {said.err}")
            assert_equal(said.out, b"", f"{said.out} {said.err}")
        finally:
            user.run("exec", f"{name}/1", "--", "rm", "/usr/local/bin/tmux")
        assert_equal(listed(user, f"{name}/1"), [], "no server is told")


@shared_cluster
def test_a_program_runs_in_a_session_of_its_own_with_its_words_unchanged(user):
    words = ["a  b", "$HOME;", "it's", "", "*", ";", "a;", "b\\;", "\\", "ünï"]
    with no_sessions_after(user, user.two_nodes()) as name:
        user.run(
            "tmux",
            name,
            "--detach",
            "--",
            "sh",
            "-c",
            'printf "<%s>\n" "$@" >/root/said; sleep 987',
            "-",
            *words,
        )
        wanted = "".join(f"<{word}>\n" for word in words)
        assert_true(
            within(
                10,
                lambda: (
                    user.run("ssh", name, "--", "cat", "/root/said", code=None).out.decode()
                    == wanted
                ),
            ),
            "other words",
        )
        user.refused(
            ["tmux", name, "--detach", "--", "true"],
            6,
            f"{name}-0 already has a session fastgpu",
            "--session fastgpu",
        )
        assert_equal(
            user.run("exec", f"{name}/0", "--", "pgrep", "-x", "sleep", code=None).returncode,
            0,
            "it has ended with us",
        )
        user.run(
            "ssh",
            name,
            "--",
            "sh",
            "-c",
            "printf '#!/bin/sh\\necho ran >/root/ran\\n' >'/root/it is'; chmod +x '/root/it is'",
        )
        user.run("tmux", name, "-d", "-s", "other", "--", "/root/it is")
        assert_true(
            within(
                10,
                lambda: user.run("ssh", name, "--", "cat", "/root/ran", code=None).out == b"ran\n",
            ),
            "one word alone is not run",
        )


@shared_cluster
def test_what_cannot_be_is_told(user):
    with no_sessions_after(user, user.two_nodes()) as name:
        user.refused(["tmux", name], 2, "there is no terminal here", "--detach", "fastgpu ssh")
        user.refused(["tmux", f"{name}/0-1", "-d"], 2, "names 2 nodes")
        user.refused(["tmux", name, "-d", "-s", "a.b"], 2, "'a.b'")
        user.refused(["tmux", name, "-l", "-d"], 2, "--list")
        user.refused(["tmux", f"{name}/7", "-d"], 5, "no node '7'")
        hidden = user.run(
            "exec", f"{name}/1", "--", "sh", "-c", "mv $(command -v tmux) /root/hidden"
        )
        assert_equal(hidden.returncode, 0, hidden.err)
        try:
            user.refused(
                ["tmux", f"{name}/1", "-d"],
                5,
                f"{name}-1 has no tmux",
                f"fastgpu exec {name} -- apt-get install -y tmux",
                f"fastgpu ssh {name}/{name}-1",
            )
            with entered(user, f"{name}/1") as terminal:
                terminal.expect(f"error: {name}-1 has no tmux")
                assert_equal(terminal.end(), 5, "another exit code")
                assert_true(terminal.modes_restored(), "the terminal is left in other modes")
            assert_equal(listed(user, name), [], "sessions without tmux")
        finally:
            user.run("exec", f"{name}/1", "--", "mv", "/root/hidden", "/usr/bin/tmux")


if __name__ == "__main__":
    need_programs("tmux")
    run_tests(globals())
