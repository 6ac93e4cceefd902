"""Checks of nodes and of the connections between them, with faults put in: check_test.py FASTGPU
[TEST ...]
"""

import contextlib
import json
import pathlib
import re
import shlex
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster, within
from node_inside import NodeInside
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "templates/schemas"
SMI = """#!/bin/sh
case $1 in
--query-gpu=index,driver*) echo '0, 550.54.15, 81559, NVIDIA H100' ;;
--query-gpu=index,ecc*) echo '0, 4' ;;
esac
"""


def on(user, node, script):
    """Runs a shell script on a node of the user's cluster. Returns what it prints."""
    words = ("exec", f"{user.cluster}/{node}", "--", "sh", "-c", script)
    return user.run(*words).out.decode()


@contextlib.contextmanager
def program_on(user, node, name, text):
    """Puts a program in front of that of the system, for as long as the context lasts."""
    path = f"/usr/local/sbin/{name}"
    on(user, node, f"printf %s {shlex.quote(text)} >{path} && chmod 755 {path}")
    try:
        yield
    finally:
        on(user, node, f"rm -f {path}")


def checked(user, nodes="", code=None):
    """Returns the document of `check cluster`, which must fit its schema."""
    done = user.run("check", "cluster", user.cluster + nodes, "-o", "json", code=code)
    return fitting(json.loads(done.out), "check-cluster")


def fitting(document, kind):
    with contextlib.suppress(ImportError):
        import jsonschema

        jsonschema.validate(document, json.loads((SCHEMAS / f"{kind}.json").read_text()))
    return document


def found(document, check):
    """Returns the findings of a check, as (severity, nodes, what was found)."""
    return [
        (finding["severity"], finding["nodes"], finding["found"])
        for finding in document["findings"]
        if finding["check"] == check
    ]


def let_only_ssh_in(user, node):
    """A firewall that answers nothing but ssh, by routing rules: iptables need not be installed."""
    rules = ["rule add pref 100 lookup local", "rule del pref 0"]
    for number, words in enumerate(("dport 22 lookup local", "sport 22 lookup local", "blackhole")):
        rules.append(f"rule add pref {10 + number} iif eth0 ipproto tcp {words}")
    on(user, node, " && ".join(f"ip {rule}" for rule in rules))


def open_again(user, node):
    on(
        user,
        node,
        "ip rule add pref 0 lookup local && for n in 10 11 12 100; do ip rule del pref $n; done",
    )


@shared_cluster
def test_nodes_without_a_fault_pass(user):
    name = user.two_nodes()
    document = checked(user)
    results = {check["name"]: check["result"] for check in document["checks"]}
    for check in ("ssh", "agent", "open-mpi", "kernel", "clock", "host-name", "connections", "mtu"):
        assert_equal(results[check], "ok", json.dumps(document["findings"]))
    assert_equal([node["name"] for node in document["nodes"]], [f"{name}-0", f"{name}-1"])
    assert_equal(results["fabric-manager"], "skipped")
    alone = {check["name"]: check for check in checked(user, "/0")["checks"]}
    assert_equal(alone["connections"]["skipped_for"], "fewer than two nodes")
    done = user.run("check", "cluster", name, code=None)
    assert_in("of 2 nodes", done.err)
    assert_in("not checked:", done.err)


@shared_cluster
def test_what_differs_between_nodes_is_found(user):
    name = user.two_nodes()
    second = [f"{name}-1"]
    late = 'exec /bin/date -d "@$(($(/bin/date +%s) - 600))" "$@"'
    with program_on(user, 1, "date", f"#!/bin/sh\n{late}\n"):
        document = checked(user, code=1)
    severity, nodes, text = found(document, "clock")[0]
    assert_equal((severity, nodes), ("error", second))
    assert_true(re.match(rf"(9m5|10m)\S* behind {name}-0", text), text)
    with program_on(user, 1, "nvidia-smi", SMI):
        document = checked(user, code=1)
    assert_equal(
        found(document, "gpus"), [("error", [f"{name}-0"], "0 GPUs, but 1 on other nodes")]
    )
    assert_equal(
        found(document, "gpu-errors"),
        [("error", second, "GPU 0: 4 uncorrected errors of its memory")],
    )
    with program_on(user, 1, "nvidia-smi", "#!/bin/sh\necho 'NVML: no driver'; exit 9\n"):
        assert_in("NVML: no driver", found(checked(user, code=1), "gpus")[0][2])
    with program_on(user, 1, "mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.9'\n"):
        assert_equal(found(checked(user, code=1), "open-mpi")[0][:2], ("error", second))
    with program_on(user, 1, "uname", '#!/bin/sh\n/bin/uname "$@" | sed s/^[0-9]/9/\n'):
        assert_equal(found(checked(user), "kernel")[0][:2], ("warning", second))


