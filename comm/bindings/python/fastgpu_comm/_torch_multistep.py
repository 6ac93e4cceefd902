"""An optimizer of PyTorch that exchanges only some of its steps with other ranks."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import torch

from ._torch_broadcast import STATE, Buffers
from ._torch_wrapper import Wrapped, names_of, plain_optimizer, state_in
from .communicator import Communicator
from .multistep import Multistep, MultistepOutcome


class MultistepOptimizer(Wrapped):
    """Takes the steps of `optimizer` by the mode of Multistep: "accumulate=4", "local_steps=8",
    "diloco=500", "delay=1" or "slices=8"; its text says when not to use each.

        optimizer = MultistepOptimizer(optimizer, comm, model, "local_steps=8")
        for x, y in batches:  # Ranks may have different numbers of them.
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step(weight=len(x))
        optimizer.finish()

    - Every rank makes it at the same time, of the same parameters in the same order; they become
      those of rank 0. They are in the host's memory. `named_parameters`, or the module that has
      them, give them the names that errors have.
    - Modes that average gradients ("accumulate", "delay") take .grad in each step(), and step
      `optimizer` when a round has results. A parameter without a gradient counts as 0.
    - The other modes step `optimizer` each time, and average parameters at the end of a round. Its
      own state, such as momenta, stays that of this rank.
    - If `named_parameters` is the module, all ranks have the buffers of rank 0 after each round.
    - Schedulers of learning rates are given `optimizer` itself.
    - Each rank calls finish() after its last batch. The parameters of all ranks are the same then.
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
        names = names_of(named_parameters, "MultistepOptimizer")
        group = comm.split(0, comm.rank)  # The program's own calls may come at any time.
        assert group is not None
        self._group = group
        self._steps = Multistep(group, mode, settings)
        self._takes_gradients = self._steps.takes_gradients
        self._gradients: dict[torch.Tensor, torch.Tensor] = {}
        self._register(names)
        self._steps.begin()
        own = comm.split(0, comm.rank)
        assert own is not None
        self._buffer_group = own
        has_buffers = module is not None and comm.size > 1 and any(True for _ in module.buffers())
        self._buffers = Buffers(module, own) if module is not None and has_buffers else None

    def _register(self, names: Mapping[torch.Tensor, str]) -> None:
        for number, group in enumerate(self._inner.param_groups):
            for place, tensor in enumerate(group["params"]):
                name = names.get(tensor, f"group{number}.{place}")
                if self._takes_gradients:
                    memory = torch.zeros_like(
                        tensor.detach(), memory_format=torch.contiguous_format
                    )
                    self._gradients[tensor] = memory
                    self._steps.register(name, memory)
                else:
                    self._steps.register(name, tensor.detach())

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimizer that takes the steps, for schedulers."""
        return self._inner

    def zero_grad(self, *arguments: Any, **named: Any) -> None:
        self._inner.zero_grad(*arguments, **named)

    def step(self, weight: float | None = None) -> MultistepOutcome:
        """Ends a step, whose batch has that weight in the means: its number of samples, if batches
        differ.
        """
        if not self._takes_gradients:
            self._inner.step()
            return self._ended(self._steps.step(weight))
        with torch.no_grad():
            for tensor, memory in self._gradients.items():
                if tensor.grad is None:
                    memory.zero_()
                else:
                    memory.copy_(tensor.grad.to_dense() if tensor.grad.is_sparse else tensor.grad)
                tensor.grad = None
        return self._ended(self._steps.step(weight))

    def finish(self) -> None:
        """Takes part in rounds until all ranks have finished, after the last batch of this one."""
        while not self._steps.is_over:
            self._ended(self._steps.finish_round())

    def _ended(self, outcome: MultistepOutcome) -> MultistepOutcome:
        if outcome.has_results and self._takes_gradients:
            for tensor, memory in self._gradients.items():
                tensor.grad = memory
            self._inner.step()
            for tensor in self._gradients:
                tensor.grad = None
        if outcome.is_round_end and self._buffers is not None:
            self._buffers.share()
        return outcome

    def state_dict(self) -> dict[str, Any]:
        """That of `optimizer`, and what this rank remembers between rounds: each rank saves its
        own.
        """
        state = self._inner.state_dict()
        saved = bytearray(self._steps.saved_state())
        state[STATE] = {
            "rank": self._group.rank,
            "multistep": torch.frombuffer(saved, dtype=torch.uint8),
        }
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads what the same rank has saved, its parameters too. Raises UsageError for that of
        another rank, number of ranks or mode.
        """
        known = {key: value for key, value in state_dict.items() if key != STATE}
        self._steps.load_state(state_in(state_dict[STATE]["multistep"]))
        self._inner.load_state_dict(known)

    def close(self) -> None:
        """Frees the memory, between steps."""
        self._steps.close()
        self._buffer_group.close()
        self._group.close()
