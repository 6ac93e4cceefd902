"""A handle of the library with an owner in Python."""

from __future__ import annotations

import os
import weakref
from typing import Any

from ._library import load


def _release(process: int, free: str, pointer: int, kept: Any) -> None:
    if os.getpid() == process:  # A forked child has the objects, not the connections.
        load().ask(free, pointer)
    del kept


class Handle:
    """A handle that is released once: by release(), with its owner, or as the process ends. `kept`
    lives equally long.
    """

    def __init__(self, owner: object, what: str, free: str, pointer: int, kept: Any = None) -> None:
        self._what, self._pointer = what, pointer
        self._finalizer = weakref.finalize(owner, _release, os.getpid(), free, pointer, kept)

    @property
    def pointer(self) -> int:
        if not self._finalizer.alive:
            raise ValueError(f"this {self._what} is closed")
        return self._pointer

    @property
    def is_open(self) -> bool:
        return self._finalizer.alive

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {self._what} belongs to its process: call init() in the other one, or use it here "
            "without a copy"
        )

    def release(self) -> None:
        self._finalizer()
