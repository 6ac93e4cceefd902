"""Two hosts with paths of unequal speed that lose packets: ours beside Open MPI and Gloo."""

import shaped
from cases.comm_figures import MIB, ms, only
from pages import table

SIZE = 16 * MIB
PATHS = ((100, 1, 0.01), (80, 1, 0.01), (60, 1, 0.01), (40, 1, 0.01))  # Mbit/s, ms, share lost.
ALL = ",".join(f"eth{number}" for number in range(len(PATHS)))
WIRE = sum(mbit for mbit, _, _ in PATHS) * 1e6 / 8  # Bytes a second, with all headers.
CONTROLS = ("bbr", "reno")  # How TCP of these hosts answers loss.


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
        "Open MPI": lambda: link.run_mpi(mpi, 1, mca, interfaces=ALL),
        "Open MPI, fastest path": lambda: link.run_mpi(mpi, 1, mca),
        "Gloo": gloo,
    }


def measured(programs, in_turns, mca):
    """{"loss CONTROL": {name: rounds}}."""
    found = {}
    with shaped.lossy_paths(programs.paths, PATHS) as link:
        for control in CONTROLS:
            use(link, control)
            found[f"loss {control}"] = in_turns(commands(programs, link, mca))
    return found


def by_control(found):
    return {control: found[f"loss {control}"] for control in CONTROLS}


def add_bars(bars, found):
    for control, here in by_control(found).items():
        ours = only(here["fastgpu"])
        for peer in ("Open MPI", "Gloo"):
            rows = {name: only(rounds) for name, rounds in here.items() if name.startswith(peer)}
            if not rows:
                continue
            name, theirs = min(rows.items(), key=lambda row: row[1])
            bars.at_least(
                f"16 MiB over four paths that lose 1 %, TCP {control}",
                ms(ours),
                f"{ms(theirs)} ({name})",
                theirs / ours,
                2,
            )


def section(found):
    rows = [
        [control, name, ms(only(rounds)), f"{SIZE / only(rounds) / WIRE * 100:.0f} %"]
        for control, here in by_control(found).items()
        for name, rounds in here.items()
    ]
    rates = ", ".join(str(mbit) for mbit, _, _ in PATHS)
    return (
        "## Paths of unequal speed that lose packets\n\n"
        f"Two hosts have four paths of {rates} Mbit/s each way. A program forwards their IP "
        "packets, 1 ms later, and drops one in a hundred; so the TCP of both hosts sees the loss "
        "and sends again. fastgpu has connections by all paths, and chunks go by the one that is "
        "free; Open MPI has all paths, or the fastest one; Gloo has one path. `bbr` and `reno` "
        "are the congestion controls of the hosts: the first one hardly slows down by loss.\n\n"
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
