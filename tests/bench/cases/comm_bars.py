"""The targets of the benchmark `comm`, and whether its figures reach them."""

from cases import comm_fabric, comm_loss
from cases.comm_figures import LIMIT, MIB, WIRE, median, ms, only

PEERS = ("Open MPI", "Open MPI, best", "Open MPI, spinning", "Gloo")


def at(rounds, size):
    return median(rounds)[(size, "all_reduce")]


def quickest(found, names, of):
    """Of the peers that ran: (seconds, name)."""
    return min((of(found[name]), name) for name in names if name in found)


class Bars:
    """Rows of what was to be reached."""

    def __init__(self):
        self.rows = []

    def at_least(self, what, ours, theirs, ratio, target):
        self.rows.append(
            [
                what,
                ours,
                theirs,
                f"{ratio:.2f}",
                f">= {target}",
                "yes" if ratio >= target else "**no**",
            ]
        )

    def at_most(self, what, ours, theirs, ratio, target):
        self.rows.append(
            [
                what,
                ours,
                theirs,
                f"{ratio:.2f}",
                f"<= {target}",
                "yes" if ratio <= target else "**no**",
            ]
        )


def add_shared_memory(bars, found):
    for ranks in (2, 4):
        here = found[f"all_reduce {ranks}"]
        theirs, name = quickest(
            here,
            PEERS,
            lambda rounds: (
                at(rounds, 100 * MIB) if (100 * MIB, "all_reduce") in median(rounds) else 1e9
            ),
        )
        ours, private = (
            at(here["fastgpu"], 100 * MIB),
            at(here["fastgpu, private memory"], 100 * MIB),
        )
        bars.at_least(
            f"100 MiB, {ranks} ranks, library's memory",
            ms(ours),
            f"{ms(theirs)} ({name})",
            theirs / ours,
            3,
        )
        bars.at_least(
            f"100 MiB, {ranks} ranks, private memory",
            ms(private),
            f"{ms(theirs)} ({name})",
            theirs / private,
            1.2,
        )
        ours, theirs = at(here["fastgpu, private memory"], 64 << 10), at(here["Open MPI"], 64 << 10)
        bars.at_least(
            f"64 KiB, {ranks} ranks, private memory",
            ms(ours),
            f"{ms(theirs)} (Open MPI)",
            theirs / ours,
            1,
        )


def add_gradients(bars, found):
    targets = {
        "resnet50 2": (0.7, 0.4),
        "resnet50 4": (0.5, 0.5),
        "bert-large 2": (0.7, 0.4),
        "bert-large 4": (0.5, 0.5),
    }
    for key, (copies, views) in targets.items():
        here = found[key]
        peers = [name for name in ("Horovod", "PyTorch DDP") if name in here]
        if not peers:
            continue
        theirs, name = quickest(here, peers[:1], only)
        model, ranks = key.split()
        bars.at_most(
            f"gradients of {model}, {ranks} ranks, copied",
            ms(only(here["fastgpu"])),
            f"{ms(theirs)} ({name})",
            only(here["fastgpu"]) / theirs,
            copies,
        )
        bars.at_most(
            "... written into the fusion buffer",
            ms(only(here["fastgpu, views"])),
            f"{ms(theirs)} ({name})",
            only(here["fastgpu, views"]) / theirs,
            views,
        )
    one = only(found["one"]["fastgpu"])
    horovod = (
        ms(only(found["one"]["Horovod"])) + " (Horovod)"
        if "Horovod" in found["one"]
        else "0.30 ms (bar)"
    )
    bars.at_most("one gradient of 1 MiB alone, 2 ranks", ms(one), horovod, one / 0.3e-3, 1)


def add_network(bars, found):
    limit = f"{ms(LIMIT)} (wire)"
    ours = only(found["hosts"]["fastgpu"])
    bars.at_least("64 MiB over 1 Gbit/s, 2 hosts, of the wire", ms(ours), limit, LIMIT / ours, 0.97)
    ours = only(found["2x2"]["fastgpu"])
    bars.at_least(
        "64 MiB over 1 Gbit/s, 2 hosts of 2 ranks, of the wire", ms(ours), limit, LIMIT / ours, 0.95
    )
    if "Gloo" in found["2x2"]:
        theirs = only(found["2x2"]["Gloo"])
        bars.at_least("... beside Gloo", ms(ours), f"{ms(theirs)} (Gloo)", theirs / ours, 1.4)
    half = only(found["2x2"]["fastgpu, fp16"])
    bars.at_most("... with fp16 on the wire", ms(half), "310 ms (bar)", half / 0.31, 1)
    flows = {name: only(rounds) for name, rounds in found["capped"].items()}
    best = min(flows.values())
    bars.at_least(
        "connections of 300 Mbit/s: the tuner's choice beside one",
        ms(found["tuned"]),
        f"{ms(flows['1 flows'])} (one)",
        flows["1 flows"] / found["tuned"],
        3.1,
    )
    bars.at_most(
        "... beside the best of 1, 4, 8",
        ms(found["tuned"]),
        f"{ms(best)} (best)",
        found["tuned"] / best,
        1.05,
    )
    before, after = found["uneven"]
    whole = 700e6 / 8 * WIRE / 125e6
    bars.at_least(
        "one of 4 connections of 200 Mbit/s halved, of all rates",
        f"{after / 1e6:.1f} MB/s",
        f"{whole / 1e6:.1f} MB/s (sum)",
        after / whole,
        0.9,
    )
    add_networks(bars, found["networks"])


def add_networks(bars, found):
    """Bars of one message over two networks of unequal speed."""
    by_size = {
        length: {
            name: seconds
            for name, rounds in found.items()
            for (size, _), seconds in median(rounds).items()
            if size == length
        }
        for length in (MIB, 4 * MIB, 64 * MIB)
    }
    seconds = by_size[64 * MIB]
    ours = seconds["fastgpu, both"]
    limit = 64 * MIB / (1.3 * WIRE)
    bars.at_least(
        "64 MiB over 1 Gbit/s and 300 Mbit/s together, of both wires",
        ms(ours),
        f"{ms(limit)} (wires)",
        limit / ours,
        0.95,
    )
    for name, other in (
        ("the first network alone", "fastgpu, first"),
        ("equal halves", "fastgpu, equal halves"),
        ("Open MPI over both", "Open MPI, both"),
    ):
        if other in seconds:
            theirs = seconds[other]
            bars.at_least(f"... beside {name}", ms(ours), ms(theirs), theirs / ours, 1)
    for length in (4 * MIB, MIB):
        both, first = (by_size[length][f"fastgpu, {networks}"] for networks in ("both", "first"))
        bars.at_least(
            f"{length // MIB} MiB over both, beside the first network alone",
            ms(both),
            ms(first),
            first / both,
            1,
        )


def bars_of(found):
    bars = Bars()
    add_shared_memory(bars, found)
    add_gradients(bars, found)
    add_network(bars, found)
    comm_loss.add_bars(bars, found)
    comm_fabric.add_bars(bars, found["fabric"])
    off, warn = only(found["nan"]["off"]), only(found["nan"]["warn"])
    bars.at_most(
        "NaN check of a step with fp16", ms(warn), f"{ms(off)} (without)", warn / off, 1.03
    )
    for ranks, count in found["negotiation"].items():
        bars.at_most(
            f"negotiation, 161 gradients, {ranks} ranks",
            f"{count:.0f} bytes",
            "64 bytes",
            count / 64,
            1,
        )
    return bars.rows
