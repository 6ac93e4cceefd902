"""MultistepOptimizer of PyTorch on several ranks, held against the same training by one process
that has a model for each rank.
"""

import copy
import logging

from ranks import need, on_ranks, raises, run_tests
from suite import assert_equal, assert_false, assert_in, assert_less, assert_true

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm.torch import MultistepOptimizer  # noqa: E402


class Net(torch.nn.Module):
    """With buffers, which batches change."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.norm = torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8, momentum=0.5)
        self.second = torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x))))


def batch_of(rank, batch):
    generator = torch.Generator().manual_seed(1000 * rank + batch)
    samples = 4 + 2 * ((rank + batch) % 3)
    return (
        torch.randn(samples, 5, generator=generator),
        torch.randn(samples, 2, generator=generator),
    )


def loss_of(model, x, y):
    return ((model(x) - y) ** 2).mean()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def share_buffers(models):
    for model in models[1:]:
        for mine, other in zip(model.buffers(), models[0].buffers()):
            mine.copy_(other)


def gradients_of(model, x, y):
    return torch.autograd.grad(loss_of(model, x, y), list(model.parameters()))


def step_all(models, optimizers, total, weight):
    for model, optimizer in zip(models, optimizers):
        for parameter, one in zip(model.parameters(), total):
            parameter.grad = one / weight
        optimizer.step()


def accumulated(number, batches):
    models = [Net() for _ in batches]
    optimizers = [sgd(model) for model in models]
    for first in range(0, max(batches), number):
        total, weight = [torch.zeros_like(one) for one in models[0].parameters()], 0
        for rank, count in enumerate(batches):
            for batch in range(first, min(first + number, count)):
                x, y = batch_of(rank, batch)
                weight += len(x)
                for one, part in zip(total, gradients_of(models[rank], x, y)):
                    one += len(x) * part
        step_all(models, optimizers, total, weight)
        share_buffers(models)
    return models[0]


def averaged(number, batches, rate=1.0, momentum=0.0):
    """Local steps; the outer optimizer is PyTorch's own."""
    models = [Net() for _ in batches]
    optimizers = [sgd(model) for model in models]
    outer = [one.detach().clone() for one in models[0].parameters()]
    outer_step = torch.optim.SGD(outer, lr=rate, momentum=momentum, nesterov=momentum > 0)
    for first in range(0, max(batches), number):
        moved, weight = [torch.zeros_like(one) for one in outer], 0
        for rank, count in enumerate(batches):
            own = 0
            for batch in range(first, min(first + number, count)):
                x, y = batch_of(rank, batch)
                optimizers[rank].zero_grad()
                loss_of(models[rank], x, y).backward()
                optimizers[rank].step()
                own += len(x)
            weight += own
            for one, anchor, mine in zip(moved, outer, models[rank].parameters()):
                one += own * (anchor - mine.detach())
        for anchor, one in zip(outer, moved):
            anchor.grad = one / weight
        outer_step.step()
        for model in models:
            for mine, anchor in zip(model.parameters(), outer):
                mine.data.copy_(anchor)
        share_buffers(models)
    return models[0]


CASES = {
    "accumulate=3": lambda batches: accumulated(3, batches),
    "local_steps=3": lambda batches: averaged(3, batches),
    "diloco=4": lambda batches: averaged(4, batches, 0.7, 0.9),
}


def net_of(rank):
    """A model whose parameters and buffers are those of this rank."""
    model = Net()
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.add_(rank)
    return model


def train(comm, mode, batches):
    model = net_of(comm.rank)  # It becomes that of rank 0.
    optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
    for batch in range(batches[comm.rank]):
        x, y = batch_of(comm.rank, batch)
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step(weight=len(x))
    optimizer.finish()
    optimizer.close()
    return model


def largest_difference(one, other):
    return max(
        float((mine.detach() - theirs.detach()).abs().max())
        for mine, theirs in zip(one.state_dict().values(), other.state_dict().values())
    )


MODES = ("accumulate=4", "local_steps=4", "diloco=2", "delay=1", "slices=2")


def check_same_on_all_ranks(comm, model, what):
    for name, tensor in model.state_dict().items():
        everywhere = comm.all_gather(tensor.detach().reshape(1, -1).clone())
        assert_true(bool((everywhere == everywhere[0]).all()), f"{what}: ranks differ in {name}")


