"""Jobs in Kubernetes, as a user meets them: kubernetes_test.py FASTGPU [TEST ...]

The API server is a stand-in on loopback, with TLS; its pods run mpirun on this machine. Needs
mpirun and openssl; exits with 77 where it cannot run.
"""

import base64
import contextlib
import datetime
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import suite
from api_server import serving, wait_until
from desk import Desk
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

FASTGPU = os.path.abspath(sys.argv[1])
JOB = ["run", "job", "--engine", "kubernetes", "--set", "kubernetes.image=train:1"]


def test_a_job_runs_and_its_logs_are_those_of_its_ranks(desk):
    program = ["sh", "-c", 'echo "$RANK/$WORLD_SIZE at $MASTER_ADDR: $A \\$(B) $0"; echo err >&2']
    done = desk.run(*JOB, "hello", "-np", "2", "-e", "A=$(x) $$y", "--", *program, "$$(A) $$$")
    wanted = [f"[{rank}] {rank}/2 at localhost: $(x) $$y $(B) $$(A) $$$" for rank in (0, 1)]
    assert_equal(sorted(done.stdout.splitlines()), wanted)
    assert_equal(done.stderr.count("] err"), 2, done.stderr)
    seen = desk.seen("hello")
    assert_equal((seen["state"], seen["exit_code"]), ("succeeded", 0))
    assert_equal(seen["spec"]["engine"], "kubernetes")
    assert_equal(seen["spec"]["kubernetes"]["namespace"], "ns")
    assert_equal(desk.run("logs", "hello", "--rank", "1").stdout, wanted[1][4:] + "\n")
    text = desk.run("describe", "job", "hello").stdout
    for word in ("kubernetes", "train:1", "lab"):
        assert_in(word, text)
    assert_in("hello-1", desk.run("get", "jobs").stdout)


def reported_end(desk, name, run):
    """Runs a job until it is known which rank has failed: on a busy machine Open MPI 4.1 sometimes
    ends without the lines that say so, and nothing else is known of ranks in Kubernetes.
    """
    for _ in range(10):
        run(name)
        seen = desk.seen(name)
        if seen["failure"]:
            return seen
    raise AssertionError(f"it is not known which rank of {name} has failed: {seen}")


def test_the_exit_code_is_that_of_the_program(desk):
    program = ["sh", "-c", '[ "$RANK" = 1 ] && { echo no data >&2; exit 7; }; exec sleep 30']
    shown = []

    def follow(name):
        shown.append(desk.run(*JOB, name, "-np", "2", "--", *program, code=7).stderr)

    def detach(name):
        job = desk.run(*JOB, name, "-np", "2", "-d", "--", *program).stdout.strip()
        desk.run("wait", "job", job, code=7)

    for name, run in (("seven", follow), ("later", detach)):
        seen = reported_end(desk, name, run)
        assert_equal(seen["state"], "failed")
        failure = [seen["failure"][key] for key in ("rank", "exit_code", "last_lines")]
        assert_equal(failure, [1, 7, ["no data"]], f"{seen}")
    assert_in("-worker-0: exited with 7", shown[-1])
    program = ["sh", "-c", 'test "$RANK" = 0 || kill -SEGV $$; exec sleep 30']

    def crash(name):
        desk.run(*JOB, name, "-np", "2", "--", *program, code=139)

    assert_equal(reported_end(desk, "signal", crash)["failure"]["signal"], "SIGSEGV")


def test_a_detached_job_is_followed_and_cancelled(desk):
    job = desk.run(*JOB, "long", "-np", "1", "-d", "--", "sh", "-c", "echo up; exec sleep 60")
    job = job.stdout.strip()
    wait_until(lambda: "up" in desk.run("logs", job).stdout)
    assert_equal(desk.seen(job)["state"], "running")
    assert_in("running", desk.run("get", "jobs").stdout)
    desk.run("wait", "job", job, "--timeout", "1s", code=124)
    desk.run("cancel", "job", job)
    assert_equal(desk.cluster.jobs, {})
    assert_equal(desk.seen(job)["state"], "cancelled")
    desk.run("delete", "job", job, "--yes")


def test_the_lines_of_all_ranks_come_in_the_order_of_their_times(desk):
    program = ["sh", "-c", "for i in 1 2 3 4 5; do echo $i; echo $i >&2; sleep 0.1; done"]
    job = desk.run(*JOB, "merged", "-np", "3", "-d", "--", *program).stdout.strip()
    for words in (["-f"], [], ["-f"]):
        done = desk.run("logs", job, "--timestamps", *words)
        for shown in (done.stdout, done.stderr):
            times = [line.split()[0] for line in shown.splitlines() if "[" in line]
            assert_equal(len(times), 15, shown)
            assert_equal(times, sorted(times), f"{words}: {shown}")


