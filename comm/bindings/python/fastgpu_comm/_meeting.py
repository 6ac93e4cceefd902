"""The port at which ranks meet in processes that use torch.distributed as well."""

from __future__ import annotations

import os
import sys
from typing import Mapping

_OURS = "FASTGPU_COMM_MASTER_PORT"
_LAST_PORT = 65535
_DISTANCE = 1000  # As the library's own beside torchrun: kPortsBesideTorchrun.


def beside_torch(settings: Mapping[str, str | None] | None) -> Mapping[str, str | None] | None:
    """Returns the settings, with a port of the ranks' own if torch.distributed has begun in this
    process and no port but MASTER_PORT is set: rank 0 of torch.distributed listens there. All ranks
    find the same, since they begin torch.distributed together.
    """
    given = settings or {}
    if not isinstance(given, Mapping) or not _has_torch_begun():
        return settings
    port = _value(given, "MASTER_PORT")
    if _value(given, _OURS) or not (port.isascii() and port.isdigit()):
        return settings
    number = int(port)
    if not 0 < number <= _LAST_PORT:
        return settings
    apart = number + _DISTANCE if number + _DISTANCE <= _LAST_PORT else number - _DISTANCE
    return {**given, _OURS: str(apart)}


def _has_torch_begun() -> bool:
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def _value(settings: Mapping[str, str | None], name: str) -> str:
    value = settings[name] if name in settings else os.environ.get(name)
    return "" if value is None else str(value)
