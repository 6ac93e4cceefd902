"""Saved states of PyTorch's MultistepOptimizer: how training goes on from them, and which are
refused.
"""

import copy

from ranks import need, on_ranks, raises, run_tests
from suite import assert_equal, assert_true

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm.torch import (  # noqa: E402
    DistributedOptimizer,
    MultistepOptimizer,
    broadcast_optimizer_state,
)

from multistep_models import (  # noqa: E402
    MODES,
    Net,
    batch_of,
    check_same_on_all_ranks,
    largest_difference,
    loss_of,
    net_of,
    sgd,
)


@on_ranks(2)
def training_goes_on_from_the_state_of_the_optimizer_alone(comm):
    for mode in MODES:
        model = Net()
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        saved = None
        for batch in range(9):
            if batch == 6:
                saved = copy.deepcopy(optimizer.state_dict())
                buffers = [buffer.clone() for buffer in model.buffers()]
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step(weight=len(x))
        again = net_of(5)
        second = MultistepOptimizer(sgd(again), comm, again, mode)
        second.load_state_dict(saved)
        for buffer, one in zip(again.buffers(), buffers):
            buffer.copy_(one)
        for batch in range(6, 9):
            x, y = batch_of(comm.rank, batch)
            second.zero_grad()
            loss_of(again, x, y).backward()
            second.step(weight=len(x))
        assert_equal(largest_difference(model, again), 0.0, mode)


@on_ranks(2)
def the_state_of_the_optimizer_is_broadcast_and_each_rank_keeps_its_own(comm):
    for mode in MODES:
        model = Net()
        inner = sgd(model)
        optimizer = MultistepOptimizer(inner, comm, model, mode)
        for batch in range(5):
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step(weight=len(x))
        inner.param_groups[0]["lr"] = 0.1 + comm.rank
        broadcast_optimizer_state(optimizer, comm, root=1)
        assert_equal(inner.param_groups[0]["lr"], 1.1)
        momenta = [inner.state[one]["momentum_buffer"] for one in model.parameters()]
        for number, momentum in enumerate(momenta):
            both = comm.all_gather(momentum.reshape(1, -1).clone())
            assert_true(torch.equal(both[0], both[1]), f"{mode}: momentum {number} differs")
        x, y = batch_of(comm.rank, 5)
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step(weight=len(x))


@on_ranks(2)
def the_state_of_another_rank_is_refused(comm):
    model = Net()
    optimizer = MultistepOptimizer(sgd(model), comm, model, "local_steps=4")
    state = optimizer.state_dict()
    own = state["fastgpu_comm"]["multistep"]
    everywhere = comm.all_gather(own.reshape(1, -1).clone())
    state["fastgpu_comm"]["multistep"] = everywhere[1 - comm.rank].clone()
    with raises(fc.UsageError, f"rank {1 - comm.rank}"):
        optimizer.load_state_dict(state)


@on_ranks(1)
def the_state_of_another_kind_of_optimizer_is_refused_before_any_of_it_is_loaded(comm):
    model = Net()
    state = MultistepOptimizer(sgd(model), comm, model, "local_steps=4").state_dict()
    state["param_groups"][0]["lr"] = 7.0
    plain = sgd(model)
    optimizer = DistributedOptimizer(plain, comm, model)
    with raises(ValueError, "of another kind of optimizer: remove the key"):
        optimizer.load_state_dict(state)
    assert_true(plain.param_groups[0]["lr"] != 7.0, "a part of it was loaded")


@on_ranks(2)
def a_state_without_the_parameters_is_refused(comm):
    for mode in ("accumulate=4", "delay=1"):
        model = Net()
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        state = optimizer.state_dict()
        before = copy.deepcopy(model.state_dict())
        for wrong in (None, [], [torch.zeros(3)] * len(list(model.parameters()))):
            state["fastgpu_comm"]["parameters"] = wrong
            with raises(ValueError, "parameters"):
                optimizer.load_state_dict(state)
        del state["fastgpu_comm"]["parameters"]
        with raises(ValueError, "parameters"):
            optimizer.load_state_dict(state)
        del state["fastgpu_comm"]
        with raises(ValueError, "state_dict() of a MultistepOptimizer"):
            optimizer.load_state_dict(state)
        for name, tensor in model.state_dict().items():
            assert_true(torch.equal(tensor, before[name]), name)


@on_ranks(2)
def training_that_is_over_is_saved_and_goes_on(comm):
    for mode in MODES:
        model, again = net_of(0), net_of(7)
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        second = MultistepOptimizer(sgd(again), comm, again, mode)

        def train_batches(model, optimizer, first):
            for batch in range(first, first + 3 + comm.rank):
                x, y = batch_of(comm.rank, batch)
                optimizer.zero_grad()
                loss_of(model, x, y).backward()
                optimizer.step(weight=len(x))
            optimizer.finish()

        train_batches(model, optimizer, 0)
        saved, own = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(model.state_dict())
        with raises(fc.UsageError, "all ranks have finished"):
            optimizer.step()
        optimizer.load_state_dict(copy.deepcopy(saved))
        second.load_state_dict(copy.deepcopy(saved))
        again.load_state_dict(own)
        for one, theirs in ((optimizer, model), (second, again)):
            train_batches(theirs, one, 10)
        assert_equal(largest_difference(model, again), 0.0, mode)
        check_same_on_all_ranks(comm, model, mode)


run_tests(globals(), has_forked_ranks=True)