@contextlib.contextmanager
def rdma_device_on(user, node):
    """Shows a node the files of an RDMA device in place of those of its kernel's classes."""
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    files = {
        "state": "4: ACTIVE",
        "rate": "100 Gb/sec (4X EDR)",
        "link_layer": "Ethernet",
        "gids/0": "fe80:0000:0000:0000:0000:00ff:fe00:0001",
        "gid_attrs/types/0": "RoCE v2",
        "gid_attrs/ndevs/0": "eth0",
    }
    writes = [f"echo {shlex.quote(text)} >{port}/{file}" for file, text in files.items()]
    folders = f"mkdir -p {port}/gids {port}/gid_attrs/types {port}/gid_attrs/ndevs"
    on(user, node, " && ".join(["mount -t tmpfs tmpfs /sys/class", folders, *writes]))
    try:
        yield
    finally:
        on(user, node, "umount /sys/class")


def described(user, node):
    """Returns the document of `describe node`, which must fit its schema."""
    done = user.run("describe", "node", f"{user.cluster}-{node}", "-o", "json")
    return fitting(json.loads(done.out), "node")


@shared_cluster
def test_an_rdma_device_is_described_and_what_keeps_jobs_from_it_is_found(user):
    name = user.two_nodes()
    assert_equal(described(user, 1)["rdma_ports"], [])
    with rdma_device_on(user, 1):
        document = described(user, 1)
        port = document["rdma_ports"][0]
        assert_equal(port["device"], "mlx5_0")
        assert_equal(port["bits_per_second"], 100_000_000_000)
        assert_equal([gid["type"] for gid in port["gids"]], ["RoCE v2"])
        assert_in("uverbs", document["rdma_obstacle"])
        table = user.run("describe", "node", f"{name}-1").out.decode()
        assert_true(re.search(r"mlx5_0 +1 +ACTIVE +100 Gbit/s +Ethernet +eth0", table), table)
        findings = found(checked(user, code=1), "rdma")
        alone = f"1 RDMA port, but no RDMA port on {name}-0"
        assert_in(("error", [f"{name}-1"], alone), findings)
        assert_in(("error", [f"{name}-1"], "/dev/infiniband has no uverbs device"), findings)
    assert_equal(described(user, 0)["rdma_ports"], [])


@shared_cluster
def test_a_full_disk_and_a_name_of_another_node_are_found(user):
    name = user.two_nodes()
    on(user, 1, "mkdir -p /run/full && mount -t tmpfs -o size=1m tmpfs /tmp")
    try:
        finding = next(
            one
            for one in checked(user, code=1)["findings"]
            if one["check"] == "disk" and one["nodes"] == [f"{name}-1"]
        )
        assert_equal(finding["severity"], "error")
        # It is not full: neither deleting jobs nor removing files would help.
        assert_in("the file system at /tmp is small (1.05 MB free of 1.05 MB)", finding["found"])
        assert_in("make it larger (a tmpfs: mount -o remount,size=", finding["remedy"])
    finally:
        on(user, 1, "umount /tmp")
    on(user, 1, f"hostname {name}-0")
    try:
        findings = found(checked(user, code=1), "host-name")
        assert_in(("error", [f"{name}-0", f"{name}-1"], f"all are called {name}-0"), findings)
    finally:
        on(user, 1, f"hostname {name}-1")


