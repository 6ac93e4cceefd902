"""The shared library as ctypes sees it: where it is found, what its functions take, and when they
fail.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import pathlib
import platform
import sys
import threading
from typing import Any, Generator, Iterator, Mapping

from .errors import Error, LocalError, UsageError, error_of

_NAME = "libfastgpu_comm.so.0"  # The number is that of the C ABI.

_POINTER, _SIZE, _INT, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_char_p
_PLACE = ctypes.POINTER(ctypes.c_void_p)
_LIST = ctypes.POINTER(ctypes.c_char_p)


class GradientStruct(ctypes.Structure):
    """fgc_gradient"""

    _fields_ = [
        ("struct_size", _SIZE),
        ("name", _TEXT),
        ("data", _POINTER),
        ("shape", ctypes.POINTER(ctypes.c_uint64)),
        ("dimensions", _SIZE),
        ("type", ctypes.c_int32),
        ("priority", ctypes.c_int32),
        ("memory", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class OutcomeStruct(ctypes.Structure):
    """fgc_outcome"""

    _fields_ = [
        ("struct_size", _SIZE),
        ("step", ctypes.c_uint64),
        ("skipped", ctypes.POINTER(_SIZE)),
        ("skipped_count", _SIZE),
        ("non_finite_gradient", _SIZE),
        ("non_finite_index", ctypes.c_uint64),
        ("non_finite_rank", ctypes.c_int32),
        ("non_finite", ctypes.c_int32),
        ("is_applied", ctypes.c_int32),
        ("is_somebody_leaving", ctypes.c_int32),
        ("have_views_moved", ctypes.c_int32),
    ]


class CountersStruct(ctypes.Structure):
    """fgc_counters"""

    _fields_ = (
        [("struct_size", _SIZE)]
        + [
            (name, ctypes.c_uint64)
            for name in (
                "steps",
                "steps_without_results",
                "buckets",
                "bucket_bytes",
                "negotiation_messages",
                "negotiation_bytes",
                "late_ranks",
            )
        ]
        + [(name, ctypes.c_double) for name in ("ready_seconds", "unpack_seconds", "wait_seconds")]
    )


class LinkStruct(ctypes.Structure):
    """fgc_link"""

    _fields_ = [("struct_size", _SIZE), ("name", ctypes.c_char * 64)] + [
        (name, ctypes.c_uint64)
        for name in (
            "frames_sent",
            "frames_received",
            "bytes_sent",
            "bytes_received",
            "failures",
            "reconnects",
            "connections",
        )
    ]


class GossipReportStruct(ctypes.Structure):
    """fgc_gossip_report"""

    _fields_ = [
        ("struct_size", _SIZE),
        ("step", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("distance", ctypes.c_double),
        ("measured", ctypes.c_uint64),
        ("step_size", ctypes.c_double),
        ("wire", _TEXT),
        ("exact_every", ctypes.c_int32),
        ("is_exact", ctypes.c_int32),
        ("guard_level", ctypes.c_int32),
        ("guard_action", ctypes.c_int32),
    ]


class MultistepOutcomeStruct(ctypes.Structure):
    """fgc_multistep_outcome"""

    _fields_ = [
        ("struct_size", _SIZE),
        ("round", ctypes.c_uint64),
        ("is_round_end", ctypes.c_int32),
        ("has_results", ctypes.c_int32),
        ("is_over", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


WarningHandler = ctypes.CFUNCTYPE(None, _TEXT, _POINTER)
_WaitCheck = ctypes.CFUNCTYPE(_INT, _POINTER)

# What the collectives take between the communicator and, on a GPU, the stream; the _async twins
# give a request back.
_COLLECTIVES: dict[str, list[Any]] = {
    "all_reduce": [_POINTER, _SIZE, _INT, _INT],
    "reduce_scatter": [_POINTER, _POINTER, _SIZE, _INT, _INT],
    "all_gather": [_POINTER, _POINTER, _SIZE, _INT],
    "broadcast": [_POINTER, _SIZE, _INT, _INT],
    "all_to_all": [_POINTER, _POINTER, _SIZE, _INT],
    "send": [_POINTER, _SIZE, _INT, _INT],
    "recv": [_POINTER, _SIZE, _INT, _INT],
}

_STATUS_FUNCTIONS: dict[str, list[Any]] = {
    "fgc_init": [_LIST, _PLACE],
    "fgc_blame": [_POINTER, _INT],
    "fgc_split": [_POINTER, _INT, _INT, _PLACE],
    "fgc_link_counters": [_POINTER, _SIZE, ctypes.POINTER(LinkStruct), ctypes.POINTER(_SIZE)],
    "fgc_barrier": [_POINTER],
    "fgc_barrier_async": [_POINTER, _PLACE],
    "fgc_request_test": [_POINTER, ctypes.POINTER(_INT)],
    "fgc_request_wait": [_POINTER],
    "fgc_gradients_create": [_POINTER, _LIST, _PLACE],
    "fgc_gradient_add": [_POINTER, ctypes.POINTER(GradientStruct), ctypes.POINTER(_SIZE)],
    "fgc_gradient_wire_type": [_POINTER, _SIZE, ctypes.POINTER(_INT)],
    "fgc_gradients_use_op": [_POINTER, _INT],
    "fgc_gradient_ready": [_POINTER, _SIZE],
    "fgc_gradient_ready_at": [_POINTER, _SIZE, _POINTER],
    "fgc_device_gradient_ready": [_POINTER, _SIZE, _POINTER],
    "fgc_gradients_wait": [_POINTER, ctypes.POINTER(OutcomeStruct)],
    "fgc_device_gradients_wait": [_POINTER, _POINTER, ctypes.POINTER(OutcomeStruct)],
    "fgc_gradients_leave": [_POINTER, ctypes.POINTER(OutcomeStruct)],
    "fgc_gradients_counters": [_POINTER, ctypes.POINTER(CountersStruct)],
    "fgc_gradients_save": [_POINTER, _POINTER, _SIZE, ctypes.POINTER(_SIZE)],
    "fgc_gradients_load": [_POINTER, _TEXT, _SIZE],
    "fgc_gradients_on_warning": [_POINTER, WarningHandler, _POINTER],
    "fgc_gossip_create": [_POINTER, _LIST, _PLACE],
    "fgc_gossip_add": [_POINTER, _TEXT, _POINTER, _SIZE],
    "fgc_gossip_step": [_POINTER, ctypes.POINTER(GossipReportStruct)],
    "fgc_gossip_save": [_POINTER, _POINTER, _SIZE, ctypes.POINTER(_SIZE)],
    "fgc_gossip_load": [_POINTER, _TEXT, _SIZE],
    "fgc_gossip_on_warning": [_POINTER, WarningHandler, _POINTER],
    "fgc_multistep_create": [_POINTER, _TEXT, _LIST, _PLACE],
    "fgc_multistep_add": [_POINTER, ctypes.POINTER(GradientStruct), ctypes.POINTER(_SIZE)],
    "fgc_multistep_begin": [_POINTER],
    "fgc_multistep_weigh": [_POINTER, ctypes.c_double],
    "fgc_multistep_ready": [_POINTER, _SIZE],
    "fgc_multistep_step": [_POINTER, ctypes.POINTER(MultistepOutcomeStruct)],
    "fgc_multistep_leave_out": [_POINTER, ctypes.POINTER(MultistepOutcomeStruct)],
    "fgc_multistep_finish": [_POINTER, ctypes.POINTER(MultistepOutcomeStruct)],
    "fgc_multistep_counters": [_POINTER, ctypes.POINTER(CountersStruct)],
    "fgc_multistep_save": [_POINTER, _POINTER, _SIZE, ctypes.POINTER(_SIZE)],
    "fgc_multistep_load": [_POINTER, _TEXT, _SIZE],
    "fgc_multistep_on_warning": [_POINTER, WarningHandler, _POINTER],
    "fgc_device_way_of": [_POINTER, ctypes.POINTER(_INT), ctypes.POINTER(_TEXT)],
}
# The calls in which ranks take part together: not for a thread that waits in one of them.
_CALLS_OF_RANKS = {
    "fgc_init",
    "fgc_split",
    "fgc_barrier",
    "fgc_barrier_async",
    "fgc_request_wait",
    "fgc_gradient_ready",
    "fgc_gradient_ready_at",
    "fgc_device_gradient_ready",
    "fgc_gradients_wait",
    "fgc_device_gradients_wait",
    "fgc_gradients_leave",
    "fgc_gossip_step",
    "fgc_multistep_begin",
    "fgc_multistep_ready",
    "fgc_multistep_step",
    "fgc_multistep_leave_out",
    "fgc_multistep_finish",
    "fgc_device_way_of",
}
for _name, _arguments in _COLLECTIVES.items():
    for _function, _more in ((f"fgc_{_name}", []), (f"fgc_device_{_name}", [_POINTER])):
        _STATUS_FUNCTIONS[_function] = [_POINTER, *_arguments, *_more]
        _STATUS_FUNCTIONS[_function + "_async"] = [_POINTER, *_arguments, *_more, _PLACE]
        _CALLS_OF_RANKS |= {_function, _function + "_async"}

_OTHER_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    name: (_INT, [_POINTER])
    for name in (
        "fgc_rank",
        "fgc_size",
        "fgc_local_rank",
        "fgc_local_size",
        "fgc_node_rank",
        "fgc_node_count",
        "fgc_multistep_takes_gradients",
        "fgc_multistep_skips_non_finite",
    )
}
_OTHER_FUNCTIONS.update(
    {
        name: (None, [_POINTER])
        for name in (
            "fgc_comm_free",
            "fgc_request_free",
            "fgc_gossip_free",
            "fgc_gradients_free",
            "fgc_multistep_free",
        )
    }
)
_OTHER_FUNCTIONS.update({"fgc_on_wait": (None, [_WaitCheck, _POINTER])})
_OTHER_FUNCTIONS.update(
    {
        "fgc_last_error": (_TEXT, []),
        "fgc_version_string": (_TEXT, []),
        "fgc_device_support": (_INT, []),
    }
)


def _folders_of_installation(package: pathlib.Path) -> list[pathlib.Path]:
    """The folders with libraries of the installation that the package is a part of, if it is in
    PREFIX/share/fastgpu/python.
    """
    if package.parts[-4:-1] != ("share", "fastgpu", "python"):
        return []
    prefix = package.parents[3]
    names = (f"lib/{platform.machine()}-linux-gnu", "lib64", "lib")
    return [prefix / name for name in names]


def _places() -> Iterator[str]:
    """Where the library may be, in the order in which it is looked for."""
    given = os.environ.get("FASTGPU_COMM_LIBRARY")
    if given:
        yield given
        return
    beside = pathlib.Path(__file__).resolve().parent
    # The second is that of an environment of fastgpu.
    for folder in (
        beside,
        pathlib.Path(sys.prefix) / "lib" / "fastgpu",
        *_folders_of_installation(beside),
    ):
        if (folder / _NAME).exists():
            yield str(folder / _NAME)
    yield _NAME  # LD_LIBRARY_PATH, then what ldconfig knows.


class _Signals:
    """Lets Python see signals while the main thread waits in the library."""

    def __init__(self) -> None:
        self._raised: BaseException | None = None
        self._running = self._checks()
        next(self._running)
        self.check = _WaitCheck(self._running.send)

    def _checks(self) -> Generator[int, None, None]:
        # Python runs a signal's handler as it resumes this, at the yield; a function would be
        # entered first, outside of any try.
        while True:
            try:
                yield 0 if self._raised is None else 1
            except GeneratorExit:
                return
            except BaseException as error:
                self._raised = error

    @property
    def is_in_handler(self) -> bool:
        """Whether a handler runs while the main thread waits; asked in that thread."""
        return self._running.gi_running

    def take(self) -> BaseException | None:
        """What a handler has raised since the last call."""
        raised, self._raised = self._raised, None
        return raised


class Library:
    """The functions of the C ABI. ctypes lets other threads of
    Python run while one of them waits.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._signals: _Signals | None = None
        self._functions = ctypes.CDLL(path)
        for name, arguments in _STATUS_FUNCTIONS.items():
            self._declare(name, _INT, arguments)
        for name, (result, arguments) in _OTHER_FUNCTIONS.items():
            self._declare(name, result, arguments)

    def _declare(self, name: str, result: Any, arguments: list[Any]) -> None:
        function = getattr(self._functions, name)
        function.restype, function.argtypes = result, arguments

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that can fail; raises what it failed with, or what the handler of a
        signal has raised meanwhile. Raises UsageError in such a handler for a call of the ranks.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and self._signals is None:
            self._signals = _Signals()
            self._functions.fgc_on_wait(self._signals.check, None)
        signals = self._signals if is_main else None
        is_within_wait = signals is not None and signals.is_in_handler
        if is_within_wait and name in _CALLS_OF_RANKS:
            raise UsageError(
                f"{name[len('fgc_') :]} in the handler of a signal, whose thread waits in another "
                "call: let the handler note the signal, and call once that one has returned"
            )
        error = self._failure(getattr(self._functions, name)(*arguments))
        raised = signals.take() if signals is not None and not is_within_wait else None
        if raised is not None:
            raise raised from error
        if error is not None:
            raise error

    def _failure(self, status: int) -> Error | None:
        if status == 0:
            return None
        return error_of(status, self._functions.fgc_last_error().decode(errors="replace"))

    def make(self, name: str, *arguments: Any) -> int | None:
        """Calls one whose last argument is the place for a handle; None where it gave none."""
        place = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(place))
        return place.value

    def saved(self, name: str, pointer: int) -> bytes:
        """Calls one that saves the state of a handle, and returns the state."""
        size = ctypes.c_size_t()
        self.call(name, pointer, None, 0, ctypes.byref(size))
        state = ctypes.create_string_buffer(size.value)
        self.call(name, pointer, state, size.value, ctypes.byref(size))
        return state.raw

    def ask(self, name: str, *arguments: Any) -> Any:
        """Calls one that cannot fail."""
        return getattr(self._functions, name)(*arguments)


