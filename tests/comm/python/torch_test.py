"""PyTorch models trained on several ranks, held against the same model trained on one with the
joint batch, and against PyTorch's own way.
"""

import copy
import sys

from ranks import (
    check_dead_rank_is_named,
    end_like_a_crash,
    need,
    on_ranks,
    part,
    raises,
    run_ranks,
    run_tests,
)
from suite import assert_equal, assert_in, assert_is, assert_true

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm._torch_exchange import Exchange  # noqa: E402
from fastgpu_comm.torch import DistributedOptimizer, broadcast_parameters  # noqa: E402
from torch.utils import checkpoint  # noqa: E402

from torch_models import (  # noqa: E402
    BATCH,
    Mlp,
    adam,
    batches,
    loss_of,
    momentum,
    near,
    own_group,
    same_everywhere,
    same_gradients,
)


def trained_on_one(make, wants_more=lambda step: False, parts=1):
    model = Mlp()
    optimizer = make(model)
    for step, (x, y) in enumerate(batches()):
        optimizer.zero_grad()
        n = BATCH // parts
        for i in range(parts):
            here = slice(i * n, (i + 1) * n)
            (
                loss_of(model, x[here], y[here], wants_more=wants_more(step) and i == 0) / parts
            ).backward()
        optimizer.step()
    return model


@on_ranks(1, 2, 3)
def many_ranks_come_to_what_one_does_with_the_joint_batch(comm):
    for make in (adam, momentum):
        # Gradients are new ones in every step, or stay where they are.
        for forget in (True, False):
            model = Mlp()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(comm.rank)
            broadcast_parameters(model, comm)
            optimizer = DistributedOptimizer(make(model), comm, model.named_parameters())
            for x, y in batches():
                optimizer.zero_grad(set_to_none=forget)
                loss_of(model, part(comm, x), part(comm, y)).backward()
                optimizer.step()
            near(model, trained_on_one(make))
            same_everywhere(comm, model)
            assert_is(model.never.weight.grad, None, "what nobody uses has a gradient")
            optimizer.close()


