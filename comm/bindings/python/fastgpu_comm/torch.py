"""Training a PyTorch model on many ranks: every rank computes its share of the batch, and all take the same step.

    with fastgpu_comm.init() as comm:
        broadcast_parameters(model, comm)
        optimizer = DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm, model.named_parameters())
        for x, y in batches_of(comm.rank, comm.size):
            optimizer.zero_grad()
            loss_of(model(x), y).backward()   # Gradients travel as soon as they are there.
            optimizer.step()                  # With their averages over all ranks.

PyTorch 1.13 or later.
"""
from __future__ import annotations

import contextlib
import json
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

import torch

from .communicator import Communicator
from .gradients import Gradients, Outcome
from .kinds import Op

_PRESENCE = "fastgpu_comm.presence"  # Of a gradient that says which of the others there are.


def broadcast_parameters(model: Union[torch.nn.Module, Mapping[str, Any], Iterable[Tuple[str, Any]]], comm: Communicator,
                         root: int = 0) -> None:
    """Gives all ranks the parameters and buffers that rank `root` has: of a module, a state_dict, or pairs of a name and a tensor.

    A collective: every rank has the same tensors in the same order. Those that are not contiguous are copied on the way.
    """
    named = model.state_dict() if isinstance(model, torch.nn.Module) else model
    pairs = named.items() if isinstance(named, Mapping) else named
    tensors = [value.detach() for _, value in pairs if isinstance(value, torch.Tensor)]
    travelling = []
    for tensor in tensors:
        dense = tensor.contiguous()
        travelling.append((tensor, dense, comm.broadcast_async(dense, root)))
    with torch.no_grad():
        for tensor, dense, request in travelling:
            request.wait()
            if dense.data_ptr() != tensor.data_ptr():
                tensor.copy_(dense)


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, comm: Communicator, root: int = 0) -> None:
    """Gives all ranks the state_dict that `optimizer` of rank `root` has: learning rates, momenta, and so on. A collective.

    Raises TypeError on rank `root` for a state that holds something else than tensors, numbers and text.
    """
    tensors: List[torch.Tensor] = []
    packed = b""
    if comm.rank == root:
        packed = json.dumps(_pack(optimizer.state_dict(), tensors)).encode()
    packed = _broadcast_bytes(packed, comm, root)
    state = json.loads(packed)
    if comm.rank != root:
        state = _unpack(state, tensors)
    broadcast_parameters(((str(number), tensor) for number, tensor in enumerate(tensors)), comm, root)
    if comm.rank != root:
        optimizer.load_state_dict(state)


def _broadcast_bytes(data: bytes, comm: Communicator, root: int) -> bytes:
    size = torch.tensor([len(data)])
    comm.broadcast(size, root)
    buffer = bytearray(data) if comm.rank == root else bytearray(int(size))
    return bytes(comm.broadcast(buffer, root))


