"""The fabric transport between hosts, by providers in software: fabric_test.py FABRIC_RANKS PLUGIN
[TEST ...]

Hosts are network and process namespaces on one switch. What ranks exchange is compared bit by bit
with what they exchange by TCP.
"""

import contextlib
import functools
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import suite
from hosts import Switched
from suite import assert_equal, assert_in, assert_less, assert_true

RANKS, PLUGIN = (os.path.abspath(path) for path in sys.argv[1:3])
PROVIDERS = ("net", "tcp;ofi_rxm")
PUTS = ("none", "a", "b", "c")
LIMIT = 120  # Seconds for the ranks of one host.


class Network(Switched):
    """Two hosts whose cables can be pulled out of the switch."""

    def __init__(self):
        super().__init__(2)
        for host in self.hosts:
            host.ip("address flush dev eth0", f"address add {host.address}/24 dev eth0")
        self._switch.ip(*(f"link set port{number} master bridge0" for number in range(2)))
        self._port = 20000

    def set_cable(self, state):
        """Of the second host."""
        self._switch.ip(f"link set port1 {state}")

    def start(self, mode, ranks, with_processes=True, **variables):
        """Starts ranks of one job on both hosts, of which the first has the larger half."""
        self._port += 10
        environment = {
            **os.environ,
            "FASTGPU_COMM_FABRIC_PLUGIN": PLUGIN,
            **{f"FASTGPU_COMM_{name}": value for name, value in variables.items()},
        }
        here = ranks - ranks // 2
        return [
            subprocess.Popen(
                host.entered(
                    ["timeout", str(LIMIT), RANKS, mode, str(ranks), str(first), str(count)]
                    + [self.hosts[0].address, str(self._port)],
                    with_processes,
                ),
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for host, first, count in zip(self.hosts, (0, here), (here, ranks - here), strict=True)
        ]


def ends_of(started):
    """Returns the exit statuses of a job's halves, and all that they print."""
    said = "".join(half.communicate(timeout=LIMIT + 10)[0] for half in started)
    return [half.returncode for half in started], said


def check_right(network, mode, ranks, **more):
    statuses, said = ends_of(network.start(mode, ranks, **more))
    assert_equal(statuses, [0, 0], f"{mode} {more}: {said}")
    return said


def test_every_collective_has_the_bits_of_tcp(network, provider, put):
    said = check_right(network, "compare", 3, FABRIC=provider, FABRIC_PUT=put)
    assert_in(f"{provider} on eth0, put by {put}", said)


def test_a_killed_rank_is_named(network, provider):
    check_right(network, "kill", 3, FABRIC=provider)  # It prints who was named, and checks it.


def test_a_cable_that_is_pulled_for_a_moment_costs_nothing(network, provider):
    started = network.start("last", 2, FABRIC=provider)
    time.sleep(3)
    network.set_cable("down")
    time.sleep(2)
    network.set_cable("up")
    statuses, said = ends_of(started)
    assert_equal(statuses, [0, 0], said)


def test_a_cable_that_is_pulled_for_good_ends_all_calls_with_the_ranks_name(network, provider):
    started = network.start("last", 2, FABRIC=provider, TIMEOUT="6s")
    time.sleep(3)
    network.set_cable("down")
    began = time.monotonic()
    statuses, said = ends_of(started)
    assert_less(time.monotonic() - began, 45)
    assert_equal(statuses, [1, 1], said)
    for rank, other in ((0, 1), (1, 0)):
        lines = [line for line in said.splitlines() if line.startswith(f"rank {rank}: ")]
        assert_true(any(f"rank {other}" in line for line in lines), said)


def test_shm_needs_the_processes_of_the_other_host(network):
    # A host is reached by shm if it has the same process ids, whatever its network is.
    said = check_right(network, "compare", 2, with_processes=False, FABRIC="shm", FABRIC_PUT="a")
    assert_in("shm on shm", said)
    statuses, said = ends_of(network.start("compare", 2, FABRIC="shm"))
    assert_equal(statuses, [1, 1], said)
    assert_in("shm reaches only ranks in the same PID namespace", said)


def run(test, *arguments):
    with contextlib.closing(Network()) as network:
        test(network, *arguments)


def tests():
    named = {}
    for name, test in globals().items():
        if not name.startswith("test_"):
            continue
        parameters = test.__code__.co_argcount - 1
        cases = [()]
        if parameters:
            cases = [(provider,) for provider in PROVIDERS]
        if parameters == 2:
            cases = [(*case, put) for case in cases for put in PUTS]
        for case in cases:
            named["_".join((name, *case)).replace(";", "_")] = functools.partial(run, test, *case)
    return named


if __name__ == "__main__":
    suite.need_root()
    suite.main(tests(), wanted=sys.argv[3:])
