"""How jobs end: every program gets SIGTERM and time to save its work, on all nodes; nothing of a
job survives it; nodes that are cut off and daemons that die are named: job_ends_test.py FASTGPU
[TEST ...]
"""

import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster, within
from node_inside import NodeInside
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

SAVES = (
    "trap 'date +asked=%s.%N; sleep 1.5; echo saved; exit 7' TERM; echo up; "
    "while :; do sleep 0.02; done"
)
# Processes that leave the session, the parent and the environment of a rank.
DAEMONS = "env -i setsid -f sleep 4711.5; (setsid sleep 4711.5 &); setsid -f sleep 4711.5; "


def lines(user, name, *words):
    """Returns what a command prints on each node, by node."""
    done = user.run("exec", name, "-o", "json", "--", *words, code=None)
    return {host["name"]: host["stdout"] for host in json.loads(done.out)["hosts"]}


def daemons(user, name):
    return {
        node: text.count("\n")
        for node, text in lines(user, name, "pgrep", "-f", "^sleep 4711[.]5").items()
    }


def starts(user, name, job, program, *more, ranks=4):
    """Starts a job in this process's care, and waits until its ranks have begun."""
    process = user.start(*job_words(name, ranks, ["sh", "-c", program], job, *more))
    seen = ""

    def all_are_up():
        nonlocal seen
        logs = user.run("logs", f"{job}-1", code=None)
        seen = logs.out.decode(errors="replace") + logs.err
        return logs.out.count(b"up\n") == ranks

    if not within(30, all_are_up):
        process.terminate()
        _, err = process.communicate(timeout=60)
        raise AssertionError(f"{job} does not start: {err.decode()}\nits logs: {seen}")
    return process


def said(user, job, ranks=4):
    return [user.run("logs", job, "--rank", str(rank)).out.decode() for rank in range(ranks)]


@shared_cluster
def test_every_program_is_asked_and_has_time_to_save_its_work(user):
    name = user.two_nodes()
    ways = {
        "by-cancel": lambda process: user.run("cancel", "job", "by-cancel"),
        "by-int": lambda process: process.send_signal(signal.SIGINT),
        "by-time": None,
    }
    for job, way in ways.items():
        more = ("--oversubscribe", *(() if way else ("--timeout", "6s")))
        began = time.time()
        process = starts(user, name, job, SAVES, *more)
        asked = time.time()
        if way:
            way(process)
        _, err = process.communicate(timeout=60)
        assert_equal(process.returncode, 130 if way else 124, err.decode())
        moments = []
        for text in said(user, job):
            assert_in("asked=", text, f"{job}: a rank got no SIGTERM: {text}")
            assert_in("saved", text, f"{job}: a rank was cut short: {text}")
            at = float(text.split("asked=")[1].split()[0])
            late = at - asked if way else at - began - 6
            print(f"   {job}: asked after {late:.2f} s", flush=True)
            assert_less(late, 4, f"{job}: asked after {late:.1f} s")
            moments.append(at)
        # The nodes of this machine have one clock. Open MPI 4.1 alone takes seconds for the others.
        assert_less(max(moments) - min(moments), 0.5, f"{job}: not at once: {moments}")


