"""Jobs in Slurm that fastgpu sets up on nodes, as a user meets them: own_slurm_jobs_test.py FASTGPU
[TEST ...]

Needs root, sshd and Slurm (Debian: slurmctld, slurmd, slurm-client, munge); exits with 77 where it
cannot run. It cleans up after itself.
"""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cli_user
from own_slurm import PLACE, create, on_node, run_job, run_tests, slurm_nodes
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true


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


def test_files_of_a_job_are_made_as_in_a_login(user):
    create(user)
    said = run_job(
        user, "mask", ["sh", "-c", "umask"], "-np", "2", "--set", "slurm.nodes=2"
    ).out.decode()
    login = on_node(user, 0, "umask")
    assert_equal(sorted(said.splitlines(keepends=True)), [f"[0] {login}", f"[1] {login}"])


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


def test_a_script_without_its_interpreter_is_named_with_its_node(user):
    create(user)
    source = user.folder / "source"
    source.mkdir()
    script = source / "train.py"
    script.touch()
    script.chmod(0o755)
    more = ["-np", "2", "--set", "slurm.nodes=2", "--sync", str(source)]
    for line, what in (
        ("/no/such/python", "/no/such/python (in its first line) does not exist"),
        ("/usr/bin/env nosuchpython", "'nosuchpython', which /usr/bin/env looks for"),
    ):
        script.write_text(f"#!{line}\n")
        done = run_job(user, "script", ["./train.py"], *more, code=127)
        said = f" on {user.cluster}-[01]: ./train.py: its interpreter {re.escape(what)}"
        assert_true(re.search(f"failed: rank [01]{said}", done.err), done.err)
        assert_in("install that interpreter on the nodes", done.err)


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


if __name__ == "__main__":
    run_tests(globals())
