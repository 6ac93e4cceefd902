"""Jobs in a real Slurm, as a user meets them: a controller and two nodes of Slurm on one host, with
an sshd: slurm_test.py FASTGPU [TEST ...]

Both nodes of Slurm have the home directory of that host, as those of a site share one. Needs root,
sshd and Slurm (Debian: slurmctld, slurmd, slurm-client, munge); exits with 77 where it cannot run.
It cleans up after itself.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import suite
from cli_user import within
from slurm_site import site_of
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_less,
    assert_not_in,
    assert_true,
)

PLACE = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR FASTGPU_NUM_NODES"


def test_ranks_of_two_nodes_have_their_places_and_logs(site):
    words = ["-np", "4", "--npernode", "2", "--set", "slurm.nodes=2", "-e", "A=x y"]
    show = (
        'echo "$SLURMD_NODENAME $A $(printenv ' + PLACE + ' | tr "\\n" " ")$(umask)"; echo err >&2'
    )
    done = site.job("place", *words, program=["sh", "-c", show])
    lines = sorted(done.stdout.splitlines())
    for rank, line in enumerate(lines):
        node, local = f"node{rank // 2 + 1}", rank % 2
        wanted = f"[{rank}] {node} x y {rank} 4 {local} 2 {rank // 2} node1 2 0022"
        assert_equal(line, wanted)
    assert_equal(len(lines), 4)
    assert_equal(done.stderr.count("] err"), 4, done.stderr)
    seen = site.seen("place")
    assert_equal((seen["state"], seen["exit_code"]), ("succeeded", 0))
    spec = seen["spec"]
    assert_equal((spec["engine"], spec["engine_nodes"]), ("slurm", "node[1-2]"), f"{spec}")
    assert_true(spec["engine_job"].isdigit(), f"{spec}")
    text = site.run("describe", "job", "place").stdout
    assert_in(f"Job of slurm:    {spec['engine_job']}\n", text)
    assert_equal(site.run("logs", "place", "--rank", "3").stdout, lines[3][4:] + "\n")
    assert_equal(len(site.run("logs", "place").stdout.splitlines()), 4)


def test_the_exit_code_is_that_of_the_rank_that_failed(site):
    program = ["sh", "-c", '[ "$RANK" = 1 ] && exit 7; exec sleep 60']
    began = time.monotonic()
    done = site.job("seven", "-np", "2", program=program, code=7)
    assert_less(time.monotonic() - began, 40, "the other rank is waited for")
    assert_in("rank 1 on login: exited with 7", done.stderr)
    seen = site.seen("seven")
    assert_equal((seen["failure"]["rank"], seen["cause"]), (1, "failure"))
    report = json.loads(site.run("report", "seven", "-o", "json").stdout)
    rank = report["ranks"][1]
    assert_equal((rank["node"], rank["exit_code"]), ("login", 7))


def test_what_sites_ask_for_reaches_slurm(site):
    show = ["sh", "-c", "echo $SLURMD_NODENAME; scontrol show job $SLURM_JOB_ID"]
    words = ["slurm.nodelist=node[2]", "slurm.exclusive=true", "slurm.memory=1M"]
    sets = [word for one in words for word in ("--set", one)]
    said = site.job("site", "-np", "1", *sets, program=show).stdout
    for part in ("[0] node2", "OverSubscribe=NO", "MinMemoryNode=1M"):
        assert_in(part, said)
    sets = ["--set", "slurm.exclude=node2", "--set", "slurm.memory_per_cpu=1M"]
    said = site.job("other", "-np", "1", *sets, program=show).stdout
    for part in ("[0] node1", "ExcNodeList=node2", "MinMemoryCPU=1M"):
        assert_in(part, said)
    never = ["--set", "slurm.constraint=a100&nvlink", "--set", "slurm.reservation=none"]
    refused = site.job("never", "-np", "1", *never, program=["true"], code=None)
    assert_in("Slurm on login: sbatch: error: ", refused.stderr)


def test_a_job_that_is_looked_at_late_has_its_own_times(site):
    brief = [
        site.job(name, "-np", "1", "--detach", program=["sh", "-c", program]).stdout.strip()
        for name, program in (("well", "sleep 1"), ("badly", "sleep 1; exit 3"))
    ]
    running = site.job("on", "-np", "1", "--detach", program=["sleep", "60"]).stdout.strip()
    time.sleep(8)
    site.run("wait", "job", brief[0])
    for job in brief:
        assert_less(site.seen(job)["duration_seconds"], 5, job)
    assert_less(5, site.seen(running)["duration_seconds"])
    follower = subprocess.Popen(
        [site.lab.fastgpu, "attach", "job", running],
        env=site.lab.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(2)
    site.run("cancel", "job", running)
    follower.wait(timeout=60)
    seen = site.seen(running)
    assert_equal(seen["state"], "cancelled")
    assert_in("cancelled by the user", seen["reason"])


def test_what_slurm_changes_about_a_job_is_shown(site):
    done = site.job("many", "-np", "2", "--set", "slurm.nodes=9", program=["true"])
    assert_in("warning: Slurm on login: sbatch: Warning: can't run 2 processes on 9", done.stderr)
    assert_not_in("warning", site.job("two", "-np", "2", program=["true"]).stderr)


def test_a_job_in_the_queue_can_be_seen_waited_for_and_cancelled(site):
    first = ["-np", "4", "--set", "slurm.nodes=2", "--detach"]
    trap = 'trap "echo saved; exit 3" TERM; echo up; while :; do sleep 0.1; done'
    running = site.job("long", *first, program=["sh", "-c", trap]).stdout.strip()
    site.await_state(running, "running")
    waiting = site.job("short", *first, program=["true"]).stdout.strip()
    # Slurm has a reason once it has tried to start the job.
    site.await_seen(waiting, lambda seen: "queue (Resources)" in seen["reason"])
    assert_equal(site.seen(waiting)["state"], "queued")
    assert_in(" queued ", site.run("get", "jobs").stdout)
    given_up = site.run("wait", "job", waiting, "--timeout", "1s", code=124).stderr
    assert_in("it waits in Slurm's queue (Resources)", given_up)
    followed = subprocess.run(
        ["timeout", "--signal=INT", "14", site.lab.fastgpu, "logs", waiting, "-f"],
        env=site.lab.environment(),
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    # The progress of the wait has it, too, with the time that has passed.
    shown = [line for line in followed.splitlines() if line.endswith("queue (Resources)")]
    assert_equal(shown, [f"job {waiting} waits in Slurm's queue (Resources)"], followed)
    for _ in range(100):
        if site.run("logs", running).stdout.count("up") == 4:
            break
        time.sleep(0.1)
    site.run("cancel", "job", running)
    assert_equal(site.seen(running)["state"], "cancelled")
    assert_equal(site.run("logs", running).stdout.count("saved"), 4, "SIGTERM came to all ranks")
    site.run("wait", "job", waiting)
    assert_equal(site.seen(waiting)["state"], "succeeded")
    third = site.job("long", *first, program=["sleep", "100"]).stdout.strip()
    site.await_state(third, "running")
    site.inside("scancel", site.seen(third)["spec"]["engine_job"])
    assert_in("cancelled in Slurm", site.run("wait", "job", third, code=130).stderr)


def test_secrets_are_not_where_others_look(site):
    done = site.job(
        *["secret", "-np", "1", "--secret", "TOKEN"],
        program=["sh", "-c", 'echo "${#TOKEN}"; squeue -o "%all"; scontrol show job'],
        environment={"TOKEN": "hunter2-hunter2"},
    )
    assert_in("[0] 15\n", done.stdout)
    assert_not_in("hunter2", done.stdout)
    job = site.seen("secret")["id"]
    files = site.files_of(job)
    assert_not_in("hunter2", (files / "batch").read_text())
    assert_true(not (files / "variables").exists(), "the variables stay after the job")
    assert_equal(files.stat().st_mode & 0o77, 0, "others may read the job's directory")


def test_a_copied_directory_and_gpus_are_there(site):
    source = site.lab.folder / "source"
    source.mkdir()
    (source / "data").write_text("text")
    done = site.job(
        *["copy", "-np", "2", "--sync", str(source), "--set", "slurm.gpus=2"],
        *["--set", "slurm.nodes=2"],
        program=["sh", "-c", 'cat data; echo " $CUDA_VISIBLE_DEVICES"'],
    )
    assert_equal(sorted(done.stdout.splitlines()), ["[0] text 0,1", "[1] text 0,1"])


def test_a_plan_shows_the_batch_script_and_what_slurm_says(site):
    words = ["plan", "-np", "4", "--timeout", "90s", "--set", "slurm.partition=all", "--dry-run"]
    done = site.job(*words, program=["true"])
    assert_in("#SBATCH --time=0:01:30\n#SBATCH --partition=all\n", done.stdout)
    assert_in("to start at", done.stderr)
    plan = json.loads(site.job(*words, "-o", "json", program=["true"]).stdout)
    assert_equal(plan["script"], done.stdout)
    assert_not_in("plan", site.run("get", "jobs").stdout)


def test_a_job_ends_at_its_timeout_and_not_a_minute_later(site):
    began = time.monotonic()
    program = ["sh", "-c", "trap 'echo told; exit 3' TERM; sleep 600 & wait"]
    done = site.job("late", "-np", "2", "--timeout", "2s", program=program, code=124)
    assert_less(time.monotonic() - began, 30)
    assert_in("ran longer than 2s", done.stderr)
    assert_equal(sorted(done.stdout.splitlines()), ["[0] told", "[1] told"])
    seen = site.seen("late")
    assert_equal((seen["state"], seen["cause"]), ("failed", "timeout"))
    # The timer goes with a job that ends before.
    assert_equal(site.job("early", "-np", "1", "--timeout", "50s", program=["true"]).stdout, "")
    ended = site.job("fails", "-np", "1", "--timeout", "50s", program=["false"], code=1)
    assert_in("exited with 1", ended.stderr)


def test_what_slurm_or_the_engine_refuses_is_named(site):
    more = ["-np", "1", "--set", "slurm.partition=none"]
    refused = site.job("bad", *more, program=["true"], code=5)
    assert_in("nvalid partition", refused.stderr)
    shown = json.loads(site.run("get", "jobs", "-o", "json").stdout)["jobs"]
    assert_not_in("bad-1", [job["id"] for job in shown])
    assert_false((site.host.home / ".fastgpu/jobs/bad-1").exists())
    site.job("bad", "-np", "1", program=["true"])
    assert_in("nvalid partition", site.job(*more, "--dry-run", program=["true"], code=5).stderr)
    for words, reason in (
        (["-np", "1", "-H", "login"], "engine slurm does not take --host"),
        (["-np", "1", "--priority", "3"], "set slurm.qos"),
        (["-np", "1", "--launcher", "plain"], "srun starts the ranks"),
        (["-np", "1", "--array", "1-3"], "engine slurm does not take --array"),
        (["-np", "1", "--retry", "2"], "engine slurm does not take --retry"),
        (["-np", "1", "--set", "hang_timeout=5m"], "set --timeout"),
        (["-np", "1", "--post-mortem", "."], "use fastgpu report"),
        (["-np", "1", "--check"], "Slurm chooses the nodes"),
        ([], "the number of ranks is missing"),
    ):
        assert_in(reason, site.job(*words, program=["true"], code=2).stderr)
    done = site.run("run", "job", "-c", "lab", "--engine", "slrum", "--", "true", code=2)
    assert_in("slurm", done.stderr)
    words = ["-c", "lab", "--set", "slurm.nodes=2", "--", "true"]
    assert_in("it is for --engine slurm", site.run("run", "job", *words, code=2).stderr)


def test_a_controller_that_is_gone_is_named_and_the_job_goes_on(site):
    program = ["sh", "-c", "touch up; while [ ! -e go ]; do sleep 0.1; done; echo went"]
    job = site.job("gone", "-np", "1", "--detach", program=program).stdout.strip()
    site.await_state(job, "running")
    up = site.host.home / "up"
    assert_true(within(30, up.exists), "srun asks the controller before it starts the rank")
    site.stop_controller()
    try:
        shown = site.run("get", "jobs")
        assert_in("Slurm's controller does not answer on login", shown.stderr)
        assert_in(job, shown.stdout)
        assert_in("running", shown.stdout)
        assert_in("does not answer", site.run("cancel", "job", job, code=1).stderr)
    finally:
        site.start_controller()
    (site.host.home / "go").touch()
    site.run("wait", "job", job)
    assert_equal(site.run("logs", job).stdout, "went\n")
    assert_equal(site.seen(job)["state"], "succeeded")


def test_ctrl_c_ends_the_job_in_slurm(site):
    process = site.start("stop", "-np", "2", program=["sh", "-c", "echo up; exec sleep 100"])
    process.send_signal(2)
    _, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 130, err)
    assert_equal(site.inside("squeue", "-h").strip(), "", "a job is left")
    assert_equal(site.seen("stop")["state"], "cancelled")


def test_a_job_whose_fastgpu_is_killed_stays_with_slurm_or_is_not_there(site):
    """Killed at each step of the start: what Slurm has goes on, what it has not has ended."""
    ends = {"job:turn": "lost", "job:prepared": "lost", "job:started": "succeeded"}
    for number, (point, wanted) in enumerate(ends.items(), start=1):
        killed = site.job(
            f"killed{number}",
            *["-np", "1"],
            program=["sh", "-c", "sleep 1; echo went"],
            code=None,
            environment={"FASTGPU_FAULT": point},
        )
        if number == 1 and killed.returncode == 0:
            return print("   fault points are not built in", flush=True)
        assert_equal(killed.returncode, -signal.SIGKILL, killed.stderr)
        job = f"killed{number}-1"
        site.await_state(job, wanted)
        in_slurm = site.inside("squeue", "--noheader", "--states=all", "-o", "%j").split()
        assert_equal(job in in_slurm, wanted == "succeeded", f"{point}: {in_slurm}")
    assert_equal(site.run("logs", job).stdout, "went\n")


def test_a_job_whose_fastgpu_is_killed_after_the_start_is_seen_to_run(site):
    killed = site.job(
        *["orphan", "-np", "1"],
        program=["sleep", "60"],
        code=None,
        environment={"FASTGPU_FAULT": "job:started"},
    )
    if killed.returncode == 0:
        return print("   fault points are not built in", flush=True)
    site.await_state("orphan-1", "running")
    number = site.inside("squeue", "--noheader", "--name=orphan-1", "-o", "%A").strip()
    assert_equal(site.seen("orphan-1")["spec"]["engine_job"], number)
    site.run("cancel", "job", "orphan-1")


@contextlib.contextmanager
def replaced(site, program, script):
    """Puts a script in the place of one of Slurm's programs."""
    path = site.inside("sh", "-c", f"command -v {program}").strip()
    (site.folder / f"real-{program}").write_bytes(pathlib.Path(path).read_bytes())
    for name, mode in ((f"real-{program}", None), (f"fake-{program}", script)):
        if mode is not None:
            (site.folder / name).write_text(f"#!/bin/sh\n{mode}\n")
        (site.folder / name).chmod(0o755)
    site.inside("mount", "--bind", str(site.folder / f"fake-{program}"), path)
    try:
        yield
    finally:
        site.inside("umount", path)