@shared_cluster
def test_a_job_that_ended_before_it_is_cancelled_keeps_its_own_end(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sh", "-c", "exit $((RANK * 3))"], "over", "--detach"))
    ended = ["sh", "-c", "grep -q . ~/.fastgpu/jobs/over-1/status"]
    assert_true(
        within(30, lambda: user.run("exec", f"{name}/0", "--", *ended, code=None).returncode == 0),
        "it does not end",
    )
    done = user.run("cancel", "job", "over")
    assert_in("job over-1 has already ended: failed", done.err)
    shown = json.loads(user.run("describe", "job", "over", "-o", "json").out)
    assert_equal((shown["state"], shown["exit_code"]), ("failed", 3))


@shared_cluster
def test_a_grace_is_an_upper_limit(user):
    name = user.two_nodes()
    program = "trap '' TERM; echo up; while :; do sleep 0.02; done"
    process = starts(user, name, "deaf", program, "--grace", "1s", ranks=2)
    began = time.monotonic()
    user.run("cancel", "job", "deaf")
    took = time.monotonic() - began
    process.communicate(timeout=30)
    assert_less(took, 8, f"it took {took:.1f} s")
    user.refused(
        ["run", "job", "-c", name, "--grace", "2h", "--", "true"],
        2,
        "grace",
    )


@shared_cluster
def test_nothing_survives_a_job(user):
    name = user.two_nodes()
    user.run(*job_words(name, 4, ["sh", "-c", DAEMONS + "true"], "well", "--oversubscribe"))
    assert_true(
        within(5, lambda: not any(daemons(user, name).values())), f"left: {daemons(user, name)}"
    )
    process = starts(user, name, "stopped", DAEMONS + "echo up; sleep 600", "--oversubscribe")
    assert_true(all(daemons(user, name).values()), "no daemon has started")
    user.run("cancel", "job", "stopped")
    process.communicate(timeout=30)
    assert_true(
        within(5, lambda: not any(daemons(user, name).values())), f"left: {daemons(user, name)}"
    )
    user.run(
        *job_words(
            name, 2, ["sh", "-c", "setsid -f sleep 4711.5; true"], "kept", "--keep-processes"
        )
    )
    assert_equal(list(daemons(user, name).values()), [1, 1], "a daemon that was to stay is gone")
    user.run("exec", name, "--", "pkill", "-f", "^sleep 4711.5")


def state_of(user, job):
    return json.loads(user.run("describe", "job", job, "-o", "json").out)["state"]


@shared_cluster
def test_daemons_that_were_to_stay_end_with_a_job_that_fails(user):
    name = user.two_nodes()
    # Rank 1, on the other node, has ended well when rank 0 fails, and the other way round.
    first_fails = "setsid -f sleep 4711.5; [ $RANK = 1 ] && exit 0; sleep 1; exit 3"
    other_fails = DAEMONS + "[ $RANK = 0 ] && exit 0; sleep 1; exit 3"

    def has_no_daemons():
        return not any(daemons(user, name).values())

    for job, program in (("first", first_fails), ("other", other_fails)):
        words = job_words(name, 2, ["sh", "-c", program], job, "--keep-processes")
        user.run(*words, code=3)
        assert_true(within(5, has_no_daemons), f"{job}: {daemons(user, name)}")
    for job in ("waited", "looked-at"):
        words = (job, "--keep-processes", "--detach")
        user.run(*job_words(name, 2, ["sh", "-c", first_fails], *words))
        if job == "waited":
            user.run("wait", "job", job, code=3)
        else:
            assert_true(within(30, lambda: state_of(user, "looked-at") == "failed"), "it goes on")
        assert_true(within(5, has_no_daemons), f"{job}: {daemons(user, name)}")


KILLS_ITS_AGENT = (
    "env -i setsid -f sleep 4711.5; echo up; "
    "parent=$(ps -o ppid= -p $$ | tr -d ' '); front=$(ps -o ppid= -p $parent | tr -d ' '); "
    "kill -9 $parent $front; sleep 600"
)


@shared_cluster
def test_daemons_of_a_rank_whose_agent_is_killed_end_with_their_control_group(user):
    name = user.two_nodes()
    mount = (
        "mkdir -p /sys/fs/cgroup && { grep -q ' cgroup2 ' /proc/mounts || "
        "mount -t cgroup2 cgroup2 /sys/fs/cgroup; } && mkdir /sys/fs/cgroup/try-$$ && "
        "rmdir /sys/fs/cgroup/try-$$"
    )
    if user.run("exec", name, "--", "sh", "-c", mount, code=None).returncode != 0:
        print("   skipped: no cgroup v2 on the nodes", flush=True)
        return
    words = job_words(name, 2, ["sh", "-c", KILLS_ITS_AGENT], "orphans")
    assert_true(user.run(*words, code=None, timeout=60).returncode != 0, "the job ended well")
    gone = within(10, lambda: not any(daemons(user, name).values()))
    assert_true(gone, f"left: {daemons(user, name)}")
    groups = lines(user, name, "sh", "-c", "find /sys/fs/cgroup -name 'fastgpu-orphans*'")
    assert_equal(set(groups.values()), {""}, "groups are left")
    user.run("exec", name, "--", "sh", "-c", "umount /sys/fs/cgroup || true")


def put_mpirun(user, node, text):
    """Puts a program in the place of a node's mpirun, and returns what undoes it."""
    user.run(
        "exec",
        node,
        "--",
        "sh",
        "-c",
        f"mv /usr/bin/mpirun /root/hidden && printf '%s\\n' '{text}' >/usr/bin/mpirun"
        " && chmod +x /usr/bin/mpirun",
    )
    return lambda: user.run("exec", node, "--", "mv", "/root/hidden", "/usr/bin/mpirun")


@shared_cluster
def test_another_open_mpi_on_a_node_is_named_before_the_start(user):
    name = user.two_nodes()
    undo = put_mpirun(user, f"{name}/1", '#!/bin/sh\necho "mpirun (Open MPI) 5.0.11"')
    try:
        user.refused(
            job_words(name, 2, ["true"]), 1, f"{name}-1: mpirun (Open MPI) 5.0.11, but mpirun"
        )
    finally:
        undo()
    undo = put_mpirun(user, f"{name}/1", "#!/bin/sh\nexec sleep 100")
    try:
        words = f"{name}-1: /usr/bin/mpirun does not answer: `/usr/bin/mpirun --version` has not"
        user.refused(job_words(name, 2, ["true"]), 1, words)
    finally:
        undo()
    user.run("exec", f"{name}/1", "--", "mv", "/usr/bin/orted", "/root/orted")
    try:
        user.refused(job_words(name, 2, ["true"]), 1, f"{name}-1: mpirun's daemon (orted")
    finally:
        user.run("exec", f"{name}/1", "--", "mv", "/root/orted", "/usr/bin/orted")


@shared_cluster
def test_a_daemon_of_mpirun_that_dies_is_the_cause_and_not_its_ranks(user):
    name = user.two_nodes()
    process = starts(user, name, "orted", "echo up; exec sleep 600", ranks=2)
    user.run("exec", f"{name}/1", "--", "pkill", "-KILL", "-x", "orted")
    _, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 1, err.decode())
    assert_not_in("rank 1 on", err.decode(), "the victim is named as the cause")
    assert_in("mpirun on", err.decode())
    words = ("--detach",)
    starts(user, name, "later", "echo up; exec sleep 600", *words, ranks=2).communicate(timeout=30)
    user.run("exec", f"{name}/1", "--", "pkill", "-KILL", "-x", "orted")
    user.run("wait", "job", "later", code=1, timeout=60)
    for job in ("orted", "later"):
        shown = json.loads(user.run("describe", "job", job, "-o", "json").out)
        assert_equal(shown["reason"], f"mpirun on {name}-0 has lost contact with {name}-1")
        assert_equal((shown["cause"], shown["lost_nodes"]), ("node-loss", [f"{name}-1"]))
    left = user.run("exec", f"{name}/1", "--", "sh", "-c", "ls -d /tmp/ompi.* || true").out
    assert_equal(left.strip(), b"", "the session of the killed daemon is left")


