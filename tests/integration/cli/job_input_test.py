"""What the programs of jobs and of `exec` are given: the place of each rank, variables and standard
input: job_input_test.py FASTGPU [TEST ...]
"""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_folders, run_tests, within
from suite import assert_equal, assert_in, assert_not_equal, assert_not_in, assert_true

PLACE = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "FASTGPU_RANK",
    "FASTGPU_WORLD_SIZE",
    "FASTGPU_LOCAL_RANK",
    "FASTGPU_NODE_RANK",
    "FASTGPU_NUM_NODES",
    "FASTGPU_NODE_IPS",
    "FASTGPU_COMM_MASTER_ADDR",
    "FASTGPU_COMM_MASTER_PORT",
)
PRINT_PLACE = f"import json, os; print(json.dumps({{name: os.environ[name] for name in {PLACE}}}))"
# What every script for several machines does first, without a library.
MEET = """
import os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    with socket.create_server(("", place[1])) as server:
        met = sorted(int(server.accept()[0].makefile().readline()) for _ in range(size - 1))
    print("met", met)
else:
    while True:
        try:
            with socket.create_connection(place) as peer:
                peer.sendall(b"%d\\n" % rank)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
"""


def places(user, name, job):
    said = user.run("logs", job).out.decode()
    return {
        int(line[1 : line.index("]")]): json.loads(line[line.index("]") + 1 :])
        for line in said.splitlines()
    }


def test_ranks_know_their_place_as_training_scripts_read_it(user):
    name = user.two_nodes()
    user.run(
        "run",
        "job",
        "place",
        "-c",
        name,
        "-np",
        "3",
        "--npernode",
        "2",
        "--oversubscribe",
        "--",
        "python3",
        "-c",
        PRINT_PLACE,
    )
    seen = places(user, name, "place")
    addresses = [
        node["private_address"] or node["address"]
        for node in json.loads(user.run("describe", "cluster", name, "-o", "json").out)["nodes"]
    ]
    assert_equal(sorted(seen), [0, 1, 2], f"{seen}")
    for rank, node, local, ranks_there in ((0, 0, 0, 2), (1, 0, 1, 2), (2, 1, 0, 1)):
        one = seen[rank]
        for names, value in (
            (("RANK", "FASTGPU_RANK"), rank),
            (("WORLD_SIZE", "FASTGPU_WORLD_SIZE"), 3),
            (("LOCAL_RANK", "FASTGPU_LOCAL_RANK"), local),
            (("LOCAL_WORLD_SIZE",), ranks_there),
            (("NODE_RANK", "GROUP_RANK", "FASTGPU_NODE_RANK"), node),
            (("FASTGPU_NUM_NODES",), 2),
        ):
            assert_true(
                all(one[each] == str(value) for each in names),
                f"rank {rank}: {names} is not {value}: {one}",
            )
        assert_equal(one["MASTER_ADDR"], addresses[0], f"{one} {addresses}")
        assert_equal(one["FASTGPU_NODE_IPS"].split("\n"), addresses, f"{one} {addresses}")
        for port in ("MASTER_PORT", "FASTGPU_COMM_MASTER_PORT"):
            assert_equal(one[port], seen[0][port], f"{port}: {seen}")
            assert_true(1024 < int(one[port]) < 65536, f"{port}: {seen}")
        assert_not_equal(
            one["MASTER_PORT"], one["FASTGPU_COMM_MASTER_PORT"], "one port for two libraries"
        )


def test_ranks_meet_where_the_variables_say(user):
    name = user.two_nodes()
    done = user.run("run", "job", "meet", "-c", name, "-np", "2", "--", "python3", "-c", MEET)
    assert_in(b"met [1]", done.out)


