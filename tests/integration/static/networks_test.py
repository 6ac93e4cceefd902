"""Hosts in networks and lists as people have them: networks_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import os
import subprocess
import time

import static_lab
from relay import Relay
from static_lab import NETWORK, NETWORK_6, has_ipv6, line_of
from suite import assert_equal, assert_false, assert_in, assert_less, assert_not_in, assert_true

RANKS = ["--", "sh", "-c", "echo $(hostname) $MASTER_ADDR"]


def run_ip(host, *words):
    """Changes the network of a host."""
    subprocess.run(["nsenter", "-t", str(host.first_process()), "--net", "ip", *words], check=True)


def let_only_ssh_in(host):
    """A firewall that answers nothing but ssh, by routing rules: iptables need not be installed."""
    run_ip(host, "rule", "add", "pref", "100", "lookup", "local")
    run_ip(host, "rule", "del", "pref", "0")
    for number, words in enumerate(
        (["dport", "22", "lookup", "local"], ["sport", "22", "lookup", "local"], ["blackhole"])
    ):
        run_ip(
            host, "rule", "add", "pref", str(10 + number), "iif", "eth0", "ipproto", "tcp", *words
        )


def know_names(lab, **addresses):
    """Names that this user's fastgpu and all hosts of the lab know, and nothing else."""
    (lab.folder / "hosts").write_text(
        "127.0.0.1 localhost\n"
        + "".join(f"{address} {name.replace('_', '.')}\n" for name, address in addresses.items())
    )
    wrapper = lab.folder / "fastgpu"
    wrapper.write_text(
        f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind {lab.folder}/hosts /etc/hosts && exec "
        f'{lab.fastgpu} "$@"\' sh "$@"\n'
    )
    wrapper.chmod(0o755)
    lab.fastgpu = str(wrapper)


class Forwarder(Relay):
    """A port here that leads to port 22 of an address, as a router does for hosts behind it."""

    def __init__(self, to):
        super().__init__((to, 22))

    def entry(self, host, **more):
        lines = [
            f"address: 127.0.0.1:{self.port}",
            f"name: {host.name}",
            "user: root",
            f"host_keys: ['{line_of(host.key)}']",
        ]
        lines += [f"{name}: {value}" for name, value in more.items()]
        return "  - " + "\n    ".join(lines) + "\n"


def test_a_hostfile_and_ranges_make_a_cluster(lab):
    one, two = lab.pair()
    hostfile = lab.folder / "hosts.txt"
    hostfile.write_text(f"# the lab\nroot@{NETWORK}.[11-12] slots=2\n")
    lab.run("create", "cluster", "lab", "-f", str(hostfile), "--accept-host-keys")
    ranks = lab.run("run", "job", "-c", "lab", "--", "hostname").stdout
    assert_equal(ranks.count("one"), 2, ranks)
    assert_equal(ranks.count("two"), 2, ranks)
    lab.run("delete", "cluster", "lab", "--yes")
    file = lab.folder / "ranges.yaml"
    file.write_text(
        f"user: root\nhosts:\n  - {{address: '{NETWORK}.[11-12]', name: 'gpu[01-02]'}}\n"
    )
    lab.run("create", "cluster", "lab", "-f", str(file), "--accept-host-keys")
    said = lab.run("exec", "lab", "--", "hostname").stdout
    assert_equal(sorted(said.splitlines()), ["gpu01: one", "gpu02: two"], said)
    lab.run("delete", "cluster", "lab", "--yes")
    assert_false(static_lab.ours(one), "a line is left")
    assert_false(static_lab.ours(two), "a line is left")


def test_hosts_behind_a_router_reach_each_other_at_their_inner_addresses(lab):
    hosts = lab.pair()
    ways = [Forwarder(host.address) for host in hosts]
    lab.create(
        *(way.entry(host, inner=host.address) for way, host in zip(ways, hosts, strict=True))
    )
    done = lab.run("run", "job", "-c", "lab", *RANKS)
    assert_equal(
        sorted(done.stdout.splitlines()),
        [f"[0] one {NETWORK}.11", f"[1] two {NETWORK}.11"],
        done.stdout + done.stderr,
    )
    payload = lab.folder / "payload"
    payload.write_bytes(os.urandom(9 << 20))
    lab.run("cp", str(payload), "lab:")
    assert_true(
        all((host.home / "payload").read_bytes() == payload.read_bytes() for host in hosts), "cp"
    )
    lab.run("delete", "cluster", "lab", "--yes")


