"""Checks that a name that a .cpp file hides is unique in its target: hidden_names.py BUILD_DIR

The files of a unit (`--unity=on`) share one anonymous namespace, and see each other's headers.
Functions whose parameters differ in type may share a name. Exits with status 1 if a name is taken.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{$")
TYPE = re.compile(r"(?:template <.*?> *)?(?:struct|class|enum class|enum|union) (\w+)")
ALIAS = re.compile(r"using (\w+) =")
OTHER = re.compile(r"[^=(]*?(operator\S+|\w+)(?:\[.*?\])? ?([=({;])")
RAW = re.compile(r'\bR"\(')
NO_NAME = ("TEST_", "static_assert", "extern", "using ", "namespace ")


def parameters(text):
    """Returns the types in a list of parameters that begins behind its bracket."""
    types, depth, word = [], 0, ""
    for char in text:
        depth += (char in "<([{") - (char in ">)]}")
        if depth < 0 or (char == "," and depth == 0):
            types.append(word)
            word = ""
            if depth < 0:
                break
        else:
            word += char
    # A call need not name what has a default.
    needed = (each.strip() for each in types if "=" not in each)
    named = (re.sub(r"(?<=[ &*>])\w+$", "", each) for each in needed)
    bare = (re.sub(r"\bconst |[& ]|\w+::", "", each) for each in named)
    # A literal fits either, so a call would be ambiguous.
    return tuple("string" if each in ("string_view", "char*") else each for each in bare)


def name_at(lines, index):
    """Returns the name that a declaration at a line's begin declares, with types of parameters."""
    text = " ".join(line.strip() for line in lines[index : index + 4])
    if found := TYPE.match(text):
        return found[1], None
    if found := ALIAS.match(text):  # The same alias twice is one.
        return found[1], text[found.end() : text.find(";")]
    if text.startswith(NO_NAME):
        return None
    found = OTHER.match(text)
    if not found or text[: found.start(1)].endswith("::"):  # A member belongs to its class.
        return None
    return found[1], parameters(text[found.end() :]) if found[2] == "(" else None


def begins(line):
    """Returns whether a declaration may begin in a line."""
    return line and line[0] not in ' }#/"\t)'


def is_hidden(line, around):
    """Returns whether a line begins a declaration that no other file sees."""
    return begins(line) and ("" in around or line.startswith("static "))


def hidden_names(path):
    """Yields (namespaces, name, types of parameters, line) of what a file hides."""
    lines, around, is_raw = path.read_text(encoding="utf-8").split("\n"), [], False
    for index, line in enumerate(lines):
        if is_raw:
            is_raw = ')"' not in line
        elif found := NAMESPACE.match(line):
            around.append(found[1])
        elif line.startswith("}  // namespace"):
            around.pop()
        elif is_hidden(line, around) and (name := name_at(lines, index)):
            yield "::".join(around), *name, index + 1
        if found := RAW.search(line):
            is_raw = ')"' not in line[found.end() :]


def targets(build):
    """Yields each target's name and sources, as Meson lists them for its units."""
    done = subprocess.run(
        ["meson", "introspect", str(build), "--targets"], capture_output=True, text=True, check=True
    )
    for target in json.loads(done.stdout):
        files = {
            pathlib.Path(file).resolve()
            for group in target["target_sources"]
            for file in sources_of(group)
            if file.endswith(".cpp")
        }
        yield target["name"], sorted(file for file in files if build not in file.parents)


def sources_of(group):
    """Returns the sources of one compiler, those in units too."""
    files = list(group.get("sources", []))
    for unit in group.get("generated_sources", []):
        path = pathlib.Path(unit)
        if "-unity" in path.name and path.exists():
            files += re.findall(r'#include *[<"](.*)[>"]', path.read_text(encoding="utf-8"))
    return files


def visible_names(headers):
    """Returns where headers declare names that a source must not hide, by namespace and name."""
    visible = {}
    for path in headers:
        lines, around = path.read_text(encoding="utf-8").split("\n"), []
        for index, line in enumerate(lines):
            if found := NAMESPACE.match(line):
                around.append(found[1])
            elif line.startswith("}  // namespace"):
                around.pop()
            elif around and begins(line) and (name := name_at(lines, index)):
                visible["::".join(around), name[0]] = (name[1], f"{path}:{index + 1}")
    return visible


def also_visible(files, visible):
    """Yields a sentence for each name that a file hides and a header declares beside it."""
    for file in files:
        for namespaces, name, types, line in hidden_names(file):
            other, place = visible.get((namespaces.removesuffix("::"), name), (types, ""))
            are_overloads = isinstance(types, tuple) and isinstance(other, tuple) and types != other
            if place and not are_overloads and not (isinstance(types, str) and types == other):
                yield f"'{name}' is hidden in {file}:{line} and declared in {place}"


def twice(files):
    """Yields a sentence for each name that two of the files hide."""
    places = collections.defaultdict(dict)
    for file in files:
        for namespaces, name, types, line in hidden_names(file):
            places[namespaces, name].setdefault(types, {}).setdefault(file, line)
    for (_, name), by_types in places.items():
        are_functions = all(isinstance(types, tuple) for types in by_types)
        clash = {
            file: line
            for types, found in by_types.items()
            if (len(found) > 1 and not isinstance(types, str))
            or (len(by_types) > 1 and not are_functions)
            for file, line in found.items()
        }
        if len(clash) < 2:
            continue
        yield f"'{name}' is hidden in " + ", ".join(
            f"{file}:{line}" for file, line in sorted(clash.items())
        )


def main():
    """Prints the names that are hidden twice in a target. Returns the exit status."""
    if len(sys.argv) != 2:
        sys.exit("hidden_names.py: give the build directory, such as build-lint")
    build = pathlib.Path(sys.argv[1]).resolve()
    headers = subprocess.run(
        ["git", "ls-files", "*.hpp"], capture_output=True, text=True, check=True
    )
    visible = visible_names(map(pathlib.Path, headers.stdout.splitlines()))
    sentences = set()
    for _, files in targets(build):
        sentences.update(twice(files))
        sentences.update(also_visible(files, visible))
    for sentence in sorted(sentences):
        print(sentence.replace(f"{pathlib.Path.cwd()}/", ""))
    if sentences:
        print(f"{len(sentences)} names are taken: each needs a name of its own")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
