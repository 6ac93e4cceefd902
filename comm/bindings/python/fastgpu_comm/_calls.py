"""Collectives as calls of the library, decided from their arguments before anything begins. Pure,
except for the memory of results.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._data import Data, look_at
from ._library import whole_number
from .kinds import Op, op_of


class Call(NamedTuple):
    function: str
    arguments: tuple[Any, ...]
    data: tuple[Data, ...]  # Not to be freed before it is done.
    result: Any = None

    @property
    def device(self) -> Any | None:
        return self.data[0].device if self.data else None


class Ranks(NamedTuple):
    """A rank and the number of ranks."""

    rank: int
    size: int

    def check(self, value: Any, what: str) -> int:
        number = whole_number(value, what)
        if not 0 <= number < self.size:
            raise ValueError(f"{what} is {number}: ranks are 0 to {self.size - 1}")
        return number


def all_reduce(ranks: Ranks, data: Any, op: Op, out: Any) -> Call:
    mine = look_at(data, "all_reduce: data")
    elements = mine.reduced()
    if out is None:
        place = mine.writable()
    else:
        place = look_at(out, "all_reduce: out").expect(mine.type_name, mine.count, mine.device)
        _apart("all_reduce", mine, place)
        place.copy_from(mine)
    return Call("all_reduce", (place.address, *elements, op_of(op)), (place,), place.owner)


def reduce_scatter(ranks: Ranks, data: Any, op: Op, out: Any) -> Call:
    everything = look_at(data, "reduce_scatter: data")
    everything.reduced()
    place = _place("reduce_scatter: out", everything, everything.blocks(ranks.size), out)
    _apart("reduce_scatter", everything, place)
    return Call(
        "reduce_scatter",
        (everything.address, place.address, *place.reduced(), op_of(op)),
        (everything, place),
        place.owner,
    )


def all_gather(ranks: Ranks, data: Any, out: Any) -> Call:
    mine = look_at(data, "all_gather: data")
    place = _place("all_gather: out", mine, (ranks.size, *mine.shape), out)
    if mine.address != place.address + ranks.rank * mine.bytes:
        _apart("all_gather", mine, place)
    return Call(
        "all_gather", (mine.address, place.address, *mine.moved()), (mine, place), place.owner
    )


def broadcast(ranks: Ranks, data: Any, root: int) -> Call:
    place = look_at(data, "broadcast: data")
    root = ranks.check(root, "broadcast: root")
    if ranks.rank != root:
        place.writable()
    return Call("broadcast", (place.address, *place.moved(), root), (place,), place.owner)


def all_to_all(ranks: Ranks, data: Any, out: Any) -> Call:
    mine = look_at(data, "all_to_all: data")
    mine.blocks(ranks.size)
    place = _place("all_to_all: out", mine, mine.shape, out)
    _apart("all_to_all", mine, place)
    count, kind = mine.moved()
    return Call(
        "all_to_all",
        (mine.address, place.address, count // ranks.size, kind),
        (mine, place),
        place.owner,
    )


def send(ranks: Ranks, data: Any, dest: int) -> Call:
    mine = look_at(data, "send: data")
    return Call("send", (mine.address, *mine.moved(), _other(ranks, dest, "send: dest")), (mine,))


def recv(ranks: Ranks, data: Any, source: int) -> Call:
    place = look_at(data, "recv: data").writable()
    return Call(
        "recv",
        (place.address, *place.moved(), _other(ranks, source, "recv: source")),
        (place,),
        place.owner,
    )


def _other(ranks: Ranks, value: Any, what: str) -> int:
    number = ranks.check(value, what)
    if number == ranks.rank:
        raise ValueError(f"{what} is {number}, this rank itself: a rank sends nothing to itself")
    return number


def _place(what: str, data: Data, shape: tuple[int, ...], out: Any) -> Data:
    if out is None:
        return data.like(shape, what)
    count = 1
    for length in shape:
        count *= length
    return look_at(out, what).expect(data.type_name, count, data.device)


def _apart(name: str, data: Data, out: Data) -> None:
    if data.overlaps(out):
        raise ValueError(f"{name}: data and out overlap")
