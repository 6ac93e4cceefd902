"""Jobs against a kube-apiserver, with TLS and RBAC: real_api_server_test.py FASTGPU [TEST ...]

The server is the one that build_api_server.sh has made, with etcd. Operator, node and pods are
played (played_cluster.py); the launcher's pod runs mpirun on this machine. Needs mpirun and
openssl; exits with 77 where it cannot run. MPIJOB_CRD names a definition to try instead of our own.
"""

import contextlib
import itertools
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import yaml

import suite
from api_server import wait_until
from desk import Desk
from played_cluster import playing
from real_api_server import DEFINITIONS, JOBS, RBAC, find_programs, serving
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

FASTGPU = os.path.abspath(sys.argv[1])
JOB = ["run", "job", "--engine", "kubernetes", "--set", "kubernetes.image=train:1"]
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/how-to/run-a-job-in-kubernetes.md"
LOOP = "for i in $(seq 40); do echo line $i; sleep 0.1; done"


class Site:
    """The server, the cluster that is played on it, and namespaces of tests."""

    def __init__(self, folder, server, cluster):
        self.folder, self.server, self.cluster = folder, server, cluster
        self.numbers = itertools.count()

    def desk(self, role=None):
        """Returns a user with a service account that has this role in a namespace of its own."""
        name = f"team-{next(self.numbers)}"
        self.server.make_namespace(name)
        account = self.server.make_account(name)
        if role is not None:
            metadata = account["metadata"]
            subject = {"kind": "ServiceAccount", "name": metadata["name"], "namespace": name}
            self.server.grant(name, role, subject)
        token = self.server.token_of(account)
        desk = Desk(FASTGPU, self.folder, self.server.address, {"token": token}, name)
        desk.server_of_all, desk.cluster, desk.account = self.server, self.cluster, account
        return desk


def role_of_page():
    """Returns the role that the page gives to users."""
    block = re.search(r"```yaml\n(apiVersion: rbac.*?)```", PAGE.read_text(), re.DOTALL)[1]
    return yaml.safe_load(block)


