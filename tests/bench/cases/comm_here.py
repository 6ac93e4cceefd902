"""What the benchmark `comm` measures on this host."""

import json
import os
import subprocess

import shaped
from cases.comm_figures import COLLECTIVES, MIB, SIZES
from cases.comm_programs import PACKAGE, PEERS, ROUNDS, YIELD, in_turns, with_the_cores


def algorithms_of_mpi(programs, ranks):
    """Open MPI's all-reduce algorithms, the quickest of which at 100 MiB is its best setting."""
    best, found = None, None
    for number in ("3", "4", "5", "6"):  # Recursive doubling, ring, segmented ring, Rabenseifner.
        mca = YIELD + [
            ("coll_tuned_use_dynamic_rules", "1"),
            ("coll_tuned_allreduce_algorithm", number),
        ]
        try:
            taken = programs.here(
                ranks, [programs.mpi, "--sizes", "100M", "--repetitions", "3", "--no-check"], mca
            )[0]["seconds"]
        except SystemExit:
            continue
        if best is None or taken < best:
            best, found = taken, mca
    return found


def all_reduce_here(programs, ranks):
    sizes = ["--sizes", "8,64,512,4K,64K,1M,16M,100M", "--repetitions", "3"]
    best = algorithms_of_mpi(programs, ranks)
    return in_turns(
        {
            "fastgpu": lambda: programs.here(ranks, [programs.ours, *sizes, "--buffers", "heap"]),
            "fastgpu, private memory": lambda: programs.here(ranks, [programs.ours, *sizes]),
            "Open MPI": lambda: programs.here(ranks, [programs.mpi, *sizes], YIELD),
            "Open MPI, best": lambda: programs.here(ranks, [programs.mpi, *sizes], best),
            "Open MPI, spinning": lambda: programs.here(
                ranks, [programs.mpi, "--sizes", "8,64,512,4K,64K", "--repetitions", "3"]
            ),
            "Gloo": lambda: programs.here(
                ranks, [programs.gloo, *sizes, "--interface", "lo", *programs.store()]
            ),
        }
    )


# Both libraries by TCP on the loopback interface, although all ranks are on this host.
TCP_OF_MPI = [("pml", "ob1"), ("btl", "self,tcp"), ("btl_tcp_if_include", "lo")]
TCP_OF_OURS = {"FASTGPU_COMM_SHARED_MEMORY": "0", "FASTGPU_COMM_TRANSPORT": "tcp"}


def collectives_here(programs, ranks, caches, mca=(), environment=()):
    """Ours and MPI's in one process, each with data in both kinds of memory:
    {name: [{(bytes, collective): result}, ...]}.
    """
    found = {}
    for _ in range(max(1, ROUNDS // 2)):  # Each has rounds of its own.
        once = {}
        for collective in COLLECTIVES:
            words = ["--collective", collective, "--sizes", SIZES, "--repetitions", "5"]
            lines = programs.here(
                ranks,
                [programs.turns, *words, "--caches", caches, "--no-check"],
                [*YIELD, *mca],
                environment,
                with_the_cores(),
            )
            for line in lines:
                key = (line["bytes"], line["collective"])
                once.setdefault(line["library"], {})[key] = line
        for name, results in once.items():
            found.setdefault(name, []).append(results)
    return found


def gradients_here(programs, ranks, model, steps):
    ours = [programs.ours, "--model", model, "--steps", str(steps)]
    file = programs.model(model)
    commands = {
        "fastgpu": lambda: programs.here(ranks, ours),
        "fastgpu, views": lambda: programs.here(ranks, [*ours, "--memory", "views"]),
        "fastgpu, fp16": lambda: programs.here(
            ranks, ours, environment={"FASTGPU_COMM_WIRE": "fp16"}
        ),
    }
    if programs.has("horovod.torch"):
        commands["Horovod"] = lambda: programs.here(
            ranks, [programs.python, str(PEERS / "gradients_horovod.py"), file, str(steps)], YIELD
        )
    if programs.has("torch.distributed"):
        commands["PyTorch DDP"] = lambda: torch_here(programs, ranks, file, steps)
    return in_turns(commands, ROUNDS)


def torch_here(programs, ranks, file, steps):
    return python_here(programs, ranks, ["gradients_torch.py", file, str(steps)])


def python_here(programs, ranks, words):
    """A peer in Python whose ranks meet by the variables of PyTorch."""
    shared = {
        **os.environ,
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29431",
        "GLOO_SOCKET_IFNAME": "lo",
        "FASTGPU_COMM_MASTER_PORT": "29433",
        "FASTGPU_COMM_LIBRARY": programs.library,
    }
    return shaped.results(
        [
            subprocess.Popen(
                [programs.python, str(PEERS / words[0]), *words[1:]],
                env={**shared, "RANK": str(rank)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
    )


def steps_here(programs, ranks):
    """Whole steps of PyTorch: {model: {way: [result of each round]}}."""
    found = {}
    models = (("resnet50", programs.model("resnet50"), 40), ("linear", "linear", 16))
    for model, file, steps in models:
        ways = found.setdefault(model, {})
        words = ["steps_torch.py", str(PACKAGE), file, str(steps // ranks)]
        for _ in range(ROUNDS):
            for line in python_here(programs, ranks, words):
                ways.setdefault(line["library"], []).append(line)
    return found


def wire(programs):
    """Bytes of all ranks in a step, with all headers: a list of results, "what" in each."""
    models = {
        "ResNet-50": (programs.model("resnet50"), 10),
        "161 gradients of 64 bytes": (programs.small_gradients(161, 16), 200),
    }
    ways = ["fastgpu"] + (["ddp"] if programs.has("torch.distributed") else [])
    found = []
    for what, (file, steps) in models.items():
        for ranks in (2, 3, 4):
            for way in ways:
                peer = [programs.python, str(PEERS / "wire.py"), str(PACKAGE), programs.library]
                words = ["unshare", "--net", *peer, str(ranks), file, str(steps), way]
                text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
                found.append({"what": what, **json.loads(text)})
    return found


def one_tensor(programs):
    file = programs.one_gradient(MIB // 4)
    commands = {
        "fastgpu": lambda: programs.here(2, [programs.ours, "--model", file, "--steps", "200"])
    }
    if programs.has("horovod.torch"):
        commands["Horovod"] = lambda: programs.here(
            2, [programs.python, str(PEERS / "gradients_horovod.py"), file, "200"], YIELD
        )
    return in_turns(commands)


def nan_check(programs):
    def with_check(action):
        return lambda: programs.here(
            2,
            [programs.ours, "--model", "resnet50", "--steps", "30"],
            environment={"FASTGPU_COMM_WIRE": "fp16", "FASTGPU_COMM_NANCHECK": action},
        )

    return in_turns({"off": with_check("off"), "warn": with_check("warn")}, 4 * ROUNDS)


def negotiation(programs):
    """Bytes of one rank in one step."""
    return {
        ranks: programs.here(ranks, [programs.ours, "--model", "resnet50", "--steps", "3"])[0][
            "negotiation_bytes"
        ]
        for ranks in (2, 3, 4, 8)
    }