def test_a_job_that_is_looked_at_late_has_the_times_of_its_container(desk):
    for ahead in (0, 600):
        desk.cluster.ahead = ahead
        job = desk.run(*JOB, "timed", "-np", "1", "-d", "--", "sleep", "3").stdout.strip()
        wait_until(lambda name=job: desk.cluster.pods[name].code is not None)
        time.sleep(6)
        seen = desk.seen(job)
        began, ended = (
            datetime.datetime.fromisoformat(seen[key].replace("Z", "+00:00")).timestamp()
            for key in ("started", "ended")
        )
        pod = desk.cluster.pods[job]
        assert_less(abs(began - pod.started), 2.5, f"{ahead}: {seen}")
        assert_less(abs(ended - pod.ended), 2.5, f"{ahead}: {seen}")
        report = desk.folder / "timed.xml"
        desk.run("wait", "job", job, "--junit", str(report))
        case = xml.etree.ElementTree.parse(report).getroot()[0]
        assert_less(abs(float(case.get("time")) - (pod.ended - pod.started)), 2.5)


def test_top_shows_the_metrics_of_a_job(desk):
    assert_in("no job runs in Kubernetes", desk.run("top", "--once", code=2).stderr)
    program = ["sh", "-c", "echo epoch 2 loss 0.25; exec sleep 60"]
    job = desk.run(*JOB, "train", "-np", "2", "-d", "--", *program).stdout.strip()
    wait_until(lambda: desk.run("logs", job).stdout.count("loss") == 2)
    seen = json.loads(desk.run("top", "-o", "json").stdout)
    assert_equal((seen["cluster"], seen["nodes"]), (None, []))
    assert_equal([(one["id"], one["ranks"]) for one in seen["engine_jobs"]], [(job, 2)])
    assert_equal([one["text"] for one in seen["metrics"][job]], ["2", "0.25"])
    row = desk.run("top", "--once").stdout.splitlines()[1].split()
    assert_equal(row[0], "kubernetes")
    desk.run("cancel", "job", job)
    desk.run("top", "--once", code=2)