def test_variables_of_ranks_cannot_be_given_but_the_meeting_point_can(user):
    name = user.two_nodes()
    for word in ("RANK=0", "WORLD_SIZE=8", "LOCAL_RANK=0", "FASTGPU_NODE_RANK=0"):
        user.refused(
            ["run", "job", "-c", name, "-e", word, "--", "true"],
            2,
            word.split("=")[0],
            "is set by fastgpu for each rank",
        )
    own = ["-e", "MASTER_ADDR=192.0.2.1", "-e", "MASTER_PORT=29500"]
    done = user.run(
        "run",
        "job",
        "own",
        "-c",
        name,
        "-np",
        "1",
        *own,
        "--",
        "sh",
        "-c",
        "echo $MASTER_ADDR:$MASTER_PORT",
    )
    assert_equal(done.out, b"[0] 192.0.2.1:29500\n")


SECRET = "hush-8352"
# A process of another user on the node: it sees argument lists of all, and the files that are open
# to it.
SPY = f"""
for i in $(seq 40); do
  cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' |
    grep -o '{SECRET[:4]}[-]{SECRET[5:]}' && break
  sleep 0.1
done
true
"""


def spied(user, name, words):
    """What another user of the node sees of the secret while the command runs."""
    spy = user.start(
        "exec", f"{name}/0", "--", "setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", SPY
    )
    time.sleep(0.5)
    user.run(*words, environment={"TOKEN": SECRET})
    out, _ = spy.communicate(timeout=60)
    return out.decode()


