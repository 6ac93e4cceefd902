"""What docs/benchmarks/comm.md says of the figures that comm.py has measured."""

from cases.comm_figures import MIB, WIRE, median, only
from pages import table

PEERS = ("Open MPI", "Open MPI, best", "Open MPI, spinning", "Gloo")
LIMIT = 64 * MIB / WIRE  # Seconds for 64 MiB sent once over the link.


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


def ms(seconds):
    return f"{seconds * 1e3:.2f} ms"


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


def bars_of(found):
    bars = Bars()
    add_shared_memory(bars, found)
    add_gradients(bars, found)
    add_network(bars, found)
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


def latencies(found, ranks):
    here = found[f"all_reduce {ranks}"]
    sizes = [8, 64, 512, 4096, 65536]
    rows = [
        [
            name,
            *[
                f"{median(rounds).get((size, 'all_reduce'), float('nan')) * 1e6:.1f}"
                for size in sizes
            ],
        ]
        for name, rounds in here.items()
    ]
    return table([f"{ranks} ranks, us", "8 B", "64 B", "512 B", "4 KiB", "64 KiB"], rows)


def bandwidths(found, ranks):
    here = found[f"all_reduce {ranks}"]
    sizes = [65536, MIB, 16 * MIB, 100 * MIB]
    rows = []
    for name, rounds in here.items():
        bandwidth = median(rounds, "busbw")
        if (100 * MIB, "all_reduce") in bandwidth:
            rows.append([name, *[f"{bandwidth[(size, 'all_reduce')] / 1e9:.2f}" for size in sizes]])
    return table(
        [f"{ranks} ranks, bus bandwidth GB/s", "64 KiB", "1 MiB", "16 MiB", "100 MiB"], rows
    )


def steps(found):
    rows = [
        [key.replace(" ", ", ") + " ranks", name, ms(only(rounds))]
        for key in ("resnet50 2", "resnet50 4", "bert-large 2", "bert-large 4")
        for name, rounds in found[key].items()
    ]
    return table(["gradients", "library", "a step"], rows)


def network(found):
    rows = [
        [where, name, ms(only(rounds)), f"{LIMIT / only(rounds) * 100:.0f} %"]
        for where, key in (("1 rank a host", "hosts"), ("2 ranks a host", "2x2"))
        for name, rounds in found[key].items()
    ]
    return (
        table(["64 MiB over 1 Gbit/s", "library", "seconds", "of the wire, float32 once"], rows)
        + "\n"
        + table(
            ["connections of 300 Mbit/s under 1 Gbit/s", "64 MiB"],
            [[name, ms(only(rounds))] for name, rounds in found["capped"].items()]
            + [["what the tuner settles on, of up to 8", ms(found["tuned"])]],
        )
    )


def draw(found, folder):
    """comm-all-reduce.svg: bus bandwidth against bytes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "fastgpu"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    for plot, ranks in zip(axes, (2, 4), strict=True):
        for name, rounds in found[f"all_reduce {ranks}"].items():
            points = sorted((key[0], value / 1e9) for key, value in median(rounds, "busbw").items())
            plot.loglog(
                [x for x, _ in points], [y for _, y in points], marker="o", markersize=3, label=name
            )
        plot.set_title(f"all-reduce of float32, {ranks} ranks on one host")
        plot.set_xlabel("bytes")
        plot.grid(True, which="major", alpha=0.3)
    axes[0].set_ylabel("bus bandwidth, GB/s")
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / "comm-all-reduce.svg", metadata={"Date": None})


def page(found, folder):
    """The page, and what of it programs may read."""
    draw(found, folder)
    rows = bars_of(found)
    head = ["what", "fastgpu", "other", "ratio", "target", "met"]
    training = (
        "Horovod and PyTorch"
        if "Horovod" in found["one"]
        else "and PyTorch (Horovod was not there)"
    )
    text = "\n".join(
        [
            "# Gradient exchange\n",
            f"`./dev bench comm` measures libfastgpu_comm, Open MPI, Gloo, {training} in the "
            "same run and in turns. Each figure is the "
            "median of 5 rounds; the bytes of negotiation are counted. Open MPI yields the core "
            "while it waits (`mpi_yield_when_idle`), "
            'because there are more ranks than cores. Its "best" is the fastest of its all-reduce '
            "algorithms, or 4 links to each peer. "
            "The two hosts are network, PID and UTS namespaces of this machine, with a token "
            "bucket of 1 Gbit/s in each direction "
            "between them: plain TCP transfers 119.7 MB/s over it.\n",
            table(head, rows),
            "![bus bandwidth against bytes](comm-all-reduce.svg)\n",
            bandwidths(found, 2),
            bandwidths(found, 4),
            latencies(found, 2),
            latencies(found, 4),
            steps(found),
            network(found),
            "Not measured: InfiniBand, more than one real host, and anything on a GPU.\n",
        ]
    )
    figures = {
        key: {
            name: {
                f"{collective} {size}": seconds
                for (size, collective), seconds in median(rounds).items()
            }
            for name, rounds in value.items()
        }
        for key, value in found.items()
        if isinstance(value, dict) and key != "negotiation"
    }
    return text, {
        "columns": head,
        "rows": rows,
        "seconds": figures,
        "negotiation_bytes": found["negotiation"],
        "uneven_bytes_per_second": found["uneven"],
        "tuned_seconds": found["tuned"],
    }