def test_ctrl_c_deletes_the_job(desk):
    process = desk.start(*JOB, "stop", "-np", "1", "--", "sh", "-c", "echo up; exec sleep 60")
    assert_in("up", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert_equal(process.returncode, 130, err)
    assert_equal(desk.cluster.jobs, {})


def test_a_log_stream_that_breaks_loses_and_repeats_nothing(desk):
    desk.cluster.breaks_streams = 5
    # A server that has come back refuses all logins for a moment.
    desk.cluster.faults_after_breaks = [{"status": 403, "times": 1}, {"status": 401, "times": 1}]
    program = ["sh", "-c", "for i in $(seq 40); do echo line $i; sleep 0.1; done"]
    done = desk.run(*JOB, "stream", "-np", "1", "--", *program)
    assert_equal(done.stdout.splitlines(), [f"[0] line {i}" for i in range(1, 41)])
    assert_less(desk.cluster.breaks_streams, 5)


def test_faults_of_the_server(desk):
    desk.cluster.faults = [
        {"status": 429, "times": 1, "method": "POST", "headers": [("Retry-After", "1")]},
        {"status": 500, "times": 1, "method": "POST", "effect": True},
        {"status": 503, "times": 2, "method": "GET"},
    ]
    desk.run(*JOB, "faults", "-np", "1", "--", "true")
    assert_equal(len(desk.cluster.jobs), 1)
    assert_true(all(fault["times"] == 0 for fault in desk.cluster.faults))
    desk.cluster.jobs["blocked-1"] = {"metadata": {"name": "blocked-1"}}
    assert_in("already exists", desk.run(*JOB, "blocked", "-np", "1", "--", "true", code=6).stderr)
    desk.run("delete", "job", "blocked-1", "--yes")
    assert_in("blocked-1", desk.cluster.jobs)  # It is not ours.
    desk.cluster.jobs.pop("blocked-1")


def commands_of(job):
    return f"fastgpu wait job {job} | fastgpu cancel job {job}"


def test_a_job_that_may_run_after_an_unclear_start_is_reached_by_every_command(desk):
    for number, status in enumerate((500, None), start=1):
        job = f"lost{number}-1"
        program = ["sh", "-c", "echo up; exec sleep 100"]
        desk.cluster.faults = [{"status": status, "times": 99999, "effect": True}]
        failed = desk.run(*JOB, job[:-2], "-np", "1", "--", *program, code=1)
        assert_in(f"job {job} may run: {commands_of(job)}", failed.stderr)
        assert_in(job, desk.cluster.jobs)
        assert_in("starting", desk.run("get", "jobs").stdout)
        desk.cluster.faults = []
        assert_equal(desk.seen(job)["state"], "running")
        wait_until(lambda job=job: "up" in desk.run("logs", job).stdout)
        desk.run("wait", "job", job, "--timeout", "1s", code=124)
        desk.run("cancel", "job", job)
        assert_equal((desk.cluster.jobs, desk.seen(job)["state"]), ({}, "cancelled"))


def test_a_job_that_an_unclear_start_has_not_created_is_found_not_to_run(desk):
    for name, command in (("none", ["wait", "job"]), ("nothing", ["cancel", "job"])):
        desk.cluster.faults = [{"status": 503, "times": 99999}]
        failed = desk.run(*JOB, name, "-np", "1", "--", "true", code=1)
        assert_in(f"job {name}-1 may run", failed.stderr)
        desk.cluster.faults = []
        desk.run(*command, f"{name}-1", code=1 if command[0] == "wait" else 0)
        assert_equal(desk.seen(f"{name}-1")["state"], "lost")


def test_an_mpijob_of_others_is_not_taken_for_one_whose_start_is_unclear(desk):
    desk.cluster.faults = [{"status": 503, "times": 99999}]
    failed = desk.run(*JOB, "ours", "-np", "1", "--", "true", code=1)
    assert_in("job ours-1 may run", failed.stderr)
    desk.cluster.faults = []
    theirs = {"metadata": {"name": "ours-1", "annotations": {"fastgpu/key": "theirs"}}}
    desk.cluster.jobs["ours-1"] = theirs
    seen = desk.seen("ours-1")
    assert_equal(seen["state"], "lost")
    assert_in("MPIJob ours-1 in namespace ", seen["reason"])
    assert_in("is left alone: the job's own was not created", seen["reason"])
    desk.run("delete", "job", "ours-1", "--yes")
    assert_equal(desk.cluster.jobs.pop("ours-1"), theirs)


def test_a_server_that_is_not_there_has_started_nothing(desk):
    desk.server = "https://127.0.0.1:1"
    desk.configure({"token": desk.cluster.token})
    failed = desk.run(*JOB, "away", "-np", "1", "--", "true", code=1)
    assert_not_in("may run", failed.stderr)
    assert_equal(desk.seen("away")["state"], "failed")


def test_jobs_of_a_server_that_is_gone_can_be_deleted(desk):
    done = desk.run(*JOB, "over", "-np", "1", "-d", "--", "true").stdout.strip()
    wait_until(lambda: desk.seen(done)["state"] == "succeeded")
    words = ["-np", "1", "-d", "--", "sleep", "60"]
    running = [desk.run(*JOB, f"on{i}", *words).stdout.strip() for i in range(2)]
    left = set(desk.cluster.jobs)
    desk.server = "https://127.0.0.1:1"
    desk.configure({"token": desk.cluster.token})

    shown = desk.run("get", "jobs")
    assert_equal(shown.stderr.count("last known state"), 1)
    for job in running:
        assert_in(job, shown.stdout)
    stopped = desk.run("cancel", "job", running[0], code=1)
    assert_in(f"fastgpu delete job {running[0]}", stopped.stderr)
    deleted = desk.run("delete", "job", done, "--yes")
    assert_in(f"MPIJob {desk.name_space}/{done} (context lab) may be left there", deleted.stderr)
    desk.kubeconfig().unlink()
    asked = desk.run("delete", "job", running[0], code=2)
    assert_in("may run there", asked.stderr)
    deleted = desk.run("delete", "job", *running, "--yes")
    for job in running:
        assert_in(f"MPIJob {desk.name_space}/{job} (context lab) may be left", deleted.stderr)
    assert_equal(desk.run("get", "jobs", "-o", "name").stdout, "")
    assert_equal(set(desk.cluster.jobs), left)


def test_jobs_of_a_server_that_is_busy_are_not_deleted(desk):
    done = desk.run(*JOB, "over", "-np", "1", "-d", "--", "true").stdout.strip()
    wait_until(lambda: desk.seen(done)["state"] == "succeeded")
    running = desk.run(*JOB, "on", "-np", "1", "-d", "--", "sleep", "60").stdout.strip()
    for status in (429, 503):
        desk.cluster.faults = [{"status": status, "times": 99999}]
        refused = desk.run("delete", "job", running, "--yes", code=1)
        assert_in("the server answers, so try again once it does as usual", refused.stderr)
        desk.run("delete", "job", done, "--yes", code=1)
        stopped = desk.run("cancel", "job", running, code=1)
        assert_not_in("removes the record alone", stopped.stderr)
        desk.cluster.faults = []
        kept = desk.run("get", "jobs", "-o", "name").stdout.split()
        assert_equal(sorted(kept), sorted([done, running]))
    desk.run("cancel", "job", running)
    desk.run("delete", "job", done, running, "--yes")


def test_a_report_has_the_jobs_that_can_be_asked(desk):
    good = desk.run(*JOB, "good", "-np", "1", "-d", "--", "true").stdout.strip()
    wait_until(lambda: desk.seen(good)["state"] == "succeeded")
    far = desk.run(*JOB, "far", "-np", "1", "-d", "--", "sleep", "60").stdout.strip()
    kubeconfig = desk.kubeconfig().read_text()
    desk.kubeconfig().unlink()
    report = desk.folder / "report.xml"
    desk.run("wait", "job", far, good, "--junit", str(report), code=5)
    cases = xml.etree.ElementTree.parse(report).getroot()
    assert_equal([case.get("name") for case in cases], [far, good])
    assert_in("there is no kubeconfig", cases[0].find("error").get("message"))
    assert_equal(len(cases[1]), 0)
    desk.kubeconfig().write_text(kubeconfig)
    desk.run("cancel", "job", far)


def test_a_command_that_fails_after_the_start_names_the_job_that_goes_on(desk):
    go_on = desk.folder / "go-on"
    waits = ["sh", "-c", f"echo up; while [ ! -e {go_on} ]; do sleep 0.1; done"]
    process = desk.start(*JOB, "token", "-np", "1", "--", *waits)
    assert_in("up", process.stdout.readline())
    desk.cluster.token = "another"
    go_on.touch()  # The end of the log makes fastgpu ask again.
    _, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 3, err)
    assert_in(f"job token-1 goes on: {commands_of('token-1')}", err)
    waited = desk.run("wait", "job", "token", code=3)
    desk.cluster.token = "t0ken"
    desk.run("wait", "job", "token")
    assert_in("may have expired", waited.stderr)

    desk.cluster.faults = [
        {"status": 403, "message": "cannot list pods", "path": "/pods", "times": 99999}
    ]
    done = desk.run(*JOB, "role", "-np", "1", "--", "sleep", "1", code=3)
    assert_in(f"cannot list pods; job role-1 goes on: {commands_of('role-1')}", done.stderr)
    desk.cluster.faults = []
    desk.run("wait", "job", "role-1")


