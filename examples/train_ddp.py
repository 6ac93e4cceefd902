"""Trains a small PyTorch model with DistributedDataParallel, on GPUs or on CPUs.

The script knows nothing of fastgpu. It reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
MASTER_PORT, which `fastgpu run job` sets for every rank (and torchrun, too):

    fastgpu run job --cluster demo -np 2 --sync . -- python3 train_ddp.py --steps 20
"""

import argparse
import os
import socket

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=20, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=16, help="samples per rank (%(default)s)")
    options = parser.parse_args()

    has_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if has_gpu else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")

    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    samples = torch.Generator().manual_seed(rank)  # Each rank has samples of its own.
    for step in range(1, options.steps + 1):
        batch = torch.randn(options.batch, 8, generator=samples).to(device)
        wanted = batch.sum(dim=1, keepdim=True)  # The model learns to add.
        loss = ((model(batch) - wanted) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()  # DistributedDataParallel averages the gradients here.
        optimizer.step()
        if rank == 0 and step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)

    print(f"rank {rank} of {size} on {socket.gethostname()}: trained", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
