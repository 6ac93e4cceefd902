"""Training with JAX on many ranks: every rank computes its share of the batch, and all take the
same step.

    with fastgpu_comm.init() as comm:
        parameters = broadcast(parameters, comm)
        exchange = GradientExchange(parameters, comm)
        for x, y in batches_of(comm.rank, comm.size):
            gradients = exchange(jax.grad(loss_of)(parameters, x, y))   # Averages over all ranks.
            parameters = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, parameters, gradients)

Parameters and gradients are pytrees of arrays. JAX 0.4.30 or later.
"""

from __future__ import annotations

from typing import Any, Mapping

import jax
import numpy
from jax.experimental import io_callback

from ._agreement import Described, check_same_tensors
from ._host_gradients import HostGradients, Place, need_array
from .communicator import Communicator
from .gradients import Outcome
from .kinds import Op


def broadcast(tree: Any, comm: Communicator, root: int = 0) -> Any:
    """Returns the arrays of rank `root` on every rank: of parameters, or of an optimizer's state.
    Leaves that are numbers become arrays.

    A collective: every rank has the same structure, otherwise UsageError names the first array that
    differs on all ranks. Not within jit.
    """
    comm = Communicator.of(comm, "broadcast")
    named, structure = jax.tree_util.tree_flatten_with_path(tree)
    names = [jax.tree_util.keystr(path) for path, _ in named]
    arrays = [numpy.array(jax.numpy.asarray(leaf)) for _, leaf in named]
    check_same_tensors(
        [Described.of(one.dtype, one.shape, name) for name, one in zip(names, arrays)],
        comm,
        root,
        "broadcast",
        has_own_names=False,
    )
    requests = [comm.broadcast_async(one, root) for one in arrays]
    return jax.tree_util.tree_unflatten(
        structure, [jax.numpy.asarray(request.wait()) for request in requests]
    )


class GradientExchange:
    """An exchange of gradients by `parameters`, a pytree of arrays, for their averages over all
    ranks (`op`: or sums).

    Every rank makes it at the same time, with the same structure, and calls it equally often.
    `settings` are those of fastgpu_comm.Gradients. Gradients are copied to the host and back.

    It may be called within jax.jit. A failure there is an error of JAX, with the sentence of the
    fastgpu_comm.Error in its text. Not within vmap, and not if gradients are taken of it.
    """

    def __init__(
        self,
        parameters: Any,
        comm: Communicator,
        op: Op = Op.AVERAGE,
        settings: Mapping[str, str | None] | None = None,
    ) -> None:
        named, self._structure = jax.tree_util.tree_flatten_with_path(parameters)
        places = []
        for path, leaf in named:
            name = jax.tree_util.keystr(path) or "parameter"
            array = need_array(leaf, name, "a pytree of arrays")
            places.append(Place(name, tuple(array.shape), array.dtype))
        self._host = HostGradients(places, comm, op, settings)

    @property
    def outcome(self) -> Outcome | None:
        """Returns the outcome of the last step. Without is_applied (FASTGPU_COMM_NANCHECK=skip) the
        results are zeros, not to be used.
        """
        return self._host.outcome

    def __call__(self, gradients: Any) -> Any:
        """Exchanges gradients in the form of jax.grad(); the results have the same form. A
        collective.

        Raises ValueError before anything has begun for another structure, shape or type than the
        parameters'. Raises fastgpu_comm.Error.
        """
        leaves, structure = jax.tree_util.tree_flatten(gradients)
        if structure != self._structure:
            raise ValueError(
                f"GradientExchange: the gradients are {structure}, the parameters {self._structure}"
            )
        self._host.check(leaves)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
            results = io_callback(
                lambda *here: self._host.exchange(here), shapes, *leaves, ordered=True
            )
        else:
            results = [jax.numpy.asarray(result) for result in self._host.exchange(leaves)]
        return jax.tree_util.tree_unflatten(structure, results)

    def close(self) -> None:
        """Frees the gradients, between steps."""
        self._host.close()
