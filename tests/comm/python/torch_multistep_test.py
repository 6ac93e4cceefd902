"""MultistepOptimizer of PyTorch on several ranks, held against the same training by one process
that has a model for each rank.
"""

import copy

from ranks import need, on_ranks, raises, run_tests
from suite import assert_equal, assert_false, assert_less, assert_true

torch = need("torch")
from fastgpu_comm.torch import MultistepOptimizer  # noqa: E402

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


run_tests(globals(), has_forked_ranks=True)
