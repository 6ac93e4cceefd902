"""Clusters in clouds, on the stand-in: wall time beside what its clocks and limits leave, calls
beside the fewest, memory, and boto3.
"""

import contextlib
import fnmatch
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from pages import kind_of, table, write_page

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import User
from cloud_sim import CLOUDS, SCENARIO, CloudSim, Customer

TITLE = "Clusters in clouds"
SIZES = (1, 10, 100, 1000)
BOOT, END, LATENCY = 2.0, 1.0, 0.05  # Seconds: a boot, an end, a call.
LOOK = 0.1  # Seconds between two looks at the nodes.
MARGIN, MOST_CALLS, MOST_MEMORY, PLAN_MARGIN = 1.1, 2.0, 64 << 20, 1.2
LAUNCH = {
    "aws": ("RunInstances", 1000),
    "alibaba": ("RunInstances", 100),
    "tencent": ("RunInstances", 100),
    "huawei": ("CreateServers", 100),
}
LOOKS = ("Describe*", "List*", "Show*", "Get*", "Inquiry*", "Keystone*", "NovaShow*", "NovaList*")
PAGE = {"aws": 1000, "alibaba": 100, "tencent": 100, "huawei": 1000}
QUESTIONS = 5  # That nobody can do without: type, stock, price, quota, image.
PLAN_GPU = "A100:8"
ROUNDS = 3
FLOOR = 20 << 20  # Bytes: a process begins as a copy of its parent.
PREPARING = 0.2  # Seconds until a new network of the stand-in can be used.
# Calls of which each needs the answer of the one before, for one machine and no network yet.
CALL_CHAINS = {
    ("aws", "create"): (
        "types, stock and prices",
        "VPC",
        "subnet and group",
        "launch",
        BOOT,
        "list",
    ),
    ("huawei", "create"): (
        "project",
        "types and stock",
        "prices",
        "VPC",
        PREPARING,
        "is it ready",
        "subnet",
        PREPARING,
        "is it ready",
        "launch",
        BOOT,
        "job",
        "list",
    ),
    ("aws", "delete"): (
        "list",
        "terminate",
        END,
        "list",
        "parts",
        "detach the gateway",
        "delete it",
        "delete the VPC",
    ),
    ("alibaba", "delete"): (
        "list",
        "terminate",
        END,
        "list",
        "parts",
        "delete the vSwitch",
        "delete the VPC",
    ),
    ("tencent", "delete"): (
        "list",
        "terminate",
        END,
        "list",
        "parts",
        "delete the subnet",
        "delete the VPC",
    ),
    ("huawei", "delete"): (
        "project",
        "list",
        "terminate",
        END,
        "list",
        "parts",
        "delete the subnet",
        "delete the VPC",
    ),
}


@contextlib.contextmanager
def stand_in(program):
    """With machines for everybody."""
    with CloudSim(
        program, f"delay:{BOOT:g}s", "--latency", f"{LATENCY * 1e3:g}ms", facts=False
    ) as sim:
        for vendor, about in json.loads(SCENARIO.read_text())["vendors"].items():
            sim.control("stock", {"vendor": vendor, "stock": 5000, "spot_stock": 5000})
            for quota in about["quotas"]:
                sim.control(
                    "quota", {"vendor": vendor, "group": quota["group"], "limit": 1_000_000}
                )
        yield sim


def all_have_addresses(customer):
    return all(node["address"] for node in customer.nodes("t"))


