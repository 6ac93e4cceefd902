"""What the tests of PyTorch share: a model, its data and optimizers, and how models and gradients
are compared.
"""

import torch

from ranks import free_port
from suite import assert_equal, assert_less_equal, assert_true

STEPS = 8
BATCH = 12


class Mlp(torch.nn.Module):
    """With a part that only some samples use, and one that none does."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.first, self.second = torch.nn.Linear(6, 16), torch.nn.Linear(16, 3)
        self.sometimes, self.never = torch.nn.Linear(6, 16), torch.nn.Linear(6, 16)

    def forward(self, x, wants_more=False):
        hidden = self.first(x) + (self.sometimes(x) if wants_more else 0)
        return self.second(torch.relu(hidden))


def batches():
    generator = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        yield torch.randn(BATCH, 6, generator=generator), torch.randn(BATCH, 3, generator=generator)


def loss_of(model, x, y, **more):
    return ((model(x, **more) - y) ** 2).mean()


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.01)


def momentum(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)


def near(model, wanted, tolerance=1e-5):
    for (name, one), (_, other) in zip(model.named_parameters(), wanted.named_parameters()):
        apart = (one - other).abs().max().item()
        assert_less_equal(apart, tolerance, f"{name} is apart by {apart}")


def same_everywhere(comm, model):
    for name, parameter in model.state_dict().items():
        everybody = comm.all_gather(parameter)
        assert_true(
            all(torch.equal(one, everybody[0]) for one in everybody),
            f"{name} differs between ranks",
        )


def same_gradients(model, wanted, tolerance=1e-6):
    for (name, one), (_, other) in zip(model.named_parameters(), wanted.named_parameters()):
        assert_equal(
            one.grad is None,
            other.grad is None,
            f"{name} has {'no' if one.grad is None else 'a'} gradient",
        )
        apart = 0 if one.grad is None else (one.grad - other.grad).abs().max().item()
        assert_less_equal(apart, tolerance, f"the gradient of {name} is apart by {apart}")


def own_group(comm):
    """PyTorch's own ranks beside ours, for DistributedDataParallel by Gloo."""
    port = torch.tensor([int(free_port())])
    comm.broadcast(port)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{int(port)}", rank=comm.rank, world_size=comm.size
    )
