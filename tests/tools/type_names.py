"""Checks that a type's name means one thing: no two headers define a type of the same name.

Reads the headers of this repository, except those of the tests and of `comm/include`, which are
for other programs. Types inside of other types are not read. Exits with status 1 if a name has two
meanings.
"""

import collections
import pathlib
import re
import subprocess
import sys

DEFINITION = re.compile(
    r"^(?:template *<[^\n]*> *\n?)?(?:struct|class|enum class|enum|union) +(?:\[\[\w+\]\] *)?"
    r"([A-Z]\w*)(?: final)?\s*(?::[^;{]*)?\{",
    re.MULTILINE,
)
OTHERS = ("tests/", "comm/include/")
# Interfaces that code outside their module always names with it.
WITH_MODULE = {"Client": "http::Client, ssh::Client"}


def types_in(text):
    """Yields the name and the line of each type that a header defines in a namespace."""
    for found in DEFINITION.finditer(text):
        yield found[1], text.count("\n", 0, found.start(1)) + 1


def twice(headers):
    """Yields a sentence for each type that several of the headers define: {path: text}."""
    places = collections.defaultdict(dict)
    for path, text in headers.items():
        for name, line in types_in(text):
            places[name].setdefault(path, line)
    for name, found in sorted(places.items()):
        if len(found) > 1 and name not in WITH_MODULE:
            shown = ", ".join(f"{path}:{line}" for path, line in sorted(found.items()))
            yield f"'{name}' is defined in {shown}"


def main():
    """Prints the names with two meanings. Returns the exit status."""
    listed = subprocess.check_output(["git", "ls-files", "*.hpp"], text=True)
    paths = [each for each in listed.splitlines() if not each.startswith(OTHERS)]
    sentences = list(twice({each: pathlib.Path(each).read_text("utf-8") for each in paths}))
    print(*sentences, sep="\n", end="\n" if sentences else "")
    if sentences:
        print(f"{len(sentences)} names have two meanings: put a telling word in front of one")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
