"""What docs/benchmarks/comm.md says of the figures that comm.py has measured."""

import statistics

from cases.comm_figures import COLLECTIVES, MIB, WIRE, median, only
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


OWN = "fastgpu, private memory"  # What others are compared with, like for like.


def shown(text, name, wins):
    """A figure, bold if it is that of a peer which is better than ours."""
    return f"**{text}**" if wins and not name.startswith("fastgpu") else text


def latencies(found, ranks):
    here = found[f"all_reduce {ranks}"]
    sizes = [8, 64, 512, 4096, 65536]
    ours = median(here[OWN])
    rows = []
    for name, rounds in here.items():
        seconds = median(rounds)
        cells = []
        for size in sizes:
            key = (size, "all_reduce")
            taken = seconds.get(key, float("nan"))
            cells.append(shown(f"{taken * 1e6:.1f}", name, taken < ours[key]))
        rows.append([name, *cells])
    return table([f"{ranks} ranks, us", "8 B", "64 B", "512 B", "4 KiB", "64 KiB"], rows)


def bandwidths(found, ranks):
    here = found[f"all_reduce {ranks}"]
    sizes = [65536, MIB, 16 * MIB, 100 * MIB]
    ours = median(here[OWN], "busbw")
    rows = []
    for name, rounds in here.items():
        bandwidth = median(rounds, "busbw")
        if (100 * MIB, "all_reduce") not in bandwidth:
            continue
        keys = [(size, "all_reduce") for size in sizes]
        cells = [
            shown(f"{bandwidth[key] / 1e9:.2f}", name, bandwidth[key] > ours[key]) for key in keys
        ]
        rows.append([name, *cells])
    return table(
        [f"{ranks} ranks, bus bandwidth GB/s", "64 KiB", "1 MiB", "16 MiB", "100 MiB"], rows
    )


def steps(found):
    rows = [
        [
            key.replace(" ", ", ") + " ranks",
            name,
            shown(ms(only(rounds)), name, only(rounds) < only(found[key]["fastgpu"])),
        ]
        for key in ("resnet50 2", "resnet50 4", "bert-large 2", "bert-large 4")
        for name, rounds in found[key].items()
    ]
    return table(["gradients", "library", "a step"], rows)


# ---- what a user has ----


