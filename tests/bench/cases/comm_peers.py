"""Tables and a picture of libraries that are programs of their own, beside libfastgpu_comm."""

from cases.comm_figures import LIMIT, MIB, median, ms, only
from pages import table

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