@on_ranks(2)
def a_parameter_that_only_one_rank_uses_counts_as_zero_on_the_other(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(momentum(model), comm, model.named_parameters())
    for step, (x, y) in enumerate(batches()):
        optimizer.zero_grad()
        loss_of(
            model, part(comm, x), part(comm, y), wants_more=step % 2 == 1 and comm.rank == 0
        ).backward()
        optimizer.step()
    near(model, trained_on_one(momentum, wants_more=lambda step: step % 2 == 1, parts=2))
    same_everywhere(comm, model)


@on_ranks(2)
def gradients_add_up_here_within_no_sync(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(adam(model), comm, model.named_parameters())
    for x, y in batches():
        optimizer.zero_grad()
        x, y = part(comm, x), part(comm, y)
        with optimizer.no_sync():
            (
                loss_of(model, x[:3], y[:3], wants_more=True) / 2
            ).backward()  # Has no gradient in the second pass.
        (loss_of(model, x[3:], y[3:]) / 2).backward()
        optimizer.step()
    wanted = Mlp()
    plain = adam(wanted)
    for x, y in batches():
        plain.zero_grad()
        for i in range(4):
            (
                loss_of(wanted, x[3 * i : 3 * i + 3], y[3 * i : 3 * i + 3], wants_more=i % 2 == 0)
                / 4
            ).backward()
        plain.step()
    near(model, wanted)


@on_ranks(2)
def gradients_are_those_of_ddp_when_backward_returns(comm):
    own_group(comm)
    for forget in (True, False):
        model, wanted = Mlp(), Mlp()
        ddp = torch.nn.parallel.DistributedDataParallel(wanted, find_unused_parameters=True)
        ours, theirs = (
            DistributedOptimizer(momentum(model), comm, model.named_parameters()),
            momentum(wanted),
        )
        for step, (x, y) in enumerate(batches()):
            x, y = part(comm, x), part(comm, y)
            for one, optimizer in ((model, ours), (ddp, theirs)):
                optimizer.zero_grad(set_to_none=forget)
                if step % 3 == 1:
                    with optimizer.no_sync() if one is model else ddp.no_sync():
                        loss_of(one, x[2:], y[2:]).backward()
                # A second pass adds to the averages of the first.
                for again in range(1 + step % 2):
                    loss_of(one, x[again:], y[again:], wants_more=step > 2).backward()
            same_gradients(model, wanted)
            for one, optimizer in ((model, ours), (wanted, theirs)):
                torch.nn.utils.clip_grad_norm_(one.parameters(), 0.1)
                optimizer.step()
        near(model, wanted)
        same_everywhere(comm, model)
        ours.close()
    torch.distributed.destroy_process_group()


@on_ranks(2)
def parameters_that_are_unfrozen_or_added_later_are_averaged_too(comm):
    def trained(model, make, share):
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name.startswith("second"))
        used = [
            parameter
            for name, parameter in model.named_parameters()
            if not name.startswith("sometimes")
        ]
        optimizer = make(torch.optim.SGD(used, lr=0.05, momentum=0.9))
        for step, (x, y) in enumerate(batches()):
            if step == 3:
                for parameter in model.first.parameters():
                    parameter.requires_grad_(True)
            if step == 5:
                for parameter in model.sometimes.parameters():
                    parameter.requires_grad_(True)
                optimizer.add_param_group({"params": model.sometimes.parameters(), "lr": 0.1})
            if step == 6:
                model.second.bias.requires_grad_(False)
                model.second.bias.grad = None
            optimizer.zero_grad()
            loss_of(model, share(x), share(y), wants_more=step > 4).backward()
            optimizer.step()
        return model

    model = trained(
        Mlp(), lambda plain: DistributedOptimizer(plain, comm), lambda rows: part(comm, rows)
    )
    near(model, trained(Mlp(), lambda plain: plain, lambda rows: rows))
    same_everywhere(comm, model)


@on_ranks(2)
def parameters_that_one_rank_alone_unfreezes_are_refused_on_all(comm):
    model = Mlp()
    model.first.weight.requires_grad_(False)
    optimizer = DistributedOptimizer(momentum(model), comm, model.named_parameters())
    x, y = next(batches())
    loss_of(model, x, y).backward()
    optimizer.step()
    optimizer.zero_grad()
    if comm.rank == 1:
        model.first.weight.requires_grad_(True)
    with raises(fc.UsageError, "rank", "first.weight"):
        loss_of(model, x, y).backward()
    comm.close()
    sys.exit(0)


@on_ranks(2)
def a_gan_trains_as_on_one_rank(comm):
    def trained(make, share):
        torch.manual_seed(3)
        generator, critic = (
            torch.nn.Linear(6, 6),
            torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)),
        )
        of_critic = make(torch.optim.Adam(critic.parameters(), lr=0.01))
        of_generator = make(torch.optim.Adam(generator.parameters(), lr=0.01))
        for x, _ in batches():
            of_generator.zero_grad()
            critic(generator(share(x))).mean().backward()  # Leaves gradients of the critic too.
            of_generator.step()
            of_critic.zero_grad()
            critic(share(x)).mean().backward()
            (-critic(generator(share(x)).detach()).mean()).backward()
            of_critic.step()
        return torch.nn.ModuleList([generator, critic])

    model = trained(lambda plain: DistributedOptimizer(plain, comm), lambda rows: part(comm, rows))
    near(model, trained(lambda plain: plain, lambda rows: rows))
    same_everywhere(comm, model)


class Checkpointed(torch.nn.Module):
    """A layer that is used twice, each time in a backward pass within the backward pass."""

    def __init__(self, has_head):
        super().__init__()
        torch.manual_seed(7)
        self.shared, self.unused = torch.nn.Linear(6, 6), torch.nn.Linear(2, 2)
        self.head = torch.nn.Linear(6, 3) if has_head else torch.nn.Identity()

    def forward(self, x):
        for _ in range(2):
            x = checkpoint.checkpoint(
                lambda rows: torch.tanh(self.shared(rows)), x, use_reentrant=True
            )
        return self.head(x)


