"""The script that calls Slurm's programs, where programs play a site: slurm_script_test.py [TEST]

They print more than they should, or obey variables of the login. Needs no Slurm.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import suite
from suite import assert_equal, assert_in, assert_not_in, assert_true

NODES = pathlib.Path(__file__).resolve().parents[3] / "templates/nodes"
JOB = ".fastgpu/jobs/train-1"
COMMENT = "fastgpu-00112233445566778899aabbccddeeff"
GREETING = 'echo "Welcome to the Site"; echo "--> Verifying valid submit host...OK"'
RUNNING = "JobId=37 JobName=train-1 JobState=RUNNING Reason=None ExitCode=0:0 NodeList=n1"
CANCELLED = RUNNING.replace("RUNNING", "CANCELLED")
LOGIN = {
    "SBATCH_PARTITION": "high",
    "SBATCH_EXPORT": "NONE",
    "SBATCH_ARRAY_INX": "1-2",
    "SALLOC_PARTITION": "high",
    "SLURM_EXPORT_ENV": "NONE",
    "SLURM_TIME_FORMAT": "relative",
    "SQUEUE_PARTITION": "high",
    "SCANCEL_STATE": "PENDING",
    "SCONTROL_FEDERATION": "1",
    "SACCT_FORMAT": "JobID",
}
WHERE_SLURM_IS = {"SLURM_CONF": "/opt/slurm.conf", "SLURM_CLUSTERS": "east"}


class Head:
    """A home directory with a job in it, and programs of Slurm that are small shell scripts."""

    def __init__(self, folder):
        self.folder = folder
        self.job = folder / JOB
        self.job.mkdir(parents=True)
        (self.job / "batch").write_text(f"#!/bin/sh\n#SBATCH --comment={COMMENT}\n")
        (folder / "bin").mkdir()
        self.play(
            sbatch="echo 37",
            squeue=f"echo '37 {COMMENT}'",
            scontrol=f"echo '{RUNNING}'",
            scancel=":",
        )

    def play(self, **programs):
        for name, script in programs.items():
            path = self.folder / "bin" / name
            note = f'echo "{name} $*" >> "$HOME/calls"; env >> "$HOME/{name}-saw"'
            path.write_text(f"#!/bin/sh\n{note}\n{script}\n")
            path.chmod(0o755)

    def call(self, action, *words, code=0, environment=None):
        names = ("slurm_environment.sh", "slurm.sh")
        script = "".join((NODES / name).read_text() for name in names)
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", "-c", script, "sh", action, JOB, *words],
            env={"HOME": str(self.folder), "PATH": path, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert_equal(done.returncode, code, done.stdout + done.stderr)
        return done

    def called(self, program):
        """Returns the words of each call of the program."""
        lines = (self.folder / "calls").read_text().splitlines()
        return [line.split()[1:] for line in lines if line.split()[0] == program]

    def cancel(self, code=0):
        """Cancels the job. Slurm knows the number 37 alone."""
        known = '[ "$*" = 37 ] || { echo "Invalid job id $*" >&2; exit 1; }; touch "$HOME/ended"'
        state = f"if [ -e \"$HOME/ended\" ]; then echo '{CANCELLED}'; else echo '{RUNNING}'; fi"
        self.play(scancel=known, scontrol=state)
        self.call("cancel", "1", code=code)
        return (self.folder / "ended").exists()


@contextlib.contextmanager
def head(_):
    with tempfile.TemporaryDirectory(prefix="fastgpu-slurm-") as folder:
        yield Head(pathlib.Path(folder))


def answer_of(done):
    """Returns what is known of the job, without the time of the answer that follows it."""
    known, clock = done.stdout.rsplit("clock ", 1)
    assert_true(abs(int(clock) - time.time()) < 60)
    return known


def test_variables_of_the_login_do_not_reach_the_programs(head):
    head.play(sacct="echo '37|COMPLETED|0:0|n1|1000|1002'")
    environment = {**LOGIN, **WHERE_SLURM_IS, "SLURM_MPI_TYPE": "pmix", "HPC_ACCOUNT": "mine"}
    head.call("test", environment=environment)
    head.call("submit", environment=environment)
    (head.job / "batch-id").unlink()
    head.call("state", environment=environment)
    head.play(scontrol="echo 'Invalid job id specified' >&2; exit 1")
    head.call("state", environment=environment)
    head.call("cancel", "1", environment=environment)
    for program in ("sbatch", "squeue", "scontrol", "sacct", "scancel"):
        saw = (head.folder / f"{program}-saw").read_text()
        for name, value in LOGIN.items():
            assert_not_in(f"{name}={value}", saw, program)
        asks_for_times = program in ("scontrol", "sacct")
        assert_equal("SLURM_TIME_FORMAT=%s" in saw.splitlines(), asks_for_times, program)
        for line in ("SLURM_CONF=/opt/slurm.conf", "SLURM_CLUSTERS=east", "HPC_ACCOUNT=mine"):
            assert_in(line, saw, program)
        assert_in("SLURM_MPI_TYPE=pmix", saw)


def test_the_number_is_found_among_other_lines(head):
    head.play(squeue="exit 1")
    for script in ("echo 37", "echo '37;east'", f"{GREETING}; echo 37", f"echo 37; {GREETING}"):
        (head.job / "batch-id").unlink(missing_ok=True)
        head.play(sbatch=script)
        assert_equal(head.call("submit").stdout, "37\n", script)
    assert_true(head.cancel(), "the job runs on")


def test_files_for_other_nodes_go_with_the_script_and_stay_nowhere(head):
    (head.job / "batch-files").write_text("RklMRVM=\n")
    head.play(sbatch='cat "$2" > "$HOME/taken"; echo 37')
    head.call("submit", "mark", code=8)
    (head.folder / ".fastgpu/slurm-nodes").write_text("other")
    head.call("submit", "mark", code=8)
    assert_true(not (head.folder / "taken").exists(), "a job of unknown nodes was submitted")
    (head.folder / ".fastgpu/slurm-nodes").write_text("mark")
    head.call("submit", "mark")
    script = (head.job / "batch").read_text()
    assert_equal((head.folder / "taken").read_text(), script + "RklMRVM=\n")
    assert_equal(sorted(path.name for path in head.job.glob("batch*")), ["batch", "batch-id"])


def test_an_answer_without_one_number_is_completed_from_the_queue(head):
    for script in (GREETING, "echo 'Submitted batch job 37'", "echo 2026; echo 37"):
        (head.job / "batch-id").unlink(missing_ok=True)
        head.play(sbatch=script, squeue=f"{GREETING}; echo '36 x'; echo '37 {COMMENT}'")
        assert_equal(head.call("submit").stdout, "37\n", script)
        assert_true(head.cancel(), "the job runs on")


def test_a_job_without_a_number_is_not_taken_for_one_that_is_not_there(head):
    head.play(sbatch=GREETING, squeue="echo '37 changed-by-the-site'")
    assert_in("Verifying", head.call("submit", code=4).stderr)
    assert_in("its number is not in its answer", head.call("state", code=4).stderr)
    head.cancel(code=4)
    # The queue may have it later.
    head.play(squeue=f"echo '37 {COMMENT}'")
    assert_true(head.cancel(), "the job runs on")
    assert_in("CANCELLED", head.call("state").stdout)


def test_a_job_without_a_number_ends_with_its_batch_script(head):
    head.play(sbatch=GREETING, squeue=":")
    head.call("submit", code=4)
    (head.job / "batch-end").write_text("0 n[1-2]\n")
    assert_in("batch\n0 n[1-2]\nended ", answer_of(head.call("state")))
    assert_in("batch\n0 n[1-2]\nended ", answer_of(head.call("await", "1", "0")))
    head.call("cancel", "1")


def test_a_wrapper_that_fails_after_the_submission_leaves_the_job_known(head):
    for script in ("echo 37; exit 1", "echo 'site: no quota file' >&2; exit 1", "kill -KILL $$"):
        (head.job / "batch-id").unlink(missing_ok=True)
        head.play(sbatch=script)
        assert_equal(head.call("submit").stdout, "37\n", script)


def test_a_refusal_is_one_whatever_the_site_prints_beside_it(head):
    greeting = "sbatch: error: Sessions that timed out are closed"
    reason = "sbatch: error: Batch job submission failed: Invalid account"
    head.play(sbatch=f'echo "{greeting}" >&2; echo "{reason}" >&2; exit 1', squeue="exit 1")
    refused = head.call("submit", code=1)
    assert_equal(refused.stderr.splitlines(), [greeting, reason])
    head.call("cancel", "1")
    assert_equal(len(head.called("scancel")), 0)


def test_the_state_is_the_line_of_the_job(head):
    head.call("submit")
    head.play(scontrol=f"{GREETING}; echo '{RUNNING}'; echo bye")
    assert_equal(answer_of(head.call("state")), f"scontrol\n{RUNNING}\n")
    waiting = head.call("await", "1", "0", code=6)
    assert_in(waiting.stdout, ("", f"scontrol\n{RUNNING}\n"))
    head.play(scontrol=GREETING)
    assert_in("no line of the job: Welcome", head.call("state", code=4).stderr)
    head.play(
        scontrol="echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1",
        sacct=f"{GREETING}; echo '37|COMPLETED|0:0|n1|1000|1002'",
    )
    assert_equal(answer_of(head.call("state")), "sacct\n37|COMPLETED|0:0|n1|1000|1002\n")
    head.play(sacct=GREETING)
    head.call("state", code=5)


def test_an_answer_about_a_job_that_is_being_stopped_has_that(head):
    head.call("submit")
    assert_not_in("stopped", head.call("state").stdout)
    head.play(scontrol=f"echo '{CANCELLED}'")
    head.call("cancel", "1")
    assert_equal(answer_of(head.call("state")), f"scontrol\n{CANCELLED}\nstopped\n")


def test_a_controller_that_does_not_answer_in_time_is_named(head):
    head.call("submit")
    head.play(scontrol="exec sleep 30")
    seen = head.call("state", "1", code=4)
    assert_equal(seen.stderr, "scontrol has no answer after 1 seconds\n")


def test_the_end_of_a_job_that_slurm_has_forgotten_is_that_of_its_script(head):
    head.call("submit")
    head.play(scontrol="echo 'Invalid job id specified' >&2; exit 1", sacct="exit 1")
    (head.job / "batch-end").write_text("3 n1\n")
    os.utime(head.job / "batch-end", (1000, 1000))
    assert_equal(answer_of(head.call("state")), "batch\n3 n1\nended 1000\n")


def test_a_job_that_slurm_puts_back_into_its_queue_is_cancelled(head):
    head.call("submit")
    again = RUNNING.replace("ExitCode", "Restarts=1 ExitCode")
    for state in ("PENDING", "RUNNING", "REQUEUE_HOLD", "SPECIAL_EXIT"):
        seen = again.replace("RUNNING", state)
        head.play(scontrol=f"echo '{seen}'")
        for words in (("state",), ("await", "5", "0.01")):
            (head.folder / "calls").unlink()
            assert_equal(answer_of(head.call(*words)), f"scontrol\n{seen}\n")
            assert_equal(head.called("scancel"), [["37"]])
    # The ranks of the first run have not ended yet.
    (head.folder / "calls").unlink()
    again = again.replace("RUNNING", "COMPLETING")
    head.play(scontrol=f"echo '{again}'")
    assert_equal(answer_of(head.call("state")), f"scontrol\n{again}\n")
    head.call("await", "5", "0.01", code=6)
    assert_equal(head.called("scancel"), [])


COMPLETING = RUNNING.replace("RUNNING", "COMPLETING").replace(
    "NodeList=n1", "NodeList=n2 BatchHost=n1"
)


def test_a_job_whose_script_has_ended_is_over_although_a_node_does_not_answer(head):
    head.call("submit")
    head.play(scontrol=f"echo '{COMPLETING}'")
    # The ranks may be ending yet.
    assert_equal(head.call("await", "25", "0.2", code=6).stdout, f"scontrol\n{COMPLETING}\n")
    by_itself = COMPLETING.replace(
        "Reason=None ExitCode=0:0", "Reason=NonZeroExitCode ExitCode=3:0"
    )
    head.play(scontrol=f"echo '{by_itself}'")
    assert_equal(answer_of(head.call("await", "25", "0.2")), f"scontrol\n{by_itself}\n")
    head.play(scontrol=f"echo '{COMPLETING}'")
    (head.job / "batch-end").write_text("233 n[1-2]\n")
    known = f"scontrol\n{COMPLETING}\nbatch 233 n[1-2]\n"
    assert_equal(answer_of(head.call("await", "25", "0.2")), known)
    assert_equal(answer_of(head.call("state")), known)
    # Slurm needs a moment after each job.
    assert_equal(head.call("await", "3", "0.1", code=6).stdout, f"scontrol\n{COMPLETING}\n")
    assert_equal(head.call("cancel", "60").stdout, "n2\n")


def test_the_nodes_of_a_cancelled_job_are_shown_with_the_reasons_why_slurm_does_not_use_them(head):
    head.call("submit")
    states = (
        "NodeName=n1 Arch=x86_64 State=IDLE AllocTRES=",
        "NodeName=n2 Arch=x86_64 State=IDLE+DRAIN Reason=Prolog error [root@2026-11-29T21:26:51]",
    )
    show = "; ".join(f"echo '{state}'" for state in states)
    cancelled = CANCELLED.replace("NodeList=n1", "NodeList=n[1-2] BatchHost=n1")
    head.play(scontrol=f"if [ \"$3\" = node ]; then {show}; else echo '{cancelled}'; fi")
    wanted = (
        f"scontrol\n{cancelled}\nnode NodeName=n2 Reason=Prolog error [root@2026-11-29T21:26:51]\n"
    )
    assert_equal(answer_of(head.call("state")), wanted)
    assert_equal(answer_of(head.call("await", "5", "0.1")), wanted)
    assert_equal(head.called("scontrol")[1], ["--oneliner", "show", "node", "n[1-2]"])
    waiting = cancelled.replace("NodeList=n[1-2]", "NodeList=(null)")
    head.play(scontrol=f"echo '{waiting}'")
    assert_equal(answer_of(head.call("state")), f"scontrol\n{waiting}\n")


def test_a_cancel_is_done_once_the_controller_has_seen_the_end(head):
    head.call("submit")
    head.play(scontrol="echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    assert_in("connect failure", head.call("cancel", "1", code=4).stderr)
    for state in ("RUNNING", "SUSPENDED", "REQUEUE_HOLD", "RESIZING"):
        head.play(scontrol=f"echo '{RUNNING.replace('RUNNING', state)}'")
        head.call("cancel", "0", code=6)
    # Slurm has the order, and goes on to end what is left.
    head.play(scontrol=f"echo '{COMPLETING}'")
    assert_equal(head.call("cancel", "0").stdout, "n2\n")
    assert_true(head.cancel())


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), head, sys.argv[1:])
