"""PyTorch models trained on several ranks, held against the same model trained on one with the
joint batch, and against PyTorch's own way.
"""

import sys

from ranks import (
    check_dead_rank_is_named,
    end_like_a_crash,
    free_port,
    need,
    on_ranks,
    part,
    raises,
    run_ranks,
    run_tests,
)
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_is,
    assert_is_not,
    assert_less,
    assert_less_equal,
    assert_true,
)

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm._torch_broadcast import in_one_memory  # noqa: E402
from fastgpu_comm._torch_exchange import Exchange  # noqa: E402
from fastgpu_comm.torch import (  # noqa: E402
    DistributedOptimizer,
    broadcast_optimizer_state,
    broadcast_parameters,
)
from torch.utils import checkpoint  # noqa: E402

STEPS = 8
BATCH = 12


class Mlp(torch.nn.Module):
    """With a part that only some samples use, and one that none does."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.first, self.second = torch.nn.Linear(6, 16), torch.nn.Linear(16, 3)
        self.sometimes, self.never = torch.nn.Linear(6, 16), torch.nn.Linear(6, 16)

    def forward(self, x, wants_more=False):
        hidden = self.first(x) + (self.sometimes(x) if wants_more else 0)
        return self.second(torch.relu(hidden))


def batches():
    generator = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        yield torch.randn(BATCH, 6, generator=generator), torch.randn(BATCH, 3, generator=generator)


def loss_of(model, x, y, **more):
    return ((model(x, **more) - y) ** 2).mean()


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.01)


def momentum(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)


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


def near(model, wanted, tolerance=1e-5):
    for (name, one), (_, other) in zip(model.named_parameters(), wanted.named_parameters()):
        apart = (one - other).abs().max().item()
        assert_less_equal(apart, tolerance, f"{name} is apart by {apart}")


def same_everywhere(comm, model):
    for name, parameter in model.state_dict().items():
        everybody = comm.all_gather(parameter)
        assert_true(
            all(torch.equal(one, everybody[0]) for one in everybody),
            f"{name} differs between ranks",
        )


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


def own_group(comm):
    """PyTorch's own ranks beside ours, for DistributedDataParallel by Gloo."""
    port = torch.tensor([int(free_port())])
    comm.broadcast(port)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{int(port)}", rank=comm.rank, world_size=comm.size
    )


def same_gradients(model, wanted, tolerance=1e-6):
    for (name, one), (_, other) in zip(model.named_parameters(), wanted.named_parameters()):
        assert_equal(
            one.grad is None,
            other.grad is None,
            f"{name} has {'no' if one.grad is None else 'a'} gradient",
        )
        apart = 0 if one.grad is None else (one.grad - other.grad).abs().max().item()
        assert_less_equal(apart, tolerance, f"the gradient of {name} is apart by {apart}")


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


class Scaler:
    """What the loop of PyTorch's manual does with a GradScaler, which works with a GPU only in
    releases that are older.
    """

    def __init__(self):
        self.scale_now = 65536.0

    def scale(self, loss):
        return loss * self.scale_now

    def step(self, optimizer):
        gradients = [
            one.grad
            for group in optimizer.param_groups
            for one in group["params"]
            if one.grad is not None
        ]
        for one in gradients:
            one.mul_(1 / self.scale_now)
        self.is_finite = all(torch.isfinite(one).all() for one in gradients)
        if self.is_finite:
            optimizer.step()

    def update(self):
        self.scale_now *= 1 if self.is_finite else 0.5


def scaler():
    return (
        torch.amp.GradScaler("cpu")
        if hasattr(getattr(torch, "amp", None), "GradScaler")
        else Scaler()
    )


@on_ranks(2, 3)
def a_grad_scaler_unscales_averages(comm):
    model, wanted = Mlp(), Mlp()
    scales = scaler(), scaler()
    runs = (
        (
            model,
            DistributedOptimizer(momentum(model), comm),
            lambda rows: part(comm, rows),
            scales[0],
        ),
        (wanted, momentum(wanted), lambda rows: rows, scales[1]),
    )
    for x, y in batches():
        for one, optimizer, share, scale in runs:
            optimizer.zero_grad()
            scale.scale(loss_of(one, share(x), share(y))).backward()
            scale.step(optimizer)
            scale.update()
    near(model, wanted)


@on_ranks(2, NANCHECK="skip")
def a_grad_scaler_skips_the_same_steps_everywhere(comm):
    model, scale = Mlp(), scaler()
    optimizer = DistributedOptimizer(momentum(model), comm)
    before = model.first.weight.clone()
    for step, (x, y) in enumerate(batches()):
        optimizer.zero_grad()
        is_bad = step < 2 and comm.rank == 1
        scale.scale(loss_of(model, x, y) * (float("inf") if is_bad else 1)).backward()
        scale.step(optimizer)
        scale.update()
        assert_equal(torch.equal(before, model.first.weight), step < 2, f"in step {step}")
        same_everywhere(comm, model)


