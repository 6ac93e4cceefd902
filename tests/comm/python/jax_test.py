"""Training with JAX on several ranks, held against the same model trained on one with the joint
batch.
"""

from ranks import check_dead_rank_is_named, need, on_ranks, part, raises, run_tests
from suite import assert_equal, assert_false, assert_true

jax = need("jax", "PyPI: jax")
import fastgpu_comm as fc  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from fastgpu_comm.jax import GradientExchange, broadcast  # noqa: E402

from training import (  # noqa: E402
    X,
    Y,
    check_not_applied,
    check_same_as_on_one_rank,
    train_until_rank_1_is_killed,
)


def parameters(rank=0):
    """Two layers, other ones on every rank."""
    draw = numpy.random.default_rng(rank)
    return {
        "first": [
            jnp.array(draw.normal(size=(5, 7)), "float32"),
            jnp.array(draw.normal(size=7), "float32"),
        ],
        "second": jnp.array(draw.normal(size=(7, 2)), "float32"),
    }


def loss_of(model, x, y):
    return (
        (jax.nn.relu(x @ model["first"][0] + model["first"][1]) @ model["second"] - y) ** 2
    ).mean()


def trained(model, share, exchange=lambda gradients: gradients, in_jit=False):
    def step(model, x, y):
        gradients = exchange(jax.grad(loss_of)(model, x, y))
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, model, gradients)

    if in_jit:
        step = jax.jit(step)
    for x, y in zip(X, Y):
        model = step(model, share(x), share(y))
    return jax.tree_util.tree_leaves(model)


@on_ranks(1, 2, 3)
def many_ranks_come_to_what_one_does_with_the_joint_batch(comm):
    wanted = trained(parameters(0), lambda rows: rows)
    for in_jit in (False, True):
        model = broadcast(parameters(comm.rank), comm)
        exchange = GradientExchange(model, comm)
        found = trained(model, lambda rows: part(comm, rows), exchange, in_jit)
        check_same_as_on_one_rank(comm, found, wanted)
        exchange.close()


@on_ranks(2)
def different_trees_are_named_before_any_is_sent(comm):
    tree = {"a": jnp.zeros((4, 8)), "b": jnp.zeros(3)}
    for odd, wanted in (
        ({"a": jnp.zeros((8, 4)), "b": jnp.zeros(3)}, "number 0 is float32 [8, 4]"),
        ({"a": jnp.zeros((4, 8)), "c": jnp.zeros(3)}, "number 1 is float32 [3] '['c']' on rank 1"),
        ({"a": jnp.zeros((4, 8))}, "rank 0 has 2 tensors, and rank 1 1"),
    ):
        with raises(fc.UsageError, "broadcast: ", wanted):
            broadcast(odd if comm.rank == 1 else tree, comm)
    broadcast(tree, comm)  # The job goes on.


@on_ranks(2)
def types_sums_and_results_that_stay(comm):
    tree = {
        kind: jnp.full((2, 3), comm.rank + 1, kind) for kind in ("float32", "float16", "bfloat16")
    }
    exchange = GradientExchange(tree, comm, fc.SUM)
    for call in (exchange, jax.jit(exchange)):
        results = call(tree)
        exchange(jax.tree_util.tree_map(jnp.zeros_like, tree))  # Has memory of its own.
        for kind, result in results.items():
            assert_equal(result.dtype, kind, f"{kind}: {result}")
            assert_true((numpy.asarray(result) == 3).all(), f"{kind}: {result}")
    state = broadcast((3 + comm.rank, 0.5 + comm.rank, [jnp.arange(3) + comm.rank]), comm, root=1)
    assert_equal(state[0], 4, f"{state}")
    assert_equal(state[1], 1.5, f"{state}")
    assert_equal(state[2][0].tolist(), [1, 2, 3], f"{state}")


@on_ranks(2)
def what_does_not_fit_the_parameters_is_refused(comm):
    model = parameters()
    exchange = GradientExchange(model, comm)
    good = jax.tree_util.tree_map(jnp.zeros_like, model)
    for call in (exchange, jax.jit(exchange)):
        for bad, words in (
            ({**good, "third": jnp.zeros(1)}, ("third",)),
            ({**good, "second": jnp.zeros((2, 7))}, ("second", "(2, 7)")),
            ({**good, "second": jnp.zeros((7, 2), "float16")}, ("second", "float16")),
        ):
            with raises(ValueError, *words):
                call(bad)
    with raises(TypeError, "GradientExchange: the parameter ['a'] is of type str", "pytree"):
        GradientExchange({"a": "b"}, comm)
    with raises(TypeError, "GradientExchange: comm is of type NoneType"):
        GradientExchange(model, None)
    with raises(TypeError, "broadcast: comm is of type dict"):
        broadcast(comm, model)
    with raises(ValueError, "broadcast: root is 2: ranks are 0 to 1"):
        broadcast(model, comm, 2)
    with raises(ValueError, "averaged or summed"):
        GradientExchange(model, comm, fc.MAX)
    exchange(good)  # Nothing had begun.


@on_ranks(2, NANCHECK="skip")
def a_step_that_is_not_finite_is_told_and_gives_zeros(comm):
    model = parameters()
    exchange = GradientExchange(model, comm)
    results = exchange(
        jax.tree_util.tree_map(lambda p: jnp.full(p.shape, jnp.nan if comm.rank else 1.0), model)
    )
    check_not_applied(exchange.outcome)
    assert_false(any(result.any() for result in jax.tree_util.tree_leaves(results)), f"{results}")
    exchange(jax.tree_util.tree_map(jnp.ones_like, model))
    assert_true(exchange.outcome.is_applied)


def killed(in_jit):
    comm = fc.init()
    model = parameters()
    exchange = GradientExchange(model, comm)
    train_until_rank_1_is_killed(
        comm,
        lambda: jax.block_until_ready(
            trained(model, lambda rows: part(comm, rows), exchange, in_jit)
        ),
    )


def killed_in_training():
    killed(in_jit=False)


def killed_in_jit():
    killed(in_jit=True)


def test_a_rank_that_dies_is_named():
    check_dead_rank_is_named("killed_in_training", "killed_in_jit")


run_tests(dict(globals()))
