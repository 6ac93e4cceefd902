"""An optimizer of PyTorch around another one."""

from __future__ import annotations

from typing import Any

import torch


class OptimizerWrapper(torch.optim.Optimizer):
    """An optimizer with the parameters, state and settings of `_inner`, which a subclass sets. It
    does not call super().__init__(): all attributes that it lacks are those of `_inner`.
    """

    _inner: torch.optim.Optimizer

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
