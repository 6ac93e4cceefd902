"""One rank of a job, and what it can do with the others."""

from __future__ import annotations

import contextlib
import ctypes
import operator
import sys
from typing import Any, ContextManager, Mapping, NamedTuple

from . import _calls
from ._calls import Call, Ranks
from ._data import mark_written
from ._handle import Handle
from ._library import LinkStruct, load, settings_list
from ._meeting import beside_torch
from .kinds import Op
from .request import Request

_LARGEST_INT = 2**31 - 1


def init(settings: Mapping[str, str | None] | None = None) -> Communicator:
    """Joins the job that the environment describes: RANK and WORLD_SIZE (or mpirun's own
    variables), MASTER_ADDR and MASTER_PORT, FASTGPU_COMM_SECRET, and the others of the library.
    Without them the process is a job of one. Under torchrun, and after torch.distributed's
    init_process_group(), ranks meet at another port than MASTER_PORT, which is torch's.

    `settings` overrule the environment, e.g. {"FASTGPU_COMM_TIMEOUT": "10s"}; None as a value hides
    a variable. Blocks until all ranks are there. Raises fastgpu_comm.Error: RankTimeoutError,
    DeniedError, ConflictError, UsageError, LocalError.
    """
    pointer = load().make("fgc_init", settings_list(beside_torch(settings)))
    assert pointer is not None
    return Communicator(pointer)


class Link(NamedTuple):
    """Counts of one network that this rank uses, or of another way on which its messages go."""

    name: str  #: "tcp 10.0.0.1" (this host's address), "shared memory", and so on.
    frames_sent: int  #: Pieces of messages over TCP, else messages.
    frames_received: int
    bytes_sent: int
    bytes_received: int
    failures: int  #: Connections that were given up while their rank went on.
    reconnects: int  #: Connections that were made in place of these.
    connections: int  #: Open now; 0 where there are no connections.


