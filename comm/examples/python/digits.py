"""The common part of the demonstrations: handwritten digits, the shares of the ranks, and the
report. Needs only Python.

Data-parallel training: all ranks have the same model and take the same batches, of which each
computes its share; the sum of their gradients is that of the whole batch. The number of ranks
therefore changes the duration, but not the result.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import time
from typing import Any, Callable, Iterator, NamedTuple

BRIGHTEST = 16
ONE_IN_TEST = 5
MOMENTUM = 0.9


class Samples(NamedTuple):
    """Images of 64 pixels, 0 to 1, and the digit that each shows."""

    images: list[list[float]]
    digits: list[int]


def read_samples(file: pathlib.Path) -> tuple[Samples, Samples]:
    """Returns the samples for training, and those for the test: a fifth of each digit, drawn always
    alike.
    """
    rows = [[int(word) for word in line.split(",")] for line in file.read_text().split()]
    by_digit: list[list[list[int]]] = [
        [row for row in rows if row[-1] == digit] for digit in range(10)
    ]
    draw = random.Random(1998)
    for some in by_digit:
        draw.shuffle(some)
    training = [row for some in by_digit for row in some[len(some) // ONE_IN_TEST :]]
    test = [row for some in by_digit for row in some[: len(some) // ONE_IN_TEST]]
    return samples_of(training), samples_of(test)


def samples_of(rows: list[list[int]]) -> Samples:
    return Samples(
        [[pixel / BRIGHTEST for pixel in row[:-1]] for row in rows], [row[-1] for row in rows]
    )


def share(items: list[int], rank: int, ranks: int) -> list[int]:
    """Returns this rank's part of them."""
    return items[len(items) * rank // ranks : len(items) * (rank + 1) // ranks]


def batches(count: int, size: int, epoch: int) -> Iterator[list[int]]:
    """Yields the numbers of the samples of each step, the same on every rank."""
    order = list(range(count))
    random.Random(epoch).shuffle(order)
    for first in range(0, count, size):
        yield order[first : first + size]


def learning_rate(options: argparse.Namespace, epoch: int) -> float:
    """Returns a rate that falls in a straight line, so that the end is calm."""
    return options.learning_rate * (1 - epoch / options.epochs)


def above_0(text: str) -> int:
    """Returns a whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def run(
    framework: str,
    train: Callable[[Any, argparse.Namespace, Samples, Samples], tuple[float, float]],
) -> None:
    """Joins the job, trains, and reports on rank 0. `train` returns the loss of the last epoch and
    the accuracy in the test, 0 to 1.
    """
    import fastgpu_comm

    about = f"Trains a small network on handwritten digits, with {framework} and libfastgpu_comm."
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--epochs", type=above_0, default=30, help="passes over the training set (%(default)s)"
    )
    parser.add_argument(
        "--batch",
        type=above_0,
        default=64,
        help="samples of one step, over all ranks together (%(default)s)",
    )
    parser.add_argument(
        "--learning-rate", type=float, default=0.1, help="of the first epoch (%(default)s)"
    )
    parser.add_argument(
        "--data", type=pathlib.Path, default=pathlib.Path(__file__).with_name("digits.csv")
    )
    options = parser.parse_args()
    training, test = read_samples(options.data)
    with fastgpu_comm.init() as comm:
        if comm.rank == 0:
            print(
                f"{framework}: {len(training.digits)} images to train on, {len(test.digits)} for "
                f"the test, ranks: {comm.size}",
                flush=True,
            )
        began = time.monotonic()
        loss, accuracy = train(comm, options, training, test)
        if comm.rank == 0:
            print(
                json.dumps(
                    {
                        "schema": "fastgpu.demo/1",
                        "framework": framework,
                        "ranks": comm.size,
                        "accuracy": accuracy,
                        "loss": loss,
                        "seconds": time.monotonic() - began,
                    }
                ),
                flush=True,
            )
