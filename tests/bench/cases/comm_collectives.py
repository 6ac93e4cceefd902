"""The table of all collectives beside Open MPI, in one process and in turns."""

from cases.comm_figures import COLLECTIVES, MIB, median
from pages import table


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


def collective_rows(found, ranks, names, ways=("warm", "cold")):
    """The rows of one table, its sizes, and (cases, cases in which Open MPI wins)."""
    ours, theirs = ({way: median(found[f"{way} {ranks}"][name]) for way in ways} for name in names)
    # Lengths are rounded to whole blocks of each rank.
    columns = sorted({size for size, _ in ours[ways[0]] if size})
    wanted = [8, 64, 512, 4096, 65536, MIB, 4 * MIB, 16 * MIB, 100 * MIB]
    wanted = [size for size in wanted if any(abs(size - one) <= 16 for one in columns)]
    rows, cases, lost = [], 0, 0
    for collective in COLLECTIVES:
        for caches in ways:
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


def collectives_over_tcp(found):
    """The same over TCP on the loopback interface, with warm caches and memory of the program."""
    parts, cases, lost = [], 0, 0
    for ranks in (2, 4):
        names = MEMORIES["memory of the program"]
        rows, sizes, count = collective_rows(found, ranks, names, ["tcp"])
        parts.append(table([f"{ranks} ranks", "", *[length(size) for size in sizes]], rows))
        cases, lost = cases + count[0], lost + count[1]
    text = (
        "## All collectives over TCP\n\n"
        "As above with warm caches, but both libraries use TCP on the loopback interface, as they "
        "would between hosts (`FASTGPU_COMM_SHARED_MEMORY=0`, `--mca btl self,tcp`). "
        "Connections of libfastgpu_comm within a host use the congestion control reno, those of "
        "Open MPI the system's. "
        f"**Bold: Open MPI is faster**, in {lost} of {cases} cases.\n"
    )
    return "\n".join([text, *parts])


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
        "Both libraries are in one process and take turns, with real-time priority "
        "(SCHED_FIFO) where the machine permits it. A cell has the time of libfastgpu_comm, "
        "and in brackets the time of Open MPI divided by it. "
        f"**Bold: Open MPI is faster**, in {lost} of {cases} cases. A size is that of the longer "
        "buffer of a rank. Messages go from rank 0 to rank 1, one after another (message), or "
        "there and back, of which a cell has half the time (ping_pong). The memory of a library "
        "comes from `fgc_allocate` and `MPI_Alloc_mem`. Before a call with cold caches, each rank "
        "has read other memory of twice the size of the last cache; with warm ones, the calls "
        "before have used the same data.\n"
    )
    return "\n".join([text, *parts])
