"""An optimizer of PyTorch that exchanges only some of its steps with other ranks."""

from __future__ import annotations

import contextlib
import logging
import math
from typing import Any, Callable, Iterable, Iterator, Mapping

import torch

from ._torch_broadcast import STATE, Buffers, broadcast_parameters
from ._torch_wrapper import (
    OptimizerWrapper,
    check_plain,
    gradient_type,
    memory_order,
    names_of,
    not_compiled,
    plain_optimizer,
    state_in,
)
from .communicator import Communicator
from .errors import Error
from .multistep import Multistep, MultistepOutcome

_log = logging.getLogger("fastgpu_comm")

_PRESENCE = "fastgpu_comm.presence"  # The name of the tensor that has which gradients ranks have.


def _is_finite(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no NaN and no infinity."""
    values = tensor._values() if tensor.is_sparse else tensor
    # A sum has no other memory, and is not finite if a number is not; but it may overflow.
    wide = torch.float32 if values.element_size() < 4 else values.dtype
    return math.isfinite(float(values.sum(dtype=wide))) or bool(torch.isfinite(values).all())


class _Gradients:
    """The gradients of parameters that a mode averages, and which of them any rank has."""

    def __init__(self, named: Mapping[torch.Tensor, str], steps: Multistep) -> None:
        self._memory: dict[torch.Tensor, torch.Tensor] = {}
        for tensor, name in named.items():
            self._memory[tensor] = torch.zeros_like(
                tensor.detach(),
                dtype=gradient_type(tensor),
                memory_format=torch.contiguous_format,
            )
            steps.register(name, self._memory[tensor])
        # 1 for a gradient that is there, and 1 for one that is sparse: above 0 in the mean if it is
        # so in any step of any rank.
        self._presence = torch.zeros(2, len(self._memory), dtype=torch.float32)
        steps.register(_PRESENCE, self._presence)

    @torch.no_grad()
    def take(self) -> None:
        """Takes the gradients of a step from .grad."""
        found = [tensor.grad for tensor in self._memory]
        known = [
            [one is not None for one in found],
            [one is not None and one.is_sparse for one in found],
        ]
        self._presence.copy_(torch.tensor(known, dtype=torch.float32))
        for (tensor, memory), one in zip(self._memory.items(), found):
            if one is None:
                memory.zero_()
            else:
                memory.copy_(one.to_dense() if one.is_sparse else one)
            tensor.grad = None

    def give(self) -> None:
        """Gives the averages to .grad. A parameter without a gradient on any rank has none: an
        optimizer would let it decay, or move it by its momentum.
        """
        are_present, are_sparse = (self._presence > 0).tolist()
        for (tensor, memory), is_present, is_sparse in zip(
            self._memory.items(), are_present, are_sparse
        ):
            if is_present:
                has_rows = is_sparse and memory.dim() > 0
                tensor.grad = memory.to_sparse(1) if has_rows else memory

    def forget(self) -> None:
        for tensor in self._memory:
            tensor.grad = None


class _Values:
    """The parameters that a mode averages. The library writes to those whose elements are in one
    piece of memory, in whatever order; the others are copied.
    """

    def __init__(self, named: Mapping[torch.Tensor, str], steps: Multistep) -> None:
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []
        for tensor, name in named.items():
            values = tensor.detach()
            in_order = values.permute(memory_order(values))
            if not in_order.is_contiguous():
                in_order = values.clone(memory_format=torch.contiguous_format)
                self._copies.append((values, in_order))
            steps.register(name, in_order)

    @contextlib.contextmanager
    def in_memory(self) -> Iterator[None]:
        """Lets the library read and write the parameters."""
        for values, copy in self._copies:
            copy.copy_(values)
        try:
            yield
        finally:
            for values, copy in self._copies:
                values.copy_(copy)


class MultistepOptimizer(OptimizerWrapper):
    """Takes the steps of `optimizer` by the mode of Multistep: "accumulate=4", "local_steps=8",
    "diloco=500", "delay=1" or "slices=8"; its text says when not to use each.

        optimizer = MultistepOptimizer(optimizer, comm, model, "local_steps=8")
        for x, y in batches:  # Ranks may have different numbers of them.
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step(weight=len(x))
        optimizer.finish()

    - Every rank makes it at the same time, of the same parameters in the same order; in all modes
      they become those of rank 0. They are in the host's memory. `named_parameters`, or the module
      that has them, give them the names that errors have.
    - Modes that average gradients ("accumulate", "delay") take .grad in each step(), and step
      `optimizer` when a round has results. A parameter that has no gradient on some ranks counts
      as 0 there; one that has none on any, such as a frozen one, has none for `optimizer` either.
    - The other modes step `optimizer` each time, and average parameters at the end of a round. Its
      own state, such as momenta, stays that of this rank. With FASTGPU_COMM_NANCHECK=skip a step
      is left out if a gradient of this rank is not finite: the round averages what its other steps
      have done. If the rank leaves out all of them a few rounds in a row, all ranks log its number.
    - If `named_parameters` is the module, all ranks have its buffers of rank 0, too: at first, and
      after each round.
    - Schedulers of learning rates are given `optimizer` itself. A GradScaler is given this one; a
      step that it leaves out on this rank is a batch less.
    - Each rank calls finish() after its last batch. The parameters of all ranks are the same then.
      It ends the training, not an epoch: no step() follows, unless all ranks call load_state_dict()
      with their state_dict() first.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        comm: Communicator,
        named_parameters: torch.nn.Module | Iterable[tuple[str, torch.Tensor]] | None = None,
        mode: str | None = None,
        settings: Mapping[str, str | None] | None = None,
    ) -> None:
        self._inner = plain_optimizer(optimizer, "MultistepOptimizer")
        comm = Communicator.of(comm, "MultistepOptimizer")
        module = named_parameters if isinstance(named_parameters, torch.nn.Module) else None
        names = names_of(named_parameters, optimizer, "MultistepOptimizer")
        group = comm.split(0, comm.rank)  # The program's own calls may come at any time.
        assert group is not None
        self._group = group
        self._steps = Multistep(group, mode, settings)
        self._takes_gradients = self._steps.takes_gradients
        self._left_out_in_row = 0
        self._named: dict[torch.Tensor, str] = {}
        for number, param_group in enumerate(optimizer.param_groups):
            for place, tensor in enumerate(param_group["params"]):
                name = names.get(tensor, f"group{number}.{place}")
                check_plain(tensor, name, "MultistepOptimizer")
                self._named[tensor] = name
        self._exchanged: _Gradients | _Values
        if self._takes_gradients:
            self._exchanged = _Gradients(self._named, self._steps)
            self._steps.begin()
            broadcast_parameters(((name, one) for one, name in self._named.items()), group)
        else:
            self._exchanged = _Values(self._named, self._steps)
            with self._exchanged.in_memory():
                self._steps.begin()
        own = comm.split(0, comm.rank)
        assert own is not None
        self._buffer_group = own
        has_buffers = module is not None and comm.size > 1 and any(True for _ in module.buffers())
        self._buffers = Buffers(module, own) if module is not None and has_buffers else None
        if self._buffers is not None:
            self._buffers.share()

    def __repr__(self) -> str:
        return f"Multistep{self._inner!r}"

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimizer that takes the steps, for schedulers."""
        return self._inner

    @not_compiled
    def zero_grad(self, *arguments: Any, **named: Any) -> None:
        self._inner.zero_grad(*arguments, **named)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Raises RuntimeError: the parameters of a MultistepOptimizer do not change."""
        raise RuntimeError("add_param_group(): make the MultistepOptimizer with all parameters")

    @not_compiled
    def step(self, weight: float | None = None) -> MultistepOutcome:  # type: ignore[override]
        """Ends a step, whose batch has that weight in the means: its number of samples, if batches
        differ. Raises TypeError for a closure: most steps of `optimizer` are not those of a batch.
        """
        if callable(weight):
            raise TypeError(
                "step(): a MultistepOptimizer takes no closure: compute the gradients by "
                "backward(), then call step(weight=...)"
            )
        if isinstance(self._exchanged, _Gradients):
            self._exchanged.take()
        elif self._is_left_out():
            return self._ended(self._steps.leave_out)
        else:
            self._inner.step()
        return self._ended(lambda: self._steps.step(weight))

    def _is_left_out(self) -> bool:
        """Whether `optimizer` is not to take this step, after which its momenta would be NaN."""
        if not self._steps.skips_non_finite:
            return False
        for tensor, name in self._named.items():
            if tensor.grad is not None and not _is_finite(tensor.grad):
                self._note_left_out(name)
                return True
        self._left_out_in_row = 0
        return False

    def _note_left_out(self, name: str) -> None:
        """Logs that a step is left out: for the first in a row, and then ever more rarely."""
        before = self._left_out_in_row
        self._left_out_in_row += 1
        if before & self._left_out_in_row == 0:  # It is a power of two.
            _log.warning(
                "rank %d leaves out a step%s: gradient '%s' is not finite",
                self._group.rank,
                f", as the {before} before" if before > 0 else "",
                name,
            )

    @torch.no_grad()
    def _mend_state(self) -> None:
        """Lets `optimizer` begin anew with the parameters whose state is not finite, after a round
        without results: they have gone back, and it would move them to NaN again.
        """
        for tensor, name in self._named.items():
            known = self._inner.state.get(tensor, {})
            tensors = [
                one
                for key, one in known.items()
                if key != "step" and isinstance(one, torch.Tensor) and one.is_floating_point()
            ]
            if not all(_is_finite(one) for one in tensors):
                _log.warning(
                    "rank %d: the optimizer's state of '%s' is not finite, and begins anew",
                    self._group.rank,
                    name,
                )
                for one in tensors:
                    one.zero_()

    @not_compiled
    def finish(self) -> None:
        """Takes part in rounds until all ranks have finished, after the last batch of this one."""
        while not self._steps.is_over:
            self._ended(self._steps.finish_round)

    def _ended(self, end: Callable[[], MultistepOutcome]) -> MultistepOutcome:
        """Ends a step or a round by `end`."""
        exchanged = self._exchanged
        if isinstance(exchanged, _Values):
            try:
                with exchanged.in_memory():
                    outcome = end()
            except Error:
                self._mend_state()  # The program may go on.
                raise
            if outcome.is_round_end and not outcome.has_results:
                self._mend_state()
        else:
            outcome = end()
            if outcome.has_results:
                exchanged.give()
                self._inner.step()
                exchanged.forget()
        if outcome.is_round_end and self._buffers is not None:
            self._buffers.share()
        return outcome

    def state_dict(self) -> dict[str, Any]:
        """That of `optimizer`, the parameters, and what this rank remembers between rounds: each
        rank saves its own. Buffers are those of the module's state_dict() alone.
        """
        state = self._inner.state_dict()
        exchanged = self._exchanged
        with exchanged.in_memory() if isinstance(exchanged, _Values) else contextlib.nullcontext():
            saved = bytearray(self._steps.saved_state())
        state[STATE] = {
            "rank": self._group.rank,
            "multistep": torch.frombuffer(saved, dtype=torch.uint8),
        }
        if self._takes_gradients:  # In other modes they are in the state of Multistep.
            state[STATE]["parameters"] = [one.detach().clone() for one in self._named]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads what the same rank has saved, its parameters too. Raises UsageError for that of
        another rank, number of ranks or mode, and ValueError for that of another optimizer.
        """
        known = {key: value for key, value in state_dict.items() if key != STATE}
        own = state_dict.get(STATE)
        if not isinstance(own, dict) or "multistep" not in own:
            raise ValueError("this is no state_dict() of a MultistepOptimizer")
        parameters = self._parameters_in(own) if self._takes_gradients else []
        exchanged = self._exchanged
        with exchanged.in_memory() if isinstance(exchanged, _Values) else contextlib.nullcontext():
            self._steps.load_state(state_in(own["multistep"]))
        self._inner.load_state_dict(known)
        with torch.no_grad():
            for tensor, saved in zip(self._named, parameters):
                tensor.copy_(saved)

    def _parameters_in(self, own: Mapping[str, Any]) -> list[torch.Tensor]:
        saved = own.get("parameters")
        shapes = [one.shape for one in self._named]
        if isinstance(saved, list) and [getattr(one, "shape", None) for one in saved] == shapes:
            return saved
        raise ValueError("the state of the MultistepOptimizer does not have these parameters")

    def close(self) -> None:
        """Frees the memory, between steps."""
        self._steps.close()
        self._buffer_group.close()
        self._group.close()
