"""Hosts within this one, the links between them, and ranks that run there. Needs root.

A host is a network, a host name, and process numbers of its own: ranks of the same host find each
other's memory, others do not.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

PATIENCE = 180  # Seconds that one command may take.


def sh(*words, **options):
    return subprocess.run(
        [str(word) for word in words], check=True, capture_output=True, text=True, **options
    ).stdout


class Host:
    """Ends with whoever made it, however that ends."""

    def __init__(self, name, address=None):
        self.name, self.address = name, address
        self._holder = subprocess.Popen(
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                "unshare",
                "--net",
                "--uts",
                "--pid",
                "--fork",
                "--mount-proc",
                "--kill-child",
                "sleep",
                "infinity",
            ]
        )
        while not (inside := children(self._holder.pid)):
            time.sleep(0.01)
        self.pid = inside[0]
        sh(*self.entered(["hostname", name]))
        self.ip("link set lo up")

    def entered(self, argv, with_processes=True):
        """The command that runs `argv` here. mpirun's daemons have to see the processes of all
        hosts.
        """
        walls = ["--net", "--uts"] + (["--pid", "--mount", "--root"] if with_processes else [])
        return ["nsenter", f"--target={self.pid}", *walls, "--", *argv]

    def ip(self, *lines):
        sh(*self.entered(["ip", "-batch", "-"]), input="\n".join(lines))

    def tc(self, *words):
        return sh(*self.entered(["tc", *words]))

    def close(self):
        self._holder.kill()
        self._holder.wait()


def children(pid):
    """Of a process; of nsenter the one that it has started on a host."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [
            int(child)
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    return []


def signal_all(pid, number):
    """To nsenter and its child."""
    for process in (*children(pid), pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def resume_all(*pids):
    """Continues stopped processes. nsenter stops itself some time after its child."""
    for _ in range(20):
        for pid in pids:
            signal_all(pid, signal.SIGCONT)
        time.sleep(0.01)


def connect(hosts, device, addresses):
    """Lays a link between two hosts, which is `device` on both."""
    ends = [f"fg{host.pid}{device}"[:15] for host in hosts]
    one, other = hosts
    words = ("netns", one.pid, "type", "veth", "peer", "name", ends[1], "netns", other.pid)
    sh("ip", "link", "add", ends[0], *words)
    for host, end, address in zip(hosts, ends, addresses, strict=True):
        host.ip(
            f"link set {end} name {device}",
            f"address add {address}/24 dev {device}",
            f"link set {device} up",
        )


class Switched:
    """Hosts on one switch, which is a network of its own: a bridge, or a delay line where frames
    are to take their time.
    """

    BURST = 16 << 10  # Bytes that go at once after a pause.
    QUEUE = 32 << 20  # Bytes that wait rather than be lost.
    # Packets that a connection begins with, and keeps: what is measured is the link, not how TCP
    # gets to know it.
    WINDOW = 200

    def __init__(self, count):
        self._open = contextlib.ExitStack()
        self._delay_line = None
        try:
            self._switch = self._made("switch")
            self._switch.ip("link add bridge0 type bridge", "link set bridge0 up")
            self.hosts = [self._connected(number) for number in range(count)]
        except BaseException:
            self.close()
            raise

    def _made(self, *of_host):
        host = Host(*of_host)
        self._open.callback(host.close)
        return host

    def _connected(self, number):
        host = self._made(f"host{number}", f"10.213.8.{number + 1}")
        sh(
            "ip",
            "link",
            "add",
            f"port{number}",
            "netns",
            self._switch.pid,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            host.pid,
        )
        host.ip(
            f"address add {host.address}/24 dev eth0 noprefixroute",
            "link set eth0 up",
            f"route add 10.213.8.0/24 dev eth0 initcwnd {self.WINDOW} initrwnd {self.WINDOW} "
            "rto_min 1s",
        )
        sh(
            *host.entered(
                [
                    "sysctl",
                    "-qw",
                    "net.ipv4.tcp_slow_start_after_idle=0",
                    "net.ipv4.tcp_rmem=4096 4194304 8388608",
                ]
            )
        )
        self._switch.ip(f"link set port{number} up")
        return host

    def shape(self, mbit, delay_ms=0):
        """Every host's link: `mbit` each way, and from one host to another `delay_ms`."""
        ports = [f"port{number}" for number in range(len(self.hosts))]
        for host, port in zip(self.hosts, ports, strict=True):
            for end, device in ((host, "eth0"), (self._switch, port)):
                end.tc(
                    "qdisc",
                    "replace",
                    "dev",
                    device,
                    "root",
                    "tbf",
                    "rate",
                    f"{mbit}mbit",
                    "burst",
                    self.BURST,
                    "limit",
                    self.QUEUE,
                )
        self._end_delay_line()
        self._switch.ip(
            *(f"link set {port} {'nomaster' if delay_ms else 'master bridge0'}" for port in ports)
        )
        if delay_ms:
            argv = [
                sys.executable,
                str(pathlib.Path(__file__).with_name("delay_line.py")),
                str(delay_ms),
                *ports,
            ]
            self._delay_line = subprocess.Popen(
                self._switch.entered(argv), stdout=subprocess.PIPE, text=True
            )
            self._delay_line.stdout.readline()

    def _end_delay_line(self):
        if self._delay_line:
            self._delay_line.stdout.close()
            signal_all(self._delay_line.pid, signal.SIGKILL)
            self._delay_line.wait()
            self._delay_line = None

    def close(self):
        self._end_delay_line()
        self._open.close()


def start(hosts, argv, ranks_each, environment=()):
    """Our ranks, the first `ranks_each` of them on the first host."""
    shared = {
        **os.environ,
        "WORLD_SIZE": str(len(hosts) * ranks_each),
        "FASTGPU_COMM_MASTER_ADDR": hosts[0].address,
        "FASTGPU_COMM_MASTER_PORT": "29433",
        "FASTGPU_COMM_SECRET": "of these ranks alone",
        **dict(environment),
    }
    return [
        subprocess.Popen(
            host.entered(argv),
            env={**shared, "RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, host in enumerate(host for host in hosts for _ in range(ranks_each))
    ]


def results(processes):
    """What the first one prints, line by line; what any of them says where it fails."""
    try:
        texts = [process.communicate(timeout=PATIENCE) for process in processes]
    except subprocess.TimeoutExpired as e:
        for process in processes:
            signal_all(process.pid, signal.SIGKILL)
        raise SystemExit(f"{' '.join(processes[0].args)}: no end within {PATIENCE} s") from e
    for process, (_, errors) in zip(processes, texts, strict=True):
        if process.returncode != 0:
            raise SystemExit(
                f"{' '.join(process.args)}: exit status {process.returncode}\n{errors}"
            )
    return [json.loads(line) for line in texts[0][0].splitlines() if line.startswith("{")]


@contextlib.contextmanager
def switched(count):
    made = Switched(count)
    try:
        yield made
    finally:
        made.close()
