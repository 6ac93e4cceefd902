"""Machines made and ended in moto's EC2 by fastgpu and by SkyPilot's provisioner, in turns: wall
time, calls, and what stays behind.
"""

import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from pages import kind_of, table, write_page

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import User
from moto_server import KEYS, REGION, TYPE, Moto, creation

TITLE = "Beside SkyPilot, in moto's EC2"
TESTS = pathlib.Path(__file__).resolve().parents[2]
PEERS = TESTS / "bench/peers"
LISTS = {"moto": TESTS / "integration/clouds/moto.txt", "skypilot": PEERS / "skypilot.txt"}
ROUNDS = 5
SLOW = 0.05  # Seconds a call, as from far away.
SETTINGS = [
    (0.0, 1),
    (0.0, 4),
    (0.0, 16),
    (SLOW, 1),
    (SLOW, 4),
    (SLOW, 16),
    (SLOW, 100),
]  # Seconds a call, machines.
PRICE = 0.526  # Dollars an hour, which nothing here depends on.
LOOK = 0.1  # Seconds between two looks at the nodes.
ROLE = "skypilot-v1"  # What SkyPilot makes once in an account.
TOOLS, WHAT = ("fastgpu", "SkyPilot"), ("create", "delete")


def installed(name):
    """Where the packages of a list are, which are fetched where they are not; None where PyPI
    cannot be reached.
    """
    place = pathlib.Path(os.environ.get("FASTGPU_BUILD_DIR", "build")).resolve() / "tools" / name
    wanted, done = LISTS[name].read_bytes(), place / "done.txt"
    if not done.exists() or done.read_bytes() != wanted:
        shutil.rmtree(place, ignore_errors=True)
        fetched = subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--target",
                place / "site",
                "--no-deps",
                "--require-hashes",
                "--only-binary=:all:",
                "-r",
                LISTS[name],
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if fetched.returncode != 0:
            return None
        done.write_bytes(wanted)
    return place


def version(name, packages):
    return next(
        path.name.split("-")[1] for path in (packages / "site").glob(f"{name}-*.dist-info")
    )[: -len(".dist")]


