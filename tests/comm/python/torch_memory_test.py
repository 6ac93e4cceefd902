"""Where the gradients of PyTorch are: in memory that backward has made, or that the program has."""

import sys

from ranks import need, on_ranks, part, raises, run_tests
from suite import assert_equal, assert_is, assert_true

torch = need("torch")
from fastgpu_comm.torch import DistributedOptimizer  # noqa: E402

from torch_models import Mlp, batches, loss_of, momentum, near  # noqa: E402


@on_ranks(2)
def what_backward_has_made_gets_the_average_where_it_is(comm):
    weight = torch.nn.Parameter(torch.ones(4, 3))
    optimizer = DistributedOptimizer(torch.optim.SGD([weight], 1.0), comm, [("weight", weight)])
    seen = []
    for kept in (False, True):
        optimizer.zero_grad(set_to_none=not kept)
        ((comm.rank + 1) * weight * weight.detach()).sum().backward()
        seen.append(weight.grad)
        assert_true(torch.equal(weight.grad, weight.detach() * 1.5), f"{weight.grad}")
        optimizer.step()
    assert_is(seen[0], seen[1], "it was copied")
    # What the program has assigned stays the program's.
    own = torch.full((4, 3), float(comm.rank))
    weight.grad = own
    optimizer.step()
    assert_true((own == comm.rank).all(), f"written to: {own}")
    assert_true((weight.grad == 0.5).all(), f"{weight.grad}")
    optimizer.close()


@on_ranks(2)
def a_saved_state_is_loaded_from_its_memory(comm):
    weight = torch.nn.Parameter(torch.ones(64, 64))
    wire = {"FASTGPU_COMM_WIRE": "1bit"}
    optimizer = DistributedOptimizer(torch.optim.SGD([weight], 1.0), comm, settings=wire)
    (weight * torch.rand(64, 64)).sum().backward()
    optimizer.step()
    saved = optimizer.state_dict()

    def listed(tensor):
        raise AssertionError("a list of Python's numbers has 8 bytes and more for each byte")

    plain, torch.Tensor.tolist = torch.Tensor.tolist, listed
    try:
        optimizer.load_state_dict(saved)
    finally:
        torch.Tensor.tolist = plain
    saved["fastgpu_comm"]["unsent"] = b"bytes"
    with raises(TypeError, "the state_dict is of type bytes"):
        optimizer.load_state_dict(saved)
    optimizer.close()


@on_ranks(2)
def parameters_that_have_the_very_same_gradient_get_the_same_average(comm):
    first, second = (torch.nn.Parameter(torch.zeros(6)) for _ in range(2))
    both = [("first", first), ("second", second)]
    optimizer = DistributedOptimizer(torch.optim.SGD([first, second], 1.0), comm, both)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        factor = torch.arange(6.0) + comm.rank
        ((first.view(2, 3).view(6) + second) * factor).sum().backward()
        for parameter in (first, second):
            assert_true(torch.equal(parameter.grad, torch.arange(6.0) + 0.5), f"{parameter.grad}")
        optimizer.step()
    optimizer.close()


@on_ranks(2)
def a_gradient_that_is_a_part_of_other_memory_is_averaged_alone(comm):
    whole = torch.full((10,), 7.0)
    weight = torch.nn.Parameter(torch.zeros(4))

    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, given):
            return whole[2:6]

    optimizer = DistributedOptimizer(torch.optim.SGD([weight], 1.0), comm, [("weight", weight)])
    whole[2:6] = float(comm.rank)
    Part.apply(weight).backward()
    assert_true((weight.grad == 0.5).all(), f"{weight.grad}")
    assert_equal(whole[:2].tolist() + whole[6:].tolist(), [7.0] * 6)
    assert_true((whole[2:6] == 0.5).all(), f"{whole}")  # As DistributedDataParallel does.
    optimizer.close()


@on_ranks(2)
def gradients_that_are_parts_of_one_tensor_stay_there(comm):
    def trained(model, optimizer, share, is_used):
        flat = torch.zeros(sum(each.numel() for each in model.parameters()))
        at = 0
        for each in model.parameters():
            each.grad = flat[at : at + each.numel()].view_as(each)
            at += each.numel()
        for step, (x, y) in enumerate(batches()):
            flat.zero_()
            loss = loss_of(model, share(x), share(y))
            if is_used(step):  # By all ranks, or by none.
                loss = loss + model.never(share(x)).sum(1).mean()
            loss.backward()
            found = torch.cat([each.grad.flatten() for each in model.parameters()])
            assert_true(torch.equal(flat, found), f"step {step}: .grad is elsewhere")
            flat.clamp_(-0.1, 0.1)
            optimizer.step()

    for is_used in (lambda step: step % 2 == 1, lambda step: True):
        model, wanted = Mlp(), Mlp()
        ours = DistributedOptimizer(momentum(model), comm, model)
        trained(model, ours, lambda data: part(comm, data), is_used)
        trained(wanted, momentum(wanted), lambda data: data, is_used)
        near(model, wanted)
        ours.close()


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


@on_ranks(2)
def a_model_that_is_converted_later_is_refused(comm):
    model = Mlp()
    optimizer = DistributedOptimizer(momentum(model), comm, model)
    x, y = next(batches())
    loss_of(model, part(comm, x), part(comm, y)).backward()
    optimizer.zero_grad()
    model.double()
    with raises(RuntimeError, "torch.float64", "torch.float32", "before you make"):
        loss_of(model, part(comm, x).double(), part(comm, y).double()).backward()
        optimizer.step()  # PyTorch has forgotten the hooks of what was converted.
    comm.close()
    sys.exit(0)


run_tests(dict(globals()), has_forked_ranks=True)
