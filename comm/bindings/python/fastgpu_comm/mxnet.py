"""Training a model of MXNet's Gluon on many ranks: every rank computes its share of the batch, and
all take the same step.

    with fastgpu_comm.init() as comm:
        broadcast_parameters(net.collect_params(), comm)
        exchange = GradientExchange(net.collect_params(), comm, fastgpu_comm.SUM)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=None)
        for x, y in batches_of(comm.rank, comm.size):
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            exchange()                       # Gradients become sums over all ranks.
            trainer.update(whole_batch)

MXNet 1.9, which is its last: it needs a numpy older than 1.24.
"""

from __future__ import annotations

from typing import Any, Mapping

import numpy

try:
    import mxnet
except AttributeError as error:  # numpy.bool no longer exists.
    raise ImportError(
        f"MXNet cannot be imported with numpy {numpy.__version__}: it needs one older than 1.24 "
        f"({error})"
    ) from error

from ._agreement import Described, check_same_tensors
from ._host_gradients import HostGradients, Place
from .communicator import Communicator
from .gradients import Outcome
from .kinds import Op


def broadcast_parameters(parameters: Mapping[str, Any], comm: Communicator, root: int = 0) -> None:
    """Gives all ranks the values of rank `root`, of initialized parameters: net.collect_params(). A
    collective; UsageError on all ranks names the first parameter that differs. Raises TypeError for
    anything else than parameters, and if there is none.
    """
    comm = Communicator.of(comm, "broadcast_parameters")
    given = list(parameters.values()) if hasattr(parameters, "values") else []
    if not given or not all(isinstance(one, mxnet.gluon.Parameter) for one in given):
        raise TypeError(
            f"broadcast_parameters: parameters is of type {type(parameters).__name__}, and "
            f"{'has something else than' if given else 'has no'} parameters: give "
            "net.collect_params()"
        )
    values = [(one, one.data().asnumpy().copy()) for one in given]
    check_same_tensors(
        [Described.of(array.dtype, array.shape, one.name) for one, array in values],
        comm,
        root,
        "broadcast_parameters",
        has_own_names=True,
    )
    travelling = [(one, comm.broadcast_async(array, root)) for one, array in values]
    for parameter, request in travelling:
        parameter.set_data(mxnet.nd.array(request.wait(), dtype=parameter.dtype))


class GradientExchange:
    """An exchange of the gradients of `parameters` for their averages over all ranks (`op`: or
    sums), in place, by each call.

    Every rank makes it at the same time, of the same parameters, whose shapes are known and which
    are on one device; those without gradients (grad_req "null") are left out. `settings` are those
    of fastgpu_comm.Gradients. Gradients are copied to the host and back.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        comm: Communicator,
        op: Op = Op.AVERAGE,
        settings: Mapping[str, str | None] | None = None,
    ) -> None:
        if not isinstance(parameters, Mapping) and not hasattr(parameters, "items"):
            raise TypeError(
                f"GradientExchange: the parameters are of type {type(parameters).__name__}: give "
                "net.collect_params()"
            )
        trained = [
            (name, parameter)
            for name, parameter in parameters.items()
            if parameter.grad_req != "null"
        ]
        for name, parameter in trained:
            if parameter.grad().stype != "default":
                raise TypeError(
                    f"the gradient of {name} is sparse, which is not supported: make its layer "
                    "with sparse_grad=False"
                )
        self._gradients = [parameter.grad() for _, parameter in trained]
        places = [
            Place(name, tuple(parameter.shape), gradient.dtype)
            for (name, parameter), gradient in zip(trained, self._gradients)
        ]
        self._host = HostGradients(places, comm, op, settings)

    @property
    def outcome(self) -> Outcome | None:
        """Returns the outcome of the last step. Without is_applied (FASTGPU_COMM_NANCHECK=skip)
        gradients are zeros, not to be used.
        """
        return self._host.outcome

    def __call__(self) -> None:
        """Exchanges gradients, after backward() and before the trainer's update(). A collective.
        Raises fastgpu_comm.Error.
        """
        results = self._host.exchange([gradient.asnumpy() for gradient in self._gradients])
        for gradient, result in zip(self._gradients, results):
            gradient[:] = result

    def close(self) -> None:
        """Frees the gradients, between steps."""
        self._host.close()
