"""What a user sees: progress bars of jobs as they come, JSON on every verb, terminals of every
width and kind, and nothing of a node that steers them.
"""

import fcntl
import itertools
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster, within
from suite import (
    assert_equal,
    assert_false,
    assert_greater,
    assert_in,
    assert_less,
    assert_less_equal,
    assert_not_in,
    assert_true,
)

BAR = (
    "import sys,time\nfor i in range(5): sys.stderr.write('\\rstep %d' % i); sys.stderr.flush(); "
    "time.sleep(1)"
)


class Reader:
    """What comes from a descriptor, with the time of each piece."""

    def __init__(self, fd):
        self.fd, self.text = fd, b""

    def read(self, seconds, wanted=None):
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not (wanted and wanted in self.text):
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                piece = os.read(self.fd, 65536)
            except OSError:  # The terminal's last user is gone.
                break
            if not piece:
                break
            self.text += piece
        return self.text


def resize(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def on_terminal(user, *words, columns=80, rows=24, kind="xterm", locale="C.UTF-8"):
    """The process, and a reader of its terminal."""
    ours, theirs = pty.openpty()
    resize(theirs, columns, rows)
    environment = {**user.environment(), "TERM": kind, "LC_ALL": locale}
    process = subprocess.Popen(
        [user.fastgpu, *words],
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    process.reader = Reader(ours)
    return process


def shown_on_terminal(user, *words, **more):
    process = on_terminal(user, *words, **more)
    text = process.reader.read(120).decode()
    assert_equal(process.wait(10), 0, f"{words}: {text}")
    return text


@shared_cluster
def test_a_bar_is_seen_as_it_comes(user):
    name = user.two_nodes()
    job = ("run", "job", "bar", "-c", name, "-np", "1", "--", "python3", "-c", BAR)
    process = user.start(*job)
    reader = Reader(process.stderr.fileno())
    assert_in(b"step 0", reader.read(30, b"step 0"), f"{reader.text}")
    assert_not_in(b"step 3", reader.text)
    assert_in(b"job bar-", reader.text.split(b"step 0")[0], f"the job is not named: {reader.text}")
    process.communicate(timeout=60)
    process = on_terminal(user, *job)
    text = process.reader.read(30, b"step 1")
    assert_not_in(b"\r\x1b", text.split(b"step 0")[1], f"{text}")
    assert_not_in(b"step 4", text)
    process.reader.read(30)
    assert_equal(process.wait(10), 0, "the job fails")


@shared_cluster
def test_a_line_of_megabytes_is_one_line_beside_those_of_others(user):
    name = user.two_nodes()
    size = 20_000_000
    program = (
        f"i=0; while test $i -lt 20; do head -c {size // 20} /dev/zero | tr '\\0' $RANK; "
        "echo short >&2; i=$((i + 1)); done; echo"
    )
    words = ("run", "job", "wide", "--cluster", name, "-np", "2", "--", "sh", "-c", program)
    shown = (user.run(*words).out, user.run("logs", "wide").out)
    for text in shown:
        lines = sorted(text.decode().split("\n"), key=len)
        assert_equal([len(line) for line in lines], [0, size + 4, size + 4])
        for line in lines[1:]:
            assert_true(line == f"[{line[1]}] " + line[1] * size, "a line has other bytes")


COUNTS = """
import os, sys, time
time.sleep(0.25 * int(os.environ["RANK"]))
for i in range(int(sys.argv[1])):
    print(f"{time.time_ns()} {i}", flush=True)
    time.sleep(1)
"""


def times_in(text):
    """Returns the ranks and the times, in seconds, that COUNTS has written as they are shown."""
    return [
        (int(rank), int(time) / 1e9)
        for rank, time in re.findall(r"^\[([0-9])\] ([0-9]+) [0-9]+$", text.decode(), re.M)
    ]


@shared_cluster
def test_output_that_is_there_already_comes_in_the_order_of_time_and_then_what_comes_live(user):
    name = user.two_nodes()
    program = ["python3", "-c", COUNTS, "8"]
    user.run(*job_words(name, 4, program, "counts", "--oversubscribe", "--detach"))
    time.sleep(4)
    began = time.time() - 1
    followers = [
        user.start("logs", "counts", "-f"),
        user.start("attach", "job", "counts"),
        user.start("logs", "counts", "-f", "-o", "json"),
    ]
    readers = [Reader(process.stdout.fileno()) for process in followers]
    texts = [reader.read(60) for reader in readers]
    assert_equal([process.wait(30) for process in followers], [0, 0, 0])
    lines = json.loads(texts.pop())["lines"]
    shown = [times_in(text) for text in texts]
    shown.append([(line["rank"], int(line["text"].split()[0]) / 1e9) for line in lines])
    for one in shown:
        assert_equal(len(one), 32, f"{one}")
        there = [line for line in one if line[1] < began]
        assert_true(len(there) >= 8, f"{one}")
        # Rank by rank they would go back by seconds.
        late = [times for times in itertools.pairwise(there) if times[1][1] < times[0][1] - 1]
        assert_equal(late, [])


@shared_cluster
def test_top_fits_on_the_screen_and_follows_its_size(user):
    name = user.two_nodes()
    empty = b"\x1b[H\x1b[2J"
    process = on_terminal(user, "top", name, "--interval", "600s", columns=200, rows=3)
    text = process.reader.read(30, b"more nodes\r\n").split(empty)[-1]
    lines = text.split(b"\r\n")
    assert_true(lines[0].startswith(b"NODE "), f"{lines}")
    assert_equal(lines[1:], [b"... 2 more nodes", b""])
    resize(process.reader.fd, 200, 24)
    text = process.reader.read(10, f"\n{name}-1 ".encode()).split(empty)[-1]
    assert_in(f"\n{name}-0 ".encode(), text)
    assert_not_in(b"more node", text)
    process.send_signal(signal.SIGINT)
    process.reader.read(30)
    assert_equal(process.wait(10), 0)


@shared_cluster
def test_top_shows_the_nodes_and_their_ranks_until_ctrl_c(user):
    name = user.two_nodes()
    user.run("run", "job", "busy", "-c", name, "-np", "2", "-d", "--", "sleep", "60")
    document = json.loads(user.run("top", name, "-o", "json").out)
    assert_equal([node["name"] for node in document["nodes"]], [f"{name}-0", f"{name}-1"])
    for rank, node in enumerate(document["nodes"]):
        assert_equal([(job["first_rank"], job["ranks"]) for job in node["jobs"]], [(rank, 1)])
        assert_greater(node["memory_used_bytes"], 0)
        assert_greater(node["memory_bytes"], node["memory_used_bytes"])
    process = on_terminal(user, "top", name, "--interval", "1s")
    process.reader.read(30, b"\x1b[2J")
    text = process.reader.read(30, b": rank 1")
    assert_in(f"{name}-1".encode(), text)
    process.send_signal(signal.SIGINT)
    process.reader.read(30)
    assert_equal(process.wait(10), 0)
    user.run("cancel", "job", "busy")
    user.refused(["top", name, "--interval", "10ms"], 2, "once a second at most")


@shared_cluster
def test_top_shows_the_metric_that_a_job_prints(user):
    name = user.two_nodes()
    program = (
        "echo starting; i=0; while [ $i -lt 600 ]; do i=$((i + 1)); "
        '[ $RANK = 1 ] && echo "loss=9" || printf "step $i loss 0.$i\\r" >&2; sleep 0.1; done'
    )
    user.run(*job_words(name, 2, ["sh", "-c", program], "learns", "-d"))
    steps = []
    for _ in range(2):
        assert_true(within(20, lambda: metric_steps(user, name, steps)), f"no metric: {steps}")
    assert_less(steps[0], steps[-1])
    process = on_terminal(user, "top", name, "--interval", "1s")
    process.reader.read(30, b"METRICS")
    process.reader.read(30, b"learns-1: step ")
    process.reader.read(30, b"\x1b[2J")
    assert_in(b"loss 0.", process.reader.read(30, b"loss 0."))
    process.send_signal(signal.SIGINT)
    process.reader.read(30)
    assert_equal(process.wait(10), 0)
    user.run("cancel", "job", "learns")
    assert_equal(json.loads(user.run("top", name, "-o", "json").out)["metrics"], {})


def metric_steps(user, name, steps):
    """Adds the step that `top` shows of job learns-1. Returns false if it shows none."""
    metrics = json.loads(user.run("top", name, "-o", "json").out)["metrics"].get("learns-1")
    if not metrics:
        return False
    assert_equal([metric["name"] for metric in metrics], ["step", "loss"])
    assert_equal(metrics[1]["text"], "0." + metrics[0]["text"])
    steps.append(metrics[0]["value"])
    return True


@shared_cluster
def test_ctrl_c_says_at_once_what_ends(user):
    name = user.two_nodes()
    process = user.start("run", "job", "long", "-c", name, "-np", "2", "--", "sleep", "60")
    reader = Reader(process.stderr.fileno())
    assert_in(b"job long-", reader.read(30, b"2 nodes\n"), f"{reader.text}")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    assert_in(b"stopping job long-", reader.read(1, b"stopping job long-"), f"{reader.text}")
    process.communicate(timeout=60)
    assert_equal(process.returncode, 130, f"exit code {process.returncode}")


def test_ctrl_c_says_at_once_what_a_creation_removes(user):
    name = user.cluster
    process = user.start("create", "cluster", name, "--nodes", "3")
    reader = Reader(process.stderr.fileno())
    assert_in(b"creating", reader.read(30, b"creating 3 nodes"), f"{reader.text}")
    process.send_signal(signal.SIGINT)
    said = f"stopping; removing the incomplete cluster {name}".encode()
    assert_in(said, reader.read(5, said), f"{reader.text}")
    process.communicate(timeout=60)
    assert_equal(process.returncode, 130, f"exit code {process.returncode}")
    user.refused(["describe", "cluster", name], 5, name)


def test_several_clusters_are_stopped_and_deleted_at_once(user):
    one, two = user.cluster + "a", user.cluster + "b"
    for name in (one, two):
        user.run("create", "cluster", name, "--nodes", "1")
    stopped = user.run("stop", "cluster", one, two)
    assert_equal(
        [line.split() for line in stopped.out.decode().splitlines()],
        [["CLUSTER", "RESULT"], [one, "stopped"], [two, "stopped"]],
        f"{stopped.out}",
    )
    names = (
        user.run("get", "clusters", "--sort-by", "name", "--no-headers").out.decode().split("\n")
    )
    shown = [line.split()[0] for line in names if line]
    assert_equal(shown, sorted(shown))
    assert_less_equal({one, two}, set(shown), f"{shown}")
    user.refused(
        ["delete", "cluster", one, two], 2, f"Delete 2 clusters: {one} (1 node), {two} (1 node)?"
    )
    deleted = user.run("delete", "cluster", one, two, "--yes", "-o", "json")
    result = {each["name"]: each["error"] for each in json.loads(deleted.out)["clusters"]}
    assert_equal(result, {one: None, two: None})


def test_a_wrong_name_among_several_changes_nothing(user):
    name = user.cluster
    user.run("create", "cluster", name, "--nodes", "1")
    node = f"that is a node of cluster {name}; nothing was changed"
    for words in (["stop"], ["stop", "--dry-run"], ["start"], ["delete", "--yes"]):
        command = [words[0], "cluster", name, f"{name}-0", *words[1:]]
        user.refused(command, 5, f"there is no cluster '{name}-0'", node)
        user.refused([words[0], "cluster", name, "absent", *words[1:]], 5, "no cluster 'absent'")
    shown = json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"]
    assert_equal([each["state"] for each in shown if each["name"] == name], ["running"])
    user.run("delete", "cluster", name, "--yes")


def test_an_error_is_a_document_in_yaml_too(user):
    failed = user.run("describe", "cluster", "absent", "-o", "yaml", code=5)
    assert_true(
        failed.out.decode().startswith("schema: fastgpu.error/1\nerror:\n  kind: not_found\n"),
        f"{failed.out}",
    )


@shared_cluster
def test_every_verb_answers_in_json(user):
    name = user.two_nodes()
    user.run(
        "run",
        "job",
        "say",
        "-c",
        name,
        "-np",
        "2",
        "--",
        "sh",
        "-c",
        "echo out $FASTGPU_RANK; echo err >&2; printf open",
    )
    logs = json.loads(user.run("logs", "say", "-o", "json").out)
    assert_equal(logs["schema"], "fastgpu.logs/1", f"{logs}")
    assert_true(logs["job"].startswith("say-"), f"{logs}")
    lines = [
        (one["rank"], one["stream"], one["text"])
        for one in logs["lines"]
        if one["rank"] is not None
    ]
    assert_equal(
        sorted(lines),
        sorted(
            (rank, *line)
            for rank in (0, 1)
            for line in (("stdout", f"out {rank}"), ("stderr", "err"), ("stdout", "open"))
        ),
        f"{lines}",
    )
    for words in (
        ["cancel", "job", "say"],
        ["ssh", name, "--config"],
        ["completion", "bash"],
        ["tmux", name, "-d", "-s", "json"],
        ["env", "list", "-c", name],
        ["stop", "cluster", name],
        ["start", "cluster", name],
        ["doctor"],
    ):
        done = user.run(*words, "-o", "json", code=None)
        found = json.loads(done.out)
        assert_true(
            re.fullmatch(r"fastgpu\.[a-z0-9]+(-[a-z0-9]+)*/\d+", found["schema"]),
            f"{words}: {found}",
        )


@shared_cluster
def test_nothing_of_a_node_steers_the_terminal(user):
    name = user.two_nodes()
    hostile = r"\033]0;title\007\033[2J\302\23331m\342\200\256"
    agent = "$(ls /root/.fastgpu/agent-* /root/.fastgpu/bin/* 2>/dev/null | head -1)"
    user.run(
        "exec",
        f"{name}/0",
        "--",
        "sh",
        "-c",
        f'a={agent}; test -n "$a" && mv "$a" /root/agent && printf \'#!/bin/sh\\nprintf '
        f'"{hostile}" >&2; exit 9\\n\' >"$a" && chmod 755 "$a"',
        code=None,
    )
    try:
        for words in (
            ["cp", f"{name}/0:/etc/hostname", str(user.folder)],
            ["cp", "/etc/hostname", f"{name}/0:/tmp/"],
            ["why-awake", name],
            ["env", "list", "-c", name],
            ["run", "job", "-c", name, "-np", "1", "--", "true"],
        ):
            done = user.run(*words, code=None)
            text = done.out + done.err.encode()
            assert_in(
                b"\\x1b]0;title\\x07\\x1b[2J\\u009b31m\\u202e",
                text,
                f"{words}: what the node said is not shown",
            )
            assert_false(
                re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]", text),
                f"{words}: {text}",
            )
    finally:
        user.run("ssh", f"{name}/0", "--", "sh", "-c", f'a={agent}; mv /root/agent "$a"', code=None)


@shared_cluster
def test_terminals_of_every_width_and_kind(user):
    name = user.two_nodes()
    nodes = json.loads(user.run("get", "nodes", name, "-o", "json").out)["nodes"]
    for columns in (40, 60, 80, 120):
        for words in (
            ["get", "nodes", name],
            ["get", "nodes", name, "-o", "wide"],
            ["describe", "cluster", name],
            ["get", "clusters"],
        ):
            text = shown_on_terminal(user, *words, columns=columns)
            assert_not_in("…", text, f"{columns}")
            assert_in(name, text, f"{columns}")
            longest = max(
                len(word) for node in nodes for key in node["host_keys"] for word in key.split()
            )
            wide = [line for line in text.splitlines() if len(line) > max(columns, longest + 6)]
            assert_false(wide, f"{columns}")
            if words[:2] == ["get", "nodes"]:
                assert_true(
                    all(node["address"] in text and node["name"] in text for node in nodes),
                    f"{columns}: {text}",
                )
        help_text = shown_on_terminal(user, "create", "cluster", "--help", columns=columns)
        usage = [line for line in help_text.splitlines() if len(line) > columns]
        assert_less_equal(len(usage), 1, f"{columns}: {usage}")
    for kind in ("dumb", ""):
        text = shown_on_terminal(user, "scale", "cluster", name, "--nodes", "2", kind=kind)
        assert_not_in("\x1b", text, f"{kind}: {text!r}")
        assert_not_in("\r\r", text, f"{kind}: {text!r}")


if __name__ == "__main__":
    run_tests(globals())
