"""Times PyTorch's own operations that do what codecs do, on one thread and as many numbers as
there are in 64 MiB: codec_ops_torch.py.

Prints one JSON line for each.
"""

import json
import statistics
import time

import torch

ELEMENTS = 2**24
TURNS = 7


def int8(gradient):
    scale = gradient.abs().max().item() / 127
    return torch.quantize_per_tensor(gradient, scale, 0, torch.qint8)


def sign(gradient):
    """A byte for each sign, which PyTorch does not pack into bits."""
    return gradient >= 0, gradient.abs().mean()


def top(gradient):
    count = gradient.numel() // 100
    places = gradient.abs().topk(count, sorted=False).indices
    return places, gradient[places]


def seconds_of(act, gradient):
    act(gradient)
    taken = []
    for _ in range(TURNS):
        began = time.perf_counter()
        act(gradient)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main():
    torch.set_num_threads(1)
    gradient = torch.randn(ELEMENTS, generator=torch.Generator().manual_seed(1))
    for codec, operation, act in (
        ("int8", "quantize_per_tensor", int8),
        ("1bit", ">= 0, a byte each, and the mean", sign),
        ("topk:0.01", "topk of absolute values, and the numbers there", top),
    ):
        line = {
            "codec": codec,
            "operation": operation,
            "elements": ELEMENTS,
            "seconds": seconds_of(act, gradient),
        }
        print(json.dumps(line), flush=True)


main()