@on_ranks(2, 3)
def lbfgs_decides_alike_on_all_ranks(comm):
    def trained(model, optimizer, share):
        for x, y in batches():

            def closure(x=x, y=y):
                optimizer.zero_grad()
                loss = loss_of(model, share(x), share(y))
                loss.backward()
                return loss

            optimizer.step(closure)
        return model

    def lbfgs(model):
        return torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe", max_iter=6)

    model, wanted = Mlp().double(), Mlp().double()
    trained(wanted, lbfgs(wanted), lambda rows: rows.double())
    trained(model, DistributedOptimizer(lbfgs(model), comm), lambda rows: part(comm, rows).double())
    near(model, wanted, 1e-4)
    same_everywhere(comm, model)


@on_ranks(2)
def the_loss_of_a_closure_is_that_of_all_ranks(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(momentum(model), comm)
    for given, wanted in (
        (torch.tensor(float(comm.rank)), 0.5),
        (torch.tensor([comm.rank], dtype=torch.float64), 0.5),
        (comm.rank * 3, 1.5),
        (None, None),
        ("text", "text"),
    ):
        found = optimizer.step(lambda given=given: given)
        assert_equal(found, wanted)
        assert_true(
            not isinstance(given, torch.Tensor)
            or (found.dtype, found.shape) == (given.dtype, given.shape),
            f"{found}",
        )


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
def optimizers_come_and_go_without_end(comm):
    # Each has four communicators and more, of 4096 that may be there at a time.
    for number in range(1200):
        model = torch.nn.Linear(2, 1)
        optimizer = DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        if number % 2:
            optimizer.close()


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
    with raises(RuntimeError, "zero_grad", "no_sync"):
        loss_of(model, x, y).backward()
    comm.close()
    sys.exit(0)


@on_ranks(2)
def gradients_that_are_assigned_are_averaged_by_step(comm):
    model = Mlp()
    before = model.first.weight.clone()
    optimizer = DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1), comm)
    for _ in range(2):
        optimizer.zero_grad()
        model.first.weight.grad = torch.full_like(model.first.weight, float(comm.rank))
        optimizer.step()
    assert_true(torch.allclose(model.first.weight, before - 1), "not the average")
    with optimizer.no_sync():
        (model.first.weight.sum() * comm.rank).backward()  # Adds to the average: both are there.
    optimizer.step()
    assert_true(
        torch.allclose(model.first.weight, before - 2), "what was added up here is not averaged"
    )


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


class Normalised(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.ReLU(),
            torch.nn.Linear(8, 3),
        )
        self.register_buffer("turned", torch.zeros(2, 3).t())  # Not contiguous.
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x):
        if self.training:
            self.turned += x[:3, :2].detach()
            self.seen += 1
        return self.layers(x)


@on_ranks(2, 3)
def buffers_are_those_of_ddp(comm):
    own_group(comm)
    model, wanted = Normalised(), Normalised()
    ddp = torch.nn.parallel.DistributedDataParallel(wanted)
    ours, theirs = DistributedOptimizer(momentum(model), comm, model), momentum(wanted)
    for step, (x, y) in enumerate(batches()):
        losses = []
        for one, optimizer in ((model, ours), (ddp, theirs)):
            optimizer.zero_grad()
            if step % 3 == 2:
                with optimizer.no_sync() if one is model else ddp.no_sync():
                    loss_of(one, part(comm, x) + 1, part(comm, y)).backward()
            losses.append(loss_of(one, part(comm, x), part(comm, y)))
            losses[-1].backward()
            optimizer.step()
        assert_less_equal(abs(losses[0].item() - losses[1].item()), 1e-5, f"step {step}")
        for name, one in model.named_buffers():
            everybody = comm.all_gather(one.contiguous())
            assert_true(
                all(torch.equal(each, everybody[0]) for each in everybody),
                f"{name} differs between ranks",
            )
        if comm.rank == 0:
            model.eval()  # One rank may evaluate alone.
            loss_of(model, x, y)
            model.train()
            for (name, one), (_, other) in zip(model.named_buffers(), wanted.named_buffers()):
                assert_true(
                    torch.allclose(one.float(), other.float(), atol=1e-5),
                    f"{name} is {one}, not {other}",
                )
    near(model, wanted)
    torch.distributed.destroy_process_group()


