"""Multistep training by way of Python, held against the same training by one program that knows all
ranks, in float64.
"""

import math

from ranks import (
    check_dead_rank_is_named,
    end_like_a_crash,
    need,
    on_ranks,
    raises,
    run_ranks,
    run_tests,
)
from suite import assert_equal, assert_false, assert_in, assert_less, assert_true

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402

RATE = 0.03
DIMENSIONS = 6


def problem(rank, batch):
    """The samples of one batch: a linear regression, whose batches differ in size."""
    random = numpy.random.default_rng(100 * rank + batch)
    samples = 2 + (rank + batch) % 3
    x = random.normal(size=(samples, DIMENSIONS))
    y = x @ numpy.arange(1, DIMENSIONS + 1) + random.normal(size=samples)
    return x, y


def gradient(weights, x, y):
    """Of the mean squared error of a batch."""
    return 2 * x.T @ (x @ weights - y) / len(y)


def start():
    return numpy.linspace(-1, 1, DIMENSIONS)


def options_of(mode):
    """The number of a mode, and its options."""
    first, *rest = mode.split(",")
    return int(first.split("=")[1]), {
        name: float(value) for name, value in (one.split("=") for one in rest)
    }


def batch_gradients(weights, batches, first, last):
    """The sum of the gradients of all ranks in a part of their batches, and its weight."""
    total, weight = numpy.zeros(DIMENSIONS), 0
    for rank, count in enumerate(batches):
        for batch in range(first, min(last, count)):
            x, y = problem(rank, batch)
            total += len(y) * gradient(weights, x, y)
            weight += len(y)
    return total, weight


def accumulated(mode, batches):
    number, _ = options_of(mode)
    weights = start()
    for first in range(0, max(batches), number):
        total, weight = batch_gradients(weights, batches, first, first + number)
        weights -= RATE * total / weight
    return weights


def delayed(mode, batches):
    weights, before = start(), numpy.zeros(DIMENSIONS)
    for step in range(max(batches)):
        total, weight = batch_gradients(weights, batches, step, step + 1)
        weights -= RATE * before
        before = total / weight
    return weights - RATE * before


def averaged(mode, batches):
    """Local steps, with an outer optimizer if the mode has one."""
    number, options = options_of(mode)
    is_diloco = mode.startswith("diloco")
    rate = options.get("rate", 0.7 if is_diloco else 1)
    momentum = options.get("momentum", 0.9 if is_diloco else 0)
    anchor, velocity = start(), numpy.zeros(DIMENSIONS)
    done, round_number = [0] * len(batches), 0
    while any(done[rank] < count for rank, count in enumerate(batches)):
        is_warm = round_number >= options.get("warmup", 0)
        moved, all_weights = numpy.zeros(DIMENSIONS), 0
        for rank, count in enumerate(batches):
            own, weight = anchor.copy(), 0
            for _ in range(min(number if is_warm else 1, count - done[rank])):
                x, y = problem(rank, done[rank])
                own -= RATE * gradient(own, x, y)
                weight += len(y)
                done[rank] += 1
            moved += weight * (anchor - own)
            all_weights += weight
        difference = moved / all_weights
        if is_warm and momentum > 0:
            velocity = momentum * velocity + difference
            difference = difference + momentum * velocity
        anchor -= (rate if is_warm else 1) * difference
        round_number += 1
    return anchor


def sliced(mode, batches):
    """One tensor of one element a slice, and as many slices."""
    number, _ = options_of(mode)
    anchor = start()
    own = [anchor.copy() for _ in batches]
    weights = numpy.zeros((len(batches), number))
    flush, round_number = number, 0
    while flush > 0:
        is_active = any(round_number < count for count in batches)
        flush -= not is_active
        slice_number = round_number % number
        for rank, count in enumerate(batches):
            if round_number < count:
                x, y = problem(rank, round_number)
                own[rank] -= RATE * gradient(own[rank], x, y)
                weights[rank] += len(y)
        share = weights[:, slice_number].copy()
        weights[:, slice_number] = 0
        if share.sum() > 0:
            mean = sum(part * mine[slice_number] for part, mine in zip(share, own)) / share.sum()
            for mine in own:
                mine[slice_number] = mean
        round_number += 1
    return own[0]