def test_a_job_whose_submission_has_no_answer_is_found_in_the_queue(site):
    lost = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    submits = f'{site.folder}/real-sbatch "$@" >/dev/null; echo "{lost}" >&2; exit 1'
    silent = 'echo "squeue: error: Socket timed out" >&2; exit 1'
    with replaced(site, "sbatch", submits):
        assert_equal(site.job("heard", "-np", "1", program=["echo", "up"]).stdout, "[0] up\n")
        with replaced(site, "squeue", silent):
            failed = site.job("unheard", "-np", "1", program=["sleep", "60"], code=1)
            assert_in("job unheard-1 may run", failed.stderr)
            assert_in("starting", site.run("get", "jobs").stdout)
    site.await_state("unheard-1", "running")
    site.run("cancel", "job", "unheard-1")
    assert_equal(site.inside("squeue", "-h").strip(), "", "a job is left")


def test_a_submission_without_an_answer_that_slurm_has_not_got_is_found_not_to_run(site):
    lost = 'echo "sbatch: error: Batch job submission failed: Socket timed out" >&2; exit 1'
    silent = 'echo "squeue: error: Socket timed out" >&2; exit 1'
    with replaced(site, "sbatch", lost), replaced(site, "squeue", silent):
        failed = site.job("absent", "-np", "1", program=["true"], code=1)
        assert_in("job absent-1 may run", failed.stderr)
    site.await_state("absent-1", "lost")


