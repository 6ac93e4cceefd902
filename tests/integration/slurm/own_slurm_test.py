"""Slurm that fastgpu sets up on nodes, as a user meets it: own_slurm_test.py FASTGPU [TEST ...]

Needs root, sshd and Slurm (Debian: slurmctld, slurmd, slurm-client, munge); exits with 77 where it
cannot run. It cleans up after itself.
"""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "static"))
import cli_user
import static_lab
import suite
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

PLACE = pathlib.Path("/var/lib/fastgpu-slurm")
USUAL = pathlib.Path("/etc/slurm/slurm.conf")
NODES = pathlib.Path(__file__).resolve().parents[3] / "templates/nodes"
SCRIPT = "".join((NODES / name).read_text() for name in ("slurm_environment.sh", "set_up_slurm.sh"))
REMOVAL = f"sudo sh {PLACE}/set_up remove"
INSIDE = ["nsenter", "--mount", "--pid", "--net"]
PROGRAMS = {"slurmctld", "slurmd", "slurmstepd", "munged"}
STEPS = ("recorded", "prepared", "key", "applied")


def create(user, *more, nodes=2, **options):
    words = ["--nodes", str(nodes), "--slots", "2", "--scheduler", "slurm", *more]
    return user.run("create", "cluster", user.cluster, *words, **options)


def run_job(user, name, program, *more, code=0):
    words = ["run", "job", name, "-c", user.cluster, "--engine", "slurm", *more, "--"]
    return user.run(*words, *program, code=code)


def on_node(user, index, command):
    """Returns the output of the command there, without the name of the node."""
    text = user.run("exec", f"{user.cluster}/{index}", "--", "sh", "-c", command).out.decode()
    return "".join(line.split(": ", 1)[1] for line in text.splitlines(keepends=True))


def slurm_nodes(user):
    """Returns the nodes and their states, as the controller knows them."""
    text = on_node(user, 0, "sinfo -h -N -o '%N %T'")
    return dict(line.split() for line in text.splitlines())


def slurm_findings(user):
    """Returns the nodes and the faults that the check of the cluster has found in Slurm."""
    done = user.run("check", "cluster", user.cluster, "-o", "json", code=None)
    found = json.loads(done.out)["findings"]
    return [(one["nodes"], one["found"]) for one in found if one["check"] == "slurm"]


def processes_of_slurm():
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if entry.read_text().strip() in PROGRAMS:
                found.append((entry.parent.name, entry.read_text().strip()))
    return found


