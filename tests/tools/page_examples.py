"""Runs the examples of pages: page_examples.py FASTGPU CLOUDSIM PAGE...

Runs each line "$ COMMAND" of the blocks ```console of a page, in their order, in a new folder that
holds a copy of examples/. A command must exit with 0, or with the code that "$ echo $?" shows below
it. Output is printed and not compared. Clouds are the stand-in. Needs root; deletes the clusters
that a page leaves.
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

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def commands_of(text):
    """Yields each command of a page with the exit code that the page shows for it."""
    for block in BLOCK.findall(text):
        parts = re.split(r"^\$ ", block, flags=re.M)[1:]
        for part, following in zip(parts, [*parts[1:], ""]):
            lines = part.split("\n")
            command = lines[0]
            while command.endswith("\\"):
                lines = lines[1:]
                command += "\n" + lines[0].removeprefix("> ")
            if command == "echo $?":
                continue
            shown = following.split("\n")
            yield command, int(shown[1]) if shown[0] == "echo $?" else 0


def run_page(page, folder, environment):
    """Runs the commands of a page; returns the number of those that end in another way."""
    work = pathlib.Path(folder, "work")
    shutil.copytree(SOURCE / "examples", work)
    failed = 0
    for command, code in commands_of(page.read_text()):
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=900)
        print(f"$ {command}\n{done.stdout}", end="", flush=True)
        if done.returncode != code:
            failed += 1
            print(f"FAILED: {page}: {command}: exit code {done.returncode}, not {code}", flush=True)
    return failed


def delete_clusters(environment):
    listed = subprocess.run(["fastgpu", "get", "clusters", "-o", "json"], env=environment,
                            capture_output=True, text=True, check=True)
    for cluster in json.loads(listed.stdout)["clusters"]:
        subprocess.run(["fastgpu", "delete", "cluster", cluster["name"], "--yes"], env=environment,
                       check=False)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    failed = 0
    for page in map(pathlib.Path, sys.argv[3:]):
        with tempfile.TemporaryDirectory() as folder, CloudSim(sys.argv[2], "local") as sim:
            environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}",
                           "NO_COLOR": "1", "FASTGPU_STATE_DIR": folder + "/state"}
            for cloud in CLOUDS.keys() & set(known_to_the_stand_in()):
                environment.update(sim.environment(cloud))
            try:
                failed += run_page(page, folder, environment)
            finally:
                delete_clusters(environment)
    sys.exit(1 if failed else 0)


main()
