"""PyTorch models trained on several ranks, held against the same model trained on one with the joint batch."""

from ranks import check, check_dead_rank_is_named, end_like_a_crash, need, on_ranks, part, raises, run_tests

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm.torch import DistributedOptimizer, broadcast_optimizer_state, broadcast_parameters  # noqa: E402

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
            (loss_of(model, x[here], y[here], wants_more=wants_more(step) and i == 0) / parts).backward()
        optimizer.step()
    return model


def near(model, wanted, tolerance=1e-5):
    for (name, one), (_, other) in zip(model.named_parameters(), wanted.named_parameters()):
        apart = (one - other).abs().max().item()
        check(apart <= tolerance, f"{name} is apart by {apart}")


def same_everywhere(comm, model):
    for name, parameter in model.state_dict().items():
        everybody = comm.all_gather(parameter)
        check(all(torch.equal(one, everybody[0]) for one in everybody), f"{name} differs between ranks")


@on_ranks(1, 2, 3)
def many_ranks_come_to_what_one_does_with_the_joint_batch(comm):
    for make in (adam, momentum):
        for forget in (True, False):  # Gradients are new ones in every step, or stay where they are.
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
            check(model.never.weight.grad is None, "what nobody uses has a gradient")
            optimizer.close()


@on_ranks(2)
def a_parameter_that_only_one_rank_uses_counts_as_zero_on_the_other(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(momentum(model), comm, model.named_parameters())
    for step, (x, y) in enumerate(batches()):
        optimizer.zero_grad()
        loss_of(model, part(comm, x), part(comm, y), wants_more=step % 2 == 1 and comm.rank == 0).backward()
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
            (loss_of(model, x[:3], y[:3], wants_more=True) / 2).backward()  # Has no gradient in the second pass.
        (loss_of(model, x[3:], y[3:]) / 2).backward()
        optimizer.step()
    wanted = Mlp()
    plain = adam(wanted)
    for x, y in batches():
        plain.zero_grad()
        for i in range(4):
            (loss_of(wanted, x[3 * i:3 * i + 3], y[3 * i:3 * i + 3], wants_more=i % 2 == 0) / 4).backward()
        plain.step()
    near(model, wanted)


@on_ranks(2)
def two_passes_without_no_sync_are_refused(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(adam(model), comm, model.named_parameters())
    x, y = next(batches())
    loss_of(model, x, y).backward()
    with raises(RuntimeError, "zero_grad", "backward"):
        optimizer.zero_grad()
    with raises(RuntimeError, "twice", "no_sync"):
        loss_of(model, x, y).backward()


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
            check(optimizer.step(closure) is not None, "a closure's loss is lost")
        return model
    model, wanted = Mlp(), Mlp()
    optimizer = DistributedOptimizer(momentum(model), comm)
    near(trained(model, optimizer, lambda t: part(comm, t), optimizer.synchronize), trained(wanted, momentum(wanted), lambda t: t, lambda: None))


@on_ranks(2)
def it_takes_an_optimizers_place(comm):
    model, other = Mlp(), Mlp()
    inner = adam(model)
    optimizer = DistributedOptimizer(inner, comm, model.named_parameters())
    check(isinstance(optimizer, torch.optim.Optimizer) and optimizer.param_groups is inner.param_groups and "DistributedAdam" in repr(optimizer))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    for number, (x, y) in enumerate(batches()):
        optimizer.zero_grad()
        loss_of(model, part(comm, x), part(comm, y)).backward()
        optimizer.step()
        scheduler.step()
        if number == 3:
            break
    check(abs(optimizer.param_groups[0]["lr"] - 0.0001) < 1e-9, f"{optimizer.param_groups[0]['lr']}")
    saved = optimizer.state_dict()
    with raises(RuntimeError, "add_param_group"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
    with raises(TypeError, "state_dict"):
        __import__("copy").deepcopy(optimizer)
    again = adam(other)
    if comm.rank == 1:
        again.load_state_dict(saved)
    broadcast_optimizer_state(again, comm, root=1)
    check(repr(again.state_dict()) == repr(saved), "the state is another one")
    check(again.state_dict()["param_groups"][0]["betas"] == (0.9, 0.999))
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
def groups_may_be_added_before_the_first_step(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(torch.optim.SGD(model.first.parameters(), lr=0.1), comm)
    optimizer.add_param_group({"params": model.second.parameters(), "lr": 0.2})
    before = model.second.weight.clone()
    x, y = next(batches())
    loss_of(model, part(comm, x), part(comm, y)).backward()
    comm.all_reduce(torch.ones(3))  # The program's own calls may come at any time.
    optimizer.step()
    check(not torch.equal(before, model.second.weight))
    same_everywhere(comm, model)


@on_ranks(2, NANCHECK="skip")
def a_step_that_is_not_finite_is_not_taken_on_any_rank(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(adam(model), comm, model.named_parameters())
    before = [parameter.clone() for parameter in model.parameters()]
    x, y = next(batches())
    (loss_of(model, x, y) * (float("inf") if comm.rank == 1 else 1)).backward()
    optimizer.step()
    check(all(torch.equal(a, b) for a, b in zip(before, model.parameters())), "the step was taken")
    optimizer.zero_grad()
    loss_of(model, x, y).backward()
    optimizer.step()
    check(not torch.equal(before[0], next(model.parameters())), "the next step is not taken")
    same_everywhere(comm, model)


@on_ranks(2)
def tensors_of_every_kind_travel(comm):
    for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64):
        check(comm.all_reduce(torch.full((3, 2), comm.rank + 1).to(kind)).tolist() == [[3, 3]] * 3, f"{kind}")
    module = torch.nn.BatchNorm1d(3)  # Has a buffer that is one whole number.
    module.num_batches_tracked += comm.rank + 5
    module.register_buffer("mask", torch.tensor([comm.rank == 0, False]))
    module.register_buffer("turned", torch.full((2, 3), float(comm.rank)).t())
    broadcast_parameters(module, comm)
    check(module.num_batches_tracked == 5 and module.mask.tolist() == [True, False] and (module.turned == 0).all())
    with raises(ValueError, "contiguous()"):
        comm.all_reduce(torch.zeros(2, 3).t())
    with raises(ValueError, "meta"):
        comm.all_reduce(torch.zeros(2, device="meta"))
    model = torch.nn.Embedding(10, 4, sparse=True)
    optimizer = DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm)
    with raises(TypeError, "sparse"):
        model(torch.tensor([1, 2])).sum().backward()
    optimizer.close()
    with raises(ValueError, "averaged or summed"):
        DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm, op=fc.MAX)


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


run_tests(dict(globals()))
