"""Jobs whose links, logins and memory fail, and programs that break off or flood their logs: what
survives loses nothing, and what does not is named: job_faults_test.py FASTGPU [TEST ...]
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import User, job_words, run_tests, shared_cluster, within
from node_inside import NodeInside
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

LINES = 500
# About fifteen seconds of lines, and a last one.
COUNTS = f"i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); sleep 0.03; done; echo end"
EXPECTED = [f"line {i}" for i in range(LINES)] + ["end"]


class Reader:
    """Reads the output of a command as it comes, and keeps when each line came."""

    def __init__(self, process):
        self.process, self.lines, self.moments = process, [], []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.decode(errors="replace").rstrip("\n"))
            self.moments.append(time.monotonic())

    def of(self, rank):
        start = f"[{rank}] "
        return [line.removeprefix(start) for line in self.lines if line.startswith(start)]

    def waits_for(self, rank, count):
        return within(30, lambda: len(self.of(rank)) >= count)

    def end(self, timeout=90):
        """Waits for the end. Returns the exit code and the errors."""
        err = self.process.stderr.read().decode(errors="replace")
        code = self.process.wait(timeout)
        self._thread.join(timeout)
        return code, err


def check_whole(user, job, reader, code=0):
    """Checks that the command has shown, and the nodes have kept, each line once and in order."""
    got, err = reader.end()
    assert_equal(got, code, err)
    for rank in (0, 1):
        assert_equal(reader.of(rank), EXPECTED, f"{job}: output of rank {rank}; {err}")
        log = user.run("logs", job, "--rank", str(rank)).out.decode().splitlines()
        assert_equal(log, EXPECTED, f"{job}: the log of rank {rank}")
    return err


@shared_cluster
def test_a_link_that_is_cut_for_five_seconds_costs_nothing(user):
    name = user.two_nodes()
    for node, launcher in ((1, "mpirun"), (0, "mpirun"), (1, "plain")):
        job = f"cut{node}{launcher}"
        words = job_words(name, 2, ["sh", "-c", COUNTS], job, "--launcher", launcher)
        reader = Reader(user.start(*words))
        assert_true(reader.waits_for(1, 20), f"{job} does not start")
        inside = NodeInside(f"{name}-{node}")
        with inside.cut():
            time.sleep(5)
        print(f"   {job}: {check_whole(user, job, reader)!r}", flush=True)


@shared_cluster
def test_an_sshd_that_is_killed_with_its_sessions_costs_nothing(user):
    name = user.two_nodes()
    for node in (1, 0):
        job = f"sshd{node}"
        reader = Reader(user.start(*job_words(name, 2, ["sh", "-c", COUNTS], job)))
        assert_true(reader.waits_for(1, 20), f"{job} does not start")
        NodeInside(f"{name}-{node}").run("pkill", "-KILL", "-x", "sshd", check=True)
        err = check_whole(user, job, reader)
        assert_in(f"{name}-{node} does not answer, retrying", err)


@shared_cluster
def test_a_killed_mpirun_leaves_no_session_and_those_of_others_stay(user):
    name = user.two_nodes()
    program = ["sh", "-c", "until test -e /root/go; do sleep 0.1; done"]
    jobs = [user.start(*job_words(name, 2, program, job, "--share")) for job in ("one", "two")]

    def sessions(node):
        inside = NodeInside(f"{name}-{node}")
        return inside.run("sh", "-c", "ls -d /tmp/ompi.*/* /tmp/prte.*/*").stdout.split()

    def are(count, node=0):
        return within(30, lambda: len(sessions(node)) == count)

    assert_true(are(2), f"{sessions(0)}")
    NodeInside(f"{name}-0").run("sh", "-c", "kill -9 $(pgrep -x mpirun | tail -1)", check=True)
    assert_true(within(40, lambda: any(job.poll() for job in jobs)), "no job has failed")
    assert_true(are(1), f"{sessions(0)}")
    user.run("exec", name, "--", "touch", "/root/go")
    for job in jobs:
        job.communicate(timeout=60)
    assert_equal(sorted(job.returncode == 0 for job in jobs), [False, True])
    for node in (0, 1):
        assert_true(are(0, node), f"node {node}: {sessions(node)}")
    user.run("exec", name, "--", "rm", "/root/go")


@shared_cluster
def test_logs_that_are_followed_survive_a_cut_and_a_killed_login(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sh", "-c", COUNTS], "followed", "--detach"))
    reader = Reader(user.start("logs", "followed", "-f"))
    one = Reader(user.start("logs", "followed", "-f", "--rank", "1"))
    assert_true(reader.waits_for(1, 20), "no output comes")
    # Longer than the silence after which the client connects anew. The nodes reach each other.
    hole = ["route", "blackhole", user.address_for(name)]
    inside = NodeInside(f"{name}-1")
    inside.run("ip", hole[0], "add", *hole[1:], check=True)
    time.sleep(8)
    inside.run("ip", hole[0], "del", *hole[1:], check=True)
    back = time.monotonic()
    seen = len(reader.of(1))
    assert_true(reader.waits_for(1, seen + 1), "nothing comes after the cut")
    print(f"   a line came {time.monotonic() - back:.1f} s after the cut", flush=True)
    NodeInside(f"{name}-0").run("pkill", "-KILL", "-x", "sshd", check=True)
    err = check_whole(user, "followed", reader)
    assert_in(f"{name}-1 does not answer, retrying", err)
    code, err = one.end()
    assert_equal(code, 0, err)
    assert_equal(one.lines, EXPECTED, f"the followed log of rank 1: {err}")
    user.run("wait", "job", "followed")


ENDS_BADLY = """
import ctypes, os, sys, time
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
print("up", flush=True)
if os.environ["RANK"] == "1":
    os._exit(0)