@shared_cluster
def test_a_launcher_that_stays_after_all_ranks_is_ended_by_the_hang_timeout(user):
    name = user.two_nodes()
    for job, code, word in (("stays0", 0, "succeeded, but "), ("stays3", 3, "exited with 3; ")):
        gate = f"/tmp/{job}"
        program = f"echo up; while [ ! -e {gate} ]; do sleep 0.1; done; exit $((RANK * {code}))"
        process = starts(user, name, job, program, "--hang-timeout", "12s", ranks=2)
        inside = NodeInside(f"{name}-1")
        inside.run("pkill", "-STOP", "-x", "orted", check=True)
        try:
            user.run("exec", name, "--", "touch", gate)
            began = time.monotonic()
            _, err = process.communicate(timeout=90)
            print(f"   it was ended after {time.monotonic() - began:.1f} s", flush=True)
        finally:
            inside.run("pkill", "-KILL", "-x", "orted")
        err = err.decode()
        assert_equal(process.returncode, code, err)
        why = f"mpirun on {name}-0 did not end within 12s after all ranks, and was ended"
        assert_in(word + why, err)
        assert_in(f"all ranks ended 10s ago, but mpirun on {name}-0 runs on", err)
        shown = json.loads(user.run("describe", "job", job, "-o", "json").out)
        assert_true(shown["reason"].endswith(why), f"{shown}")
        assert_equal(shown["state"], "succeeded" if code == 0 else "failed")


NOTICED = 15  # Seconds in which a node that is cut off is named, and its ranks end.


def check_cut(user, process, node, inside, pattern):
    """Cuts the node off, and checks that the command and the ranks there end in time."""
    with inside.cut() as began:
        ended = {}

        def all_ended():
            now = time.monotonic() - began
            if process.poll() is not None:
                ended.setdefault("command", now)
            if not inside.has(pattern):
                ended.setdefault("ranks", now)
            return len(ended) == 2

        within(60, all_ended)
        _, err = process.communicate(timeout=30)
        print(f"   {node} is cut off: {ended}", flush=True)
        assert_equal(process.returncode, 1, err.decode())
        assert_in(f"lost contact with {node}", err.decode())
        for what in ("command", "ranks"):
            assert_less(ended.get(what, 999), NOTICED, f"{what}: {ended}")


