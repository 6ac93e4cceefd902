"""Training a PyTorch model on many ranks: every rank computes its share of the batch, and all take
the same step.

    with fastgpu_comm.init() as comm:
        broadcast_parameters(model, comm)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer = DistributedOptimizer(optimizer, comm, model)
        for x, y in batches_of(comm.rank, comm.size):
            optimizer.zero_grad()
            # Gradients travel as soon as they are there; .grad is their average over all ranks.
            loss_of(model(x), y).backward()
            optimizer.step()

PyTorch 1.13 or later.
"""

from ._torch_broadcast import broadcast_optimizer_state, broadcast_parameters
from ._torch_multistep import MultistepOptimizer
from ._torch_optimizer import DistributedOptimizer

__all__ = [
    "DistributedOptimizer",
    "MultistepOptimizer",
    "broadcast_optimizer_state",
    "broadcast_parameters",
]
