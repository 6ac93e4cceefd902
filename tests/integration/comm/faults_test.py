"""Ranks on hosts of their own that train while links and processes fail: faults_test.py
GRADIENT_STEPS [TEST ...]

Hosts are network and process namespaces on one switch. Training either goes on with right sums, or
ends on every rank in time and in a sentence that names the rank at fault; either way nothing is
left behind.
"""

import contextlib
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import suite
from hosts import Switched, children, resume_all, sh, signal_all
from suite import assert_equal, assert_false, assert_greater, assert_true

DEADLINE = 4  # Seconds, as FASTGPU_COMM_TIMEOUT.
GRACE = 6  # For a rank to hear others out, to tell them, and to end.
AT_ONCE = 3  # For a connection that has ended to be noticed, and told of.
ABSENCE = 2  # Seconds for which a link is cut that comes back.
LONG = 100  # A timeout that nothing waits for.
PATIENCE = 20  # TCP tries again after up to twice as long as it has been cut off.


class Network(Switched):
    """Hosts whose cables can be pulled out of the switch, and whose routes come back with their
    links.
    """

    def __init__(self, count):
        super().__init__(count)
        for host in self.hosts:
            host.ip("address flush dev eth0", f"address add {host.address}/24 dev eth0")
        self._switch.ip(*(f"link set port{number} master bridge0" for number in range(count)))

    def set_cable(self, number, state):
        self._switch.ip(f"link set port{number} {state}")


def cable(network, state):
    """Of host 2, pulled out of the switch: the host sees that its carrier is gone."""
    network.set_cable(2, state)


def interface(network, state):
    """Of host 2, taken down there: its routes go with it."""
    network.hosts[2].ip(f"link set eth0 {state}")


