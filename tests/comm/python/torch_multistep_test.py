"""MultistepOptimizer of PyTorch on several ranks, held against the same training by one process
that has a model for each rank.
"""

import copy

from ranks import need, on_ranks, raises, run_tests
from suite import assert_equal, assert_less, assert_true

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


run_tests(globals(), has_forked_ranks=True)
