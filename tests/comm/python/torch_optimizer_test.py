"""DistributedOptimizer in the place of PyTorch's optimizers: its steps, closures, scaled losses,
groups and saved states, on several ranks.
"""

import copy
import functools
import warnings

from ranks import need, on_ranks, part, raises, run_tests
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_is,
    assert_is_not,
    assert_less,
    assert_true,
)

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm.torch import (  # noqa: E402
    DistributedOptimizer,
    MultistepOptimizer,
    broadcast_optimizer_state,
    broadcast_parameters,
)
from fastgpu_comm.torch_gossip import GossipOptimizer  # noqa: E402

from torch_models import Mlp, adam, batches, loss_of, momentum, near, same_everywhere  # noqa: E402


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
def wrong_arguments_are_refused_in_words(comm):
    model = Mlp()
    good = momentum(model)
    for wrapper in (DistributedOptimizer, MultistepOptimizer, GossipOptimizer):
        name = wrapper.__name__
        with raises(TypeError, f"{name}: the optimizer is of type Mlp: give one of torch.optim"):
            wrapper(model, comm)
        for wrong in (None, model):
            with raises(TypeError, f"{name}: comm is of type {type(wrong).__name__}", "init()"):
                wrapper(good, wrong)
        for wrong in ([("a", 1)], 7, ["a"], model.parameters()):
            with raises(TypeError, f"{name}: named_parameters", "give the module"):
                wrapper(good, comm, wrong)
    for wrong in (None, 1):
        with raises(TypeError, "Gradients: comm is of type"):
            fc.Gradients(wrong)
    optimizer = DistributedOptimizer(good, comm, model)  # The job goes on.
    x, y = next(batches())
    loss_of(model, x, y).backward()
    optimizer.step()


def of_other_tensors(tensor):
    """Returns a parameter whose elements are in another tensor, as those of a DTensor are."""

    class Outer(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, tensor.shape, dtype=tensor.dtype)

        def __init__(self):
            self.inner = tensor

        def __repr__(self):
            return "Outer"

        @classmethod
        def __torch_dispatch__(cls, function, types, arguments=(), named=None):
            def inner(one):
                return one.inner if isinstance(one, cls) else one

            return function(*map(inner, arguments), **(named or {}))

    return Outer().requires_grad_()


@on_ranks(2)
def parameters_that_are_divided_are_refused_by_name(comm):
    for make, word in (
        (lambda: of_other_tensors(torch.ones(3)), "is a Outer without memory of its own"),
        (lambda: torch.ones(3, requires_grad=True), "belongs to FSDP"),
    ):
        for wrapper in (DistributedOptimizer, MultistepOptimizer, GossipOptimizer):
            divided = make()
            if word == "belongs to FSDP":
                divided._fsdp_flattened = True
            inner = torch.optim.SGD([torch.ones(2, requires_grad=True), divided], lr=0.1)
            more = {"mode": "delay=1"} if wrapper is MultistepOptimizer else {}
            with raises(
                TypeError, f"{wrapper.__name__}: the parameter w {word}", "comm.all_reduce"
            ):
                wrapper(inner, comm, [("w", divided)], **more)
    with raises(TypeError, "the tensor w is a Outer without memory", "broadcast_parameters"):
        broadcast_parameters([("w", of_other_tensors(torch.ones(3)))], comm)
    words = ("all_reduce: data is a Outer without memory of its own", ".to_local()")
    with torch.no_grad(), raises(TypeError, *words):
        comm.all_reduce(of_other_tensors(torch.ones(3)))


@on_ranks(2)
def gradients_may_have_another_type_than_their_parameters(comm):
    if not hasattr(torch.Tensor, "grad_dtype"):
        return  # Since PyTorch 2.10.
    for wrapper, more in (
        (DistributedOptimizer, {}),
        (MultistepOptimizer, {"mode": "accumulate=1"}),
    ):
        model = torch.nn.Linear(4, 2).bfloat16()
        for parameter in model.parameters():
            parameter.grad_dtype = torch.float32
        found, parameters = [], list(model.parameters())
        inner = torch.optim.SGD(parameters, lr=0.1, foreach=False)

        def keep(*_, found=found, parameters=parameters):
            found.extend(one.grad.clone() for one in parameters)

        inner.register_step_pre_hook(keep)
        optimizer = wrapper(inner, comm, model, **more)
        (model(torch.full((1, 4), 1.0 + 2 * comm.rank).bfloat16()).float().sum()).backward()
        try:
            optimizer.step()
        except RuntimeError as error:  # Not every optimizer of PyTorch takes such gradients.
            assert_in("dtype", str(error))
        assert_equal([one.dtype for one in found], [torch.float32] * 2)
        assert_equal(found[0].tolist(), [[2.0] * 4] * 2)


@on_ranks(2)
def a_step_within_backward_is_refused(comm):
    """An optimizer in the backward pass would be given gradients that are not averaged."""
    if not hasattr(torch.Tensor, "register_post_accumulate_grad_hook"):
        return  # Since PyTorch 2.1.
    calls = {
        "step()": lambda optimizer: optimizer.step(),
        "zero_grad()": lambda optimizer: optimizer.zero_grad(),
        "synchronize()": lambda optimizer: optimizer.synchronize(),
    }
    for name, call in calls.items():
        model = Mlp()
        optimizer = DistributedOptimizer(momentum(model), comm, model)
        x, y = next(batches())
        loss_of(model, x, y).backward()
        optimizer.step()
        hook = functools.partial(lambda call, optimizer, _: call(optimizer), call, optimizer)
        model.second.bias.register_post_accumulate_grad_hook(hook)
        with raises(RuntimeError, f"{name} within backward()", "after it"):
            loss_of(model, x, y).backward()


@on_ranks(2)
def what_is_exchanged_already_is_not_exchanged_twice(comm):
    made = {
        "DistributedOptimizer": DistributedOptimizer(momentum(Mlp()), comm),
        "GossipOptimizer": GossipOptimizer(momentum(Mlp()), comm),
        "MultistepOptimizer": MultistepOptimizer(momentum(Mlp()), comm, mode="local_steps=2"),
    }
    for kind, inner in made.items():
        for wrapper in (DistributedOptimizer, MultistepOptimizer, GossipOptimizer):
            with raises(
                ValueError, f"{wrapper.__name__}: the optimizer is a {kind} already: give the one"
            ):
                wrapper(inner, comm)


@on_ranks(2)
def a_closure_gives_no_warning(comm):
    model = Mlp().double()
    optimizer = DistributedOptimizer(torch.optim.LBFGS(model.parameters()), comm)
    x, y = next(iter(batches()))

    def closure():
        optimizer.zero_grad()
        loss = loss_of(model, x.double(), y)
        loss.backward()
        return loss

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step(closure)


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
    saved = copy.deepcopy(optimizer.state_dict())  # Optimizers may share what they load.
    with raises(TypeError, "state_dict"):
        copy.deepcopy(optimizer)
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
    one = comm.split(comm.rank, 0)  # A job of fewer ranks.
    with raises(fc.UsageError, "of 2, not of rank 0 of 1", 'remove the key "fastgpu_comm"'):
        mine = {**saved, "fastgpu_comm": {**saved["fastgpu_comm"], "rank": 0}}
        DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1), one).load_state_dict(mine)
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


run_tests(dict(globals()), has_forked_ranks=True)
