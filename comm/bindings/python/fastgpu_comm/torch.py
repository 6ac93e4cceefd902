"""Training a PyTorch model on many ranks: every rank computes its share of the batch, and all take
the same step.

    with fastgpu_comm.init() as comm:
        broadcast_parameters(model, comm)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer = DistributedOptimizer(optimizer, comm, model)
        for x, y in batches_of(comm.rank, comm.size):
            optimizer.zero_grad()
            # Gradients travel as soon as they are there; .grad is their average over all ranks.
            loss_of(model(x), y).backward()
            optimizer.step()

PyTorch 1.13 or later.
"""

from __future__ import annotations

import contextlib
import json
import threading
import weakref
from typing import Any, Callable, Iterable, Iterator, Mapping

import torch

from .communicator import Communicator
from .gradients import Gradients, Outcome
from .kinds import Op

_PRESENCE = (
    "fastgpu_comm.presence"  # The name of a gradient that holds what each rank knows of the others.
)


_STATE = "fastgpu_comm"  # The key of what codecs remember in a state_dict.


def broadcast_parameters(
    model: torch.nn.Module | Mapping[str, Any] | Iterable[tuple[str, Any]],
    comm: Communicator,
    root: int = 0,
) -> None:
    """Gives all ranks the parameters and buffers that rank `root` has: of a module, a state_dict,
    or pairs of a name and a tensor.

    A collective: every rank has the same tensors in the same order. Those that are not contiguous
    are copied on the way.
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


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, comm: Communicator, root: int = 0
) -> None:
    """Gives all ranks the state_dict that `optimizer` of rank `root` has: learning rates, momenta,
    and so on. A collective.

    Raises TypeError on rank `root` for a state that holds something else than tensors, numbers and
    text.
    """
    tensors: list[torch.Tensor] = []
    packed = b""
    if comm.rank == root:
        shared = {key: one for key, one in optimizer.state_dict().items() if key != _STATE}
        packed = json.dumps(_pack(shared, tensors)).encode()
    packed = _broadcast_bytes(packed, comm, root)
    state = json.loads(packed)
    if comm.rank != root:
        state = _unpack(state, tensors)
    broadcast_parameters(
        ((str(number), tensor) for number, tensor in enumerate(tensors)), comm, root
    )
    if comm.rank != root:
        optimizer.load_state_dict(state)


def _broadcast_bytes(data: bytes, comm: Communicator, root: int) -> bytes:
    size = torch.tensor([len(data)])
    comm.broadcast(size, root)
    buffer = bytearray(data) if comm.rank == root else bytearray(int(size))
    return bytes(comm.broadcast(buffer, root))


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


class _Buffers:
    """The buffers of a module, such as the statistics of BatchNorm."""

    def __init__(self, module: torch.nn.Module, group: Communicator) -> None:
        self._module, self._group = module, group

    def share(self) -> None:
        """Gives all ranks the buffers of rank 0, those of one type in one message. A collective."""
        kinds: dict[tuple[torch.dtype, torch.device], list[torch.Tensor]] = {}
        for buffer in self._module.buffers():
            kinds.setdefault((buffer.dtype, buffer.device), []).append(buffer.detach())
        travelling = []
        for buffers in kinds.values():
            joined = torch.cat([buffer.reshape(-1) for buffer in buffers])
            travelling.append((buffers, joined, self._group.broadcast_async(joined, 0)))
        for buffers, joined, request in travelling:
            request.wait()
            if self._group.rank != 0:
                parts = joined.split([buffer.numel() for buffer in buffers])
                for buffer, part in zip(buffers, parts):
                    buffer.copy_(part.reshape(buffer.shape))


class _Parameter:
    """One parameter: the memory of its gradient that is registered, and where that gradient is in
    an exchange.
    """

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self.name, self.tensor = name, tensor
        self.gradient = torch.zeros_like(tensor.detach())
        order = sorted(range(tensor.dim()), key=self.gradient.stride, reverse=True)
        # Its elements in the order of memory, such as that of channels_last.
        self.registered = self.gradient.permute(order)
        if not self.registered.is_contiguous():
            self.gradient = torch.zeros_like(tensor.detach(), memory_format=torch.contiguous_format)
            self.registered = self.gradient
        if self.gradient.is_complex():
            self.registered = torch.view_as_real(self.registered)
        self.number = -1
        self.is_travelling = self.is_new = self.is_sparse = False
        self._result: torch.Tensor | None = (
            None  # What .grad was after the last exchange, and its version then.
        )
        self._version = 0
        self._kept: torch.Tensor | None = None  # What .grad was before this exchange.
        self._more: torch.Tensor | None = (
            None  # What backward has computed while the gradient travelled.
        )

    def has_more(self) -> bool:
        """Returns True if backward has computed a further part of a gradient that travels."""
        return self.is_travelling and self.tensor.grad is not None

    @property
    def had_gradient(self) -> bool:
        """Whether .grad was there before it began to travel."""
        return self._kept is not None

    def take(self, op: Op, rank: int) -> None:
        """Moves .grad to the registered memory. `is_new` is then False if all ranks have that
        gradient already.
        """
        found = self._kept = self.tensor.grad
        self.is_new = found is not None and not (
            found is self._result and found._version == self._version
        )
        self.is_sparse = found is not None and found.is_sparse
        with torch.no_grad():
            if found is None:
                self.gradient.zero_()
            elif self.is_new and found is not self.gradient:
                if found.is_cuda:  # Backward may have made it on another stream.
                    found.record_stream(torch.cuda.current_stream(found.device))
                self.gradient.copy_(found.to_dense() if found.is_sparse else found)
            elif (
                self.is_new
                and op is Op.SUM
                and found is self._result
                and found._version == self._version + 1
            ):
                raise RuntimeError(
                    f"the gradient of {self.name} was added to a sum over all ranks, which would "
                    "be summed again: call zero_grad() "
                    "before backward(), or put all backward passes but the last into `with "
                    "optimizer.no_sync():`"
                )
            elif not self.is_new and op is Op.SUM and rank != 0:
                self.gradient.zero_()  # All ranks have the same sum, which one gives.
            if self._more is not None:
                self.is_new = True
                self.is_sparse = self.is_sparse or self._more.is_sparse
                self.gradient.add_(self._more)
                self._more = None
        self.tensor.grad = None  # Backward may compute a further part meanwhile.
        self.is_travelling = True

    def settle(self, is_present: bool, is_sparse: bool) -> None:
        """Gives the result to .grad, or what was there before if no rank had anything new."""
        self._more = self.tensor.grad
        self.is_travelling = False
        if is_present:
            self._result = (
                self.gradient.to_sparse(1)
                if is_sparse and self.gradient.dim() > 0
                else self.gradient
            )
        elif self._kept is None:
            self._result = None
        self.tensor.grad = self._result
        self._kept = None
        if self._result is not None:
            self._version = self._result._version

    def give_up(self) -> None:
        """Undoes take() after an exchange that has failed: .grad is what this rank has computed, or
        the part of it that had travelled.
        """
        self._kept = self._more = self._result = None
        self.is_travelling = False
        if self.tensor.grad is None:
            self.tensor.grad = self.gradient


class _BackwardEnd:
    """What autograd calls once a backward pass has ended. It is freed unused if the pass fails."""

    def __init__(self, passes: _Passes) -> None:
        self._passes = passes

    def __call__(self) -> None:
        self._passes.end()


class _Passes:
    """The backward passes in which optimizers of one communicator exchange gradients.

    Exchanges end in the order in which the optimizers were made, which is the same on all ranks.
    """

    def __init__(self) -> None:
        self.made = 0  # Optimizers so far.
        self.lock = threading.Lock()  # Hooks of several devices are called in threads of their own.
        self._waiting: dict[int, DistributedOptimizer] = {}
        self._end: Callable[[], _BackwardEnd | None] = lambda: None

    @staticmethod
    def of(comm: Communicator) -> _Passes:
        passes = comm.__dict__.setdefault("_torch_passes", _Passes())
        assert isinstance(passes, _Passes)
        return passes

    @property
    def is_running(self) -> bool:
        """Whether a pass that has begun an exchange has neither ended nor failed."""
        return self._end() is not None

    def join(self, number: int, optimizer: DistributedOptimizer) -> None:
        """Ends the optimizer's exchange with this pass. Called within one; a pass within a pass
        ends with the outer one if that came first.
        """
        with self.lock:
            if not self.is_running:
                self._waiting.clear()
                end = _BackwardEnd(self)
                self._end = weakref.ref(end)
                torch.autograd.Variable._execution_engine.queue_callback(end)
            self._waiting[number] = optimizer

    def end(self) -> None:
        with self.lock:
            waiting = [self._waiting[number] for number in sorted(self._waiting)]
            self._waiting.clear()
            self._end = lambda: None
        failure: BaseException | None = None
        for optimizer in waiting:
            try:
                optimizer._exchange()
            except BaseException as error:
                failure = failure or error
        if failure is not None:
            raise failure


class DistributedOptimizer(torch.optim.Optimizer):
    """An optimizer whose gradients are averages over all ranks (`op`: or sums).

    It takes the place of `optimizer`, also for schedulers of learning rates; state_dict() is that
    of `optimizer`. `named_parameters`, or the module that has them, give gradients the names that
    errors and timelines have. Every rank makes it at the same time, of the same parameters in the
    same order, then calls backward() and step() equally often. `settings` are those of Gradients.

    - Gradients travel while backward() computes others; when it returns, each .grad is the average.
      Clipping, logging and a GradScaler then work as they do on one rank. A further backward()
      before the step adds to the averages, and is averaged too.
    - A parameter that has no gradient on some ranks counts as 0 there; where it has none on any,
      its .grad stays as it is.
    - `with optimizer.no_sync():` around all backward passes but the last before a step lets
      gradients add up on this rank alone.
    - Gradients that are assigned to .grad, or added up in no_sync() alone, are exchanged by step(),
      or before it by synchronize().
    - step(closure) averages the loss that `closure` returns, so that optimizers such as LBFGS
      decide alike on all ranks.
    - Parameters that are unfrozen, or added by add_param_group(), after the first step take part
      from the next exchange on. Every rank does that at the same time; a difference is a UsageError
      on all ranks.
    - If `named_parameters` is the module, all ranks have the buffers of rank 0 after each step,
      such as the statistics of BatchNorm. DistributedDataParallel does that before the next
      forward(). `broadcast_buffers=False` leaves each rank its own.
    - A sparse gradient travels as a dense one, and is sparse again afterwards.
    - After a step that FASTGPU_COMM_NANCHECK=skip has skipped, every .grad is NaN, and step()
      changes nothing and returns.
    - An exchange can not be taken back: after a backward() that has failed the rank must end, and
      the others then do too.
    """

    _step_supports_amp_scaling = False  # A GradScaler looks at gradients itself.

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        comm: Communicator,
        named_parameters: torch.nn.Module | Iterable[tuple[str, torch.Tensor]] | None = None,
        op: Op = Op.AVERAGE,
        settings: Mapping[str, str | None] | None = None,
        broadcast_buffers: bool = True,
    ) -> None:
        # Not super().__init__(): what an optimizer has is `optimizer`'s, see __getattr__.
        self._inner = optimizer
        if op not in (Op.AVERAGE, Op.SUM):
            raise ValueError(
                f"DistributedOptimizer: gradients are averaged or summed, not {Op(op).name}"
            )
        self._op, self._settings = Op(op), settings
        module = named_parameters if isinstance(named_parameters, torch.nn.Module) else None
        named = named_parameters if module is None else module.named_parameters()
        self._names = {parameter: name for name, parameter in named or ()}
        group = comm.split(0, comm.rank)  # The program's own calls may come at any time.
        assert group is not None
        self._group = group
        has_buffers = module is not None and broadcast_buffers and comm.size > 1
        self._buffers = _Buffers(module, group) if has_buffers else None
        self._passes = _Passes.of(comm)
        self._number = self._passes.made
        self._passes.made += 1
        self._parameters: dict[torch.Tensor, _Parameter] = {}
        self._hooks: list[Any] = []
        self._is_exchanging = True
        self._has_results = False
        self._last: Outcome | None = None
        self._presence: torch.Tensor | None = None
        self._is_presence_apart = False
        self._gradients = self._new_gradients()
        self._register()

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self._inner.param_groups

    @property
    def state(self) -> Any:
        return self._inner.state

    @property
    def defaults(self) -> dict[str, Any]:
        return self._inner.defaults

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return f"Distributed{self._inner!r}"

    def __getstate__(self) -> Any:
        raise TypeError("a DistributedOptimizer cannot be copied or pickled: keep its state_dict()")

    def state_dict(self) -> dict[str, Any]:
        """That of the optimizer. With a codec in FASTGPU_COMM_WIRE, also the part of this rank's
        gradients that has not been sent yet: each rank then saves its own.
        """
        state = self._inner.state_dict()
        unsent = self._gradients.saved_state()
        if unsent:
            state[_STATE] = {
                "rank": self._group.rank,
                "unsent": torch.frombuffer(bytearray(unsent), dtype=torch.uint8),
            }
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """On every rank the same one, or what the same rank has saved. What another rank had not
        sent yet is left out, because it would count twice.
        """
        known = {key: value for key, value in state_dict.items() if key != _STATE}
        self._inner.load_state_dict(known)
        unsent = state_dict.get(_STATE)
        if unsent is not None and unsent["rank"] == self._group.rank:
            self._gradients.load_state(bytes(unsent["unsent"].tolist()))

    def zero_grad(self, *arguments: Any, **named: Any) -> None:
        """Raises RuntimeError within backward(), and after one that has failed."""
        if self._is_under_way():
            self._check_pass()
            raise RuntimeError(
                "zero_grad() within backward(): gradients are on their way to other ranks"
            )
        self._has_results = False
        self._inner.zero_grad(*arguments, **named)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """On every rank alike. After the first step the new parameters take part from the next
        exchange on.
        """
        self._inner.add_param_group(param_group)
        if self._presence is None:
            self._register()

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes within add to gradients, which stay here."""
        before, self._is_exchanging = self._is_exchanging, False
        try:
            yield
        finally:
            self._is_exchanging = before

    def synchronize(self) -> Outcome:
        """Exchanges gradients unless backward() has done so since the last step; .grad is the
        average afterwards. Raises fastgpu_comm.Error.
        """
        if not self._has_results:
            self._check_pass()
            self._exchange()
        assert self._last is not None
        return self._last

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Exchanges what has not been exchanged, and takes the step. Returns what `closure` does,
        with the average of its loss.
        """
        if closure is not None:
            result = self._inner.step(self._synchronized(closure))
        else:
            is_applied = self.synchronize().is_applied
            self._has_results = False
            result = self._inner.step() if is_applied else None
        if self._buffers is not None:
            self._buffers.share()
        return result

    def close(self) -> None:
        """Lets go of the parameters: backward then is as it was, and another DistributedOptimizer
        may have them. Between steps.
        """
        for _, hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._gradients.close()
        self._group.close()

    def _synchronized(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            loss = closure()
            self.synchronize()
            self._has_results = False
            return self._reduced(loss)

        return call

    def _reduced(self, loss: Any) -> Any:
        """The loss over all ranks, of which optimizers make decisions; anything but one number is
        returned as it is.
        """
        is_tensor = isinstance(loss, torch.Tensor)
        if not (is_tensor and loss.numel() == 1) and (
            isinstance(loss, bool) or not isinstance(loss, (int, float))
        ):
            return loss
        everywhere = self._group.all_reduce(
            torch.tensor([float(loss)], dtype=torch.float64), self._op
        )
        return (
            everywhere.to(loss.device, loss.dtype).reshape(loss.shape)
            if is_tensor
            else everywhere.item()
        )

    # ---- which gradients there are ----

    def _new_gradients(self) -> Gradients:
        gradients = Gradients(self._group, self._settings)
        gradients.use_op(self._op)
        return gradients

    def _wanted(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The parameters that take part, or should, with their names."""
        for number, group in enumerate(self.param_groups):
            for place, tensor in enumerate(group["params"]):
                if tensor.requires_grad or tensor in self._parameters:
                    yield self._names.get(tensor, f"group{number}.{place}"), tensor

    def _register(self) -> None:
        """Registers the gradients of parameters that have none registered yet."""
        for name, tensor in self._wanted():
            parameter = self._parameters.get(tensor)
            if parameter is None:
                parameter = self._parameters[tensor] = _Parameter(name, tensor)
                self._hook(parameter)
            if parameter.number < 0:
                parameter.number = self._gradients.register(name, parameter.registered)

    def _register_anew(self) -> None:
        """A collective: parameters were unfrozen or added on some rank, and all ranks register what
        they have now.
        """
        unsent = self._gradients.saved_state()
        self._gradients.close()
        self._gradients, self._presence = self._new_gradients(), None
        for parameter in self._parameters.values():
            parameter.number = -1
        self._register()
        self._gradients.load_state(unsent)

    def _hook(self, parameter: _Parameter) -> None:
        """Is called when backward has added to the gradient of that parameter."""
        # The node that does so is reached by way of a view; it lasts as long as it is held.
        with torch.enable_grad():
            node = parameter.tensor.expand_as(parameter.tensor).grad_fn.next_functions[0][0]
        this = weakref.ref(self)

        def completed(*_: Any) -> None:
            optimizer = this()
            if optimizer is not None:
                optimizer._completed(parameter)

        self._hooks.append((node, node.register_hook(completed)))

    # ---- an exchange ----

    def _is_under_way(self) -> bool:
        return any(parameter.is_travelling for parameter in self._parameters.values())

    def _check_pass(self) -> None:
        """Raises RuntimeError if gradients travel that no backward pass will complete."""
        if not self._passes.is_running and self._is_under_way():
            raise RuntimeError(
                "a backward() has failed after some of its gradients had left for other ranks: "
                "they cannot be taken back, and this "
                "rank cannot go on. Let it end; the others then name it"
            )

    def _completed(self, parameter: _Parameter) -> None:
        self._has_results = False
        if not self._is_exchanging or parameter.is_travelling:
            return  # What is computed while a gradient travels is exchanged after it.
        self._check_pass()
        self._passes.join(self._number, self)
        self._begin()
        self._send(parameter)

    def _begin(self) -> None:
        """Prepares, before the first gradient travels, what each rank knows of the others. It is
        registered as a gradient unless it is exchanged apart.
        """
        with self._passes.lock:
            if self._presence is None:
                self._presence = torch.zeros(2 * len(self._parameters) + 2, dtype=torch.float32)
                self._is_presence_apart = self._has_device_gradients()
                if not self._is_presence_apart:
                    self._gradients.register(_PRESENCE, self._presence)

    def _has_device_gradients(self) -> bool:
        """Returns True if gradients are in a GPU's memory. What the ranks know of each other is
        then exchanged apart from them, from host to host: with them it would be copied to the GPU
        and back, and each step would wait for that.
        """
        return any(parameter.gradient.is_cuda for parameter in self._parameters.values())

    def _send(self, parameter: _Parameter) -> None:
        parameter.take(self._op, self._group.rank)
        self._gradients.ready(parameter.number)

    def _exchange(self) -> None:
        """Completes the exchange that hooks have begun, or makes a whole one; .grad is the result
        afterwards.
        """
        while self._exchange_once():
            pass
        self._has_results = True

    def _exchange_once(self) -> bool:
        """Returns True if another exchange must follow, on all ranks alike."""
        self._begin()
        assert self._presence is not None
        parameters = list(self._parameters.values())
        for parameter in parameters:
            if not parameter.is_travelling:
                self._send(parameter)
        known = [float(parameter.is_new) for parameter in parameters] + [
            float(parameter.is_sparse) for parameter in parameters
        ]
        has_more = any(parameter.has_more() for parameter in parameters)
        has_others = any(tensor not in self._parameters for _, tensor in self._wanted())
        self._presence.copy_(torch.tensor([*known, has_more, has_others], dtype=torch.float32))
        if not self._is_presence_apart:
            self._gradients.ready(_PRESENCE)
        try:
            self._last = self._gradients.wait()
            if self._is_presence_apart and self._last.is_applied:
                self._group.all_reduce(self._presence, Op.SUM)
        except BaseException:
            for parameter in parameters:
                parameter.give_up()
            raise
        if not self._last.is_applied:
            self._fill_with_nan(parameters)
            return False
        found = self._presence.tolist()
        for place, parameter in enumerate(parameters):
            parameter.settle(found[place] > 0, found[len(parameters) + place] > 0)
        if found[-1] > 0:
            self._register_anew()
        return found[-2] > 0 or found[-1] > 0

    @staticmethod
    def _fill_with_nan(parameters: list[_Parameter]) -> None:
        """Lets everything that looks at gradients find on each rank that the step was skipped."""
        has_some = any(parameter.had_gradient for parameter in parameters)
        for parameter in parameters:
            is_filled = parameter.had_gradient or not has_some
            if is_filled:
                parameter.gradient.fill_(float("nan"))
            parameter.tensor.grad = None
            parameter.settle(is_filled, False)