@shared_cluster
def test_a_firewall_between_nodes_is_found_in_bounded_time(user):
    name = user.two_nodes()
    let_only_ssh_in(user, 1)
    try:
        document = checked(user, code=1)
        findings = found(document, "connections")
        assert_true(findings, json.dumps(document))
        assert_true(all(severity == "error" for severity, _, _ in findings))
        assert_in(f"{name}-0 cannot connect to {name}-1: no answer within 5 s", str(findings))
    finally:
        open_again(user, 1)
    assert_equal(found(checked(user), "connections"), [])


@shared_cluster
def test_another_mtu_is_found(user):
    name = user.two_nodes()
    on(user, 1, "ip link set eth0 mtu 1300")
    try:
        findings = found(checked(user), "mtu")
        assert_equal(len(findings), 1, findings)
        assert_in("eth0 has MTU", findings[0][2])
    finally:
        on(user, 1, "ip link set eth0 mtu 1500")
    assert_equal(found(checked(user), "mtu"), [], name)


@shared_cluster
def test_large_packets_that_get_lost_are_found_and_a_job_does_not_start(user):
    name = user.two_nodes()
    # The limiter drops what is longer than its bucket, as a switch with a smaller MTU does.
    on(user, 1, "tc qdisc add dev eth0 root tbf rate 1gbit burst 1300 mtu 1300 latency 50ms")
    lost = f"bytes from {name}-1 to {name}-0 at "
    try:
        findings = found(checked(user, code=1), "connections")
        assert_in("large ones do not", findings[0][2])
        for more in ((), ("--dry-run",), ("--launcher", "plain")):
            began = time.monotonic()
            words = job_words(name, 2, ["true"], *more)
            user.refused(words, 1, "packets of 1500 " + lost, "give all interfaces, tunnels and")
            assert_less(time.monotonic() - began, 15)
    finally:
        on(user, 1, "tc qdisc del dev eth0 root")
    # An interface with a smaller MTU is known by both nodes.
    on(user, 1, "ip link set eth0 mtu 1300")
    try:
        user.run(*job_words(name, 2, ["true"]))
    finally:
        on(user, 1, "ip link set eth0 mtu 1500")


@shared_cluster
def test_the_trial_of_large_packets_takes_one_refusal_of_each_node(user):
    name = user.two_nodes()

    def refusals():
        done = user.run("exec", name, "-o", "json", "--", "cat", "/proc/net/snmp")
        tables = [host["stdout"].splitlines() for host in json.loads(done.out)["hosts"]]
        icmp = [[line.split() for line in table if line.startswith("Icmp:")] for table in tables]
        return [int(values[names.index("OutDestUnreachs")]) for names, values in icmp]

    before = refusals()
    user.run(*job_words(name, 2, ["true"]))
    # A kernel sends one a second: further ones would delay the jobs that start soon after.
    assert_equal(refusals(), [count + 1 for count in before])


