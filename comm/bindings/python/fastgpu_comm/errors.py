"""Failures of the library as exceptions, with its own sentences: each names the rank concerned."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """What the caller may do about it."""

    USAGE = 1
    DENIED = 2
    CAPACITY = 3
    CONFLICT = 4
    TIMEOUT = 5
    REMOTE = 6
    LOCAL = 7
    INTERNAL = 8
    INTERRUPTED = 9


class Error(RuntimeError):
    """A call of the library has failed. After a failed collective every further call of the job
    fails too: print it, and exit.
    """

    status: Status

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)


class UsageError(Error, ValueError):
    """The call or a setting is wrong, or the ranks disagree. Nothing has begun where an argument
    was refused.
    """

    status = Status.USAGE


class DeniedError(Error):
    """The ranks' secrets differ."""

    status = Status.DENIED


class CapacityError(Error):
    """There is no memory of that kind left."""

    status = Status.CAPACITY


class ConflictError(Error):
    """The port or the rank is taken."""

    status = Status.CONFLICT


class RankTimeoutError(Error, TimeoutError):
    """Other ranks have not come, or have gone silent."""

    status = Status.TIMEOUT


class RemoteError(Error):
    """Another rank has gone, or found what it cannot go on with."""

    status = Status.REMOTE


class LocalError(Error):
    """This machine refused: memory, sockets, the library's file."""

    status = Status.LOCAL


class InternalError(Error):
    """A bug in libfastgpu_comm."""

    status = Status.INTERNAL


class WaitInterruptedError(Error):
    """A signal has ended a wait; what its handler has raised, such as KeyboardInterrupt, is raised
    in place of this.
    """

    status = Status.INTERRUPTED


_BY_STATUS: dict[int, type[Error]] = {
    int(kind.status): kind
    for kind in (
        UsageError,
        DeniedError,
        CapacityError,
        ConflictError,
        RankTimeoutError,
        RemoteError,
        LocalError,
        InternalError,
        WaitInterruptedError,
    )
}


_STEP = " waits in the end of a step of gradients"
_FEWER = "then it has made fewer steps than others. Give all ranks equally many batches"
_IN_BARRIER = (
    ". A rank in a barrier may have come to the end of its work, where `with init()` or shutdown() "
    f"waits for all ranks: {_FEWER}"
)
_BESIDE_STEP = (
    ". A rank that waits in another call than a step of gradients may have come to the end of its "
    f"batches: {_FEWER}"
)


def error_of(status: int, sentence: str) -> Error:
    if "none can go on: " in sentence:
        if " waits in barrier number " in sentence:  # One that the program has not called.
            sentence += _IN_BARRIER
        elif 0 < sentence.count(_STEP) < sentence.count(" waits in "):
            sentence += _BESIDE_STEP
    return _BY_STATUS.get(status, InternalError)(sentence)