@functools.lru_cache(maxsize=None)
def load() -> Library:
    """The library of this process. Raises LocalError, naming what
    was tried, where there is none.
    """
    tried = []
    for place in _places():
        try:
            return Library(place)
        except (OSError, AttributeError) as error:  # No such file, or one without our functions.
            tried.append(str(error) if place in str(error) else f"{place}: {error}")
    raise LocalError(
        f"there is no {_NAME} to load ({'; '.join(tried)}): install it, or name its file in "
        "FASTGPU_COMM_LIBRARY"
    )


def library_path() -> str:
    """What was loaded, by the name that the loader was given. Raises LocalError where there is no
    library.
    """
    return load().path


def version() -> str:
    """That of the library, such as "0.1.0"; all ranks of a job have the same."""
    return load().ask("fgc_version_string").decode()


def text_of(value: Any, what: str) -> bytes:
    """Returns text as the library takes it. Raises TypeError for another type."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is text, not of type {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} is {value!r}: a text of the library has no NUL")
    return value.encode()


def whole_number(value: Any, what: str) -> int:
    """Returns a whole number. Raises TypeError for anything else, and for True and False."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{what} is a whole number, not of type {type(value).__name__}")


def state_of(state: Any) -> bytes:
    """Returns the bytes of a saved state. Raises TypeError for something that has none."""
    try:
        return bytes(memoryview(state))
    except TypeError:
        raise TypeError(
            f"the state is of type {type(state).__name__}: give the bytes that saved_state() has "
            "returned"
        ) from None


def settings_list(settings: Mapping[str, str | None] | None) -> Any:
    """NAME=VALUE each, NULL at the end; None hides a variable of the environment."""
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(
            f"the settings are of type {type(settings).__name__}: give a dict, such as "
            '{"FASTGPU_COMM_TIMEOUT": "30s"}'
        )
    lines = []
    for name, value in (settings or {}).items():
        if isinstance(value, bool):
            value = str(int(value))
        text = f"{name}={'' if value is None else value}"
        if not name or "=" in name or "\0" in text:
            raise ValueError(
                f"{name!r} is no setting: it is the name of a variable of the library, such as "
                "FASTGPU_COMM_TIMEOUT"
            )
        lines.append(text.encode())
    return (ctypes.c_char_p * (len(lines) + 1))(*lines, None)
