"""The backward passes of PyTorch, at whose end exchanges of gradients end."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Callable

import torch

from ._torch_wrapper import not_compiled
from .communicator import Communicator


class _BackwardEnd:
    """What autograd calls once a backward pass has ended. It is freed unused if the pass fails."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    @not_compiled
    def __call__(self) -> None:
        self._passes.end()


def is_within_backward() -> bool:
    """Returns True in a hook of autograd. Before PyTorch 2.0 it cannot be known."""
    task = getattr(torch._C, "_current_graph_task_id", None)
    return task is not None and bool(task() >= 0)


def check_not_compiled() -> None:
    """Raises RuntimeError in a hook of a backward pass that torch.compile has compiled."""
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    if compiled is not None and getattr(compiled, "in_compiled_autograd_region", False):
        raise RuntimeError(
            "DistributedOptimizer does not go with compiled autograd, which does not say when a "
            "backward pass ends: set torch._dynamo.config.compiled_autograd = False. torch.compile "
            "of the model goes with it"
        )


class Passes:
    """The backward passes in which optimizers of one communicator exchange gradients.

    Exchanges end in the order in which the optimizers were made, which is the same on all ranks.
    """

    def __init__(self) -> None:
        self.made = 0  # Optimizers so far.
        self.lock = threading.Lock()  # Hooks of several devices are called in threads of their own.
        self._waiting: dict[int, Callable[[], None]] = {}
        self._end: Callable[[], _BackwardEnd | None] = lambda: None

    @staticmethod
    def of(comm: Communicator) -> Passes:
        passes = comm.__dict__.setdefault("_torch_passes", Passes())
        assert isinstance(passes, Passes)
        return passes

    @property
    def is_running(self) -> bool:
        """Whether a pass that has begun an exchange has neither ended nor failed."""
        return self._end() is not None

    def join(self, number: int, complete: Callable[[], None]) -> None:
        """Calls `complete`, which ends the exchange of optimizer `number`, at the end of this pass.
        Called within one; a pass within a pass ends with the outer one if that came first.
        """
        with self.lock:
            if not self.is_running:
                self._waiting.clear()
                end = _BackwardEnd(self)
                self._end = weakref.ref(end)
                torch.autograd.Variable._execution_engine.queue_callback(end)
            self._waiting[number] = complete

    def end(self) -> None:
        with self.lock:
            waiting = [self._waiting[number] for number in sorted(self._waiting)]
            self._waiting.clear()
            self._end = lambda: None
        failure: BaseException | None = None
        for complete in waiting:
            try:
                complete()
            except BaseException as error:
                failure = failure or error
        if failure is not None:
            raise failure
