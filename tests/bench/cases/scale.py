"""What is predicted of 64 to 4,096 ranks, and how near predictions are to what is measured at 2 to
16 hosts.
"""

import json
import pathlib
import subprocess
import sys

from pages import table, write_page

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import comm_model

COLOURS = {
    "ring": "tab:blue",
    "direct": "tab:orange",
    "halving_doubling": "tab:green",
    "recursive_doubling": "tab:red",
    "tree": "tab:purple",
    "hierarchical": "black",
    "as the library picks": "gold",
    "nccl ring formula": "tab:cyan",
    "nccl tree formula": "tab:pink",
}


def size(count):
    return next(
        f"{count >> bits} {unit}"
        for bits, unit in ((20, "MiB"), (10, "KiB"), (0, "B"))
        if count >> bits
    )


class Report:
    """What comm_scale has printed."""

    def __init__(self, root):
        self.root = root
        self.network = root["network"]
        self.collectives = [r for r in root["results"] if r["collective"] == "all_reduce"]
        self.negotiations = [r for r in root["results"] if r["collective"] == "negotiation"]
        self.tables = list(
            dict.fromkeys((r["ranks_per_node"], r["bytes"]) for r in self.collectives)
        )
        self.ranks = sorted({r["ranks"] for r in self.collectives})

    def of(self, ranks_per_node, count):
        """{algorithm: {ranks: result}}"""
        found = {}
        for result in self.collectives:
            if (result["ranks_per_node"], result["bytes"]) == (ranks_per_node, count):
                found.setdefault(result["algorithm"], {})[result["ranks"]] = result
        return found

    def choice(self, ranks_per_node, count, ranks):
        return next(
            c["plan"]
            for c in self.root["choices"]
            if (c["ranks_per_node"], c["bytes"], c["ranks"]) == (ranks_per_node, count, ranks)
        )

    def negotiation(self):
        """{how: {ranks: result}}"""
        found = {}
        for result in self.negotiations:
            found.setdefault(result["library"], {})[result["ranks"]] = result
        return found


# ---- plots ----


def pyplot():
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "fastgpu"
    from matplotlib import pyplot as plots

    return plots


def save(figure, file):
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def over_ranks(plot, report, subdivisions=(1, 2, 5)):
    """After what is drawn."""
    from matplotlib.ticker import LogLocator

    plot.set_xscale("log", base=2)
    plot.set_yscale("log")
    plot.set_xticks(report.ranks, [str(ranks) for ranks in report.ranks], fontsize=8)
    plot.yaxis.set_major_locator(LogLocator(subs=subdivisions))
    plot.yaxis.set_major_formatter("{x:,.10g}")
    plot.minorticks_off()
    plot.grid(True, which="major", alpha=0.3)


def draw_collectives(report, folder):
    figure, axes = pyplot().subplots(2, 3, figsize=(13, 8))
    for plot, (ranks_per_node, count) in zip(axes.flat, report.tables, strict=False):
        for algorithm, by_ranks in report.of(ranks_per_node, count).items():
            is_formula = algorithm.endswith("formula")
            plot.plot(
                report.ranks,
                [by_ranks[ranks]["seconds"] * 1e3 for ranks in report.ranks],
                label=algorithm.replace("_", " "),
                color=COLOURS[algorithm],
                linestyle="--" if is_formula else "-",
                marker=None if is_formula else "o",
                markersize=3,
            )
        over_ranks(plot, report)
        plot.set_title(
            f"{size(count)}, {ranks_per_node} rank{'s' * (ranks_per_node > 1)} a node", fontsize=10
        )
    for plot in axes[1]:
        plot.set_xlabel("ranks")
    for plot in axes[:, 0]:
        plot.set_ylabel("milliseconds")
    axes[1][0].legend(fontsize=8)
    save(figure, folder / "scale-all-reduce.svg")


