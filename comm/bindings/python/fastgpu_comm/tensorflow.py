"""Training a TensorFlow model on many ranks: every rank computes its share of the batch, and all
take the same step.

    with fastgpu_comm.init() as comm:
        broadcast_variables(model.variables, comm)
        exchange = GradientExchange(model.trainable_variables, comm)
        for x, y in batches_of(comm.rank, comm.size):
            with tensorflow.GradientTape() as tape:
                loss = loss_of(model(x), y)
            gradients = tape.gradient(loss, model.trainable_variables)
            averages = exchange(gradients)  # Over all ranks.
            optimizer.apply_gradients(zip(averages, model.trainable_variables))

TensorFlow 2.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence

import tensorflow

from ._agreement import Described, check_same_tensors
from ._host_gradients import HostGradients, Place, need_array
from .communicator import Communicator
from .gradients import Outcome
from .kinds import Op


def broadcast_variables(variables: Iterable[Any], comm: Communicator, root: int = 0) -> None:
    """Gives all ranks the values of rank `root`: of a model's variables, or of an optimizer's
    (`optimizer.variables`, once it is built).

    A collective: every rank has the same variables in the same order, otherwise UsageError names
    the first that differs on all ranks. Not within a tf.function. Raises TypeError for anything
    else than variables, and if there is none.
    """
    comm = Communicator.of(comm, "broadcast_variables")
    values = [(variable, variable.numpy().copy()) for variable in _checked(variables)]
    check_same_tensors(
        [Described.of(one.dtype, one.shape, variable.name) for variable, one in values],
        comm,
        root,
        "broadcast_variables",
        has_own_names=True,
    )
    travelling = [(variable, comm.broadcast_async(one, root)) for variable, one in values]
    for variable, request in travelling:
        variable.assign(request.wait())


def _checked(variables: Any) -> list[Any]:
    """Returns the variables. Raises TypeError for anything else, and if there is none."""
    found = list(variables) if hasattr(type(variables), "__iter__") else []
    if found and all(hasattr(one, "assign") and hasattr(one, "numpy") for one in found):
        return found
    raise TypeError(
        f"broadcast_variables: variables is of type {type(variables).__name__}, and "
        f"{'has something else than' if found else 'has no'} variables: give model.variables"
    )


class GradientExchange:
    """An exchange of the gradients of `variables` for their averages over all ranks (`op`: or
    sums).

    Every rank makes it at the same time, of the same variables in the same order, and calls it
    equally often. `settings` are those of fastgpu_comm.Gradients. Gradients are copied to the host
    and back; those of embeddings (IndexedSlices) become whole ones.

    It may be called within a tf.function, except for those with jit_compile=True. A failure there
    is an error of TensorFlow, with the sentence of the fastgpu_comm.Error in its text.
    """

    def __init__(
        self,
        variables: Iterable[Any],
        comm: Communicator,
        op: Op = Op.AVERAGE,
        settings: Mapping[str, str | None] | None = None,
    ) -> None:
        places = [
            Place(
                f"{number}:{getattr(variable, 'path', variable.name)}",
                tuple(variable.shape),
                tensorflow.as_dtype(variable.dtype).as_numpy_dtype,
            )
            for number, variable in enumerate(
                need_array(each, str(index), "variables, such as model.trainable_variables")
                for index, each in enumerate(variables)
            )
        ]
        self._host = HostGradients(places, comm, op, settings)

    @property
    def outcome(self) -> Outcome | None:
        """Returns the outcome of the last step. Without is_applied (FASTGPU_COMM_NANCHECK=skip) the
        results are zeros, not to be used.
        """
        return self._host.outcome

    @tensorflow.autograph.experimental.do_not_convert
    def __call__(self, gradients: Sequence[Any]) -> list[Any]:
        """Exchanges one gradient for each variable, in their order, as tape.gradient() returns
        them; the results likewise. A collective.

        Raises ValueError before anything has begun for a gradient of another shape or type, or
        None: give `unconnected_gradients=tensorflow.UnconnectedGradients.ZERO` to tape.gradient()
        for variables that the loss does not depend on. Raises fastgpu_comm.Error.
        """
        dense = [
            gradient if gradient is None else tensorflow.convert_to_tensor(gradient)
            for gradient in gradients
        ]
        self._host.check_complete(dense)
        if not tensorflow.executing_eagerly():
            return self._within_function(dense)
        return [
            tensorflow.convert_to_tensor(result)
            for result in self._exchange(*(gradient.numpy() for gradient in dense))
        ]

    def close(self) -> None:
        """Frees the gradients, between steps."""
        self._host.close()

    def _within_function(self, gradients: list[Any]) -> list[Any]:
        results = tensorflow.numpy_function(
            self._exchange, gradients, [gradient.dtype for gradient in gradients]
        )
        for result, gradient in zip(results, gradients):
            result.set_shape(gradient.shape)
        return list(results)

    def _exchange(self, *gradients: Any) -> list[Any]:
        self._host.check(gradients)
        return self._host.exchange(gradients)
