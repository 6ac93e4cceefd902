"""What is predicted of 64 to 4,096 ranks, and how near predictions are to what is measured at 2 to 16 hosts."""
import json
import pathlib
import subprocess
import sys

from pages import table

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import comm_model

COLOURS = {"ring": "tab:blue", "direct": "tab:orange", "halving_doubling": "tab:green", "recursive_doubling": "tab:red", "tree": "tab:purple",
           "hierarchical": "black", "as the library picks": "gold", "nccl ring formula": "tab:cyan", "nccl tree formula": "tab:pink"}


def size(count):
    return next(f"{count >> bits} {unit}" for bits, unit in ((20, "MiB"), (10, "KiB"), (0, "B")) if count >> bits)


class Report:
    """What comm_scale has printed."""

    def __init__(self, root):
        self.root = root
        self.network = root["network"]
        self.collectives = [r for r in root["results"] if r["collective"] == "all_reduce"]
        self.negotiations = [r for r in root["results"] if r["collective"] == "negotiation"]
        self.tables = list(dict.fromkeys((r["ranks_per_node"], r["bytes"]) for r in self.collectives))
        self.ranks = sorted({r["ranks"] for r in self.collectives})

    def of(self, ranks_per_node, count):
        """{algorithm: {ranks: result}}"""
        found = {}
        for result in self.collectives:
            if (result["ranks_per_node"], result["bytes"]) == (ranks_per_node, count):
                found.setdefault(result["algorithm"], {})[result["ranks"]] = result
        return found

    def choice(self, ranks_per_node, count, ranks):
        return next(c["plan"] for c in self.root["choices"] if (c["ranks_per_node"], c["bytes"], c["ranks"]) == (ranks_per_node, count, ranks))

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
            plot.plot(report.ranks, [by_ranks[ranks]["seconds"] * 1e3 for ranks in report.ranks], label=algorithm.replace("_", " "), color=COLOURS[algorithm],
                      linestyle="--" if is_formula else "-", marker=None if is_formula else "o", markersize=3)
        over_ranks(plot, report)
        plot.set_title(f"{size(count)}, {ranks_per_node} rank{'s' * (ranks_per_node > 1)} a node", fontsize=10)
    for plot in axes[1]:
        plot.set_xlabel("ranks")
    for plot in axes[:, 0]:
        plot.set_ylabel("milliseconds")
    axes[1][0].legend(fontsize=8)
    save(figure, folder / "scale-all-reduce.svg")


def draw_negotiation(report, folder):
    figure, axes = pyplot().subplots(1, 2, figsize=(11, 4.2))
    for how, by_ranks in report.negotiation().items():
        label = {"simulated": "ours", "simulated coordinator": "a coordinator"}.get(how, "Horovod, all names cached")
        axes[0].plot(report.ranks, [by_ranks[ranks]["seconds"] * 1e3 for ranks in report.ranks], marker="o", markersize=3, label=label)
        axes[1].plot(report.ranks, [by_ranks[ranks]["most_bytes_received"] for ranks in report.ranks], marker="o", markersize=3, label=label)
    for plot, title, subdivisions in zip(axes, ("milliseconds", "bytes into the busiest rank"), ((1, 2, 5), (1,)), strict=True):
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
        rows = [[ranks, *[f"{by_ranks[ranks]['seconds'] * 1e3:.3g} ({by_ranks[ranks]['busbw'] / 1e9:.2f})" for by_ranks in found.values()],
                 report.choice(ranks_per_node, count, ranks).replace("_", " ")] for ranks in report.ranks]
        head = ["ranks", *[algorithm.replace("_", " ") for algorithm in found], "the cost model picks"]
        parts += [f"### {size(count)}, {ranks_per_node} rank{'s' * (ranks_per_node > 1)} a node\n", table(head, rows)]
    return "\n".join(parts)


def negotiation_table(report):
    ours, coordinated, cached = report.negotiation().values()
    rows = [[ranks, *[cell for how in (ours, coordinated, cached) for cell in (f"{how[ranks]['seconds'] * 1e3:.3g}", how[ranks]["most_bytes_received"])]]
            for ranks in report.ranks]
    return table(["ranks", "ours: ms", "bytes into the busiest rank", "coordinator: ms", "bytes", "all names cached: ms", "bytes"], rows)


MEASURED_HEAD = ["link", "hosts", "ranks a host", "algorithm", "bytes", "measured", "simulated", "simulated / measured"]


def measured_rows(rows):
    def link(of):
        return f"{of.mbit} Mbit/s" + (f", {of.delay_ms} ms" if of.delay_ms else "")
    return [[link(row.case.link), row.case.hosts, row.case.ranks_each, row.case.algorithm.replace("_", " ") or "as the library picks", size(row.bytes),
             f"{row.measured * 1e3:.2f} ms", f"{row.simulated * 1e3:.2f} ms", f"{row.ratio:.3f}"] for row in rows]


