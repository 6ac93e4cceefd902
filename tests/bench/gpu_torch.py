"""Puts PyTorch's figures beside those of bench_comm_gpu: gpu_torch.py GPU.JSON FOLDER NCCL

Writes FOLDER/gpu-NAME.json, NAME being the GPU's, with both and with what two ranks of NCCL said
(NCCL: "right" or "not installed"), and prints a table. Without PyTorch and its CUDA the figures
stand alone.
"""

import json
import pathlib
import re
import statistics
import sys

REPLAYS = 25
WORKING_SET = 1200 << 20
SCALE = 1 / 8
ALIGNED = 64  # Elements: where allocators let tensors begin.
BARS = {"G1": 0.85, "G2": 0.85, "G3": 0.85, "G4": 0.85}
G1_TIMES_TORCH = 1.5
G10_SECONDS = 60e-6


def resnet50():
    """Elements of each gradient, as comm/bench/models.cpp has them."""
    counts, width_in = [64 * 3 * 7 * 7, 64, 64], 64

    def convolution(inputs, outputs, side):
        counts.extend((inputs * outputs * side * side, outputs, outputs))

    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            convolution(width_in, width, 1)
            convolution(width, width, 3)
            convolution(width, 4 * width, 1)
            if block == 0:
                convolution(width_in, 4 * width, 1)
            width_in = 4 * width
    return counts + [2048 * 1000, 1000]


def bert_large():
    width, words = 1024, 30522
    counts = [words * width, 512 * width, 2 * width, width, width]
    for _ in range(24):
        counts += [width * width, width] * 4
        counts += [
            width,
            width,
            4 * width * width,
            4 * width,
            4 * width * width,
            width,
            width,
            width,
        ]
    return counts + [width * width, width, words, width * width, width, width, width, 2 * width, 2]


class Set:
    """One list of gradients, and a buffer of either type for it."""

    def __init__(self, torch, counts):
        places, at = [], 0
        for count in counts:
            places.append((at, count))
            at += -(-count // ALIGNED) * ALIGNED
        self.memory = torch.randn(at, device="cuda")
        self.tensors = [self.memory[start : start + count] for start, count in places]
        self.buffer = torch.empty(sum(counts), device="cuda")
        self.halves = torch.randn(sum(counts), device="cuda").half()
        self.views = list(self.buffer.split(counts))
        self.half_views = list(self.halves.split(counts))


def tasks(torch):
    """[(bar, operation as bench_comm_gpu names it, how it is done here, function)]"""

    def pack_one_by_one(s):
        for view, tensor in zip(s.half_views, s.tensors, strict=True):
            view.copy_(tensor * SCALE)

    def pack_and_check(s):
        flat = torch.cat(s.tensors)
        s.halves.copy_(flat.mul_(SCALE).half())
        return torch.isfinite(s.halves).all()

    return [
        ("G1", "pack float32", "cat", lambda s: torch.cat(s.tensors, out=s.buffer)),
        (
            "G1",
            "pack float32",
            "_foreach_copy_",
            lambda s: torch._foreach_copy_(s.views, s.tensors),
        ),
        ("G2", "pack float16, scaled and checked", "cat, mul, half, isfinite", pack_and_check),
        ("G10", "pack float16, scaled and checked", "a launch a tensor", pack_one_by_one),
        (
            "G3",
            "unpack float16",
            "_foreach_copy_",
            lambda s: torch._foreach_copy_(s.tensors, s.half_views),
        ),
        (
            "G3",
            "unpack float16 and add",
            "_foreach_add_ of float()",
            lambda s: torch._foreach_add_(s.tensors, [h.float() for h in s.half_views]),
        ),
        (
            "G4",
            "search float32",
            "isfinite().all() of each",
            lambda s: torch.stack([torch.isfinite(t).all() for t in s.tensors]).all(),
        ),
        (
            "G4",
            "search float32",
            "isfinite().all() of one array",
            lambda s: torch.isfinite(s.memory).all(),
        ),
    ]


def seconds_of(torch, sets, function):
    """The median of a replay of a graph that goes over every set once, for one set."""
    for s in sets:
        function(s)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for s in sets:
            function(s)
    seconds = []
    for replay in range(-3, REPLAYS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if replay >= 0:
            seconds.append(start.elapsed_time(end) / 1e3)
    return statistics.median(seconds) / len(sets)


def measure(torch):
    results = []
    for name, counts in (("bert-large", bert_large()), ("resnet-50", resnet50())):
        sets = [Set(torch, counts) for _ in range(-(-WORKING_SET // (4 * sum(counts))))]
        for bar, operation, method, function in tasks(torch):
            results.append(
                {
                    "bar": bar,
                    "library": "torch",
                    "operation": operation,
                    "method": method,
                    "list": name,
                    "tensors": len(counts),
                    "elements": sum(counts),
                    "seconds": seconds_of(torch, sets, function),
                }
            )
        del sets
        torch.cuda.empty_cache()
    return results


def cuda_torch():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def verdict(ours, times_torch):
    """`times_torch`: how much quicker than PyTorch's best; None without it."""
    if ours["list"] == "resnet-50" and ours["operation"] == "pack float16, scaled and checked":
        return "G10 met" if ours["seconds"] <= G10_SECONDS else "G10 missed"
    bar = BARS.get(ours["bar"])
    if bar is None or ours["list"] != "bert-large":
        return ""
    is_met = ours["of_copy"] >= bar and (
        ours["bar"] != "G1" or times_torch is None or times_torch >= G1_TIMES_TORCH
    )
    return f"{ours['bar']} {'met' if is_met else 'missed'}"


def show(results):
    for ours in (r for r in results if r["library"] == "fastgpu"):
        others = [
            r["seconds"]
            for r in results
            if r["library"] == "torch"
            and r["list"] == ours["list"]
            and r["operation"] == ours["operation"]
        ]
        times_torch = min(others) / ours["seconds"] if others else None
        ratio = f"{times_torch:5.1f}x torch" if others else ""
        print(
            f"{ours['list']:24} {ours['operation']:36} {ours['seconds'] * 1e6:9.1f} us "
            f"{ours['of_copy'] * 100:6.1f} % of copy  {ratio:12} {verdict(ours, times_torch)}"
        )


def main():
    source, folder, nccl = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    report = json.loads(source.read_text(encoding="utf-8"))
    report["nccl"] = {"bar": "G12", "sums_of_two_ranks": nccl}
    torch = cuda_torch()
    if torch is None:
        print("gpu: PyTorch with CUDA is not installed: nothing to compare with", file=sys.stderr)
    else:
        report["device"]["torch"] = torch.__version__
        report["results"] += measure(torch)
    name = re.sub(r"[^a-z0-9]+", "-", report["device"]["name"].lower()).strip("-")
    target = folder / f"gpu-{name}.json"
    target.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    show(report["results"])
    print(f"G12: sums of two ranks by NCCL: {nccl}")
    print(f"gpu: written to {target}", file=sys.stderr)


if __name__ == "__main__":
    main()