class Job:
    """Ranks in the middle of their steps, of which `layout` says on which host each is."""

    def __init__(self, program, network, layout, deadline):
        shared = {
            **os.environ,
            "WORLD_SIZE": str(len(layout)),
            "FASTGPU_COMM_MASTER_ADDR": network.hosts[0].address,
            "FASTGPU_COMM_MASTER_PORT": "29434",
            "FASTGPU_COMM_SECRET": "of this test alone",
            "FASTGPU_COMM_TIMEOUT": f"{deadline}s",
        }
        if deadline == LONG:
            shared["FASTGPU_COMM_SILENCE"] = f"{DEADLINE}s"
        self.hosts = network.hosts
        for host in self.hosts:
            sh(*host.entered(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]))
        self.ranks = [
            subprocess.Popen(
                network.hosts[host].entered([program]),
                env={**shared, "RANK": str(rank)},
                stdin=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank, host in enumerate(layout)
        ]
        for rank in self.ranks:
            if rank.stdout.readline() != "training\n":
                raise AssertionError(rank.communicate()[1])

    def signal(self, rank, number):
        os.kill(children(self.ranks[rank].pid)[0], number)

    def end(self):
        """Tells the ranks that this was the last step; what each says once all are done."""
        self.ranks[0].stdin.close()
        self.ranks[0].stdin = None
        return [self._said(rank, 0, PATIENCE)[0] for rank in range(len(self.ranks))]

    def check_failure(self, rank, pattern, within):
        """Of one rank, which ends within so many seconds from now."""
        words = self._said(rank, 1, within)[1]
        assert_true(re.search(pattern, words), f"rank {rank} says: {words}")

    def _said(self, rank, status, within):
        process = self.ranks[rank]
        try:
            said = process.communicate(timeout=within)
        except subprocess.TimeoutExpired as e:
            raise AssertionError(f"rank {rank} has not ended within {within:.1f} s") from e
        assert_equal(
            process.returncode, status, f"rank {rank}: exit status {process.returncode}: {said[1]}"
        )
        return said

    def check_nothing_is_left(self):
        for host in self.hosts:
            left = sh(*host.entered(["ls", "-A", "/dev/shm"])).split()
            assert_false(left, f"{host.name}: left in /dev/shm")
            left = sh(*host.entered(["ps", "-e", "-o", "comm="])).split()
            assert_equal(sorted(left), ["ps", "sleep"], f"{host.name}: processes: {left}")

    def close(self):
        for rank in self.ranks:
            signal_all(rank.pid, signal.SIGKILL)
            rank.communicate()


class Remaining:
    """Seconds until a moment that is the same for all ranks."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def seconds(self):
        return max(0.1, self._end - time.monotonic())


def a_link_that_comes_back(link):
    def scenario(job, network):
        link(network, "down")
        time.sleep(ABSENCE)
        link(network, "up")
        said = job.end()
        longest = [int(re.search(r"longest step: (\d+) ms", words).group(1)) for words in said]
        assert_greater(min(longest), 1000 * ABSENCE / 2, f"nobody has noticed: {longest}")

    return scenario


def a_link_that_stays_away(link):
    def scenario(job, network):
        link(network, "down")
        remaining = Remaining(DEADLINE + GRACE)
        silence = rf"(sent|took) nothing for {DEADLINE}s"
        for rank in (0, 1):
            job.check_failure(rank, f"rank 2 {silence}", remaining.seconds())
        job.check_failure(2, f"rank [01] {silence}", remaining.seconds())

    return scenario


def a_host_that_is_gone(job, network):
    cable(network, "down")
    remaining = Remaining(DEADLINE + GRACE)
    for rank in (0, 1):
        job.check_failure(
            rank, f"rank 2: its host has not answered for {DEADLINE}s", remaining.seconds()
        )
    job.check_failure(
        2, f"rank [01]: its host has not answered for {DEADLINE}s", remaining.seconds()
    )


def a_rank_that_pauses(victim):
    def scenario(job, _network):
        job.signal(victim, signal.SIGSTOP)
        time.sleep(2 * DEADLINE)
        resume_all(job.ranks[victim].pid)
        job.end()

    return scenario


def a_killed(victim):
    def scenario(job, _network):
        job.signal(victim, signal.SIGKILL)
        remaining = Remaining(AT_ONCE)
        for rank in set(range(len(job.ranks))) - {victim}:
            job.check_failure(rank, rf"rank {victim}: ", remaining.seconds())

    return scenario


def a_stopped(victim):
    def scenario(job, _network):
        job.signal(victim, signal.SIGSTOP)
        remaining = Remaining(DEADLINE + GRACE)
        for rank in set(range(len(job.ranks))) - {victim}:
            job.check_failure(
                rank, rf"rank {victim} (sent|took) nothing for {DEADLINE}s", remaining.seconds()
            )
        resume_all(job.ranks[victim].pid)
        job.check_failure(victim, r"rank \d", GRACE)

    return scenario


THREE_HOSTS = (0, 1, 2)
ONE_HOST = (0, 0, 0)
TWO_BY_TWO = (0, 0, 1, 1)

SCENARIOS = {
    "a cable that is pulled for a while holds up training and no more": (
        THREE_HOSTS,
        PATIENCE,
        a_link_that_comes_back(cable),
    ),
    "an interface that is down for a while holds up training and no more": (
        THREE_HOSTS,
        PATIENCE,
        a_link_that_comes_back(interface),
    ),
    "a cable that stays pulled is told of at the deadline": (
        THREE_HOSTS,
        DEADLINE,
        a_link_that_stays_away(cable),
    ),
    "an interface that stays down is told of at the deadline": (
        THREE_HOSTS,
        DEADLINE,
        a_link_that_stays_away(interface),
    ),
    "a host that is gone is noticed long before the timeout": (
        THREE_HOSTS,
        LONG,
        a_host_that_is_gone,
    ),
    "a rank that is stopped for a while is waited for on another host": (
        THREE_HOSTS,
        LONG,
        a_rank_that_pauses(1),
    ),
    "a rank that is stopped for a while is waited for on the same host": (
        ONE_HOST,
        LONG,
        a_rank_that_pauses(2),
    ),
    "a rank that is killed on another host is named": (THREE_HOSTS, DEADLINE, a_killed(1)),
    "rank 0 that is killed on another host is named": (THREE_HOSTS, DEADLINE, a_killed(0)),
    "a rank that is killed on the same host is named": (ONE_HOST, DEADLINE, a_killed(1)),
    "a rank that is killed where some share memory and some do not is named": (
        TWO_BY_TWO,
        DEADLINE,
        a_killed(3),
    ),
    "a rank that is stopped on another host is named at the deadline": (
        THREE_HOSTS,
        DEADLINE,
        a_stopped(1),
    ),
    "a rank that is stopped on the same host is named at the deadline": (
        ONE_HOST,
        DEADLINE,
        a_stopped(2),
    ),
}


def run(program, layout, deadline, scenario):
    with (
        contextlib.closing(Network(max(layout) + 1)) as network,
        contextlib.closing(Job(program, network, layout, deadline)) as job,
    ):
        time.sleep(0.2)  # In the middle of some step.
        scenario(job, network)
        job.check_nothing_is_left()


if __name__ == "__main__":
    suite.need_root()
    tests = {
        name: functools.partial(run, os.path.abspath(sys.argv[1]), *scenario)
        for name, scenario in SCENARIOS.items()
    }
    suite.main(tests, wanted=sys.argv[2:])