@on_ranks(3)
def all_ranks_begin_with_what_rank_0_has(comm):
    for mode in MODES:
        model = net_of(comm.rank)
        MultistepOptimizer(sgd(model), comm, model, mode).close()
        assert_equal(largest_difference(model, Net()), 0.0, mode)
        model = net_of(comm.rank)
        with torch.no_grad():  # Not in one piece of memory.
            model.first.weight.data = model.first.weight.t().contiguous().t()
        if not mode.startswith(("accumulate", "delay")):
            continue
        MultistepOptimizer(sgd(model), comm, None, mode).close()
        parameters = zip(model.parameters(), Net().parameters())
        assert_true(all(torch.equal(one, other) for one, other in parameters), mode)


@on_ranks(1, 2, 4)
def modes_train_as_one_process_that_has_all_models(comm):
    for mode, reference in CASES.items():
        for batches in ([9] * comm.size, [7, 9, 2, 4][: comm.size]):
            model = train(comm, mode, batches)
            difference = largest_difference(model, reference(batches))
            assert_less(difference, 1e-4, f"{mode} {batches}")
            check_same_on_all_ranks(comm, model, mode)


@on_ranks(2)
def delays_and_slices_end_with_the_same_parameters_and_learn(comm):
    for mode in ("delay=1", "slices=3", "slices=3,rate=0.7,momentum=0.5"):
        model = net_of(comm.rank)
        x, y = batch_of(0, 0)
        before = float(loss_of(model, x, y).detach())
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        for _ in range(30 + comm.rank):
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step()
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        assert_less(float(loss_of(model, x, y).detach()), 0.8 * before, mode)
        optimizer.close()


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
def the_state_of_another_rank_is_refused(comm):
    model = Net()
    optimizer = MultistepOptimizer(sgd(model), comm, model, "local_steps=4")
    state = optimizer.state_dict()
    own = state["fastgpu_comm"]["multistep"]
    everywhere = comm.all_gather(own.reshape(1, -1).clone())
    state["fastgpu_comm"]["multistep"] = everywhere[1 - comm.rank].clone()
    with raises(fc.UsageError, f"rank {1 - comm.rank}"):
        optimizer.load_state_dict(state)


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


