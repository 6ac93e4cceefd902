"""Writes docs/reference/commands/: command_pages.py FASTGPU CLOUDSIM [PAGE...]

A page has the how-to pages that use the command, its help, and an example that is run now.

Needs root (it makes a local cluster of two nodes) and leaves nothing behind. Clouds are the
stand-in. With names of pages ("attach cluster") only those are written, and only their examples
run. `command_pages.py FASTGPU --help-only [PAGE...]` writes the links and the help anew in pages
that exist, and the list of all pages, and runs nothing else.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from cloud_sim import CLOUDS, CloudSim, known_to_the_stand_in

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"

# In the order in which they are run.
PAGES = [
    ("version", ["fastgpu version", "fastgpu version -o json"]),
    ("doctor", ["fastgpu doctor"]),
    ("init", ["fastgpu init cluster", "cat cluster.yaml"]),
    ("schema", ["fastgpu schema", "fastgpu schema job | head -12"]),
    (
        "create cluster",
        [
            "fastgpu create cluster demo --nodes 2 --dry-run",
            "fastgpu create cluster demo --nodes 2",
            "fastgpu create cluster train --gpus A100:8 --nodes 4 --cloud aws --region us-east-1 "
            "--ssh-from 203.0.113.7/32 --dry-run",
            "fastgpu create cluster small --gpus T4:1 --cloud aws --region us-east-1 --zone "
            "us-east-1a --data-disk 500:gp3 "
            "--mount 10.0.0.4:/models=/models --ssh-from 203.0.113.7/32 --dry-run",
        ],
    ),
    ("get clusters", ["fastgpu get clusters", "fastgpu get clusters -o json"]),
    ("get nodes", ["fastgpu get nodes demo -o wide", "fastgpu get nodes demo -o name"]),
    ("get providers", ["fastgpu get providers"]),
    (
        "get prices",
        [
            "fastgpu get prices --gpus A100:8 --cloud aws --region us-east-1",
            "fastgpu get prices --gpus A100:8 --cloud aws --region us-east-1 --spot --max-price "
            "8USD -o name",
        ],
    ),
    (
        "get instance-types",
        ["fastgpu get instance-types --gpus A100:8 --cloud alibaba --region cn-hangzhou"],
    ),
    ("get zones", ["fastgpu get zones --gpus V100:8 --cloud tencent --region ap-guangzhou"]),
    ("get images", ["fastgpu get images --cloud aws --region us-east-1"]),
    ("get quotas", ["fastgpu get quotas --cloud aws --region us-east-1"]),
    ("describe cluster", ["fastgpu describe cluster demo"]),
    ("describe node", ["fastgpu describe node demo-0"]),
    (
        "ssh",
        [
            "fastgpu ssh demo/0 -- hostname",
            "echo three words here | fastgpu ssh demo/1 -- wc -w",
            "fastgpu ssh demo --config > demo.ssh",
            "ssh -F demo.ssh demo hostname",
        ],
    ),
    (
        "tmux",
        [
            "fastgpu tmux demo/1 --session train --detach -- sleep 600",
            "fastgpu tmux demo --list",
            "fastgpu exec demo/1 -- tmux kill-session -t train",
            "fastgpu tmux demo --list",
        ],
    ),
    (
        "exec",
        [
            "fastgpu exec demo -- hostname",
            "fastgpu exec demo -b -- uname -r",
            "fastgpu exec demo/0 -- sh -c 'exit 3'",
            "echo three words here | fastgpu exec demo/0 -- wc -w",
        ],
    ),
    (
        "cp",
        [
            "fastgpu cp cluster.yaml demo:/tmp/ --dry-run",
            "fastgpu cp cluster.yaml demo:/tmp/",
            "fastgpu cp demo/0:/etc/hostname node-0",
            "cat node-0",
        ],
    ),
    (
        "env create",
        [
            "cat env.yaml",
            "fastgpu env create -f env.yaml --cluster demo --dry-run",
            "fastgpu env create -f env.yaml --cluster demo",
            "fastgpu env create -f env.yaml --cluster demo",
            "cat npu.yaml",
            "fastgpu env create -f npu.yaml --cluster demo --assume-gpu Ascend:8 --dry-run",
        ],
    ),
    ("env list", ["fastgpu env list", "fastgpu env list -o json"]),
    (
        "env bake",
        [
            "fastgpu create cluster baked --gpus V100:1 --cloud aws --region us-east-1 "
            "--ssh-from 127.0.0.1/32 --yes --quiet",
            "fastgpu env create -f env.yaml --cluster baked --quiet",
            "fastgpu env bake train --cluster baked --dry-run",
            "fastgpu env bake train --cluster baked --image train-1",
            "fastgpu env bake train --cluster baked",
            "fastgpu get images --mine --cloud aws --region us-east-1",
        ],
    ),
    (
        "delete image",
        [
            "fastgpu delete image train-1 --cloud aws --region us-east-1 --yes",
            "fastgpu delete cluster baked --yes",
        ],
    ),
    ("env verify", ["fastgpu env verify train --cluster demo"]),
    (
        "env activate",
        [
            "fastgpu env activate train --cluster demo -- python -c 'import sys; "
            "print(sys.prefix)'",
            "fastgpu env activate train --cluster demo",
            "fastgpu env activate train --cluster demo --off",
        ],
    ),
    (
        "env lock",
        [
            "fastgpu env lock -f env.yaml --out env.lock",
            "head -16 env.lock",
            "cat old.yaml",
            "fastgpu env lock -f old.yaml",
            "echo 'sources: [gast]' >>old.yaml",
            "fastgpu env lock -f old.yaml | sed -n '/^artefacts/,$p'",
        ],
    ),
    ("env diff", ["fastgpu env diff env.lock env.lock"]),
    ("env pack", ["fastgpu env pack train --cluster demo --out train.tar.zst"]),
    (
        "env unpack",
        [
            "fastgpu env remove train --cluster demo",
            "fastgpu env unpack train.tar.zst --cluster demo --dry-run",
            "fastgpu env unpack train.tar.zst --cluster demo",
            "fastgpu env unpack train.tar.zst --cluster demo",
        ],
    ),
    (
        "env install-frameworks",
        [
            "fastgpu env create torch -f env.yaml --from tr2.5.1_cpu_py311 --cluster demo",
            "fastgpu env install-frameworks torch --cluster demo --dry-run",
            "fastgpu env remove torch --cluster demo",
        ],
    ),
    ("env demo", []),
    ("env remove", ["fastgpu env remove train --cluster demo", "fastgpu env list"]),
    (
        "bench comm",
        [
            "fastgpu bench comm demo --sizes 8:16M:64 --quiet",
            "fastgpu bench comm demo --model resnet50 --quiet",
            "fastgpu bench comm demo --sizes 8:64K:8 --collective all_reduce,all_gather -o html "
            "--quiet > bench.html",
        ],
    ),
    (
        "run job",
        [
            "fastgpu run job hello --cluster demo -np 2 -- sh -c 'echo hello from "
            "$OMPI_COMM_WORLD_RANK'",
            "fastgpu run job broken --cluster demo -np 2 -- sh -c 'exit $OMPI_COMM_WORLD_RANK'",
            "fastgpu run job long --cluster demo -np 2 --detach -- sleep 60",
        ],
    ),
    ("get jobs", ["fastgpu get jobs"]),
    ("describe job", ["fastgpu describe job broken-1"]),
    ("logs", ["fastgpu logs hello-1", "fastgpu logs hello-1 --rank 1"]),
    ("report", ["fastgpu report broken-1"]),
    ("attach job", []),
    (
        "attach cluster",
        [
            "ssh-keygen -q -t ed25519 -N '' -f key",
            "fastgpu create cluster far --gpus V100:1 --cloud aws --region us-east-1 --ssh-key "
            "key.pub --ssh-from 127.0.0.1/32 --yes --quiet",
            "fastgpu attach cluster far --provider aws --region us-east-1 --ssh-key key "
            "--ssh-from 127.0.0.1/32 --state-dir elsewhere",
            "fastgpu exec far --state-dir elsewhere -- hostname",
            "fastgpu scale cluster far --nodes 2",
            "fastgpu delete cluster far --yes --state-dir elsewhere",
            "fastgpu delete cluster far --forget",
        ],
    ),
    ("cancel job", ["fastgpu cancel job long-1"]),
    ("wait job", ["fastgpu wait job broken-1"]),
    (
        "delete job",
        [
            "fastgpu delete job --all --dry-run",
            "fastgpu delete job hello-1 --yes",
            "fastgpu delete job --older-than 7d --yes",
        ],
    ),
    (
        "env matrix",
        [
            "fastgpu env matrix tf1.15_tr1.4.0_mx1.5.0_cu10.0_py36",
            "fastgpu env matrix tf1.12_tr1.3.0_mx1.5.0_cu9.0_py36",
            "fastgpu env matrix tr2.5.1_cu13.0_py312",
            "fastgpu env matrix tr2.8.0_py311",
            "fastgpu env matrix --cuda 12.4",
        ],
    ),
    (
        "env install-driver",
        [
            "fastgpu env install-driver --cluster demo --driver 580",
            "fastgpu env install-driver --cluster demo --driver 580 --cuda 12.8 --cudnn 9 "
            "--assume-gpu H100:8 --dry-run",
        ],
    ),
    ("stop cluster", ["fastgpu stop cluster demo", "fastgpu get clusters"]),
    ("start cluster", ["fastgpu start cluster demo"]),
    (
        "guard cluster",
        [
            "fastgpu guard cluster demo --max-life 12h --idle-stop 30m",
            "fastgpu guard cluster demo --max-life off --idle-stop off",
        ],
    ),
    ("why-awake", ["fastgpu why-awake demo"]),
    ("top", ["fastgpu top demo --once"]),
    ("check cluster", ["fastgpu check cluster demo"]),
    ("check net", ["fastgpu check net demo --time 5s --quiet"]),
    ("scale cluster", ["fastgpu scale cluster demo --nodes 3"]),
    ("rename cluster", ["fastgpu rename cluster demo prod"]),
    (
        "addip",
        [
            "fastgpu create cluster cloudy --gpus V100:1 --cloud aws --region us-east-1 "
            "--ssh-from 203.0.113.7/32 --detach --yes",
            "fastgpu addip cloudy --ssh-from 198.51.100.7/32",
            "fastgpu delete cluster cloudy --yes",
        ],
    ),
    (
        "mount",
        [
            "fastgpu create cluster cloudy --gpus V100:1 --cloud aws --region us-east-1 "
            "--ssh-from 203.0.113.7/32 --detach --yes",
            "fastgpu mount cloudy fs-0123.efs.us-east-1.amazonaws.com:/",
            "fastgpu mount cloudy 10.0.0.4:/models=/etc",
            "fastgpu delete cluster cloudy --yes",
        ],
    ),
    ("gc", ["fastgpu gc --dry-run"]),
    ("completion", ["fastgpu completion bash | head -5"]),
    ("delete cluster", ["fastgpu delete cluster prod --yes"]),
]

NPU = f"""name: npu
from: tr2.7.1_py311
python: /usr/bin/python3
mpi: system
cann:
  version: 8.3.RC1
  installers:
    - {{url: "https://mirror.example/Ascend-cann-toolkit_8.3.RC1_linux-aarch64.run",
       sha256: {"a" * 64}}}
    - {{path: /mnt/files/Ascend-cann-kernels-910b_8.3.RC1_linux-aarch64.run,
       sha256: {"b" * 64}}}
