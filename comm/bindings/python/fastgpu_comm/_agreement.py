"""Whether all ranks have the same tensors, before these travel."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple, Sequence

from .communicator import Communicator
from .errors import UsageError

_DIGEST_BYTES = 32


class Described(NamedTuple):
    """One tensor, as ranks compare it."""

    kind: str  #: "float32 [4, 8]"
    name: str

    @staticmethod
    def of(type_name: Any, shape: Sequence[int], name: Any) -> Described:
        return Described(f"{str(type_name).rpartition('.')[2]} {list(shape)}", str(name))

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"


def broadcast_bytes(data: bytes, comm: Communicator, root: int) -> bytes:
    """Returns the bytes that rank `root` has. A collective."""
    size = bytearray(len(data).to_bytes(8, "little"))
    comm.broadcast(size, root)
    buffer = bytearray(data) if comm.rank == root else bytearray(int.from_bytes(size, "little"))
    return bytes(comm.broadcast(buffer, root)) if buffer else b""


def check_same_tensors(
    tensors: list[Described], comm: Communicator, root: int, user: str, has_own_names: bool
) -> None:
    """Raises UsageError on all ranks, naming one that has other tensors than rank `root`. A
    collective. With `has_own_names` names are those of each process, and may differ.
    """
    if comm.size == 1:
        return
    compared = [one.kind if has_own_names else str(one) for one in tensors]
    own = hashlib.sha256(json.dumps(compared).encode()).digest()
    everywhere = bytearray(_DIGEST_BYTES * comm.size)
    comm.all_gather(bytearray(own), everywhere)
    digests = [everywhere[i : i + _DIGEST_BYTES] for i in range(0, len(everywhere), _DIGEST_BYTES)]
    odd = next((rank for rank, one in enumerate(digests) if one != digests[root]), None)
    if odd is None:
        return
    packed = json.dumps(tensors).encode()
    right, wrong = (
        [Described(*one) for one in json.loads(broadcast_bytes(packed, comm, rank))]
        for rank in (root, odd)
    )
    comm.blame(odd)
    raise UsageError(f"{user}: {_difference(right, wrong, root, odd, has_own_names)}")


def _difference(
    right: list[Described], wrong: list[Described], root: int, odd: int, has_own_names: bool
) -> str:
    for number, (theirs, one) in enumerate(zip(right, wrong)):
        if theirs.kind != one.kind or (theirs.name != one.name and not has_own_names):
            return (
                f"the ranks have different tensors: number {number} is {one} on rank {odd}, and "
                f"{theirs} on rank {root}"
            )
    rank, more = (odd, wrong) if len(wrong) > len(right) else (root, right)
    number = min(len(wrong), len(right))
    other = odd + root - rank
    return (
        f"rank {rank} has {len(more)} tensors, and rank {other} {number}: the first that is "
        f"missing there is {more[number]}"
    )