@on_ranks(2)
def buffers_stay_as_they_are_where_that_is_asked_for(comm):
    for named, more in (
        (lambda model: model, {"broadcast_buffers": False}),
        (lambda model: model.named_parameters(), {}),
    ):
        model = Normalised()
        optimizer = DistributedOptimizer(momentum(model), comm, named(model), **more)
        x, y = next(batches())
        loss_of(model, part(comm, x), part(comm, y)).backward()
        optimizer.step()
        everybody = comm.all_gather(model.layers[1].running_mean)
        assert_false(torch.equal(everybody[0], everybody[1]), "statistics are shared")
        optimizer.close()


@on_ranks(2)
def autograd_notices_what_is_written_to_a_tensor(comm):
    def written(call):
        start = torch.ones(4, requires_grad=True)
        kept = start * 2
        loss = (kept * kept).sum()  # Its backward pass needs `kept`.
        call(kept.detach())
        with raises(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def received(data):
        if comm.rank == 0:
            comm.recv(data, 1)
        else:
            comm.send(torch.zeros(4), 0)
            data.zero_()

    written(lambda data: comm.all_reduce(data))
    written(lambda data: comm.all_reduce_async(data).wait())
    written(lambda data: comm.broadcast(data))
    written(lambda data: comm.all_to_all(data.clone(), out=data))
    written(lambda data: comm.all_gather(data[:2].clone(), out=data))
    written(received)

    def exchanged(data):
        gradients = fc.Gradients(comm)
        gradients.register("one", data)
        gradients.ready("one")
        gradients.wait()
        gradients.close()

    written(exchanged)
    start = torch.ones(4, requires_grad=True)
    kept = start * 2
    comm.send(kept.detach(), 1) if comm.rank == 0 else comm.recv(torch.zeros(4), 0)
    comm.all_gather(kept.detach())
    (kept * kept).sum().backward()  # Those write nothing to it.
    with torch.inference_mode():
        inferred = torch.ones(2)
    assert_equal(comm.all_reduce(inferred).tolist(), [2, 2])


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


@on_ranks(2)
def gradients_may_be_clipped_and_steps_repeated_by_a_closure(comm):
    def trained(model, optimizer, share, synchronize):
        for x, y in batches():
            optimizer.zero_grad()
            loss_of(model, share(x), share(y)).backward()
            synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        x, y = next(batches())

        def closure():
            optimizer.zero_grad()
            loss = loss_of(model, share(x), share(y))
            loss.backward()
            return loss

        with torch.enable_grad():
            assert_is_not(optimizer.step(closure), None, "a closure's loss is lost")
        return model

    model, wanted = Mlp(), Mlp()
    optimizer = DistributedOptimizer(momentum(model), comm)
    near(
        trained(model, optimizer, lambda t: part(comm, t), optimizer.synchronize),
        trained(wanted, momentum(wanted), lambda t: t, lambda: None),
    )


@on_ranks(2)
def it_takes_an_optimizers_place(comm):
    model, other = Mlp(), Mlp()
    inner = adam(model)
    optimizer = DistributedOptimizer(inner, comm, model.named_parameters())
    assert_true(isinstance(optimizer, torch.optim.Optimizer))
    assert_is(optimizer.param_groups, inner.param_groups)
    assert_in("DistributedAdam", repr(optimizer))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    for number, (x, y) in enumerate(batches()):
        optimizer.zero_grad()
        loss_of(model, part(comm, x), part(comm, y)).backward()
        optimizer.step()
        scheduler.step()
        if number == 3:
            break
    assert_less(
        abs(optimizer.param_groups[0]["lr"] - 0.0001), 1e-9, f"{optimizer.param_groups[0]['lr']}"
    )
    saved = optimizer.state_dict()
    with raises(TypeError, "state_dict"):
        __import__("copy").deepcopy(optimizer)
    again = adam(other)
    if comm.rank == 1:
        again.load_state_dict(saved)
    broadcast_optimizer_state(again, comm, root=1)
    known = {key: value for key, value in saved.items() if key != "fastgpu_comm"}
    assert_equal(repr(again.state_dict()), repr(known), "the state is another one")
    assert_equal(again.state_dict()["param_groups"][0]["betas"], (0.9, 0.999))
    resumed = DistributedOptimizer(again, comm)
    resumed.load_state_dict(saved)
    other.load_state_dict(model.state_dict())
    for one, its in ((model, optimizer), (other, resumed)):
        x, y = next(batches())
        its.zero_grad()
        loss_of(one, part(comm, x), part(comm, y)).backward()
        its.step()
    near(model, other, 0)


@on_ranks(2)
def what_a_codec_has_not_sent_is_saved_and_loaded_with_the_optimizer(comm):
    settings = {"FASTGPU_COMM_WIRE": "topk:0.1", "FASTGPU_COMM_MIXED_SMALL": "1"}

    def weights(optimizer, parameter, steps):
        found = []
        for step in steps:
            optimizer.zero_grad()
            parameter.grad = torch.sin(torch.arange(200.0) * (step + 1) + comm.rank)
            optimizer.step()
            found.append(parameter.detach().clone())
        return found

    parameter = torch.nn.Parameter(torch.zeros(200))
    optimizer = DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1), comm, settings=settings)
    weights(optimizer, parameter, range(4))
    saved, here = optimizer.state_dict(), parameter.detach().clone()
    assert_equal(saved["fastgpu_comm"]["rank"], comm.rank)
    wanted = weights(optimizer, parameter, range(4, 8))
    optimizer.close()

    def resumed(state):
        again = torch.nn.Parameter(here.clone())
        other = DistributedOptimizer(torch.optim.SGD([again], lr=0.1), comm, settings=settings)
        other.load_state_dict(state)
        found = weights(other, again, range(4, 8))
        other.close()
        return found

    assert_true(
        all(torch.equal(a, b) for a, b in zip(resumed(saved), wanted)), "it goes on as it was"
    )
    del saved["fastgpu_comm"]
    assert_false(
        all(torch.equal(a, b) for a, b in zip(resumed(saved), wanted)), "the state matters"
    )