"""


def transcript(command, folder, environment):
    """A terminal session of one command line, as a person sees it."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = f"$ {command}\n{done.stdout.rstrip()}".rstrip()
    return lines + (f"\n$ echo $?\n{done.returncode}" if done.returncode else "")


def program_of(environment):
    return environment["PATH"].split(":")[0] + "/fastgpu"


def help_of(program, name):
    shown = subprocess.run(
        [program, *name.split(), "--help"], capture_output=True, text=True, check=True
    )
    return f"```\n{shown.stdout.rstrip()}\n```\n"


def head_of(name):
    """Returns the title of a page, and links to the how-to pages that use the command."""
    used = re.compile(rf"fastgpu {name}(?![\w-])")
    links = []
    for file in sorted((DOCS / "how-to").glob("*.md")):
        text = file.read_text()
        if used.search(text):
            links.append(f"[{text.splitlines()[0].removeprefix('# ')}](../../how-to/{file.name})")
    how_to = "How-to pages: " + ",\n".join(links) + ".\n\n" if links else ""
    return f"# fastgpu {name}\n\n{how_to}"


def file_of(pages, name):
    return pages / (name.replace(" ", "-") + ".md")


def write_help_only(program, pages, wanted):
    """Replaces all that is above the transcript of each page by what it is now."""
    for name, _ in PAGES:
        if wanted and name not in wanted:
            continue
        file = file_of(pages, name)
        _, _, rest = file.read_text().partition("```\n")
        _, _, tail = rest.partition("\n```\n")
        file.write_text(head_of(name) + help_of(program, name) + tail)


