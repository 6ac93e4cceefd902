"""Parameters that PyTorch's optimizers begin with: those of the module, the same on all ranks."""

import copy

from ranks import need, on_ranks, raises, run_tests
from suite import (
    assert_equal,
    assert_true,
)

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm._torch_parameter import sum_of_bits  # noqa: E402
from fastgpu_comm.torch import (  # noqa: E402
    DistributedOptimizer,
    MultistepOptimizer,
    broadcast_parameters,
)
from fastgpu_comm.torch_gossip import GossipOptimizer  # noqa: E402

from torch_models import Mlp, batches, loss_of, momentum, same_everywhere  # noqa: E402


@on_ranks(2)
def a_module_with_other_parameters_is_refused(comm):
    model, other = Mlp(), Mlp()
    read = model.named_parameters()
    list(read)
    for wrapper in (DistributedOptimizer, MultistepOptimizer, GossipOptimizer):
        more = {"mode": "delay=1"} if wrapper is MultistepOptimizer else {}
        for wrong in (other, copy.deepcopy(model), other.named_parameters(), torch.nn.ReLU(), read):
            with raises(
                ValueError,
                f"{wrapper.__name__}: named_parameters is of type {type(wrong).__name__}, and has "
                "no parameter of the optimizer",
            ):
                wrapper(momentum(model), comm, wrong, **more)
        wrapping = torch.nn.Sequential(other, model)
        for good in (wrapping, model.first, dict(model.named_parameters()).items(), None):
            wrapper(momentum(model), comm, good, **more).close()


def step_of(model, optimizer):
    x, y = next(batches())
    optimizer.zero_grad()
    loss_of(model, x, y).backward()
    optimizer.step()


@on_ranks(3)
def ranks_that_begin_with_different_parameters_are_named(comm):
    for op in (fc.AVERAGE, fc.SUM):
        for kind in (torch.float32, torch.float64, torch.bfloat16):
            model = Mlp()
            with torch.no_grad():
                model.second.bias[2] += 0.5 * (comm.rank == 2)
            model.second.to(kind)
            before = copy.deepcopy(model.state_dict())
            optimizer = DistributedOptimizer(momentum(model), comm, model, op=op)
            with raises(
                fc.UsageError,
                "DistributedOptimizer: the ranks begin with different parameters",
                "'second.bias' has other numbers on rank 2 than on rank 0 (1 of 8 parameters",
                "broadcast_parameters",
            ):
                optimizer.zero_grad()
                x, _ = next(batches())
                hidden = torch.relu(model.first(x))
                model.second(hidden.to(kind)).square().mean().backward()
                optimizer.step()
            for name, one in model.state_dict().items():
                assert_true(torch.equal(one, before[name]), f"{name} has changed")
            broadcast_parameters(model.to(torch.float32), comm)  # The job goes on.
            optimizer.close()
            optimizer = DistributedOptimizer(momentum(model), comm, model, op=op)
            step_of(model, optimizer)
            same_everywhere(comm, model)
            optimizer.close()


@on_ranks(2)
def parameters_that_are_added_later_are_compared_then(comm):
    model, more = Mlp(), torch.nn.Parameter(torch.full((3,), float(comm.rank)))
    optimizer = DistributedOptimizer(momentum(model), comm, model)
    step_of(model, optimizer)
    with torch.no_grad():  # What the program does after the first step is its own.
        model.first.weight[0, 0] += comm.rank
    step_of(model, optimizer)
    optimizer.add_param_group({"params": [more]})
    optimizer.zero_grad()
    with raises(fc.UsageError, "'group1.0' has other numbers on rank 1 than on rank 0 (1 of 1 p"):
        more.sum().backward()
        optimizer.step()


def test_bits_are_summed_whatever_the_memory():
    for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64):
        for shape in ((), (0,), (1,), (7,), (3, 5), (2, 3, 3, 3)):
            one = torch.randn(shape).to(kind)
            sum_here = sum_of_bits(one)
            memory = torch.zeros(one.numel() + 1, dtype=kind)
            part_of_it = memory[1:].view(shape).copy_(one)
            assert_equal(sum_of_bits(part_of_it), sum_here, f"{kind} {shape}")
            if one.numel() > 0:
                part_of_it.view(-1)[-1] += 1
                assert_true(sum_of_bits(part_of_it) != sum_here, f"{kind} {shape}")
    turned = torch.randn(3, 5).t()
    assert_equal(sum_of_bits(turned), sum_of_bits(turned.t().contiguous()))
    assert_equal(
        sum_of_bits(torch.full((2,), float("nan"))), sum_of_bits(torch.full((2,), float("nan")))
    )


run_tests(dict(globals()), has_forked_ranks=True)