def asked(packages, script, *words, environment):
    """What a script of ours says that needs packages of that folder."""
    done = subprocess.run(
        [sys.executable, PEERS / script, *map(str, words)],
        env={**os.environ, **environment, "PYTHONPATH": str(packages / "site")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{script} {words}: {done.stderr[-3000:]}")
    return done.stdout


class Account:
    """A new server, and a tool that works in it, as long as a `with` block. SkyPilot finds the role
    there that it makes in an account once, unless it is told to be the first.
    """

    def __init__(self, places, latency, fastgpu=None, first=False):
        self.places, self.latency, self.fastgpu, self.role = (
            places,
            latency,
            fastgpu,
            "" if fastgpu or first else ROLE,
        )

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="fastgpu-bench-skypilot-")
            )
            self.moto = stack.enter_context(
                Moto(self.places["moto"], latency=self.latency, price=PRICE)
            )
            self.user, self.home = (
                User(self.fastgpu, folder),
                {**self.moto.environment(folder), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
            )
            found = self.seen("prepare", self.role)
            self.image, self.before = found["image"], found["things"]
            self.held = stack.pop_all()
        return self

    def __exit__(self, *failure):
        return self.held.__exit__(*failure)

    def seen(self, *words):
        environment = {**KEYS, "AWS_ENDPOINT_URL": self.moto.address}
        return json.loads(
            asked(self.places["moto"], "moto_account.py", *words, environment=environment)
        )

    def left(self):
        """What there is that was not there in the beginning."""
        found = {
            kind: count - self.before[kind] for kind, count in self.seen("look")["things"].items()
        }
        if found["machines"]:
            raise SystemExit(f"{found['machines']} machines live on")
        return found

    def life(self, nodes):
        """Seconds and calls of both commands."""
        del self.moto.between.calls[:]
        moments, more = (
            self.life_by_fastgpu(nodes) if self.fastgpu else self.life_by_skypilot(nodes)
        )
        began, made, ended = moments
        calls = [moment for moment, _ in self.moto.between.calls]
        return {
            "create": {"seconds": made - began, "calls": sum(began <= c < made for c in calls)},
            "delete": {"seconds": ended - made, "calls": sum(made <= c <= ended for c in calls)},
            **more,
        }

    def life_by_fastgpu(self, nodes):
        began = time.monotonic()
        self.user.run(*creation(self.image, "t", nodes), environment=self.home)
        while not self.all_have_addresses(nodes):
            time.sleep(LOOK)
        made = time.monotonic()
        self.user.run("delete", "cluster", "t", "--yes", environment=self.home)
        return (began, made, time.monotonic()), {}

    def all_have_addresses(self, nodes):
        shown = json.loads(
            self.user.run("get", "nodes", "t", "-o", "json", environment=self.home).out
        )["nodes"]
        return len(shown) == nodes and all(node["address"] for node in shown)

    def life_by_skypilot(self, nodes):
        found = json.loads(
            asked(
                self.places["skypilot"],
                "cloud_skypilot.py",
                nodes,
                REGION,
                f"{REGION}a",
                TYPE,
                self.image,
                environment=self.home,
            )
        )
        return found["moments"], {"import": found["import"]}


def in_turns(places, fastgpu, nodes, latency):
    """Medians of both, by tool and command."""
    with Account(places, latency, fastgpu) as ours, Account(places, latency) as theirs:
        lives = [(ours.life(nodes), theirs.life(nodes)) for _ in range(ROUNDS)]
    return {
        "nodes": nodes,
        "latency": latency,
        "import": statistics.median(life["import"] for _, life in lives),
        **{
            tool: {
                what: {
                    kind: statistics.median(some[nth][what][kind] for some in lives)
                    for kind in ("seconds", "calls")
                }
                for what in WHAT
            }
            for nth, tool in enumerate(TOOLS)
        },
    }


def first_times(places, fastgpu):
    """One life each in an account that has not seen them, and what stays behind."""
    with Account(places, SLOW, fastgpu) as ours, Account(places, SLOW, first=True) as theirs:
        return {
            tool: {"life": account.life(1), "left": account.left()}
            for tool, account in zip(TOOLS, (ours, theirs), strict=True)
        }


def times(theirs, ours):
    return f"{theirs / ours:.1f}"


def page(measured, first, versions):
    rows = [
        [
            f"{row['latency'] * 1e3:g}",
            what,
            row["nodes"],
            *(f"{row[tool][what]['seconds']:.2f}" for tool in TOOLS),
            times(*(row[tool][what]["seconds"] for tool in reversed(TOOLS))),
            *(f"{row[tool][what]['calls']:g}" for tool in TOOLS),
        ]
        for row in measured
        for what in WHAT
    ]
    kinds = [
        kind for kind in first[TOOLS[0]]["left"] if any(first[tool]["left"][kind] for tool in TOOLS)
    ]
    beginnings = [
        [
            what,
            *(f"{first[tool]['life'][what]['seconds']:.2f}" for tool in TOOLS),
            *(first[tool]["life"][what]["calls"] for tool in TOOLS),
        ]
        for what in WHAT
    ]
    imports = statistics.median(row["import"] for row in measured)
    return "\n".join(
        [
            f"# {TITLE}\n",
            f"SkyPilot {versions['skypilot']} and `fastgpu` create machines of type {TYPE} and "
            "terminate them, in turns, in moto "
            f"{versions['moto']}, a model of EC2 that belongs to neither. Only the operations in "
            "the cloud were measured, and not in a real "
            "one: no machine there answers SSH, so that nothing was installed on one. Machines "
            "of moto run as soon as they are created, and "
            "are gone as soon as they are terminated. What remains are the calls and the pauses "
            "between them.\n",
            "`fastgpu` runs as the whole program: `create cluster --detach`, then `get nodes` "
            "until each machine has an address, then "
            "`delete cluster`. During that time it also makes its plan, asks for type, zones and "
            "quota, and creates a network for each "
            "cluster, which it deletes with the cluster. SkyPilot runs only as its provisioner, "
            "in the way in which `sky launch` and `sky "
            "down` call it: until each machine runs and has an address, and until no machine is "
            "alive. It uses the account's default "
            "network and a security group that all its clusters share. Its time does not include "
            "the following, which is in its favour: "
            f"Python's imports ({imports:.1f} s), its server, its catalogue of types and prices, "
            "which is a file from the network, and its "
            "optimizer.\n",
            "`delete cluster` waits until the machines are gone, because their network can be "
            "deleted only then. SkyPilot, by its source "
            "code, waits only until they shut down. Where that takes some time, unlike here, it "
            "ends earlier.\n",
            "Each tool, size and latency has a new server of moto; the figures are medians of "
            f"{ROUNDS} runs there. The role that "
            "SkyPilot creates once per account exists already. Both tools go through a proxy "
            "that counts calls, delays each call by the "
            "time in the first column, and answers the requests for the price list, which moto "
            "does not have.\n",
            table(
                [
                    "ms a call",
                    "command",
                    "machines",
                    *(f"{tool} s" for tool in TOOLS),
                    "times ours",
                    *(f"{tool} calls" for tool in TOOLS),
                ],
                rows,
            ),
            "SkyPilot waits for one second before it checks whether machines run, and tags the "
            "machines one after another, by one call "
            "each.\n",
            "## The first cluster in an account\n",
            f"One machine, {SLOW * 1e3:g} ms per call, one run. SkyPilot creates a role and a "
            "profile for its machines, and waits for 15 s "
            "after each of them.\n",
            table(
                ["command", *(f"{tool} s" for tool in TOOLS), *(f"{tool} calls" for tool in TOOLS)],
                beginnings,
            ),
            "## What is left behind\n",
            "The table counts machines, networks, subnets, gateways, route tables, security "
            "groups, key pairs, roles and instance profiles "
            "after the deletion of that cluster. It does not count disks and network interfaces "
            "of terminated machines: moto keeps them, "
            "but EC2 would not. SkyPilot creates its parts once per account, for all its "
            "clusters.\n",
            table(
                ["kind", *TOOLS],
                [[kind, *(first[tool]["left"][kind] for tool in TOOLS)] for kind in kinds]
                + [["all together", *(sum(first[tool]["left"].values()) for tool in TOOLS)]],
            ),
        ]
    )


def write(build, folder, described, today, machine):
    """docs/benchmarks/skypilot.md and skypilot.json."""
    places = {name: installed(name) for name in LISTS}
    if missing := [name for name, place in places.items() if place is None]:
        return f"not measured: {' and '.join(missing)} cannot be had from PyPI"
    fastgpu = str(build / "cli/fastgpu")
    versions = {name: version(name, places[name]) for name in LISTS}
    measured = [in_turns(places, fastgpu, nodes, latency) for latency, nodes in SETTINGS]
    first = first_times(places, fastgpu)
    text = (
        f"{page(measured, first, versions)}\nMeasured on {today}, {kind_of(build)} build: "
        f"{described}.\n"
    )
    data = {"versions": versions, "measured": measured, "first": first}
    write_page(folder, text, "skypilot", today, machine, data)
    return text
