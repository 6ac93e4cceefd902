"""The exchange of the gradients of one PyTorch optimizer: hooks begin it during backward(), and it
ends with the pass.
"""

from __future__ import annotations

import functools
import re
import weakref
from typing import Any, Iterator, Mapping

import torch

from ._agreement import check_same_content
from ._torch_parameter import Parameter, sum_of_bits
from ._torch_passes import Passes, check_not_compiled, is_within_backward
from ._torch_wrapper import not_compiled
from .communicator import Communicator
from .errors import UsageError
from .gradients import Gradients, Outcome
from .kinds import Op

_PRESENCE = (
    "fastgpu_comm.presence"  # The name of a gradient that holds what each rank knows of the others.
)


_SHAPES = re.compile(r" is (\w+) \[([\d, ]*)\] '.*', not (\w+) \[([\d, ]*)\] '")


def explained(error: UsageError) -> UsageError:
    """Returns the error of ranks that have registered different gradients. Those are described in
    the order of memory, which may differ where shapes do not.
    """
    found = _SHAPES.search(str(error))
    if found is None or found[1] != found[3] or found[2] == found[4]:
        return error
    if sorted(found[2].split(", ")) != sorted(found[4].split(", ")):
        return error
    return UsageError(
        f"{error}. Shapes are in the order of memory: give the parameter the same shape and the "
        "same memory format (such as channels_last) on all ranks"
    )


_open: weakref.WeakSet[Exchange] = weakref.WeakSet()  # Those that may not be closed yet.


@not_compiled
def _completed(exchange: weakref.ref[Exchange], parameter: Parameter, *_: Any) -> None:
    this = exchange()
    if this is not None:
        this._completed(parameter)


@not_compiled
def _added(parameter: Parameter, _: Any) -> None:
    parameter.note_addition()


