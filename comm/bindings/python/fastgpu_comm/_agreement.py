"""Whether all ranks have the same tensors, before these travel."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Mapping, NamedTuple, Sequence

from ._calls import Ranks
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
    collective. With `has_own_names` names are those of each process, and may differ. Raises
    TypeError or ValueError for a `root` that is no rank.
    """
    root = Ranks(comm.rank, comm.size).check(root, f"{user}: root")
    if comm.size == 1:
        return
    compared = [one.kind if has_own_names else str(one) for one in tensors]
    odd = _odd_rank(compared, comm, root)
    if odd is None:
        return
    packed = json.dumps(tensors).encode()
    right, wrong = (
        [Described(*one) for one in json.loads(broadcast_bytes(packed, comm, rank))]
        for rank in (root, odd)
    )
    comm.blame(odd)
    raise UsageError(f"{user}: {_difference(right, wrong, root, odd, has_own_names)}")


def check_same_content(contents: Mapping[str, int], comm: Communicator, user: str) -> None:
    """Raises UsageError on all ranks if the parameters of one are not those of rank 0, naming the
    first that differs. `contents` has a number for what is in each; names are the same on all
    ranks. A collective.
    """
    if comm.size == 1:
        return
    odd = _odd_rank(list(contents.values()), comm, 0)
    if odd is None:
        return
    packed = json.dumps(list(contents.values())).encode()
    right, wrong = (json.loads(broadcast_bytes(packed, comm, rank)) for rank in (0, odd))
    differing = [name for name, one, other in zip(contents, right, wrong) if one != other]
    raise UsageError(
        f"{user}: the ranks begin with different parameters: '{differing[0]}' has other numbers on "
        f"rank {odd} than on rank 0 ({len(differing)} of {len(contents)} parameters differ). "
        "Call broadcast_parameters(model, comm) before the training"
    )


def _odd_rank(values: list[Any], comm: Communicator, root: int) -> int | None:
    """Returns the first rank that has other values than rank `root`; None if all have the same. A
    collective.
    """
    own = hashlib.sha256(json.dumps(values).encode()).digest()
    everywhere = bytearray(_DIGEST_BYTES * comm.size)
    comm.all_gather(bytearray(own), everywhere)
    digests = [everywhere[i : i + _DIGEST_BYTES] for i in range(0, len(everywhere), _DIGEST_BYTES)]
    return next((rank for rank, one in enumerate(digests) if one != digests[root]), None)


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
