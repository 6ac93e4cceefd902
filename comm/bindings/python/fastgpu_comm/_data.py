"""Arrays, tensors and buffers as what the library is given of them: an address, a count and a type,
each checked.
"""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from typing import Any, List, Tuple

from .kinds import ElementType

Shape = Tuple[int, ...]
Elements = Tuple[int, ElementType]

_TYPES = {kind.name.lower(): kind for kind in ElementType}  # By the names of numpy and PyTorch.
_SIGNED = {1: "int8", 4: "int32", 8: "int64"}
_BUFFER_TYPES = {"e": "float16", "f": "float32", "d": "float64", "B": "uint8", "c": "uint8"}


@dataclasses.dataclass(frozen=True)
class Data:
    """What lies in memory, one element after the other. It lasts as long as `owner`."""

    owner: Any
    what: str  # For errors: "all_reduce: data"
    address: int
    shape: Shape
    type_name: str
    item_size: int
    is_writable: bool
    device: Any | None = None  # A torch.device, for memory of a GPU.
    hold: Any = None  # Keeps a buffer from being resized meanwhile.

    @property
    def count(self) -> int:
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def bytes(self) -> int:
        return self.count * self.item_size

    def reduced(self) -> Elements:
        """How many there are, and of which type. Raises TypeError where such elements cannot be
        reduced.
        """
        kind = _TYPES.get(self.type_name)
        if kind is None:
            raise TypeError(
                f"{self.what} has elements of type {self.type_name}, which cannot be reduced: "
                "convert it to float32, float64, "
                "float16, bfloat16, int8, uint8, int32 or int64"
            )
        return self.count, kind

    def moved(self) -> Elements:
        """The same; those of a type that the library does not have are counted in bytes."""
        kind = _TYPES.get(self.type_name)
        return (self.bytes, ElementType.UINT8) if kind is None else (self.count, kind)

    def writable(self) -> Data:
        if not self.is_writable:
            raise ValueError(f"{self.what} is read-only")
        torch = sys.modules.get("torch")
        if (
            torch is not None
            and isinstance(self.owner, torch.Tensor)
            and self.owner.requires_grad
            and torch.is_grad_enabled()
        ):
            raise ValueError(
                f"{self.what} requires a gradient, and autograd does not see that it is written "
                "to: give its .detach(), or call within "
                "torch.no_grad()"
            )
        return self

    def overlaps(self, other: Data) -> bool:
        return (
            self.address < other.address + other.bytes and other.address < self.address + self.bytes
        )

    def blocks(self, ranks: int) -> Shape:
        """The shape of one rank's part, of which the first dimension holds one for each."""
        if not self.shape or self.shape[0] % ranks != 0:
            raise ValueError(
                f"{self.what} has the shape {self.shape}: its first dimension must be a multiple "
                f"of the {ranks} ranks"
            )
        return (self.shape[0] // ranks, *self.shape[1:])

    def like(self, shape: Shape, name: str) -> Data:
        """New memory for elements of this type, called `name` in errors. Raises TypeError where
        only the caller knows what it should be.
        """
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if torch is not None and isinstance(self.owner, torch.Tensor):
            return look_at(
                torch.empty(shape, dtype=self.owner.dtype, device=self.owner.device), name
            )
        if numpy is not None and isinstance(self.owner, numpy.ndarray):
            return look_at(numpy.empty(shape, dtype=self.owner.dtype), name)
        raise TypeError(
            f"{self.what} is of type {type(self.owner).__name__}: give the place for the result "
            "as well, as `out`"
        )

    def copy_from(self, other: Data) -> None:
        """The same shape and type."""
        if self.device is not None:
            self.owner.copy_(other.owner.detach())
        else:
            ctypes.memmove(self.address, other.address, other.bytes)

    def expect(self, type_name: str, count: int, device: Any | None) -> Data:
        """Raises ValueError where this is no place for so many elements of the type."""
        if self.type_name != type_name:
            raise ValueError(f"{self.what} has elements of type {self.type_name}, not {type_name}")
        if self.count != count:
            raise ValueError(
                f"{self.what} has the shape {self.shape}, which are {self.count} elements and "
                f"not {count}"
            )
        if self.device != device:
            raise ValueError(
                f"{self.what} is on {self.device or 'the host'}, not on {device or 'the host'}"
            )
        return self.writable()


def version_view(value: Any) -> Any | None:
    """An empty view of a tensor of PyTorch that shares its version counter; None for anything that
    has none.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor) or value.is_inference():
        return None
    return value.detach().reshape(-1)[:0]


def mark_written(value: Any) -> None:
    """Advances the version of a tensor that is written to by its address, as PyTorch's own
    functions in place do. A backward pass that has saved the earlier content then fails instead of
    computing with other numbers.
    """
    view = version_view(value)
    if view is not None:
        view.zero_()


class Registered(List[Data]):
    """Data that an object of the library writes to."""

    def __init__(self) -> None:
        super().__init__()
        self._versions: list[Any] = []  # Of the tensors among them.
        self._given: list[Any] = []  # Versions of tensors that are written to once.

    def register(self, place: Data) -> None:
        self.append(place)
        version = version_view(place.owner)
        if version is not None:
            self._versions.append(version)

    def give(self, number: int, place: Data) -> None:
        """Notes memory that is written to in place of that with this number, until mark_written().
        Raises ValueError if it has another type or number of elements, or either is on a GPU.
        """
        place.expect(self[number].type_name, self[number].count, None)
        self._given.append((place.owner, version_view(place.owner)))

    def mark_written(self) -> None:
        """Advances the versions of all tensors, as mark_written() does."""
        for version in self._versions:
            version.zero_()
        for _, version in self._given:
            if version is not None:
                version.zero_()
        self._given.clear()


def look_at(value: Any, what: str) -> Data:
    """Raises TypeError for what has no elements, ValueError for elements that do not lie one after
    the other.
    """
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        data = _of_tensor(value, what)
    elif numpy is not None and isinstance(value, numpy.ndarray):
        data = _of_array(value, what)
    else:
        data = _of_buffer(value, what)
    if data.type_name in _TYPES and data.count > 0 and data.address % data.item_size != 0:
        raise ValueError(
            f"{what} is not aligned: its address must be a multiple of {data.item_size}"
        )
    return data


def has_no_memory(tensor: Any) -> bool:
    """Returns True for a tensor of PyTorch whose elements are in other tensors, as those of a
    DTensor are.
    """
    return bool(
        str(tensor.layout) == "torch.strided"
        and tensor.device.type in ("cpu", "cuda")
        and tensor.numel() > 0
        and tensor.data_ptr() == 0
    )


def _of_tensor(tensor: Any, what: str) -> Data:
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(
            f"{what} is on {tensor.device}: it must be on the host or on a GPU of NVIDIA"
        )
    if has_no_memory(tensor):
        raise TypeError(
            f"{what} is a {type(tensor).__name__} without memory of its own: give the tensor "
            "within, such as .to_local() of a DTensor"
        )
    layout = str(tensor.layout).rpartition(".")[2]
    if layout != "strided":
        raise TypeError(f"{what} has the layout {layout}, and is not sent: give its .to_dense()")
    if not tensor.is_contiguous():
        raise ValueError(f"{what} is not contiguous: give its .contiguous()")
    if tensor.is_conj() or tensor.is_neg():
        raise ValueError(
            f"{what} is a view that is computed when it is read: give its "
            ".resolve_conj().resolve_neg()"
        )
    return Data(
        owner=tensor,
        what=what,
        address=tensor.data_ptr(),
        shape=tuple(tensor.shape),
        type_name=str(tensor.dtype).split(".")[-1],
        item_size=tensor.element_size(),
        is_writable=True,
        device=None if tensor.device.type == "cpu" else tensor.device,
    )


def _of_array(array: Any, what: str) -> Data:
    if array.dtype.hasobject:
        raise TypeError(f"{what} holds Python objects, which have no bytes to send")
    if not array.dtype.isnative:
        raise ValueError(
            f"{what} has the byte order of other machines: convert it to the native one"
        )
    if not array.flags.c_contiguous:
        raise ValueError(f"{what} is not contiguous: give numpy.ascontiguousarray of it")
    return Data(
        owner=array,
        what=what,
        address=array.ctypes.data,
        shape=array.shape,
        type_name=array.dtype.name,
        item_size=array.dtype.itemsize,
        is_writable=array.flags.writeable,
    )


def _of_buffer(value: Any, what: str) -> Data:
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(
            f"{what} is of type {type(value).__name__}: give an array of numpy, a tensor of "
            "PyTorch, or something with a buffer, "
            "such as array.array"
        ) from None
    if not view.c_contiguous:
        raise ValueError(f"{what} is not contiguous")
    if view.readonly:  # ctypes gives no address of such.
        raise ValueError(f"{what} is read-only: give a bytearray, or an array of numpy")
    if view.format[0] in ">!" and view.itemsize > 1:
        raise ValueError(f"{what} has the byte order of other machines")
    code = view.format.lstrip("@=<>!")
    name = (
        _SIGNED.get(view.itemsize, code)
        if code in "bhilqn"
        else _BUFFER_TYPES.get(code, f"'{view.format}'")
    )
    hold = (ctypes.c_char * view.nbytes).from_buffer(view) if view.nbytes else None
    return Data(
        owner=value,
        what=what,
        address=ctypes.addressof(hold) if hold is not None else 0,
        shape=tuple(view.shape or ()),
        type_name=name,
        item_size=view.itemsize,
        is_writable=True,
        hold=hold,
    )
