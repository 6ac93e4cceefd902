"""Checks that a name means one thing: types of two headers, and headers of three folders.

No two headers define a type of the same name: those of the tests and of `comm/include`, which are
for other programs, are not read, and neither are types inside of other types. No three folders
have a header of the same name; folders that are made alike, one a cloud, count as one. Exits with
status 1 if a name has more meanings.
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
# Folders whose own folders are made alike, each with files of the same names.
ALIKE = ("provision/providers/", "tests/cloudsim/apis/")
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


def folder_of(header):
    """Returns the folder of a header; that above it where the folders are made alike."""
    for above in ALIKE:
        if header.startswith(above) and header.count("/") == above.count("/") + 1:
            return above.rstrip("/")
    return header.rpartition("/")[0]


def in_three_folders(headers):
    """Yields a sentence for each name of headers that three folders have, of a list of paths."""
    folders = collections.defaultdict(set)
    for path in headers:
        folders[path.rpartition("/")[2]].add(folder_of(path))
    for name, found in sorted(folders.items()):
        if len(found) > 2:
            yield f"'{name}' is a header of {', '.join(sorted(found))}"


def main():
    """Prints the names with too many meanings. Returns the exit status."""
    headers = subprocess.check_output(["git", "ls-files", "*.hpp"], text=True).splitlines()
    ours = [each for each in headers if not each.startswith(OTHERS)]
    sentences = list(twice({each: pathlib.Path(each).read_text("utf-8") for each in ours}))
    sentences += in_three_folders(headers)
    print(*sentences, sep="\n", end="\n" if sentences else "")
    if sentences:
        print(f"{len(sentences)} names mean several things: put a telling word in front of one")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