class Communicator:
    """This rank and its connections to the others, or to a group of them. Made by init() and
    split().

    Every rank makes the same collective calls in the same order, one thread at a time. A call
    blocks until this rank's part is done; its _async twin returns a Request, whose wait() returns
    the same. Other threads of Python run meanwhile; Ctrl-C ends a wait, and the job.

    Arrays are contiguous: numpy's, tensors of PyTorch (of a GPU, too, where the library was built
    with CUDA), or objects with a buffer. What is wrong with an argument is a TypeError or
    ValueError and nothing has begun. What fails afterwards is a fastgpu_comm.Error that names the
    rank concerned, and the job is over: also where a rank has died, where ranks wait for each other
    in different calls, and where one has been silent for FASTGPU_COMM_TIMEOUT (30 minutes; after a
    minute stderr has a warning). A child that is made by fork may not use it.

    As a context manager it waits for all ranks at the end, but leaves at once where an exception
    passes.
    """

    def __init__(self, pointer: int) -> None:
        self._handle = Handle(self, "communicator", "fgc_comm_free", pointer)
        self._ranks = Ranks(load().ask("fgc_rank", pointer), load().ask("fgc_size", pointer))

    @classmethod
    def of(cls, value: Any, user: str) -> Communicator:
        """Returns `value`, which `user` needs as its communicator. Raises TypeError for anything
        else.
        """
        if isinstance(value, cls):
            return value
        raise TypeError(
            f"{user}: comm is of type {type(value).__name__}: give the Communicator that "
            "fastgpu_comm.init() has returned"
        )

    @property
    def rank(self) -> int:
        """0 to size - 1."""
        return self._ranks.rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._ranks.size

    @property
    def local_rank(self) -> int:
        """This rank's place among those of its node: what picks a GPU."""
        return self._ask("fgc_local_rank")

    @property
    def local_size(self) -> int:
        """How many ranks are on this node."""
        return self._ask("fgc_local_size")

    @property
    def node_rank(self) -> int:
        """This node's number, 0 to node_count - 1."""
        return self._ask("fgc_node_rank")

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return self._ask("fgc_node_count")

    def split(self, color: int | None, key: int = 0) -> Communicator | None:
        """A collective: ranks that give the same `color`, 0 or more, become a group, ordered by
        `key` and then by rank. None: in no group.
        """
        number = -1 if color is None else operator.index(color)
        if (
            not (color is None or 0 <= number <= _LARGEST_INT)
            or abs(operator.index(key)) > _LARGEST_INT
        ):
            raise ValueError(
                f"split: the color {color} and the key {key} must be small whole numbers, the "
                "color not negative"
            )
        pointer = load().make("fgc_split", self._handle.pointer, number, key)
        return None if pointer is None else Communicator(pointer)

    def blame(self, rank: int) -> None:
        """Notes that this rank fails because of what another one has done, such as by a check that
        the program makes of all ranks: `fastgpu run job` then names that one, whichever ends first.
        The last note counts. Errors of fastgpu_comm that name a rank as their cause have noted it
        already.
        """
        load().call("fgc_blame", self._handle.pointer, self._ranks.check(rank, "blame: rank"))

    def all_reduce(self, data: Any, op: Op = Op.SUM, out: Any = None) -> Any:
        """Reduces over all ranks: in place, or into `out` of the same type and length. The same
        bits on every rank. Returns the result.
        """
        return self._run(_calls.all_reduce(self._ranks, data, op, out))

    def all_reduce_async(self, data: Any, op: Op = Op.SUM, out: Any = None) -> Request:
        return self._begin(_calls.all_reduce(self._ranks, data, op, out))

    def reduce_scatter(self, data: Any, op: Op = Op.SUM, out: Any = None) -> Any:
        """Reduces `data` of shape (size * n, ...), of which rank r gets the part r, of shape (n,
        ...): `out`, or a new array.
        """
        return self._run(_calls.reduce_scatter(self._ranks, data, op, out))

    def reduce_scatter_async(self, data: Any, op: Op = Op.SUM, out: Any = None) -> Request:
        return self._begin(_calls.reduce_scatter(self._ranks, data, op, out))

    def all_gather(self, data: Any, out: Any = None) -> Any:
        """`data` of every rank, ordered by rank, in a new array of shape (size, *data.shape), or in
        `out` of as many elements.
        """
        return self._run(_calls.all_gather(self._ranks, data, out))

    def all_gather_async(self, data: Any, out: Any = None) -> Request:
        return self._begin(_calls.all_gather(self._ranks, data, out))

    def broadcast(self, data: Any, root: int = 0) -> Any:
        """Copies `data` of rank `root` into that of every other. Returns it."""
        return self._run(_calls.broadcast(self._ranks, data, root))

    def broadcast_async(self, data: Any, root: int = 0) -> Request:
        return self._begin(_calls.broadcast(self._ranks, data, root))

    def all_to_all(self, data: Any, out: Any = None) -> Any:
        """`data` has the shape (size * n, ...): its part r goes to rank r, and part r of the result
        comes from there.
        """
        return self._run(_calls.all_to_all(self._ranks, data, out))

    def all_to_all_async(self, data: Any, out: Any = None) -> Request:
        return self._begin(_calls.all_to_all(self._ranks, data, out))

    def send(self, data: Any, dest: int) -> None:
        """Sends `data` to another rank. Messages between two ranks keep their order, and have the
        same element type and count on both sides: the receiver of another raises UsageError.
        """
        self._run(_calls.send(self._ranks, data, dest))

    def send_async(self, data: Any, dest: int) -> Request:
        return self._begin(_calls.send(self._ranks, data, dest))

    def recv(self, data: Any, source: int) -> Any:
        """Fills `data` with what rank `source` sends, and returns it."""
        return self._run(_calls.recv(self._ranks, data, source))

    def recv_async(self, data: Any, source: int) -> Request:
        return self._begin(_calls.recv(self._ranks, data, source))

    def barrier(self) -> None:
        """Returns once every rank has called it."""
        load().call("fgc_barrier", self._handle.pointer)

    def barrier_async(self) -> Request:
        return self._begin(Call("barrier", (), ()))

    def links(self) -> list[Link]:
        """The counts of each network that this rank uses, since it has joined its job; of all
        communicators of the job.
        """
        links: list[Link] = []
        count = ctypes.c_size_t(1)
        while len(links) < count.value:
            found = LinkStruct(struct_size=ctypes.sizeof(LinkStruct))
            places = (ctypes.byref(found), ctypes.byref(count))
            load().call("fgc_link_counters", self._handle.pointer, len(links), *places)
            if count.value == 0:
                break
            links.append(Link(found.name.decode(), *(getattr(found, n) for n in Link._fields[1:])))
        return links

    def device_way(self) -> tuple[str, str]:
        """A collective: how data of GPUs travels, "nccl" or "staged" by way of the host, and why
        not by NCCL, "" with it. Raises UsageError where the library was built without CUDA.
        """
        way, why = ctypes.c_int(), ctypes.c_char_p()
        load().call("fgc_device_way_of", self._handle.pointer, ctypes.byref(way), ctypes.byref(why))
        return ("staged", "nccl")[way.value], (why.value or b"").decode()

    def shutdown(self) -> None:
        """Waits for all ranks, and leaves: the end of a job that went well. A second call does
        nothing.
        """
        if self._handle.is_open:
            self.barrier()
            self.close()

    def close(self) -> None:
        """Leaves at once: others who still wait for this rank fail. The job goes on while groups,
        requests or gradients of it are in use.
        """
        self._handle.release()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.shutdown()
        else:
            self.close()

    def __repr__(self) -> str:
        return (
            f"<fastgpu_comm.Communicator rank {self.rank} of "
            f"{self.size}{'' if self._handle.is_open else ', closed'}>"
        )

    @property
    def pointer(self) -> int:
        """The fgc_comm, for calls of one's own. Raises ValueError once it is closed."""
        return self._handle.pointer

    def _ask(self, name: str) -> int:
        return load().ask(name, self._handle.pointer)

    def _run(self, call: Call) -> Any:
        name, arguments = self._placed(call)
        mark_written(call.result)
        with on_device(call.device):
            load().call(name, *arguments)
        return call.result

    def _begin(self, call: Call) -> Request:
        name, arguments = self._placed(call)
        mark_written(call.result)
        with on_device(call.device):
            pointer = load().make(name + "_async", *arguments)
        assert pointer is not None
        return Request(call.function, pointer, call.data, call.result)

    def _placed(self, call: Call) -> tuple[str, tuple[Any, ...]]:
        """The function for where the data lies, and its arguments."""
        if call.device is None:
            return "fgc_" + call.function, (self._handle.pointer, *call.arguments)
        return "fgc_device_" + call.function, (
            self._handle.pointer,
            *call.arguments,
            stream_of(call.device),
        )


def on_device(device: Any | None) -> ContextManager[Any]:
    """A GPU is the thread's current one meanwhile; nothing changes for None."""
    return contextlib.nullcontext() if device is None else sys.modules["torch"].cuda.device(device)


def stream_of(device: Any) -> int:
    """The cudaStream_t that PyTorch uses now on that GPU."""
    return sys.modules["torch"].cuda.current_stream(device).cuda_stream
