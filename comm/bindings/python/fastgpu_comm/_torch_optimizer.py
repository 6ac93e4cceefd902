"""An optimizer of PyTorch whose gradients are those of all ranks."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterable, Iterator, Mapping

import torch

from ._torch_broadcast import STATE, Buffers
from ._torch_exchange import Exchange
from ._torch_passes import Passes
from ._torch_wrapper import OptimizerWrapper, names_of, not_compiled, plain_optimizer, state_in
from .communicator import Communicator
from .errors import UsageError
from .gradients import Outcome
from .kinds import Op

_UNSENT_KEYS = {"rank", "unsent"}  # Of what a codec has not sent yet.


class DistributedOptimizer(OptimizerWrapper):
    """An optimizer whose gradients are averages over all ranks (`op`: or sums).

    It takes the place of `optimizer`, also for schedulers of learning rates; state_dict() is that
    of `optimizer`. `named_parameters`, or the module that has them, give gradients the names that
    errors and timelines have. Every rank makes it at the same time, of the same parameters in the
    same order, then calls backward() and step() equally often. `settings` are those of Gradients.

    - Parameters are the same on all ranks when they first take part, as after
      broadcast_parameters(): otherwise that exchange is a UsageError on all ranks.
    - Gradients travel while backward() computes others; when it returns, each .grad is the average.
      Clipping, logging and a GradScaler then work as they do on one rank. A further backward()
      before the step adds to the averages, and is averaged too.
    - On the host, the average is written to where backward() has put the gradient, as it is with
      DistributedDataParallel: also to the parts of one large tensor that has all gradients. A
      whole tensor that the program has assigned to .grad is not written to by step().
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

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        comm: Communicator,
        named_parameters: torch.nn.Module | Iterable[tuple[str, torch.Tensor]] | None = None,
        op: Op = Op.AVERAGE,
        settings: Mapping[str, str | None] | None = None,
        broadcast_buffers: bool = True,
    ) -> None:
        self._inner = plain_optimizer(optimizer, "DistributedOptimizer")
        comm = Communicator.of(comm, "DistributedOptimizer")
        if op not in (Op.AVERAGE, Op.SUM):
            raise ValueError(
                f"DistributedOptimizer: gradients are averaged or summed, not {Op(op).name}"
            )
        self._op = Op(op)
        module = named_parameters if isinstance(named_parameters, torch.nn.Module) else None
        names = names_of(named_parameters, optimizer, "DistributedOptimizer")
        group = comm.split(0, comm.rank)  # The program's own calls may come at any time.
        assert group is not None
        self._group = group
        has_buffers = module is not None and broadcast_buffers and comm.size > 1
        self._buffers = Buffers(module, group) if has_buffers else None
        self._exchange = Exchange(optimizer, names, group, Passes.of(comm), self._op, settings)

    def __repr__(self) -> str:
        return f"Distributed{self._inner!r}"

    def state_dict(self) -> dict[str, Any]:
        """That of the optimizer, and after the first step the order in which gradients travel, the
        same on all ranks. With a codec in FASTGPU_COMM_WIRE, also the part of this rank's
        gradients that has not been sent yet: each rank then saves its own.
        """
        state = self._inner.state_dict()
        unsent = self._exchange.saved_state()
        if unsent:
            state[STATE] = {
                "rank": self._group.rank,
                "unsent": torch.frombuffer(bytearray(unsent), dtype=torch.uint8),
            }
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """On every rank the same one, or what the same rank has saved. What another rank had not
        sent yet is left out, because it would count twice. Raises UsageError for what the same rank
        of a job with more or fewer ranks has saved, and ValueError for what another kind of
        optimizer has: without the key "fastgpu_comm" it is loaded.
        """
        known = {key: value for key, value in state_dict.items() if key != STATE}
        unsent = state_dict.get(STATE)
        if unsent is not None and not (isinstance(unsent, dict) and unsent.keys() >= _UNSENT_KEYS):
            raise ValueError(
                f'DistributedOptimizer: what the state_dict has by the key "{STATE}" is of another '
                "kind of optimizer: remove the key on every rank"
            )
        self._inner.load_state_dict(known)
        if unsent is not None and unsent["rank"] == self._group.rank:
            try:
                self._exchange.load_state(state_in(unsent["unsent"]))
            except UsageError as error:
                raise UsageError(
                    f"DistributedOptimizer: {error}. To go on without it, remove the key "
                    f'"{STATE}" from the state_dict on every rank'
                ) from None

    @not_compiled
    def zero_grad(self, *arguments: Any, **named: Any) -> None:
        """Raises RuntimeError within backward(), and after one that has failed."""
        self._exchange.check_outside("zero_grad()")
        self._exchange.note_zero()
        self._inner.zero_grad(*arguments, **named)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """On every rank alike. After the first step the new parameters take part from the next
        exchange on.
        """
        self._inner.add_param_group(param_group)
        self._exchange.register_added()

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes within add to gradients, which stay here."""
        before, self._exchange.is_paused = self._exchange.is_paused, True
        try:
            yield
        finally:
            self._exchange.is_paused = before

    @not_compiled
    def synchronize(self) -> Outcome:
        """Exchanges gradients unless backward() has done so since the last step; .grad is the
        average afterwards. Raises fastgpu_comm.Error.
        """
        self._exchange.check_outside("synchronize()")
        if not self._exchange.has_results:
            self._exchange.complete()
        assert self._exchange.last is not None
        return self._exchange.last

    @not_compiled
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Exchanges what has not been exchanged, and takes the step. Returns what `closure` does,
        with the average of its loss.
        """
        self._exchange.check_outside("step()")
        if closure is not None:
            result = self._inner.step(self._synchronized(closure))
        else:
            is_applied = self.synchronize().is_applied
            self._exchange.has_results = False
            result = self._inner.step() if is_applied else None
        if self._buffers is not None:
            self._buffers.share()
        return result

    def close(self) -> None:
        """Lets go of the parameters: backward then is as it was, and another DistributedOptimizer
        may have them. Between steps.
        """
        self._exchange.close()
        self._group.close()

    def _synchronized(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            loss = closure()
            self.synchronize()
            self._exchange.has_results = False
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
        number = float(loss.detach() if is_tensor else loss)
        everywhere = self._group.all_reduce(torch.tensor([number], dtype=torch.float64), self._op)
        return (
            everywhere.to(loss.device, loss.dtype).reshape(loss.shape)
            if is_tensor
            else everywhere.item()
        )
