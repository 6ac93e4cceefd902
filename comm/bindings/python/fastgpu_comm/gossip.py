"""Parameters of one model that every rank mixes with those of a few neighbours after each local
step, in place of an average over all ranks.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any, Callable, Mapping, NamedTuple

from ._data import Registered, look_at
from ._handle import Handle
from ._library import (
    GossipReportStruct,
    WarningHandler,
    load,
    settings_list,
    state_of,
    text_of,
)
from .communicator import Communicator
from .gradients import log_warning


class GuardAction(enum.IntEnum):
    """The action of the guard before a step."""

    NONE = 0
    SMALLER_STEP = 1  #: The consensus step size was taken back.
    LESS_COMPRESSION = 2  #: The codec was eased, or left out.
    EXACT_STEPS = 3  #: Exact averages were put in.
    RELAXED = 4  #: One of these was taken back after a calm time.


class GossipReport(NamedTuple):
    """The knowledge of this rank about a step that has ended."""

    step: int  #: Counted from 0.
    bytes: int  #: Sent by this rank to other members. Within a node nothing is counted.
    distance: float  #: Of a rank from the average over all, measured last.
    measured: int  #: The step before which it was measured; 0: not yet.
    step_size: float  #: The part of the difference that is taken over.
    wire: str  #: "topk:0.01", or "same".
    exact_every: int  #: Every so many steps average exactly; 0: none.
    is_exact: bool  #: True if this step did.
    guard_level: int  #: 0: all is as set; more: the guard has intervened so often.
    guard_action: GuardAction


class Gossip:
    """Parameters that the ranks of `comm` mix; its other calls come between steps.

    `settings` are as for init(), which they overrule: FASTGPU_COMM_TOPOLOGY (ring, exponential,
    one-peer-exponential, hypercube, random:K, random:K:changing, or the path of a file), _WIRE
    (same, int8, 1bit, topk:PART), _GOSSIP_STEP, _GUARD, and _EXCHANGE: gossip, or all_reduce for
    exact averages. Raises UsageError for a graph that is not connected, and for a codec that does
    not go with it. `on_warning` gets a sentence about each action of the guard, on rank 0; by
    default it goes to the logger "fastgpu_comm".
    """

    def __init__(
        self,
        comm: Communicator,
        settings: Mapping[str, str | None] | None = None,
        on_warning: Callable[[str], None] = log_warning,
    ) -> None:
        ranks = Communicator.of(comm, "Gossip")
        pointer = load().make("fgc_gossip_create", ranks.pointer, settings_list(settings))
        assert pointer is not None
        handler = WarningHandler(lambda sentence, _: on_warning(sentence.decode(errors="replace")))
        self._data = Registered()
        self._handle = Handle(self, "gossip", "fgc_gossip_free", pointer, (handler, self._data))
        load().call("fgc_gossip_on_warning", pointer, handler, None)

    def register(self, name: str, data: Any) -> None:
        """Adds a parameter of float32 before the first step, on every rank the same ones in the
        same order. `data`, an array or tensor of the host, is its memory from now on, and lives as
        long as this does. Raises TypeError, ValueError, UsageError.
        """
        what = f"the parameter {name!r}"
        place = look_at(data, what).writable()
        if place.device is not None:
            raise ValueError(f"{what} is on {place.device}: gossip mixes parameters of the host")
        if place.type_name != "float32":
            raise TypeError(f"{what} has elements of type {place.type_name}, not float32")
        load().call(
            "fgc_gossip_add",
            self._handle.pointer,
            text_of(name, "the name of a parameter"),
            place.address,
            place.count,
        )
        self._data.register(place)

    def step(self) -> GossipReport:
        """Mixes: called after each local step of training, equally often on all ranks. The first
        call is a collective, which names a rank with other settings or parameters by a UsageError;
        it averages exactly. Raises RemoteError on all ranks for a parameter that is not finite.
        """
        found = GossipReportStruct(struct_size=ctypes.sizeof(GossipReportStruct))
        try:
            load().call("fgc_gossip_step", self._handle.pointer, ctypes.byref(found))
        finally:
            self._data.mark_written()
        return GossipReport(
            step=found.step,
            bytes=found.bytes,
            distance=found.distance,
            measured=found.measured,
            step_size=found.step_size,
            wire=found.wire.decode(),
            exact_every=found.exact_every,
            is_exact=found.is_exact != 0,
            guard_level=found.guard_level,
            guard_action=GuardAction(found.guard_action),
        )

    def saved_state(self) -> bytes:
        """Returns what this rank remembers. Each rank keeps its own with each checkpoint. Between
        steps.
        """
        return load().saved("fgc_gossip_save", self._handle.pointer)

    def load_state(self, state: bytes) -> None:
        """Loads what the same rank has saved, after its parameters are registered and before the
        first step: training then goes on to the last bit. Raises UsageError for the state of
        another rank, of a job with more or fewer ranks, of other parameters or settings, or a
        damaged one.
        """
        saved = state_of(state)
        load().call("fgc_gossip_load", self._handle.pointer, saved, len(saved))

    def close(self) -> None:
        """Frees it, between steps; a second call does nothing."""
        self._handle.release()
