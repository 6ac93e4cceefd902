"""Runs clang-tidy over the project's own sources, tests apart: tidy.py CLANG_TIDY BUILD_DIR
[COMMITS]

The build has a command line for each source: it is none of units (`--unity=off`).

With COMMITS, over those alone that the last so many commits have changed, or as many of them as
this clone has: the latest first, and MOST sources at most, so that the time is bounded where a name
has changed everywhere.

A source whose preprocessed neighbourhood (itself, our headers, the settings) has passed before is
not read again: its stamp lies in BUILD_DIR/tidy.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path.cwd()
MOST = 60
# The static analyser follows fewer calls into each other: files take half of the time.
SHALLOW = [
    f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")
]


def sources(build):
    """Our sources, each once, with the compiler's command line."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        ours = (
            ROOT in path.parents
            and build.resolve() not in path.parents
            and ROOT / "tests" not in path.parents
        )
        if ours and path.suffix == ".cpp":
            yield path, entry["command"]


def changed(commits):
    """Paths that the last `commits` commits have changed, each once, the latest first."""
    paths = {}
    for line in git("rev-list", "--first-parent", "--parents", f"--max-count={commits}", "HEAD"):
        commit, *parents = line.split()
        # Of a merge, what it has brought.
        before = parents[:1] or ["--root"]
        names = git("diff-tree", "-r", "--name-only", "--no-commit-id", *before, commit)
        paths.update(dict.fromkeys(ROOT / name for name in names))
    return list(paths)


def git(*words):
    """The lines that it says."""
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )[:-1]


def neighbourhood():
    """A digest of every header of ours and of the settings: when one changes, all is read again."""
    digest = hashlib.sha256()
    for name in sorted(git("ls-files", "*.hpp", "*.h", ".clang-tidy", "tests/tools/lint.txt")):
        digest.update(pathlib.Path(name).read_bytes())
    return digest.hexdigest()


def without_precompiled_headers(build):
    """A folder with the build's command lines as they would be without: clang reads none of gcc's,
    and what a source forgot to include shows.
    """
    place = build / "tidy/commands"
    place.mkdir(parents=True, exist_ok=True)
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        entry["command"] = re.sub(r"-fpch-preprocess -include \S+ ", "", entry["command"])
    (place / "compile_commands.json").write_text(json.dumps(entries))
    return place


def check(program, commands, path):
    done = subprocess.run(
        [
            program,
            "--quiet",
            "--extra-arg=-Wno-unknown-warning-option",
            *SHALLOW,
            "-p",
            str(commands),
            str(path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return path, done.returncode, done.stdout


def main():
    program, build = sys.argv[1], pathlib.Path(sys.argv[2])
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    commands = dict(sources(build))
    chosen = list(commands)
    if len(sys.argv) > 3:
        recent = [path for path in changed(int(sys.argv[3])) if path in commands]
        chosen = recent[:MOST]
        if len(recent) > MOST:
            print(f"clang-tidy: {len(recent) - MOST} further sources have changed and are not read")
    around, todo = neighbourhood(), {}
    for path in chosen:
        command = commands[path]
        key = hashlib.sha256((around + command).encode() + path.read_bytes()).hexdigest()
        if not (stamps / key).exists():
            todo[path] = stamps / key
    folder, failed = without_precompiled_headers(build), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, status, text in pool.map(lambda p: check(program, folder, p), todo):
            if status == 0:
                todo[path].touch()
            else:
                failed += 1
                print(text)
    print(f"clang-tidy: {len(todo)} files read, {failed} with findings")
    sys.exit(1 if failed else 0)


main()
