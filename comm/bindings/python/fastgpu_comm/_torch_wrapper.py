"""An optimizer of PyTorch around another one."""

from __future__ import annotations

from typing import Any, Callable, Iterable, TypeVar

import torch

from ._data import has_no_memory

_Call = TypeVar("_Call", bound=Callable[..., Any])


def not_compiled(function: _Call) -> _Call:
    """Keeps torch.compile from tracing a function, also if a program compiles its whole step."""
    keep: Any = getattr(torch, "_disable_dynamo", None)  # As PyTorch's own optimizers do.
    return function if keep is None else keep(function)


class Wrapped:
    """The base of what takes an optimizer's place. What two of them exchange would be averaged, or
    summed, twice.
    """


def plain_optimizer(optimizer: Any, user: str) -> torch.optim.Optimizer:
    """Returns `optimizer`. Raises TypeError for something else than an optimizer, and ValueError
    for one whose gradients or parameters are exchanged already.
    """
    kind = type(optimizer).__name__
    if isinstance(optimizer, Wrapped):
        raise ValueError(
            f"{user}: the optimizer is a {kind} already: give the one that it was made of"
        )
    if all(hasattr(optimizer, name) for name in ("param_groups", "step", "state_dict")):
        return optimizer
    raise TypeError(
        f"{user}: the optimizer is of type {kind}: give one of torch.optim, such as "
        "torch.optim.SGD(model.parameters(), lr=0.1)"
    )


def names_of(
    named_parameters: torch.nn.Module | Iterable[tuple[str, torch.Tensor]] | None,
    optimizer: torch.optim.Optimizer,
    user: str,
) -> dict[torch.Tensor, str]:
    """Returns the names of parameters. Raises TypeError for something else than pairs of a name and
    a tensor, and ValueError for those of another model than the one that `optimizer` trains. A
    part of that model will do, and a module of which it is a part.
    """
    is_module = isinstance(named_parameters, torch.nn.Module)
    pairs = named_parameters.named_parameters() if is_module else named_parameters
    names: dict[torch.Tensor, str] = {}
    try:
        for name, parameter in () if pairs is None else pairs:
            if not (isinstance(name, str) and isinstance(parameter, torch.Tensor)):
                raise TypeError
            names[parameter] = name
    except (TypeError, ValueError):
        raise TypeError(
            f"{user}: named_parameters is of type {type(named_parameters).__name__}, and has "
            "something else than pairs of a name and a tensor: give the module, or its "
            "named_parameters()"
        ) from None
    trained = (tensor for group in optimizer.param_groups for tensor in group["params"])
    if named_parameters is not None and not any(tensor in names for tensor in trained):
        raise ValueError(
            f"{user}: named_parameters is of type {type(named_parameters).__name__}, and has no "
            "parameter of the optimizer: give the module that the optimizer trains, and no copy of "
            "it. An iterator, such as model.named_parameters(), can be read only once"
        )
    return names


def check_plain(tensor: torch.Tensor, name: str, user: str) -> None:
    """Raises TypeError for a parameter that is a part of one, or that has no memory of its own."""
    kind = type(tensor).__name__
    is_of_fsdp = kind == "FlatParameter" or hasattr(tensor, "_fsdp_flattened")
    if not (is_of_fsdp or has_no_memory(tensor)):
        return
    what = "belongs to FSDP" if is_of_fsdp else f"is a {kind} without memory of its own"
    raise TypeError(
        f"{user}: the parameter {name} {what}: parameters that are divided among ranks (FSDP, "
        "tensor parallelism) are for torch.distributed. Give plain parameters, or call "
        "comm.all_reduce for the .to_local() of each gradient before optimizer.step()"
    )


def memory_order(tensor: torch.Tensor) -> list[int]:
    """Returns the dimensions in the order of memory, such as that of channels_last."""
    return sorted(range(tensor.dim()), key=tensor.stride, reverse=True)


def gradient_type(tensor: torch.Tensor) -> torch.dtype:
    """Returns the type of a parameter's gradient, which PyTorch 2.10 lets a program set."""
    kind = getattr(tensor, "grad_dtype", None)
    return kind if isinstance(kind, torch.dtype) else tensor.dtype


def state_in(saved: Any) -> memoryview:
    """Returns the bytes of a tensor in a state_dict. Raises TypeError for anything else."""
    if not isinstance(saved, torch.Tensor) or saved.dtype != torch.uint8:
        raise TypeError(
            f"the state of fastgpu_comm in the state_dict is of type {type(saved).__name__}: give "
            "what state_dict() has returned"
        )
    return memoryview(saved.cpu().contiguous().numpy())


class OptimizerWrapper(Wrapped, torch.optim.Optimizer):
    """An optimizer with the parameters, state and settings of `_inner`, which a subclass sets. It
    does not call super().__init__(): all attributes that it lacks are those of `_inner`.
    """

    _inner: torch.optim.Optimizer
    _step_supports_amp_scaling = False  # A GradScaler looks at gradients itself.

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self._inner.param_groups

    @property
    def state(self) -> Any:
        return self._inner.state

    @property
    def defaults(self) -> dict[str, Any]:
        return self._inner.defaults

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __getstate__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: keep its state_dict()"
        )
