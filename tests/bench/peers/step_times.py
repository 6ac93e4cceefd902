"""What the peers' gradient benchmarks share: the same warm-up, barriers and median as our own."""

import json
import os
import statistics
import sys
import time

WARM_UP = int(os.environ.get("FASTGPU_BENCH_WARM_UP", "5"))


def arguments():
    """[(name, elements), ...] and the number of steps."""
    with open(sys.argv[1], encoding="utf-8") as lines:
        model = [(line.split()[0], int(line.split()[1])) for line in lines if line.strip()]
    return model, int(sys.argv[2])


def compression():
    """The way in which gradients are compressed, "" for none."""
    return sys.argv[3] if len(sys.argv) > 3 else ""


def measure(library, rank, ranks, model, steps, step, barrier, slowest):
    """`step` may give its own seconds; else it is timed here."""
    seconds = []
    for i in range(WARM_UP + steps):
        barrier()
        began = time.perf_counter()
        own = step()
        taken = own if own is not None else time.perf_counter() - began
        taken = slowest(taken)
        if i >= WARM_UP:
            seconds.append(taken)
    if rank == 0:
        print(
            json.dumps(
                {
                    "library": library,
                    "collective": "gradients",
                    "dtype": "float32",
                    "ranks": ranks,
                    "bytes": 4 * sum(elements for _, elements in model),
                    "seconds": statistics.median(seconds),
                }
            ),
            flush=True,
        )
