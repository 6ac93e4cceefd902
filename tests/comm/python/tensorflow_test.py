"""TensorFlow models trained on several ranks, held against the same model trained on one with the
joint batch.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
from ranks import check_dead_rank_is_named, need, on_ranks, part, raises, run_tests
from suite import assert_equal, assert_false, assert_true

tf = need("tensorflow", "PyPI: tensorflow-cpu")
import fastgpu_comm as fc  # noqa: E402
import numpy  # noqa: E402
from fastgpu_comm.tensorflow import GradientExchange, broadcast_variables  # noqa: E402

from training import (  # noqa: E402
    X,
    Y,
    check_not_applied,
    check_same_as_on_one_rank,
    train_until_rank_1_is_killed,
)


def variables(rank=0):
    """Two layers, other ones on every rank."""
    draw = numpy.random.default_rng(rank)
    shapes = {"first": (5, 7), "bias": (7,), "second": (7, 2)}
    return [
        tf.Variable(draw.normal(size=shape).astype("float32"), name=name)
        for name, shape in shapes.items()
    ]


def loss_of(model, x, y):
    first, bias, second = model
    return tf.reduce_mean((tf.nn.relu(x @ first + bias) @ second - y) ** 2)


def gradients_of(model, x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(model, x, y)
    return tape.gradient(loss, model)


def trained(model, share, exchange=lambda gradients: gradients, in_function=False):
    def step(x, y):
        for variable, gradient in zip(model, exchange(gradients_of(model, x, y))):
            variable.assign_sub(0.1 * gradient)

    if in_function:
        step = tf.function(step)
    for x, y in zip(X, Y):
        step(tf.constant(share(x)), tf.constant(share(y)))
    return [variable.numpy() for variable in model]


@on_ranks(1, 2, 3)
def many_ranks_come_to_what_one_does_with_the_joint_batch(comm):
    wanted = trained(variables(0), lambda rows: rows)
    for in_function in (False, True):
        model = variables(comm.rank)
        broadcast_variables(model, comm)
        exchange = GradientExchange(model, comm)
        found = trained(model, lambda rows: part(comm, rows), exchange, in_function)
        check_same_as_on_one_rank(comm, found, wanted)
        exchange.close()


@on_ranks(2)
def different_variables_are_named_before_any_is_sent(comm):
    shape, name = ((4, 8), "w") if comm.rank == 0 else ((8, 4), "v")
    with raises(fc.UsageError, "broadcast_variables: ", "float32 [8, 4]", "on rank 1"):
        broadcast_variables([tf.Variable(tf.zeros(shape), name=name)], comm)
    broadcast_variables([tf.Variable(tf.zeros(3), name=name)], comm)  # Names may differ.


@on_ranks(2)
def what_is_no_variable_is_refused(comm):
    variable = tf.Variable(tf.zeros(3))
    for given, words in (
        ([variable, 3], ("list", "something else than variables")),
        ({"a": variable}, ("dict", "something else than variables")),
        (tf.zeros((2, 2)), ("Tensor", "something else than variables")),
        ([], ("list", "has no variables")),
        (tf.Module(), ("Module", "has no variables")),
        (None, ("NoneType", "has no variables")),
    ):
        with raises(TypeError, "broadcast_variables: variables is", "model.variables", *words):
            broadcast_variables(given, comm)
    with raises(ValueError, "broadcast_variables: root is 2: ranks are 0 to 1"):
        broadcast_variables([variable], comm, 2)


@on_ranks(2)
def types_sums_and_whole_gradients_of_embeddings(comm):
    kinds = (tf.float64, tf.float16, tf.bfloat16)
    places = [tf.Variable(tf.zeros((2, 3), kind)) for kind in kinds]
    exchange = GradientExchange(places, comm, fc.SUM)

    def exchanged():
        return exchange([tf.cast(tf.fill((2, 3), comm.rank + 1), kind) for kind in kinds])

    for call in (exchanged, tf.function(exchanged)):
        for kind, result in zip(kinds, call()):
            assert_equal(result.dtype, kind, f"{kind}: {result}")
            assert_true((result.numpy() == 3).all(), f"{kind}: {result}")
    table = tf.Variable(tf.zeros((4, 2)))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(table, [comm.rank, 3]))
    gradient = tape.gradient(loss, table)
    assert_true(isinstance(gradient, tf.IndexedSlices))
    (result,) = GradientExchange([table], comm, fc.SUM)([gradient])
    assert_equal(result.numpy().tolist(), [[1, 1], [1, 1], [0, 0], [2, 2]], f"{result}")


@on_ranks(2)
def what_does_not_fit_the_variables_is_refused(comm):
    model = variables()
    exchange = GradientExchange(model, comm)
    good = [tf.zeros_like(variable) for variable in model]
    for bad, words in (
        ([*good[:2], None], ("2:second", "None")),
        (good[:2], ("2 gradients for 3",)),
        ([*good[:2], tf.zeros((2, 7))], ("2:second", "(2, 7)")),
        ([*good[:2], tf.zeros((7, 2), tf.float64)], ("float64",)),
    ):
        with raises(ValueError, *words):
            exchange(bad)
    with raises(ValueError, "None"):
        tf.function(lambda: exchange([*good[:2], None]))()
    with raises(ValueError, "averaged or summed"):
        GradientExchange(model, comm, fc.MAX)
    exchange(good)  # Nothing had begun.


@on_ranks(2, NANCHECK="skip")
def a_step_that_is_not_finite_is_told_and_gives_zeros(comm):
    model = variables()
    exchange = GradientExchange(model, comm)
    results = exchange(
        [tf.fill(variable.shape, float("nan") if comm.rank else 1.0) for variable in model]
    )
    check_not_applied(exchange.outcome)
    assert_false(any(result.numpy().any() for result in results), f"{results}")
    exchange([tf.ones_like(variable) for variable in model])
    assert_true(exchange.outcome.is_applied)


def killed(in_function):
    comm = fc.init()
    model = variables()
    exchange = GradientExchange(model, comm)
    train_until_rank_1_is_killed(
        comm, lambda: trained(model, lambda rows: part(comm, rows), exchange, in_function)
    )


def killed_in_training():
    killed(in_function=False)


def killed_in_a_function():
    killed(in_function=True)


def test_a_rank_that_dies_is_named():
    check_dead_rank_is_named("killed_in_training", "killed_in_a_function")


run_tests(dict(globals()))
