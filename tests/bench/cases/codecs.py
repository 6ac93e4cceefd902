"""Ways of sending less: what they cost in accuracy, bytes and time.

Training is on real images, Debian's dataset-fashion-mnist, with ranks that have like shards or
shards sorted by label; steps on a shaped link between two hosts within this one have gradients of
ResNet-50's shapes. It is measured in parts, each of which ends in less than 25 minutes and keeps
its figures in docs/benchmarks/codecs. The page is made of the parts that are there, and names those
that are not.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import shaped
from cases import codecs_page
from cases.comm import as_json, from_json
from cases.comm_figures import MIB
from cases.comm_programs import PACKAGE, PEERS, YIELD, Programs, in_turns
from pages import write_page

ROUNDS = int(os.environ.get("FASTGPU_BENCH_ROUNDS", "3"))
SEEDS = {"softmax": 3, "mlp": 8}  # The steps of the mlp differ by a tenth from seed to seed.
STEPS = {
    "softmax": 400,
    "mlp": 300,
}  # Those after which float32's loss is what others have to reach.
SPARE = 1.25  # The part of these that the others make at most.
CODECS = ("int8", "1bit", "topk:0.01", "topk:0.001", "powersgd:4")
WIRES = ("same", "fp16", *CODECS)
WARM_UP_OF_PEERS = "3"  # PowerSGD's hook compresses from the third step on.


def training(programs, network, ranks, shards):
    """A list of results: each way and seed."""
    steps = int(STEPS[network] * SPARE)
    words = [PEERS / "codec_training.py", PACKAGE, programs.library, network, ranks, shards]
    results = lines_of([programs.python, *map(str, [*words, SEEDS[network], steps])])
    return {f"training {network} {ranks} {shards}": results}


def encoding(programs):
    """Seconds of each codec, and of a copy of as many bytes: a list of results."""
    program = pathlib.Path(programs.ours).parent / "bench_comm_codecs"
    found = {"encoding": lines_of([program, *CODECS])}
    if programs.has("torch"):
        found["encoding by torch"] = lines_of([programs.python, PEERS / "codec_ops_torch.py"])
    return found


def lines_of(words):
    text = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return [json.loads(line) for line in text.splitlines()]


def steps_on(link, programs, model, wires, steps):
    words = [programs.ours, "--model", model, "--steps", str(steps)]
    return in_turns(
        {wire: lambda wire=wire: link.run(words, 2, {"FASTGPU_COMM_WIRE": wire}) for wire in wires},
        ROUNDS,
    )


def peers_on(link, programs, model, steps):
    """Steps of Horovod and of PyTorch, each with the compressions that it has, in turns."""
    file = programs.model(model)
    horovod = [programs.python, str(PEERS / "gradients_horovod.py"), file, str(steps)]
    torch = [programs.python, str(PEERS / "gradients_torch.py"), file, str(steps)]
    meeting = {
        "MASTER_ADDR": link.hosts[0].address,
        "MASTER_PORT": "29431",
        "GLOO_SOCKET_IFNAME": "eth0",
        "FASTGPU_BENCH_WARM_UP": WARM_UP_OF_PEERS,
    }
    commands = {}
    if programs.has("horovod.torch"):
        for way in ("", "fp16"):
            # Variables of this host's mpirun reach the ranks by -x alone.
            words = ["env", f"FASTGPU_BENCH_WARM_UP={WARM_UP_OF_PEERS}", *horovod, way]
            name = f"Horovod{way and ', ' + way}"
            commands[name] = lambda words=words: link.run_mpi(words, 2, YIELD)
    if programs.has("torch.distributed"):
        for way in ("", "fp16", "powersgd:4"):
            name = f"PyTorch DDP{way and ', ' + way}"
            commands[name] = lambda way=way: link.run([*torch, way], 2, meeting)
    return in_turns(commands, ROUNDS)


def links(programs, mbit, steps):
    """Steps of two ranks on each of two hosts, with a link of that rate between them."""
    with shaped.link(mbit) as link:
        return {
            f"resnet50 {mbit}": steps_on(link, programs, "resnet50", WIRES, steps),
            f"peers {mbit}": peers_on(link, programs, "resnet50", steps),
        }


def one_gradient(programs):
    """The same for one gradient alone."""
    wires = [wire for wire in WIRES if not wire.startswith("powersgd")]
    with shaped.link(1000) as link:
        return {"one 1000": steps_on(link, programs, programs.one_gradient(16 * MIB), wires, 15)}


PARTS = {
    **{
        f"{network}-{ranks}-{shards}": functools.partial(
            training, network=network, ranks=ranks, shards=shards
        )
        for network in STEPS
        for ranks in (8, 4)
        for shards in ("iid", "sorted")
    },
    "encoding": encoding,
    "links-1000": functools.partial(links, mbit=1000, steps=5),
    "links-100": functools.partial(links, mbit=100, steps=1),
    "one-1000": one_gradient,
}


def measure_part(build, kept, part, on):
    """Measures a part and keeps its figures in the folder `kept`."""
    kept.mkdir(exist_ok=True)
    print(f"==> codecs:{part}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fastgpu-bench-") as folder:
        found = PARTS[part](Programs(build, folder))
    about = {**on, "rounds": ROUNDS, "seeds": SEEDS, "steps": STEPS}
    text = json.dumps({**about, "found": as_json(found)}, indent=1)
    (kept / f"{part}.json").write_text(text + "\n")


def write(build, folder, described, today, machine, part=None):
    """docs/benchmarks/codecs.md and codecs.json, of the figures of all parts that have been
    measured; measures `part`, or all of them.
    """
    on = {"date": today, "described": described, "machine": machine}
    kept = folder / "codecs"
    for one in [part] if part else PARTS:
        measure_part(build, kept, one, on)
    parts = {
        one: json.loads((kept / f"{one}.json").read_text())
        for one in PARTS
        if (kept / f"{one}.json").exists()
    }
    found = {}
    for one in parts.values():
        found.update(from_json(one["found"]))
    missing = [f"codecs:{one}" for one in PARTS if one not in parts]
    text, data = codecs_page.page(found, STEPS, missing)
    places = sorted({f"{one['date']}: {one['described']}" for one in parts.values()})
    measured = f"{text}\nMeasured on {'; on '.join(places)}.\n"
    last = max(one["date"] for one in parts.values())
    write_page(folder, measured, "codecs", last, machine, data)
    return text
