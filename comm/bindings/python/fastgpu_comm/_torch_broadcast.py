"""Broadcasts of what PyTorch has: parameters, buffers, and the state of an optimizer."""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping

import torch

from ._agreement import Described, broadcast_bytes, check_same_tensors
from ._data import has_no_memory
from ._torch_wrapper import OptimizerWrapper
from .communicator import Communicator

STATE = "fastgpu_comm"  # The key of what codecs remember in a state_dict.
_EXTRA_STATE = "_extra_state"  # The end of a key of what get_extra_state() of a module returns.


def broadcast_parameters(
    model: torch.nn.Module | Mapping[str, Any] | Iterable[tuple[str, Any]],
    comm: Communicator,
    root: int = 0,
) -> None:
    """Gives all ranks the parameters and buffers that rank `root` has: of a module, a state_dict,
    or pairs of a name and a tensor.

    A collective: every rank has the same tensors in the same order, otherwise UsageError names the
    first that differs on all ranks. Those that are not contiguous are copied on the way. Raises
    TypeError for anything else than tensors, such as a whole checkpoint, for a sparse tensor, and
    for pairs of which there is none. A module, or a mapping such as dict(model.named_buffers()),
    may have no tensor. What a module keeps by get_extra_state() stays each rank's own.
    """
    comm = Communicator.of(comm, "broadcast_parameters")
    named_tensors = _named_tensors(model)
    for name, tensor in named_tensors:
        _check_strided(
            tensor, name, "broadcast_parameters takes pairs of a name and a tensor, without it"
        )
    _broadcast([(name, tensor.detach()) for name, tensor in named_tensors], comm, root)
    if not named_tensors and not isinstance(model, (torch.nn.Module, Mapping)):
        raise TypeError(
            f"broadcast_parameters: model is of type {type(model).__name__}, and has no tensor: "
            "give the module. An iterator, such as model.named_parameters(), can be read only once"
        )


def _named_tensors(model: Any) -> list[tuple[str, torch.Tensor]]:
    """Returns the tensors that broadcast_parameters is given. Raises TypeError, with its name, for
    anything else.
    """
    if isinstance(model, torch.nn.Module):  # Its state_dict() may have more than its tensors.
        model = {k: one for k, one in model.state_dict().items() if isinstance(one, torch.Tensor)}
    try:
        if isinstance(model, torch.Tensor):  # Can be iterated over, too.
            raise TypeError
        pairs = list(model.items() if isinstance(model, Mapping) else model)
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise TypeError
    except TypeError:
        raise TypeError(
            f"broadcast_parameters: model is of type {type(model).__name__}, and is not made of "
            "pairs of a name and a tensor: give the module, its state_dict(), or its "
            "named_parameters()"
        ) from None
    for name, one in pairs:
        if not isinstance(one, torch.Tensor) and not str(name).endswith(_EXTRA_STATE):
            raise TypeError(
                f"broadcast_parameters: {name!r} is of type {type(one).__name__}, not a tensor: "
                'give tensors alone, such as checkpoint["model"] of a whole checkpoint. For the '
                "state of an optimizer there is broadcast_optimizer_state(optimizer, comm)"
            )
    return [(name, one) for name, one in pairs if isinstance(one, torch.Tensor)]


def _broadcast(
    named_tensors: list[tuple[str, torch.Tensor]], comm: Communicator, root: int
) -> None:
    """Gives all ranks the tensors of rank `root`. A collective."""
    check_same_tensors(
        [Described.of(tensor.dtype, tensor.shape, name) for name, tensor in named_tensors],
        comm,
        root,
        "broadcast_parameters",
        has_own_names=False,
    )
    tensors = [tensor for _, tensor in named_tensors]
    travelling = [
        (tensor, dense, comm.broadcast_async(dense, root))
        for tensor, dense in zip(tensors, in_one_memory(tensors))
    ]
    with torch.no_grad():
        for tensor, dense, request in travelling:
            request.wait()
            if dense.data_ptr() != tensor.data_ptr():
                tensor.copy_(dense)


