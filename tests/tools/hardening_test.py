"""Every program and library that is installed is hardened: hardening_test.py BUILD_DIR
fortified|linked

Reads the files that the build has made; those that it has not made yet are left out. "fortified"
builds are checked for stack protectors and fortified calls as well, by the flags that each of their
sources is compiled with.
"""

import json
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
COMPILED_WITH = ("-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-D_GLIBCXX_ASSERTIONS")


def installed(build):
    """Programs and libraries of the build that are installed, with the sources of each."""
    targets = json.loads((build / "meson-info" / "intro-targets.json").read_text())
    for target in targets:
        if target["installed"] and target["type"] in (
            "executable",
            "shared library",
            "shared module",
        ):
            sources = [
                source
                for group in target["target_sources"]
                if group.get("language") == "cpp"
                for source in group["sources"]
            ]
            yield pathlib.Path(target["filename"][0]), target["type"], target["id"], sources


def linked_badly(file, kind):
    """What is missing in the file, by what the linker has written into it."""
    text = subprocess.run(
        ["readelf", "--wide", "--file-header", "--program-headers", "--dynamic", file],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if not re.search(r"Type:\s+DYN", text):
        yield "it is not position-independent"
    if kind == "executable" and not re.search(r"FLAGS_1\).*\bPIE\b", text):
        yield "it is no position-independent program"
    if "GNU_RELRO" not in text:
        yield "its relocations stay writable"
    if not re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", text):
        yield "its symbols are bound late"
    if not re.search(r"GNU_STACK.* RW +0x", text):
        yield "its stack may hold code"


def compiled_badly(build, target, sources):
    """Sources of the target that are compiled without a flag."""
    commands = json.loads((build / "compile_commands.json").read_text())
    folder = target.split("@@")[-1]
    for entry in commands:
        source = str((pathlib.Path(entry["directory"]) / entry["file"]).resolve())
        if source not in sources or folder not in entry["output"]:
            continue
        for flag in COMPILED_WITH:
            if flag not in entry["command"].split():
                yield f"{entry['file']} is compiled without {flag}"


def has_protector(file):
    symbols = subprocess.run(
        ["readelf", "--wide", "--symbols", "--dyn-syms", file],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return "__stack_chk_fail" in symbols


def is_static(file):
    return (
        "Requesting program interpreter"
        not in subprocess.run(
            ["readelf", "--program-headers", file], capture_output=True, text=True, check=True
        ).stdout
    )


def main():
    build, depth = pathlib.Path(sys.argv[1]), sys.argv[2]
    found = 0
    failures = []
    for file, kind, target, sources in installed(build):
        if not file.exists():
            continue
        found += 1
        problems = list(linked_badly(file, kind))
        if depth == "fortified":
            problems += compiled_badly(build, target, sources)
            # A static program that is stripped has no symbols to look at; its C library has a
            # protector in any case.
            if not (kind == "executable" and is_static(file)) and not has_protector(file):
                problems.append("no function of it has a stack protector")
        failures += [f"{file}: {problem}" for problem in problems]
        print(f"{'ok' if not problems else 'FAILED'}: {file}")
    print("\n".join(failures))
    if not found:
        sys.exit(SKIPPED)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
