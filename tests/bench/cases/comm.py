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
import sys
import tempfile

import shaped
from cases import comm_fabric, comm_here, comm_hosts, comm_loss, comm_page
from cases.comm_programs import ROUNDS, YIELD, Programs, in_turns
from pages import write_page


def hosts(programs):
    with shaped.link(1000) as link:
        found = {
            "hosts": comm_hosts.two_hosts(programs, link),
            "2x2": comm_hosts.two_by_two(programs, link),
        }
        found["capped"], found["tuned"] = comm_hosts.capped(programs, link)
        found["uneven"] = comm_hosts.uneven(programs, link)
    return found


def checks(programs):
    return {
        "one": comm_here.one_tensor(programs),
        "nan": comm_here.nan_check(programs),
        "negotiation": comm_here.negotiation(programs),
        "wire": comm_here.wire(programs),
    }


def models(programs, ranks):
    return {
        f"resnet50 {ranks}": comm_here.gradients_here(programs, ranks, "resnet50", 20),
        f"bert-large {ranks}": comm_here.gradients_here(programs, ranks, "bert-large", 3),
    }


def one_part(key, function, *arguments):
    return lambda programs: {key: function(programs, *arguments)}


PARTS = {
    "checks": checks,
    "hosts": hosts,
    "networks": one_part("networks", comm_hosts.two_networks),
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
            "warm": one_part(f"warm {ranks}", comm_here.collectives_here, ranks, "warm"),
            "cold": one_part(f"cold {ranks}", comm_here.collectives_here, ranks, "cold"),
            "tcp": one_part(
                f"tcp {ranks}",
                comm_here.collectives_here,
                ranks,
                "warm",
                comm_here.TCP_OF_MPI,
                comm_here.TCP_OF_OURS,
            ),
            "all-reduce": one_part(f"all_reduce {ranks}", comm_here.all_reduce_here, ranks),
            "gradients": functools.partial(models, ranks=ranks),
            "steps": one_part(f"steps {ranks}", comm_here.steps_here, ranks),
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
