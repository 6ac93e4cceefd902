"""Jobs on hosts that leave a static cluster, as it is deleted or becomes smaller:
leaving_hosts_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import json

import static_lab
from cli_user import within
from static_lab import programs_on, within_host
from suite import assert_equal, assert_in, assert_not_in, assert_true


def start_detached(lab, name, target, ranks, number):
    """Starts a job of ranks that sleep, without following it, and waits until they do."""
    words = ["-c", target, "-np", str(ranks), "--share", "--detach", "--", "sleep", str(number)]
    lab.run("run", "job", name, *words)
    hosts = [host for host in lab.hosts if target in ("lab", f"lab/{host.name}")]
    started = within(20, lambda: all(f"sleep {number}" in programs_on(host) for host in hosts))
    assert_true(started, f"job {name} does not start")


def state_of(lab, job):
    """Returns the state of a job, as `describe job` shows it."""
    return json.loads(lab.run("describe", "job", job, "-o", "json").stdout)["state"]


def test_delete_cluster_stops_the_jobs_on_hosts_that_stay(lab):
    one, two = lab.pair()
    lab.create(one.entry(), two.entry())
    start_detached(lab, "orph", "lab", 2, 600.25)
    planned = lab.run("delete", "cluster", "lab", "--dry-run").stdout
    assert_in("end job orph-1", planned)
    assert_in("sleep 600.25", programs_on(one), "a plan ended the job")
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("warning", done.stderr)
    for host in (one, two):
        assert_not_in("600.25", programs_on(host), f"the job still runs on {host.name}")
        assert_true((host.home / ".fastgpu/jobs/orph-1").is_dir(), f"no logs on {host.name}")
    assert_equal(state_of(lab, "orph-1"), "cancelled")
    refused = lab.run("logs", "orph", code=6)
    assert_in("hosts of a static cluster keep them in ~/.fastgpu/jobs/orph-1", refused.stderr)


def test_delete_cluster_names_the_jobs_of_a_host_that_is_away(lab):
    one, two = lab.pair()
    lab.create(one.entry(), two.entry())
    start_detached(lab, "orph", "lab/two", 1, 600.35)
    start_detached(lab, "other", "lab/one", 1, 600.65)
    within_host(two, "ip", "link", "set", "eth0", "down")
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_in("stopping job orph-1: ", done.stderr)
    assert_in("its processes may still run on two", done.stderr)
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert_not_in("other-1", "\n".join(warnings))
    assert_in("600.35", programs_on(two), "the job did not run on two any more")
    assert_not_in("600.65", programs_on(one), "the other job still runs on one")
    assert_equal([state_of(lab, job) for job in ("orph-1", "other-1")], ["lost", "cancelled"])
    lab.check_nothing_known()


def test_scale_cluster_stops_the_jobs_of_a_host_that_leaves(lab):
    one, two = lab.pair()
    lab.create(one.entry(slots=2), two.entry(slots=2))
    start_detached(lab, "both", "lab", 3, 600.45)
    start_detached(lab, "stays", "lab/one", 1, 600.55)
    lab.run("scale", "cluster", "lab", "--nodes", "1", "--yes")
    for host in (one, two):
        assert_not_in("600.45", programs_on(host), f"the job still runs on {host.name}")
    assert_equal(state_of(lab, "both-1"), "cancelled")
    assert_in("sleep 600.55", programs_on(one), "a job of the host that stays was stopped")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("600.55", programs_on(one), "the job still runs on one")


def test_gc_removes_what_deleted_jobs_have_left_on_hosts(lab):
    pair = lab.pair()
    lab.create(*(host.entry() for host in pair))
    for name in ("left", "kept"):
        lab.run("run", "job", name, "-c", "lab", "-np", "2", "--", "true")
    lab.run("delete", "cluster", "lab", "--yes")
    lab.run("delete", "job", "left-1", "--yes")
    lab.create(*(host.entry() for host in pair))
    there = [host.home / ".fastgpu/jobs" for host in pair]
    assert_equal([(jobs / "left-1").is_dir() for jobs in there], [True, True])
    within_host(pair[1], "ip", "link", "set", "eth0", "down")
    done = lab.run("gc")
    assert_in("folders of jobs on node two of cluster lab were not looked at: ", done.stderr)
    assert_equal([(jobs / "left-1").is_dir() for jobs in there], [False, True])
    within_host(pair[1], "ip", "link", "set", "eth0", "up")
    settled = json.loads(lab.run("gc", "-o", "json").stdout)["settled"]
    assert_equal([found["what"] for found in settled], ["1 folder of deleted jobs on two: left-1"])
    assert_equal([(jobs / "left-1").is_dir() for jobs in there], [False, False])
    assert_equal([(jobs / "kept-1").is_dir() for jobs in there], [True, True])
    lab.run("delete", "cluster", "lab", "--yes")


if __name__ == "__main__":
    static_lab.run_tests(globals())