def draw_negotiation(report, folder):
    figure, axes = pyplot().subplots(1, 2, figsize=(11, 4.2))
    for how, by_ranks in report.negotiation().items():
        label = {"simulated": "ours", "simulated coordinator": "a coordinator"}.get(
            how, "Horovod, all names cached"
        )
        axes[0].plot(
            report.ranks,
            [by_ranks[ranks]["seconds"] * 1e3 for ranks in report.ranks],
            marker="o",
            markersize=3,
            label=label,
        )
        axes[1].plot(
            report.ranks,
            [by_ranks[ranks]["most_bytes_received"] for ranks in report.ranks],
            marker="o",
            markersize=3,
            label=label,
        )
    for plot, title, subdivisions in zip(
        axes, ("milliseconds", "bytes into the busiest rank"), ((1, 2, 5), (1,)), strict=True
    ):
        over_ranks(plot, report, subdivisions)
        plot.set_title(title, fontsize=10)
        plot.set_xlabel("ranks")
    axes[0].legend(fontsize=8)
    save(figure, folder / "scale-negotiation.svg")


# ---- text ----


def collective_tables(report):
    parts = []
    for ranks_per_node, count in report.tables:
        found = report.of(ranks_per_node, count)
        rows = [
            [
                ranks,
                *[
                    f"{by_ranks[ranks]['seconds'] * 1e3:.3g} ({by_ranks[ranks]['busbw'] / 1e9:.2f})"
                    for by_ranks in found.values()
                ],
                report.choice(ranks_per_node, count, ranks).replace("_", " "),
            ]
            for ranks in report.ranks
        ]
        head = [
            "ranks",
            *[algorithm.replace("_", " ") for algorithm in found],
            "the cost model picks",
        ]
        parts += [
            f"### {size(count)}, {ranks_per_node} rank{'s' * (ranks_per_node > 1)} a node\n",
            table(head, rows),
        ]
    return "\n".join(parts)


def negotiation_table(report):
    ours, coordinated, cached = report.negotiation().values()
    rows = [
        [
            ranks,
            *[
                cell
                for how in (ours, coordinated, cached)
                for cell in (
                    f"{how[ranks]['seconds'] * 1e3:.3g}",
                    how[ranks]["most_bytes_received"],
                )
            ],
        ]
        for ranks in report.ranks
    ]
    return table(
        [
            "ranks",
            "ours: ms",
            "bytes into the busiest rank",
            "coordinator: ms",
            "bytes",
            "all names cached: ms",
            "bytes",
        ],
        rows,
    )


def networks_tables(report):
    """A table for each length: networks by number of ranks."""
    rows_of = {}
    for row in report.root["networks"]:
        rows_of.setdefault(row["bytes"], []).append(row)
    parts = []
    for count, rows in rows_of.items():
        head = ["ranks", *[row["name"] for row in rows]]
        by_ranks = zip(*[row["results"] for row in rows], strict=True)
        cells = [
            [
                results[0]["ranks"],
                *[f"{one['seconds'] * 1e3:.3g} ({one['busbw'] / 1e9:.2f})" for one in results],
            ]
            for results in by_ranks
        ]
        parts += [f"### {size(count)}, 8 ranks a node, other networks\n", table(head, cells)]
    return "\n".join(parts)


def networks_section(report):
    """All of the section on other networks."""
    first = {row["name"]: row for row in report.root["networks"]}
    rdma = first["RDMA, 100 Gbit/s"]
    link = rdma["links"][0]
    return [
        "## RDMA, several cards, and networks together, predicted\n",
        "The same nodes with other networks between them, 8 ranks a node, and the algorithm that "
        f"the library picks. A card for RDMA has {link['latency'] * 1e6:g} us and "
        f"{link['shared'] * 8e-9:g} Gbit/s in each direction, which one flow can fill, and a "
        f"message takes {rdma['per_message'] * 1e6:g} us of processor time. TCP of 1 and 0.3 "
        "Gbit/s has 50 us. Networks that work together take the quanta of each message as they "
        "have room, as the library does with chunks "
        "([how](../how-to/use-several-networks.md)); a message of one quantum goes by the one "
        "that brings it first. The copy that the library makes of what a fabric beside TCP "
        "carries is not simulated.\n",
        "Milliseconds, with the bus bandwidth in GB/s in parentheses.\n",
        networks_tables(report),
    ]


