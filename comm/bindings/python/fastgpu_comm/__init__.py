"""libfastgpu_comm for Python: numbers exchanged between the ranks of one job.

    import fastgpu_comm, numpy

    with fastgpu_comm.init() as comm:  # By RANK, WORLD_SIZE and others that the launcher has set.
        values = numpy.full(4, comm.rank, dtype="float32")
        comm.all_reduce(values, fastgpu_comm.AVERAGE)  # in place

Arrays are numpy's, tensors of PyTorch, or whatever has a buffer (array.array, bytearray).
`fastgpu_comm.torch` has what trains a PyTorch model on many ranks, `.tensorflow`, `.jax` and
`.mxnet` what others need. The library itself is loaded by the first call that needs it.
"""

from ._library import library_path, version
from .communicator import Communicator, Link, init
from .errors import (
    CapacityError,
    ConflictError,
    DeniedError,
    Error,
    InternalError,
    LocalError,
    RankTimeoutError,
    RemoteError,
    Status,
    UsageError,
    WaitInterruptedError,
)
from .gossip import Gossip, GossipReport, GuardAction
from .gradients import Counters, Gradients, NonFinite, Outcome
from .kinds import AVERAGE, MAX, MIN, PRODUCT, SUM, ElementType, Op
from .multistep import Multistep, MultistepOutcome
from .request import Request

__version__ = "0.1.0"

__all__ = [
    "AVERAGE",
    "MAX",
    "MIN",
    "PRODUCT",
    "SUM",
    "CapacityError",
    "Communicator",
    "ConflictError",
    "Counters",
    "DeniedError",
    "ElementType",
    "Error",
    "Gossip",
    "GossipReport",
    "Gradients",
    "GuardAction",
    "InternalError",
    "Link",
    "LocalError",
    "Multistep",
    "MultistepOutcome",
    "NonFinite",
    "Op",
    "Outcome",
    "RankTimeoutError",
    "RemoteError",
    "Request",
    "Status",
    "UsageError",
    "WaitInterruptedError",
    "init",
    "library_path",
    "version",
]
