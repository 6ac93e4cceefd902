"""Times the exchange of a model's gradients by PyTorch's DistributedDataParallel over Gloo:
gradients_torch.py MODEL STEPS [fp16 | powersgd:RANK], one process a rank, with RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT set. fp16 and powersgd are DistributedDataParallel's own hooks; for
powersgd gradients are as near to square matrices as their lengths let them be.

DistributedDataParallel exchanges what a backward pass makes, so there is one: of a loss that is the
sum of all parameters, times a number. Its own time, measured without the exchange, is taken off.

MODEL is a file of lines `name elements`. Prints one JSON line on rank 0.
"""

import math
import os
import statistics
import sys
import time

import step_times
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

ONE_BUCKET_MIB = 1024


def shape_of(elements, is_matrix):
    """The shape of a gradient."""
    if not is_matrix:
        return (elements,)
    rows = next(rows for rows in range(math.isqrt(elements), 0, -1) if elements % rows == 0)
    return (rows, elements // rows)


class Parameters(torch.nn.Module):
    def __init__(self, model, are_matrices):
        super().__init__()
        self.values = torch.nn.ParameterList(
            [
                torch.nn.Parameter(torch.ones(shape_of(elements, are_matrices)))
                for _, elements in model
            ]
        )

    def forward(self, by):
        return torch.stack([value.sum() for value in self.values]).sum() * by


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    model, steps = step_times.arguments()
    way, _, rank = step_times.compression().partition(":")
    parameters = Parameters(model, are_matrices=way == "powersgd")
    buckets = {}
    if way == "powersgd":
        # Over Gloo the hook's calls for two buckets get into each other's way: it ends, or hangs.
        buckets = {"bucket_cap_mb": ONE_BUCKET_MIB}
        dist._DEFAULT_FIRST_BUCKET_BYTES = ONE_BUCKET_MIB << 20
    parallel = torch.nn.parallel.DistributedDataParallel(parameters, **buckets)
    if way == "fp16":
        parallel.register_comm_hook(None, default_hooks.fp16_compress_hook)
    if way == "powersgd":
        state = powerSGD_hook.PowerSGDState(
            None, matrix_approximation_rank=int(rank), start_powerSGD_iter=2
        )
        parallel.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    by = torch.ones(())

    def backward_alone():
        loss = parameters(by)
        began = time.perf_counter()
        loss.backward()
        return time.perf_counter() - began

    alone = statistics.median(backward_alone() for _ in range(7))

    def step():
        loss = parallel(by)
        began = time.perf_counter()
        loss.backward()
        return time.perf_counter() - began - alone

    def slowest(seconds):
        everyone = torch.tensor([seconds], dtype=torch.float64)
        dist.all_reduce(everyone, op=dist.ReduceOp.MAX)
        return everyone.item()

    step_times.measure(
        "PyTorch DDP over Gloo",
        int(os.environ["RANK"]),
        int(os.environ["WORLD_SIZE"]),
        model,
        steps,
        step,
        dist.barrier,
        slowest,
    )
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # Gloo's threads do not always end.


main()