def exchange_tables(report):
    """A table of milliseconds, and of bytes, for each network, and one of gossip's agreement."""
    by_network = {}
    for row in report.root["exchanges"]:
        by_network.setdefault(row["network"], []).append(row)
    parts = []
    for name, rows in by_network.items():
        cells = [
            [results[0]["ranks"], *[f"{one['seconds'] * 1e3:.3g}" for one in results]]
            for results in zip(*[row["results"] for row in rows], strict=True)
        ]
        head = ["ranks", *[row["name"] for row in rows]]
        parts += [f"### {name}: milliseconds a step\n", table(head, cells)]
    rows = next(iter(by_network.values()))
    cells = [
        [results[0]["ranks"], *[f"{one['bytes_out'] / 1e6:.3g}" for one in results]]
        for results in zip(*[row["results"] for row in rows], strict=True)
    ]
    parts += ["### MB that a node sends to others in a step\n"]
    parts += [table(["ranks", *[row["name"] for row in rows]], cells)]
    gossip = [
        row for row in rows if "steps_to_agree" in row["results"][0] and "topk" not in row["name"]
    ]
    cells = [
        [results[0]["ranks"], *[f"{one['steps_to_agree']:,}" for one in results]]
        for results in zip(*[row["results"] for row in gossip], strict=True)
    ]
    parts += [
        "### Steps after which a tenth of the disagreement is left\n",
        "Numbers differ as one wave over all nodes, which lasts longest on a ring, and are mixed "
        "without further training.\n",
    ]
    parts += [table(["ranks", *[row["name"] for row in gossip]], cells)]
    return "\n".join(parts)


def exchange_section(report):
    """All of the section on codecs and gossip."""
    bytes_of_all = report.root["exchanges"][0]["bytes"]
    return [
        "## Codecs and gossip at 64 to 4,096 ranks, predicted\n",
        f"{size(bytes_of_all)} of float32 gradients (parameters, with gossip) in one bucket, 8 "
        "ranks a node. Ranks of a node add their numbers first; each then exchanges an eighth "
        "with the ranks of the same place in other nodes. The phases follow each other, as the "
        "library makes them. A rank encodes 6.5 to 8 GB/s and decodes about as many bytes of codes "
        "a second as [measured](codecs.md#encoding). `float32` is the all-reduce that the library "
        "picks.\n",
        "**Do not use `topk` with many nodes**: every node gets the codes of all others, so that "
        "both its bytes and the time to add them grow with the number of nodes. `int8` and `1bit` "
        "make two rounds, whose bytes do not. **Do not use a ring of gossip for many nodes** "
        "because its steps are short: they stay as short at any number of ranks, but the "
        "steps until ranks agree grow with the square of it.\n",
        exchange_tables(report),
    ]


MEASURED_HEAD = [
    "link",
    "hosts",
    "ranks a host",
    "algorithm",
    "bytes",
    "measured",
    "simulated",
    "simulated / measured",
]


def measured_rows(rows):
    def link(of):
        return f"{of.mbit} Mbit/s" + (f", {of.delay_ms} ms" if of.delay_ms else "")

    return [
        [
            link(row.case.link),
            row.case.hosts,
            row.case.ranks_each,
            row.case.algorithm.replace("_", " ") or "as the library picks",
            size(row.bytes),
            f"{row.measured * 1e3:.2f} ms",
            f"{row.simulated * 1e3:.2f} ms",
            f"{row.ratio:.3f}",
        ]
        for row in rows
    ]


