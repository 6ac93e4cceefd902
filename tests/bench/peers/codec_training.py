"""Trains on Fashion-MNIST by several ways of sending less, with numpy: codec_training.py PACKAGE
LIBRARY NETWORK RANKS SHARDS SEEDS STEPS [WAY ...], with the networks softmax and mlp, and the
shards iid and sorted. Prints a line of JSON for each way and seed. Each rank is a process; none
depends on its speed.
"""

import gzip
import json
import multiprocessing
import os
import pathlib
import socket
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
import numpy  # noqa: E402

DATA = pathlib.Path(os.environ.get("FASTGPU_TEST_FASHION", "/usr/share/datasets/fashion-mnist"))
BATCH = 64
EVALUATED = 4000  # Images of the test set for the loss on the way.
HIDDEN = 32
CLASSES = 10
RATE = 0.1
MOMENTUM = 0.9
MOMENTUM_RATE = 0.01  # As large as RATE without momentum.

# Each way: its kind and settings. Ranks exchange gradients, for an optimizer without momentum
# (gradients, corrected: the codec applies it) or with it (momentum); or parameters, which are mixed
# (gossip) or averaged every few steps (multistep).
WAYS = {
    "float32": ("gradients", {"FASTGPU_COMM_WIRE": "same"}),
    "mixed": ("gradients", {"FASTGPU_COMM_WIRE": "mixed"}),
    "int8": ("gradients", {"FASTGPU_COMM_WIRE": "int8"}),
    "1bit": ("gradients", {"FASTGPU_COMM_WIRE": "1bit"}),
    "topk:0.01": ("gradients", {"FASTGPU_COMM_WIRE": "topk:0.01"}),
    "topk:0.02": ("gradients", {"FASTGPU_COMM_WIRE": "topk:0.02"}),
    "topk:0.01,memory=0.01": ("gradients", {"FASTGPU_COMM_WIRE": "topk:0.01,memory=0.01"}),
    "topk:0.01,warmup=100": ("gradients", {"FASTGPU_COMM_WIRE": "topk:0.01,warmup=100"}),
    "powersgd:2": ("gradients", {"FASTGPU_COMM_WIRE": "powersgd:2"}),
    "float32, momentum": ("momentum", {"FASTGPU_COMM_WIRE": "same"}),
    "topk:0.01, momentum": ("momentum", {"FASTGPU_COMM_WIRE": "topk:0.01"}),
    "topk:0.01,momentum=0.9": ("corrected", {"FASTGPU_COMM_WIRE": "topk:0.01,momentum=0.9"}),
    "gossip": ("gossip", {"FASTGPU_COMM_WIRE": "same"}),
    "gossip, topk:0.01": ("gossip", {"FASTGPU_COMM_WIRE": "topk:0.01"}),
    "local_steps=8": ("multistep", {}),
    "diloco=8,rate=0.7,momentum=0.5": ("multistep", {}),
}


def images_of(part):
    def read(kind, header):
        with gzip.open(DATA / f"{part}-{kind}-ubyte.gz") as file:
            return numpy.frombuffer(file.read()[header:], numpy.uint8)

    pixels = read("images-idx3", 16).reshape(-1, 784).astype(numpy.float32) / 255
    return pixels, read("labels-idx1", 8).astype(numpy.int64)


class Network:
    """Softmax regression, or one hidden layer of ReLU: parameters, gradients and loss."""

    def __init__(self, kind, seed):
        chance = numpy.random.default_rng(seed)
        widths = [784, CLASSES] if kind == "softmax" else [784, HIDDEN, CLASSES]
        self.parameters = {}
        for layer, (into, out) in enumerate(zip(widths[:-1], widths[1:], strict=True)):
            size = 0 if kind == "softmax" else numpy.sqrt(2 / into)
            weight = chance.standard_normal((into, out)) * size
            self.parameters[f"{layer}.weight"] = weight.astype(numpy.float32)
            self.parameters[f"{layer}.bias"] = numpy.zeros(out, numpy.float32)
        self.layers = len(widths) - 1

    def count(self):
        return sum(each.size for each in self.parameters.values())

    def forward(self, pixels):
        seen = [pixels]
        for layer in range(self.layers):
            weight, bias = (self.parameters[f"{layer}.{part}"] for part in ("weight", "bias"))
            values = seen[-1] @ weight + bias
            seen.append(numpy.maximum(values, 0) if layer + 1 < self.layers else values)
        logits = seen[-1] - seen[-1].max(axis=1, keepdims=True)
        odds = numpy.exp(logits)
        odds /= odds.sum(axis=1, keepdims=True)
        return seen, odds

    def gradients(self, pixels, labels):
        seen, odds = self.forward(pixels)
        error = odds
        error[numpy.arange(len(labels)), labels] -= 1
        error /= len(labels)
        found = {}
        for layer in reversed(range(self.layers)):
            found[f"{layer}.weight"] = seen[layer].T @ error
            found[f"{layer}.bias"] = error.sum(axis=0)
            error = (error @ self.parameters[f"{layer}.weight"].T) * (seen[layer] > 0)
        return found

    def evaluate(self, pixels, labels):
        """Returns the loss and the accuracy."""
        _, odds = self.forward(pixels)
        right = odds[numpy.arange(len(labels)), labels]
        loss = -numpy.log(numpy.maximum(right, 1e-30)).mean()
        return float(loss), float((odds.argmax(axis=1) == labels).mean())


