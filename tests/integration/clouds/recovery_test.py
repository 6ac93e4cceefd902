#!/usr/bin/env python3
"""Jobs go on after their cloud has taken a machine away, and a new one takes its place:
recovery_test.py FASTGPU CLOUDSIM [TEST ...]
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests, within
from suite import assert_equal, assert_in, assert_not_equal, assert_not_in, assert_true

CLOUDSIM = sys.argv.pop(2)

# The first run leaves a step in the directory of checkpoints and waits; the next ones read it.
STEPS = (
    'echo "run $FASTGPU_RESTART_COUNT"; cd "$FASTGPU_CHECKPOINT_DIR"; '
    'if test "$FASTGPU_RESTART_COUNT" != 0; '
    'then echo "rank $RANK: $(cat step 2>/dev/null || echo nothing)"; exit 0; fi; '
    'echo "step 17" >step; echo up; exec sleep 600'
)


def start(customer, name, *flags, ranks=2):
    """Starts a job that may be started again, and returns it once all ranks run."""
    words = ["run", "job", name, "--cluster", "t", "-np", str(ranks), "--retry", "2", *flags]
    words += ["--checkpoints", "steps", "--", "sh", "-c", STEPS]
    process = customer.user.start(*words, environment=customer.environment())
    assert_true(
        within(
            60, lambda: customer.run("logs", f"{name}-1", code=None).out.count(b"up\n") == ranks
        ),
        "it does not start",
    )
    return process


def take_away(customer, index):
    """Takes the machine of a node away, without a notice that would be seen."""
    machine = customer.nodes("t")[index]["instance"]
    customer.sim.control("reclaim", {"instance": machine, "notice_ms": 0})
    customer.sim.control("advance", {"seconds": 10})
    return machine


def ended_well(process):
    """Waits until the job has succeeded. Returns its output, and what fastgpu has said of it."""
    out, err = process.communicate(timeout=240)
    assert_equal(process.returncode, 0, err.decode())
    return out.decode(), err.decode()


def went_on(process):
    """Waits until the job has succeeded after its first run. Returns what fastgpu has said."""
    out, err = ended_well(process)
    assert_in("[0] rank 0: step 17", out)
    return out, err


def record(customer, job):
    return json.loads(customer.run("describe", "job", job, "-o", "json").out)


def test_a_lost_machine_is_replaced_in_place_and_the_job_goes_on(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        process = start(customer, "goes")
        old = take_away(customer, 1)
        out, err = went_on(process)
        assert_in("job goes-1 ended (", err)
        assert_in("creating 1 new machine for t-1", err)
        assert_in("[1] rank 1: nothing", out)
        nodes = customer.nodes("t")
        assert_equal([node["name"] for node in nodes], ["t-0", "t-1"])
        assert_equal([node["state"] for node in nodes], ["running", "running"])
        assert_not_equal(nodes[1]["instance"], old, "it is the same machine")
        shown = record(customer, "goes-1")
        assert_equal((shown["state"], shown["spec"]["restarts"]), ("succeeded", 1))
        assert_equal([node["name"] for node in shown["spec"]["nodes"]], ["t-0", "t-1"])
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_a_machine_that_is_taken_without_a_notice_was_preempted(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        process = start(customer, "unseen", "--on", "preempted")
        take_away(customer, 1)
        assert_in("job unseen-1 ended (preempted)", went_on(process)[1])
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_a_job_that_is_not_started_again_names_the_cause_that_is_left_out(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        process = start(customer, "left", "--on", "hang")
        take_away(customer, 1)
        _, err = process.communicate(timeout=240)
        assert_equal(process.returncode, 1, err.decode())
        assert_in("not started again, because --on (retry_on) lacks node-loss", err.decode())
        assert_in("lacks node-loss", record(customer, "left-1")["reason"])
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_a_replacement_is_waited_for_where_machines_are_scarce(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        process = start(customer, "waits")
        everywhere = {"vendor": customer.cloud}
        old = take_away(customer, 1)
        for _ in range(6):  # The machine that is gone gives its room back only later.
            customer.sim.control("stock", {**everywhere, "stock": 0, "spot_stock": 0})
            gave_up = within(5, lambda: process.poll() is not None)
            assert_true(not gave_up, "the job has not waited")
        customer.sim.control("stock", {**everywhere, "stock": 8, "spot_stock": 8})
        _, err = went_on(process)
        assert_true(err.count("creating 1 new machine for t-1") >= 2, err)
        assert_not_equal(customer.nodes("t")[1]["instance"], old, "it is the same machine")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_a_node_that_its_cloud_has_stopped_is_started_for_the_job(user):
    def journey(customer):
        customer.create("t", "--timeout", "90s")
        process = start(customer, "stops")
        machine = customer.nodes("t")[1]["instance"]
        customer.sim.control("shutdown", {"instance": machine})
        assert_in("starting t-1, which was stopped while the others ran", went_on(process)[1])
        assert_equal(customer.nodes("t")[1]["instance"], machine, "it is another machine")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_a_job_on_a_node_that_its_cloud_has_stopped_says_so_and_can_be_cancelled(user):
    def journey(customer):
        customer.create("t", "--timeout", "90s")
        for name in ("waits", "tells"):
            words = ("--cluster", "t", "--share", "-H", "t-0", "--detach", "--", "sleep", "600")
            customer.run("run", "job", name, *words)
        after = ("--cluster", "t", "-np", "1", "--after", "waits", "--detach", "--", "true")
        customer.run("run", "job", "next", *after)
        machine = customer.nodes("t")[0]["instance"]
        customer.sim.control("shutdown", {"instance": machine})
        silent = " do not answer: "
        says_so = within(30, lambda: silent in record(customer, "next")["reason"])
        assert_true(says_so, record(customer, "next"))
        absent = "t-0 is stopped: start it with: fastgpu start cluster t"
        seen = customer.run("get", "jobs")
        assert_in(f": showing the last known state: {absent}", seen.err)
        customer.refused(("logs", "tells"), 6, absent)
        customer.refused(("wait", "job", "waits", "--timeout", "5s"), 6, absent)
        for name in ("waits", "tells"):
            customer.run("cancel", "job", name)
            assert_equal(record(customer, name)["state"], "cancelled")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_jobs_that_wait_run_on_the_machine_that_has_replaced_a_node(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        first = start(customer, "first")
        (user.folder / "data").mkdir(exist_ok=True)
        (user.folder / "data" / "word").write_text("copied\n")
        flags = ["--cluster", "t", "-np", "2", "--sync", str(user.folder / "data")]
        shell = ["--", "sh", "-c", 'echo "rank $RANK: $(cat word)"']
        words = ["run", "job", "queued", *flags, *shell]
        queued = user.start(*words, environment=customer.environment())
        customer.run("run", "job", "later", *flags, "--after", "first", "--detach", *shell)
        old = take_away(customer, 1)
        ended_well(first)
        assert_not_equal(customer.nodes("t")[1]["instance"], old, "it is the same machine")
        assert_in("rank 1: copied", ended_well(queued)[0])
        customer.run("wait", "job", "later", "--timeout", "120s")
        assert_in("rank 1: copied", customer.run("logs", "later").out.decode())
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_logs_that_went_with_a_machine_are_said_to_be_gone_with_it(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        words = ["run", "job", "says", "--cluster", "t", "-np", "2", "--"]
        customer.run(*words, "sh", "-c", "echo out $RANK")
        take_away(customer, 1)
        customer.run("start", "cluster", "t", "--replace-lost", "--timeout", "90s")
        gone = "t-1 is another machine than the one that the job ran on, and its output went with"
        done = customer.run("logs", "says", code=5)
        assert_in(b"[0] out 0\n", done.out)
        assert_in(f"error: {gone} that\n", done.err)
        assert_not_in("keep-jobs", done.err)
        assert_in(b"out 0", customer.run("logs", "says", "--rank", "0").out)
        customer.refused(("logs", "says", "--rank", "1"), 5, gone)
        customer.refused(("logs", "says", "-f"), 5, gone)
        assert_in(gone, customer.run("report", "says", code=None).err)
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_a_job_that_fits_on_the_other_nodes_needs_no_new_machine(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s", nodes=3)
        process = start(customer, "moves")
        take_away(customer, 1)
        assert_not_in("new machine", went_on(process)[1])
        assert_equal(
            [node["name"] for node in record(customer, "moves-1")["spec"]["nodes"]], ["t-0", "t-2"]
        )
        assert_equal(len(customer.sim.alive()[0]), 2, "a machine was made")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def array_that_loses_a_node(customer, *flags):
    """Runs an array of eight jobs on two nodes, and takes one of these away. Returns what fastgpu
    has said, and the jobs."""
    words = ("run", "job", "many", "--cluster", "t", "-np", "1", "--array", "1-8", *flags)
    process = customer.user.start(*words, "--", "sleep", "4", environment=customer.environment())

    def jobs():
        found = customer.run("get", "jobs", "many", "-o", "json", code=None)
        return json.loads(found.out).get("jobs", [])

    def run_two():
        return [job["state"] for job in jobs()].count("running") == 2

    assert_true(within(60, run_two), "no two jobs run at once")
    take_away(customer, 1)
    _, err = process.communicate(timeout=300)
    return err.decode(), jobs()


LOST = "t-1 is lost: replace it with: fastgpu start cluster t --replace-lost"


def test_an_array_that_loses_a_node_says_so_and_goes_on_with_the_others(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        err, jobs = array_that_loses_a_node(customer)
        states = sorted(job["state"] for job in jobs)
        assert_equal(states, ["lost"] + ["succeeded"] * 7, err)
        assert_equal(err.count(" goes on with its other nodes: "), 1, err)
        assert_in(LOST, err[err.rindex("8 ended") :])
        customer.run("start", "cluster", "t", "--replace-lost", "--timeout", "90s")
        err, jobs = array_that_loses_a_node(customer, "--retry", "1")
        assert_equal({job["state"] for job in jobs}, {"succeeded"}, err)
        assert_in("it is started again, 1 of 1", err)
        assert_equal(err.count(" goes on with its other nodes: "), 1, err)
        assert_in("1 running, 1 waiting", err)
        assert_in(LOST, err[err.rindex("8 ended") :])
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


# The first run works until it is asked to end, and then leaves its last step.
SAVES = (
    'cd "$FASTGPU_CHECKPOINT_DIR"; echo "run $FASTGPU_RESTART_COUNT"; '
    'if test "$FASTGPU_RESTART_COUNT" != 0; '
    'then echo "rank $RANK: $(cat step 2>/dev/null || echo nothing)"; exit 0; fi; '
    "trap 'echo step 17 >step; echo saved; exit 0' TERM; echo up; while :; do sleep 0.1; done"
)


def test_a_notice_ends_the_job_before_the_machine_goes_and_the_job_goes_on(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        for name, flags in (("early", ()), ("far", ("--detach",))):
            words = ["run", "job", name, "--cluster", "t", "-np", "2", "--retry", "3", *flags]
            words += ["--on", "preempted", "--checkpoints", "steps", "--", "sh", "-c", SAVES]
            process = customer.user.start(*words, environment=customer.environment())
            logs = lambda job=f"{name}-1": customer.run("logs", job, code=None).out  # noqa: E731
            assert_true(within(60, lambda logs=logs: logs().count(b"up\n") == 2), "no start")
            old = customer.nodes("t")[1]["instance"]
            customer.sim.control("reclaim", {"instance": old, "notice_ms": 60_000})
            assert_true(
                within(45, lambda logs=logs: logs().count(b"saved\n") == 2), "it is not ended"
            )
            alive = [machine["id"] for machine in customer.sim.alive()[0]]
            assert_in(old, alive, "the machine went before the job ended")
            customer.sim.control("advance", {"seconds": 60})
            out, err = process.communicate(timeout=240)
            assert_equal(process.returncode, 0, err.decode())
            if flags:
                customer.run("wait", "job", f"{name}-1", timeout=240)
                out = customer.run("logs", f"{name}-1").out
            else:
                assert_in(f"job {name}-1 ended (preempted): node t-1 is taken back", err.decode())
                assert_in("and the job was stopped before", err.decode())
                assert_in("creating 1 new machine for t-1", err.decode())
            assert_in("rank 0: step 17", out.decode())
            assert_in("rank 1: nothing", out.decode())
            nodes = customer.nodes("t")
            assert_equal([node["name"] for node in nodes], ["t-0", "t-1"])
            assert_not_equal(nodes[1]["instance"], old, "it is the same machine")
            shown = record(customer, f"{name}-1")
            assert_equal((shown["state"], shown["spec"]["restarts"]), ("succeeded", 1))
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_the_last_run_is_left_alone_until_its_machine_goes(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        words = ["run", "job", "last", "--cluster", "t", "-np", "2", "--retry", "1"]
        words += ["--on", "failure"]
        program = ["sh", "-c", "echo up; sleep 30; echo whole"]
        process = customer.user.start(*words, "--", *program, environment=customer.environment())
        old = customer.nodes("t")[1]["instance"]
        customer.sim.control("reclaim", {"instance": old, "notice_ms": 90_000})
        out, err = process.communicate(timeout=120)
        assert_equal(process.returncode, 0, err.decode())
        assert_equal(out.count(b"whole"), 2)
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_a_job_that_leaves_early_does_not_return_to_the_machine_that_goes(user):
    def journey(customer):
        customer.create("t", "--spot", "--timeout", "90s")
        program = (
            "echo up; test $FASTGPU_RESTART_COUNT = 0 || exit 0; "
            "while ! test -e /root/leave; do sleep 0.2; done; exit 9"
        )
        words = ["run", "job", "early", "--cluster", "t", "-np", "2", "--retry", "1"]
        errors = user.folder / "errors"
        with errors.open("wb") as stream:
            process = customer.user.start(
                *words, "--", "sh", "-c", program, environment=customer.environment(), stderr=stream
            )
        assert_true(
            within(60, lambda: customer.run("logs", "early-1", code=None).out.count(b"up\n") == 2),
            "it does not start",
        )
        old = customer.nodes("t")[1]["instance"]
        customer.sim.control("reclaim", {"instance": old, "notice_ms": 45_000})
        assert_true(
            within(40, lambda: "t-1 is taken back" in customer.run("get", "clusters").err),
            "no notice",
        )
        customer.run("exec", "t", "--", "touch", "/root/leave")
        assert_true(
            within(
                40, lambda: "is taken back by the cloud, and not gone yet" in errors.read_text()
            ),
            "the job does not wait for the machine to go",
        )
        customer.sim.control("advance", {"seconds": 45})
        process.communicate(timeout=240)
        err = errors.read_text()
        assert_equal(process.returncode, 0, err)
        assert_in("job early-1 ended (preempted)", err)
        assert_in("creating 1 new machine for t-1", err)
        assert_not_equal(customer.nodes("t")[1]["instance"], old, "it is the same machine")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


if __name__ == "__main__":
    os.umask(0o022)
    run_tests(globals())
