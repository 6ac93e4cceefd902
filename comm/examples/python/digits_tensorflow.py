"""Handwritten digits with TensorFlow: a model of Keras, a step of its own in a tf.function, and
three lines that name fastgpu_comm.
"""

from __future__ import annotations

import argparse
import os

# What it says of processors it might use better.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import fastgpu_comm
import tensorflow as tf
from fastgpu_comm.tensorflow import GradientExchange, broadcast_variables

import digits


def train(
    comm: fastgpu_comm.Communicator,
    options: argparse.Namespace,
    training: digits.Samples,
    test: digits.Samples,
) -> tuple[float, float]:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.keras.utils.set_random_seed(1)
    images, wanted = tf.constant(training.images), tf.constant(training.digits)
    model = tf.keras.Sequential(
        [tf.keras.Input((64,)), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(10)]
    )
    optimizer = tf.keras.optimizers.SGD(options.learning_rate, momentum=digits.MOMENTUM)
    broadcast_variables(model.variables, comm)
    exchange = GradientExchange(model.trainable_variables, comm, fastgpu_comm.SUM)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.float32)])
    def step(mine: tf.Tensor, whole: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.gather(wanted, mine), model(tf.gather(images, mine))
            )
            # By the whole batch, so that the ranks' gradients add up to its mean.
            loss = tf.reduce_sum(losses) / whole
        gradients = exchange(tape.gradient(loss, model.trainable_variables))
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return tf.reduce_sum(losses)

    total = tf.constant(0.0)
    for epoch in range(options.epochs):
        total = tf.constant(0.0)
        optimizer.learning_rate = digits.learning_rate(options, epoch)
        for batch in digits.batches(len(training.digits), options.batch, epoch):
            total += step(
                tf.constant(digits.share(batch, comm.rank, comm.size), tf.int32),
                tf.constant(len(batch), tf.float32),
            )
    mean = comm.all_reduce(total.numpy().reshape(1).copy()) / len(training.digits)
    right = tf.argmax(model(tf.constant(test.images)), axis=1, output_type=tf.int32) == tf.constant(
        test.digits
    )
    return float(mean[0]), float(tf.reduce_mean(tf.cast(right, tf.float64)))


if __name__ == "__main__":
    digits.run("tensorflow", train)
