"""The same packages on 1, 2, 4 and 8 nodes, beside `uv pip install` on every node."""

import json
import os
import pathlib
import subprocess
import time

import cluster_fixture
import host_memory
import measure
from package_mirror import PackageMirror

TITLE = "env create on 8 nodes"
REPETITIONS, NODES, UPLINK = 3, (1, 2, 4, 8), 300
PACKAGES = ("numpy", "jax")
TOOLS = pathlib.Path(os.environ.get("FASTGPU_BUILD_DIR", "build")).resolve() / "tools"
COLD, WARM, MORE, NOTHING = 3, 1, 0.15, 1.0  # The bars.
TAKEN_BACK = 10  # Seconds after which a virtual machine's host has taken back what was left free.
UV, ENVIRONMENT = "/root/uv", "/root/wanted"


def own_address(node):
    route = measure.output(["ip", "-j", "route", "get", node["address"]])
    return json.loads(route)[0]["prefsrc"]


def wheels():
    found = sorted((TOOLS / "jax/site").glob("*.whl"))
    if not found or not (TOOLS / "uv/site/bin/uv").exists():
        raise SystemExit(f"bench environments: no wheels in {TOOLS}: PyPI could not be reached")
    return found


class Commands:
    """What is measured, by name, and what comes before each."""

    def __init__(self, fastgpu, made, index, nodes):
        self.fastgpu, self.made, self.last = fastgpu, made, nodes[-1]
        self.index = index
        self.create = {count: self.create_with({}, count) for count in nodes}
        self.install = (
            f"{UV} venv -q --python /usr/bin/python3 {ENVIRONMENT} && "
            f"{UV} pip install -q --python {ENVIRONMENT} --default-index {index} "
            f"{' '.join(PACKAGES)}"
        )

    def create_with(self, variables, count, bytecode="compiled"):
        recipe = self.made.folder / f"env-{len(variables)}-{bytecode}.yaml"
        recipe.write_text(
            json.dumps(
                {
                    "name": "train",
                    "python": "/usr/bin/python3",
                    "index": self.index,
                    "mpi": "system",
                    "packages": PACKAGES,
                    "variables": variables,
                    "bytecode": bytecode,
                }
            )
        )
        return [
            self.fastgpu,
            "env",
            "create",
            "-c",
            f"{self.made.name}/0-{count - 1}",
            "-f",
            str(recipe),
            "--uv",
            str(TOOLS / "uv/site/bin/uv"),
        ]

    def all(self):
        """Those that need what another has left come after it: "again", "warm" and those that end
        with "earlier".
        """
        by_uv = self.everywhere(self.install)
        return {
            **{str(count): argv for count, argv in self.create.items()},
            "again": self.create[self.last],
            "earlier": self.create_with({"OMP_NUM_THREADS": "1"}, self.last),
            "plain": self.create_with({}, self.last, "none"),
            "plain earlier": self.create_with({"OMP_NUM_THREADS": "1"}, self.last, "none"),
            "cold": by_uv,
            "warm": by_uv,
        }

    def compiled(self):
        by_uv = self.everywhere(self.install + " --compile-bytecode")
        return {"compiled": by_uv, "warm compiled": by_uv}

    def in_new_memory(self):
        return {"new": self.create[self.last], "new cold": self.everywhere(self.install)}

    def everywhere(self, line):
        return [
            "clush",
            "-S",
            "-o",
            f"-F {self.made.config}",
            "-w",
            ",".join(self.made.names),
            line,
        ]

    def prepare(self, name):
        if name in ("cold", "new cold", "compiled"):
            self.on_nodes(f"rm -rf {ENVIRONMENT} ~/.cache/uv")
        elif name.startswith("warm"):
            self.on_nodes(f"rm -rf {ENVIRONMENT}")
        elif name != "again" and not name.endswith("earlier"):
            self.on_nodes(f"rm -rf {ENVIRONMENT}")
            subprocess.run(
                [self.fastgpu, "env", "remove", "--yes", "--all", "-c", self.made.name],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )

    def on_nodes(self, line):
        measure.run([self.fastgpu, "exec", self.made.name, "--", "sh", "-c", line])


def alike(wall, uv, uv_compiled, plain, compiled):
    """How often ours goes into theirs: the least where both do the same, and all of it in words."""
    ratios = {
        "neither compiles": wall[uv] / wall[plain],
        "both compile": wall[uv_compiled] / wall[compiled],
    }
    words = ", ".join(f"{where}: {ratio:.2f}" for where, ratio in ratios.items())
    return min(ratios.values()), f"{words}, only fastgpu compiles: {wall[uv] / wall[compiled]:.2f}"


