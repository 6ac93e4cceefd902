"""Gradients of one model: registered once, made ready in any order, exchanged in few large messages
while others are computed.
"""

from __future__ import annotations

import ctypes
import enum
import logging
from typing import Any, Callable, Mapping, NamedTuple

from ._data import Data, Registered, look_at
from ._handle import Handle
from ._library import (
    CountersStruct,
    GradientStruct,
    OutcomeStruct,
    WarningHandler,
    load,
    settings_list,
    state_of,
    text_of,
    whole_number,
)
from .communicator import Communicator, on_device, stream_of
from .kinds import ElementType, Op, op_of

_HOST, _DEVICE = 0, 1
_LOWEST_PRIORITY = -(2**31)


def gradient_struct(place: Data, name: str, priority: int) -> GradientStruct:
    """Returns the description of a tensor for the library. Raises TypeError and ValueError for a
    priority that it does not have.
    """
    if not _LOWEST_PRIORITY <= whole_number(priority, "the priority") < -_LOWEST_PRIORITY:
        raise ValueError(
            f"the priority is {priority}: give a number from {_LOWEST_PRIORITY} to "
            f"{-_LOWEST_PRIORITY - 1}"
        )
    return GradientStruct(
        struct_size=ctypes.sizeof(GradientStruct),
        name=text_of(name, "the name of a gradient"),
        data=place.address,
        shape=(ctypes.c_uint64 * max(1, len(place.shape)))(*place.shape),
        dimensions=len(place.shape),
        type=place.reduced()[1],
        priority=priority,
        memory=_HOST if place.device is None else _DEVICE,
    )


class NonFinite(enum.IntEnum):
    FINITE = 0
    NAN = 1
    INFINITY = 2


class Outcome(NamedTuple):
    """The common knowledge of all ranks about a step that has ended."""

    step: int  #: Counted from 0.
    is_applied: (
        bool  #: False: FASTGPU_COMM_NANCHECK has skipped the step, and gradients have no results.
    )
    skipped: list[str]  #: Ready on no rank, left unchanged.
    non_finite: (
        NonFinite  #: The first gradient of the lowest rank that has one; FINITE if none was found.
    )
    non_finite_name: str
    non_finite_rank: int
    is_somebody_leaving: bool  #: No further step follows.


class Counters(NamedTuple):
    """Counts of this rank, since the first step began. Times are in seconds, bytes are those on the
    wire.
    """

    steps: int
    steps_without_results: int
    buckets: int
    bucket_bytes: int
    negotiation_messages: int
    negotiation_bytes: int
    late_ranks: int
    ready_seconds: float
    unpack_seconds: float
    wait_seconds: float


def read_counters(function: str, pointer: int) -> Counters:
    """Returns the counters that a function of the library gives of a handle."""
    found = CountersStruct(struct_size=ctypes.sizeof(CountersStruct))
    load().call(function, pointer, ctypes.byref(found))
    return Counters(*(getattr(found, name) for name in Counters._fields))


def log_warning(sentence: str) -> None:
    """Logs a sentence of the library."""
    logging.getLogger("fastgpu_comm").warning(sentence)