def _pack(value: Any, tensors: List[torch.Tensor]) -> Any:
    """`value` as JSON has it, its tensors put aside."""
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach().cpu().contiguous())
        return {"tensor": [list(value.shape), str(value.dtype).split(".")[-1]]}
    if isinstance(value, dict):
        return {"dict": [[key, _pack(one, tensors)] for key, one in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [_pack(one, tensors) for one in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"broadcast_optimizer_state: the state holds a {type(value).__name__}, which is no tensor, number or text")


def _unpack(value: Any, tensors: List[torch.Tensor]) -> Any:
    """What _pack was given, its tensors with nothing in them yet."""
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    if kind == "tensor":
        tensors.append(torch.empty(content[0], dtype=getattr(torch, content[1])))
        return tensors[-1]
    if kind == "dict":
        return {key: _unpack(one, tensors) for key, one in content}
    return (list if kind == "list" else tuple)(_unpack(one, tensors) for one in content)


class _Parameter:
    """One parameter: its gradient as it is registered, and when that is complete."""

    def __init__(self, name: str, tensor: torch.Tensor, number: int, gradient: torch.Tensor) -> None:
        self.name, self.tensor, self.number, self.gradient = name, tensor, number, gradient
        self.is_travelling = False

    def take_gradient(self) -> bool:
        """Brings it to where it is registered, from where backward has made a new one. False where there is none: zeros then."""
        found = self.tensor.grad
        if found is None:
            self.gradient.zero_()
            return False
        if found.is_sparse:
            raise TypeError(f"the gradient of {self.name} is sparse, which is not supported: make its layer with sparse=False")
        if found is not self.gradient:
            with torch.no_grad():
                self.gradient.copy_(found)
            self.tensor.grad = self.gradient
        return True


class DistributedOptimizer(torch.optim.Optimizer):
    """An optimizer whose gradients are averages over all ranks (`op`: or sums).

    It takes the place of `optimizer`, also for schedulers of learning rates; state_dict() is that of `optimizer`. `named_parameters` give
    gradients the names that errors and timelines have. Every rank makes it at the same time, of the same parameters in the same order, then
    calls step() equally often. `settings` are those of Gradients.

    - A parameter that has no gradient on some ranks counts as 0 there; where it has none on any, it keeps none.
    - `with optimizer.no_sync():` around all backward passes but the last before a step lets gradients add up on this rank alone.
    - To change gradients before the step, by clipping or a GradScaler, call synchronize() first.
    - After a step that FASTGPU_COMM_NANCHECK=skip has skipped, step() has changed nothing and returns.
    - A gradient must not be touched between backward() and step(), unless synchronize() was called.
    """

    _step_supports_amp_scaling = False  # A GradScaler looks at gradients itself.

    def __init__(self, optimizer: torch.optim.Optimizer, comm: Communicator,
                 named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None, op: Op = Op.AVERAGE,
                 settings: Optional[Mapping[str, Optional[str]]] = None) -> None:
        # Not super().__init__(): what an optimizer has is `optimizer`'s, see __getattr__.
        self._inner = optimizer
        if op not in (Op.AVERAGE, Op.SUM):
            raise ValueError(f"DistributedOptimizer: gradients are averaged or summed, not {Op(op).name}")
        self._names = {parameter: name for name, parameter in named_parameters or ()}
        group = comm.split(0, comm.rank)  # So that the program's own calls may come at any time.
        assert group is not None
        self._gradients = Gradients(group, settings)
        self._gradients.use_op(op)
        self._parameters: List[_Parameter] = []
        self._hooks: List[Any] = []
        self._is_exchanging = True
        self._has_results = False
        self._last: Optional[Outcome] = None
        self._presence: Optional[torch.Tensor] = None
        for group_number, group_of_parameters in enumerate(optimizer.param_groups):
            self._take(group_number, group_of_parameters)

    @property
    def param_groups(self) -> List[Dict[str, Any]]:
        return self._inner.param_groups

    @property
    def state(self) -> Any:
        return self._inner.state

    @property
    def defaults(self) -> Dict[str, Any]:
        return self._inner.defaults

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return f"Distributed{self._inner!r}"

    def __getstate__(self) -> Any:
        raise TypeError("a DistributedOptimizer cannot be copied or pickled: keep its state_dict()")

    def state_dict(self) -> Dict[str, Any]:
        return self._inner.state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """On every rank the same one."""
        self._inner.load_state_dict(state_dict)

    def zero_grad(self, *arguments: Any, **named: Any) -> None:
        if any(parameter.is_travelling for parameter in self._parameters):
            raise RuntimeError("zero_grad() between backward() and step(): gradients are on their way to other ranks")
        self._has_results = False
        self._inner.zero_grad(*arguments, **named)

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Before the first backward pass, and on every rank alike."""
        if self._presence is not None:
            raise RuntimeError("add_param_group() after the first backward pass: make a new DistributedOptimizer")
        self._inner.add_param_group(param_group)
        self._take(len(self.param_groups) - 1, self.param_groups[-1])

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes within add to gradients, which stay here."""
        before, self._is_exchanging = self._is_exchanging, False
        try:
            yield
        finally:
            self._is_exchanging = before

    def synchronize(self) -> Outcome:
        """Waits for the averages of all gradients, which may be changed then; step() takes them as they are. Raises fastgpu_comm.Error."""
        self._begin()
        assert self._presence is not None
        for parameter in self._parameters:
            if not parameter.is_travelling:
                self._presence[parameter.number] = float(parameter.take_gradient())
                self._make_ready(parameter)
        self._gradients.ready(_PRESENCE)
        try:
            self._last = self._gradients.wait()
        finally:
            for parameter in self._parameters:
                parameter.is_travelling = False
            present = self._presence.tolist()
            self._presence.fill_(1)
        for parameter in self._parameters:
            parameter.tensor.grad = parameter.gradient if present[parameter.number] > 0 else None
        self._has_results = True
        return self._last

    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """Exchanges what has not been exchanged, and takes the step. Returns what `closure` does, the loss of this rank."""
        if closure is not None:
            return self._inner.step(self._synchronized(closure))
        if not self._has_results:
            self.synchronize()
        self._has_results = False
        assert self._last is not None
        return self._inner.step() if self._last.is_applied else None

    def close(self) -> None:
        """Lets go of the parameters: backward then is as it was, and another DistributedOptimizer may have them. Between steps."""
        for _, hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._gradients.close()

    def _synchronized(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            loss = closure()
            self.synchronize()
            self._has_results = False
            return loss
        return call

    def _take(self, group_number: int, group: Dict[str, Any]) -> None:
        for place, tensor in enumerate(group["params"]):
            if not tensor.requires_grad:
                continue
            name = self._names.get(tensor, f"group{group_number}.{place}")
            gradient = torch.zeros_like(tensor, memory_format=torch.contiguous_format)
            parameter = _Parameter(name, tensor, self._gradients.register(name, gradient), gradient)
            self._parameters.append(parameter)
            self._hook(parameter)

    def _hook(self, parameter: _Parameter) -> None:
        """Is called when backward has added to the gradient of that parameter."""
        # The node that does so is reached by way of a view; it lasts as long as somebody holds it.
        node = parameter.tensor.expand_as(parameter.tensor).grad_fn.next_functions[0][0]
        this = weakref.ref(self)

        def completed(*_: Any) -> None:
            optimizer = this()
            if optimizer is not None:
                optimizer._completed(parameter)
        self._hooks.append((node, node.register_hook(completed)))

    def _completed(self, parameter: _Parameter) -> None:
        if not self._is_exchanging:
            return
        if parameter.is_travelling:
            raise RuntimeError(f"the gradient of {parameter.name} was computed twice before step(): put all backward passes but the last into "
                               "`with optimizer.no_sync():`")
        self._begin()
        parameter.take_gradient()
        self._make_ready(parameter)

    def _begin(self) -> None:
        """Before the first gradient travels: which ones there are, as a gradient of its own."""
        if self._presence is None:
            self._presence = torch.ones(max(1, len(self._parameters)), dtype=torch.float32)
            self._gradients.register(_PRESENCE, self._presence)
        self._has_results = False

    def _make_ready(self, parameter: _Parameter) -> None:
        parameter.is_travelling = True
        self._gradients.ready(parameter.number)
