"""Checks what a shared library needs of the machine that loads it:
library_needs.py LIBRARY [--glibc VERSION] [--allow NAME...]

Fails if that is more than the C library, of at most the given version, or if the library shows a
symbol of C++'s own library.
"""

import argparse
import re
import subprocess
import sys

# The parts of glibc; those but libc and libm are empty in newer ones.
OF_SYSTEM = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}


def read(*arguments):
    return subprocess.run(
        ["readelf", "--wide", *arguments], capture_output=True, text=True, check=True
    ).stdout


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", read("--dynamic", library))


def glibc_versions(library):
    """Returns the versions of glibc whose symbols are used, with one of the symbols of each."""
    found = {}
    for symbol, version in re.findall(r" UND (\S+)@GLIBC_([0-9.]+)", read("--dyn-syms", library)):
        found.setdefault(tuple(int(part) for part in version.split(".")), symbol)
    return found


def shown(library):
    """Yields the symbols that others may take for their own."""
    for line in read("--dyn-syms", library).splitlines():
        words = line.split()
        if (
            len(words) > 7
            and words[4] in ("GLOBAL", "WEAK", "UNIQUE")
            and words[6] not in ("UND", "ABS")
        ):
            yield words[7].split("@")[0]


def problems(library, glibc, allowed):
    for name in needed(library):
        if name not in OF_SYSTEM | set(allowed):
            yield f"it needs {name}"
    if glibc:
        most = tuple(int(part) for part in glibc.split("."))
        for version, symbol in sorted(glibc_versions(library).items()):
            if version > most:
                found = ".".join(map(str, version))
                yield f"it needs glibc {found}, for {symbol}, and {glibc} is promised"
    for name in shown(library):
        if not re.match(r"fgc_|fastgpu_comm_", name):
            yield f"it shows {name}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--glibc")
    parser.add_argument("--allow", nargs="*", default=[])
    options = parser.parse_args()
    found = list(problems(options.library, options.glibc, options.allow))
    for problem in found:
        print(f"{options.library}: {problem}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