def shown_state(user, node):
    """Returns the state of a node that `get nodes` shows, which asks none."""
    found = json.loads(user.run("get", "nodes", user.cluster, "-o", "json").out)["nodes"]
    one = next(each for each in found if each["name"] == node)
    return "unreachable" if one["unreachable_since"] else one["state"]


@shared_cluster
def test_ranks_of_a_node_that_is_cut_off_end_by_themselves(user):
    name = user.two_nodes()
    for node in (1, 0):
        job, program = f"cut{node}", f"echo up; exec sleep 600.2{node}"
        process = starts(user, name, job, program, ranks=2)
        where = f"{name}-{node}"
        check_cut(user, process, where, NodeInside(where), f"^sleep 600[.]2{node}")
        assert_equal(shown_state(user, where), "unreachable")
        user.run("exec", f"{name}/{where}", "--", "true")
        assert_equal(shown_state(user, where), "running")
        shown = json.loads(user.run("describe", "job", f"{job}-1", "-o", "json").out)
        assert_equal((shown["lost_nodes"], shown["failure"]), ([where], None), f"{shown}")


def has_left(node):
    """Returns a function that asks whether the program of DEAF_TO_USR1 has left a node."""
    return lambda: not node.has("^sleep 600[.]26")


DEAF_TO_USR1 = "trap '' USR1; echo up; sleep 600.26 & while :; do wait; done"


@shared_cluster
def test_a_detached_job_ends_with_a_node_to_which_data_is_under_way(user):
    name = user.two_nodes()
    for launcher in ("mpirun", "plain"):
        words = ("--detach", "--launcher", launcher)
        starts(user, name, launcher, DEAF_TO_USR1, *words, ranks=2).communicate(timeout=30)
        head, other = NodeInside(f"{name}-0"), NodeInside(f"{name}-1")
        with other.cut() as began:
            # mpirun passes this on, and waits for an answer as long as TCP does.
            head.run("pkill", "-USR1", "-x", "mpirun")
            ended = within(NOTICED, has_left(head))
            print(f"   {launcher}: {time.monotonic() - began:.1f} s after the cut", flush=True)
            assert_true(ended, "the job goes on")
            assert_true(within(5, has_left(other)), "a rank goes on")
            done = user.run("wait", "job", launcher, code=1, timeout=60)
        status = head.run("cat", f"/root/.fastgpu/jobs/{launcher}-1/status").stdout
        # On a busy machine mpirun may notice it before the supervisor does.
        assert_true("cause=cut_off" in status or "code=255" in status, status)
        assert_in(f"lost contact with {name}-1", done.err)
        shown = json.loads(user.run("describe", "job", launcher, "-o", "json").out)
        assert_equal((shown["cause"], shown["lost_nodes"]), ("node-loss", [f"{name}-1"]))


@shared_cluster
def test_ranks_without_mpi_that_are_cut_off_end_by_themselves(user):
    name = user.two_nodes()
    words = ("echo up; exec sleep 600.27", "--launcher", "plain")
    process = starts(user, name, "plainly", *words, ranks=2)
    where = f"{name}-1"
    check_cut(user, process, where, NodeInside(where), "^sleep 600[.]27")


@shared_cluster
def test_ranks_that_are_cut_off_end_by_their_lease_where_mpirun_does_nothing(user):
    name = user.two_nodes()
    process = starts(user, name, "lease", "echo up; exec sleep 600.28", ranks=2)
    inside = NodeInside(f"{name}-1")
    inside.run("pkill", "-STOP", "-x", "orted", check=True)
    try:
        with inside.cut() as began:
            gone = within(NOTICED, lambda: not inside.has("^sleep 600[.]28"))
            print(f"   its ranks ended after {time.monotonic() - began:.1f} s", flush=True)
            assert_true(gone, "a rank outlives its lease")
            process.communicate(timeout=60)
    finally:
        inside.run("pkill", "-KILL", "-x", "orted")
    log = user.run("logs", "lease-1", "--rank", "1", code=None)
    kept = inside.run("cat", "/root/.fastgpu/jobs/lease-1/ranks/1.err").stdout
    assert_in("the first node of the job did not answer for 9s", kept, log.err)