def test_a_ctrl_c_that_cannot_stop_the_job_names_it(desk):
    for name, status, code in (("locked", 401, 3), ("busy", 503, 1)):
        program = ["sh", "-c", "echo up; exec sleep 60"]
        process = desk.start(*JOB, name, "-np", "1", "--", *program)
        assert_in("up", process.stdout.readline())
        desk.cluster.faults = [{"status": status, "method": "DELETE", "times": 99999}]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert_equal(process.returncode, code, err)
        assert_in(f"stopping job {name}-1", err)
        assert_in(f"job {name}-1 goes on: {commands_of(f'{name}-1')}", err)
        desk.cluster.faults = []
        assert_equal(desk.seen(name)["state"], "running")
        desk.run("cancel", "job", name)


def test_refusals_have_the_kind_and_the_remedy_of_the_servers_words(desk):
    quota = 'mpijobs.kubeflow.org "x" is forbidden: exceeded quota: few, requested: cpu=2'
    missing = 'namespaces "ns" not found'
    namespaces = {"reason": "NotFound", "details": {"kind": "namespaces", "name": "ns"}}
    for status, message, more, code, said, not_said in (
        (403, quota, {"reason": "Forbidden"}, 4, "have its ResourceQuota raised", "denied"),
        (404, missing, namespaces, 5, "create the namespace, or name another", "operator"),
        (404, "the server could not find the requested resource", {}, 5, "MPI operator", "or the"),
    ):
        fault = {"status": status, "message": message, "more": more, "times": 2}
        desk.cluster.faults = [fault]
        for flags in (["--dry-run"], []):
            done = desk.run(*JOB, "refused", "-np", "1", *flags, "--", "true", code=code)
            assert_in(message, done.stderr)
            assert_in(said, done.stderr)
            assert_not_in(not_said, done.stderr)
    # A quota may have room another time: that job is on record. The others cannot succeed.
    shown = json.loads(desk.run("get", "jobs", "refused", "-o", "json").stdout)["jobs"]
    assert_equal([job["state"] for job in shown], ["failed"])