@on_ranks(2)
def passes_within_passes_are_averaged(comm):
    for has_head in (True, False):
        model, wanted = Checkpointed(has_head), Checkpointed(has_head)
        optimizer, plain = DistributedOptimizer(momentum(model), comm), momentum(wanted)
        for x, _ in batches():
            for one, its, rows in ((model, optimizer, part(comm, x)), (wanted, plain, x)):
                its.zero_grad()
                one(rows.clone().requires_grad_()).square().mean().backward()
            same_gradients(model, wanted)
            optimizer.step()
            plain.step()
        same_everywhere(comm, model)


@on_ranks(2)
def what_ranks_know_of_each_other_may_be_exchanged_apart_from_gradients(comm):
    # As for gradients of a GPU, which there is not here.
    before = Exchange._has_device_gradients
    Exchange._has_device_gradients = lambda self: True
    try:
        for test in (
            a_parameter_that_only_one_rank_uses_counts_as_zero_on_the_other,
            parameters_that_are_unfrozen_or_added_later_are_averaged_too,
            parameters_that_one_rank_alone_unfreezes_are_refused_on_all,
            passes_within_passes_are_averaged,
            sparse_gradients_are_averaged,
        ):
            test(comm)
    finally:
        Exchange._has_device_gradients = before


@on_ranks(2)
def sums_are_not_summed_again(comm):
    model, wanted = Mlp(), Mlp()
    _optimizer = DistributedOptimizer(momentum(model), comm, op=fc.SUM)  # Exchanges while it lives.
    x, y = next(batches())
    loss_of(model, part(comm, x), part(comm, y)).backward()
    (loss_of(wanted, x[:6], y[:6]) + loss_of(wanted, x[6:], y[6:])).backward()
    same_gradients(model, wanted)
    model.never(part(comm, x)).sum().backward()  # Others stay as they are.
    wanted.never(x).sum().backward()
    same_gradients(model, wanted, 1e-5)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)  # A sum that is changed is still one.
    with raises(RuntimeError, "zero_grad", "no_sync"):
        loss_of(model, x, y).backward()
    comm.close()
    sys.exit(0)


@on_ranks(2)
def sums_of_two_optimizers_are_refused(comm):
    model = Mlp()
    x, y = next(batches())
    first = DistributedOptimizer(momentum(model), comm, model, op=fc.SUM)
    loss_of(model, x, y).backward()
    second = DistributedOptimizer(momentum(model), comm, model, op=fc.SUM)
    first.close()
    second.zero_grad()
    loss_of(model, x, y).backward()  # The first is closed.
    second.step()
    third = DistributedOptimizer(momentum(model), comm, model, op=fc.SUM)
    third.zero_grad()
    with raises(RuntimeError, "first.weight is summed by another", "call its close()"):
        third.step()


@on_ranks(2)
def sums_that_were_set_to_zero_take_further_gradients(comm):
    for zero in (
        lambda model, optimizer: optimizer.zero_grad(set_to_none=False),
        lambda model, optimizer: model.zero_grad(set_to_none=False),
        lambda model, optimizer: optimizer.zero_grad(set_to_none=True),
    ):
        model = Mlp()
        optimizer = DistributedOptimizer(momentum(model), comm, model, op=fc.SUM)
        for step, (x, y) in enumerate(batches()):
            zero(model, optimizer)
            wanted = copy.deepcopy(model)
            wanted.zero_grad()
            sides = [(model, part(comm, x), part(comm, y))]
            sides += [(wanted, x[:6], y[:6]), (wanted, x[6:], y[6:])]
            for one, inputs, labels in sides:
                loss = loss_of(one, inputs, labels)
                if step != 1:  # Is not used there.
                    loss = loss + one.never(inputs).sum()
                loss.backward()
            for (name, ours), other in zip(model.named_parameters(), wanted.parameters()):
                expected = torch.zeros_like(other) if other.grad is None else other.grad
                found = torch.zeros_like(ours) if ours.grad is None else ours.grad
                assert_true(torch.allclose(found, expected, atol=1e-5), f"step {step}: {name}")
            optimizer.step()
        optimizer.close()