class Exchange:
    """The gradients of `optimizer`, which the ranks of `group` average or sum. Parameters are named
    by `names`, or by their place in the optimizer.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        names: Mapping[torch.Tensor, str],
        group: Communicator,
        passes: Passes,
        op: Op,
        settings: Mapping[str, str | None] | None,
    ) -> None:
        self._optimizer, self._names, self._group = optimizer, names, group
        self._op, self._settings = op, settings
        self._passes, self._number = passes, passes.made
        passes.made += 1
        self.is_paused = False  # Gradients stay on this rank.
        self.has_results = False  # Each .grad is what the last exchange has made of it.
        self.last: Outcome | None = None
        self._parameters: dict[torch.Tensor, Parameter] = {}
        self._compared = 0  # So many of them had the same content on all ranks when they came.
        self._hooks: list[Any] = []
        self._used: set[int] = set()  # Addresses of gradients that travel from where they are.
        self._presence: torch.Tensor | None = None
        self._is_presence_apart = False
        self._gradients = self._new_gradients()
        self._register()
        _open.add(self)

    def saved_state(self) -> bytes:
        """Returns what codecs have not sent yet."""
        return self._gradients.saved_state()

    def load_state(self, unsent: bytes) -> None:
        self._gradients.load_state(unsent)

    def close(self) -> None:
        for _, hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._gradients.close()

    # ---- which gradients there are ----

    def _new_gradients(self) -> Gradients:
        gradients = Gradients(self._group, self._settings)
        gradients.use_op(self._op)
        return gradients

    def _wanted(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The parameters that take part, or should, with their names."""
        for number, group in enumerate(self._optimizer.param_groups):
            for place, tensor in enumerate(group["params"]):
                if tensor.requires_grad or tensor in self._parameters:
                    yield self._names.get(tensor, f"group{number}.{place}"), tensor

    def register_added(self) -> None:
        """Registers parameters that were added before the first exchange."""
        if self._presence is None:
            self._register()

    def _register(self) -> None:
        """Registers the gradients of parameters that have none registered yet."""
        for name, tensor in self._wanted():
            parameter = self._parameters.get(tensor)
            if parameter is None:
                parameter = self._parameters[tensor] = Parameter(name, tensor)
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

    def _hook(self, parameter: Parameter) -> None:
        """Is called when backward has added to the gradient of that parameter."""
        # The node that does so is reached by way of a view; it lasts as long as it is held.
        with torch.enable_grad():
            node = parameter.tensor.expand_as(parameter.tensor).grad_fn.next_functions[0][0]
        completed = functools.partial(_completed, weakref.ref(self), parameter)
        self._hooks.append((node, node.register_hook(completed)))
        if self._op is Op.SUM:
            hook = parameter.tensor.register_hook(functools.partial(_added, parameter))
            self._hooks.append((None, hook))
            weakref.finalize(self, hook.remove).atexit = False  # The tensor may outlive all this.

    def note_zero(self) -> None:
        """The program gives up all gradients that there are."""
        self.has_results = False
        for parameter in self._parameters.values():
            parameter.note_zero()

    # ---- an exchange ----

    def is_under_way(self) -> bool:
        return any(parameter.is_travelling for parameter in self._parameters.values())

    def check_outside(self, call: str) -> None:
        """Raises RuntimeError within backward(), for a call that comes after it, and after one that
        has failed.
        """
        self.check_pass()
        if is_within_backward() or self.is_under_way():
            raise RuntimeError(
                f"{call} within backward(): gradients are on their way to other ranks until it "
                f"ends. Call {call} after it"
            )

    def check_pass(self) -> None:
        """Raises RuntimeError if gradients travel that no backward pass will complete."""
        if not self._passes.is_running and self.is_under_way():
            raise RuntimeError(
                "a backward() has failed after some of its gradients had left for other ranks: "
                "they cannot be taken back, and this "
                "rank cannot go on. Let it end; the others then name it"
            )

    def _completed(self, parameter: Parameter) -> None:
        check_not_compiled()
        self.has_results = False
        if self.is_paused or parameter.is_travelling:
            return  # What is computed while a gradient travels is exchanged after it.
        self.check_pass()
        self._passes.join(self._number, self.complete)
        self._begin()
        self._send(parameter, is_computed=True)

    def _check_summed_once(self) -> None:
        """Raises RuntimeError if another optimizer, which was not closed, has the same parameters:
        a sum of sums would be wrong. An average of averages is the average.
        """
        for other in _open:
            if other is self or not other._hooks or Op.SUM not in (self._op, other._op):
                continue
            for tensor, parameter in self._parameters.items():
                if tensor in other._parameters:
                    raise RuntimeError(
                        f"the gradient of {parameter.name} is summed by another "
                        "DistributedOptimizer, too: call its close() before this one is used"
                    )

    def _begin(self) -> None:
        """Prepares, before the first gradient travels, what each rank knows of the others. It is
        registered as a gradient unless it is exchanged apart.
        """
        with self._passes.lock:
            if self._presence is None:
                self._check_summed_once()
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

    def _send(self, parameter: Parameter, is_computed: bool) -> None:
        """Lets a gradient travel: from where it is if backward has just computed it, else from a
        copy, because what the program has assigned to .grad is the program's.
        """
        memory = parameter.take(self._op, self._group.rank, is_computed, self._used)
        try:
            self._gradients.ready(parameter.number, memory)
        except UsageError as error:
            raise explained(error) from None

    def complete(self) -> None:
        """Completes the exchange that hooks have begun, or makes a whole one; .grad is the result
        afterwards.
        """
        while self._exchange_once():
            pass
        self.has_results = True

    def _exchange_once(self) -> bool:
        """Returns True if another exchange must follow, on all ranks alike."""
        self._begin()
        assert self._presence is not None
        parameters = list(self._parameters.values())
        for parameter in parameters:
            if not parameter.is_travelling:
                self._send(parameter, is_computed=False)
        known = [float(parameter.is_new) for parameter in parameters] + [
            float(parameter.is_sparse) for parameter in parameters
        ]
        has_more = any(parameter.has_more() for parameter in parameters)
        has_others = any(tensor not in self._parameters for _, tensor in self._wanted())
        self._presence.copy_(torch.tensor([*known, has_more, has_others], dtype=torch.float32))
        if not self._is_presence_apart:
            self._gradients.ready(_PRESENCE)
        try:
            self.last = self._gradients.wait()
            self._check_begun_alike(parameters)
            if self._is_presence_apart and self.last.is_applied:
                self._group.all_reduce(self._presence, Op.SUM)
        except BaseException:
            for parameter in parameters:
                parameter.give_up()
            raise
        finally:
            self._used.clear()
        if not self.last.is_applied:
            self._fill_with_nan(parameters)
            return False
        found = self._presence.tolist()
        for place, parameter in enumerate(parameters):
            parameter.settle(found[place] > 0, found[len(parameters) + place] > 0)
        if found[-1] > 0:
            self._register_anew()
        return found[-2] > 0 or found[-1] > 0

    def _check_begun_alike(self, parameters: list[Parameter]) -> None:
        """Raises UsageError on all ranks if parameters that have come since the last exchange are
        not the same on all. A collective once they have come. It is called where all ranks have
        registered the same, and in the same order for all optimizers.
        """
        if self._compared == len(parameters):
            return
        new = parameters[self._compared :]
        contents = {parameter.name: sum_of_bits(parameter.tensor) for parameter in new}
        check_same_content(contents, self._group, "DistributedOptimizer")
        self._compared = len(parameters)

    @staticmethod
    def _fill_with_nan(parameters: list[Parameter]) -> None:
        """Lets everything that looks at gradients find on each rank that the step was skipped."""
        has_some = any(parameter.had_gradient for parameter in parameters)
        for parameter in parameters:
            is_filled = parameter.had_gradient or not has_some
            if is_filled:
                parameter.travelling.fill_(float("nan"))
            parameter.tensor.grad = None
            parameter.settle(is_filled, False)
