"""What all-reduces take on hosts whose links are shaped, beside what the simulator says they take.

The simulator is told what the links were set to, and nothing that was measured. A measurement is
the median of REPETITIONS batches of calls, each as long as its slowest rank. One that is further
off than TOLERANCE is made again in new processes, up to ROUNDS times in all, and the quickest
counts: what else goes on in a machine, and in others on the same hardware, makes no call quicker.
"""

import contextlib
import dataclasses
import json
import os

import hosts

TOLERANCE = 0.15
ROUNDS = 20
REPETITIONS = 5

# As the link's bucket counts them: Ethernet has 14 bytes, IP 20, and TCP 32 with its time stamps.
# TCP acknowledges every other packet, by one without data, which takes its place among those that
# go the other way.
HEADERS = 14 + 20 + 32
PACKET = 1514
OF_DATA = PACKET - HEADERS


@dataclasses.dataclass(frozen=True)
class Link:
    mbit: int
    delay_ms: float = 0
    # One after another, where ranks that leave the barrier at different times would count; 0: as
    # the program has it.
    calls: int = 0

    @property
    def bytes_per_second(self):
        """Of data, while as much goes the other way."""
        return self.mbit * 1e6 / 8 * OF_DATA / (PACKET + HEADERS / 2)


@dataclasses.dataclass(frozen=True)
class Case:
    link: Link
    hosts: int
    ranks_each: int
    algorithm: str  # Empty: what the library takes.
    sizes: tuple


@dataclasses.dataclass(frozen=True)
class Row:
    """One size of a case, in seconds."""

    case: Case
    bytes: int
    measured: float
    simulated: float

    @property
    def ratio(self):
        return self.simulated / self.measured

    @property
    def is_near(self):
        return abs(self.ratio - 1) <= TOLERANCE


BULK = Link(mbit=50)
SLOW = Link(mbit=20)  # For many hosts on few cores.
FAR = Link(mbit=200, delay_ms=8, calls=8)
FAR_MANY = Link(mbit=200, delay_ms=8, calls=16)  # For those that the barrier leaves furthest apart.
KIB = 1 << 10
LONG = (256 * KIB, 1024 * KIB)

CASES = (
    *(Case(BULK, count, 1, "", LONG) for count in (2, 3, 4)),
    *(
        Case(BULK, 3, 1, algorithm, (256 * KIB,))
        for algorithm in ("direct", "recursive_doubling", "halving_doubling", "tree")
    ),
    *(
        Case(BULK, 4, 1, algorithm, (256 * KIB,))
        for algorithm in ("direct", "recursive_doubling", "halving_doubling")
    ),
    *(Case(BULK, count, 2, "", LONG) for count in (2, 4)),
    *(
        Case(BULK, 8, 1, algorithm, (256 * KIB,))
        for algorithm in ("", "direct", "recursive_doubling", "halving_doubling")
    ),
    Case(SLOW, 16, 1, "", (256 * KIB,)),
    *(Case(FAR, count, 1, "", (8, 4 * KIB)) for count in (2, 4, 8, 16)),
    *(Case(FAR, 3, 1, algorithm, (8,)) for algorithm in ("", "halving_doubling")),
    *(Case(FAR, 8, 1, algorithm, (8,)) for algorithm in ("ring", "halving_doubling", "tree")),
    *(Case(FAR_MANY, *case, (8,)) for case in ((8, 1, "direct"), (2, 2, ""), (4, 2, ""))),
)


@contextlib.contextmanager
def ahead_of_all_else():
    """What is started within does not wait for whatever else this machine does. Throws
    PermissionError where that is not for us to ask.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def calls_of(case):
    return ["--calls", str(case.link.calls)] if case.link.calls else []


class Programs:
    """What measures, and what simulates."""

    def __init__(self, measures, simulates):
        self._measures, self._simulates = measures, simulates

    def measured(self, network, case, sizes):
        """Seconds by size."""
        argv = [
            self._measures,
            "--sizes",
            ",".join(map(str, sizes)),
            "--repetitions",
            str(REPETITIONS),
            *calls_of(case),
        ]
        chosen = {"FASTGPU_COMM_ALGORITHM": case.algorithm} if case.algorithm else {}
        lines = hosts.results(
            hosts.start(network.hosts[: case.hosts], argv, case.ranks_each, chosen)
        )
        return {line["bytes"]: line["seconds"] for line in lines}

    def simulated(self, case):
        argv = [
            self._simulates,
            "case",
            "--hosts",
            case.hosts,
            "--ranks-each",
            case.ranks_each,
            "--sizes",
            ",".join(map(str, case.sizes)),
            "--rate",
            case.link.bytes_per_second,
            "--latency",
            case.link.delay_ms / 1e3,
            *calls_of(case),
        ]
        lines = hosts.sh(
            *argv, *(["--algorithm", case.algorithm] if case.algorithm else [])
        ).splitlines()
        return {line["bytes"]: line["seconds"] for line in map(json.loads, lines)}

    def compared(self, network, case):
        """Rows of a case, for whose link `network` is shaped."""
        simulated, first = self.simulated(case), self.measured(network, case, case.sizes)
        rows = [Row(case, size, first[size], simulated[size]) for size in case.sizes]
        for _ in range(ROUNDS - 1):
            again = [row.bytes for row in rows if not row.is_near]
            if not again:
                break
            once_more = self.measured(network, case, again)
            rows = [
                Row(
                    case,
                    row.bytes,
                    min(row.measured, once_more.get(row.bytes, row.measured)),
                    row.simulated,
                )
                for row in rows
            ]
        return rows


def rows_of(programs, cases=CASES, say=lambda row: None):
    """Of all cases, those of one link together."""
    rows = []
    with ahead_of_all_else(), hosts.switched(max(case.hosts for case in cases)) as network:
        for link in dict.fromkeys(case.link for case in cases):
            network.shape(link.mbit, link.delay_ms)
            for case in cases:
                for row in programs.compared(network, case) if case.link == link else []:
                    say(row)
                    rows.append(row)
    return rows