class Gradients:
    """Gradients that the ranks of `comm` average. Its other calls come between steps: a group of
    its own (comm.split(0)) is free of that.

    `settings` are as for init(), which they overrule: FASTGPU_COMM_WIRE, _FUSION, _NANCHECK and so
    on. `on_warning` gets a sentence about a rank that is late, or a gradient that is not finite, on
    the rank that has it; by default it goes to the logger "fastgpu_comm".
    """

    def __init__(
        self,
        comm: Communicator,
        settings: Mapping[str, str | None] | None = None,
        on_warning: Callable[[str], None] = log_warning,
    ) -> None:
        ranks = Communicator.of(comm, "Gradients")
        pointer = load().make(
            "fgc_gradients_create",
            ranks.pointer,
            settings_list(settings),
        )
        assert pointer is not None
        handler = WarningHandler(lambda sentence, _: on_warning(sentence.decode(errors="replace")))
        self._data = Registered()
        self._names: list[str] = []
        self._ids: dict[str, int] = {}
        self._handle = Handle(
            self, "set of gradients", "fgc_gradients_free", pointer, (handler, self._data)
        )
        load().call("fgc_gradients_on_warning", pointer, handler, None)

    def register(self, name: str, data: Any, priority: int = 0) -> int:
        """Adds a gradient before the first step, on every rank the same ones in the same order;
        returns its number, from 0.

        `data`, an array or tensor, is its memory from now on, and lives as long as this does. On
        busy connections, gradients of a higher priority overtake others. Raises TypeError,
        ValueError, UsageError.
        """
        place = look_at(data, f"the gradient {name!r}").writable()
        given = gradient_struct(place, name, priority)
        number = ctypes.c_size_t()
        with on_device(place.device):
            load().call(
                "fgc_gradient_add", self._handle.pointer, ctypes.byref(given), ctypes.byref(number)
            )
        self._data.register(place)
        self._names.append(name)
        self._ids[name] = number.value
        return number.value

    def __len__(self) -> int:
        return len(self._names)

    def use_op(self, op: Op) -> None:
        """Sets the operation of later steps; AVERAGE at first. Between steps, and the same on all
        ranks.
        """
        load().call("fgc_gradients_use_op", self._handle.pointer, op_of(op))

    def wire_type(self, gradient: int | str) -> ElementType:
        """Returns the type of a gradient on the wire."""
        kind = ctypes.c_int()
        load().call(
            "fgc_gradient_wire_type",
            self._handle.pointer,
            self._number(gradient),
            ctypes.byref(kind),
        )
        return ElementType(kind.value)

    def ready(self, gradient: int | str, data: Any = None) -> None:
        """Marks the gradient (its number or name) complete: it begins to travel, and is not touched
        before wait(). From any thread.

        `data`, an array or tensor of the same type and number of elements, is its memory in this
        step, and gets its result: a gradient that is made in new memory in each step is not copied
        before it travels. Only for gradients of the host.

        On a GPU it is complete once the current stream of PyTorch has passed its present content.
        The first call begins the first step: a collective, in which UsageError names the rank that
        has registered something else.
        """
        number = self._number(gradient)
        device = self._data[number].device
        if data is not None:
            if device is not None:
                raise ValueError("a gradient on a GPU stays in its memory")
            place = look_at(data, f"the memory of the gradient {gradient!r}")
            self._data.give(number, place)
            load().call("fgc_gradient_ready_at", self._handle.pointer, number, place.address)
        elif device is None:
            load().call("fgc_gradient_ready", self._handle.pointer, number)
        else:
            load().call(
                "fgc_device_gradient_ready", self._handle.pointer, number, stream_of(device)
            )

    def wait(self) -> Outcome:
        """Ends the step: gradients then have the results. On a GPU, later work in the current
        stream comes after them; with gradients on several GPUs, they have arrived.

        Raises UsageError if a gradient is ready on some ranks only, naming those on which it is
        not, and RemoteError for one that is not finite if FASTGPU_COMM_NANCHECK is "stop". The next
        step may follow all the same.
        """
        devices = [data.device for data in self._data if data.device is not None]
        try:
            if devices:
                return self._ended("fgc_device_gradients_wait", stream_of(devices[0]))
            return self._ended("fgc_gradients_wait")
        finally:
            self._data.mark_written()

    def leave(self) -> Outcome:
        """Ends the step like wait(), and announces to all ranks that this one makes no further
        step.
        """
        try:
            return self._ended("fgc_gradients_leave")
        finally:
            self._data.mark_written()

    def counters(self) -> Counters:
        return read_counters("fgc_gradients_counters", self._handle.pointer)

    def saved_state(self) -> bytes:
        """Returns the order in which gradients travel, and the state of a codec
        (FASTGPU_COMM_WIRE=1bit, topk or powersgd): the part of this rank's gradients that has not
        been sent yet. Each rank keeps its own with each checkpoint; without a codec it is the same
        on all ranks, and empty before the first step. Between steps.
        """
        return load().saved("fgc_gradients_save", self._handle.pointer)

    def load_state(self, state: bytes) -> None:
        """Loads what the same rank has saved, after its gradients are registered. They are found by
        name and number of elements; others begin anew. Between steps. Raises UsageError for the
        state of another rank, or of a job with more or fewer ranks, and for a damaged one.
        """
        saved = state_of(state)
        load().call("fgc_gradients_load", self._handle.pointer, saved, len(saved))

    def close(self) -> None:
        """Frees the gradients, between steps; a second call does nothing."""
        self._handle.release()

    def _number(self, gradient: int | str) -> int:
        if isinstance(gradient, str):
            if gradient not in self._ids:
                raise ValueError(f"no gradient {gradient!r} is registered")
            return self._ids[gradient]
        number = whole_number(gradient, "the number of a gradient")
        if not 0 <= number < len(self._names):
            raise ValueError(f"there is no gradient {number}: {len(self._names)} are registered")
        return number

    def _ended(self, function: str, *more: int) -> Outcome:
        found = OutcomeStruct(struct_size=ctypes.sizeof(OutcomeStruct))
        load().call(function, self._handle.pointer, *more, ctypes.byref(found))
        kind = NonFinite(found.non_finite)
        name = "" if kind is NonFinite.FINITE else self._names[found.non_finite_gradient]
        return Outcome(
            step=found.step,
            is_applied=found.is_applied != 0,
            skipped=[self._names[found.skipped[i]] for i in range(found.skipped_count)],
            non_finite=kind,
            non_finite_name=name,
            non_finite_rank=found.non_finite_rank,
            is_somebody_leaving=found.is_somebody_leaving != 0,
        )
