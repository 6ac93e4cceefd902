"""Two hosts with paths of unequal speed that lose packets: ours beside Open MPI and Gloo."""

import pathlib

import shaped
from cases.comm_figures import MIB, ms, only
from hosts import PATIENCE
from pages import table

SIZE = 16 * MIB
# Two links of each kind of the bar for two networks (1 Gbit/s and 0.3 Gbit/s), at a tenth of their
# rates: a program forwards each packet, beside the ranks, on a machine that may have two cores.
RATES = (100, 100, 30, 30)  # Mbit/s.
PATHS = tuple((rate, 1, 0.01) for rate in RATES)  # Mbit/s, ms, share lost.
ALL = ",".join(f"eth{number}" for number in range(len(PATHS)))
WIRE = sum(RATES) * 1e6 / 8  # Bytes a second, with all headers.
# How TCP answers loss; cubic is what Linux does by itself. Those that the kernel allows in the
# networks of these hosts are measured.
CONTROLS = ("cubic", "reno", "bbr")
PEERS = ("Open MPI", "Gloo")


def available():
    allowed = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text()
    return [control for control in CONTROLS if control in allowed.split()]


def use(link, control):
    for host in link.hosts:
        name = f"net.ipv4.tcp_congestion_control={control}"
        shaped.sh(*host.entered(["sysctl", "-qw", name]))


def commands(programs, link, mca):
    sizes = ["--sizes", str(SIZE), "--repetitions", "3"]
    ours, mpi = [programs.ours, *sizes], [programs.mpi, *sizes]

    def by(interfaces, **variables):
        environment = {"FASTGPU_COMM_INTERFACE": interfaces, **variables}
        return lambda: link.run(ours, 1, environment)

    def gloo():
        return link.run([programs.gloo, *sizes, "--interface", "eth0", *programs.store()], 1)

    return {
        "fastgpu": by(ALL),
        "fastgpu, 4 connections a path": by(ALL, FASTGPU_COMM_FLOWS="16"),
        "fastgpu, fastest path": by("eth0"),
        "fastgpu, one connection": by("eth0", FASTGPU_COMM_FLOWS="1"),
        "Open MPI, all paths": lambda: link.run_mpi(mpi, 1, mca, interfaces=ALL),
        "Open MPI, fastest path": lambda: link.run_mpi(mpi, 1, mca),
        "Gloo, fastest path": gloo,
    }


def noting_failures(named, failures):
    """The commands, of which each notes how it failed."""

    def noting(name, command):
        def run():
            try:
                return command()
            except SystemExit as e:
                is_late = "no end within" in str(e)
                failures[name] = f"no end in {PATIENCE} s" if is_late else "failed"
                raise

        return run

    return {name: noting(name, command) for name, command in named.items()}


def measured(programs, in_turns, mca, control):
    """{"loss CONTROL": {name: rounds}, "loss failures CONTROL": {name: reason}}; nothing for a
    congestion control that the kernel does not allow.
    """
    if control not in available():
        return {}
    failures = {}
    with shaped.lossy_paths(programs.paths, PATHS) as link:
        use(link, control)
        rounds = in_turns(noting_failures(commands(programs, link, mca), failures))
    return {f"loss {control}": rounds, f"loss failures {control}": failures}


def by_control(found):
    """{control: {name: seconds, or why it has none}}."""
    return {
        control: {
            **{name: only(rounds) for name, rounds in found[f"loss {control}"].items()},
            **found[f"loss failures {control}"],
        }
        for control in CONTROLS
        if f"loss {control}" in found
    }


def add_bars(bars, found):
    for control, here in by_control(found).items():
        ours = here["fastgpu"]
        for peer in PEERS:
            ended = {
                name: row
                for name, row in here.items()
                if name.startswith(peer) and not isinstance(row, str)
            }
            if not ended:
                continue
            name, theirs = min(ended.items(), key=lambda row: row[1])
            bars.at_least(
                f"16 MiB over four paths that lose 1 %, TCP {control}",
                ms(ours),
                f"{ms(theirs)} ({name})",
                theirs / ours,
                2,
            )


def row_of(control, name, row):
    if isinstance(row, str):
        return [control, name, row, ""]
    return [control, name, ms(row), f"{SIZE / row / WIRE * 100:.0f} %"]


def section(found):
    head = "## Paths of unequal speed that lose packets\n\n"
    if not by_control(found):
        parts = ", ".join(f"`./dev bench comm:loss-{control}`" for control in CONTROLS)
        return f"{head}Not measured here: {parts}.\n"
    rows = [
        row_of(control, name, row)
        for control, here in by_control(found).items()
        for name, row in here.items()
    ]
    rates = ", ".join(str(rate) for rate in RATES)
    return (
        f"{head}"
        f"Two hosts have four paths of {rates} Mbit/s each way: two of each kind that the hosts "
        "with two networks above have, at a tenth of their rates, because a program of this "
        "machine forwards every IP packet. It does so 1 ms later, and drops one in a hundred; so "
        "the TCP of both hosts sees the loss and sends again. fastgpu has connections by all "
        "paths, and chunks go by the one that is free; Open MPI has all paths, or the fastest one; "
        "Gloo has one path. `cubic`, `reno` and `bbr` are the congestion controls of the hosts, as "
        "far as the kernel allows them: the last one hardly slows down by loss. Rows without a "
        "time are peers that did not end; no target counts them.\n\n"
        + table(["TCP", "library", "16 MiB", "of all four paths"], rows)
        + "\n"
        "UCCL reports 3.7x of NCCL's TCP between two g4dn.8xlarge by the same idea: many paths at "
        "once. What TCP alone gives of it is in this table: the rates of all paths together "
        "instead of that of one, and a loss that slows one connection of several. What it cannot "
        "give: a connection stays on the path that the network has chosen for it, it delivers in "
        "order and so waits for what was lost, and it halves its rate by its own rules. Packets "
        "that are sprayed over hundreds of paths, with acknowledgements and retransmission for "
        "each, need UDP or raw packets, and a congestion control in the library; fastgpu has "
        "none.\n"
    )