def shard(labels, kind, rank, ranks, seed):
    order = numpy.random.default_rng(seed).permutation(len(labels))
    if kind == "sorted":
        order = order[numpy.argsort(labels[order], kind="stable")]
    share = len(order) // ranks
    return order[rank * share : (rank + 1) * share]


class Sent:
    """The bytes that a rank sends in one step to the others, for what counters have."""

    def __init__(self, ranks, wire):
        self.ranks, self.wire = ranks, wire

    def of(self, bucket_bytes):
        if self.wire.startswith("topk"):  # Each rank's code goes to every other one.
            return (self.ranks - 1) * bucket_bytes
        return 2 * (self.ranks - 1) / self.ranks * bucket_bytes


def train(comm, network, way, data, job):
    """Returns the losses on the way, the accuracy at the end, and the bytes that this rank sent."""
    import fastgpu_comm

    (kind, settings), (pixels, labels), (test_pixels, test_labels) = WAYS[way], *data
    mine = shard(labels, job["shards"], comm.rank, comm.size, job["seed"])
    chance = numpy.random.default_rng([job["seed"], comm.rank])
    work = {name: numpy.zeros_like(each) for name, each in network.parameters.items()}
    velocity = {name: numpy.zeros_like(each) for name, each in network.parameters.items()}
    rate = MOMENTUM_RATE if kind in ("momentum", "corrected") else RATE
    ours = comm.split(0)
    actions = []
    if kind == "gossip":
        exchange = fastgpu_comm.Gossip(ours, settings, on_warning=actions.append)
        for name, values in network.parameters.items():
            exchange.register(name, values)
    elif kind == "multistep":
        exchange = fastgpu_comm.Multistep(ours, way, settings)
        for name, values in network.parameters.items():
            exchange.register(name, values)
        exchange.begin()
    else:
        exchange = fastgpu_comm.Gradients(ours, settings)
        for name, values in work.items():
            exchange.register(name, values)
    mixed_bytes, losses = 0, []
    for step in range(job["steps"]):
        batch = mine[chance.integers(len(mine), size=BATCH)]
        found = network.gradients(pixels[batch], labels[batch])
        if kind in ("gradients", "momentum", "corrected"):
            for name, values in found.items():
                work[name][...] = values
                exchange.ready(name)
            exchange.wait()
            found = work
        for name, values in found.items():
            if kind == "momentum":
                velocity[name] = MOMENTUM * velocity[name] + values
                values = velocity[name]
            network.parameters[name] -= rate * values
        if kind == "gossip":
            mixed_bytes += exchange.step().bytes
        elif kind == "multistep":
            exchange.step()
        if (step + 1) % job["every"] == 0:
            losses.append(mean_evaluation(comm, network, test_pixels, test_labels)[0])
    if kind == "gossip":
        sent = mixed_bytes
    else:
        counters = exchange.counters()
        sent = Sent(comm.size, settings.get("FASTGPU_COMM_WIRE", "same")).of(counters.bucket_bytes)
    accuracy = mean_evaluation(comm, network, test_pixels, test_labels, whole=True)[1]
    exchange.close()
    return {"losses": losses, "accuracy": accuracy, "bytes": sent, "guard": len(actions)}


def mean_evaluation(comm, network, pixels, labels, whole=False):
    """Evaluates the average of all ranks' models."""
    import fastgpu_comm

    kept = dict(network.parameters)
    network.parameters = {name: values.copy() for name, values in kept.items()}
    for values in network.parameters.values():
        comm.all_reduce(values, fastgpu_comm.AVERAGE)
    found = (0.0, 0.0)
    if comm.rank == 0:
        count = len(labels) if whole else EVALUATED
        found = network.evaluate(pixels[:count], labels[:count])
    network.parameters = kept
    return found


def rank_of(number, job, data, port, results):
    import fastgpu_comm

    settings = {
        "RANK": str(number),
        "WORLD_SIZE": str(job["ranks"]),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "FASTGPU_COMM_TIMEOUT": "120s",
    }
    with fastgpu_comm.init(settings) as comm:
        network = Network(job["network"], job["seed"])
        found = train(comm, network, job["way"], data, job)
        if number == 0:
            results.put({**job, "parameters": network.count(), **found})


def run(job, data):
    """Runs a job, each rank a process that shares the data."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    ranks = [
        context.Process(target=rank_of, args=(number, job, data, port, results), daemon=True)
        for number in range(job["ranks"])
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(600)
    if any(rank.exitcode != 0 for rank in ranks):
        for rank in ranks:
            rank.kill()
        raise SystemExit(f"{job}: a rank has ended with {[rank.exitcode for rank in ranks]}")
    return results.get(timeout=10)


def main():
    package, library, network, ranks, shards, seeds, steps = sys.argv[1:8]
    ways = sys.argv[8:] or list(WAYS)
    sys.path.insert(0, package)
    os.environ["FASTGPU_COMM_LIBRARY"] = library
    data = images_of("train"), images_of("t10k")
    for seed in range(int(seeds)):
        for way in ways:
            job = {
                "network": network,
                "ranks": int(ranks),
                "way": way,
                "shards": shards,
                "seed": seed,
                "steps": int(steps),
                "every": 10,
            }
            print(json.dumps(run(job, data)), flush=True)


main()