def lacks(wanted, found, path=""):
    """Returns the places where `found` has not what is wanted; it may have more."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [
            place
            for key, value in wanted.items()
            for place in lacks(value, found.get(key), f"{path}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [place for i, pair in pairs for place in lacks(*pair, f"{path}[{i}]")]
    return [] if wanted == found else [f"{path}: {found!r}, not {wanted!r}"]


def jobs_of(desk):
    return desk.server_of_all.jobs(desk.name_space)


def test_a_user_with_the_role_of_the_page_runs_and_sees_a_job(desk):
    program = ["sh", "-c", 'echo "$RANK/$WORLD_SIZE: $A \\$(B)"; echo err >&2']
    words = ["hello", "-np", "4", "--npernode", "2", "-e", "A=$(x) y"]
    done = desk.run(*JOB, *words, "--", *program)
    wanted = [f"[{rank}] {rank}/4: $(x) y $(B)" for rank in range(4)]
    assert_equal(sorted(done.stdout.splitlines()), wanted)
    assert_equal(done.stderr.count("] err"), 4, done.stderr)
    assert_equal(desk.run("logs", "hello", "--rank", "3").stdout, wanted[3][4:] + "\n")
    seen = desk.seen("hello")
    assert_equal((seen["state"], seen["exit_code"]), ("succeeded", 0))
    assert_equal(seen["spec"]["kubernetes"]["namespace"], desk.name_space)
    assert_in("node-a", json.dumps(seen))
    assert_in("succeeded", desk.run("get", "jobs").stdout)
    assert_equal(list(jobs_of(desk)), ["hello-1"])
    desk.run("delete", "job", "hello-1", "--yes")
    assert_equal(jobs_of(desk), {})


def test_the_server_keeps_every_field_of_a_job(desk):
    words = ["whole", "-np", "4", "--npernode", "2", "--timeout", "10m", "--grace", "7s"]
    sizes = [("workers", 2), ("gpus", 1), ("cpus", "500m"), ("memory", "1.5Gi")]
    for name, value in sizes:
        words += ["--set", f"kubernetes.{name}={value}"]
    words += ["--workdir", "/tmp", "-e", "A=1"]
    plan = desk.run(*JOB, *words, "--dry-run", "-o", "json", "--", "true")
    assert_equal(jobs_of(desk), {})
    manifest = json.loads(plan.stdout)["manifest"]
    desk.run(*JOB, *words, "-d", "--", "true")
    [job] = jobs_of(desk).values()
    manifest["metadata"].pop("name")
    changing = manifest["metadata"].pop("annotations")
    assert_equal(list(changing), list(job["metadata"]["annotations"]))
    # The name of the job is in its variables.
    text = json.dumps(manifest).replace('"whole"', f'"{job["metadata"]["name"]}"')
    assert_equal(lacks(json.loads(text), job), [])


def test_the_exit_code_is_that_of_the_program(desk):
    program = ["sh", "-c", '[ "$RANK" = 1 ] && exit 7; exec sleep 30']
    done = desk.run(*JOB, "seven", "-np", "2", "--", *program, code=7)
    assert_in("exited with 7", done.stderr)
    assert_equal(desk.seen("seven")["state"], "failed")
    done = desk.run(*JOB, "signal", "-np", "1", "--", "sh", "-c", "kill -SEGV $$", code=139)
    assert_in("139", done.stderr)


def test_a_detached_job_is_followed_waited_for_and_cancelled(desk):
    program = ["sh", "-c", "echo one; echo two; echo up; exec sleep 60"]
    job = desk.run(*JOB, "long", "-np", "1", "-d", "--", *program).stdout.strip()
    wait_until(lambda: "up" in desk.run("logs", job).stdout)
    assert_equal(desk.run("logs", job, "--tail", "1").stdout, "up\n")
    assert_equal(desk.run("logs", job, "--since", "1m").stdout, "one\ntwo\nup\n")
    wait_until(lambda: desk.seen(job)["state"] == "running")
    assert_in("running", desk.run("get", "jobs").stdout)
    desk.run("wait", "job", job, "--timeout", "1s", code=124)
    desk.run("cancel", "job", job)
    assert_equal(jobs_of(desk), {})
    assert_equal(desk.seen(job)["state"], "cancelled")
    ended = desk.run(*JOB, "short", "-np", "1", "-d", "--", "sh", "-c", "sleep 1; exit 4")
    desk.run("wait", "job", ended.stdout.strip(), code=4)


def test_ctrl_c_deletes_the_job(desk):
    process = desk.start(*JOB, "stop", "-np", "1", "--", "sh", "-c", "echo up; exec sleep 60")
    assert_in("up", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert_equal(process.returncode, 130, err)
    assert_equal(jobs_of(desk), {})


def test_a_job_after_its_time_ends_with_124_though_its_pod_is_gone(desk):
    words = ["late", "-np", "1", "--timeout", "2s", "--", "sh", "-c", "echo up; exec sleep 60"]
    done = desk.run(*JOB, *words, code=124)
    assert_in("ran longer than 2s", done.stderr)
    assert_equal(desk.seen("late")["exit_code"], 124)
    gone = desk.run("logs", "late", code=5)
    assert_in("its log with them", gone.stderr)


def test_a_job_that_was_deleted_by_others_is_lost(desk):
    job = desk.run(*JOB, "taken", "-np", "1", "-d", "--", "sleep", "60").stdout.strip()
    desk.server_of_all.ask("DELETE", f"{JOBS}/namespaces/{desk.name_space}/mpijobs/{job}")
    done = desk.run("wait", "job", job, code=1)
    assert_in("it was deleted in Kubernetes", done.stderr)
    assert_equal(desk.seen(job)["state"], "lost")


def test_a_log_stream_that_breaks_loses_and_repeats_nothing(desk):
    desk.cluster.breaks_streams = 5
    done = desk.run(*JOB, "stream", "-np", "1", "--", "sh", "-c", LOOP)
    assert_equal(done.stdout.splitlines(), [f"[0] line {i}" for i in range(1, 41)])
    assert_less(desk.cluster.breaks_streams, 5)


def test_a_server_that_is_killed_and_comes_back_loses_nothing(desk):
    process = desk.start(*JOB, "restart", "-np", "1", "--", "sh", "-c", LOOP + "; exit 5")
    lines = [process.stdout.readline() for _ in range(8)]
    desk.server_of_all.kill()
    time.sleep(2)
    desk.server_of_all.start()
    out, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 5, err)
    lines = "".join(lines) + out
    assert_equal(lines.splitlines(), [f"[0] line {i}" for i in range(1, 41)])
    assert_in("kubernetes", err)


def test_a_server_that_is_away_leaves_the_job_alone(desk):
    job = desk.run(*JOB, "away", "-np", "1", "-d", "--", "sleep", "60").stdout.strip()
    wait_until(lambda: desk.seen(job)["state"] == "running")
    desk.server_of_all.kill()
    shown = desk.run("get", "jobs")
    desk.server_of_all.start()
    assert_in("showing the last known state", shown.stderr)
    assert_in("running", shown.stdout)
    assert_equal(desk.seen(job)["state"], "running")
    desk.run("cancel", "job", job)


def test_a_token_that_ends_leaves_the_job_alone(desk):
    # The server lets a token pass for a minute after its end, and for 10 s after it last saw it.
    token = desk.server_of_all.token_until(desk.account, time.time() - 50)
    desk.configure({"token": token})
    job = desk.run(*JOB, "expire", "-np", "1", "-d", "--", "sleep", "60").stdout.strip()
    process = desk.start("wait", "job", job)
    _, err = process.communicate(timeout=60)
    assert_equal(process.returncode, 3, err)
    assert_in("may have expired", err)
    assert_not_in(token, err)
    shown = desk.run("get", "jobs")
    assert_in("showing the last known state", shown.stderr)
    desk.configure({"token": desk.server_of_all.token_of(desk.account)})
    assert_equal(desk.seen(job)["state"], "running")
    desk.run("cancel", "job", job)


def test_a_wrong_token_is_refused(desk):
    desk.configure({"token": "wr0ng"})
    done = desk.run(*JOB, "wrong", "-np", "1", "--", "true", code=3)
    assert_in("the server refuses the login", done.stderr)
    assert_not_in("wr0ng", done.stderr)


def test_a_client_certificate_logs_in(desk):
    subject = {"kind": "User", "name": "client", "apiGroup": "rbac.authorization.k8s.io"}
    role = {**role_of_page(), "metadata": {"name": "by-certificate"}}
    desk.server_of_all.grant(desk.name_space, role, subject)
    files = {"certificate": "client.pem", "key": "client.key"}
    desk.configure({f"client-{part}": str(desk.folder / file) for part, file in files.items()})
    done = desk.run(*JOB, "certificate", "-np", "1", "--", "echo", "in")
    assert_equal(done.stdout, "[0] in\n")


def test_what_a_role_lacks_is_named(site):
    desk = site.desk()
    done = desk.run(*JOB, "none", "-np", "1", "--", "true", code=3)
    user = f"system:serviceaccount:{desk.name_space}:trainer"
    assert_in(f'User "{user}" cannot create resource "mpijobs"', done.stderr)
    role = role_of_page()
    role["rules"] = [rule for rule in role["rules"] if "pods/log" not in rule["resources"]]
    desk = site.desk(role)
    done = desk.run(*JOB, "blind", "-np", "1", "--", "sleep", "60", code=3)
    assert_in('cannot get resource "pods/log"', done.stderr)
    assert_in("job blind-1 goes on: fastgpu wait job blind-1", done.stderr)
    assert_equal(list(jobs_of(desk)), ["blind-1"])
    desk.run("cancel", "job", "blind-1")


def test_a_name_that_exists_is_a_conflict(desk):
    desk.run(*JOB, "same", "-np", "1", "--", "true")
    before = jobs_of(desk)["same-1"]["metadata"]["uid"]
    other = Desk(FASTGPU, desk.folder, desk.server, {"token": "unused"}, desk.name_space + "-b")
    other.name_space = desk.name_space
    other.kubeconfig = lambda: desk.folder / f"config-{desk.name_space}"
    (desk.folder / f"state-{desk.name_space}").rename(desk.folder / f"kept-{desk.name_space}")
    done = other.run(*JOB, "same", "-np", "1", "--", "true", code=6)
    assert_in('"same-1" already exists; give this job another name', done.stderr)
    assert_equal(jobs_of(desk)["same-1"]["metadata"]["uid"], before)


def test_a_quota_is_named(desk):
    path = f"/api/v1/namespaces/{desk.name_space}/resourcequotas"
    count = "count/mpijobs.kubeflow.org"
    desk.server_of_all.ask(
        "POST", path, {"metadata": {"name": "few"}, "spec": {"hard": {count: "1"}}}
    )
    # The controller of quotas counts what is there.
    status = {"status": {"hard": {count: "1"}, "used": {count: "1"}}}
    desk.server_of_all.patch(f"{path}/few/status", status)
    refused = []

    def is_refused():
        process = desk.start(*JOB, "many", "-np", "1", "--", "true")
        refused.append(process.communicate(timeout=30)[1])
        return process.returncode == 4

    wait_until(is_refused)  # The server learns of a quota a little later.
    assert_in(f"exceeded quota: few, requested: {count}=1", refused[-1])
    assert_in("have its ResourceQuota raised", refused[-1])


def test_a_job_that_the_definition_refuses_is_not_created(site):
    desk = site.desk(role_of_page())
    server = site.server
    server.ask("DELETE", f"{DEFINITIONS}/mpijobs.kubeflow.org")
    try:
        wait_until(lambda: server.call("GET", f"{JOBS}/mpijobs")[0] == 404)
        done = desk.run(*JOB, "early", "-np", "1", "--", "true", code=5)
        assert_in("Kubeflow's MPI operator (MPIJob v2beta1) is not installed there", done.stderr)
        server.define_mpijobs(implementations=["Intel"])
        for more in (["--dry-run"], []):
            done = desk.run(*JOB, "other", "-np", "1", *more, "--", "true", code=1)
            assert_in('"other', done.stderr)
            assert_in("spec.mpiImplementation", done.stderr)
            assert_in("supported values", done.stderr)
        assert_equal(jobs_of(desk), {})
    finally:
        server.call("DELETE", f"{DEFINITIONS}/mpijobs.kubeflow.org")
        wait_until(lambda: server.call("GET", f"{JOBS}/mpijobs")[0] == 404)
        server.define_mpijobs()


def test_a_namespace_that_is_missing_is_named(desk):
    desk.configure({"token": "admin-t0ken"})
    words = [*JOB, "lost", "-np", "1", "--set", "kubernetes.namespace=nowhere"]
    done = desk.run(*words, "--", "true", code=5)
    assert_in('namespaces "nowhere" not found; create the namespace', done.stderr)
    assert_not_in("operator", done.stderr)


def test_the_definition_of_the_tests_is_strict(desk):
    path = f"{JOBS}/namespaces/{desk.name_space}/mpijobs"
    container = {"name": "launcher", "image": "train"}
    for wrong in (
        {"slotsPerWorker": "two"},
        {"mpiReplicaSpecs": {"Launcher": {"replicas": "one"}}},
        {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": container}}}}},
    ):
        job = {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": {"name": "wrong"},
            "spec": {"mpiReplicaSpecs": {}, **wrong},
        }
        code, answer = desk.server_of_all.call("POST", path, job)
        assert_equal((code, answer["reason"]), (422, "Invalid"), answer)
    assert_true(desk.server_of_all.call("GET", f"{RBAC}/roles")[0] == 200)


def main():
    suite.need_programs("mpirun", "openssl")
    programs = find_programs()
    with tempfile.TemporaryDirectory(prefix="fastgpu-kubernetes-") as name:
        folder = pathlib.Path(name)
        with serving(programs, folder) as server, playing(server, folder) as cluster:
            site = Site(folder, server, cluster)

            @contextlib.contextmanager
            def fixture(test):
                takes_site = "site" in test.__code__.co_varnames[: test.__code__.co_argcount]
                yield site if takes_site else site.desk(role_of_page())

            suite.main(suite.tests_of(globals()), fixture, sys.argv[2:])


if __name__ == "__main__":
    main()
