"""libfastgpu_comm beside Open MPI, Gloo, Horovod and PyTorch, on this host and over a shaped link
between two hosts within it.

Every bar is a ratio of medians of one run in which all take turns. Horovod and PyTorch join in
where FASTGPU_BENCH_PYTHON, or python3, can import them.

It is measured in parts, each of which ends in less than 25 minutes on a quiet machine and keeps its
figures in docs/benchmarks/comm, so that parts may be measured on different days. The page is made
once all are there.
"""

import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import shaped
from cases import comm_fabric, comm_loss, comm_page
from cases.comm_figures import COLLECTIVES, MIB, SIZES
from pages import write_page

ROUNDS = int(os.environ.get("FASTGPU_BENCH_ROUNDS", "5"))
PACKAGE = pathlib.Path(__file__).parents[3] / "comm" / "bindings" / "python"
PEERS = pathlib.Path(__file__).parents[1] / "peers"
YIELD = [("mpi_yield_when_idle", "1")]
# Its other form takes MPI_IN_PLACE for an address in Open MPI 4.1.4, and crashes.
HAN = [
    ("coll_han_priority", "100"),
    ("coll_han_use_simple_allreduce", "1"),
    ("btl_vader_single_copy_mechanism", "none"),
]


class Programs:
    """What is measured, each as a function of ranks and of our programs' options."""

    def __init__(self, build, folder):
        self.folder = pathlib.Path(folder)
        self.ours = str(build / "comm" / "fastgpu-comm-bench")
        self.dynamic = str(build / "comm" / "fastgpu-comm-bench-dynamic")  # It loads plugins.
        self.mpi = str(build / "comm" / "bench_comm_mpi")
        self.gloo = str(build / "comm" / "bench_comm_gloo")
        self.turns = str(build / "comm" / "bench_comm_turns")
        self.fabric_plugin = str(build / "comm" / "libfastgpu_comm_fabric.so")
        self.paths = str(build / "comm" / "bench_comm_paths")
        self.library = str(build / "comm" / "libfastgpu_comm.so")
        self.python = os.environ.get("FASTGPU_BENCH_PYTHON", "/usr/bin/python3")
        self.stores = 0

    def here(self, ranks, argv, mca=(), environment=()):
        """Under mpirun on this host."""
        words = [
            "mpirun",
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
            "-np",
            str(ranks),
            *[word for name, value in mca for word in ("--mca", name, value)],
            *argv,
        ]
        variables = {
            **os.environ,
            "FASTGPU_COMM_MASTER_ADDR": "127.0.0.1",
            "FASTGPU_COMM_MASTER_PORT": "29432",
            **dict(environment),
        }
        return shaped.results(
            [
                subprocess.Popen(
                    words,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            ]
        )

    def store(self):
        self.stores += 1
        store = self.folder / f"store-{self.stores}"
        store.mkdir()
        return ["--store", str(store)]

    def has(self, module):
        return (
            subprocess.run(
                [self.python, "-c", f"import {module}"], capture_output=True, check=False
            ).returncode
            == 0
        )

    def model(self, name):
        """A model file for the peers."""
        file = self.folder / name
        text = subprocess.run(
            [self.ours, "--model", name, "--print-model"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        file.write_text(
            "".join(line + "\n" for line in text.splitlines() if not line.startswith("#"))
        )
        return str(file)

    def one_gradient(self, elements):
        file = self.folder / f"one-{elements}"
        file.write_text(f"gradient {elements}\n")
        return str(file)

    def small_gradients(self, count, elements):
        file = self.folder / f"small-{count}-{elements}"
        file.write_text("".join(f"gradient{i} {elements}\n" for i in range(count)))
        return str(file)


def in_turns(commands, rounds=ROUNDS):
    """{name: [seconds of each round]} of {name: function giving results}; a command that fails says
    so and drops out.
    """
    seconds = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            if seconds[name] is None:
                continue
            try:
                seconds[name].append({(r["bytes"], r["collective"]): r for r in command()})
            except SystemExit as e:
                print(f"{name} failed: {str(e)[:400]}", file=sys.stderr)
                seconds[name] = None
    return {name: rounds for name, rounds in seconds.items() if rounds}


# ---- this host ----


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


# ---- two hosts ----


def two_hosts(programs, link):
    sizes = ["--sizes", "64M", "--repetitions", "3"]
    links = [("btl_tcp_links", "4")]
    return in_turns(
        {
            "fastgpu": lambda: link.run([programs.ours, *sizes], 1),
            "Open MPI": lambda: link.run_mpi([programs.mpi, *sizes], 1, YIELD),
            "Open MPI, best": lambda: link.run_mpi([programs.mpi, *sizes], 1, YIELD + links),
            "Gloo": lambda: link.run(
                [programs.gloo, *sizes, "--interface", "eth0", *programs.store()], 1
            ),
        }
    )


def two_by_two(programs, link):
    sizes = ["--sizes", "64M", "--repetitions", "3"]
    links = [("btl_tcp_links", "4")]
    file = programs.one_gradient(16 * MIB)
    return in_turns(
        {
            "fastgpu": lambda: link.run([programs.ours, *sizes], 2),
            "fastgpu, fp16": lambda: link.run(
                [programs.ours, "--model", file, "--steps", "5"], 2, {"FASTGPU_COMM_WIRE": "fp16"}
            ),
            "Open MPI": lambda: link.run_mpi([programs.mpi, *sizes], 2, YIELD),
            "Open MPI, 4 links": lambda: link.run_mpi([programs.mpi, *sizes], 2, YIELD + links),
            "Open MPI, HAN": lambda: link.run_mpi([programs.mpi, *sizes], 2, YIELD + links + HAN),
            "Gloo": lambda: link.run(
                [programs.gloo, *sizes, "--interface", "eth0", *programs.store()], 2
            ),
        }
    )


def capped(programs, link):
    """Connections of 300 Mbit/s each under the link's 1 Gbit/s."""
    file = programs.one_gradient(16 * MIB)
    steps = [programs.ours, "--model", file, "--steps", "3"]
    seconds = in_turns(
        {
            f"{flows} flows": functools.partial(link.run_capped, steps, flows, 300)
            for flows in (1, 4, 8)
        }
    )
    tuned = []
    for job in range(ROUNDS):  # Each finds its settings anew.
        environment = {
            "FASTGPU_COMM_TUNE": "1",
            "XDG_CACHE_HOME": str(programs.folder / f"cache-{job}"),
        }
        tuned.append(
            statistics.median(
                link.run_capped(
                    [programs.ours, "--model", file, "--steps", "45"], 8, 300, environment
                )[0]["step_seconds"][-8:]
            )
        )
    return seconds, statistics.median(tuned)


def uneven(programs, link):
    """One of four connections of 200 Mbit/s halves its rate: steps before, and after."""
    file = programs.one_gradient(8 * MIB)

    def halve(shared):
        time.sleep(12)
        shared.change_flow(0, 100)

    jobs = []
    for _ in range(ROUNDS):
        seconds = link.run_capped(
            [programs.ours, "--model", file, "--steps", "60"], 4, 200, meanwhile=halve
        )[0]["step_seconds"]
        # Bytes a second.
        jobs.append([32 * MIB / statistics.median(part) for part in (seconds[:10], seconds[-10:])])
    return [statistics.median(part) for part in zip(*jobs, strict=True)]


def two_networks(programs):
    """64, 4 and 1 MiB between two hosts that have a network of 1 Gbit/s and one of 300 Mbit/s, by
    the faster one alone and by both. Halves that are equal are limited by the slower one, as two
    such networks are.
    """
    sizes = ["--sizes", "1M,4M,64M", "--repetitions", "10"]
    ours = [programs.ours, *sizes]
    both = {"FASTGPU_COMM_INTERFACE": "eth0,eth1"}
    with shaped.link(1000, 300) as uneven, shaped.link(300, 300) as equal:
        return in_turns(
            {
                "fastgpu, both": lambda: uneven.run(ours, 1, both),
                "fastgpu, first": lambda: uneven.run(ours, 1, {"FASTGPU_COMM_INTERFACE": "eth0"}),
                "fastgpu, equal halves": lambda: equal.run(ours, 1, both),
                "Open MPI, both": lambda: uneven.run_mpi(
                    [programs.mpi, *sizes], 1, YIELD, interfaces="eth0,eth1"
                ),
            }
        )


# ---- parts ----


def hosts(programs):
    with shaped.link(1000) as link:
        found = {"hosts": two_hosts(programs, link), "2x2": two_by_two(programs, link)}
        found["capped"], found["tuned"] = capped(programs, link)
        found["uneven"] = uneven(programs, link)
    return found


def checks(programs):
    return {
        "one": one_tensor(programs),
        "nan": nan_check(programs),
        "negotiation": negotiation(programs),
        "wire": wire(programs),
    }


def models(programs, ranks):
    return {
        f"resnet50 {ranks}": gradients_here(programs, ranks, "resnet50", 20),
        f"bert-large {ranks}": gradients_here(programs, ranks, "bert-large", 3),
    }


def one_part(key, function, *arguments):
    return lambda programs: {key: function(programs, *arguments)}


PARTS = {
    "checks": checks,
    "hosts": hosts,
    "networks": one_part("networks", two_networks),
    "fabric": lambda programs: comm_fabric.measured(programs, in_turns),
    **{
        f"loss-{control}": functools.partial(
            comm_loss.measured, in_turns=in_turns, mca=YIELD, control=control
        )
        for control in comm_loss.CONTROLS
    },
    **{
        f"{name}-{ranks}": part
        for ranks in (2, 4)
        for name, part in {
            "warm": one_part(f"warm {ranks}", collectives_here, ranks, "warm"),
            "cold": one_part(f"cold {ranks}", collectives_here, ranks, "cold"),
            "tcp": one_part(
                f"tcp {ranks}", collectives_here, ranks, "warm", TCP_OF_MPI, TCP_OF_OURS
            ),
            "all-reduce": one_part(f"all_reduce {ranks}", all_reduce_here, ranks),
            "gradients": functools.partial(models, ranks=ranks),
            "steps": one_part(f"steps {ranks}", steps_here, ranks),
        }.items()
    },
}


def is_rounds(value):
    """Whether that is what in_turns gives for one name: it has keys that JSON has not."""
    return isinstance(value, list) and all(
        isinstance(one, dict) and all(isinstance(key, tuple) for key in one) for one in value
    )


def as_json(value):
    if is_rounds(value):
        return {"rounds": [list(one.values()) for one in value]}
    if isinstance(value, dict):
        return {str(key): as_json(one) for key, one in value.items()}
    return value


def from_json(value):
    if isinstance(value, dict) and list(value) == ["rounds"]:
        return [{(r["bytes"], r["collective"]): r for r in one} for one in value["rounds"]]
    if isinstance(value, dict):
        return {key: from_json(one) for key, one in value.items()}
    return value


def json_text(values):
    """A JSON object with a line for each member, so that a file of figures has few lines."""
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def measure_part(build, kept, part, on):
    """Measures a part and keeps its figures in the folder `kept`."""
    kept.mkdir(exist_ok=True)
    print(f"==> comm:{part}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fastgpu-bench-") as folder:
        found = PARTS[part](Programs(build, folder))
    (kept / f"{part}.json").write_text(
        json_text({**on, "rounds": ROUNDS, "found": as_json(found)}) + "\n"
    )


def kept_parts(kept):
    """{part: what measure_part has kept in the folder}."""
    return {
        part: json.loads((kept / f"{part}.json").read_text())
        for part in PARTS
        if (kept / f"{part}.json").exists()
    }


def write(build, folder, described, today, machine, part=None):
    """docs/benchmarks/comm.md, comm.json and its plots, of the figures of all parts; measures
    `part`, or all of them.
    """
    on = {"date": today, "described": described, "machine": machine}
    for one in [part] if part else PARTS:
        measure_part(build, folder / "comm", one, on)
    parts = kept_parts(folder / "comm")
    missing = [one for one in PARTS if one not in parts and not one.startswith("loss-")]
    if missing:
        return f"The page needs figures of {' '.join('comm:' + one for one in missing)}."
    found = {}
    for one in parts.values():
        found.update(from_json(one["found"]))
    text, data = comm_page.page(found, folder, min(one["rounds"] for one in parts.values()))
    places = sorted({f"{one['date']}: {one['described']}" for one in parts.values()})
    measured = f"{text}\nMeasured on {'; on '.join(places)}.\n"
    last = max(one["date"] for one in parts.values())
    write_page(folder, measured, "comm", last, machine, data)
    return text
