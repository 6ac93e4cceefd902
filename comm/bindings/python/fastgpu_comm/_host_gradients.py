"""Gradients of frameworks that do not let others write to their arrays: copied to memory of the
host, exchanged there, and given back as copies.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Sequence

import numpy

from .communicator import Communicator
from .gradients import Gradients, Outcome
from .kinds import Op


class Place(NamedTuple):
    """The name, shape and type of one gradient."""

    name: str
    shape: tuple[int, ...]
    dtype: Any  # A type of numpy.


def need_array(value: Any, name: str, what: str) -> Any:
    """Returns `value`, a parameter with that name. Raises TypeError for one without a shape and a
    type.
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return value
    raise TypeError(
        f"GradientExchange: the parameter {name} is of type {type(value).__name__}: give {what}"
    )


class HostGradients:
    """The gradients of one model. All ranks make it at the same time, with the same places in the
    same order.
    """

    def __init__(
        self,
        places: Iterable[Place],
        comm: Communicator,
        op: Op,
        settings: Mapping[str, str | None] | None,
    ) -> None:
        if op not in (Op.AVERAGE, Op.SUM):
            raise ValueError(
                f"GradientExchange: gradients are averaged or summed, not {Op(op).name}"
            )
        comm = Communicator.of(comm, "GradientExchange")
        self._places = list(places)
        self.outcome: Outcome | None = None  # The outcome of the last step.
        group = comm.split(0, comm.rank)  # The program's own calls may then come at any time.
        assert group is not None
        self._gradients = Gradients(group, settings)
        self._gradients.use_op(op)
        for place in self._places:  # In each step gradients are in other memory.
            self._gradients.register(place.name, numpy.empty(place.shape, place.dtype))

    def check_complete(self, gradients: Sequence[Any]) -> None:
        """Raises ValueError unless there is one gradient for each place."""
        if len(gradients) != len(self._places):
            raise ValueError(
                f"GradientExchange: {len(gradients)} gradients for {len(self._places)} parameters"
            )
        for place, gradient in zip(self._places, gradients):
            if gradient is None:
                raise ValueError(
                    f"the gradient of {place.name} is None: every parameter needs one, if only "
                    "of zeros"
                )

    def check(self, gradients: Sequence[Any]) -> None:
        """Raises ValueError unless there is one array of the right
        shape and type for each place.
        """
        self.check_complete(gradients)
        for place, gradient in zip(self._places, gradients):
            found, wanted = (
                (tuple(gradient.shape), numpy.dtype(gradient.dtype)),
                (tuple(place.shape), numpy.dtype(place.dtype)),
            )
            if found != wanted:
                raise ValueError(
                    f"the gradient of {place.name} has the shape {found[0]} and elements of type "
                    f"{found[1]}, its parameter "
                    f"{wanted[0]} and {wanted[1]}"
                )

    def exchange(self, gradients: Sequence[Any]) -> list[Any]:
        """Returns the results over all ranks, of checked arrays: each travels as soon as it is
        here. Raises fastgpu_comm.Error.
        """
        results = []
        for number, (place, gradient) in enumerate(zip(self._places, gradients)):
            result = numpy.array(gradient, place.dtype, order="C")
            self._gradients.ready(number, result)
            results.append(result)
        self.outcome = self._gradients.wait()
        if not self.outcome.is_applied:
            for result in results:
                result.fill(0)
        return results

    def close(self) -> None:
        self._gradients.close()