def measured(customer, *words, until=lambda: True):
    """(seconds until that is true, peak bytes, the command's own calls)."""
    customer.sim.control("reset_calls", {})
    environment = customer.user.environment(customer.environment())
    began = time.monotonic()
    process = subprocess.Popen(
        [customer.user.fastgpu, *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(
            f"{words}: exit code {process.returncode}\n{said.decode(errors='replace')}"
        )
    calls = customer.sim.control("calls")["calls"]
    while not until():
        time.sleep(LOOK)
    return time.monotonic() - began, usage.ru_maxrss * 1024, calls


def is_look(action):
    return any(fnmatch.fnmatch(action, pattern) for pattern in LOOKS)


def throttled_seconds(cloud, action, calls):
    """Returns the seconds for which the cloud's rate limit delays this many calls of an action."""
    rates = json.loads(SCENARIO.read_text())["vendors"][cloud]["rates"]
    found = rates.get(action) or next(
        (rate for pattern, rate in rates.items() if fnmatch.fnmatch(action, pattern)), [math.inf, 1]
    )
    burst, per_second = found
    return max(0.0, calls - burst) / per_second


def min_calls(calls, questions):
    """Returns the smallest number of calls: those that change something, and the questions."""
    return sum(not is_look(call["action"]) and call["status"] < 400 for call in calls) + questions


def pages_of(cloud, nodes):
    """Of a list of the machines. Huawei's does not say where it ends: another question follows a
    full page.
    """
    return nodes // PAGE[cloud] + 1 if cloud == "huawei" else math.ceil(nodes / PAGE[cloud])


def measure_life_cycle(program, cloud, nodes):
    """Returns the rows of creating and deleting this many machines."""
    with (
        tempfile.TemporaryDirectory(prefix="fastgpu-bench-clouds-") as folder,
        stand_in(program["cloudsim"]) as sim,
    ):
        customer = Customer(User(program["fastgpu"], folder), sim, cloud)
        action, most = LAUNCH[cloud]
        rows = []
        pages = pages_of(cloud, nodes)  # That they are gone is one empty page.
        for what, words, waits, questions, throttled in (
            (
                "create",
                (*customer.creation("t", nodes=nodes), "--detach"),
                BOOT,
                QUESTIONS + pages,
                throttled_seconds(cloud, action, math.ceil(nodes / most)),
            ),
            ("delete", ("delete", "cluster", "t", "--yes"), BOOT, pages + 1, 0.0),
        ):
            seconds, memory, calls = measured(
                customer,
                *words,
                until=(lambda: True)
                if what == "delete"
                else (lambda: all_have_addresses(customer)),
            )
            time.sleep(BOOT + 1)  # A machine that boots cannot be ended in every cloud.
            rows.append(
                {
                    "cloud": cloud,
                    "what": what,
                    "nodes": nodes,
                    "seconds": seconds,
                    "bound": waits * MARGIN + throttled,
                    "calls": len(calls),
                    "fewest": min_calls(calls, questions),
                    "memory": memory,
                    "refused": sum(
                        c["status"] == 429 or "hrottl" in c["code"] or "LimitExceeded" in c["code"]
                        for c in calls
                    ),
                }
            )
        return rows


def boto3(program, sim, *words):
    environment = {
        **os.environ,
        **sim.environment("aws"),
        "PYTHONPATH": program["kits"],
        "AWS_EC2_METADATA_DISABLED": "true",
        "no_proxy": "127.0.0.1",
    }
    done = subprocess.run(
        [
            sys.executable,
            pathlib.Path(__file__).parents[1] / "peers/cloud_boto3.py",
            sim.url,
            *words,
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"boto3: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def boto3_lives(program, nodes):
    with stand_in(program["cloudsim"]) as sim:
        return boto3(program, sim, "instances", str(nodes), "us-east-1a", "g4dn.xlarge")


class CustomerOfAll(Customer):
    """Who has credentials for every cloud."""

    def environment(self, **more):
        found = super().environment(**more)
        for cloud in CLOUDS:
            found.update(self.sim.environment(cloud))
        return found


def regions_of(cloud):
    return list(json.loads(SCENARIO.read_text())["vendors"][cloud]["regions"])


def plans(program):
    """Medians of: all clouds and regions at once; the slowest answer of one alone; boto3 in AWS's
    regions.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fastgpu-bench-clouds-") as folder,
        stand_in(program["cloudsim"]) as sim,
    ):
        customer = CustomerOfAll(User(program["fastgpu"], folder), sim, "aws")
        asked = ("get", "prices", "--gpus", PLAN_GPU, "-o", "json")

        def once(*more):
            time.sleep(1)  # Until the rates' buckets are full again.
            return measured(customer, *asked, *more)

        alone = {
            (cloud, region): once("--cloud", cloud, "--region", region)[0]
            for cloud in CLOUDS
            for region in regions_of(cloud)
        }
        whole = [once("--cloud", "any") for _ in range(ROUNDS)]
        types = ["p4d.24xlarge", "p4de.24xlarge"]
        peer = boto3(program, sim, "plan", *types, "--", *regions_of("aws"))["plan"]
        aws = statistics.median(once("--cloud", "aws")[0] for _ in range(ROUNDS))
        slowest = max(alone, key=alone.get)
        return {
            "whole": statistics.median(w[0] for w in whole),
            "slowest": alone[slowest],
            "slowest_of": " ".join(slowest),
            "places": len(alone),
            "calls": len(whole[0][2]),
            "memory": max(w[1] for w in whole),
            "aws": aws,
            "boto3": peer,
        }


def verdict(good):
    return "yes" if good else "**no**"


def least(steps):
    """Seconds: a call each, and what the stand-in takes in between."""
    return sum(step if isinstance(step, float) else LATENCY for step in steps)


def in_turn(lived):
    """Rows of what one machine takes beside the least that anybody could need for it."""
    took = {(r["cloud"], r["what"]): r["seconds"] for r in lived if r["nodes"] == 1}
    return [
        [
            cloud,
            what,
            ", ".join(f"*{step:g} s*" if isinstance(step, float) else step for step in steps),
            f"{least(steps):.2f}",
            f"{took[cloud, what]:.2f}",
            f"{took[cloud, what] / least(steps):.2f}",
        ]
        for (cloud, what), steps in CALL_CHAINS.items()
    ]


def page(lived, peers, plan):
    rows = [
        [
            r["cloud"],
            r["what"],
            r["nodes"],
            f"{r['seconds']:.2f}",
            f"{r['bound']:.2f}",
            verdict(r["seconds"] <= r["bound"]),
            r["calls"],
            r["fewest"],
            verdict(r["calls"] <= MOST_CALLS * r["fewest"]),
            r["refused"],
            f"{r['memory'] / 2**20:.0f}",
            verdict(r["memory"] < MOST_MEMORY),
        ]
        for r in lived
    ]
    ours = {(r["what"], r["nodes"]): r["seconds"] for r in lived if r["cloud"] == "aws"}
    beside = [
        [
            what,
            nodes,
            f"{ours[what, nodes]:.2f}",
            f"{seconds[what]:.2f}",
            f"{seconds[what] / ours[what, nodes]:.1f}",
        ]
        for nodes, seconds in peers.items()
        for what in ("create", "delete")
    ]
    ratio = plan["whole"] / plan["slowest"]
    return "\n".join(
        [
            f"# {TITLE}\n",
            f"Measured on the simulator of the clouds (`tests/cloudsim`): a boot takes {BOOT:g} "
            f"s, the end of a machine {END:g} s and a call "
            f"{LATENCY * 1e3:g} ms, and each cloud limits the rate of calls as documented. "
            "Nothing was measured in a real cloud.\n",
            "## Create and delete\n",
            "The bound is the time of the boot plus 10 %, plus the seconds for which the cloud's "
            "rate limit delays the launches. The fewest "
            f"calls of a creation are the calls that change something, {QUESTIONS} queries "
            "(type, stock, price, quota, image) and one list "
            "of the machines. For a deletion, the queries are a list of the machines with their "
            "owner, and a check that they are gone. "
            "`create` runs with `--detach`, because machines of the simulator do not answer SSH. "
            "Its time ends when `get nodes` shows an "
            "address of each machine.\n",
            table(
                [
                    "cloud",
                    "command",
                    "machines",
                    "seconds",
                    "bound",
                    "within",
                    "calls",
                    "fewest",
                    "at most 2x",
                    "throttled",
                    "MiB",
                    "< 64 MiB",
                ],
                rows,
            ),
            f"Memory is the peak. It cannot be less than the {FLOOR >> 20} MiB of the measuring "
            "program.\n",
            "## Calls that must follow each other\n",
            f"A tenth of a boot is the time of {BOOT * (MARGIN - 1) / LATENCY:.0f} calls. If no "
            "network exists yet, and addresses are "
            "assigned only during the boot, more calls must follow each other: no program could "
            "be within the bound. A list of 1,000 "
            "machines has 10 pages in Alibaba Cloud, and each page names the next one. Such a "
            "list takes half a second, and a deletion "
            "needs it three times.\n",
            table(
                ["cloud", "command", "in turn", "least s", "fastgpu s", "times the least"],
                in_turn(lived),
            ),
            "## Beside boto3\n",
            "boto3 makes the calls that AWS needs, one after another, on the same simulator, and "
            "polls twice per second. boto3 gets the "
            "zone and the type as arguments and does not search for existing parts. `fastgpu` "
            "plans first, writes a journal, and checks "
            "what exists before it creates anything.\n",
            table(["command", "machines", "fastgpu s", "boto3 s", "times ours"], beside),
            "## The plan\n",
            table(
                ["what", "seconds", "times the slowest answer"],
                [
                    [
                        f"`get prices --cloud any --gpus {PLAN_GPU}`, {plan['places']} regions "
                        f"of 4 clouds, {plan['calls']} calls",
                        f"{plan['whole']:.2f}",
                        f"{ratio:.2f}",
                    ],
                    [
                        f"the slowest region alone ({plan['slowest_of']})",
                        f"{plan['slowest']:.2f}",
                        "1.00",
                    ],
                    [
                        f"AWS's {len(regions_of('aws'))} regions alone",
                        f"{plan['aws']:.2f}",
                        f"{plan['aws'] / plan['slowest']:.2f}",
                    ],
                    [
                        "boto3, AWS's regions one after another",
                        f"{plan['boto3']:.2f}",
                        f"{plan['boto3'] / plan['slowest']:.2f}",
                    ],
                ],
            ),
            f"The target is at most {PLAN_MARGIN:g} times the slowest answer: "
            f"{verdict(ratio <= PLAN_MARGIN)}.\n",
        ]
    )


def write(build, folder, described, today, machine):
    """docs/benchmarks/clouds.md and clouds.json."""
    daily = pathlib.Path(os.environ.get("FASTGPU_BUILD_DIR", "build")).resolve()
    program = {
        "fastgpu": str(build / "cli/fastgpu"),
        "cloudsim": str(build.parent / "build-clouds/tests/cloudsim/fastgpu-cloudsim"),
        "kits": str(daily / "tools/cloud-kits/site"),
    }
    lived = [
        row
        for cloud in CLOUDS
        for nodes in SIZES
        for row in measure_life_cycle(program, cloud, nodes)
    ]
    peers = {nodes: boto3_lives(program, nodes) for nodes in SIZES}
    plan = plans(program)
    text = (
        f"{page(lived, peers, plan)}\nMeasured on {today}, {kind_of(build)} build: {described}.\n"
    )
    data = {"lives": lived, "boto3": peers, "plan": plan}
    write_page(folder, text, "clouds", today, machine, data)
    return text