def write_index(program, pages):
    """Writes the list of all pages, in the groups and with the words of `fastgpu --help`."""
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    text = (
        "# Commands\n\nEach page has the command's help and examples that were really run "
        "(`tests/tools/command_pages.py` runs them and writes the pages).\n"
    )
    known = {name for name, _ in PAGES}
    for group, body in re.findall(r"^(\S[^\n]*):\n((?:  \S[^\n]*\n)+)", shown, re.M):
        rows = ""
        for name, about in re.findall(r"^  (\S+(?: \S+)*?)  +(\S.*)$", body, re.M):
            if name in known:
                rows += f"| [{name}]({name.replace(' ', '-')}.md) | {about} |\n"
        text += f"\n## {group}\n\n| command | what it does |\n|---|---|\n{rows}"
    (pages / "README.md").write_text(text)


def page(name, examples, folder, environment):
    parts = [head_of(name).rstrip() + "\n", help_of(program_of(environment), name)]
    if examples:
        shown = "\n".join(transcript(command, folder, environment) for command in examples)
        parts.append(f"```console\n{shown}\n```\n")
    return "\n".join(parts)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    pages = DOCS / "reference/commands"
    write_index(program, pages)
    if sys.argv[2] == "--help-only":
        write_help_only(program, pages, sys.argv[3:])
        return
    with tempfile.TemporaryDirectory() as folder, CloudSim(sys.argv[2], "local") as sim:
        clouds = {}
        for cloud in CLOUDS.keys() & set(known_to_the_stand_in()):
            clouds.update(sim.environment(cloud))
        environment = {
            **os.environ,
            **clouds,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "NO_COLOR": "1",
            "FASTGPU_STATE_DIR": folder + "/state",
        }
        work = pathlib.Path(folder, "work")
        work.mkdir()
        (work / "env.yaml").write_text(
            "name: train\npython: /usr/bin/python3\nmpi: system\nvariables:\n  OMP_NUM_THREADS: 4\n"
        )
        (work / "npu.yaml").write_text(NPU)
        (work / "old.yaml").write_text(
            "name: old\npython: /usr/bin/python3\nmpi: system\npackages: [gast==0.2.2]\n"
        )
        try:
            for name, examples in PAGES:
                if sys.argv[3:] and name not in sys.argv[3:]:
                    continue
                file_of(pages, name).write_text(
                    page(name, examples, work, environment)
                    .replace(folder + "/state", "STATE")
                    .replace(folder, "/tmp")
                )
        finally:  # Some pages alone may have made a cluster, and not deleted it.
            words = [str(program), "delete", "cluster", "--all", "--yes"]
            subprocess.run(words, env=environment, capture_output=True, check=False)


main()