class Complex(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.weight = torch.nn.Parameter(torch.randn(6, 3, dtype=torch.complex64))
        self.convolution = torch.nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last)

    def forward(self, x):
        image = x[:, :, None, None].expand(-1, -1, 3, 4)[:, :2]
        return (x.to(torch.complex64) @ self.weight).abs() + self.convolution(image).mean(
            (1, 2, 3)
        )[:, None]


@on_ranks(2)
def complex_parameters_and_those_of_other_layouts_are_averaged(comm):
    model, wanted = Complex(), Complex()
    optimizer, plain = DistributedOptimizer(momentum(model), comm), momentum(wanted)
    for x, y in batches():
        for one, its, rows in (
            (model, optimizer, lambda t: part(comm, t)),
            (wanted, plain, lambda t: t),
        ):
            its.zero_grad()
            loss_of(one, rows(x), rows(y)).backward()
        same_gradients(model, wanted)
        assert_equal(
            model.convolution.weight.grad.stride(),
            model.convolution.weight.stride(),
            "the gradient has another layout",
        )
        optimizer.step()
        plain.step()
    near(model, wanted)


@on_ranks(2, 3)
def sparse_gradients_are_averaged(comm):
    def trained(make, share):
        torch.manual_seed(7)
        model = torch.nn.EmbeddingBag(20, 4, mode="sum", sparse=True)
        optimizer = make(torch.optim.SparseAdam(list(model.parameters()), lr=0.1))
        for step in range(4):
            rows = torch.arange(12).reshape(12, 1) + step
            optimizer.zero_grad()
            (model(share(rows)) ** 2).mean().backward()
            assert_true(model.weight.grad.is_sparse, "the gradient is dense")
            optimizer.step()
        return model

    model = trained(lambda plain: DistributedOptimizer(plain, comm), lambda rows: part(comm, rows))
    near(model, trained(lambda plain: plain, lambda rows: rows))
    same_everywhere(comm, model)


def failing_in_backward():
    comm = fc.init()
    model = Mlp()
    optimizer = DistributedOptimizer(momentum(model), comm, model.named_parameters())
    x, y = next(batches())
    x.requires_grad_()

    def fail(_):
        raise MemoryError("no room")

    if comm.rank == 1:
        x.register_hook(fail)
    try:
        loss_of(model, x, y).backward()
    except MemoryError:
        with raises(RuntimeError, "backward() has failed"):
            optimizer.zero_grad()
        with raises(RuntimeError, "backward() has failed"):
            loss_of(model, x.detach(), y).backward()
        with raises(RuntimeError, "backward() has failed"):
            optimizer.step()
        sys.exit(3)


def test_a_backward_pass_that_fails_on_one_rank_ends_the_others():
    (first, said), (second, other) = run_ranks("failing_in_backward", 2)
    assert_equal(first, 1, said)
    assert_in("RemoteError", said)
    assert_in("rank 1", said)
    assert_equal(second, 3, other)


def train_unevenly(end):
    with fc.init() as comm:
        model = Mlp()
        optimizer = DistributedOptimizer(momentum(model), comm, model)
        for step, (x, y) in enumerate(batches()):
            if step == 3 + comm.rank:
                break
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step()
        end(comm)


def uneven_training():
    train_unevenly(lambda comm: None)


def uneven_training_with_metrics():
    train_unevenly(lambda comm: comm.all_reduce(torch.zeros(1)))


def test_ranks_with_different_numbers_of_batches_are_told_so():
    for name in ("uneven_training", "uneven_training_with_metrics"):
        for code, said in run_ranks(name, 2):
            assert_equal(code, 1, said)
            assert_in("it has made fewer steps than others", said)
            assert_in("equally many batches", said)


def killed_in_training():
    comm = fc.init()
    model = Mlp()
    optimizer = DistributedOptimizer(adam(model), comm, model.named_parameters())
    for step, (x, y) in enumerate(batches()):
        if step == 2:
            end_like_a_crash(comm, rank=1)
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step()


def test_a_rank_that_dies_in_training_is_named():
    check_dead_rank_is_named("killed_in_training")


run_tests(dict(globals()), has_forked_ranks=True)