MODES = {
    "accumulate=1": accumulated,
    "accumulate=3": accumulated,
    "delay=1": delayed,
    "local_steps=1": averaged,
    "local_steps=4": averaged,
    "local_steps=3,warmup=4": averaged,
    "diloco=3": averaged,
    "diloco=2,rate=0.9,momentum=0.5,warmup=1": averaged,
    "slices=6": sliced,
}


def train(comm, mode, batches, settings=None, until=None):
    """Returns the weights of this rank, and its steps."""
    steps = fc.Multistep(comm, mode, settings)
    # Other ranks begin elsewhere where parameters become those of rank 0.
    weights = start() + (0 if steps.takes_gradients else comm.rank)
    memory = numpy.zeros(DIMENSIONS) if steps.takes_gradients else weights
    for place in range(DIMENSIONS):  # As many tensors as elements.
        steps.register(f"weight{place}", memory[place : place + 1])
    steps.begin()

    def apply():
        nonlocal weights
        if steps.takes_gradients:
            weights -= RATE * memory
            memory[:] = 0

    for batch in range(batches[comm.rank]):
        x, y = problem(comm.rank, batch)
        if steps.takes_gradients:
            memory += gradient(weights, x, y)
        else:
            weights -= RATE * gradient(weights, x, y)
        steps.weigh(len(y))
        if batch % 2 == 0:
            steps.ready("weight3")
        if steps.step().has_results:
            apply()
    steps.finish(apply)
    return weights, steps


def check_against_reference(comm, batches):
    for mode, reference in MODES.items():
        weights, steps = train(comm, mode, batches)
        wanted = reference(mode, batches)
        assert_less(numpy.abs(weights - wanted).max(), 1e-11, f"{mode}: {weights} not {wanted}")
        everywhere = comm.all_gather(weights).reshape(comm.size, DIMENSIONS)
        assert_true((everywhere == weights).all(), f"{mode}: ranks differ: {everywhere}")
        steps.close()


@on_ranks(1, 2, 4)
def every_mode_trains_as_its_reference(comm):
    check_against_reference(comm, [12] * comm.size)


@on_ranks(2, 4)
def ranks_with_fewer_batches_hold_nobody_up(comm):
    check_against_reference(comm, [7, 12, 0, 1][: comm.size])
    check_against_reference(comm, [0, 5, 5, 11][: comm.size])


@on_ranks(2, 4)
def local_steps_send_fewer_bytes(comm):
    sent = {}
    for mode in ("local_steps=1", "local_steps=4", "diloco=12"):
        _, steps = train(comm, mode, [12] * comm.size)
        counters = steps.counters()
        sent[mode] = counters.bucket_bytes
        steps.close()
    # 13, 4 and 2 rounds, the last one of each without steps; gaps between tensors differ a little.
    assert_less(3 * sent["local_steps=4"], sent["local_steps=1"], f"{sent}")
    assert_less(6 * sent["diloco=12"], sent["local_steps=1"], f"{sent}")


@on_ranks(2)
def training_goes_on_from_a_saved_state(comm):
    for mode in MODES:
        results = []
        saved = None
        for is_second in (False, True):
            steps = fc.Multistep(comm, mode)
            weights = start()
            memory = numpy.zeros(DIMENSIONS) if steps.takes_gradients else weights
            for place in range(DIMENSIONS):
                steps.register(f"weight{place}", memory[place : place + 1])
            steps.begin()
            if is_second:
                weights[:] = saved[0]
                steps.load_state(saved[1])
            for batch in range(5 if is_second else 0, 9):
                if batch == 5 and not is_second:
                    state = steps.saved_state()
                    saved = (weights.copy(), state)
                x, y = problem(comm.rank, batch)
                target = memory if steps.takes_gradients else weights
                target += (1 if steps.takes_gradients else -RATE) * gradient(weights, x, y)
                if steps.step(len(y)).has_results and steps.takes_gradients:
                    weights -= RATE * memory
                    memory[:] = 0
            results.append(weights.copy())
            steps.close()
        assert_true((results[0] == results[1]).all(), f"{mode}: {results}")


