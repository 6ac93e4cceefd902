"""The tables of training steps beside DistributedDataParallel of PyTorch: their time and bytes."""

import statistics

from cases.comm_figures import ms
from pages import table


def whole_steps(found):
    """The optimizer of the Python package beside DistributedDataParallel."""
    rows, version = [], ""
    for ranks in (2, 4):
        for model, ways in found[f"steps {ranks}"].items():
            seconds = {
                way: statistics.median(one["seconds"] for one in each) for way, each in ways.items()
            }
            version = next(iter(ways.values()))[0]["torch"]
            alone = seconds.pop("alone")
            peers = [taken for way, taken in seconds.items() if "DDP" in way]
            for way, taken in seconds.items():
                ratio = min(peers) / taken
                cells = [ms(taken), ms(max(0.0, taken - alone)), f"{ratio:.2f}"]
                if "DDP" not in way and ratio < 1:
                    cells = [f"**{cell}**" for cell in cells]
                rows.append([f"{model}, {ranks} ranks", way, *cells])
            rows.append([f"{model}, {ranks} ranks", "one rank alone", ms(alone), "", ""])
    return (
        "## Whole steps of PyTorch\n\n"
        f"`fastgpu_comm.torch.DistributedOptimizer` beside DistributedDataParallel over Gloo "
        f"(PyTorch {version}), in one process and in turns: zero_grad, forward, backward, step. "
        "The exchange is the step less the step of a rank alone. The ratio is the time of the "
        "fastest DDP divided by that of the row; **bold: DDP is faster**. `resnet50` has the "
        "parameters of ResNet-50 with an elementwise loss, so that little else than the exchange "
        "is measured; `linear` is six layers of 2048 x 2048 with a batch of 16.\n\n"
        + table(["model", "", "step", "exchange", "best DDP / this"], rows)
    )


def on_the_wire(found):
    """Bytes of a step with all headers."""
    names = {"fastgpu": "fastgpu", "ddp": "PyTorch DDP over Gloo"}
    rows = []
    for one in found["wire"]:
        ranks, wire = one["ranks"], one["wire"] / one["ranks"]
        payload = 2 * (ranks - 1) / ranks * one["bytes"]
        rows.append(
            [
                f"{one['what']}, {ranks} ranks",
                names[one["library"]],
                f"{payload:,.0f}",
                f"{wire:,.0f}",
                f"{wire - payload:,.0f}",
                f"{(wire / payload - 1) * 100:.1f} %",
            ]
        )
    lowest = {}
    for row, one in zip(rows, found["wire"], strict=True):
        lowest.setdefault(row[0], []).append(one["wire"])
    for row, one in zip(rows, found["wire"], strict=True):
        if one["library"] == "fastgpu" and one["wire"] > min(lowest[row[0]]):
            row[1:] = [f"**{cell}**" for cell in row[1:]]
    return (
        "## Bytes on the wire\n\n"
        "What a rank sends in one step over TCP, counted by the kernel in a network of 1500-byte "
        "packets: all messages of the exchange and its negotiation, with the headers of Ethernet "
        "(14 bytes), IP and TCP, and acknowledgements. The payload is what any all-reduce must "
        "send: 2(n-1)/n of the gradients. The fusion buffer aligns each gradient to 64 bytes, and "
        "the gaps are sent too. **Bold: DDP sends less.**\n\n"
        + table(["gradients", "", "payload", "sent", "more", "in percent"], rows)
    )
