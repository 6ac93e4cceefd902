"""Two hosts within this one, a shaped link between them, and ranks that run there: ours, and those
of mpirun.
"""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from hosts import Host, connect, results, resume_all, sh, signal_all, start


def ports(host, peer):
    """Of connections to another host: the port here, the port there."""
    lines = sh(
        *host.entered(["ss", "-Htn", "state", "established", "dst", peer.address])
    ).splitlines()
    return {tuple(int(end.rsplit(":", 1)[1]) for end in line.split()[2:4]) for line in lines}


FIRST_FLOW = 10  # The class of the first connection; class 1 has all other packets.


def set_class(host, verb, parent, name, *rate):
    """Adds or changes a class of the queue of a host's link."""
    host.tc("class", verb, "dev", "eth0", "parent", parent, "classid", name, "htb", *rate)


def set_cap(host, verb, number, mbit):
    """Adds or changes the class of a connection, which gets at most `mbit` of the link."""
    ceiling = ("ceil", f"{mbit}mbit", "burst", "64kb", "cburst", "64kb")
    set_class(host, verb, "2:100", f"2:{number}", "rate", "1mbit", *ceiling)


class Link:
    """Both hosts, and a wire between them for each of `rates`, in Mbit/s each way: eth0, eth1."""

    def __init__(self, *rates):
        self.rates = rates
        self.hosts = [Host("bench0", "10.213.7.1"), Host("bench1", "10.213.7.2")]
        for number in range(len(rates)):
            connect(self.hosts, f"eth{number}", [f"10.213.{7 + number}.{end}" for end in (1, 2)])
        self.shape()

    @property
    def mbit(self):
        return self.rates[0]

    def shape(self):
        for host in self.hosts:
            for number, rate in enumerate(self.rates):
                host.tc(
                    *("qdisc", "replace", "dev", f"eth{number}", "root", "handle", "1:", "tbf"),
                    *("rate", f"{rate}mbit", "burst", "128kb", "latency", "50ms"),
                )

    def cap_flows(self, mbit):
        """Each connection that is there now gets at most `mbit`, as many cloud networks have it,
        under the link's own rate.
        """
        for host, peer in (self.hosts, self.hosts[::-1]):
            host.tc(
                "qdisc", "replace", "dev", "eth0", "root", "handle", "2:", "htb", "default", "1"
            )
            set_class(host, "add", "2:", "2:100", "rate", f"{self.mbit}mbit", "burst", "128kb")
            set_cap(host, "add", 1, mbit)
            for number, (here, there) in enumerate(sorted(ports(host, peer)), FIRST_FLOW):
                set_cap(host, "add", number, mbit)
                host.tc(
                    *("filter", "add", "dev", "eth0", "parent", "2:", "protocol", "ip"),
                    *("prio", "1", "u32", "match", "ip", "sport", here, "0xffff"),
                    *("match", "ip", "dport", there, "0xffff", "flowid", f"2:{number}"),
                )

    def change_flow(self, number, mbit):
        for host in self.hosts:
            set_cap(host, "change", FIRST_FLOW + number, mbit)

    def run(self, argv, ranks_each, environment=()):
        return results(start(self.hosts, argv, ranks_each, environment))

    def run_capped(self, argv, flows, mbit, environment=(), meanwhile=None):
        """One rank a host, stopped as soon as they are connected
        until each connection has its cap.
        """
        ranks = start(self.hosts, argv, 1, {"FASTGPU_COMM_FLOWS": str(flows), **dict(environment)})
        try:
            while len(ports(*self.hosts)) < flows:
                if any(rank.poll() is not None for rank in ranks):
                    break
            for rank in ranks:
                signal_all(rank.pid, signal.SIGSTOP)
            self.cap_flows(mbit)
            resume_all(*(rank.pid for rank in ranks))
            if meanwhile:
                meanwhile(self)
            return results(ranks)
        finally:
            self.shape()

    def run_mpi(self, argv, ranks_each, mca=(), interfaces="eth0"):
        a, b = self.hosts
        with tempfile.TemporaryDirectory(prefix="fastgpu-bench-") as folder:
            agent = pathlib.Path(folder, "agent.sh")
            cases = ""
            for host in self.hosts:
                entered = " ".join(host.entered([], with_processes=False))
                cases += f'{host.name}) exec {entered} sh -c "$*" ;;\n'
            agent.write_text(f"#!/bin/sh\nhost=$1; shift\ncase $host in\n{cases}esac\n")
            agent.chmod(0o755)
            words = [
                "mpirun",
                "--allow-run-as-root",
                "-np",
                str(2 * ranks_each),
                "--map-by",
                "slot",
                "--bind-to",
                "none",
                "--host",
                f"{a.name}:{ranks_each},{b.name}:{ranks_each}",
                "--mca",
                "plm_rsh_agent",
                str(agent),
                "--mca",
                "plm_rsh_no_tree_spawn",
                "1",
                "--mca",
                "oob_tcp_if_include",
                "eth0",
                "--mca",
                "btl_tcp_if_include",
                interfaces,
                *[word for name, value in mca for word in ("--mca", name, value)],
                *argv,
            ]
            return results(
                [
                    subprocess.Popen(
                        a.entered(words, with_processes=False),
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                ]
            )

    def close(self):
        for host in self.hosts:
            host.close()


class LossyPaths(Link):
    """Both hosts, and a path between them for each of `paths`, (Mbit/s, milliseconds, share of
    packets that is lost) each way: eth0, eth1. A program forwards the packets.
    """

    def __init__(self, forwarder, paths, seed=1):
        self.hosts = [Host("bench0", "10.213.20.1"), Host("bench1", "10.213.20.2")]
        described = [f"{mbit},{delay},{loss}" for mbit, delay, loss in paths]
        self._forwarder = subprocess.Popen(
            [forwarder, str(seed), *(str(host.pid) for host in self.hosts), *described],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._forwarder.stdout.readline()
        for end, host in enumerate(self.hosts, 1):
            for number in range(len(paths)):
                host.ip(
                    f"address add 10.213.{20 + number}.{end}/24 dev eth{number}",
                    f"link set eth{number} txqueuelen 1000 up",
                )

    def close(self):
        """Returns how many packets were forwarded and dropped."""
        counted, _ = self._forwarder.communicate()
        super().close()
        return json.loads(counted)


@contextlib.contextmanager
def lossy_paths(forwarder, paths):
    made = LossyPaths(forwarder, paths)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def link(*rates):
    made = Link(*rates)
    try:
        yield made
    finally:
        made.close()
