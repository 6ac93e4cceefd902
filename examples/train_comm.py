"""Trains a small PyTorch model, with libfastgpu_comm in place of DistributedDataParallel.

Four lines differ from a script for one process; each is marked with "# fastgpu". Every environment
of `fastgpu env create` has the package fastgpu_comm:

    fastgpu run job --cluster demo -np 2 --environment train --sync . -- python train_comm.py
"""

import argparse
import socket

import fastgpu_comm  # fastgpu
import torch
from fastgpu_comm.torch import DistributedOptimizer, broadcast_parameters


def train(comm, steps, batch_size):
    torch.manual_seed(comm.rank)  # Each rank has samples of its own.
    model = torch.nn.Linear(8, 1)
    broadcast_parameters(model, comm)  # fastgpu: All ranks begin with the model of rank 0.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    optimizer = DistributedOptimizer(optimizer, comm, model)  # fastgpu
    for step in range(1, steps + 1):
        batch = torch.randn(batch_size, 8)
        wanted = batch.sum(dim=1, keepdim=True)  # The model learns to add.
        loss = ((model(batch) - wanted) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()  # Each gradient is sent as soon as it is complete.
        optimizer.step()  # With the averages over all ranks.
        if comm.rank == 0 and step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=20, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=16, help="samples per rank (%(default)s)")
    options = parser.parse_args()
    with fastgpu_comm.init() as comm:  # fastgpu: Joins the ranks of the job.
        train(comm, options.steps, options.batch)
        print(f"rank {comm.rank} of {comm.size} on {socket.gethostname()}: trained", flush=True)


if __name__ == "__main__":
    main()