def test_a_job_runs_in_slurm_and_nothing_is_left_after_the_cluster(user):
    made = create(user, "-v")
    assert_in(f"run job --cluster {user.cluster} --engine slurm -np 4", made.err)
    beside = user.run("run", "job", "-c", user.cluster, "-np", "1", "--", "true")
    assert_in("--engine slurm gives it to Slurm", beside.err)
    key = on_node(user, 0, f"base64 -w 0 {PLACE}/munge.key").strip()
    assert_equal(len(base64.b64decode(key)), 128)
    assert_not_in(key, made.err + made.out.decode())
    for index in (0, 1):
        assert_in("400 root", on_node(user, index, f"stat -c '%a %U' {PLACE}/munge.key"))
        assert_in(key, on_node(user, index, f"base64 -w 0 {PLACE}/munge.key"))
    assert_in("slurm", user.run("describe", "cluster", user.cluster).out.decode())

    source = user.folder / "source"
    source.mkdir()
    (source / "data").write_text("text")
    show = (
        'echo "$SLURMD_NODENAME $(cat data) $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $A"; '
        "echo e >&2"
    )
    words = ["-np", "4", "--npernode", "2", "--set", "slurm.nodes=2", "-e", "A=x y"]
    done = run_job(user, "place", ["sh", "-c", show], *words, "--sync", str(source))
    address = json.loads(user.run("get", "nodes", user.cluster, "-o", "json").out)["nodes"][0]
    wanted = [
        f"[{rank}] {user.cluster}-{rank // 2} text {rank} {rank % 2} 4 {address['address']} x y"
        for rank in range(4)
    ]
    assert_equal(sorted(done.out.decode().splitlines()), wanted)
    assert_equal(done.err.count("] e"), 4, done.err)
    assert_equal(len(user.run("logs", "place").out.splitlines()), 4)
    assert_in(f"{user.cluster}-1", user.run("logs", "place", "--rank", "3").out.decode())
    for index in (0, 1):
        left = on_node(user, index, "ls .fastgpu/jobs/place-1")
        assert_not_in("variables", left)
        assert_not_in("comm-secret", left)

    show = 'echo "$LOCAL_WORLD_SIZE $MASTER_PORT $FASTGPU_COMM_MASTER_PORT $TF_CONFIG"'
    run_job(user, "uneven", ["sh", "-c", show], "-np", "3", "--set", "slurm.nodes=2")
    texts = [user.run("logs", "uneven", "--rank", str(rank)).out.decode() for rank in range(3)]
    found = [text.split(maxsplit=3) for text in texts]
    assert_equal([words[0] for words in found], ["2", "2", "1"], "the ranks of each node")
    port = int(found[0][1])
    assert_equal({tuple(words[1:3]) for words in found}, {(str(port), str(port + 2))}, "ports")
    nodes = [
        one["address"]
        for one in json.loads(user.run("get", "nodes", user.cluster, "-o", "json").out)["nodes"]
    ]
    workers = [f"{nodes[0]}:{port}", f"{nodes[0]}:{port + 1}", f"{nodes[1]}:{port}"]
    for rank, words in enumerate(found):
        assert_equal(
            json.loads(words[3]),
            {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}},
        )

    fail = ["sh", "-c", '[ "$RANK" = 1 ] && exit 7; exec sleep 60']
    failed = run_job(user, "seven", fail, "-np", "2", "--set", "slurm.nodes=2", code=7)
    assert_in(f"rank 1 on {user.cluster}-1: exited with 7", failed.err)
    user.run("delete", "job", "seven", "--yes")
    run_job(user, "busy", ["sleep", "4"], "-np", "2", "--set", "slurm.nodes=2")
    report = json.loads(user.run("report", "busy", "-o", "json").out)
    sampled = {one["node"] for one in report["usage"] if one["samples"]}
    assert_equal(sampled, {f"{user.cluster}-0", f"{user.cluster}-1"})
    assert_not_in("seven", on_node(user, 1, "ls .fastgpu/jobs"))

    user.run("delete", "cluster", user.cluster, "--yes")
    user.check_nothing_is_left()
    assert_equal(processes_of_slurm(), [])
    assert_true(not PLACE.exists() and not USUAL.exists(), "files are left on this machine")


def test_a_job_in_the_queue_waits_and_a_cancelled_one_ends_on_all_nodes(user):
    create(user)
    first = ["-np", "4", "--set", "slurm.nodes=2", "--detach"]
    trap = 'trap "echo saved; exit 3" TERM; echo up; echo loss 0.5; while :; do sleep 0.1; done'
    running = run_job(user, "long", ["sh", "-c", trap], *first).out.decode().strip()
    waiting = run_job(user, "short", ["true"], *first).out.decode().strip()
    assert_true(
        cli_user.within(30, lambda: user.run("logs", running).out.count(b"up") == 4),
        "the ranks do not start",
    )
    seen = json.loads(user.run("top", user.cluster, "-o", "json").out)
    assert_equal([one["id"] for one in seen["engine_jobs"]], [running], f"{seen}")
    assert_equal(seen["engine_jobs"][0]["nodes"], f"{user.cluster}-[0-1]")
    assert_equal([one["text"] for one in seen["metrics"][running]], ["0.5"], f"{seen}")
    user.run("cancel", "job", running)
    assert_equal(user.run("logs", running).out.count(b"saved"), 4)
    user.run("wait", "job", waiting)