def test_hosts_that_do_not_reach_each_other_at_their_outer_addresses_are_named(lab):
    hosts = lab.pair()
    lab.create(*(Forwarder(host.address).entry(host) for host in hosts))
    for more in ([], ["--dry-run"]):
        begun = time.monotonic()
        refused = lab.run("run", "job", "-c", "lab", *more, *RANKS, code=1)
        assert_in("one cannot reach two at 127.0.0.1:", refused.stderr)
        assert_in("`inner`", refused.stderr)
        assert_less(time.monotonic() - begun, 15, "it took long")
    alone = lab.run("run", "job", "-c", "lab/one", "-np", "1", "--", "hostname")
    assert_equal(alone.stdout, "[0] one\n", alone.stdout + alone.stderr)
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_firewall_between_nodes_ends_a_job_with_their_names(lab):
    one, two, three = (
        lab.host(name, f"{NETWORK}.{number}", network=True)
        for number, name in enumerate(("one", "two", "three"), 11)
    )
    lab.create(one.entry(), two.entry(), three.entry())
    lab.run("run", "job", "-c", "lab", *RANKS)
    let_only_ssh_in(three)
    for nodes, pair in (("lab", ("one", "three")), ("lab/two,three", ("two", "three"))):
        begun = time.monotonic()
        refused = lab.run("run", "job", "-c", nodes, *RANKS, code=1)
        assert_in(f"{pair[0]} cannot reach {pair[1]} at {NETWORK}.13, TCP port ", refused.stderr)
        assert_in("firewall", refused.stderr)
        assert_less(time.monotonic() - begun, 15, "it took long")
        refused = lab.run("run", "job", "-c", nodes, "--detach", *RANKS, code=1)
        assert_in("cannot reach", refused.stderr)
        refused = lab.run("run", "job", "-c", nodes, "--dry-run", *RANKS, code=1)
        assert_in("cannot reach", refused.stderr)
    lab.run("run", "job", "-c", "lab/one,two", *RANKS)
    for host in (one, two, three):
        left = subprocess.run(
            ["nsenter", "-t", str(host.first_process()), "--mount", "--pid", "ps", "-eo", "args"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert_not_in("mpirun", left.stdout)
        assert_not_in("orted", left.stdout)
    lab.run("delete", "cluster", "lab", "--yes")


def test_nodes_known_by_names_use_their_own_network_and_not_dockers(lab):
    know_names(lab, one_lab_test=f"{NETWORK}.11", two_lab_test=f"{NETWORK}.12")
    hosts = lab.pair()
    for host in hosts:
        run_ip(host, "link", "add", "docker0", "type", "bridge")
        run_ip(host, "address", "add", "172.17.0.1/16", "dev", "docker0")
        run_ip(host, "link", "set", "docker0", "up")
    file = lab.folder / "names.yaml"
    file.write_text("user: root\nhosts: [one.lab.test, two.lab.test]\n")
    lab.run("create", "cluster", "lab", "-f", str(file), "--accept-host-keys")
    done = lab.run("run", "job", "-c", "lab", *RANKS)
    assert_equal(
        sorted(done.stdout.splitlines()),
        ["[0] one one.lab.test", "[1] two one.lab.test"],
        done.stdout + done.stderr,
    )
    plan = b"".join(
        path.read_bytes() for path in (hosts[0].home / ".fastgpu" / "jobs").glob("*/spec")
    )
    assert_in(f"{NETWORK}.8/29".encode(), plan)
    lab.run("delete", "cluster", "lab", "--yes")


def add_other_networks(hosts):
    """Networks that all hosts have, and by which none reaches another: bridges of containers and
    virtual machines, and a VPN.
    """
    for number, host in enumerate(hosts, 11):
        for bridge, address in (("docker0", "172.17.0.1/16"), ("virbr0", "192.168.122.1/24")):
            run_ip(host, "link", "add", bridge, "type", "bridge")
            run_ip(host, "address", "add", address, "dev", bridge)
            run_ip(host, "link", "set", bridge, "up")
        run_ip(host, "link", "add", "tun0", "type", "veth", "peer", "name", "tunnel")
        run_ip(host, "address", "add", f"10.8.0.{number}/24", "dev", "tun0")
        run_ip(host, "address", "add", f"fd08::{number}/64", "dev", "tun0", "nodad")
        run_ip(host, "link", "set", "tun0", "up")
        run_ip(host, "link", "set", "tunnel", "up")


def test_hosts_beside_bridges_and_a_vpn_use_the_network_by_which_they_are_known(lab):
    know_names(lab)
    names = ("gpu_1.lab.test", "gpu_2.lab.test")  # DNS has such names, which no host may have.
    with (lab.folder / "hosts").open("a") as file:
        file.writelines(f"{NETWORK}.1{number} {name}\n" for number, name in enumerate(names, 1))
    hosts = lab.pair()
    add_other_networks(hosts)
    lab.create(
        *(host.entry().replace(host.address, name) for host, name in zip(hosts, names, strict=True))
    )
    for launcher in ("mpirun", "plain"):
        done = lab.run("run", "job", "-c", "lab", "--launcher", launcher, *RANKS)
        assert_equal(
            sorted(done.stdout.splitlines()),
            ["[0] one gpu_1.lab.test", "[1] two gpu_1.lab.test"],
            done.stdout + done.stderr,
        )
    lab.run("delete", "cluster", "lab", "--yes")


def test_hosts_with_ipv6_alone_run_jobs(lab):
    if not has_ipv6():
        return
    hosts = [lab.host(name, f"{NETWORK_6}::{name[-1]}", network=True) for name in ("n2", "n3")]
    add_other_networks(hosts)
    lab.create(*(host.entry() for host in hosts))
    for launcher in ("mpirun", "plain"):
        done = lab.run("run", "job", "-c", "lab", "--launcher", launcher, *RANKS)
        assert_equal(
            sorted(done.stdout.splitlines()),
            [f"[0] n2 {NETWORK_6}::2", f"[1] n3 {NETWORK_6}::2"],
            done.stdout + done.stderr,
        )
    lab.run("delete", "cluster", "lab", "--yes")


if __name__ == "__main__":
    static_lab.run_tests(globals())
