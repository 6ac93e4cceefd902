"""What the tests of PyTorch's MultistepOptimizer share: a model, its data and its optimizer, and
how models are compared.
"""

import torch

from suite import assert_true

MODES = ("accumulate=4", "local_steps=4", "diloco=2", "delay=1", "slices=2")


class Net(torch.nn.Module):
    """With buffers, which batches change."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.norm = torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8, momentum=0.5)
        self.second = torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x))))


def net_of(rank):
    """A model whose parameters and buffers are those of this rank."""
    model = Net()
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.add_(rank)
    return model


def batch_of(rank, batch):
    generator = torch.Generator().manual_seed(1000 * rank + batch)
    samples = 4 + 2 * ((rank + batch) % 3)
    return (
        torch.randn(samples, 5, generator=generator),
        torch.randn(samples, 2, generator=generator),
    )


def loss_of(model, x, y):
    return ((model(x) - y) ** 2).mean()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def largest_difference(one, other):
    return max(
        float((mine.detach() - theirs.detach()).abs().max())
        for mine, theirs in zip(one.state_dict().values(), other.state_dict().values())
    )


def check_same_on_all_ranks(comm, model, what):
    for name, tensor in model.state_dict().items():
        everywhere = comm.all_gather(tensor.detach().reshape(1, -1).clone())
        assert_true(bool((everywhere == everywhere[0]).all()), f"{what}: ranks differ in {name}")