@shared_cluster
def test_processes_of_a_former_job_are_found_and_those_of_a_job_are_not(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sleep", "600"], "runs", "--detach"))
    pid = (
        user.run(
            "ssh",
            f"{name}/1",
            "--",
            "sh",
            "-c",
            "OMPI_MCA_orte_launch_agent='env FASTGPU_JOB_ID=old-1 orted' "
            "FASTGPU_JOB_ID=old-1 setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!",
        )
        .out.decode()
        .strip()
    )
    try:
        findings = found(checked(user), "leftovers")
        assert_equal([nodes for _, nodes, _ in findings], [[f"{name}-1"]], findings)
        assert_in("1 process of job old-1, which does not run: sleep", findings[0][2])
    finally:
        user.run("cancel", "job", "runs")
        on(user, 1, f"kill {pid}")
    assert_true(within(20, lambda: not found(checked(user), "leftovers")), "they are still found")


@shared_cluster
def test_processes_of_a_job_that_another_state_directory_started_are_not_leftovers(user):
    user.two_nodes()
    # The supervisor is on the first node alone, and has a lock on this file.
    lock = "$HOME/.fastgpu/jobs/other-1.2/lock"
    mark = "FASTGPU_JOB_ID=other-1.2"
    apart = ">/dev/null 2>&1 </dev/null & echo"
    on(user, 0, f"mkdir -p $(dirname {lock}); {mark} setsid flock {lock} sleep 600 {apart}")
    on(user, 1, f"{mark} setsid sleep 600 {apart}")
    try:
        assert_equal(found(checked(user), "leftovers"), [])
        on(user, 0, "pkill -x flock; pkill -f '^sleep 600'")
        left = found(checked(user), "leftovers")
        assert_in("job other-1.2, which does not run: sleep", left[0][2])
    finally:
        for node in (0, 1):
            on(user, node, "pkill -f '^sleep 600'; rm -rf ~/.fastgpu/jobs/other-1.2")


@shared_cluster
def test_run_job_checks_first_if_asked(user):
    name = user.two_nodes()
    words = job_words(name, 2, ["echo", "it ran"], "wary", "--check")
    late = 'exec /bin/date -d "@$(($(/bin/date +%s) - 600))" "$@"'
    with program_on(user, 1, "date", f"#!/bin/sh\n{late}\n"):
        done = user.run(*words, code=1)
        assert_in(f"error: {name}-1: clock:", done.err)
        assert_in("the job was not started", done.err)
        assert_not_in(b"it ran", done.out)
        first = user.run(*job_words(f"{name}/0", 1, ["echo", "it ran"], "--check"))
        assert_in(b"it ran", first.out)
    assert_in(b"it ran", user.run(*words).out)


@shared_cluster
def test_a_node_that_hangs_does_not_hold_the_check_up(user):
    name = user.two_nodes()
    with program_on(user, 1, "nvidia-smi", "#!/bin/sh\nexec sleep 600\n"):
        findings = found(checked(user, code=1), "gpus")
    assert_equal(findings[0][:2], ("error", [f"{name}-1"]))


def measured(user, *words, code=0):
    done = user.run("check", "net", user.cluster, "-o", "json", *words, code=code, timeout=200)
    return fitting(json.loads(done.out), "check-net")


def test_the_network_is_measured_and_a_slow_node_is_named(user):
    name = user.nodes(3)
    document = measured(user)
    assert_equal(len(document["pairs"]), 3)
    for pair in document["pairs"]:
        assert_equal(pair["error"], None)
        assert_less(10e6, pair["forward_bytes_per_second"])
        assert_less(10e6, pair["backward_bytes_per_second"])
        assert_less(0, pair["round_trip_us"])
    assert_equal(document["all_reduce"]["ranks"], 3)
    assert_less(0, document["all_reduce"]["bus_bytes_per_second"])
    assert_equal(document["rounds"], {"measured": 3, "all": 3})
    done = user.run("check", "net", name, timeout=200)
    assert_in(b"FROM \\ TO", done.out)
    assert_in(b"all-reduce of 3 ranks", done.out)
    on(user, 2, "tc qdisc add dev eth0 root tbf rate 300mbit burst 64kb latency 50ms")
    document = measured(user)
    slow = found(document, "bandwidth")
    assert_equal([(s, n) for s, n, _ in slow if n], [("warning", [f"{name}-2"])], slow)
    assert_in("it sends at 0.", slow[0][2])
    assert_equal(measured(user, "--time", "500ms")["rounds"], {"measured": 1, "all": 3})
    let_only_ssh_in(user, 1)
    document = measured(user, code=1)
    assert_equal(document["all_reduce"], None)
    assert_true(found(document, "connections"))
    without = "not measured, because of the errors of connections"
    assert_equal(found(document, "all-reduce"), [("warning", [f"{name}-1"], without)])
    with NodeInside(f"{name}-1").cut():
        document = measured(user, code=1)
    without = "not measured, because of the errors of ssh"
    assert_equal(found(document, "all-reduce"), [("warning", [f"{name}-1"], without)])
    rest = f"fastgpu check net '{name}/{name}-[0,2]'"
    assert_in(rest, document["findings"][-1]["remedy"])
    user.refused(["check", "net", f"{name}/0"], 2, "a connection needs two")


if __name__ == "__main__":
    run_tests(globals())