@on_ranks(2)
def groups_may_be_added_before_the_first_step(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(torch.optim.SGD(model.first.parameters(), lr=0.1), comm)
    optimizer.add_param_group({"params": model.second.parameters(), "lr": 0.2})
    before = model.second.weight.clone()
    x, y = next(batches())
    loss_of(model, part(comm, x), part(comm, y)).backward()
    comm.all_reduce(torch.ones(3))  # The program's own calls may come at any time.
    optimizer.step()
    assert_false(torch.equal(before, model.second.weight))
    same_everywhere(comm, model)


@on_ranks(2, NANCHECK="skip")
def a_step_that_is_not_finite_is_not_taken_on_any_rank(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(adam(model), comm, model.named_parameters())
    before = [parameter.clone() for parameter in model.parameters()]
    x, y = next(batches())
    (loss_of(model, x, y) * (float("inf") if comm.rank == 1 else 1)).backward()
    optimizer.step()
    assert_true(
        all(torch.equal(a, b) for a, b in zip(before, model.parameters())), "the step was taken"
    )
    optimizer.zero_grad()
    loss_of(model, x, y).backward()
    optimizer.step()
    assert_false(torch.equal(before[0], next(model.parameters())), "the next step is not taken")
    same_everywhere(comm, model)


@on_ranks(2)
def tensors_of_every_kind_travel(comm):
    for kind in (
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.int32,
        torch.int64,
    ):
        assert_equal(
            comm.all_reduce(torch.full((3, 2), comm.rank + 1).to(kind)).tolist(),
            [[3, 3]] * 3,
            f"{kind}",
        )
    module = torch.nn.BatchNorm1d(3)  # Has a buffer that is one whole number.
    module.num_batches_tracked += comm.rank + 5
    module.register_buffer("mask", torch.tensor([comm.rank == 0, False]))
    module.register_buffer("turned", torch.full((2, 3), float(comm.rank)).t())
    broadcast_parameters(module, comm)
    assert_equal(module.num_batches_tracked, 5)
    assert_equal(module.mask.tolist(), [True, False])
    assert_true((module.turned == 0).all())
    with raises(ValueError, "contiguous()"):
        comm.all_reduce(torch.zeros(2, 3).t())
    with raises(ValueError, "requires a gradient"):
        comm.all_reduce(torch.zeros(2, requires_grad=True))
    with torch.no_grad():
        assert_equal(comm.all_reduce(torch.nn.Parameter(torch.ones(2))).tolist(), [2, 2])
    with raises(ValueError, "meta"):
        comm.all_reduce(torch.zeros(2, device="meta"))
    model = Mlp()
    with raises(ValueError, "averaged or summed"):
        DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm, op=fc.MAX)


class OfGpu:
    """Stands in for a tensor of a GPU, which knows where it has been copied to."""

    def __init__(self, device):
        self.device, self.is_cuda = device, device != "cpu"

    def contiguous(self):
        return self

    def cpu(self):
        return OfGpu("cpu")


def test_tensors_of_several_gpus_are_broadcast_by_the_hosts_memory():
    def places(*devices):
        return [one.device for one in in_one_memory([OfGpu(device) for device in devices])]

    assert_equal(places("cpu", "cuda:1", "cuda:1"), ["cpu", "cuda:1", "cuda:1"])
    assert_equal(places("cuda:0", "cpu", "cuda:1"), ["cpu"] * 3)
    assert_equal(places(), [])


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
