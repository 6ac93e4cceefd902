"""Handwritten digits with MXNet's Gluon: a network, a trainer and a loop as usual, except for the
three lines that name fastgpu_comm.
"""

from __future__ import annotations

import argparse

# Before mxnet, as it names the numpy that mxnet needs.
from fastgpu_comm.mxnet import GradientExchange, broadcast_parameters

# isort: split
import fastgpu_comm
import mxnet
import numpy
from mxnet import autograd, gluon, nd

import digits


def train(
    comm: fastgpu_comm.Communicator,
    options: argparse.Namespace,
    training: digits.Samples,
    test: digits.Samples,
) -> tuple[float, float]:
    mxnet.random.seed(1)
    images, wanted = numpy.array(training.images, "float32"), numpy.array(training.digits)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, activation="relu", in_units=64), gluon.nn.Dense(10, in_units=64))
    net.initialize(mxnet.init.Xavier())
    broadcast_parameters(net.collect_params(), comm)
    exchange = GradientExchange(net.collect_params(), comm, fastgpu_comm.SUM)
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": options.learning_rate, "momentum": digits.MOMENTUM},
        kvstore=None,
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    total = 0.0
    for epoch in range(options.epochs):
        total = 0.0
        trainer.set_learning_rate(digits.learning_rate(options, epoch))
        for batch in digits.batches(len(images), options.batch, epoch):
            mine = digits.share(batch, comm.rank, comm.size)
            with autograd.record():
                losses = loss_of(net(nd.array(images[mine])), nd.array(wanted[mine]))
            losses.backward()
            exchange()
            # Divides by the whole batch, to whose sum the ranks' gradients have added up.
            trainer.update(len(batch))
            total += float(losses.sum().asscalar())
    mean = comm.all_reduce(numpy.array([total])) / len(images)
    right = net(nd.array(test.images)).argmax(axis=1).asnumpy() == numpy.array(test.digits)
    return float(mean[0]), float(right.mean())


if __name__ == "__main__":
    digits.run("mxnet", train)
