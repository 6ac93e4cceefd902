"""An optimizer of PyTorch that exchanges only some of its steps with other ranks."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import torch

from ._torch_broadcast import STATE, Buffers, broadcast_parameters
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

    - Every rank makes it at the same time, of the same parameters in the same order; in all modes
      they become those of rank 0. They are in the host's memory. `named_parameters`, or the module
      that has them, give them the names that errors have.
    - Modes that average gradients ("accumulate", "delay") take .grad in each step(), and step
      `optimizer` when a round has results. A parameter without a gradient counts as 0.
    - The other modes step `optimizer` each time, and average parameters at the end of a round. Its
      own state, such as momenta, stays that of this rank.
    - If `named_parameters` is the module, all ranks have its buffers of rank 0, too: at first, and
      after each round.
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
        self._named: dict[torch.Tensor, str] = {}
        self._gradients: dict[torch.Tensor, torch.Tensor] = {}
        self._register(names)
        self._steps.begin()
        if self._takes_gradients:  # The other modes register the parameters themselves.
            broadcast_parameters(((name, one) for one, name in self._named.items()), group)
        own = comm.split(0, comm.rank)
        assert own is not None
        self._buffer_group = own
        has_buffers = module is not None and comm.size > 1 and any(True for _ in module.buffers())
        self._buffers = Buffers(module, own) if module is not None and has_buffers else None
        if self._buffers is not None:
            self._buffers.share()

    def _register(self, names: Mapping[torch.Tensor, str]) -> None:
        for number, group in enumerate(self._inner.param_groups):
            for place, tensor in enumerate(group["params"]):
                name = names.get(tensor, f"group{number}.{place}")
                self._named[tensor] = name
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
        """That of `optimizer`, the parameters, and what this rank remembers between rounds: each
        rank saves its own. Buffers are those of the module's state_dict() alone.
        """
        state = self._inner.state_dict()
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