def _check_strided(tensor: torch.Tensor, name: str, advice: str) -> None:
    """Raises TypeError for a sparse tensor, and one whose elements are in other tensors."""
    if has_no_memory(tensor):
        kind = type(tensor).__name__
        raise TypeError(f"the tensor {name} is a {kind} without memory of its own: {advice}")
    if tensor.layout is not torch.strided:
        layout = str(tensor.layout).rpartition(".")[2]
        raise TypeError(f"the tensor {name} has the layout {layout}, and is not sent: {advice}")


def in_one_memory(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors, contiguous, where one communicator reaches all of them: it has one GPU, so those
    of several GPUs are copied to the host.
    """
    by_host = len({tensor.device for tensor in tensors if tensor.is_cuda}) > 1
    return [tensor.cpu().contiguous() if by_host else tensor.contiguous() for tensor in tensors]


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, comm: Communicator, root: int = 0
) -> None:
    """Gives all ranks the state_dict that `optimizer` of rank `root` has: learning rates, momenta,
    and so on. Of a wrapper, such as MultistepOptimizer, that is the state of the optimizer in it:
    what the wrapper remembers is this rank's alone. A collective.

    Raises TypeError on rank `root` for a state that holds something else than tensors, numbers and
    text.
    """
    comm = Communicator.of(comm, "broadcast_optimizer_state")
    while isinstance(optimizer, OptimizerWrapper):
        optimizer = optimizer._inner
    tensors: list[torch.Tensor] = []
    packed = b""
    if comm.rank == root:
        packed = json.dumps(_pack(optimizer.state_dict(), tensors)).encode()
    packed = broadcast_bytes(packed, comm, root)
    state = json.loads(packed)
    if comm.rank != root:
        state = _unpack(state, tensors)
    _broadcast([(str(number), tensor) for number, tensor in enumerate(tensors)], comm, root)
    if comm.rank != root:
        optimizer.load_state_dict(state)


def _pack(value: Any, tensors: list[torch.Tensor]) -> Any:
    """`value` as JSON has it, its tensors put aside."""
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach().cpu().contiguous())
        return {"tensor": [list(value.shape), str(value.dtype).split(".")[-1]]}
    if isinstance(value, dict):
        return {"dict": [[key, _pack(one, tensors)] for key, one in value.items()]}
    if isinstance(value, (list, tuple)):
        return {
            "list" if isinstance(value, list) else "tuple": [_pack(one, tensors) for one in value]
        }
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"broadcast_optimizer_state: the state holds a {type(value).__name__}, which is no "
        "tensor, number or text"
    )


def _unpack(value: Any, tensors: list[torch.Tensor]) -> Any:
    """What _pack was given, its tensors with nothing in them yet."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        tensors.append(torch.empty(content[0], dtype=getattr(torch, content[1])))
        return tensors[-1]
    if kind == "dict":
        return {key: _unpack(one, tensors) for key, one in content}
    return (list if kind == "list" else tuple)(_unpack(one, tensors) for one in content)


class Buffers:
    """The buffers of a module, such as the statistics of BatchNorm."""

    def __init__(self, module: torch.nn.Module, group: Communicator) -> None:
        self._module, self._group = module, group
        for name, buffer in module.named_buffers():
            _check_strided(
                buffer,
                name,
                "give model.named_parameters() in place of the model, and each rank keeps its own",
            )

    def share(self) -> None:
        """Gives all ranks the buffers of rank 0, those of one type in one message. A collective."""
        kinds: dict[tuple[torch.dtype, torch.device], list[torch.Tensor]] = {}
        for buffer in self._module.buffers():
            kinds.setdefault((buffer.dtype, buffer.device), []).append(buffer.detach())
        joined_of_kind = in_one_memory(
            [torch.cat([buffer.reshape(-1) for buffer in buffers]) for buffers in kinds.values()]
        )
        travelling = [
            (buffers, joined, self._group.broadcast_async(joined, 0))
            for buffers, joined in zip(kinds.values(), joined_of_kind)
        ]
        for buffers, joined, request in travelling:
            request.wait()
            if self._group.rank != 0:
                parts = joined.split([buffer.numel() for buffer in buffers])
                for buffer, part in zip(buffers, parts):
                    buffer.copy_(part.reshape(buffer.shape))