def page(runs, nodes, repetitions):
    wall = {name: measure.median(some, "wall") for name, some in runs.items()}
    first, last = wall[str(nodes[0])], nodes[-1]
    rows = []

    def add(name, what, count):
        own, machine = (measure.median(runs[name], kind) for kind in ("own_cpu", "machine_cpu"))
        rows.append(
            [
                what,
                count,
                f"{wall[name]:.2f}",
                f"{wall[name] / wall[str(last)]:.2f}",
                f"{own:.2f}",
                f"{machine / count:.2f}",
            ]
        )

    for count in nodes:
        add(str(count), "fastgpu env create", count)
    add("again", "the same again, nothing to do", last)
    add("earlier", "another build, of the same packages", last)
    add("plain", "fastgpu env create, `bytecode: none`", last)
    add("plain earlier", "another build, of the same packages, `bytecode: none`", last)
    add("cold", "uv pip install by clush, cold caches", last)
    add("warm", "uv pip install by clush, warm caches", last)
    add("compiled", "uv pip install --compile-bytecode, cold caches", last)
    add("warm compiled", "uv pip install --compile-bytecode, warm caches", last)
    add("new", "fastgpu env create, in memory that the host has yet to give", last)
    add("new cold", "uv pip install by clush, cold caches, in such memory", last)
    more = (wall[str(last)] - first) / (last - nodes[0]) / first
    cold = alike(wall, "cold", "compiled", "plain", str(last))
    warm = alike(wall, "warm", "warm compiled", "plain earlier", "earlier")
    verdicts = {
        f"at least {COLD} times faster than uv with cold caches ({cold[1]})": cold[0] >= COLD,
        f"another build not slower than uv with warm caches ({warm[1]})": warm[0] >= WARM,
        f"each further node at most {MORE:.0%} of the first ({more:.0%})": more <= MORE,
        f"nothing to do in less than {NOTHING:.0f} s ({wall['again']:.2f} s)": wall["again"]
        < NOTHING,
    }
    said = "; ".join(f"{what}: {'yes' if good else '**no**'}" for what, good in verdicts.items())
    return (
        [
            "command",
            "nodes",
            "seconds",
            "times ours on all",
            "client CPU s",
            "machine CPU s a node",
        ],
        rows,
        (
            f"{' and '.join(PACKAGES)} from PyPI, "
            f"{sum(file.stat().st_size for file in wheels()) / 1e6:.0f} MB of wheels, from an "
            "index on "
            f"this machine with {UPLINK} Mbit/s for all nodes together, like one connection to "
            "PyPI. The local nodes share these cores. "
            "Their files are in memory, and their account has no startup files. Medians of "
            f"{repetitions} runs, taken in turns (the last "
            "four rows: one run). fastgpu locks every artefact by its SHA-256, compiles modules "
            "to bytecode unless a row says otherwise, "
            "and compares every file on every node with a manifest. It has no package cache: if "
            "an earlier build has the packages, it "
            "links their files, and first reads those files that any process may have changed "
            "since the last check. uv hard-links files "
            "from its cache if the cache is warm, and compiles only in the rows with "
            "--compile-bytecode, which do most of what fastgpu "
            "does. The host of a virtual machine takes free memory back, and each GiB that it "
            "must give again costs seconds of CPU time. "
            "Therefore the memory was filled with data from a file before each command, as on a "
            "machine that has been in use for some "
            f"time, except for the last two rows. The targets: {said}."
        ),
    )


def bench(fastgpu, nodes=NODES, repetitions=REPETITIONS):
    with cluster_fixture.cluster(fastgpu, nodes[-1], in_memory=True) as made:
        index = PackageMirror(own_address(made.nodes[0]), wheels(), UPLINK)
        try:
            measure.run([fastgpu, "cp", str(TOOLS / "uv/site/bin/uv"), f"{made.name}:{UV}"])
            commands = Commands(fastgpu, made, index.url, nodes)
            commands.on_nodes(
                "rm -f ~/.bashrc ~/.bash_profile ~/.profile"
            )  # The nodes' own: every login would wait for them.
            with host_memory.filled(TOOLS) as memory:

                def prepare(name):
                    commands.prepare(name)
                    memory.fill()

                runs = measure.repeat(commands.all(), repetitions, prepare)
                runs |= measure.repeat(commands.compiled(), 1, prepare)

            def prepare_in_new_memory(name):
                commands.prepare(name)
                time.sleep(TAKEN_BACK)

            runs |= measure.repeat(commands.in_new_memory(), 1, prepare_in_new_memory)
        finally:
            index.close()
    return page(runs, nodes, repetitions)
