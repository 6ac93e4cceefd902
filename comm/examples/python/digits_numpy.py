"""Handwritten digits with numpy alone: a network of two layers, its gradients summed over the ranks
by fastgpu_comm.Gradients.
"""

from __future__ import annotations

import argparse

import fastgpu_comm
import numpy

import digits

HIDDEN = 64


def initial(comm: fastgpu_comm.Communicator) -> dict[str, numpy.ndarray]:
    """Returns rank 0's initial model on all ranks."""
    draw = numpy.random.default_rng(1)
    model = {
        "first.weight": draw.normal(0, (2 / 64) ** 0.5, (64, HIDDEN)),
        "first.bias": numpy.zeros(HIDDEN),
        "second.weight": draw.normal(0, (2 / HIDDEN) ** 0.5, (HIDDEN, 10)),
        "second.bias": numpy.zeros(10),
    }
    return {name: comm.broadcast(values.astype("float32")) for name, values in model.items()}


def forward(
    model: dict[str, numpy.ndarray], images: numpy.ndarray
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the output of the hidden layer, and the probability of each digit."""
    hidden = numpy.maximum(images @ model["first.weight"] + model["first.bias"], 0)
    scores = hidden @ model["second.weight"] + model["second.bias"]
    exponentials = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, exponentials / exponentials.sum(axis=1, keepdims=True)


def train(
    comm: fastgpu_comm.Communicator,
    options: argparse.Namespace,
    training: digits.Samples,
    test: digits.Samples,
) -> tuple[float, float]:
    images, wanted = numpy.array(training.images, "float32"), numpy.array(training.digits)
    model = initial(comm)
    gradient = {name: numpy.zeros_like(values) for name, values in model.items()}
    velocity = {name: numpy.zeros_like(values) for name, values in model.items()}
    gradients = fastgpu_comm.Gradients(comm)
    for name, values in gradient.items():
        gradients.register(name, values)
    gradients.use_op(fastgpu_comm.SUM)
    loss = 0.0
    for epoch in range(options.epochs):
        loss = 0.0
        for batch in digits.batches(len(images), options.batch, epoch):
            mine = digits.share(batch, comm.rank, comm.size)
            hidden, error = forward(model, images[mine])
            here = numpy.arange(len(mine))
            loss -= float(numpy.log(error[here, wanted[mine]]).sum())
            error[here, wanted[mine]] -= 1
            # By the whole batch, so that the ranks' gradients add up to its mean.
            error /= len(batch)
            numpy.matmul(hidden.T, error, out=gradient["second.weight"])
            error.sum(axis=0, out=gradient["second.bias"])
            gradients.ready("second.weight")  # They travel while the others are computed.
            gradients.ready("second.bias")
            below = error @ model["second.weight"].T * (hidden > 0)
            numpy.matmul(images[mine].T, below, out=gradient["first.weight"])
            below.sum(axis=0, out=gradient["first.bias"])
            gradients.ready("first.weight")
            gradients.ready("first.bias")
            gradients.wait()
            for name, values in model.items():
                velocity[name] = digits.MOMENTUM * velocity[name] + gradient[name]
                values -= digits.learning_rate(options, epoch) * velocity[name]
    mean = comm.all_reduce(numpy.array([loss])) / len(images)
    _, probabilities = forward(model, numpy.array(test.images, "float32"))
    return float(mean[0]), float((probabilities.argmax(axis=1) == numpy.array(test.digits)).mean())


if __name__ == "__main__":
    digits.run("numpy", train)
