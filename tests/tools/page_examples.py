"""Runs the examples of pages: page_examples.py FASTGPU CLOUDSIM [--write] PAGE...

Runs each line "$ COMMAND" of the blocks ```console of a page, in their order, in a new folder that
holds a copy of examples/. A command must exit with 0, or with the code that "$ echo $?" shows below
it. Output is printed; --write replaces the output in the page by it. Clouds are the stand-in. Needs
root, sshd and mpirun, else exits with 77; deletes the clusters that a page leaves.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/support"))

from cloud_sim import CLOUDS, CloudSim, known_to_the_stand_in  # noqa: E402
from suite import SKIPPED  # noqa: E402

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def commands_of(block):
    """Yields each command of a block as it is written, with the exit code that the block shows."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    for part, following in zip(parts, [*parts[1:], ""], strict=False):
        lines = part.split("\n")
        command = lines.pop(0)
        while command.endswith("\\"):
            command += "\n" + lines.pop(0)
        shown = following.split("\n")
        if command != "echo $?":
            yield command, int(shown[1]) if shown[0] == "echo $?" else 0


def transcript_of(command, code, folder, environment):
    """Runs a command; returns its transcript, and whether it has ended with that code."""
    work = pathlib.Path(folder, "work")
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=work,
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=900,
    )
    output = done.stdout.replace(f"{folder}/state", "~/.local/state/fastgpu").replace(
        folder, "/tmp"
    )
    text = f"$ {command}\n{output.rstrip()}".rstrip() + "\n"
    print(text, end="", flush=True)
    is_right = done.returncode == code
    if not is_right:
        print(f"FAILED: exit code {done.returncode}, not {code}", flush=True)
    return text + (f"$ echo $?\n{done.returncode}\n" if done.returncode else ""), is_right


def run_page(page, folder, environment, is_written):
    """Runs the commands of a page; returns whether all have ended as the page shows."""
    shutil.copytree(SOURCE / "examples", pathlib.Path(folder, "work"))
    are_right = []

    def run_block(block):
        text = ""
        for command, code in commands_of(block.group(1)):
            transcript, is_right = transcript_of(command, code, folder, environment)
            text += transcript
            are_right.append(is_right)
        return f"```console\n{text}```"

    written = BLOCK.sub(run_block, page.read_text())
    if is_written:
        page.write_text(written)
    return all(are_right)


def delete_clusters(environment):
    listed = subprocess.run(
        ["fastgpu", "get", "clusters", "-o", "json"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for cluster in json.loads(listed.stdout)["clusters"]:
        subprocess.run(
            ["fastgpu", "delete", "cluster", cluster["name"], "--yes"], env=environment, check=False
        )


def main():
    if os.geteuid() != 0 or not all(map(shutil.which, ("mpirun", "ip", "/usr/sbin/sshd"))):
        sys.exit(SKIPPED)
    program = pathlib.Path(sys.argv[1]).resolve()
    is_written = sys.argv[3] == "--write"
    failed = []
    for page in map(pathlib.Path, sys.argv[4 if is_written else 3 :]):
        with tempfile.TemporaryDirectory() as folder, CloudSim(sys.argv[2], "local") as sim:
            environment = {
                **os.environ,
                "PATH": f"{program.parent}:{os.environ['PATH']}",
                "NO_COLOR": "1",
                "FASTGPU_STATE_DIR": folder + "/state",
            }
            for cloud in CLOUDS.keys() & set(known_to_the_stand_in()):
                environment.update(sim.environment(cloud))
            try:
                if not run_page(page, folder, environment, is_written):
                    failed.append(page)
            finally:
                delete_clusters(environment)
    for page in failed:
        print(f"FAILED: {page}")
    sys.exit(1 if failed else 0)


main()
