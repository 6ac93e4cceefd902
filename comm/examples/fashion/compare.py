"""Trains on Fashion-MNIST with several types of gradients on the wire, and draws the loss over
seconds and over bytes: compare.py BUILD_DIR [--link-rate 100mbit | --mpirun] [--epochs N]
[--wires fp32 fp16 1bit topk:0.01] [--output FILE.svg]

By default two ranks run on a local cluster of two nodes, whose link has the rate given, with
float32 and with float16; with --mpirun they run on this machine without a cluster. The reports are
beside the drawing, as FILE-fp32.json and FILE-fp16.json.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

from plot import drawing

HERE = pathlib.Path(__file__).resolve().parent
CLUSTER = "fastgpu-fashion"


def wire_of(name):
    """Returns the value of FASTGPU_COMM_WIRE."""
    return "same" if name == "fp32" else name


def word_of(name):
    """Returns the name as a part of names of files and jobs: topk-0-01."""
    return "".join(each if each.isalnum() else "-" for each in name)


def say(text):
    print("==> " + text, flush=True)


class Mpirun:
    """Ranks on this very machine."""

    def __init__(self, build, _):
        self.program = build / "comm/examples/fashion/fastgpu-fashion"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def train(self, name, arguments, report):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        environment = os.environ | {
            "FASTGPU_COMM_WIRE": wire_of(name),
            "FASTGPU_COMM_MASTER_ADDR": "127.0.0.1",
            "FASTGPU_COMM_MASTER_PORT": str(port),
        }
        subprocess.run(
            [
                "mpirun",
                "--allow-run-as-root",
                "--oversubscribe",
                "-np",
                "2",
                self.program,
                *arguments,
                "--report",
                report,
            ],
            env=environment,
            check=True,
        )


class LocalCluster:
    """Ranks on two nodes made of this machine, gone with the object."""

    def __init__(self, build, rate):
        self.build, self.rate = build, rate
        self.fastgpu = build / "cli/fastgpu"

    def __enter__(self):
        self.work = pathlib.Path(tempfile.mkdtemp())
        for file in "comm/examples/fashion/fastgpu-fashion", "comm/libfastgpu_comm.so.0":
            shutil.copy(self.build / file, self.work)
        say(
            "making a cluster of 2 nodes on this machine"
            + (f", link rate {self.rate}" if self.rate else "")
        )
        try:
            self.run(
                "create",
                "cluster",
                CLUSTER,
                "--nodes",
                "2",
                *(["--link-rate", self.rate] if self.rate else []),
            )
        except BaseException:
            shutil.rmtree(self.work)
            raise
        return self

    def __exit__(self, *_):
        say("deleting the cluster")
        shutil.rmtree(self.work)
        self.run("delete", "cluster", CLUSTER, "--yes")
        return False

    def run(self, *words):
        subprocess.run([self.fastgpu, *words], check=True)

    def train(self, name, arguments, report):
        self.run(
            "run",
            "job",
            "train-" + word_of(name),
            "--cluster",
            CLUSTER,
            "-np",
            "2",
            "--sync",
            self.work,
            "-e",
            "LD_LIBRARY_PATH=.",
            "-e",
            "FASTGPU_COMM_WIRE=" + wire_of(name),
            "--",
            "./fastgpu-fashion",
            *arguments,
            "--report",
            f"/root/{word_of(name)}.json",
        )
        self.run("cp", f"{CLUSTER}/0:/root/{word_of(name)}.json", report)


def name_wire(report, name):
    """Puts the name of a codec into a report, in place of the type of numbers that it encodes."""
    content = json.loads(report.read_text(encoding="utf-8"))
    report.write_text(json.dumps(content | {"wire": name}) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument(
        "--link-rate", default="100mbit", help="of the cluster's nodes; '' for no limit"
    )
    parser.add_argument(
        "--mpirun", action="store_true", help="two ranks on this machine instead of a cluster"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--wires", nargs="+", default=["fp32", "fp16"], help="such as 1bit")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("fashion.svg"))
    options = parser.parse_args()
    reports = {
        name: options.output.with_name(f"{options.output.stem}-{word_of(name)}.json")
        for name in options.wires
    }
    where = (Mpirun if options.mpirun else LocalCluster)(options.build.resolve(), options.link_rate)
    try:
        with where:
            for name, report in reports.items():
                say(f"training with {name} gradients on the wire")
                where.train(name, ["--epochs", str(options.epochs)], report.absolute())
                name_wire(report, name)
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"compare.py: {error}")
    options.output.write_text(drawing(list(reports.values())), encoding="utf-8")
    say(f"drawn in {options.output}")


main()
