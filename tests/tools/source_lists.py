"""Checks that lists of files in meson.build are sorted, one file a line: source_lists.py [--fix]

A list is two or more names of files in a row. Files whose order has a meaning, such as arguments of
a test, are given by a call of files() each. With --fix, writes such lists as they should be. Exits
with status 1 if a list is not.
"""

import pathlib
import re
import subprocess
import sys

NAME = r"'[^'\s]+\.(?:c|cpp|cu|h|hpp|md|py|sh|typed)'"
LIST = re.compile(
    rf"(?P<before>[ ]*\n)?(?P<indent>[ ]*)(?P<names>{NAME}(?:,\s*{NAME})+)(?P<after>,?[ "
    r"]*(?=\S)|,?)"
)


def indent_of(text, at):
    """Returns the indent of a list in a call that begins in the line of `at`."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return " " * (len(line) - len(line.lstrip(" ")) + 2)


def sorted_list(found):
    """Returns a list as it should be."""
    text, names = found.string, sorted(re.findall(NAME, found["names"]))
    begins_line = found["before"] or text[: found.start()].endswith("\n")
    indent = found["indent"] if begins_line else indent_of(text, found.start())
    after = found["after"]
    if after.startswith(",") and not text[found.end() :].startswith("\n"):
        after = ",\n" + indent
    return "\n" + indent + (",\n" + indent).join(names) + after


def sorted_lists(text):
    """Returns a build file with its lists as they should be."""
    return LIST.sub(sorted_list, text)


def main():
    """Prints the files with lists that are not sorted. Returns the exit status."""
    done = subprocess.run(
        ["git", "ls-files", "*meson.build"], capture_output=True, text=True, check=True
    )
    wrong = []
    for file in map(pathlib.Path, done.stdout.splitlines()):
        text = file.read_text(encoding="utf-8")
        better = sorted_lists(text)
        if better != text:
            wrong.append(file)
            if "--fix" in sys.argv[1:]:
                file.write_text(better, encoding="utf-8")
    for file in wrong:
        print(
            f"{file}: its lists of files are not sorted, one file a line: source_lists.py --fix "
            "writes them so"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
