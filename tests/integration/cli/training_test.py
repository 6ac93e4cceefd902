"""A stock training script of PyTorch, which knows of no launcher but env://, on two nodes."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from suite import assert_equal, skip

PYTHON = "/usr/bin/python3"  # Of the distribution, which has the package, here and on the nodes.

SCRIPT = """
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="env://")
rank, size = dist.get_rank(), dist.get_world_size()
assert rank == int(os.environ["RANK"]) and size == int(os.environ["WORLD_SIZE"])
torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(20):
    batch = torch.randn(16, 8)
    loss = ((model(batch) - batch.sum(dim=1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weights = torch.cat([parameter.flatten() for parameter in model.module.parameters()]).detach()
everywhere = [torch.empty_like(weights) for _ in range(size)]
dist.all_gather(everywhere, weights)
assert all(torch.equal(each, weights) for each in everywhere), "the ranks have different models"
print(f"rank {rank} of {size} on node {os.environ['NODE_RANK']}: trained", flush=True)
dist.destroy_process_group()
"""


def test_distributed_data_parallel_by_the_environment(user):
    name = user.two_nodes()
    script = user.folder / "train.py"
    script.write_text(SCRIPT)
    user.run("cp", str(script), f"{name}:/root/train.py")
    done = user.run(
        "run",
        "job",
        "train",
        "-c",
        name,
        "-np",
        "4",
        "--npernode",
        "2",
        "--oversubscribe",
        "-e",
        "OMP_NUM_THREADS=1",
        "--",
        PYTHON,
        "/root/train.py",
        timeout=300,
    )
    wanted = sorted(f"[{rank}] rank {rank} of 4 on node {rank // 2}: trained" for rank in range(4))
    assert_equal(sorted(done.out.decode().splitlines()), wanted, f"{done.out}\n{done.err}")


if __name__ == "__main__":
    if (
        subprocess.run([PYTHON, "-c", "import torch"], check=False, capture_output=True).returncode
        != 0
    ):
        skip("PyTorch is not there (Debian, Ubuntu: apt-get install python3-torch)")
    run_tests(globals())