def page(report, rows):
    across, inside = report.network["across"], report.network["inside"]
    worst = max(abs(row.ratio - 1) for row in rows)
    return "\n".join(
        [
            "# Scale\n",
            "`comm_scale` runs the library's own schedules over a model of a network; "
            "`comm/simulator/simulator.hpp` describes how messages "
            "contend in it. `./dev bench scale` compares it with measurements at 2 to 16 hosts, "
            "and predicts 64 to 4,096 ranks, which are "
            "not measured.\n",
            "## Simulated and measured\n",
            "Hosts are network, PID and UTS namespaces of one machine, on one switch. The kernel "
            "shapes their links. For links with a "
            "delay, the switch delays every frame by that time. The links are so slow that two "
            "cores suffice for all hosts, whose ranks run "
            "with priority over everything else. The simulator gets the settings of the links, "
            "and no value is fitted: the delay, and the "
            f"rate, of which a full packet of {comm_model.PACKET} bytes has {comm_model.OF_DATA} "
            "bytes of data, while half a packet of "
            f"{comm_model.HEADERS} bytes goes in the other direction for it. TCP starts with a "
            "large window: its slow start is not "
            "simulated. The simulator counts as `fastgpu-comm-bench` does, with the barrier "
            "before each batch. Each figure is the median of "
            f"{comm_model.REPETITIONS} batches. A figure that differs by more than "
            f"{comm_model.TOLERANCE:.0%} is measured up to "
            f"{comm_model.ROUNDS} times, and the fastest one counts. The same cases are a test "
            "(`comm-model`), which fails above that "
            "difference.\n",
            "The simulator does not model what TCP decides by itself. It assumes that a host "
            "sends two messages to two other hosts "
            "alternately. TCP may also send one after the other, depending on how large its "
            "buffers have grown. This matters most in trees: "
            "256 KiB took 179 to 213 ms at 4 hosts and 309 to 390 ms at 8 hosts; the simulator "
            "gives 213 and 370 ms.\n",
            f"The largest difference is {worst:.1%}.\n",
            table(MEASURED_HEAD, measured_rows(rows)),
            "## All-reduce of float32 at 64 to 4,096 ranks, predicted\n",
            f"The assumed network has {across['latency'] * 1e6:g} us and "
            f"{across['shared'] * 8e-9:g} Gbit/s per node in each direction, "
            f"{across['flow'] * 8e-9:g} Gbit/s per flow, and up to {report.root['most_lanes']} "
            "lanes. Inside a node it has "
            f"{inside['latency'] * 1e6:g} us, {inside['flow'] * 1e-9:g} GB/s per flow and "
            f"{inside['shared'] * 1e-9:g} GB/s in total. A "
            f"message takes {report.network['per_message'] * 1e6:g} us of processor time, and a "
            "rank reduces "
            f"{report.network['reduce'] * 1e-9:g} GB/s. Each algorithm has the leaders, lanes "
            "and pieces (at most "
            f"{report.root['most_pieces']}) that the cost model gives it; the last column has "
            "the algorithm that the cost model picks. The "
            "library itself picks by the length of the data and the number of hosts alone "
            "(`comm/engine/planner.cpp`), with the same limit "
            "on pieces, and with long messages spread over all lanes.\n",
            "The columns of NCCL are closed formulas for the same links, with as many flows as a "
            "link can carry and with reductions at no "
            "cost. They show what the algorithm allows, and not measurements of NCCL.\n",
            "![milliseconds against ranks](scale-all-reduce.svg)\n",
            "Milliseconds, with the bus bandwidth in GB/s in parentheses.\n",
            collective_tables(report),
            *networks_section(report),
            *exchange_section(report),
            "## Negotiation of 161 gradients, 8 ranks a node, predicted\n",
            '"Ours" is the library\'s own negotiation, which was run for so many ranks and '
            "recorded. It takes 9 bytes per round (step, plan, verdicts) in a step in which "
            "everything is ready, in rounds of doubling distance. "
            'In the column "coordinator", rank 0 '
            "receives 14,883 bytes from every rank and broadcasts 5,340 bytes along a tree. "
            "These lengths were counted in Horovod without "
            "its cache at 2 to 8 ranks; everything else is modelled. Horovod with all names "
            "cached has no coordinator: it combines two "
            "vectors of 24 bytes, which is modelled by recursive doubling, too. It does so in "
            "every cycle of 1 ms, ready or not; the table "
            "has one cycle.\n",
            "![negotiation against ranks](scale-negotiation.svg)\n",
            negotiation_table(report),
        ]
    )


def write(build, folder, described, today, machine):
    """docs/benchmarks/scale.md, scale.json and its plots."""
    measures, simulates = (
        str(build / "comm" / name) for name in ("fastgpu-comm-bench", "comm_scale")
    )
    rows = comm_model.rows_of(comm_model.Programs(measures, simulates))
    report = Report(
        json.loads(
            subprocess.run([simulates, "report"], check=True, capture_output=True, text=True).stdout
        )
    )
    draw_collectives(report, folder)
    draw_negotiation(report, folder)
    text = f"{page(report, rows)}\nMeasured on {today}: {described}.\n"
    data = {"columns": MEASURED_HEAD, "rows": measured_rows(rows), "predicted": report.root}
    write_page(folder, text, "scale", today, machine, data)
    return text
