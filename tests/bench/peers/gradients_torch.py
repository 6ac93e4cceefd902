"""Times the exchange of a model's gradients by PyTorch's DistributedDataParallel over Gloo:
gradients_torch.py MODEL STEPS, one process a rank, with RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT set.

DistributedDataParallel exchanges what a backward pass makes, so there is one: of a loss that is the
sum of all parameters, times a number. Its own time, measured without the exchange, is taken off.

MODEL is a file of lines `name elements`. Prints one JSON line on rank 0.
"""

import os
import statistics
import sys
import time

import step_times
import torch
import torch.distributed as dist


class Parameters(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.values = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.ones(elements)) for _, elements in model]
        )

    def forward(self, by):
        return torch.stack([value.sum() for value in self.values]).sum() * by


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    model, steps = step_times.arguments()
    parameters = Parameters(model)
    parallel = torch.nn.parallel.DistributedDataParallel(parameters)
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
