"""An operation that was begun."""

from __future__ import annotations

import ctypes
from typing import Any

from ._handle import Handle
from ._library import load


class Request:
    """A begun operation. Its arrays are not touched until it is done, and live as long as this.
    Dropping it waits. Any thread may wait or test.
    """

    def __init__(self, name: str, pointer: int, kept: Any, result: Any) -> None:
        self._name, self._result = name, result
        self._handle = Handle(self, "request", "fgc_request_free", pointer, kept)

    def test(self) -> bool:
        """Returns True if wait() would return at once. Raises its failure, as wait() does."""
        is_done = ctypes.c_int()
        load().call("fgc_request_test", self._handle.pointer, ctypes.byref(is_done))
        return is_done.value != 0

    def wait(self) -> Any:
        """Waits, and returns the array with the result (None for send and barrier). Raises
        fastgpu_comm.Error. May be called again.
        """
        load().call("fgc_request_wait", self._handle.pointer)
        return self._result

    def __repr__(self) -> str:
        return f"<fastgpu_comm.Request {self._name}>"
