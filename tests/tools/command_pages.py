"""Writes docs/commands/: each command's help, and an example that is run now: command_pages.py FASTGPU

Needs root (it makes a local cluster of two nodes) and leaves nothing behind.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

# In the order in which they are run. The text is what a reader should know beyond the help.
PAGES = [
    ("version", "", ["fastgpu version"]),
    ("doctor", "Exit code 1 when something is missing that local clusters need; each finding names its remedy.",
     ["fastgpu doctor"]),
    ("init", "Never overwrites a file.", ["fastgpu init cluster", "cat cluster.yaml"]),
    ("create cluster", "Asking again for a cluster that exists in the same size changes nothing; in another size it is a "
     "conflict (exit code 6). Ctrl-C removes what was made.",
     ["fastgpu create cluster demo --nodes 2 --dry-run", "fastgpu create cluster demo --nodes 2"]),
    ("get clusters", "", ["fastgpu get clusters", "fastgpu get clusters -o json"]),
    ("get nodes", "", ["fastgpu get nodes demo -o wide", "fastgpu get nodes demo -o name"]),
    ("get providers", "", ["fastgpu get providers"]),
    ("describe cluster", "", ["fastgpu describe cluster demo"]),
    ("describe node", "", ["fastgpu describe node demo-0"]),
    ("ssh", "With a terminal on both sides it is a login; without one, standard input is streamed through. Words after -- "
     "arrive as they are: there is no shell in between, so write `sh -c '...'` where you want one.",
     ["fastgpu ssh demo/0 -- hostname", "echo three words here | fastgpu ssh demo/1 -- wc -w"]),
    ("exec", "Lines appear as they come, with the host in front; -b waits and folds equal outputs. The exit code is the "
     "highest. What was started is ended when we are interrupted, time out, or are killed.",
     ["fastgpu exec demo -- hostname", "fastgpu exec demo -b -- uname -r", "fastgpu exec demo/0 -- sh -c 'exit 3'"]),
    ("cp", "One side is CLUSTER[/NODES]:PATH. As `cp -r`: into a directory that exists, under the new name otherwise. Every "
     "file is checked by SHA-256 before it becomes visible under its name.",
     ["fastgpu cp cluster.yaml demo:/tmp/", "fastgpu cp demo/0:/etc/hostname node-0", "cat node-0"]),
    ("run job", "Exits with the code of the first rank that failed by itself, 128 + signal for a signal. Ctrl-C stops all "
     "ranks everywhere. Logs are on the nodes, in ~/.fastgpu/jobs/ID.",
     ["fastgpu run job hello --cluster demo -np 2 -- sh -c 'echo hello from $OMPI_COMM_WORLD_RANK'",
      "fastgpu run job broken --cluster demo -np 2 -- sh -c 'exit $OMPI_COMM_WORLD_RANK'",
      "fastgpu run job long --cluster demo -np 2 --detach -- sleep 60"]),
    ("get jobs", "", ["fastgpu get jobs"]),
    ("describe job", "", ["fastgpu describe job broken-1"]),
    ("logs", "What the ranks wrote, from the nodes' disks. With --rank it is that rank's bytes and nothing else.",
     ["fastgpu logs hello-1", "fastgpu logs hello-1 --rank 1"]),
    ("attach job", "Ctrl-C leaves the job running.", []),
    ("cancel job", "", ["fastgpu cancel job long-1"]),
    ("wait job", "", ["fastgpu wait job broken-1"]),
    ("stop cluster", "", ["fastgpu stop cluster demo", "fastgpu get clusters"]),
    ("start cluster", "", ["fastgpu start cluster demo"]),
    ("scale cluster", "Scaling down removes the nodes with the highest numbers, with what is on them.",
     ["fastgpu scale cluster demo --nodes 3"]),
    ("rename cluster", "Nodes keep their names.", ["fastgpu rename cluster demo prod"]),
    ("gc", "Settles what killed runs left in the journal, and removes what no cluster owns.", ["fastgpu gc --dry-run"]),
    ("completion", "For bash: `source <(fastgpu completion bash)`.", ["fastgpu completion bash | head -5"]),
    ("delete cluster", "", ["fastgpu delete cluster prod --yes"]),
]


def transcript(command, folder, environment):
    """A terminal session of one command line, as a person sees it."""
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = f"$ {command}\n{done.stdout.rstrip()}".rstrip()
    return lines + (f"\n$ echo $?\n{done.returncode}" if done.returncode else "")


def program_of(environment):
    return environment["PATH"].split(":")[0] + "/fastgpu"


def page(name, text, examples, folder, environment):
    told = subprocess.run([program_of(environment), *name.split(), "--help"], env=environment, capture_output=True, text=True, check=True)
    parts = [f"# fastgpu {name}\n", f"```\n{told.stdout.rstrip()}\n```\n"]
    parts += [text + "\n"] if text else []
    if examples:
        shown = "\n".join(transcript(command, folder, environment) for command in examples)
        parts.append(f"```console\n{shown}\n```\n")
    return "\n".join(parts)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    pages = pathlib.Path("docs/commands")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "NO_COLOR": "1",
                       "FASTGPU_STATE_DIR": folder + "/state"}
        work = pathlib.Path(folder, "work")
        work.mkdir()
        index = []
        for name, text, examples in PAGES:
            file = name.replace(" ", "-") + ".md"
            (pages / file).write_text(page(name, text, examples, work, environment).replace(folder + "/state", "STATE"))
            index.append(f"- [fastgpu {name}]({file})")
    head = ("# Commands\n\nEach page has the command's help and examples that were really run "
            "(`tests/tools/command_pages.py` runs them and writes the pages).\n\n")
    (pages / "README.md").write_text(head + "\n".join(sorted(index)) + "\n")


main()