@on_ranks(2, MULTISTEP="local_steps=5", NANCHECK="warn")
def a_mode_may_come_from_the_environment(comm):
    said = []
    steps = fc.Multistep(comm, on_warning=said.append)
    assert_false(steps.takes_gradients)
    data = numpy.zeros(3, "float32")
    steps.register("weight", data)
    assert_equal(len(steps), 1)
    steps.begin()
    for step in range(5):
        data += math.inf if comm.rank == 1 and step == 4 else 1
        outcome = steps.step()
        assert_equal(outcome.is_round_end, step == 4, f"{outcome}")
    assert_equal(any("weight" in sentence for sentence in said), comm.rank == 1, f"{said}")


@on_ranks(2, MULTISTEP="local_steps=4")
def a_mode_for_exchanges_without_steps_between_them_is_refused(comm):
    for make in fc.Gradients, fc.Gossip:
        with raises(fc.UsageError, "FASTGPU_COMM_MULTISTEP has no effect", "MultistepOptimizer"):
            make(comm)
        make(comm, {"FASTGPU_COMM_MULTISTEP": ""}).close()  # A program that has both.


@on_ranks(2)
def what_is_wrong_is_named(comm):
    with raises(fc.UsageError, "local=8", "accumulate=NUMBER"):
        fc.Multistep(comm, "local=8")
    with raises(fc.UsageError, "FASTGPU_COMM_MULTISTEP"):
        fc.Multistep(comm)
    steps = fc.Multistep(comm, "accumulate=2")
    data = numpy.zeros(3, "float32")
    with raises(fc.UsageError, "floating-point"):
        steps.register("whole", numpy.zeros(3, "int32"))
    steps.register("weight", data)
    with raises(fc.UsageError, "begin comes first"):
        steps.step()
    steps.begin()
    with raises(ValueError, "no tensor 'bias'"):
        steps.ready("bias")
    with raises(ValueError, "no tensor 1"):
        steps.ready(1)
    with raises(fc.UsageError, "above 0"):
        steps.step(0)
    with raises(ValueError, "finish", "apply"):
        steps.finish()
    steps.finish(lambda: None)
    assert_true(steps.is_over)
    other = fc.Multistep(comm, "accumulate=2" if comm.rank == 0 else "accumulate=3")
    other.register("weight", data)
    try:
        other.begin()
    except fc.UsageError as error:
        assert_in("rank 1 has the mode accumulate=3, and rank 0 accumulate=2", str(error))
    else:
        raise AssertionError("ranks with other modes have begun")


def started(comm, mode):
    steps = fc.Multistep(comm, mode)
    steps.register("weight", numpy.zeros(1000, "float32"))
    steps.begin()
    return steps


def dies_within_a_round():
    with fc.init() as comm:
        steps = started(comm, "local_steps=4")
        for step in range(12):
            if step == 5:
                end_like_a_crash(comm, 1)
            steps.step()


def dies_while_averages_travel():
    with fc.init() as comm:
        steps = started(comm, "delay=1")
        for step in range(12):
            steps.step()
            if step == 5:
                end_like_a_crash(comm, 1)


def test_a_rank_that_dies_is_named():
    check_dead_rank_is_named("dies_within_a_round", "dies_while_averages_travel")


def leaves_without_finishing():
    with fc.init() as comm:
        steps = started(comm, "accumulate=2")
        for _ in range(2 if comm.rank == 1 else 4):
            steps.step()


def test_a_rank_that_leaves_without_finishing_is_named():
    (code, said), (other, _) = run_ranks("leaves_without_finishing", 2)
    assert_in("rank 0 waits in the end of a step of gradients", said)
    assert_in("rank 1 waits in barrier", said)
    assert_equal((code, other), (1, 1), said)


run_tests(globals())