mpi.MPI_Finalize()
time.sleep(600)
"""


@shared_cluster
def test_a_rank_that_never_finalises_mpi_is_named(user):
    name = user.two_nodes()
    program = ["python3", "-c", ENDS_BADLY]
    began = time.monotonic()
    done = user.run(*job_words(name, 2, program, "unfinal"), code=None, timeout=60)
    assert_true(done.returncode != 0, "the job ended well")
    assert_less(time.monotonic() - began, 45)
    assert_in(f"rank 1 on {name}-1", done.err)
    assert_in("MPI_Finalize", done.err)
    shown = json.loads(user.run("describe", "job", "unfinal", "-o", "json").out)
    assert_equal(shown["state"], "failed", f"{shown}")
    user.run(*job_words(name, 2, program, "later", "--detach"))
    done = user.run("wait", "job", "later", code=None, timeout=60)
    assert_in(f"rank 1 on {name}-1: ended without MPI_Init or without MPI_Finalize", done.err)
    assert_not_in("[mpirun]", done.err)
    later = json.loads(user.run("describe", "job", "later", "-o", "json").out)
    for key in ("reason", "exit_code", "cause", "failure"):
        assert_equal(later[key], shown[key], key)


ABORTS = """
import ctypes, os, sys, time
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
integer = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_int"))
mpi.MPI_Init(None, None)
if os.environ["RANK"] == "1" and not os.path.exists("again"):
    open("again", "w").close()
    if sys.argv[1] == "wrong":
        mpi.MPI_Send(ctypes.byref(ctypes.c_int(1)), 1, integer, 99, 0, world)
    mpi.MPI_Abort(world, int(sys.argv[1]))
mpi.MPI_Barrier(world)
mpi.MPI_Finalize()
"""


@shared_cluster
def test_an_abort_by_mpi_is_the_failure_of_its_rank(user):
    name = user.two_nodes()
    for how, code, said in (
        ("7", 7, "called MPI_Abort with error code 7"),
        ("0", 1, "called MPI_Abort with error code 0"),
        ("wrong", 6, "MPI_Send failed: MPI_ERR_RANK: invalid rank"),
    ):
        user.run("exec", name, "--", "rm", "-f", "again")
        job = f"abort-{how}"
        words = job_words(name, 2, ["python3", "-c", ABORTS, how], job)
        done = user.run(*words, code=code, timeout=60)
        assert_in(f"rank 1 on {name}-1: {said}", done.err)
        assert_not_in("[mpirun]", done.err)
        shown = json.loads(user.run("describe", "job", job, "-o", "json").out)
        assert_equal(shown["state"], "failed", f"{shown}")
        assert_equal(shown["reason"], f"rank 1 on {name}-1: {said}")
        assert_equal(shown["cause"], "failure")
        assert_equal(shown["failure"]["rank"], 1)
        assert_equal(shown["failure"]["exit_code"], code)
    user.run("exec", name, "--", "rm", "-f", "again")
    retried = ("--retry", "1", "--on", "failure")
    again = job_words(name, 2, ["python3", "-c", ABORTS, "7"], "again", *retried)
    user.run(*again, timeout=60)
    user.run("exec", name, "--", "rm", "-f", "again")


RATE, SECONDS = 10_000, 10
FLOOD = f"""
import os, time
out = os.fdopen(1, "w", buffering=1 << 16)
begin, step = time.monotonic(), {RATE} // 100
for turn in range({SECONDS} * 100):
    out.write("".join(f"line {{i}}\\n" for i in range(turn * step, (turn + 1) * step)))
    out.flush()
    time.sleep(max(0, begin + (turn + 1) / 100 - time.monotonic()))
