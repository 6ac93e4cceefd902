"""Tensors and buffers of PyTorch between ranks: which of them travel, and how."""

from ranks import need, on_ranks, part, raises, run_tests
from suite import assert_equal, assert_false, assert_less_equal, assert_true

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm._torch_broadcast import in_one_memory  # noqa: E402
from fastgpu_comm.torch import DistributedOptimizer, broadcast_parameters  # noqa: E402

from torch_models import (  # noqa: E402
    Mlp,
    adam,
    batches,
    loss_of,
    momentum,
    near,
    own_group,
    same_everywhere,
)


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
    with raises(TypeError, "all_reduce: data has the layout sparse_coo", "give its .to_dense()"):
        comm.all_reduce(torch.eye(2).to_sparse())
    model = Mlp()
    with raises(ValueError, "averaged or summed"):
        DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm, op=fc.MAX)


@on_ranks(3)
def different_tensors_are_named_before_any_is_sent(comm):
    is_odd = comm.rank == 1
    four, five = torch.full((4, 2), 4.0), torch.full((5,), 5.0)
    doubles = torch.zeros(2, 2, dtype=torch.float64)
    for odd, wanted in (
        ({"a": four.clone(), "b": four.clone()}, "number 1 is float32 [4, 2] 'b' on rank 1"),
        ({"a": four.t().contiguous(), "b": five}, "number 0 is float32 [2, 4] 'a' on rank 1"),
        ({"a": doubles, "b": five}, "number 0 is float64 [2, 2] 'a' on rank 1, and float32"),
        ({"b": five, "a": four}, "number 0 is float32 [5] 'b' on rank 1"),
        ({"a": four}, "rank 0 has 2 tensors, and rank 1 1: the first that is missing there is"),
        ({"a": four, "b": five, "c": five}, "rank 1 has 3 tensors, and rank 0 2: the first"),
    ):
        own = odd if is_odd else {"a": four, "b": five}
        before = [one.clone() for one in own.values()]
        for root in (0, 2):
            with raises(
                fc.UsageError,
                f"broadcast_parameters: {wanted}".replace("rank 0", f"rank {root}")
                if "tensors, and" in wanted
                else f"broadcast_parameters: the ranks have different tensors: {wanted}",
            ):
                broadcast_parameters(own, comm, root)
        for one, other in zip(own.values(), before):
            assert_true(torch.equal(one, other), "a tensor was written to")
    broadcast_parameters({"a": four * comm.rank}, comm)  # The job goes on.


@on_ranks(2)
def a_parameter_of_another_memory_format_is_explained(comm):
    turned = torch.zeros(8, 4).t() if comm.rank == 1 else torch.zeros(4, 8)
    weight = torch.nn.Parameter(turned)
    optimizer = DistributedOptimizer(torch.optim.SGD([weight], lr=0.1), comm, [("w", weight)])
    with raises(fc.UsageError, "'w'", "the same memory format"):
        weight.sum().backward()
    optimizer.close()


@on_ranks(2)
def sparse_buffers_are_refused_by_name(comm):
    model = Mlp()
    model.register_buffer("graph", torch.eye(4).to_sparse())
    with raises(TypeError, "the tensor graph has the layout sparse_coo", "broadcast_parameters"):
        broadcast_parameters(model, comm)
    with raises(TypeError, "the tensor graph has the layout", "model.named_parameters()"):
        DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm, model)
    DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), comm, model.named_parameters()
    ).close()


@on_ranks(2)
def what_is_no_tensor_is_refused_by_name(comm):
    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        model.weight.fill_(comm.rank)
    read = model.named_parameters()
    list(read)
    form = "pairs of a name and a tensor: give the module, its state_dict(), or its named_"
    for given, words in (
        ({"epoch": 3, "model": model.state_dict()}, ("'epoch' is of type int, not a tensor",)),
        ({"model": model.state_dict()}, ("'model' is of type OrderedDict", "give tensors alone")),
        (adam(model).state_dict(), ("'state' is of type dict", "broadcast_optimizer_state")),
        ({**model.state_dict(), "text": "x"}, ("'text' is of type str", "not a tensor")),
        ({"a": None}, ("'a' is of type NoneType",)),
        (model.parameters(), ("model is of type generator", form)),
        (list(model.parameters()), ("model is of type list", form)),
        (model.weight, ("model is of type Parameter", form)),
        (torch.zeros(2, 2), ("model is of type Tensor", form)),
        ("ab", ("model is of type str", form)),
        (None, ("model is of type NoneType", form)),
        ([], ("model is of type list, and has no tensor",)),
        (read, ("model is of type generator, and has no tensor", "only once")),
    ):
        with raises(TypeError, "broadcast_parameters: ", *words):
            broadcast_parameters(given, comm)
    for root, kind, words in (
        (2, ValueError, "broadcast_parameters: root is 2: ranks are 0 to 1"),
        ("0", TypeError, "broadcast_parameters: root is a whole number, not of type str"),
    ):
        with raises(kind, words):
            broadcast_parameters(model, comm, root)
    assert_equal(model.weight.tolist(), [[comm.rank, comm.rank]], "nothing was sent")
    for nothing in (torch.nn.ReLU(), dict(model.named_buffers())):  # These may have no tensor.
        broadcast_parameters(nothing, comm)
    broadcast_parameters([["w", model.weight]], comm)
    assert_equal(model.weight.tolist(), [[0, 0]], "nothing was sent")


class WithExtraState(torch.nn.Linear):
    def get_extra_state(self):
        return {"scale": 3}

    def set_extra_state(self, state):
        pass


@on_ranks(2)
def what_a_module_keeps_beside_its_tensors_stays(comm):
    for given in (lambda module: module, lambda module: module.state_dict()):
        module = WithExtraState(2, 1)
        broadcast_parameters(given(module), comm)
        same_everywhere(comm, torch.nn.ParameterList(module.parameters()))


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


run_tests(dict(globals()), has_forked_ranks=True)
