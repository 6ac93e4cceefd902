"""The programs that the benchmarks of communication measure, and how all of them take turns."""

import os
import pathlib
import subprocess
import sys

import shaped

ROUNDS = int(os.environ.get("FASTGPU_BENCH_ROUNDS", "5"))
PACKAGE = pathlib.Path(__file__).parents[3] / "comm" / "bindings" / "python"
PEERS = pathlib.Path(__file__).parents[1] / "peers"
YIELD = [("mpi_yield_when_idle", "1")]


def with_the_cores():
    """Returns words before a command that keep other programs off its cores, where that is
    permitted: a rank that loses its core for an instant makes all others wait.
    """
    words = ["chrt", "--fifo", "50"]
    try:
        permitted = subprocess.run([*words, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return []
    return words if permitted.returncode == 0 else []


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

    def here(self, ranks, argv, mca=(), environment=(), before=()):
        """Under mpirun on this host, behind the words `before`."""
        words = [
            *before,
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
