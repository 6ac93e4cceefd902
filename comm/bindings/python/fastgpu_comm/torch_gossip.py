"""Training a PyTorch model by gossip: each rank takes its own step, then mixes its parameters with
those of a few neighbours.

    with fastgpu_comm.init() as comm:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer = GossipOptimizer(optimizer, comm, model)
        for x, y in batches_of(comm.rank, comm.size):
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
        optimizer.average()

PyTorch 1.13 or later.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping

import torch

from ._torch_broadcast import in_one_memory
from ._torch_wrapper import (
    OptimizerWrapper,
    check_plain,
    names_of,
    not_compiled,
    plain_optimizer,
    state_in,
)
from .communicator import Communicator
from .gossip import Gossip, GossipReport
from .kinds import Op

_STATE = "fastgpu_comm_gossip"  # The key of what gossip remembers in a state_dict.


class _Place:
    """One parameter, and the numbers of the host that are mixed for it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor.detach()
        is_here = (
            tensor.device.type == "cpu"
            and tensor.dtype == torch.float32
            and self.tensor.is_contiguous()
        )
        self.numbers = (
            self.tensor if is_here else torch.empty(tensor.shape, dtype=torch.float32, device="cpu")
        )

    def gather(self) -> None:
        if self.numbers is not self.tensor:
            self.numbers.copy_(self.tensor)

    def scatter(self) -> None:
        if self.numbers is not self.tensor:
            self.tensor.copy_(self.numbers)


class GossipOptimizer(OptimizerWrapper):
    """An optimizer that mixes parameters with those of neighbours after each of its steps.

    It takes the place of `optimizer`, also for schedulers of learning rates. `named_parameters`, or
    the module that has them, give parameters their names. Every rank makes it at the same time, of
    the same parameters in the same order, then calls step() equally often; the first call gives all
    ranks the average of all. `settings` are those of Gossip. Parameters of a GPU, and those of
    another type than float32, are copied to the host and back. Buffers, such as the statistics of
    BatchNorm, stay each rank's own.

    average() gives all ranks one model, for an evaluation or at the end. A GradScaler whose step()
    finds a gradient that is not finite on this rank leaves out the step of `optimizer` alone: this
    rank still mixes.

    state_dict() has what this rank remembers: with checkpoints, each rank keeps its own.
    """

    # A GradScaler calls step() in any case, which unscales the gradients.
    _step_supports_amp_scaling = True

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        comm: Communicator,
        named_parameters: torch.nn.Module | Iterable[tuple[str, torch.Tensor]] | None = None,
        settings: Mapping[str, str | None] | None = None,
    ) -> None:
        self._inner = plain_optimizer(optimizer, "GossipOptimizer")
        comm = Communicator.of(comm, "GossipOptimizer")
        names = names_of(named_parameters, optimizer, "GossipOptimizer")
        group = comm.split(0, comm.rank)  # The program's own calls may come at any time.
        assert group is not None
        self._group = group
        self._gossip = Gossip(group, settings)
        self._last: GossipReport | None = None
        self._places: list[_Place] = []
        for number, group in enumerate(optimizer.param_groups):
            for index, tensor in enumerate(group["params"]):
                name = names.get(tensor, f"group{number}.{index}")
                check_plain(tensor, name, "GossipOptimizer")
                place = _Place(tensor)
                self._gossip.register(name, place.numbers)
                self._places.append(place)

    def __repr__(self) -> str:
        return f"Gossip{self._inner!r}"

    @property
    def report(self) -> GossipReport | None:
        """The report of the last step; None before the first."""
        return self._last

    @not_compiled
    def zero_grad(self, *arguments: Any, **named: Any) -> None:
        self._inner.zero_grad(*arguments, **named)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Raises RuntimeError: the parameters that are mixed do not change."""
        raise RuntimeError("add_param_group(): make the GossipOptimizer with all parameters")

    @not_compiled
    def step(self, closure: Callable[[], Any] | None = None, **by_scaler: Any) -> Any:
        """Takes the optimizer's step on this rank, then mixes. Raises fastgpu_comm.Error."""
        if not self._is_finite(by_scaler.pop("grad_scaler", None)):
            result = None
        elif closure is None:
            result = self._inner.step(**by_scaler)
        else:
            result = self._inner.step(closure, **by_scaler)
        with torch.no_grad():
            for place in self._places:
                place.gather()
            self._last = self._gossip.step()
            for place in self._places:
                place.scatter()
        return result

    def _is_finite(self, scaler: Any) -> bool:
        """Unscales the gradients for a GradScaler that has called step(). Returns False if it has
        found one that is not finite.
        """
        if scaler is not None:  # PyTorch 1.13
            known = scaler._per_optimizer_states[id(self)]
            if known["stage"].name == "READY":
                scaler.unscale_(self)
            return not any(float(one) for one in known["found_inf_per_device"].values())
        scale = self.__dict__.get("grad_scale")
        found = self.__dict__.get("found_inf")
        if scale is not None:
            for group in self.param_groups:
                for tensor in group["params"]:
                    if tensor.grad is not None:
                        tensor.grad.mul_((1.0 / scale).to(tensor.grad.device, tensor.grad.dtype))
        return found is None or not float(found)

    @not_compiled
    def average(self) -> None:
        """Gives all ranks the exact average of their parameters. A collective, between steps."""
        with torch.no_grad():
            tensors = [place.tensor for place in self._places]
            travelling = [
                (tensor, dense, self._group.all_reduce_async(dense, Op.AVERAGE))
                for tensor, dense in zip(tensors, in_one_memory(tensors))
            ]
            for tensor, dense, request in travelling:
                request.wait()
                if dense.data_ptr() != tensor.data_ptr():
                    tensor.copy_(dense)

    def state_dict(self) -> dict[str, Any]:
        saved = torch.frombuffer(bytearray(self._gossip.saved_state()), dtype=torch.uint8)
        return {**self._inner.state_dict(), _STATE: saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the optimizer's state, and before the first step that of gossip. Raises UsageError
        for that of another rank, number of ranks or other settings.
        """
        known = {key: value for key, value in state_dict.items() if key != _STATE}
        self._inner.load_state_dict(known)
        remembered = state_dict.get(_STATE)
        if remembered is not None:
            self._gossip.load_state(state_in(remembered))

    def close(self) -> None:
        """Frees what gossip has, between steps."""
        self._gossip.close()
        self._group.close()