def length(size):
    for unit, name in ((MIB, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.0f} {name}"
    return f"{size:.0f} B"


def duration(seconds):
    us = seconds * 1e6
    return f"{us:.1f} us" if us < 100 else f"{us:.0f} us" if us < 1e4 else f"{us / 1e3:.1f} ms"


def beside(ours, theirs):
    """Our time and the ratio of the other's to it, bold where the other wins."""
    text = f"{duration(ours)} ({theirs / ours:.2f})"
    return f"**{text}**" if theirs < ours else text


# The memory of the data: what ours and Open MPI's results are called.
MEMORIES = {
    "memory of the program": ("fastgpu", "Open MPI"),
    "memory of each library": ("fastgpu, its memory", "Open MPI, its memory"),
}


def collective_rows(found, ranks, names):
    """The rows of one table, its sizes, and (cases, cases in which Open MPI wins)."""
    ours, theirs = (
        {caches: median(found[f"{caches} {ranks}"][name]) for caches in ("warm", "cold")}
        for name in names
    )
    # Lengths are rounded to whole blocks of each rank.
    columns = sorted({size for size, _ in ours["warm"] if size})
    wanted = [8, 64, 512, 4096, 65536, MIB, 4 * MIB, 16 * MIB, 100 * MIB]
    wanted = [size for size in wanted if any(abs(size - one) <= 16 for one in columns)]
    rows, cases, lost = [], 0, 0
    for collective in COLLECTIVES:
        for caches in ("warm", "cold"):
            cells = []
            for size in wanted if collective != "barrier" else [0]:
                key = next(
                    (
                        key
                        for key in ours[caches]
                        if key[1] == collective and abs(key[0] - size) <= 16
                    ),
                    None,
                )
                if key is None:
                    cells.append("")
                    continue
                cells.append(beside(ours[caches][key], theirs[caches][key]))
                cases, lost = cases + 1, lost + (theirs[caches][key] < ours[caches][key])
            rows.append([collective, caches, *cells, *[""] * (len(wanted) - len(cells))])
    return rows, wanted, (cases, lost)


def collectives(found):
    """All collectives beside Open MPI."""
    parts, cases, lost = [], 0, 0
    for ranks in (2, 4):
        for memory, names in MEMORIES.items():
            rows, sizes, count = collective_rows(found, ranks, names)
            head = [f"{ranks} ranks, {memory}", "caches", *[length(size) for size in sizes]]
            parts.append(table(head, rows))
            cases, lost = cases + count[0], lost + count[1]
    text = (
        "## All collectives beside Open MPI\n\n"
        "Both libraries are in one process and take turns. A cell has the time of libfastgpu_comm, "
        "and in brackets the time of Open MPI divided by it. "
        f"**Bold: Open MPI is faster**, in {lost} of {cases} cases. A size is that of the longer "
        "buffer of a rank; a message goes from rank 0 to rank 1. The memory of a library comes "
        "from `fgc_allocate` and `MPI_Alloc_mem`. Before a call with cold caches, each rank has "
        "read other memory of twice the size of the last cache; with warm ones, the calls before "
        "have used the same data.\n"
    )
    return "\n".join([text, *parts])


def whole_steps(found):
    """The optimizer of the Python package beside DistributedDataParallel."""
    rows, version = [], ""
    for ranks in (2, 4):
        for model, ways in found[f"steps {ranks}"].items():
            seconds = {
                way: statistics.median(one["seconds"] for one in each) for way, each in ways.items()
            }
            version = next(iter(ways.values()))[0]["torch"]
            alone = seconds.pop("alone")
            peers = [taken for way, taken in seconds.items() if "DDP" in way]
            for way, taken in seconds.items():
                ratio = min(peers) / taken
                cells = [ms(taken), ms(max(0.0, taken - alone)), f"{ratio:.2f}"]
                if "DDP" not in way and ratio < 1:
                    cells = [f"**{cell}**" for cell in cells]
                rows.append([f"{model}, {ranks} ranks", way, *cells])
            rows.append([f"{model}, {ranks} ranks", "one rank alone", ms(alone), "", ""])
    return (
        "## Whole steps of PyTorch\n\n"
        f"`fastgpu_comm.torch.DistributedOptimizer` beside DistributedDataParallel over Gloo "
        f"(PyTorch {version}), in one process and in turns: zero_grad, forward, backward, step. "
        "The exchange is the step less the step of a rank alone. The ratio is the time of the "
        "fastest DDP divided by that of the row; **bold: DDP is faster**. `resnet50` has the "
        "parameters of ResNet-50 with an elementwise loss, so that little else than the exchange "
        "is measured; `linear` is six layers of 2048 x 2048 with a batch of 16.\n\n"
        + table(["model", "", "step", "exchange", "best DDP / this"], rows)
    )


def on_the_wire(found):
    """Bytes of a step with all headers."""
    names = {"fastgpu": "fastgpu", "ddp": "PyTorch DDP over Gloo"}
    rows = []
    for one in found["wire"]:
        ranks, wire = one["ranks"], one["wire"] / one["ranks"]
        payload = 2 * (ranks - 1) / ranks * one["bytes"]
        rows.append(
            [
                f"{one['what']}, {ranks} ranks",
                names[one["library"]],
                f"{payload:,.0f}",
                f"{wire:,.0f}",
                f"{wire - payload:,.0f}",
                f"{(wire / payload - 1) * 100:.1f} %",
            ]
        )
    lowest = {}
    for row, one in zip(rows, found["wire"], strict=True):
        lowest.setdefault(row[0], []).append(one["wire"])
    for row, one in zip(rows, found["wire"], strict=True):
        if one["library"] == "fastgpu" and one["wire"] > min(lowest[row[0]]):
            row[1:] = [f"**{cell}**" for cell in row[1:]]
    return (
        "## Bytes on the wire\n\n"
        "What a rank sends in one step over TCP, counted by the kernel in a network of 1500-byte "
        "packets: all messages of the exchange and its negotiation, with the headers of Ethernet "
        "(14 bytes), IP and TCP, and acknowledgements. The payload is what any all-reduce must "
        "send: 2(n-1)/n of the gradients. The fusion buffer aligns each gradient to 64 bytes, and "
        "the gaps are sent too. **Bold: DDP sends less.**\n\n"
        + table(["gradients", "", "payload", "sent", "more", "in percent"], rows)
    )


def network(found):
    rows = [
        [
            where,
            name,
            shown(ms(only(rounds)), name, only(rounds) < only(found[key]["fastgpu"])),
            f"{LIMIT / only(rounds) * 100:.0f} %",
        ]
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


def page(found, folder, rounds):
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
            "same run and in turns, in parts (`./dev bench comm:PART`). Each figure is the "
            f"median of {rounds} rounds or more; bytes are counted. Open MPI yields the core "
            "while it waits (`mpi_yield_when_idle`), "
            'because there are more ranks than cores. Its "best" is the fastest of its all-reduce '
            "algorithms, or 4 links to each peer. "
            "The two hosts are network, PID and UTS namespaces of this machine, with a token "
            "bucket of 1 Gbit/s in each direction "
            "between them: plain TCP transfers 119.7 MB/s over it.\n",
            "The first table lists the targets. Rows with the library's memory set buffers of "
            "libfastgpu_comm beside private memory of Open MPI; "
            "[below](#all-collectives-beside-open-mpi) is each beside its like.\n",
            table(head, rows),
            collectives(found),
            whole_steps(found),
            on_the_wire(found),
            "## All-reduce beside other libraries\n",
            "Each library is a program of its own; they take turns. In the tables below, figures "
            "of other libraries are **bold where they are better** than those of libfastgpu_comm: "
            "for all-reduce with private memory, as theirs is.\n",
            "![bus bandwidth against bytes](comm-all-reduce.svg)\n",
            bandwidths(found, 2),
            bandwidths(found, 4),
            latencies(found, 2),
            latencies(found, 4),
            "## Exchange of gradients by itself\n",
            steps(found),
            "## Two hosts\n",
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
        if isinstance(value, dict) and key != "negotiation" and not key.startswith("steps ")
    }
    return text, {
        "columns": head,
        "rows": rows,
        "seconds": figures,
        "steps": {
            key: {
                model: {
                    way: statistics.median(one["seconds"] for one in each)
                    for way, each in ways.items()
                }
                for model, ways in value.items()
            }
            for key, value in found.items()
            if key.startswith("steps ")
        },
        "wire_bytes": found["wire"],
        "negotiation_bytes": found["negotiation"],
        "uneven_bytes_per_second": found["uneven"],
        "tuned_seconds": found["tuned"],
    }
