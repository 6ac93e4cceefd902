"""Gossip by way of Python: parameters that ranks mix with those of neighbours, with reports and
saved states.
"""

import pathlib
import re

from ranks import (
    all_well,
    check_dead_rank_is_named,
    end_like_a_crash,
    need,
    on_ranks,
    raises,
    run_ranks,
    run_tests,
)
from suite import assert_equal, assert_greater, assert_in, assert_less, assert_true

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402

try:
    import torch
except ImportError:
    torch = None


@on_ranks(4)
def a_ring_averages_with_both_neighbours(comm):
    gossip = fc.Gossip(comm)
    weight = numpy.full((3, 5), float(comm.rank), "float32")
    gossip.register("weight", weight)
    report = gossip.step()
    assert_true(report.is_exact and report.step == 0, f"{report}")
    assert_true((weight == 1.5).all(), f"{weight}")
    weight[...] = comm.rank
    report = gossip.step()
    neighbours = [(comm.rank + off) % comm.size for off in (-1, 0, 1)]
    assert_true(numpy.allclose(weight, sum(neighbours) / 3), f"{weight}")
    assert_equal((report.wire, report.guard_level), ("same", 0))
    assert_greater(report.bytes, 2 * 15 * 4 - 1)
    for _ in range(60):
        report = gossip.step()
    assert_true(numpy.allclose(weight, 1.5), f"{weight}")
    assert_less(report.distance, 1e-3)
    gossip.close()


@on_ranks(4)
def averages_stay_whatever_the_topology_and_the_codec(comm):
    for topology, wire in [
        ("exponential", "same"),
        ("one-peer-exponential", "same"),
        ("random:2:changing", "same"),
        ("hypercube", "topk:0.1"),
        ("ring", "int8"),
        ("random:2", "1bit"),
    ]:
        settings = {"FASTGPU_COMM_TOPOLOGY": topology, "FASTGPU_COMM_WIRE": wire}
        gossip = fc.Gossip(comm, settings, on_warning=lambda sentence: None)
        weight = numpy.zeros(1000, "float32")
        gossip.register("weight", weight)
        for step in range(12):
            weight += numpy.sin(numpy.arange(1000) * (step + 1) + comm.rank).astype("float32")
            before = comm.all_reduce(weight.copy(), fc.AVERAGE)
            report = gossip.step()
            after = comm.all_reduce(weight.copy(), fc.AVERAGE)
            assert_true(numpy.allclose(before, after, atol=1e-5), f"{topology} {wire}")
        assert_equal(report.step, 11)
        gossip.close()


@on_ranks(3)
def training_goes_on_from_a_saved_state(comm):
    settings = {"FASTGPU_COMM_WIRE": "topk:0.1"}

    def made(values):
        gossip = fc.Gossip(comm, settings)
        weight = values.copy()
        gossip.register("weight", weight)
        return gossip, weight

    def steps(gossip, weight, numbers):
        for number in numbers:
            weight += numpy.cos(numpy.arange(300) * (number + 1) + comm.rank).astype("float32")
            gossip.step()

    first, weight = made(numpy.zeros(300, "float32"))
    steps(first, weight, range(5))
    state, kept = first.saved_state(), weight.copy()
    steps(first, weight, range(5, 12))
    second, again = made(kept)
    second.load_state(state)
    steps(second, again, range(5, 12))
    assert_true((weight == again).all(), "it goes on as it was")
    everyones = comm.all_gather(numpy.frombuffer(state, "uint8").copy())
    third, _ = made(kept)
    with raises(fc.UsageError, f"that of rank {(comm.rank + 1) % 3} of 3"):
        third.load_state(everyones[(comm.rank + 1) % 3].tobytes())
    with raises(fc.UsageError, "damaged", "too early"):
        third.load_state(b"")


@on_ranks(2)
def what_does_not_fit_is_refused(comm):
    with raises(fc.UsageError, "FASTGPU_COMM_TOPOLOGY is 'star'", "one-peer-exponential"):
        fc.Gossip(comm, {"FASTGPU_COMM_TOPOLOGY": "star"})
    with raises(fc.UsageError, "fp16 does not go with gossip", "use one of same, int8"):
        fc.Gossip(comm, {"FASTGPU_COMM_WIRE": "fp16"})
    with raises(fc.UsageError, "fgc_gossip_create", "GossipOptimizer"):
        fc.Gradients(comm, {"FASTGPU_COMM_EXCHANGE": "gossip"})
    with raises(fc.UsageError, "fgc_gossip_create", "GossipOptimizer"):
        fc.Multistep(comm, "accumulate=2", {"FASTGPU_COMM_EXCHANGE": "gossip"})
    gossip = fc.Gossip(comm)
    with raises(TypeError, "float64"):
        gossip.register("wide", numpy.zeros(3))
    gossip.register("weight", numpy.zeros(3, "float32"))
    with raises(fc.UsageError, "'weight' is registered already"):
        gossip.register("weight", numpy.zeros(3, "float32"))


