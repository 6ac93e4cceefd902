"""Handwritten digits with PyTorch: a model, an optimizer and a loop as usual, except for the three
lines that name fastgpu_comm.
"""

from __future__ import annotations

import argparse

import fastgpu_comm
import torch
from fastgpu_comm.torch import DistributedOptimizer, broadcast_parameters

import digits


def train(
    comm: fastgpu_comm.Communicator,
    options: argparse.Namespace,
    training: digits.Samples,
    test: digits.Samples,
) -> tuple[float, float]:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    images, wanted = torch.tensor(training.images), torch.tensor(training.digits)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    broadcast_parameters(model, comm)
    optimizer = DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=options.learning_rate, momentum=digits.MOMENTUM),
        comm,
        model.named_parameters(),
        fastgpu_comm.SUM,
    )
    loss_of = torch.nn.CrossEntropyLoss(reduction="sum")
    total = 0.0
    for epoch in range(options.epochs):
        total = 0.0
        for group in optimizer.param_groups:
            group["lr"] = digits.learning_rate(options, epoch)
        for batch in digits.batches(len(images), options.batch, epoch):
            mine = digits.share(batch, comm.rank, comm.size)
            loss = loss_of(model(images[mine]), wanted[mine])
            optimizer.zero_grad()
            (
                loss / len(batch)
            ).backward()  # By the whole batch, so that the ranks' gradients add up to its mean.
            optimizer.step()
            total += loss.item()
    mean = comm.all_reduce(torch.tensor([total], dtype=torch.float64)) / len(images)
    with torch.no_grad():
        right = model(torch.tensor(test.images)).argmax(dim=1) == torch.tensor(test.digits)
    return mean.item(), right.double().mean().item()


if __name__ == "__main__":
    digits.run("torch", train)
