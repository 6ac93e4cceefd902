"""The completion scripts in real shells, as a person at a terminal has them: completion_test.py
FASTGPU SEED

SEED writes clusters into a state directory. A shell that is not installed is skipped; exit code 77:
none is there.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from terminal import Terminal

FASTGPU, SEED = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])

# What is typed before the key that completes, and the words that the program is then given. There
# is one cluster, demo, with two nodes and a job, and the files of setUpModule.
UNIQUE = [
    ("fastgpu descr", ["fastgpu", "describe"]),
    ("fastgpu --he", ["fastgpu", "--help"]),
    ("fastgpu ssh de", ["fastgpu", "ssh", "demo"]),
    ("fastgpu ssh demo/demo-1", ["fastgpu", "ssh", "demo/demo-1"]),
    ("fastgpu describe node demo-1", ["fastgpu", "describe", "node", "demo-1"]),
    ("fastgpu logs tr", ["fastgpu", "logs", "train-1"]),
    ("fastgpu create cluster x --prov", ["fastgpu", "create", "cluster", "x", "--provider"]),
    (
        "fastgpu create cluster x --provider lo",
        ["fastgpu", "create", "cluster", "x", "--provider", "local"],
    ),
    (
        "fastgpu create cluster x --provider=lo",
        ["fastgpu", "create", "cluster", "x", "--provider=local"],
    ),
    ("fastgpu get nodes -o ya", ["fastgpu", "get", "nodes", "-o", "yaml"]),
    ("fastgpu create cluster -f clus", ["fastgpu", "create", "cluster", "-f", "cluster.yaml"]),
    ("fastgpu create cluster -f odd", ["fastgpu", "create", "cluster", "-f", "odd $name;(1).yaml"]),
    ("fastgpu help descr", ["fastgpu", "help", "describe"]),
    ("fastgpu exec demo/demo-0,demo-1", ["fastgpu", "exec", "demo/demo-0,demo-1"]),
    ("fastgpu exec demo/@hea", ["fastgpu", "exec", "demo/@head"]),
    ("fastgpu run job -c demo/@wor", ["fastgpu", "run", "job", "-c", "demo/@workers"]),
    (
        "fastgpu get prices --cloud aws --region us-west",
        ["fastgpu", "get", "prices", "--cloud", "aws", "--region", "us-west-2"],
    ),
    (
        "fastgpu create cluster x --gpus L40S:8",
        ["fastgpu", "create", "cluster", "x", "--gpus", "L40S:8"],
    ),
    ("fastgpu delete cluster x de", ["fastgpu", "delete", "cluster", "x", "demo"]),
    ("fastgpu cp odd", ["fastgpu", "cp", "odd $name;(1).yaml"]),
    ("fastgpu cp cluster.yaml de", ["fastgpu", "cp", "cluster.yaml", "demo:"]),
    ("fastgpu cp cluster.yaml demo/demo-1", ["fastgpu", "cp", "cluster.yaml", "demo/demo-1:"]),
    (
        "fastgpu cp odd\\ \\$name\\;\\(1\\).yaml de",
        ["fastgpu", "cp", "odd $name;(1).yaml", "demo:"],
    ),
]
SEVERAL = [
    ("fastgpu --", ["--help", "--output", "--state-dir"]),
    ("fastgpu ssh demo/", ["demo/demo-0", "demo/demo-1"]),
    ("fastgpu get nodes -o ", ["table", "wide", "json", "yaml", "name"]),
    ("fastgpu completion ", ["bash", "zsh", "fish"]),
    ("fastgpu help ", ["create", "describe", "exec"]),
    ("fastgpu get ", ["clusters", "nodes", "jobs", "providers"]),
]


def setUpModule():
    folder = tempfile.mkdtemp()
    unittest.addModuleCleanup(shutil.rmtree, folder)
    os.environ.update(
        FASTGPU_STATE_DIR=folder + "/state",
        HOME=folder,
        PATH=f"{pathlib.Path(FASTGPU).parent}:{os.environ['PATH']}",
    )
    subprocess.run([SEED, folder + "/state"], check=True)
    work = pathlib.Path(folder, "work")
    work.mkdir()
    for name in ("cluster.yaml", "odd $name;(1).yaml"):
        (work / name).touch()
    os.chdir(work)


class InATerminal:
    """For shells that complete at a terminal alone: the line is
    completed, then handed to printf.
    """

    start_of_line = "\x01"

    def setUp(self):
        if not shutil.which(self.shell[0]):
            self.skipTest(f"no {self.shell[0]} here")
        self.terminal = Terminal(*self.shell, columns=200)
        self.addCleanup(self.terminal.close)
        self.terminal.type(self.preparation)
        self.terminal.expect("rea" + "dy\r\n")

    def test_one_candidate_is_put_in(self):
        for typed, words in UNIQUE:
            with self.subTest(typed):
                self.terminal.type(typed + "\t")
                time.sleep(0.2)
                self.terminal.type(self.start_of_line + "printf '<%s>' ''; printf '[%s]' ")
                self.terminal.type("\r")
                self.terminal.expect("<>")
                self.terminal.expect("".join(f"[{word}]" for word in words))

    def test_several_candidates_are_shown(self):
        for typed, words in SEVERAL:
            with self.subTest(typed):
                self.terminal.type(typed + "\t\t\t")
                self.terminal.expect_all(words)
                self.terminal.type("\x05\x15")  # Takes the line away


class Bash(InATerminal, unittest.TestCase):
    shell = ["bash", "--norc", "--noprofile", "-i"]
    preparation = (
        "PS1='$ '; bind 'set enable-bracketed-paste off'; source <(fastgpu completion bash); "
        "echo rea''dy\r"
    )


class Zsh(InATerminal, unittest.TestCase):
    shell = ["zsh", "-f", "-i"]
    preparation = (
        "PS1='$ '; unset zle_bracketed_paste; bindkey -e; unsetopt automenu; autoload -U compinit; "
        "compinit -u -D; source <(fastgpu completion zsh); echo rea''dy\r"
    )


class Fish(unittest.TestCase):
    def setUp(self):
        if not shutil.which("fish"):
            self.skipTest("no fish here")

    def candidates(self, typed):
        quoted = typed.replace("\\", "\\\\").replace("'", "\\'")
        script = f"fastgpu completion fish | source; complete -C '{quoted}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True
        )
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def test_one_candidate_is_offered(self):
        for typed, words in UNIQUE:
            with self.subTest(typed):
                self.assertEqual(self.candidates(typed), [words[-1]])

    def test_several_candidates_are_offered(self):
        for typed, words in SEVERAL:
            with self.subTest(typed):
                self.assertLessEqual(set(words), set(self.candidates(typed)))


if __name__ == "__main__":
    if not any(shutil.which(shell) for shell in ("bash", "zsh", "fish")):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