"""


@shared_cluster
def test_ten_thousand_lines_a_second_from_every_rank_arrive_in_order(user):
    name = user.two_nodes()
    words = job_words(name, 4, ["python3", "-c", FLOOD], "flood", "--oversubscribe")
    path = user.folder / "flood"
    with open(path, "wb") as out:
        began = time.monotonic()
        process = user.start(*words, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert_equal(process.returncode, 0, process.stderr.read().decode())
    following = [0] * 4
    with open(path, "rb") as lines:
        for line in lines:
            rank = int(line[1:2])
            assert_equal(line, b"[%d] line %d\n" % (rank, following[rank]))
            following[rank] += 1
    assert_equal(following, [RATE * SECONDS] * 4)
    cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss
    print(f"   {took:.1f} s, {cpu:.2f} s of a core, {memory} KiB", flush=True)
    assert_less(memory, 128 * 1024, "the memory of the client")
    assert_less(cpu, 0.5 * took, "the processor time of the client")


@contextlib.contextmanager
def memory_limit(node, limit):
    """Puts all processes of a node in a memory group. Yields False where none can be made."""
    root = pathlib.Path("/sys/fs/cgroup")
    old = root / "memory"
    place = (old if old.is_dir() else root) / f"fastgpu-test-{os.getpid()}"
    try:
        place.mkdir()
    except OSError:
        yield False
        return
    try:
        file = place / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")
        if not file.exists():
            yield False
            return
        file.write_text(str(limit))
        for pid in node.processes():
            with contextlib.suppress(OSError):
                (place / "cgroup.procs").write_text(str(pid))
        yield True
    finally:
        for pid in node.processes():
            with contextlib.suppress(OSError):
                (place.parent / "cgroup.procs").write_text(str(pid))
        within(5, lambda: not (place / "cgroup.procs").read_text())
        with contextlib.suppress(OSError):
            place.rmdir()


@shared_cluster
def test_a_job_whose_folder_its_program_removes_says_so(user):
    name = user.two_nodes()
    program = ["sh", "-c", "rm -rf ~/.fastgpu/jobs/*; sleep 3"]
    done = user.run(*job_words(name, 1, program, "tidy"), code=None, timeout=60)
    assert_in("the folder of job tidy-1", done.err)
    assert_in("was removed while the job was in use", done.err)
    assert_not_in("filesystem", done.err)
    user.run("delete", "job", "tidy-1", "--yes", code=None)


@shared_cluster
def test_commands_that_look_go_on_with_the_nodes_that_run(user):
    """While a node comes or goes; a command that runs something there does not begin."""
    name = user.two_nodes()
    change = "UPDATE nodes SET state = ? WHERE name = ?"
    for state, reason in (("creating", "creation"), ("deleting", "deletion")):
        with contextlib.closing(sqlite3.connect(user.state / "state.db")) as records:
            records.execute(change, (state, f"{name}-1"))
            records.commit()
            try:
                for words in (["top", name, "--once"], ["why-awake", name], ["env", "list"]):
                    done = user.run(*words)
                    assert_in(f"without {name}-1: the {reason} of {name}-1 was", done.err)
                shown = json.loads(user.run("top", name, "--once", "-o", "json").out)
                assert_equal([node["name"] for node in shown["nodes"]], [f"{name}-0"])
                user.refused(["top", f"{name}/1", "--once"], 6, f"{name}-1 was interrupted")
                user.refused(["exec", name, "--", "true"], 6, f"{name}-1 was interrupted")
            finally:
                records.execute(change, ("running", f"{name}-1"))
                records.commit()


@shared_cluster
def test_a_rank_that_the_kernel_kills_for_the_memory_of_its_node_is_named(user):
    name = user.two_nodes()
    with memory_limit(NodeInside(f"{name}-1"), 300 << 20) as is_limited:
        if not is_limited:
            print("   skipped: no memory group can be made here", flush=True)
            return
        program = ["sh", "-c", "test $RANK = 0 && exec sleep 600; "]
        program[-1] += "echo reading all of it; exec tail /dev/zero"
        done = user.run(*job_words(name, 2, program, "greedy"), code=137, timeout=90)
    assert_in(f"rank 1 on {name}-1: killed by SIGKILL (out of memory)", done.err)
    shown = json.loads(user.run("describe", "job", "greedy", "-o", "json").out)
    assert_in("out of memory", shown["reason"], f"{shown}")
    failure = shown["failure"]
    found = [failure[key] for key in ("rank", "node", "exit_code", "signal", "out_of_memory")]
    assert_equal(found, [1, f"{name}-1", 137, "SIGKILL", True], f"{shown}")
    assert_equal(failure["last_lines"], ["reading all of it"], f"{shown}")
    text = user.run("describe", "job", "greedy").out.decode()
    assert_true(re.search(r"Last lines:\n +- reading all of it\n", text), text)


JOBS = "/root/.fastgpu/jobs"


@contextlib.contextmanager
def small_disk(node, size="300k"):
    """Gives a node a small disk for jobs."""
    make = f"mkdir -p {JOBS} && mount -t tmpfs -o size={size} tmpfs {JOBS}"
    node.run("sh", "-c", make, check=True)
    try:
        yield
    finally:
        node.run("umount", "-l", JOBS)


LOUD = (
    "i=0; while [ $i -lt 20000 ]; do echo a line of some bytes, number $i || exit 9; "
    "i=$((i+1)); done; "
)


@shared_cluster
def test_a_job_on_a_full_disk_goes_on_without_its_output(user):
    name = user.two_nodes()
    node = NodeInside(f"{name}-1")
    with small_disk(node):
        waits = "echo off >/root/is-off; while [ ! -e /root/go ]; do sleep 0.05; done; echo after"
        node.run("rm", "-f", "/root/go", "/root/is-off")
        NodeInside(f"{name}-0").run("touch", "/root/go")
        words = job_words(name, 2, ["sh", "-c", LOUD + waits], "goes", "--on-full", "continue")
        process = user.start(*words, stdout=subprocess.DEVNULL)
        said = process.stderr.readline().decode()
        while said and "no space left" not in said:
            said = process.stderr.readline().decode()
        assert_in(f"warning: no space left on {name}-1: {JOBS}/goes-1/ranks", said)
        assert_true(process.poll() is None, "it was said at the end only")
        assert_true(within(30, lambda: node.run("cat", "/root/is-off").stdout == "off\n"))
        node.run("mount", "-o", "remount,size=3m", JOBS, check=True)
        node.run("touch", "/root/go")
        _, err = process.communicate(timeout=60)
        assert_equal(process.returncode, 0, err.decode())
        assert_not_in(b"no space left", err, "it was said twice")
        log = node.run("cat", f"{JOBS}/goes-1/ranks/1.out").stdout
    shown = json.loads(user.run("describe", "job", "goes", "-o", "json").out)
    assert_equal(shown["full_disks"], [{"node": f"{name}-1", "path": f"{JOBS}/goes-1/ranks"}])
    assert_equal(shown["failure"], None)
    assert_in("Full disks", user.run("describe", "job", "goes").out.decode())
    lines = log.splitlines()
    gap = next(i for i, line in enumerate(lines) if line.startswith("[fastgpu: "))
    assert_true(re.fullmatch(r"\[fastgpu: \S+ \S+ of output dropped: no space left\]", lines[gap]))
    assert_equal(lines[:100], [f"a line of some bytes, number {i}" for i in range(100)])
    assert_equal(lines[gap + 1 :], ["after"], "what came after the gap")


@shared_cluster
def test_a_job_on_a_full_disk_is_stopped_where_that_is_asked_for(user):
    name = user.two_nodes()
    node = NodeInside(f"{name}-1")
    program = (
        "trap 'echo asked >/root/asked; exit 3' TERM; test $RANK = 0 || "
        "while :; do echo a line of some bytes; done 2>/dev/null & "
        "wait; while :; do sleep 0.05; done"
    )
    node.run("rm", "-f", "/root/asked")
    with small_disk(node):
        file = user.folder / "job.yaml"
        file.write_text("on_full: stop\n")
        words = job_words(name, 2, ["sh", "-c", program], "stops", "-f", str(file))
        done = user.run(*words, code=4, timeout=60)
        reason = "ended because its disk is full (--on-full stop); no space left"
        assert_in(f"rank 1 on {name}-1: {reason}", done.err)
        assert_equal(node.run("cat", "/root/asked").stdout, "asked\n", "it got no SIGTERM")
    shown = json.loads(user.run("describe", "job", "stops", "-o", "json").out)
    assert_equal(shown["failure"]["full_disk"], f"{JOBS}/stops-1/ranks", f"{shown}")
    assert_true(shown["failure"]["last_lines"][-2:], f"{shown}")
    with small_disk(node):  # A program whose own write fails ends before the disk is looked at.
        words = job_words(name, 2, ["sh", "-c", LOUD], "fails", "--on-full", "stop")
        assert_in(f"rank 1 on {name}-1: {reason}", user.run(*words, code=4, timeout=60).err)
    words = job_words(name, 2, ["true"], "--on-full", "continue", "--keep-processes")
    user.refused(words, 2, "--keep-processes")
    user.refused(job_words(name, 2, ["true"], "--on-full", "pause"), 2, "--on-full")


def other_machine(user):
    """Returns a second user of the same cluster: another state directory, which has its keys and
    the records of the cluster and its nodes, and no jobs, as after taking the cluster over.
    """
    other = User(user.fastgpu, user.folder)
    other.state = user.folder / "elsewhere"
    without = shutil.ignore_patterns("local", "locks")
    shutil.copytree(user.state, other.state, symlinks=True, ignore=without)
    with contextlib.closing(sqlite3.connect(other.state / "state.db")) as records:
        records.execute("DELETE FROM jobs")
        records.execute("DELETE FROM job_numbers")
        records.commit()
    return other


def test_a_detached_job_goes_on_with_another_machine(user):
    name = user.two_nodes()
    other = other_machine(user)
    user.run(*job_words(name, 2, ["sh", "-c", COUNTS], "shared", "--detach"))
    other.refused(["logs", "shared-1"], 5, "no job")
    other.refused(["logs", "shared-2", "-c", name], 5, "no node has a job 'shared-2'")
    other.refused(["logs", "shared", "-c", name], 2, "by its id")
    reader = Reader(other.start("attach", "job", "shared-1", "-c", name))
    followed = Reader(other.start("logs", "shared-1", "-c", name, "-f"))
    assert_true(reader.waits_for(1, 20), "no output comes")
    other.run("wait", "job", "shared-1", "-c", name)
    check_whole(other, "shared-1", reader)
    check_whole(other, "shared-1", followed)
    shown = json.loads(other.run("describe", "job", "shared-1", "-o", "json").out)
    assert_equal((shown["state"], shown["exit_code"]), ("succeeded", 0))
    user.run("wait", "job", "shared-1")
    # Once it is known here, its name will do.
    assert_equal(other.run("logs", "shared", "-c", name).out, user.run("logs", "shared").out)

    program = ["sh", "-c", "echo up; exec sleep 600.29"]
    user.run(*job_words(name, 2, program, "shared", "--detach"))
    other.run("cancel", "job", "shared-2", "-c", name)
    gone = within(10, lambda: not NodeInside(f"{name}-1").has("^sleep 600[.]29"))
    assert_true(gone, "a rank runs on")
    done = user.run("wait", "job", "shared-2", code=130)
    assert_in("cancelled", done.err)


def test_two_machines_never_take_a_job_for_their_own(user):
    name = user.two_nodes()
    other = other_machine(user)
    user.run(*job_words(name, 2, ["sh", "-c", "echo first; exec sleep 600.3"], "same", "--detach"))
    done = other.run(*job_words(name, 2, ["echo", "second"], "same"))
    assert_in("has a job same-1 of another machine", done.err)
    assert_in("job same-2: ", done.err)
    assert_in(b"second", done.out)
    other.refused(["logs", "same-1"], 5, "no job")
    assert_true(NodeInside(f"{name}-1").has("^sleep 600[.]3"), "the first job was ended")
    assert_in(b"first", user.run("logs", "same-1").out)
    user.run("cancel", "job", "same-1")


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    run_tests(globals())
