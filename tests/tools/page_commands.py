"""Checks the commands in the Markdown pages of a checkout: page_commands.py FASTGPU [CHECKOUT]

Each command line "fastgpu ..." in a code block or in a code span must name a command that exists,
and only flags that are in its help. Prints "file:line: what is wrong", and exits with 1 if there is
something. Nothing but --help is run.
"""

import functools
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from links import pages_of

SPAN = re.compile(r"`(fastgpu [^`]+)`")
LINE = re.compile(r"^\s*(?:\$ )?(?:sudo )?(fastgpu .*)$")
FLAG = re.compile(r"(?<=\s)(--?[a-z][a-z-]*)")
CLIENT_WORDS = {
    "get",
    "describe",
    "create",
    "start",
    "stop",
    "scale",
    "guard",
    "rename",
    "delete",
    "attach",
    "run",
    "bench",
    "wait",
    "cancel",
    "env",
}
# Other names of `run job`, which understands the flags of these programs.
LAUNCHERS = {"mpirun", "horovodrun", "perseusrun"}


class Program:
    def __init__(self, path):
        self.path = path
        self.help_of = functools.cache(self._help_of)
        text = self.help_of()
        self.commands = set(re.findall(r"^  (\S+(?: \S+)?)  +\S", text, re.M))

    def _help_of(self, command=""):
        done = subprocess.run(
            [self.path, *command.split(), "--help"], capture_output=True, text=True, check=True
        )
        return done.stdout

    def fault_of(self, line):
        """Returns what is wrong with a command line, or None."""
        line = re.split(r" -- | \| | > |;| && | \|\| |\s#", line + " ")[0]
        words = line.split()[1:]
        if not words or not re.fullmatch(r"[a-z-]+", words[0]) or words[0].startswith("-"):
            return None
        if words[0] in LAUNCHERS:
            return None
        command = " ".join(words[:2]) if " ".join(words[:2]) in self.commands else words[0]
        if command not in self.commands:
            is_part = len(words) == 1 or not re.fullmatch(r"[a-z-]+", words[1])
            return None if is_part and words[0] in CLIENT_WORDS else f"no command '{command}'"
        known = set(FLAG.findall(" " + self.help_of(command).replace(",", " "))) | {"--help", "--"}
        for flag in FLAG.findall(line):
            if flag not in known and not is_group_of_letters(flag, known):
                return f"'{command}' has no flag {flag}"
        return None


def is_group_of_letters(flag, known):
    """Returns whether a flag is several short ones in one word, such as -qy."""
    return not flag.startswith("--") and all(f"-{letter}" in known for letter in flag[1:])


def commands_of(text):
    """Yields each command line of a page with its number; a help text is left out."""
    block = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            block = line[3:] if block is None else None
        elif block is not None:
            found = LINE.match(line)
            if found and block in ("console", "sh"):
                yield number, found.group(1)
        else:
            for command in SPAN.findall(line):
                yield number, command


def main():
    program = Program(sys.argv[1])
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    count = faults = 0
    for page in pages_of(root):
        if "news" in page.parts or "adr" in page.parts:  # What was true at its time.
            continue
        for number, command in commands_of(page.read_text()):
            count += 1
            fault = program.fault_of(command)
            if fault:
                faults += 1
                print(f"{page.relative_to(root)}:{number}: {fault}: {command}")
    print(f"{count} commands, {faults} wrong", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