class Parts(torch.nn.Module):
    """A base that is frozen, a part that rank 1 alone uses, and one that no rank uses."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.base = torch.nn.Linear(5, 8).requires_grad_(False)
        self.head, self.other = torch.nn.Linear(8, 2), torch.nn.Linear(8, 2)
        self.spare = torch.nn.Linear(2, 2)

    def forward(self, x, has_other):
        hidden = torch.relu(self.base(x))
        return self.head(hidden) + (self.other(hidden) if has_other else 0)


@on_ranks(2)
def parameters_without_a_gradient_on_any_rank_stay(comm):
    def batch_gradient(model, rank, batch):
        x, y = batch_of(rank, batch)
        ((model(x, rank == 1) - y) ** 2).mean().backward()

    def adam(model):
        return torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.5)

    for mode in ("accumulate=2", "delay=1"):
        model, start, plain = Parts(), Parts(), Parts()
        optimizer, reference = MultistepOptimizer(adam(model), comm, model, mode), adam(plain)
        for batch in range(8):
            optimizer.zero_grad()
            batch_gradient(model, comm.rank, batch)
            optimizer.step()
        optimizer.finish()
        optimizer.close()
        check_same_on_all_ranks(comm, model, mode)
        for part in ("base", "spare"):
            for mine, first in zip(
                getattr(model, part).parameters(), getattr(start, part).parameters()
            ):
                assert_true(torch.equal(mine, first), f"{mode}: {part} has moved")
        if mode != "accumulate=2":
            continue
        for first in range(0, 8, 2):
            reference.zero_grad()
            for rank in range(2):
                for batch in (first, first + 1):
                    batch_gradient(plain, rank, batch)
            for parameter in plain.parameters():
                if parameter.grad is not None:
                    parameter.grad /= 4
            reference.step()
        assert_less(largest_difference(model, plain), 1e-5, mode)


@on_ranks(2)
def a_layer_that_is_frozen_later_stays_where_it_was(comm):
    model = Parts()
    model.base.requires_grad_(True)
    optimizer = MultistepOptimizer(sgd(model), comm, model, "accumulate=2")
    for batch in range(8):
        if batch == 4:
            model.base.requires_grad_(False)
            frozen = model.base.weight.detach().clone()
            assert_false(torch.equal(frozen, Parts().base.weight), "it has not moved before")
        optimizer.zero_grad()
        x, y = batch_of(comm.rank, batch)
        ((model(x, True) - y) ** 2).mean().backward()
        optimizer.step()
    assert_true(torch.equal(model.base.weight, frozen), "a frozen layer has moved")


@on_ranks(2)
def sparse_gradients_are_sparse_for_the_optimizer(comm):
    for mode in ("accumulate=2", "delay=1"):
        torch.manual_seed(1)
        model = torch.nn.Embedding(6, 3, sparse=True)
        start = model.weight.detach().clone()
        optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.1)
        optimizer = MultistepOptimizer(optimizer, comm, model, mode)
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.tensor([1 + comm.rank])).sum().backward()
            optimizer.step()
        optimizer.finish()
        optimizer.close()
        moved = (model.weight.detach() != start).any(dim=1).tolist()
        assert_equal(moved, [False, True, True, False, False, False], mode)


@on_ranks(2)
def parameters_in_any_order_of_memory_are_averaged(comm):
    for mode in MODES:
        torch.manual_seed(comm.rank)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
        model = model.to(memory_format=torch.channels_last)
        with torch.no_grad():  # Neither in one piece of memory.
            model.register_parameter("part", torch.nn.Parameter(torch.randn(4, 6)[:, ::2]))
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        check_same_on_all_ranks(comm, model, mode)
        for batch in range(7):
            optimizer.zero_grad()
            x = torch.full((2, 3, 4, 4), 0.1 * (batch + comm.rank))
            (model(x).square().mean() + (model.part * x.mean()).sum()).backward()
            optimizer.step()
            if batch == 2:
                saved = copy.deepcopy(optimizer.state_dict())
                shown = [one.detach().clone() for one in model.parameters()]
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        assert_false(model[0].weight.is_contiguous(), mode)
        assert_false(model.part.is_contiguous(), mode)
        optimizer.load_state_dict(saved)
        for one, before in zip(model.parameters(), shown):
            assert_true(torch.equal(one, before), f"{mode}: the state is another")
        optimizer.close()


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


@on_ranks(1)
def it_is_an_optimizer_that_says_what_it_does_not_do(comm):
    model = Net()
    optimizer = MultistepOptimizer(sgd(model), comm, model, "local_steps=2")
    assert_true(isinstance(optimizer, torch.optim.Optimizer), "it is no optimizer")
    assert_equal(optimizer.param_groups[0]["lr"], 0.05)
    with raises(TypeError, "closure"):
        optimizer.step(lambda: 0.0)
    with raises(RuntimeError, "add_param_group"):
        optimizer.add_param_group({"params": []})
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    x, y = batch_of(0, 0)
    loss_of(model, x, y).backward()
    optimizer.step(weight=2)
    scheduler.step()
    assert_less(abs(optimizer.param_groups[0]["lr"] - 0.005), 1e-9)


class Logged(logging.Handler):
    """The sentences that the library logs meanwhile."""

    def __init__(self):
        super().__init__()
        self.sentences = []

    def __enter__(self):
        logging.getLogger("fastgpu_comm").addHandler(self)
        return self.sentences

    def __exit__(self, *_):
        logging.getLogger("fastgpu_comm").removeHandler(self)

    def emit(self, record):
        self.sentences.append(record.getMessage())


PARAMETER_MODES = ("local_steps=4", "diloco=3", "slices=2", "slices=5,rate=0.7,momentum=0.5")
OPTIMIZERS = {
    "plain": lambda model: torch.optim.SGD(model.parameters(), lr=0.05),
    "momentum": sgd,
    "adam": lambda model: torch.optim.Adam(model.parameters(), lr=0.01),
}


def net_without_statistics():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def train_with_faults(comm, mode, make, faults, steps=23):
    """Returns the model after a training. `faults` has the batches of rank 1 that are not as they
    should be: "nan" in a gradient, or "omitted".
    """
    model = net_without_statistics()
    optimizer = MultistepOptimizer(make(model), comm, model, mode)
    for batch in range(steps):
        x, y = batch_of(comm.rank, batch)
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        fault = faults.get(batch) if comm.rank == 1 else None
        if fault == "nan":
            model[0].weight.grad[1, 2] = float("nan")
        if fault == "omitted":  # Without gradients an optimizer does nothing.
            for parameter in model.parameters():
                parameter.grad = None
        optimizer.step(weight=1e-300 if fault == "omitted" else len(x))
    optimizer.finish()
    optimizer.close()
    return model


@on_ranks(3, NANCHECK="skip")
def a_batch_with_nan_counts_as_if_it_were_not_there(comm):
    for mode in PARAMETER_MODES:
        for name, make in OPTIMIZERS.items():
            whole = train_with_faults(comm, mode, make, {})
            for bad in (0, 6, 11, 22):
                what = f"{mode} {name} {bad}"
                found = train_with_faults(comm, mode, make, {bad: "nan"})
                check_same_on_all_ranks(comm, found, what)
                without = train_with_faults(comm, mode, make, {bad: "omitted"})
                assert_equal(largest_difference(found, without), 0.0, what)
                assert_less(largest_difference(found, whole), 0.3, what)


@on_ranks(2, NANCHECK="skip")
def a_rank_with_nan_in_every_batch_is_named_on_all_ranks_and_holds_nobody_up(comm):
    for mode in PARAMETER_MODES:
        with Logged() as sentences:
            model = train_with_faults(comm, mode, sgd, dict.fromkeys(range(40), "nan"), 40)
        check_same_on_all_ranks(comm, model, mode)
        without = train_with_faults(comm, mode, sgd, dict.fromkeys(range(40), "omitted"), 40)
        assert_equal(largest_difference(model, without), 0.0, mode)
        named = [one for one in sentences if "rank 1 gave nothing to the last 3 rounds" in one]
        assert_equal(len(named), 1, f"{mode}: {sentences}")
        own = [one for one in sentences if "rank 1 leaves out a step" in one]
        assert_equal(len(own), 6 if comm.rank == 1 else 0, mode)  # 1, 2, 4 and so on.
        assert_true(all("gradient '0.weight' is not finite" in one for one in own), f"{own}")


@on_ranks(2, NANCHECK="skip")
def an_optimizer_that_overflows_begins_anew(comm):
    for mode in PARAMETER_MODES:
        model = net_without_statistics()
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        for batch in range(40):
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            if comm.rank == 1 and batch == 13:  # All are finite, and the parameters are not then.
                optimizer.optimizer.state[model[0].weight]["momentum_buffer"].fill_(3e38)
                model[0].weight.grad.fill_(3e38)
            optimizer.step()
            if batch == 20:
                at_20 = [one.detach().clone() for one in model.parameters()]
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        for parameter, before in zip(model.parameters(), at_20):
            assert_true(bool(torch.isfinite(parameter).all()), mode)
            assert_false(torch.equal(parameter, before), f"{mode}: training stands still")
        for state in optimizer.optimizer.state.values():
            assert_true(bool(torch.isfinite(state["momentum_buffer"]).all()), mode)
        optimizer.close()


@on_ranks(2, NANCHECK="stop")
def with_stop_all_ranks_name_the_rank_and_may_go_on(comm):
    for mode in PARAMETER_MODES:
        model = net_without_statistics()
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        stopped = 0
        for batch in range(24):
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            if comm.rank == 1 and batch == 5:
                model[0].weight.grad[0, 0] = float("inf")
            try:
                optimizer.step()
            except fc.RemoteError as error:
                stopped += 1
                assert_in("of rank 1 has ", str(error))
        assert_equal(stopped, 1, mode)
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        assert_true(all(bool(torch.isfinite(one).all()) for one in model.parameters()), mode)
        optimizer.close()


@on_ranks(2)
def a_scaler_leaves_out_steps_of_one_rank(comm):
    if not hasattr(torch.amp, "GradScaler"):
        return  # Older ones have none for the host.
    for mode in MODES:
        model = net_of(0)
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for batch in range(9):
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            scaler.scale(loss_of(model, x, y)).backward()
            if batch == 3 and comm.rank == 1:
                model.first.weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        assert_true(bool(torch.isfinite(model.first.weight).all()), mode)
        assert_equal(scaler.get_scale(), 2.0 if comm.rank == 1 else 4.0)
        optimizer.close()


run_tests(globals(), has_forked_ranks=True)
