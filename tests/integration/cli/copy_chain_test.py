"""Copies that go from node to node: all of it everywhere, whatever happens to one of them on the
way.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests, shared_cluster, signal_relays, within
from suite import (
    assert_equal,
    assert_false,
    assert_greater_equal,
    assert_in,
    assert_is,
    assert_is_not,
    assert_less,
    assert_not_in,
    assert_true,
)

NODES = 4
SIZE = 24 << 20

# Somebody else sits at the port of sshd, and hangs up on all who come.
NO_SSH = """
import os, signal, socket, subprocess, time
listener = int(subprocess.check_output(["pgrep", "-o", "-x", "sshd"]))
if os.fork() == 0:
    os.setsid()
    for fd in range(3):
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    os.kill(listener, signal.SIGKILL)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    while True:
        try:
            listener.bind(("", 22))
            break
        except OSError:
            time.sleep(0.01)
    listener.listen()
    while True:
        listener.accept()[0].close()
time.sleep(1)
"""


def nodes_of(user):
    return [f"{user.cluster}-{index}" for index in range(NODES)]


def signal_relay_of(user, number, signal_name):
    """Signals the program of that node that receives a copy, as soon as it runs."""
    words = ("exec", f"{user.cluster}/{number}", "--", "sh", "-c", signal_relays(signal_name))
    assert_true(
        within(20, lambda: b"signalled" in user.run(*words).out),
        f"the copy does not pass over node {number}",
    )


@contextlib.contextmanager
def third_node_fails(user, file, digest):
    """Restarts the nodes after the `with` block. Checks that all but the third have the file."""
    name = user.cluster
    try:
        yield
    finally:
        user.run("stop", "cluster", name)
        user.run("start", "cluster", name)
    assert_equal(
        sums(user, file),
        {node: digest for node in nodes_of(user) if node != f"{name}-2"},
        "who has it",
    )


def random_file(user, name, size=SIZE):
    path = user.folder / name
    content = os.urandom(size)
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


def outcomes(done):
    return {host["name"]: host for host in json.loads(done.out)["hosts"]}


def sums(user, path, nodes=""):
    """By node, of those that have it."""
    done = user.run(
        "exec",
        user.cluster + nodes,
        "-o",
        "json",
        "--",
        "sh",
        "-c",
        f"sha256sum {path} 2>/dev/null || true",
    )
    return {
        host["name"]: host["stdout"].split()[0]
        for host in json.loads(done.out)["hosts"]
        if host["stdout"]
    }


def got_by(user, node):
    """Bytes that have come to it."""
    done = user.run("exec", f"{user.cluster}/{node}", "-o", "json", "--", "cat", "/proc/net/dev")
    lines = json.loads(done.out)["hosts"][0]["stdout"].splitlines()
    return sum(
        int(line.split(":")[1].split()[0]) for line in lines if ":" in line and "lo:" not in line
    )


def no_staging(user):
    left = user.run(
        "exec", user.cluster, "--", "sh", "-c", "ls -A /root | grep fastgpu-copy || true"
    ).out
    assert_false(left.strip(), f"left behind: {left}")


@shared_cluster
def test_a_large_copy_goes_from_node_to_node_and_a_small_one_does_not(user):
    name = user.nodes(NODES)
    path, digest = random_file(user, "large")
    done = user.run("cp", path, f"{name}:", "-o", "json")
    assert_true(
        all(host["passed_on"] and host["bytes"] == SIZE for host in outcomes(done).values()),
        done.out,
    )
    assert_equal(
        sums(user, "large"), dict.fromkeys(nodes_of(user), digest), "a node has something else"
    )
    assert_false(
        any(
            host["passed_on"]
            for host in outcomes(
                user.run("cp", path, f"{name}:direct", "--direct", "-o", "json")
            ).values()
        ),
        "--direct",
    )
    small, _ = random_file(user, "small", 1000)
    assert_false(
        any(
            host["passed_on"]
            for host in outcomes(user.run("cp", small, f"{name}:", "-o", "json")).values()
        ),
        "a small one",
    )


@shared_cluster
def test_what_shrinks_is_short_on_every_way(user):
    name = user.nodes(NODES)
    text = "".join(
        f"line {number} of a log that says much the same\n" for number in range(SIZE // 45)
    ).encode()
    path = user.folder / "log"
    path.write_bytes(text)
    before = {index: got_by(user, index) for index in (0, NODES - 1)}
    done = user.run("cp", path, f"{name}:", "-o", "json")
    assert_true(all(host["bytes"] == len(text) for host in outcomes(done).values()), done.out)
    assert_equal(
        sums(user, "log"),
        dict.fromkeys(nodes_of(user), hashlib.sha256(text).hexdigest()),
        "a node has something else",
    )
    for index, count in before.items():
        assert_less(
            got_by(user, index) - count,
            len(text) / 3,
            f"node {index} got {got_by(user, index) - count} bytes of {len(text)}",
        )


@shared_cluster
def test_directories_and_several_sources_arrive_as_with_cp(user):
    name = user.nodes(NODES)
    tree = user.folder / "tree" / "below"
    tree.mkdir(parents=True)
    (tree / "file").write_bytes(os.urandom(SIZE))
    (tree / "link").symlink_to("file")
    for _ in range(2):  # Into a directory that is there, it goes below it.
        user.run("cp", user.folder / "tree", f"{name}:copied")
    user.run("exec", name, "--", "sh", "-c", "cmp copied/below/file copied/tree/below/link")
    other, _ = random_file(user, "other")
    user.run("exec", name, "--", "mkdir", "both")
    user.run("cp", user.folder / "tree", other, f"{name}:both")
    user.run("exec", name, "--", "test", "-f", "both/other", "-a", "-f", "both/tree/below/file")


@shared_cluster
def test_a_node_that_cannot_keep_it_passes_it_on(user):
    name = user.nodes(NODES)
    path, digest = random_file(user, "filling")
    user.run("exec", name, "--", "mkdir", "-p", "/mnt/small")
    user.run(
        "exec", f"{name}/1", "--", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt/small"
    )
    try:
        found = outcomes(user.run("cp", path, f"{name}:/mnt/small", "-o", "json", code=4))
        assert_equal(found[f"{name}-1"]["error"]["kind"], "capacity", found)
        assert_true(
            all(found[node]["passed_on"] for node in nodes_of(user) if node != f"{name}-1"), found
        )
        assert_equal(len(sums(user, "/mnt/small/filling")), NODES - 1, "the others")
    finally:
        user.run("exec", f"{name}/1", "--", "umount", "/mnt/small")


@shared_cluster
def test_what_is_behind_a_node_that_breaks_off_gets_it_all_the_same(user):
    name = user.nodes(NODES)
    path, digest = random_file(user, "broken")
    process = user.start("cp", path, f"{name}:", "--limit-rate", "60mbit", "-o", "json")
    signal_relay_of(user, 1, "KILL")
    out, err = process.communicate(timeout=120)
    assert_equal(process.returncode, 0, f"{process.returncode}: {out} {err}")
    assert_equal(
        sums(user, "broken"), dict.fromkeys(nodes_of(user), digest), "a node has something else"
    )
    no_staging(user)


CUT_LINK = "setsid sh -c 'sleep 0.2; ip link set eth0 down' >/dev/null 2>&1 </dev/null & echo cut"


@shared_cluster
def test_those_before_a_node_that_takes_no_more_do_not_give_up_each_other(user):
    name = user.nodes(NODES)
    path, digest = random_file(user, "held", 16 * SIZE)
    process = user.start("cp", path, f"{name}:", "-o", "json")
    signal_relay_of(user, 2, "STOP")
    out, err = process.communicate(timeout=180)
    assert_equal(process.returncode, 0, f"{process.returncode}: {out} {err}")
    assert_equal([host["passed_on"] for host in json.loads(out)["hosts"][:2]], [True, True], out)
    assert_equal(
        sums(user, "held"), dict.fromkeys(nodes_of(user), digest), "a node has something else"
    )
    user.run("exec", f"{name}/2", "--", "pkill", "-KILL", "-f", "fastgpu-agent.* [r]elay --to")
    assert_is(
        outcomes(user.run("cp", path, f"{name}:", "-o", "json"))[f"{name}-2"]["error"],
        None,
        "again",
    )
    no_staging(user)


@shared_cluster
def test_a_node_that_is_gone_without_a_word_is_the_only_one_that_fails(user):
    name = user.nodes(NODES)
    path, digest = random_file(user, "silent", 2 * SIZE)
    process = user.start("cp", path, f"{name}:", "--limit-rate", "60mbit", "-o", "json")
    assert_true(
        within(20, lambda: got_by(user, 3) > SIZE // 2),
        "the copy does not pass over the third node",
    )
    user.run("exec", f"{name}/2", "--", "sh", "-c", CUT_LINK)
    with third_node_fails(user, "silent", digest):
        out, err = process.communicate(timeout=180)
        found = {host["name"]: host for host in json.loads(out)["hosts"]}
        assert_equal(
            [host for host in found if found[host]["error"] is not None],
            [f"{name}-2"],
            f"{found} {err}",
        )
        assert_true(all(found[f"{name}-{number}"]["passed_on"] for number in (0, 1)), out)


@shared_cluster
def test_nodes_behind_one_that_is_out_of_reach(user):
    name = user.nodes(NODES)
    path, digest = random_file(user, "alone")
    user.run("exec", f"{name}/2", "--", "python3", "-c", NO_SSH, code=None)
    with third_node_fails(user, "alone", digest):
        found = outcomes(user.run("cp", path, f"{name}:", "-o", "json", code=None, timeout=180))
        assert_is_not(found[f"{name}-2"]["error"], None, found)
        assert_true(
            all(found[node]["bytes"] == SIZE for node in nodes_of(user) if node != f"{name}-2"),
            found,
        )


@shared_cluster
def test_what_was_cut_off_goes_on_where_it_was(user):
    name = user.nodes(NODES)
    path, digest = random_file(user, "resumed")
    kept = "stat -c %s .fastgpu-copy-*/tree/resumed 2>/dev/null || echo 0"

    def arrived():
        hosts = json.loads(user.run("exec", name, "-o", "json", "--", "sh", "-c", kept).out)[
            "hosts"
        ]
        return min(int(host["stdout"]) for host in hosts)

    # Of all that leaves here: ten seconds each.
    for way, rate in (((), "20mbit"), (("--direct",), "80mbit")):
        copying = user.start("cp", path, f"{name}:", "--limit-rate", rate, *way)
        assert_true(within(60, lambda: arrived() > SIZE // 4), "nothing arrives")
        copying.kill()
        copying.communicate()
        assert_true(
            within(
                60,
                lambda: (
                    not user.run(
                        "exec", name, "--", "sh", "-c", "pgrep -f 'fastgpu-agent.* re[lc]' || true"
                    ).out.strip()
                ),
            ),
            "still there",
        )
        held = arrived()
        assert_less(SIZE // 4, held)
        assert_less(held, SIZE)
        # From the last byte on: the loopback carries no more than what was missing.
        before = got_by(user, 0)
        done = outcomes(user.run("cp", path, f"{name}:", *way, "-o", "json"))
        assert_true(all(host["bytes"] == SIZE for host in done.values()), f"{done}")
        moved = got_by(user, 0) - before
        assert_less(
            moved,
            (SIZE - held) * 1.2 + (2 << 20),
            f"{moved} bytes went out, {SIZE - held} were missing",
        )
        assert_equal(
            sums(user, "resumed"),
            dict.fromkeys(nodes_of(user), digest),
            "a node has something else",
        )
        no_staging(user)
        user.run("exec", name, "--", "rm", "resumed")


@shared_cluster
def test_no_more_than_the_rate_that_is_allowed_leaves_here(user):
    name = user.nodes(NODES)
    path, _ = random_file(user, "slowly")
    for way in ((), ("--direct",)):
        began = time.monotonic()
        user.run("cp", path, f"{name}/0-1:", "--limit-rate", "100mbit", *way)
        copies = 2 if way else 1
        assert_greater_equal(
            time.monotonic() - began, 8 * copies * SIZE / 100e6 * 0.95, f"{way}: too fast"
        )
    user.refused(["cp", path, f"{name}:", "--limit-rate", "fast"], 2, "fast")


@shared_cluster
def test_local_sources_are_looked_at_first_and_named_once(user):
    name = user.nodes(NODES)
    path, _ = random_file(user, "first")
    for way in ((), ("--direct",)):
        before = got_by(user, 0)
        done = user.refused(
            ["cp", path, user.folder / "missing", f"{name}:", *way],
            5,
            f"{user.folder}/missing does not exist",
        )
        assert_not_in(f"{name}-", done.err)
        assert_equal(done.err.count("missing"), 1, done.err)
        assert_less(got_by(user, 0) - before, SIZE // 2, "something was sent")
    os.mkfifo(user.folder / "pipe")
    user.refused(["cp", user.folder / "pipe", f"{name}:"], 2, "neither a file nor a directory")


@shared_cluster
def test_ctrl_c_is_130_whichever_way(user):
    name = user.nodes(NODES)
    path, _ = random_file(user, "stopped")
    user.run("cp", path, f"{name}/0:there")
    for words in (
        [path, f"{name}:"],
        [path, f"{name}:", "--direct"],
        [f"{name}/0:there", user.folder / "back"],
    ):
        process = user.start("cp", *words, "--limit-rate", "10mbit")
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert_equal(process.returncode, 130, f"{words}: {process.returncode} {err}")
        assert_not_in(b"cut off", err, f"{words}: {process.returncode} {err}")
    assert_false((user.folder / "back").exists(), "a part became visible")
    user.run("exec", name, "--", "sh", "-c", "rm -rf .fastgpu-copy-* there")


@shared_cluster
def test_pipes_are_left_out_and_named_both_ways(user):
    name = user.nodes(NODES)
    tree = user.folder / "tree"
    tree.mkdir()
    (tree / "file").write_text("x")
    os.mkfifo(tree / "pipe")
    sent = user.run("cp", tree, f"{name}:")
    assert_in(f"{tree}/pipe was not copied: it is a pipe", sent.err)
    user.run("exec", f"{name}/0", "--", "mkfifo", "tree/there")
    back = user.run("cp", "-o", "json", f"{name}/0:tree", user.folder / "back")
    assert_in("tree/there was not copied", back.err)
    (host,) = json.loads(back.out)["hosts"]
    assert_equal((host["vanished"], len(host["special"])), ([], 1), back.out)
    assert_equal(os.listdir(user.folder / "back"), ["file"])


@shared_cluster
def test_own_keys_and_records_are_in_no_copy(user):
    name = user.nodes(NODES)
    state = user.state
    (state.parent / "beside").write_text("x")
    sent = user.run("cp", "-o", "json", state.parent, f"{name}/0:all")
    assert_equal(json.loads(sent.out)["hosts"][0]["kept_here"], [str(state)], sent.out)
    there = user.run("exec", f"{name}/0", "--", "find", "all").out.decode()
    assert_in("all/beside", there)
    assert_not_in("id_ed25519", there)
    assert_not_in("state.db", there)
    job = user.run("run", "job", "own", "-c", name, "-np", "1", "--sync", state.parent, "--", "ls")
    assert_in(f"left out: {state}: fastgpu's own keys and records", job.err)
    assert_in(b"beside", job.out)
    assert_not_in(b"state", job.out)
    for words in (
        ["cp", state / "clusters", f"{name}:"],
        ["run", "job", "-c", name, "-np", "1", "--sync", state, "--", "true"],
    ):
        user.refused(words, 2, "is for fastgpu's own keys and records")


@shared_cluster
def test_what_vanishes_meanwhile_is_named_and_the_rest_is_there(user):
    name = user.nodes(NODES)
    live = user.folder / "live"
    live.mkdir()
    for number in range(400):
        (live / f"f{number}").write_bytes(os.urandom(30_000))
    before = got_by(user, 0)
    process = user.start("cp", live, f"{name}:", "--limit-rate", "10mbit")
    assert_true(within(30, lambda: got_by(user, 0) - before > 500_000), "nothing arrives")
    for number in range(300, 400):
        (live / f"f{number}").unlink(missing_ok=True)
    _, err = process.communicate(timeout=120)
    assert_equal(process.returncode, 1, f"{process.returncode} {err}")
    assert_not_in(b"f99 vanished", err, f"{process.returncode} {err}")
    assert_in(b"vanished during the copy", err, f"{process.returncode} {err}")
    there = user.run("exec", f"{name}/0", "-o", "json", "--", "sh", "-c", "ls live | wc -l").out
    assert_greater_equal(int(json.loads(there)["hosts"][0]["stdout"]), 300, there)


if __name__ == "__main__":
    run_tests(globals())