@shared_cluster
def test_a_job_whose_machine_is_gone_ends_by_its_lease(user):
    name = user.two_nodes()
    process = starts(user, f"{name}/1", "alone", "echo up; exec sleep 600.29", ranks=1)
    inside = NodeInside(f"{name}-1")
    with inside.cut() as began:
        gone = within(80, lambda: not inside.has("^sleep 600[.]29"))
        print(f"   its rank ended after {time.monotonic() - began:.1f} s", flush=True)
        assert_true(gone, "a rank outlives the lease of its job")
        _, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 1, err.decode())
    assert_in(f"lost contact with {name}-1", err.decode())
    logs = user.run("logs", "alone-1")
    assert_equal(logs.out, b"up\n")
    # The box of mpirun ("Primary job terminated normally, but ...") explains nothing.
    assert_equal(logs.err, "")
    document = json.loads(user.run("logs", "alone-1", "-o", "json").out)
    assert_equal([line["text"] for line in document["lines"]], ["up"])


@shared_cluster
def test_mpirun_repeats_no_end_that_is_explained(user):
    name = user.two_nodes()
    done = user.run(*job_words(name, 1, ["sleep", "60"], "late", "--timeout", "1s"), code=124)
    assert_not_in("[mpirun]", done.err)
    done = user.run(*job_words(name, 1, ["sh", "-c", "echo no data; exit 3"], "bad"), code=3)
    for words in (("logs", "bad"), ("logs", "late"), ("logs", "bad", "-f")):
        assert_not_in("[mpirun]", user.run(*words).err, f"{words}")
    done = user.run("wait", "job", "bad", code=3)
    assert_in("the last lines of rank 0:\n  no data\n", done.err)


@shared_cluster
def test_a_job_that_is_interrupted_before_it_begins_says_so(user):
    name = user.two_nodes()
    inside = NodeInside(f"{name}-0")
    inside.run("pkill", "-STOP", "-x", "sshd", check=True)
    try:
        process = user.start(*job_words(name, 1, ["true"], "early"))
        begun = within(20, lambda: b"early-1" in user.run("get", "jobs", "-o", "name").out)
        assert_true(begun, "the job is not on record")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        inside.run("pkill", "-CONT", "-x", "sshd", check=True)
    assert_equal(process.returncode, 130, err.decode())
    assert_in("error: job early-1 was cancelled before it began\n", err.decode())
    shown = json.loads(user.run("describe", "job", "early", "-o", "json").out)
    assert_equal((shown["reason"], shown["cause"]), ("cancelled before it began", "cancelled"))
    done = user.run("logs", "early", code=6)
    assert_in("job early-1 never started: cancelled before it began", done.err)


BREAK_DAEMON = """
for program in /usr/bin/orted /usr/bin/prted; do
  test -e $program || continue
  rm $program
  printf '#!/bin/sh\\nexit 1\\n' >$program
  chmod 755 $program
done
"""


def test_daemons_that_mpirun_cannot_start_are_one_sentence_with_the_next_step(user):
    name = user.two_nodes()
    user.run("exec", f"{name}/1", "--", "sh", "-c", BREAK_DAEMON)
    done = user.run(*job_words(name, 2, ["hostname"], "dead"), code=1)
    reason = (
        f"mpirun on {name}-0 could not start its daemons on {name}-1 (mpirun's daemon exited "
        f"with 1): `fastgpu check cluster {name}` looks for the cause"
    )
    assert_in(f"job dead-1 failed: {reason}\n", done.err)
    assert_not_in("reliably", done.err)
    job = json.loads(user.run("describe", "job", "dead", "-o", "json").out)
    assert_equal(job["reason"], reason)


def test_a_job_ends_with_a_node_that_leaves_its_cluster(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sleep", "600.5"], "left", "--detach"))
    user.run("scale", "cluster", name, "--nodes", "1", "--yes")
    done = user.run("wait", "job", "left", code=1, timeout=60)
    assert_in(f"{name}-1", done.err)
    job = json.loads(user.run("get", "jobs", "-o", "json").out)["jobs"][0]
    assert_equal((job["state"], job["cause"]), ("lost", "node-loss"), f"{job}")
    assert_equal(job["lost_nodes"], [f"{name}-1"], f"{job}")
    assert_true(
        within(40, lambda: not lines(user, name, "pgrep", "-f", "^sleep 600.5")[f"{name}-0"]),
        "a rank of the other node runs on",
    )


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    run_tests(globals())