def test_variables_are_seen_by_the_program_alone(user):
    name = user.two_nodes()
    secrets = user.folder / "secrets"
    secrets.write_text(f'# of the job\nTOKEN={SECRET}\nODD="a b"\n')
    program = ["--", "sh", "-c", "echo $TOKEN; sleep 2"]
    for words in (
        ["exec", f"{name}/0", "-e", f"TOKEN={SECRET}"],
        ["exec", f"{name}/0", "-e", "TOKEN"],
        ["run", "job", "spied", "-c", f"{name}/0", "-np", "1", "-e", "TOKEN"],
        ["run", "job", "filed", "-c", f"{name}/0", "-np", "1", "--env-file", str(secrets)],
    ):
        assert_equal(
            spied(user, name, [*words, *program]), "", f"{words[:2]}: other users see the secret"
        )
    assert_equal(
        user.run(
            "exec", f"{name}/0", "--env-file", str(secrets), "--", "sh", "-c", "echo $TOKEN $ODD"
        ).out.decode(),
        f'{name}-0: {SECRET} "a b"\n',
        "the file's variables do not arrive",
    )
    shown = user.run(
        "run",
        "job",
        "shown",
        "-c",
        f"{name}/0",
        "-np",
        "1",
        "--",
        "sh",
        "-c",
        "env; ! env | grep -qF $(cat $FASTGPU_COMM_SECRET_FILE)",
    )
    assert_not_in(
        "FASTGPU_COMM_SECRET=",
        shown.out.decode(),
        "the program's environment shows the secret of its ranks",
    )
    left = user.run(
        "exec",
        name,
        "--",
        "sh",
        "-c",
        f"grep -rl {SECRET[:-1]}[{SECRET[-1]}] /root/.fastgpu --exclude=*.out "
        "--exclude=fastgpu-agent*; find /root/.fastgpu -name comm-secret -o -name variables",
    )
    assert_equal(left.out, b"", "secrets are left on a node")
    # The nodes' own files are there as well, with what the programs wrote.
    kept = subprocess.run(
        ["grep", "-rl", "--exclude=*.out", SECRET, user.state],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert_equal(kept, "", f"the secret is in {kept}")
    for words in (["get", "jobs", "-o", "json"], ["describe", "job", "spied", "-o", "json"]):
        assert_not_in(SECRET, user.run(*words).out.decode(), f"{words} show it")


def test_programs_are_looked_for_as_in_a_login(user):
    name = user.two_nodes()
    show = ["sh", "-c", "echo $PATH; echo ${LD_LIBRARY_PATH-none}"]
    login = user.run("exec", f"{name}/0", "--", *show).out.decode().splitlines()
    login = [line.split(": ")[1] for line in login]
    said = user.run("run", "job", "-c", name, "-np", "2", "--npernode", "1", "--", *show).out
    for rank in (0, 1):
        own = [line[4:] for line in said.decode().splitlines() if line.startswith(f"[{rank}] ")]
        assert_equal(own, login)
    # One that the first node has elsewhere comes before mpirun's own directory there, too.
    user.run("exec", name, "--", "sh", "-c", "printf '#!/bin/sh\\necho own' >/usr/local/bin/yes")
    user.run("exec", name, "--", "chmod", "755", "/usr/local/bin/yes")
    said = user.run("run", "job", "-c", name, "-np", "2", "--npernode", "1", "--", "yes").out
    assert_equal(sorted(said.splitlines()), [b"[0] own", b"[1] own"])


def test_the_startup_file_of_a_shell_does_not_replace_variables_of_a_program(user):
    name = user.two_nodes()
    own = "export RANK=99 OMP_NUM_THREADS=33 GIVEN=by-the-node"
    user.run("exec", name, "--", "sh", "-c", f"echo '{own}' >>~/.bashrc")
    show = ["bash", "-c", "echo $RANK $OMP_NUM_THREADS $GIVEN"]
    words = ["-c", name, "-np", "2", "--npernode", "1", "-e", "OMP_NUM_THREADS=4"]
    for launcher in ("mpirun", "plain"):
        more = ["-e", "GIVEN=here", "--launcher", launcher, "--", *show]
        said = user.run("run", "job", *words, *more).out
        assert_equal(sorted(said.splitlines()), [b"[0] 0 4 here", b"[1] 1 4 here"])
    said = user.run("exec", f"{name}/0", "-e", "GIVEN=here", "--", "bash", "-c", "echo $GIVEN").out
    assert_equal(said, f"{name}-0: here\n".encode())


def test_a_startup_file_that_waits_is_named(user):
    name = user.nodes(1)
    user.run("exec", name, "--", "sh", "-c", "echo 'sleep 600.71' >>~/.bashrc")
    late = user.run("exec", name, "--timeout", "3s", "--", "true", code=124)
    assert_in("the login shell of root has not begun our command within 3s", late.err)
    assert_in("~/.bashrc", late.err)


def test_variables_that_are_none_are_refused(user):
    name = user.two_nodes()
    fifo = user.folder / "fifo"
    os.mkfifo(fifo)
    for verb in (["exec", name], ["run", "job", "-c", name]):
        user.refused([*verb, "-e", "A B=1", "--", "true"], 2, "'A B' is not a variable name")
        user.refused(
            [*verb, "-e", "NOT_SET", "--", "true"], 2, "NOT_SET is not set on this machine"
        )
        user.refused(
            [*verb, "--env-file", str(fifo), "--", "true"], 2, "not a regular file", timeout=20
        )
    user.refused(["run", "job", "-c", name, "-e", "train", "--", "true"], 2, "--environment train")


def test_input_reaches_the_program_of_each_node(user):
    name = user.two_nodes()
    data = os.urandom(3_000_000) + b"\0\n"
    file = user.folder / "input"
    file.write_bytes(data)
    with file.open("rb") as stdin:
        there = user.run("exec", f"{name}/0", "--", "sha256sum", stdin=stdin).out.decode()
    assert_in(hashlib.sha256(data).hexdigest(), there)
    with subprocess.Popen(["cat", file], stdout=subprocess.PIPE) as source:
        there = user.run("exec", name, "-b", "--", "sha256sum", stdin=source.stdout).out.decode()
    assert_equal(there.count(hashlib.sha256(data).hexdigest()), 1, there)
    assert_in(f"{name}-[0-1] (2)", there)
    done = subprocess.run(
        f"echo hi | '{user.fastgpu}' exec {name}/0 -- cat",
        shell=True,
        env=user.environment(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert_equal(done.stdout, f"{name}-0: hi\n".encode(), f"{done}")
    # More than any buffer holds, for a program that reads a little of it.
    done = subprocess.run(
        f"yes | '{user.fastgpu}' exec {name} -- head -1",
        shell=True,
        env=user.environment(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert_equal(done.stdout.count(b"y\n"), 2, f"{done}")
    # One node reads all, the other nothing.
    done = subprocess.run(
        f"head -c 5000000 /dev/zero | '{user.fastgpu}' exec {name} -- "
        "sh -c 'case $(hostname) in *-0) wc -c;; *) exec sleep 1;; esac'",
        shell=True,
        env=user.environment(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert_equal(done.stdout, f"{name}-0: 5000000\n".encode(), f"{done}")


def test_input_reaches_rank_0(user):
    name = user.two_nodes()
    data = os.urandom(2_000_000) + b"\0\n"
    file = user.folder / "input"
    file.write_bytes(data)
    with file.open("rb") as stdin:
        said = user.run(
            "run", "job", "sum", "-c", name, "-np", "2", "--", "sha256sum", stdin=stdin
        ).out.decode()
    assert_in(f"[0] {hashlib.sha256(data).hexdigest()}", said)
    assert_in(f"[1] {hashlib.sha256(b'').hexdigest()}", said)
    job = f"'{user.fastgpu}' run job -c {name} -np 1 --"
    for script, wanted in (
        (f"echo hi | {job} cat", b"[0] hi\n"),
        (f"yes | {job} head -1", b"[0] y\n"),
        (f"(echo a; sleep 1; echo b) | {job} cat", b"[0] a\n[0] b\n"),
        (f"{job} cat </dev/null", b""),
        (f"{job} cat <&-", b""),
    ):
        done = subprocess.run(
            script, shell=True, env=user.environment(), capture_output=True, check=False, timeout=90
        )
        assert_equal(done.returncode, 0, f"{script}: {done}")
        assert_equal(done.stdout, wanted, f"{script}: {done}")
    left = user.run("exec", f"{name}/0", "--", "sh", "-c", "find /root/.fastgpu/jobs -type p").out
    assert_equal(left, b"", "pipes are left")
    done = user.run(
        "run",
        "job",
        "apart",
        "-c",
        name,
        "-np",
        "1",
        "--detach",
        "--",
        "cat",
        stdin=subprocess.PIPE,
    )
    user.run("wait", "job", "apart")


def test_a_job_with_silent_input_ends_and_is_cancelled_as_any(user):
    name = user.two_nodes()
    silent, writing = os.pipe()
    user.run("run", "job", "silent", "-c", name, "-np", "1", "--", "true", stdin=silent)
    process = user.start("run", "job", "stopped", "-c", name, "-np", "1", "--", "cat", stdin=silent)
    assert_true(
        within(
            20,
            lambda: (
                b"cat"
                in user.run("exec", f"{name}/0", "--", "pgrep", "-x", "-l", "cat", code=None).out
            ),
        ),
        "no start",
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert_equal(process.returncode, 130, err)
    assert_equal(
        user.run("exec", f"{name}/0", "--", "pgrep", "-x", "cat", code=None).returncode,
        1,
        "cat lives on",
    )
    os.close(silent)
    os.close(writing)


def test_what_can_be_seen_here_is_refused_before_anything_is_sent(user):
    name = user.two_nodes()
    file = user.folder / "file"
    file.write_text("x")
    before = job_folders(user, name)
    user.refused(
        ["run", "job", "-c", name, "--sync", str(file), "--", "true"],
        2,
        f"--sync {file} is not a directory",
    )
    user.refused(
        ["run", "job", "-c", name, "--sync", "/nonexistent", "--", "true"],
        5,
        "--sync /nonexistent does not exist",
    )
    user.refused(["run", "job", "-c", name, "--timeout", "0s", "--", "true"], 2, "the timeout is 0")
    user.refused(["exec", name, "--timeout", "0s", "--", "true"], 2, "the timeout is 0")
    assert_equal(job_folders(user, name), before, "something was sent")


if __name__ == "__main__":
    run_tests(globals())