MPI_PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%d of %d\\n", rank, size);
  return MPI_Finalize();
}
"""


def test_a_program_of_mpi_finds_its_ranks_without_a_word_about_the_plugin(user):
    if shutil.which("mpicc") is None:
        return
    create(user)
    source = user.folder / "source"
    source.mkdir()
    (source / "program.c").write_text(MPI_PROGRAM)
    subprocess.run(["mpicc", "-o", source / "program", source / "program.c"], check=True)
    words = ["-np", "2", "--set", "slurm.nodes=2", "--sync", str(source)]
    done = run_job(user, "mpi", ["./program"], *words)
    lines = sorted(line.split("] ", 1)[-1] for line in done.out.decode().splitlines())
    assert_equal(lines, ["0 of 2", "1 of 2"], done.err)


WRAPPER = """cat > /usr/local/bin/sbatch << 'EOF'
#!/bin/sh
echo "Welcome to the Site Supercomputer"
echo "--> Verifying valid submit host...OK"
exec /usr/bin/sbatch "$@"
EOF
chmod 755 /usr/local/bin/sbatch
cat > .bashrc << 'EOF'
export SBATCH_PARTITION=high SBATCH_ACCOUNT=other SBATCH_TIMELIMIT=1 SBATCH_JOB_NAME=zz
export SBATCH_REQUEUE=1 SBATCH_ARRAY_INX=1-2 SBATCH_EXPORT=NONE SLURM_EXPORT_ENV=NONE
export SALLOC_PARTITION=high SCANCEL_STATE=PENDING SQUEUE_PARTITION=high SLURM_TIME_FORMAT=relative
EOF
"""
ASK = "env -i PATH=$PATH"  # A shell of the node reads .bashrc.


def number_in_slurm(user, job):
    described = json.loads(user.run("describe", "job", job, "-o", "json").out)
    return described["spec"]["engine_job"]


def test_a_wrapper_of_the_site_and_variables_of_the_login_change_nothing(user):
    create(user)
    on_node(user, 0, WRAPPER)
    words = ["-np", "2", "--set", "slurm.nodes=2", "--timeout", "10m"]
    done = run_job(user, "wrapped", ["sh", "-c", "echo $RANK of $WORLD_SIZE"], *words)
    assert_equal(sorted(done.out.decode().splitlines()), ["[0] 0 of 2", "[1] 1 of 2"], done.err)
    number = number_in_slurm(user, "wrapped")
    made = on_node(user, 0, f"{ASK} scontrol -o show job {number}")
    for part in ("JobName=wrapped-1 ", "Partition=fastgpu ", "TimeLimit=00:10:00 ", "Requeue=0 "):
        assert_in(part, made)
    job = run_job(user, "long", ["sleep", "600"], *words, "--detach").out.decode().strip()
    user.run("cancel", "job", job)
    assert_equal(on_node(user, 0, f"{ASK} squeue -h"), "")


def test_a_job_that_slurm_suspends_or_starts_again_has_a_reason(user):
    create(user)
    program = ["sh", "-c", "echo up >> ran; exec sleep 600"]
    words = ["-np", "2", "--set", "slurm.nodes=2", "--detach"]
    job = run_job(user, "again", program, *words).out.decode().strip()

    def reason():
        return json.loads(user.run("describe", "job", job, "-o", "json").out)["reason"]

    number = number_in_slurm(user, job)
    assert_true(cli_user.within(60, lambda: "up" in on_node(user, 1, "cat ran || :")), "no start")
    on_node(user, 0, f"scontrol suspend {number}")
    assert_true(cli_user.within(30, lambda: reason() == "is suspended in Slurm"), reason())
    assert_in("is suspended in Slurm", user.run("get", "jobs", "-o", "wide").out.decode())
    on_node(user, 0, f"scontrol resume {number}")
    assert_true(cli_user.within(30, lambda: reason() == ""), reason())

    on_node(user, 0, f"scontrol update JobId={number} Requeue=1 && scontrol requeue {number}")
    ended = user.run("wait", "job", job, code=1).err
    assert_in("Slurm ended it and put it back into its queue", ended)
    assert_true(cli_user.within(60, lambda: on_node(user, 0, "squeue -h") == ""), "it stays")
    assert_equal(on_node(user, 1, "cat ran"), "up\n")


def set_in_slurm(user, *lines):
    """Adds lines to the configuration of both nodes, in place of those of the last call."""
    text = "\\n".join(("# Of the site", *lines))
    for index in (0, 1):
        on_node(user, index, f"sed -i '/^# Of the site/,$d' {PLACE}/slurm.conf")
        on_node(user, index, f"printf '{text}\\n' >> {PLACE}/slurm.conf")
    on_node(user, 0, "scontrol reconfigure")


def use_all_nodes(user):
    """Lets Slurm use the nodes again that a prolog has taken out of use."""
    usable = {"idle", "idle*"}

    def are_idle():
        on_node(
            user, 0, f"scontrol update nodename={user.cluster}-[0-1] state=resume 2> /dev/null || :"
        )
        return set(slurm_nodes(user).values()) <= usable

    assert_true(cli_user.within(60, are_idle), slurm_nodes(user))


def test_a_prolog_that_fails_is_named_with_its_node_and_is_no_cancellation(user):
    create(user)
    words = ["-np", "2", "--set", "slurm.nodes=2"]
    see = f"`sinfo -R` on {user.cluster}-0"
    for bad, flags in ((1, ()), (0, ()), (1, ("PrologFlags=Alloc",))):
        for index in (0, 1):
            script = f"#!/bin/sh\\nexit {int(index == bad)}\\n"
            on_node(user, index, f"printf '{script}' > /root/prolog; chmod 755 /root/prolog")
        set_in_slurm(user, "Prolog=/root/prolog", *flags)
        failed = run_job(user, "prolog", ["sleep", "3"], *words, code=1)
        assert_in(f"lost: Slurm's prolog failed on {user.cluster}-{bad}: {see}", failed.err)
        use_all_nodes(user)

    set_in_slurm(user, "TaskProlog=/root/prolog")
    failed = run_job(user, "task", ["sleep", "3"], *words, code=1)
    assert_in(f"failed: Slurm's TaskProlog failed on {user.cluster}-1: status=1", failed.err)

    set_in_slurm(user)
    on_node(user, 1, f"sed -i 's:^Epilog=.*:Epilog=/root/prolog:' {PLACE}/slurm.conf")
    on_node(user, 0, "scontrol reconfigure")
    run_job(user, "epilog", ["sleep", "1"], *words)
    use_all_nodes(user)


def test_what_others_do_to_a_job_and_its_nodes_is_told_apart(user):
    create(user)
    words = ["-np", "2", "--set", "slurm.nodes=2"]
    up = ["sh", "-c", "echo up; exec sleep 600"]
    down = f"scontrol update nodename={user.cluster}-1 state=down reason=test"
    for name, action, wanted in (
        ("stopped", "scancel {}", "cancelled: cancelled in Slurm"),
        ("down", down, f"lost: Slurm ended it: NODE_FAIL ({user.cluster}-1)"),
    ):
        job = run_job(user, name, up, *words, "--detach").out.decode().strip()
        assert_true(
            cli_user.within(30, lambda job=job: user.run("logs", job).out.count(b"up") == 2),
            "no start",
        )
        on_node(user, 0, action.format(number_in_slurm(user, job)))
        ended = user.run("wait", "job", job, code=None)
        assert_in(wanted, ended.err)
        use_all_nodes(user)

    on_node(user, 1, f"kill -KILL $(cat {PLACE}/slurmd.pid)")
    began = time.monotonic()
    failed = run_job(user, "dead", ["true"], *words, code=1)
    assert_less(time.monotonic() - began, 45)
    assert_in(f"lost: Slurm could not start the ranks on {user.cluster}-1 (Commu", failed.err)
    assert_in(f"Slurm is still cleaning up on {user.cluster}-1", failed.err)
    job = number_in_slurm(user, "dead")
    assert_in("COMPLETING", on_node(user, 0, f"scontrol -o show job {job}"))


def test_a_job_starts_before_slurm_looks_at_its_queue_by_itself(user):
    create(user, nodes=1)
    waits = []
    for number in range(9):
        run_job(user, f"short{number}", ["true"], "-np", "2")
        place = f".fastgpu/jobs/short{number}-1"
        # The batch script begins when Slurm makes the file of its output.
        times = on_node(user, 0, f"stat -c %.9Y {place}/batch-id {place}/launcher.out").split()
        waits.append(float(times[1]) - float(times[0]))
    assert_less(sorted(waits)[4], 0.45, f"{waits}")
    made = on_node(user, 0, "scontrol -o show job | grep ' JobName=fastgpu-submit '")
    assert_equal(made.count(" JobState=COMPLETED "), 9, made)


def count_logins(user, index):
    """Counts the commands that come to the node over SSH from now on, until the list is read."""
    on_node(user, index, "printf 'echo >> ~/logins\\n' > .bashrc; : > logins")
    return lambda: int(on_node(user, index, "wc -l < logins")) - 1


def test_a_node_is_logged_in_to_if_it_has_something_to_read(user):
    create(user)
    words = ["-np", "2", "--set", "slurm.nodes=2"]
    run_job(user, "first", ["true"], *words)
    logins = count_logins(user, 1)
    run_job(user, "quiet", ["true"], *words)
    assert_equal(logins(), 0)
    speaks = ["sh", "-c", 'if [ "$RANK" = 1 ]; then echo here; fi']
    done = run_job(user, "loud", speaks, *words)
    assert_equal(done.out.decode(), "[1] here\n")
    late = ["sh", "-c", 'sleep 1.5; if [ "$RANK" = 1 ]; then exit 7; fi; exec sleep 60']
    failed = run_job(user, "bad", late, *words, code=7)
    assert_in(f"rank 1 on {user.cluster}-1: exited with 7", failed.err)
    assert_less(1, logins())
    logins = count_logins(user, 1)
    run_job(user, "one", ["echo", "up"], "-np", "1", "--set", f"slurm.nodelist={user.cluster}-0")
    assert_equal(logins(), 0)
    for job in ("first", "quiet", "loud", "bad", "one"):
        user.run("delete", "job", job, "--yes")
    for index in (0, 1):
        assert_equal(on_node(user, index, "ls .fastgpu/jobs"), "")


def test_a_job_that_is_not_on_the_first_node_is_followed_where_it_is(user):
    create(user)
    source = user.folder / "source"
    source.mkdir()
    (source / "data").write_text("text")
    there = ["-np", "2", "--set", f"slurm.nodelist={user.cluster}-1"]
    say = 'echo "$SLURMD_NODENAME $(cat data)"; echo e >&2'
    done = run_job(user, "there", ["sh", "-c", say], *there, "--sync", str(source))
    wanted = [f"[{rank}] {user.cluster}-1 text" for rank in (0, 1)]
    assert_equal(sorted(done.out.decode().splitlines()), wanted)
    assert_equal(done.err.count("] e"), 2, done.err)
    assert_equal(len(user.run("logs", "there").out.splitlines()), 2)
    failed = run_job(user, "seven", ["sh", "-c", "exit 7"], *there, code=7)
    assert_in(f"on {user.cluster}-1: exited with 7", failed.err)
    report = json.loads(user.run("report", "seven", "-o", "json").out)
    assert_equal([one["node"] for one in report["ranks"]], [f"{user.cluster}-1"] * 2)

    trap = 'trap "echo saved; exit 3" TERM; echo up; while :; do sleep 0.1; done'
    job = run_job(user, "long", ["sh", "-c", trap], *there, "--detach").out.decode().strip()
    with user.start("logs", "-f", job) as follower:
        assert_true(cli_user.within(30, lambda: user.run("logs", job).out.count(b"up") == 2), "up")
        user.run("cancel", "job", job)
        assert_equal(follower.communicate(timeout=30)[0].count(b"saved"), 2)
    waits = run_job(user, "wait", ["sh", "-c", trap], *there, "--detach").out.decode().strip()
    later = run_job(user, "later", ["echo", "at last"], *there, "--detach").out.decode().strip()
    user.run("cancel", "job", waits)
    user.run("wait", "job", later)
    assert_equal(user.run("logs", later).out.count(b"at last"), 2)
    user.run("delete", "job", "there", "--yes")
    for index in (0, 1):
        assert_not_in("there-1", on_node(user, index, "ls .fastgpu/jobs"))


def test_variables_of_a_job_are_where_its_user_alone_reads_them(user):
    create(user)
    words = ["-np", "2", "--set", "slurm.nodes=2", "--secret", "TOKEN", "--detach"]
    secret = "hunter2-4711"
    program = ["sh", "-c", 'echo "${#TOKEN}"; exec sleep 600']
    run = ["run", "job", "-c", user.cluster, "--engine", "slurm", *words, "--", *program]
    job = user.run(*run, environment={"TOKEN": secret}).out.decode().strip()
    has_begun = cli_user.within(30, lambda: user.run("logs", job).out.count(b"12") == 2)
    assert_true(has_begun, "no start")
    shifted = (base64.b64encode(bytes(count) + secret.encode()) for count in range(3))
    coded = "|".join(text.decode()[4:-4] for text in shifted)
    search = f"grep -rlE '{secret}|{coded}' /root/.fastgpu /var/lib/fastgpu-slurm"
    for index in (0, 1):
        arguments = on_node(user, index, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        assert_not_in(secret, arguments.replace(search, ""))
        as_other = f"setpriv --reuid 65534 --regid 65534 --clear-groups {search} 2> /dev/null || :"
        assert_equal(on_node(user, index, as_other), "")
    user.run("cancel", "job", job)
    for index in (0, 1):
        found = on_node(user, index, f"{search} 2> /dev/null || :").split()
        kept = [path for path in found if not path.startswith(f"{PLACE}/state/")]
        assert_equal(kept, [], "the controller alone keeps the script for a while")


def test_a_node_that_has_lost_the_agent_gets_it_again(user):
    create(user)
    words = ["-np", "2", "--set", "slurm.nodes=2"]
    run_job(user, "first", ["true"], *words)
    on_node(user, 1, "rm -f .fastgpu/bin/*")
    failed = run_job(user, "lost", ["true"], *words, code=None)
    # Slurm ends the other rank, by 143 if that has not ended yet.
    assert_in(failed.returncode, (127, 143), failed.err)
    assert_in("the next job installs fastgpu's agent where it is missing", failed.err)
    run_job(user, "next", ["true"], *words)


def test_a_job_that_never_fits_is_refused_at_once(user):
    create(user)
    some = ["run", "job", "-c", f"{user.cluster}/1", "--engine", "slurm", "-np", "1", "--", "true"]
    assert_in("Slurm chooses the nodes", user.run(*some, code=2).err)
    refused = run_job(user, "slots", ["true"], "-np", "4000", code=2)
    assert_in("4000 ranks do not fit on 2 nodes: there are slots for 4", refused.err)
    refused = run_job(user, "large", ["true"], "-np", "4000", "--set", "slurm.nodes=2", code=2)
    assert_in("Slurm on", refused.err)
    assert_in("sbatch: error", refused.err)
    assert_equal(on_node(user, 0, "squeue -h"), "")


def test_nodes_that_come_and_go_are_those_of_slurm(user):
    create(user)
    name = user.cluster
    user.run("scale", "cluster", name, "--nodes", "3", "--yes")
    assert_equal(slurm_nodes(user), {f"{name}-{index}": "idle" for index in range(3)})
    run_job(user, "three", ["true"], "-np", "3", "--set", "slurm.nodes=3")
    user.run("scale", "cluster", name, "--nodes", "1", "--yes")
    assert_equal(slurm_nodes(user), {f"{name}-0": "idle"})
    user.run("stop", "cluster", name, "--yes")
    user.run("start", "cluster", name)
    run_job(user, "again", ["true"], "-np", "2")
    create(user, nodes=1)
    assert_equal(slurm_nodes(user), {f"{name}-0": "idle"})


def test_a_creation_that_is_killed_at_any_step_is_finished_by_the_next(user):
    user.run("create", "cluster", user.cluster, "--nodes", "2", "--slots", "2")
    for step in STEPS:
        killed = create(user, code=None, environment={"FASTGPU_FAULT": f"scheduler:{step}"})
        if killed.returncode == 0:
            suite.skip("needs fault points (meson -Dfault_points=true)")
        assert_equal(killed.returncode, -signal.SIGKILL, killed.err)
    create(user)
    run_job(user, "after", ["true"], "-np", "2", "--set", "slurm.nodes=2")


def test_slurm_is_added_to_a_cluster_with_its_gpus(user):
    user.run("create", "cluster", user.cluster, "--nodes", "1", "--slots", "2")
    on_node(user, 0, "mknod /dev/nvidia0 c 1 3 && mknod /dev/nvidia1 c 1 3")
    create(user, nodes=1)
    show = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
    done = run_job(user, "gpus", show, "-np", "1", "--set", "slurm.gpus=2")
    assert_in("0,1", done.out.decode())


def test_what_was_ended_on_a_node_is_started_again(user):
    create(user)
    assert_equal(slurm_findings(user), [])
    on_node(user, 1, f"kill -KILL $(cat {PLACE}/slurmd.pid) $(cat {PLACE}/munged.pid)")
    dead = [([f"{user.cluster}-1"], f"{name} does not run") for name in ("munged", "slurmd")]
    assert_equal(slurm_findings(user), dead)
    on_node(user, 0, f"rm -rf {PLACE}/slurm.conf; kill -KILL $(cat {PLACE}/slurmctld.pid)")
    assert_in(([f"{user.cluster}-0"], "slurmctld does not run"), slurm_findings(user))
    user.run("start", "cluster", user.cluster)
    assert_equal(slurm_findings(user), [])
    run_job(user, "after", ["true"], "-np", "2", "--set", "slurm.nodes=2")


def test_a_plan_names_the_step_and_detached_creations_are_refused(user):
    done = create(user, "--dry-run")
    assert_in("set up Slurm on each node", done.out.decode())
    assert_equal(json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"], [])
    assert_in("leave out --detach", create(user, "--detach", code=2).err)
    words = ["create", "cluster", user.cluster, "--scheduler", "slrum"]
    assert_in("slurm", user.run(*words, code=2).err)


def test_a_user_without_root_is_named(user):
    done = subprocess.run(
        ["setpriv", "--reuid", "65534", "--clear-groups", "sh", "-s", "prepare", "c", "head", "x"],
        input=SCRIPT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert_equal(done.returncode, 1)
    assert_in("this needs root", done.stderr)


@contextlib.contextmanager
def hidden_places():
    """Hides the directories of this machine that a host of the user shares with it."""
    with tempfile.TemporaryDirectory(prefix="fastgpu-slurm-") as folder:
        places = (PLACE, USUAL.parent)
        made = [place for place in places if not place.exists()]
        for place in places:
            place.mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
        try:
            yield folder
        finally:
            for place in places:
                subprocess.run(["umount", "-l", place], check=False)
            for place in made:
                place.rmdir()


def test_a_host_of_the_user_is_left_as_it_was(user):
    with hidden_places(), static_lab.lab_for(user.fastgpu) as lab:
        host = lab.host("one", f"{static_lab.NETWORK}.31", network=True)
        USUAL.write_text("ClusterName=theirs\n")
        refused = lab.create(host.entry(), more=["--scheduler", "slurm"], code=1)
        assert_in(f"could not set up Slurm: it has Slurm already ({USUAL})", refused.stderr)
        assert_equal(USUAL.read_text(), "ClusterName=theirs\n")
        USUAL.unlink()
        lab.run("start", "cluster", "lab")
        words = ["run", "job", "-c", "lab", "--engine", "slurm", "-np", "1", "--", "echo", "up"]
        done = lab.run(*words)
        assert_in("up", done.stdout)
        lab.run("delete", "cluster", "lab", "--yes")
        assert_equal(processes_of_slurm(), [])
        assert_equal([*PLACE.iterdir(), *USUAL.parent.iterdir()], [])


def test_a_set_up_that_failed_early_leaves_nothing_to_warn_of(user):
    with hidden_places(), static_lab.lab_for(user.fastgpu) as lab:
        host = lab.host("one", f"{static_lab.NETWORK}.31", network=True)
        USUAL.write_text("ClusterName=theirs\n")
        lab.create(host.entry(), more=["--scheduler", "slurm"], code=1)
        done = lab.run("delete", "cluster", "lab", "--yes")
        assert_not_in("Slurm", done.stderr)
        assert_equal(USUAL.read_text(), "ClusterName=theirs\n")
        USUAL.unlink()


def test_a_user_without_root_learns_whether_slurm_is_there(user):
    with hidden_places():
        words = ["setpriv", "--reuid", "65534", "--clear-groups", "sh", "-s", "has", "c"]

        def ask():
            return subprocess.run(words, input=SCRIPT, text=True, check=False).returncode

        assert_equal(ask(), 3)
        PLACE.chmod(0o755)
        (PLACE / "cluster").write_text("other\n")
        assert_equal(ask(), 3)
        (PLACE / "cluster").write_text("c\n")
        assert_equal(ask(), 0)


def test_a_host_that_is_away_keeps_slurm_until_it_is_removed_there(user):
    with hidden_places(), static_lab.lab_for(user.fastgpu) as lab:
        host = lab.host("one", f"{static_lab.NETWORK}.31", network=True)
        lab.create(host.entry(), more=["--scheduler", "slurm"])
        host.stop()
        done = lab.run("delete", "cluster", "lab", "--yes")
        stays = "if Slurm is set up on one, it stays there, and is removed by running there: "
        assert_in(stays + REMOVAL, done.stderr)
        assert_in("authorized_keys", done.stderr)
        lab.check_nothing_known()

        host.start()
        refused = lab.create(host.entry(), more=["--scheduler", "slurm"], code=1)
        assert_in(f"delete that cluster, or run there: {REMOVAL}", refused.stderr)
        lab.run("delete", "cluster", "lab", "--yes")
        words = REMOVAL.removeprefix("sudo ").split()
        subprocess.run([*INSIDE, "-t", str(host.first_process()), *words], check=True)
        assert_equal([*PLACE.iterdir(), *USUAL.parent.iterdir()], [])


if __name__ == "__main__":
    suite.need_root("unshare", "nsenter", "ip", "ssh-keygen", "/usr/sbin/sshd")
    suite.need_programs("slurmctld", "slurmd", "sbatch", "munged")
    os.makedirs("/run/sshd", exist_ok=True)
    cli_user.run_tests(globals())
