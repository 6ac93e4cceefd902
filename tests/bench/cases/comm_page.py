"""What docs/benchmarks/comm.md says of the figures that comm.py has measured."""

import statistics

from cases import comm_bars, comm_collectives, comm_fabric, comm_loss, comm_peers, comm_training
from cases.comm_figures import median
from pages import table


def page(found, folder, rounds):
    """The page, and what of it programs may read."""
    comm_peers.draw(found, folder)
    rows = comm_bars.bars_of(found)
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
            comm_collectives.collectives(found),
            comm_collectives.collectives_over_tcp(found),
            comm_training.whole_steps(found),
            comm_training.on_the_wire(found),
            "## All-reduce beside other libraries\n",
            "Each library is a program of its own; they take turns. In the tables below, figures "
            "of other libraries are **bold where they are better** than those of libfastgpu_comm: "
            "for all-reduce with private memory, as theirs is.\n",
            "![bus bandwidth against bytes](comm-all-reduce.svg)\n",
            comm_peers.bandwidths(found, 2),
            comm_peers.bandwidths(found, 4),
            comm_peers.latencies(found, 2),
            comm_peers.latencies(found, 4),
            "## Exchange of gradients by itself\n",
            comm_peers.steps(found),
            "## Two hosts\n",
            comm_peers.network(found),
            comm_loss.section(found),
            comm_fabric.section(found["fabric"]),
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
        if isinstance(value, dict)
        and key != "negotiation"
        and not key.startswith(("steps ", "loss failures "))
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
