"""Handwritten digits with JAX: parameters in a dictionary, a step in jax.jit, and three lines that
name fastgpu_comm.
"""

from __future__ import annotations

import argparse
from typing import Any

import fastgpu_comm
import jax
import jax.numpy as jnp
import numpy
from fastgpu_comm.jax import GradientExchange, broadcast

import digits

HIDDEN = 64


def initial() -> dict[str, Any]:
    first, second = jax.random.split(jax.random.PRNGKey(1))
    return {
        "first.weight": jax.random.normal(first, (64, HIDDEN)) * (2 / 64) ** 0.5,
        "first.bias": jnp.zeros(HIDDEN),
        "second.weight": jax.random.normal(second, (HIDDEN, 10)) * (2 / HIDDEN) ** 0.5,
        "second.bias": jnp.zeros(10),
    }


def scores(model: dict[str, Any], images: Any) -> Any:
    hidden = jax.nn.relu(images @ model["first.weight"] + model["first.bias"])
    return hidden @ model["second.weight"] + model["second.bias"]


def loss_of(model: dict[str, Any], images: Any, wanted: Any) -> Any:
    return -jnp.take_along_axis(
        jax.nn.log_softmax(scores(model, images)), wanted[:, None], axis=1
    ).sum()


def train(
    comm: fastgpu_comm.Communicator,
    options: argparse.Namespace,
    training: digits.Samples,
    test: digits.Samples,
) -> tuple[float, float]:
    images, wanted = jnp.array(training.images), jnp.array(training.digits)
    model = broadcast(initial(), comm)
    velocity = jax.tree_util.tree_map(jnp.zeros_like, model)
    exchange = GradientExchange(model, comm, fastgpu_comm.SUM)

    @jax.jit  # Compiled again for each size of a share, of which there are few.
    def step(model: Any, velocity: Any, mine: Any, whole: Any, rate: Any) -> tuple[Any, Any, Any]:
        loss, gradients = jax.value_and_grad(loss_of)(model, images[mine], wanted[mine])
        gradients = exchange(gradients)
        # By the whole batch: the ranks' gradients have added up to its sum.
        velocity = jax.tree_util.tree_map(
            lambda v, g: digits.MOMENTUM * v + g / whole, velocity, gradients
        )
        return jax.tree_util.tree_map(lambda p, v: p - rate * v, model, velocity), velocity, loss

    total = 0.0
    for epoch in range(options.epochs):
        total = 0.0
        rate = digits.learning_rate(options, epoch)
        for batch in digits.batches(len(images), options.batch, epoch):
            mine = numpy.array(digits.share(batch, comm.rank, comm.size), "int32")
            model, velocity, loss = step(model, velocity, mine, float(len(batch)), rate)
            total += float(loss)
    mean = comm.all_reduce(numpy.array([total])) / len(images)
    right = scores(model, jnp.array(test.images)).argmax(axis=1) == jnp.array(test.digits)
    return float(mean[0]), float(right.mean())


if __name__ == "__main__":
    digits.run("jax", train)