def test_a_wrong_request_leaves_no_job(desk):
    words = [*JOB, "d", "-np", "1"]
    for flags in ([], ["-d"], ["--dry-run"]):
        for name, said in (("nope", "has no context 'nope' (lab)"), ("lap", "did you mean 'lab'?")):
            setting = ["--set", f"kubernetes.context={name}", *flags]
            assert_in(said, desk.run(*words, *setting, "--", "true", code=2).stderr)
    no_image = ["run", "job", "d", "--engine", "kubernetes", "-np", "1", "--", "true"]
    assert_in("set kubernetes.image", desk.run(*no_image, code=2).stderr)
    assert_equal(json.loads(desk.run("get", "jobs", "-o", "json").stdout)["jobs"], [])
    assert_equal(desk.cluster.requests, [])


def test_a_login_that_expires_leaves_the_job_alone(desk):
    job = desk.run(*JOB, "expire", "-np", "1", "-d", "--", "sleep", "60").stdout.strip()
    desk.cluster.token = "another"
    refused = desk.run("wait", "job", job, code=3)
    assert_in("may have expired", refused.stderr)
    assert_not_in("t0ken", refused.stderr)
    shown = desk.run("get", "jobs")
    assert_in("showing the last known state", shown.stderr)
    assert_in("running", shown.stdout)
    desk.configure({"token": "another"})
    desk.run("cancel", "job", job)


def test_a_client_certificate_logs_in_and_a_server_of_another_authority_is_refused(desk):
    desk.configure(
        {
            "client-certificate": str(desk.folder / "client.pem"),
            "client-key": str(desk.folder / "client.key"),
        }
    )
    desk.cluster.token = "unused"
    desk.run(*JOB, "certificate", "-np", "1", "--", "true")
    other = base64.b64encode((desk.folder / "client.pem").read_bytes()).decode()
    desk.configure({"token": "unused"}, **{"certificate-authority-data": other})
    refused = desk.run(*JOB, "trust", "-np", "1", "--", "true", code=1)
    assert_in("certificate", refused.stderr)


def test_a_plan_is_the_manifest_as_yaml_and_creates_nothing(desk):
    done = desk.run(*JOB, "plan", "-np", "4", "--npernode", "2", "--dry-run", "--", "./train")
    assert_in("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n", done.stdout)
    assert_in("accepts the job", done.stderr)
    assert_equal(desk.cluster.jobs, {})
    plan = desk.run(*JOB, "plan", "-np", "4", "--dry-run", "-o", "json", "--", "./train")
    manifest = json.loads(plan.stdout)["manifest"]
    assert_equal(manifest["spec"]["slotsPerWorker"], 4)
    assert_true(all("dryRun=All" in request for request in desk.cluster.requests))


def test_what_kubernetes_does_not_take_is_refused_before_anything_is_asked(desk):
    for words, said in (
        (["--sync", "."], "build the files into the image"),
        (["-c", "demo"], "set kubernetes.context"),
        (["--secret", "HOME"], "readable in the MPIJob"),
        (["--stdin", "all"], "no standard input"),
        (["--array", "1-3", "-d"], "engine kubernetes does not take --array"),
        (["--retry", "2"], "engine kubernetes does not take --retry"),
        (["--checkpoints", "c"], "a mounted volume"),
        (["--check"], "Kubernetes chooses the nodes"),
    ):
        assert_in(said, desk.run(*JOB, "-np", "1", *words, "--", "true", code=2).stderr)
    words = ["run", "job", "--engine", "kubernetes", "-np", "1", "--", "true"]
    assert_in("set kubernetes.image", desk.run(*words, code=2).stderr)
    assert_in("number of ranks is missing", desk.run(*JOB, "--", "true", code=2).stderr)
    desk.configure({"exec": {"command": "aws"}})
    assert_in("plugin 'aws'", desk.run(*JOB, "-np", "1", "--", "true", code=2).stderr)
    desk.kubeconfig().unlink()
    desk.run(*JOB, "-np", "1", "--", "true", code=5)
    assert_equal(desk.cluster.requests, [])


@contextlib.contextmanager
def desk_of(_):
    with tempfile.TemporaryDirectory(prefix="fastgpu-kubernetes-") as name:
        folder = pathlib.Path(name)
        with serving(folder) as (cluster, server):
            desk = Desk(FASTGPU, folder, server, {"token": cluster.token})
            desk.cluster = cluster
            yield desk


if __name__ == "__main__":
    suite.need_programs("mpirun", "openssl")
    suite.main(suite.tests_of(globals()), desk_of, sys.argv[2:])