@on_ranks(3)
def a_rank_with_another_topology_is_named(comm):
    topology = "hypercube" if comm.rank == 2 else "ring"
    gossip = fc.Gossip(comm, {"FASTGPU_COMM_TOPOLOGY": topology})
    gossip.register("weight", numpy.zeros(3, "float32"))
    with raises(fc.UsageError, "rank 2 has another FASTGPU_COMM_TOPOLOGY than rank 0"):
        gossip.step()


def killed_between_steps():
    with fc.init() as comm:
        gossip = fc.Gossip(comm)
        gossip.register("weight", numpy.zeros(1000, "float32"))
        for step in range(100_000):
            gossip.step()
            if step == 5:
                end_like_a_crash(comm, 1)


def test_a_rank_that_dies_is_named():
    check_dead_rank_is_named("killed_between_steps")


@on_ranks(1, 3)
def a_model_of_pytorch_trains_by_gossip(comm):
    if torch is None:
        return
    from fastgpu_comm.torch import broadcast_optimizer_state
    from fastgpu_comm.torch_gossip import GossipOptimizer

    torch.manual_seed(comm.rank)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    model[2].double()
    model[0].weight.data = model[0].weight.data.t().contiguous().t()  # Not contiguous.
    inner = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    optimizer = GossipOptimizer(inner, comm, model)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 30, 0.5)
    generator = torch.Generator().manual_seed(100 + comm.rank)
    x = torch.randn(200, 6, generator=generator)
    y = (x[:, :1] * x[:, 1:2]).double()
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model[2](model[1](model[0](x)).double()), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    assert_less(losses[-1], 0.7 * losses[0])
    assert_equal(optimizer.report.step, 59)
    state = optimizer.state_dict()
    assert_in("fastgpu_comm_gossip", state)
    again = GossipOptimizer(torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), comm, model)
    again.load_state_dict(state)
    optimizer.close()
    again.zero_grad()
    again.step()
    assert_equal(again.report.step, 60)
    again.param_groups[0]["lr"] = 0.5 + comm.rank
    broadcast_optimizer_state(again, comm)
    assert_equal(again.param_groups[0]["lr"], 0.5)
    with raises(RuntimeError, "make the GossipOptimizer with all parameters"):
        again.add_param_group({"params": [torch.zeros(1)]})


@on_ranks(3)
def all_ranks_have_one_model_after_an_average(comm):
    if torch is None:
        return
    from fastgpu_comm.torch_gossip import GossipOptimizer

    torch.manual_seed(comm.rank)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    model = model.to(memory_format=torch.channels_last)
    model[1].double()
    wanted = [
        sum(comm.all_gather(one.detach().contiguous().reshape(1, -1))) for one in model.parameters()
    ]
    GossipOptimizer(torch.optim.SGD(model.parameters(), lr=0.05), comm, model).average()
    for one, total in zip(model.parameters(), wanted):
        apart = (one.detach().reshape(-1) - total / comm.size).abs().max()
        assert_less(float(apart), 1e-6)


@on_ranks(3)
def a_rank_whose_scaler_leaves_a_step_out_still_mixes(comm):
    if torch is None:
        return
    if not hasattr(torch.amp, "GradScaler"):
        return  # Older ones have none for the host.
    from fastgpu_comm.torch_gossip import GossipOptimizer

    for unscales, kind in ((False, "SGD"), (True, "SGD"), (False, "Adam")):
        torch.manual_seed(5)
        model, plain = torch.nn.Linear(6, 1), torch.nn.Linear(6, 1)
        plain.load_state_dict(model.state_dict())
        make = getattr(torch.optim, kind)
        optimizer = GossipOptimizer(make(model.parameters(), lr=0.05), comm, model)
        reference = make(plain.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
        x = torch.ones(4, 6)
        for step in range(6):
            is_odd = step == 3 and comm.rank == 1
            optimizer.zero_grad()
            scaler.scale(model(x).square().mean()).backward()
            if is_odd:
                model.weight.grad[0, 0] = float("inf")
            if unscales:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            if step < 3:  # All ranks take the same steps, which those of neighbours do not change.
                reference.zero_grad()
                plain(x).square().mean().backward()
                reference.step()
                apart = (model.weight - plain.weight).abs().max()
                assert_less(float(apart.detach()), 1e-6, kind)
        assert_equal(scaler.get_scale(), 8.0 if comm.rank == 1 else 16.0)
        assert_true(bool(torch.isfinite(model.weight).all()), kind)
        optimizer.average()
        optimizer.close()


def example_of_the_page():
    page = pathlib.Path(__file__).parents[3] / "docs/how-to/train-by-gossip.md"
    exec(re.search(r"```python\n(.*?)```", page.read_text(), re.S).group(1), {})


def test_the_example_of_the_page_runs():
    if torch is None:
        return
    results = run_ranks("example_of_the_page", 2)
    all_well(results)
    for _, said in results:
        assert_in("GossipReport(step=99", said)


run_tests(dict(globals()), has_forked_ranks=True)