def test_a_follower_that_is_killed_leaves_the_job_and_no_process(site):
    program = ["sh", "-c", "echo up; while [ ! -e on ]; do sleep 0.1; done; echo went"]
    process = site.start("alone", "-np", "1", program=program)
    process.kill()
    process.communicate(timeout=10)
    assert_equal(site.seen("alone")["state"], "running")
    end = time.monotonic() + 30
    while waits := site.inside("pgrep", "-af", "jobs/alone", check=False):
        if "await" not in waits and "follow" not in waits:
            break
        assert_less(time.monotonic(), end, f"processes of the killed fastgpu: {waits}")
        time.sleep(0.2)
    (site.host.home / "on").touch()
    assert_equal(site.run("attach", "job", "alone").stdout, "[0] up\n[0] went\n")
    assert_equal(site.seen("alone")["state"], "succeeded")


def test_the_files_of_a_job_go_with_it(site):
    job = site.job("keep", "-np", "1", "--detach", program=["true"]).stdout.strip()
    site.run("wait", "job", job)
    assert_true(site.files_of(job).exists())
    site.run("delete", "job", job, "--yes")
    assert_true(not site.files_of(job).exists(), "files stay")


def main():
    suite.need_root("unshare", "nsenter", "ip", "ssh-keygen", "/usr/sbin/sshd")
    suite.need_programs("slurmctld", "slurmd", "sbatch", "munged")
    os.makedirs("/run/sshd", exist_ok=True)
    with site_of(os.path.abspath(sys.argv[1])) as site:
        suite.main(suite.tests_of(globals()), lambda _: site.for_a_test(), sys.argv[2:])


if __name__ == "__main__":
    main()