def page(report, rows):
    across, inside = report.network["across"], report.network["inside"]
    worst = max(abs(row.ratio - 1) for row in rows)
    return "\n".join([
        "# Scale\n",
        "`comm_scale` runs the same schedules as the library over a model of a network; `comm/simulator/simulator.hpp` says how messages contend in it. "
        "`./dev bench scale` holds it against measurements at 2 to 16 hosts, and predicts 64 to 4,096 ranks, where nothing is measured.\n",
        "## Simulated and measured\n",
        "Hosts are network, process and host name spaces of one machine, on one switch; the kernel shapes their links, and where there is a delay the "
        "switch holds every frame back for so long. Links are slow enough that two cores do for all hosts, whose ranks run ahead of everything else. "
        "The simulator is told what the links were set to, and nothing is fitted: their delay, and their rate, of which a full packet of "
        f"{comm_model.PACKET} bytes has {comm_model.OF_DATA} for data, while half a packet of {comm_model.HEADERS} goes the other way for it. TCP begins with "
        "a large window: how it gets to know a link is not simulated. The simulator counts as `fastgpu-comm-bench` does, with the barrier before each "
        f"batch. Each figure is the median of {comm_model.REPETITIONS} batches; one that is off by more than {comm_model.TOLERANCE:.0%} is measured "
        f"up to {comm_model.ROUNDS} times, and the quickest counts. The same cases are a test (`comm-model`), which fails above that.\n",
        "Left out is what TCP decides by itself: whether a host sends two messages to two others in turns, as the simulator has it, or one after the other, "
        "depends on how large their buffers have grown. Where that matters most, in trees, 256 KiB took 179 to 213 ms at 4 hosts and 309 to 390 ms at 8; 213 and 370 are simulated.\n",
        f"The largest difference is {worst:.1%}.\n",
        table(MEASURED_HEAD, measured_rows(rows)),
        "## All-reduce of float32 at 64 to 4,096 ranks, predicted\n",
        f"The network is assumed: {across['latency'] * 1e6:g} us and {across['shared'] * 8e-9:g} Gbit/s a node each way, {across['flow'] * 8e-9:g} Gbit/s a flow, "
        f"up to {report.root['most_lanes']} lanes; inside a node {inside['latency'] * 1e6:g} us, {inside['flow'] * 1e-9:g} GB/s a flow and "
        f"{inside['shared'] * 1e-9:g} GB/s together; {report.network['per_message'] * 1e6:g} us of processor a message, and "
        f"{report.network['reduce'] * 1e-9:g} GB/s of reductions a rank. Each algorithm has the leaders, lanes and pieces (at most {report.root['most_pieces']}) "
        "that the cost model gives it; the last column says which one the cost model picks. As the library picks: by the length of the data and the number of "
        "hosts alone (`comm/engine/planner.cpp`), with at most as many pieces, and with long messages spread over all lanes.\n",
        "NCCL's columns are closed forms on the same links, with as many flows as the link takes and reductions for nothing: what the algorithm allows, "
        "not what NCCL was seen to do.\n",
        "![milliseconds against ranks](scale-all-reduce.svg)\n",
        "Milliseconds, and bus bandwidth in GB/s in parentheses.\n",
        collective_tables(report),
        "## Negotiation of 161 gradients, 8 ranks a node, predicted\n",
        "Ours: the library's own negotiation, run for so many ranks and recorded: 9 bytes a round (step, plan, verdicts) in a step in which all is ready, in rounds of doubling distance. A coordinator: rank 0 receives 14,883 bytes from every rank "
        "and broadcasts 5,340 along a tree; the lengths were counted of Horovod without its cache at 2 to 8 ranks, all the rest is modelled. Horovod with all "
        "names cached has no coordinator: two vectors of 24 bytes are combined, here by recursive doubling as well. It does so in every cycle of 1 ms, ready "
        "or not; the table has one.\n",
        "![negotiation against ranks](scale-negotiation.svg)\n",
        negotiation_table(report)])


def write(build, folder, described, today, machine):
    """docs/benchmarks/scale.md, scale.json and its plots."""
    measures, simulates = (str(build / "comm" / name) for name in ("fastgpu-comm-bench", "comm_scale"))
    rows = comm_model.rows_of(comm_model.Programs(measures, simulates))
    report = Report(json.loads(subprocess.run([simulates, "report"], check=True, capture_output=True, text=True).stdout))
    draw_collectives(report, folder)
    draw_negotiation(report, folder)
    text = f"{page(report, rows)}\nMeasured on {today}: {described}.\n"
    (folder / "scale.md").write_text(text)
    (folder / "scale.json").write_text(json.dumps({
        "schema": "fastgpu.benchmark/1", "name": "scale", "date": today, "machine": machine, "columns": MEASURED_HEAD, "rows": measured_rows(rows),
        "predicted": report.root}, indent=1) + "\n")
    return text
