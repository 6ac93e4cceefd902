"""Programs of PyTorch, JAX, TensorFlow, Horovod and DeepSpeed start under `run job` on two nodes
with two ranks each, and have no word of fastgpu in them, but for TensorFlow: frameworks_test.py
FASTGPU [TEST ...]

The environments are those of make_environments.sh, which `./dev test --long` calls; a framework
without its environment is skipped. PyTorch is Debian's.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster
from suite import assert_equal, need_programs, skip

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 4
DEBIANS = "/usr/bin/python3"
TORCH = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
print("sum", dist.get_rank(), dist.get_world_size(), total.item(), flush=True)
"""
# jax.distributed finds its place by Open MPI's variables.
JAX = """
import jax, jax.numpy as jnp
from jax.experimental import multihost_utils
jax.distributed.initialize()
rank = jax.process_index()
parts = multihost_utils.process_allgather(jnp.array([float(rank)]))
print("sum", rank, jax.process_count(), float(parts.sum()), flush=True)
"""
# Without MPI the program passes on what it finds.
JAX_PLAIN = JAX.replace(
    "jax.distributed.initialize()",
    """import os
jax.distributed.initialize(
    coordinator_address=f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
    num_processes=int(os.environ["WORLD_SIZE"]), process_id=int(os.environ["RANK"]))""",
)
# TensorFlow's resolver wants the address of every worker.
TENSORFLOW = """
import os
rank = int(os.environ["RANK"])
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)
def replica():
    return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(float(rank)))
total = strategy.run(tf.function(replica))
print("sum", resolver.task_id, strategy.num_replicas_in_sync, float(total), flush=True)
"""
HOROVOD = """
import torch, horovod.torch as hvd
hvd.init()
assert hvd.local_size() == 2 and hvd.local_rank() == hvd.rank() % 2
total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum)
print("sum", hvd.rank(), hvd.size(), total.item(), flush=True)
"""
DEEPSPEED = """
import deepspeed, torch
deepspeed.init_distributed(dist_backend="gloo")
total = torch.tensor([float(deepspeed.comm.get_rank())])
deepspeed.comm.all_reduce(total)
print("sum", deepspeed.comm.get_rank(), deepspeed.comm.get_world_size(), total.item(), flush=True)
"""


def python_with(framework):
    """Returns the Python that has the framework. Skips the test without it."""
    found = subprocess.run(
        [HERE / "make_environments.sh", "--find", framework],
        check=False,
        capture_output=True,
        text=True,
    )
    if found.returncode:
        skip(found.stderr.strip())
    return f"{found.stdout.strip()}/bin/python"


def need_torch():
    if subprocess.run([DEBIANS, "-c", "import torch"], check=False, capture_output=True).returncode:
        skip("needs PyTorch (Debian: python3-torch)")


def starts(user, name, python, program, *more, crowds=("--oversubscribe",)):
    """Every rank knows its place and the sum of all."""
    cluster = user.two_nodes()
    script = user.folder / f"start_{name}.py"  # No module has this name.
    script.write_text(program)
    user.run("cp", str(script), f"{cluster}:/root/{script.name}")
    words = ("--npernode", "2", *crowds, "-e", "OMP_NUM_THREADS=1", *more)
    command = job_words(cluster, RANKS, [python, "-u", f"/root/{script.name}"], name, *words)
    done = user.run(*command, timeout=400)
    said = [line.split("] ", 1)[1] for line in done.out.decode().splitlines() if "] sum" in line]
    wanted = [f"sum {rank} {RANKS} {sum(range(RANKS))}.0" for rank in range(RANKS)]
    assert_equal(sorted(said), wanted, f"{done.out.decode()[-4000:]}\n{done.err[-4000:]}")


@shared_cluster
def test_pytorch(user):
    need_torch()
    starts(user, "torch", DEBIANS, TORCH)


@shared_cluster
def test_pytorch_without_mpi(user):
    need_torch()
    starts(user, "torch-plain", DEBIANS, TORCH, "--launcher", "plain")


@shared_cluster
def test_jax(user):
    starts(user, "jax", python_with("jax"), JAX)


@shared_cluster
def test_jax_without_mpi(user):
    starts(user, "jax-plain", python_with("jax"), JAX_PLAIN, "--launcher", "plain")


@shared_cluster
def test_tensorflow(user):
    starts(user, "tensorflow", python_with("tensorflow"), TENSORFLOW)


def test_tensorflow_in_slurm(user):
    need_programs("slurmctld", "slurmd", "sbatch", "munged")
    python = python_with("tensorflow")
    words = ("--nodes", "2", "--slots", "2", "--scheduler", "slurm")
    user.run("create", "cluster", user.cluster, *words)
    user.made = True
    words = ("--engine", "slurm", "--set", "slurm.nodes=2")
    starts(user, "tensorflow-slurm", python, TENSORFLOW, *words, crowds=())


@shared_cluster
def test_horovod(user):
    starts(user, "horovod", python_with("horovod"), HOROVOD)


@shared_cluster
def test_deepspeed(user):
    starts(user, "deepspeed", python_with("deepspeed"), DEEPSPEED)


@shared_cluster
def test_deepspeed_without_mpi(user):
    starts(user, "deepspeed-plain", python_with("deepspeed"), DEEPSPEED, "--launcher", "plain")


if __name__ == "__main__":
    run_tests(globals())
