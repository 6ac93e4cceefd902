"""Times whole training steps of PyTorch with fastgpu_comm.torch.DistributedOptimizer and with
DistributedDataParallel over Gloo, in one process and in turns:
steps_torch.py PACKAGE_DIRECTORY MODEL STEPS, one process a rank, with RANK, WORLD_SIZE, MASTER_ADDR
and MASTER_PORT set, and FASTGPU_COMM_MASTER_PORT to another port.

MODEL is "linear" (six layers of 2048 numbers each, a batch of 16) or a file of lines
`name elements`, the loss of which is a number times the sum of all parameters. Prints one JSON line
for each way on rank 0: the median of the slowest rank's steps.
"""

import contextlib
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

PACKAGE, MODEL, STEPS = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.path.insert(0, PACKAGE)
import fastgpu_comm  # noqa: E402
from fastgpu_comm.torch import DistributedOptimizer, broadcast_parameters  # noqa: E402

WARM_UP = 3


class Shapes(torch.nn.Module):
    """The parameters of a model file, without its computations."""

    def __init__(self, file):
        super().__init__()
        with open(file, encoding="utf-8") as lines:
            sizes = [int(line.split()[1]) for line in lines if line.strip()]
        self.values = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.ones(elements)) for elements in sizes]
        )

    def forward(self, x):
        return torch.stack([value.sum() for value in self.values]).sum() * x


def model_and_input():
    torch.manual_seed(1)
    if MODEL != "linear":
        return Shapes(MODEL), torch.ones(())
    layers = [torch.nn.Linear(2048, 2048) for _ in range(6)]
    return torch.nn.Sequential(*layers), torch.randn(16, 2048)


class Alone:
    """A step of one rank by itself, from which the others differ."""

    name = "alone"
    keeps_gradients = False

    def __init__(self, comm):
        self.model, self.input = model_and_input()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.wrap(comm)

    def wrap(self, comm):
        pass

    def step(self):
        self.optimizer.zero_grad(set_to_none=not self.keeps_gradients)
        self.model(self.input).square().mean().backward()
        self.optimizer.step()


class Ours(Alone):
    name = "fastgpu"

    def wrap(self, comm):
        broadcast_parameters(self.model, comm)
        self.optimizer = DistributedOptimizer(self.optimizer, comm, self.model)


class OursKept(Ours):
    name = "fastgpu, set_to_none=False"
    keeps_gradients = True


class Parallel(Alone):
    name = "PyTorch DDP"
    options = {}

    def wrap(self, comm):
        self.model = torch.nn.parallel.DistributedDataParallel(self.model, **self.options)


class ParallelKept(Parallel):
    name = "PyTorch DDP, set_to_none=False"
    keeps_gradients = True


class ParallelViews(Parallel):
    name = "PyTorch DDP, gradient_as_bucket_view=True"
    options = {"gradient_as_bucket_view": True}


def slowest(seconds):
    everyone = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(everyone, op=dist.ReduceOp.MAX)
    return everyone.item()


def timed(way):
    dist.barrier()
    began = time.perf_counter()
    way.step()
    return slowest(time.perf_counter() - began)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with fastgpu_comm.init() as comm:
        ways = [
            kind(comm) for kind in (Alone, Ours, OursKept, Parallel, ParallelKept, ParallelViews)
        ]
        seconds = {way.name: [] for way in ways}
        for step in range(WARM_UP + STEPS):
            for way in ways:
                taken = timed(way)
                if step >= WARM_UP:
                    seconds[way.name].append(taken)
        if comm.rank == 0:
            size = 4 * sum(parameter.numel() for parameter in ways[0].model.parameters())
            for name, each in seconds.items():
                line = {
                    "library": name,
                    "collective": "step",
                    "ranks": comm.size,
                    "bytes": size,
                    "seconds": statistics.median(each),
                    "torch": torch.__version__,
                }
                print(json.dumps(line), flush=True)
        dist.barrier()
        for way in ways:
            with contextlib.suppress(AttributeError):
                way.optimizer.close()
    sys.stdout.flush()
    os._exit(0)  # Gloo's threads do not always end.


main()
