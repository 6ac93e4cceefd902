"""Hosts that are reached through another one, and what becomes of the jobs on them when the way is
cut: jump_hosts_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import subprocess
import time

import static_lab
from cli_user import within
from static_lab import NETWORK, fingerprint, line_of, programs_on, within_host
from suite import assert_equal, assert_in, assert_true


def test_through_a_jump_host(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = lab.host("inner", "127.0.0.1", inside=gate)
    before = inner.keys_file.read_bytes(), gate.keys_file.read_bytes()
    jump = f"{{address: {gate.address}, user: root, host_keys: ['{line_of(gate.key)}']}}"
    lab.create(inner.entry(jump=jump))
    assert_equal(gate.keys_file.read_bytes(), before[1], "the jump host was changed")
    assert_equal(lab.run("exec", "lab", "--", "hostname").stdout, "inner: inner\n", "exec")
    said = lab.run("run", "job", "-c", "lab", "--", "hostname")
    assert_equal(said.stdout, "[0] inner\n")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_equal(
        (inner.keys_file.read_bytes(), gate.keys_file.read_bytes()), before, "not as before"
    )


def test_keys_on_the_way_are_accepted_once_each(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = [
        lab.host(name, address, inside=gate)
        for name, address in (("one", "127.0.0.1"), ("two", "127.0.0.2"))
    ]
    jump = f"{{address: {gate.address}, user: root}}"
    unknown = lab.create(*(host.entry(host_key=False, jump=jump) for host in inner), code=3)
    assert_in(gate.address, unknown.stderr)
    made = lab.create(
        *(host.entry(host_key=False, jump=jump) for host in inner), more=["--accept-host-keys"]
    )
    said = [made.stderr.count(fingerprint(host.key)) for host in (gate, *inner)]
    assert_equal(said, [1, 1, 1], f"{said}: {made.stderr}")
    lab.run("exec", "lab", "--", "true")
    lab.run("delete", "cluster", "lab", "--yes")


def start_job(lab, name, ranks, number):
    """Starts a job of ranks that sleep, and waits until they do. Returns its process."""
    process = subprocess.Popen(
        [lab.fastgpu, "run", "job", name, "-c", "lab", "-np", str(ranks), "--", "sh", "-c"]
        + [f"echo up; exec sleep {number}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=lab.environment(),
    )
    for _ in range(ranks):
        assert_in(b"up", process.stdout.readline())
    return process


def test_a_job_behind_a_jump_host_ends_when_this_machine_is_gone(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = lab.host("inner", "127.0.0.1", inside=gate)
    jump = f"{{address: {gate.address}, user: root, host_keys: ['{line_of(gate.key)}']}}"
    lab.create(inner.entry(jump=jump))
    process = start_job(lab, "alone", 1, 4242.5)
    # Longer than the silence that is borne, so that beats have kept the job.
    time.sleep(20)
    assert_true(process.poll() is None, "the job has ended by itself")
    hole = ["blackhole", f"{NETWORK}.1"]
    within_host(gate, "ip", "route", "add", *hole)
    began = time.monotonic()
    try:
        gone = within(75, lambda: "sleep 4242.5" not in programs_on(inner))
        print(f"   its rank ended after {time.monotonic() - began:.1f} s", flush=True)
        assert_true(gone, "the rank outlives the lease of its job")
        _, err = process.communicate(timeout=30)
        assert_equal(process.returncode, 1, err)
    finally:
        within_host(gate, "ip", "route", "del", *hole)


def test_ranks_behind_a_jump_host_have_their_lease(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    pair = lab.pair()
    jump = f"{{address: {gate.address}, user: root, host_keys: ['{line_of(gate.key)}']}}"
    lab.create(*(host.entry(jump=jump) for host in pair))
    process = start_job(lab, "both", 2, 4242.6)
    within_host(pair[1], "pkill", "-STOP", "-x", "orted")
    within_host(pair[1], "ip", "link", "set", "eth0", "down")
    gone = within(15, lambda: "sleep 4242.6" not in programs_on(pair[1]))
    within_host(pair[1], "pkill", "-KILL", "-x", "orted")
    assert_true(gone, "a rank outlives its lease")
    _, err = process.communicate(timeout=30)
    assert_in(b"lost contact with two", err)
    log = (pair[1].home / ".fastgpu/jobs/both-1/ranks/1.err").read_text()
    assert_in("the first node of the job did not answer for 9s", log)


if __name__ == "__main__":
    static_lab.run_tests(globals())
