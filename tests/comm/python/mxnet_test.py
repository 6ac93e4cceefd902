"""MXNet models trained on several ranks, held against the same model trained on one with the joint
batch.
"""

from ranks import check_dead_rank_is_named, need, on_ranks, part, raises, run_tests
from suite import assert_false, assert_true

mx = need("mxnet", "PyPI: mxnet, and numpy<1.24")
import fastgpu_comm as fc  # noqa: E402
import numpy  # noqa: E402
from fastgpu_comm.mxnet import GradientExchange, broadcast_parameters  # noqa: E402
from mxnet import autograd, gluon, nd  # noqa: E402

from training import (  # noqa: E402
    BATCH,
    X,
    Y,
    check_not_applied,
    check_same_as_on_one_rank,
    train_until_rank_1_is_killed,
)


def network(seed=0):
    """Two layers, and a parameter that is not trained."""
    mx.random.seed(seed)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(7, activation="relu", in_units=5), gluon.nn.Dense(2, in_units=7))
    net.initialize(mx.init.Normal(1))
    net[0].bias.grad_req = "null"
    return net


def backward(net, x, y):
    with autograd.record():
        loss = ((net(nd.array(x)) - nd.array(y)) ** 2).sum()
    loss.backward()


def trained(net, share, exchange=lambda: None):
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore=None
    )
    for x, y in zip(X, Y):
        backward(net, share(x), share(y))
        exchange()
        trainer.update(BATCH)
    return [parameter.data().asnumpy() for parameter in net.collect_params().values()]


@on_ranks(2)
def different_parameters_are_named_before_any_is_sent(comm):
    dense = gluon.nn.Dense(3 + comm.rank, in_units=4)
    dense.initialize()
    with raises(fc.UsageError, "broadcast_parameters: ", "float32 [4, 4]", "on rank 1"):
        broadcast_parameters(dense.collect_params(), comm)


@on_ranks(2)
def what_is_no_parameter_is_refused(comm):
    net = network()
    for given, words in (
        ({"epoch": 3}, ("dict", "something else than parameters")),
        ({}, ("dict", "has no parameters")),
        (net, ("HybridSequential", "has no parameters")),
        (gluon.nn.Activation("relu").collect_params(), ("has no parameters",)),
    ):
        with raises(TypeError, "broadcast_parameters: ", "net.collect_params()", *words):
            broadcast_parameters(given, comm)
    with raises(ValueError, "broadcast_parameters: root is 2: ranks are 0 to 1"):
        broadcast_parameters(net.collect_params(), comm, 2)


@on_ranks(1, 2, 3)
def many_ranks_come_to_what_one_does_with_the_joint_batch(comm):
    wanted = trained(network(0), lambda rows: rows)
    for hybrid in (False, True):
        net = network(comm.rank)
        if hybrid:
            net.hybridize()
        broadcast_parameters(net.collect_params(), comm)
        exchange = GradientExchange(net.collect_params(), comm, fc.SUM)
        found = trained(net, lambda rows: part(comm, rows), exchange)
        check_same_as_on_one_rank(comm, found, wanted, tolerance=1e-4)
        exchange.close()


@on_ranks(2)
def averages_and_what_is_refused(comm):
    net = network()
    exchange = GradientExchange(net.collect_params(), comm)
    net[0].weight.grad()[:] = comm.rank + 1
    exchange()
    assert_true((net[0].weight.grad().asnumpy() == 1.5).all())
    with raises(ValueError, "averaged or summed"):
        GradientExchange(net.collect_params(), comm, fc.MAX)
    table = gluon.nn.Embedding(4, 2, sparse_grad=True)
    table.initialize()
    with raises(TypeError, "sparse_grad=False"):
        GradientExchange(table.collect_params(), comm)
    unknown = gluon.nn.Dense(3)
    unknown.initialize()
    with raises(gluon.parameter.DeferredInitializationError):
        GradientExchange(unknown.collect_params(), comm)


@on_ranks(2, NANCHECK="skip")
def a_step_that_is_not_finite_is_told_and_gives_zeros(comm):
    net = network()
    exchange = GradientExchange(net.collect_params(), comm)
    net[0].weight.grad()[:] = numpy.nan if comm.rank else 1
    exchange()
    check_not_applied(exchange.outcome)
    assert_false(net[0].weight.grad().asnumpy().any())
    net[0].weight.grad()[:] = 1
    exchange()
    assert_true(exchange.outcome.is_applied)


def killed_in_training():
    comm = fc.init()
    net = network()
    exchange = GradientExchange(net.collect_params(), comm)
    train_until_rank_1_is_killed(
        comm, lambda: trained(net, lambda rows: part(comm, rows), exchange)
    )


def test_a_rank_that_dies_is_named():
    check_dead_rank_is_named("killed_in_training")


run_tests(dict(globals()))
