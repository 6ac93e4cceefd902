"""Steps of which only some are exchanged: gradients that are added over several steps, parameters
that are averaged every few steps, averages that travel while the next step is computed.

    steps = fastgpu_comm.Multistep(comm, "local_steps=8")
    steps.register("weight", weight)
    steps.begin()
    for batch in batches:
        weight -= rate * gradient_of(weight, batch)
        steps.step()
    steps.finish()
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Mapping, NamedTuple

from ._data import Registered, look_at
from ._handle import Handle
from ._library import (
    MultistepOutcomeStruct,
    WarningHandler,
    load,
    settings_list,
    state_of,
    text_of,
    whole_number,
)
from .communicator import Communicator
from .gradients import Counters, gradient_struct, log_warning, read_counters


class MultistepOutcome(NamedTuple):
    """The outcome of a step."""

    is_round_end: bool  #: Ranks have exchanged; the other fields are about that round.
    round: int  #: The round that has ended, counted from 0.
    #: Gradients are averages now, for the optimizer to apply; or parameters that this round
    #: averages are the same on all ranks.
    has_results: bool
    is_over: bool  #: All ranks have finished.


class Multistep:
    """The steps of one rank. `mode` is the same on all ranks; None: that of the setting
    FASTGPU_COMM_MULTISTEP.

    - "accumulate=N": not if memory has room for a batch N times as large: that batch is faster.
      Gradients of N steps are added, and averaged over the ranks once.
    - "local_steps=H": not if the data of ranks differ in kind, and not for a few hundred steps.
      Parameters are averaged every H steps; ",warmup=W": in each of the first W steps.
    - "diloco=H": not on a network that keeps up with local_steps: it has two settings more. The
      averaged difference is the gradient of an outer optimizer, SGD with Nesterov momentum;
      ",rate=0.7,momentum=0.9,warmup=0" are its defaults.
    - "delay=1": not with a learning rate near the highest that converges. The averages of a step
      are applied in the next one, and travel meanwhile.
    - "slices=S": not to save bytes: it sends those of local_steps=S, only evenly. Each step
      averages one of S slices of the parameters; ",rate=R,momentum=M" are those of an outer
      optimizer.

    Means are weighted by the weights of the steps. `settings` and `on_warning` are as for
    Gradients.
    """

    def __init__(
        self,
        comm: Communicator,
        mode: str | None = None,
        settings: Mapping[str, str | None] | None = None,
        on_warning: Callable[[str], None] = log_warning,
    ) -> None:
        ranks = Communicator.of(comm, "Multistep")
        pointer = load().make(
            "fgc_multistep_create",
            ranks.pointer,
            None if mode is None else text_of(mode, "the mode"),
            settings_list(settings),
        )
        assert pointer is not None
        handler = WarningHandler(lambda sentence, _: on_warning(sentence.decode(errors="replace")))
        self._data = Registered()
        self._ids: dict[str, int] = {}
        self._is_over = False
        self._handle = Handle(
            self, "multistep training", "fgc_multistep_free", pointer, (handler, self._data)
        )
        load().call("fgc_multistep_on_warning", pointer, handler, None)

    @property
    def takes_gradients(self) -> bool:
        """Whether the mode averages gradients, not parameters."""
        return bool(load().ask("fgc_multistep_takes_gradients", self._handle.pointer) == 1)

    @property
    def skips_non_finite(self) -> bool:
        """Whether FASTGPU_COMM_NANCHECK is "skip". With a mode that averages parameters the library
        sees no gradients: the program then looks at them itself, and calls leave_out().
        """
        return bool(load().ask("fgc_multistep_skips_non_finite", self._handle.pointer) == 1)

    @property
    def is_over(self) -> bool:
        """Whether all ranks have finished."""
        return self._is_over

    def register(self, name: str, data: Any, priority: int = 0) -> int:
        """Adds a gradient, or a parameter, by the mode, before begin(); returns its number, from 0.

        `data`, an array or tensor of the host with floating-point numbers, is its memory from now
        on, and lives as long as this does. Every rank adds the same ones in the same order. Raises
        TypeError, ValueError, UsageError.
        """
        place = look_at(data, f"the tensor {name!r}").writable()
        if place.device is not None:
            raise ValueError(
                f"the tensor {name!r} is on {place.device}: multistep training has memory of the "
                "host alone"
            )
        given = gradient_struct(place, name, priority)
        number = ctypes.c_size_t()
        load().call(
            "fgc_multistep_add", self._handle.pointer, ctypes.byref(given), ctypes.byref(number)
        )
        self._data.register(place)
        self._ids[name] = number.value
        return number.value

    def __len__(self) -> int:
        return len(self._data)

    def begin(self) -> None:
        """Begins, after all were registered: a collective, in which UsageError names the rank that
        has another mode or registered something else. Parameters that were registered become those
        of rank 0; a mode that averages gradients has none: the program broadcasts them itself.
        """
        load().call("fgc_multistep_begin", self._handle.pointer)
        self._data.mark_written()

    def ready(self, tensor: int | str) -> None:
        """Marks a gradient of this step (its number or name) complete, from any thread. With
        "accumulate" it begins to travel in the last step of a round; in other modes this has no
        effect.
        """
        if isinstance(tensor, str):
            if tensor not in self._ids:
                raise ValueError(f"no tensor {tensor!r} is registered")
            tensor = self._ids[tensor]
        number = whole_number(tensor, "the number of a tensor")
        if not 0 <= number < len(self._data):
            raise ValueError(f"there is no tensor {number}: {len(self._data)} are registered")
        load().call("fgc_multistep_ready", self._handle.pointer, number)

    def weigh(self, weight: float) -> None:
        """Sets the weight of the next step, before its gradients are ready."""
        if isinstance(weight, (str, bytes)):
            raise TypeError(f"the weight is a number, not of type {type(weight).__name__}")
        load().call("fgc_multistep_weigh", self._handle.pointer, float(weight))

    def step(self, weight: float | None = None) -> MultistepOutcome:
        """Ends a step, whose batch has that weight in the means, such as its number of samples; 1
        by default. Gradients are 0 afterwards, or averages if there are results.

        Raises RemoteError for a number that is not finite if FASTGPU_COMM_NANCHECK is "stop".
        """
        if weight is not None:
            self.weigh(weight)
        return self._ended("fgc_multistep_step")

    def leave_out(self) -> MultistepOutcome:
        """Ends a step that does not count, in place of step(), such as one with gradients that are
        not finite: the program has not moved the parameters. Rounds end where they would with it.
        If a rank leaves out all its steps of a few rounds in a row, `on_warning` of all ranks is
        told which it is.
        """
        return self._ended("fgc_multistep_leave_out")

    def finish_round(self) -> MultistepOutcome:
        """Takes part in one more round without a batch of this rank."""
        return self._ended("fgc_multistep_finish")

    def finish(self, apply: Callable[[], Any] | None = None) -> None:
        """Ends the training after the last batch of this rank, whatever the number of batches that
        others have: takes part in rounds until all ranks have finished. `apply` is called after
        each round with results, and is needed where the mode averages gradients.
        """
        if apply is None and self.takes_gradients:
            raise ValueError(
                "finish: this mode averages gradients, which `apply` must give to the optimizer"
            )
        while not self._is_over:
            if self.finish_round().has_results and apply is not None:
                apply()

    def counters(self) -> Counters:
        """Returns the counts of this rank; a step is a round there."""
        return read_counters("fgc_multistep_counters", self._handle.pointer)

    def saved_state(self) -> bytes:
        """Returns what this rank remembers between steps, and the parameters that were registered.
        Each rank keeps its own with each checkpoint. With a mode that averages gradients the
        program keeps the parameters.
        """
        return load().saved("fgc_multistep_save", self._handle.pointer)

    def load_state(self, state: bytes) -> None:
        """Loads what the same rank has saved, after begin(), on all ranks that of one checkpoint.
        Raises UsageError for the state of another rank, number of ranks, mode or set of tensors, or
        a damaged one; nothing has changed then.
        """
        saved = state_of(state)
        load().call("fgc_multistep_load", self._handle.pointer, saved, len(saved))
        self._is_over = False
        self._data.mark_written()

    def close(self) -> None:
        """Frees the memory, between steps; a second call does nothing."""
        self._handle.release()

    def _ended(self, function: str) -> MultistepOutcome:
        found = MultistepOutcomeStruct(struct_size=ctypes.sizeof(MultistepOutcomeStruct))
        try:
            load().call(function, self._handle.pointer, ctypes.byref(found))
        finally:
            self._data.mark_written()
        self._is_over = found.is_over != 0
        return MultistepOutcome(
            is_round_end=found.is_round_end != 0,
            round=found.round,
            has_results=found.has_results != 0,
            is_over=self._is_over,
        )
