"""What the benchmark `comm` measures between two hosts within this one, over a shaped link."""

import functools
import statistics
import time

import shaped
from cases.comm_figures import MIB
from cases.comm_programs import ROUNDS, YIELD, in_turns

# Its other form takes MPI_IN_PLACE for an address in Open MPI 4.1.4, and crashes.
HAN = [
    ("coll_han_priority", "100"),
    ("coll_han_use_simple_allreduce", "1"),
    ("btl_vader_single_copy_mechanism", "none"),
]


def two_hosts(programs, link):
    sizes = ["--sizes", "64M", "--repetitions", "3"]
    links = [("btl_tcp_links", "4")]
    return in_turns(
        {
            "fastgpu": lambda: link.run([programs.ours, *sizes], 1),
            "Open MPI": lambda: link.run_mpi([programs.mpi, *sizes], 1, YIELD),
            "Open MPI, best": lambda: link.run_mpi([programs.mpi, *sizes], 1, YIELD + links),
            "Gloo": lambda: link.run(
                [programs.gloo, *sizes, "--interface", "eth0", *programs.store()], 1
            ),
        }
    )


def two_by_two(programs, link):
    sizes = ["--sizes", "64M", "--repetitions", "3"]
    links = [("btl_tcp_links", "4")]
    file = programs.one_gradient(16 * MIB)
    return in_turns(
        {
            "fastgpu": lambda: link.run([programs.ours, *sizes], 2),
            "fastgpu, fp16": lambda: link.run(
                [programs.ours, "--model", file, "--steps", "5"], 2, {"FASTGPU_COMM_WIRE": "fp16"}
            ),
            "Open MPI": lambda: link.run_mpi([programs.mpi, *sizes], 2, YIELD),
            "Open MPI, 4 links": lambda: link.run_mpi([programs.mpi, *sizes], 2, YIELD + links),
            "Open MPI, HAN": lambda: link.run_mpi([programs.mpi, *sizes], 2, YIELD + links + HAN),
            "Gloo": lambda: link.run(
                [programs.gloo, *sizes, "--interface", "eth0", *programs.store()], 2
            ),
        }
    )


def capped(programs, link):
    """Connections of 300 Mbit/s each under the link's 1 Gbit/s."""
    file = programs.one_gradient(16 * MIB)
    steps = [programs.ours, "--model", file, "--steps", "3"]
    seconds = in_turns(
        {
            f"{flows} flows": functools.partial(link.run_capped, steps, flows, 300)
            for flows in (1, 4, 8)
        }
    )
    tuned = []
    for job in range(ROUNDS):  # Each finds its settings anew.
        environment = {
            "FASTGPU_COMM_TUNE": "1",
            "XDG_CACHE_HOME": str(programs.folder / f"cache-{job}"),
        }
        tuned.append(
            statistics.median(
                link.run_capped(
                    [programs.ours, "--model", file, "--steps", "45"], 8, 300, environment
                )[0]["step_seconds"][-8:]
            )
        )
    return seconds, statistics.median(tuned)


def uneven(programs, link):
    """One of four connections of 200 Mbit/s halves its rate: steps before, and after."""
    file = programs.one_gradient(8 * MIB)

    def halve(shared):
        time.sleep(12)
        shared.change_flow(0, 100)

    jobs = []
    for _ in range(ROUNDS):
        seconds = link.run_capped(
            [programs.ours, "--model", file, "--steps", "60"], 4, 200, meanwhile=halve
        )[0]["step_seconds"]
        # Bytes a second.
        jobs.append([32 * MIB / statistics.median(part) for part in (seconds[:10], seconds[-10:])])
    return [statistics.median(part) for part in zip(*jobs, strict=True)]


def two_networks(programs):
    """64, 4 and 1 MiB between two hosts that have a network of 1 Gbit/s and one of 300 Mbit/s, by
    the faster one alone and by both. Halves that are equal are limited by the slower one, as two
    such networks are.
    """
    sizes = ["--sizes", "1M,4M,64M", "--repetitions", "10"]
    ours = [programs.ours, *sizes]
    both = {"FASTGPU_COMM_INTERFACE": "eth0,eth1"}
    with shaped.link(1000, 300) as uneven, shaped.link(300, 300) as equal:
        return in_turns(
            {
                "fastgpu, both": lambda: uneven.run(ours, 1, both),
                "fastgpu, first": lambda: uneven.run(ours, 1, {"FASTGPU_COMM_INTERFACE": "eth0"}),
                "fastgpu, equal halves": lambda: equal.run(ours, 1, both),
                "Open MPI, both": lambda: uneven.run_mpi(
                    [programs.mpi, *sizes], 1, YIELD, interfaces="eth0,eth1"
                ),
            }
        )
