"""Checks that a file includes the headers of the standard library whose names it uses, by itself or
through headers of ours.

A compiler misses such an include in some builds only: precompiled headers, the other files of a
unit, and one version of the standard library hide it. Exits with status 1 after naming each.
"""

import functools
import pathlib
import re
import subprocess
import sys

# Names of namespace std, and the headers of which one declares them by the standard.
DECLARED = {
    r"chrono::": ["chrono"],
    r"(?:to_)?string\b": ["string"],
    r"string_view\b": ["string_view", "string"],
    r"vector\b": ["vector"],
    r"(?:multi)?map\b": ["map"],
    r"(?:multi)?set\b": ["set"],
    r"unordered_(?:multi)?map\b": ["unordered_map"],
    r"unordered_(?:multi)?set\b": ["unordered_set"],
    r"deque\b": ["deque"],
    r"list\b": ["list"],
    r"array\b": ["array", "span"],
    r"span\b|as_(?:writable_)?bytes\b": ["span"],
    r"tuple\b|tie\(": ["tuple"],
    r"optional\b|nullopt\b": ["optional"],
    r"variant\b|visit\b|monostate\b": ["variant"],
    r"function\b": ["functional"],
    r"(?:unique|shared|weak)_ptr\b|make_(?:unique|shared)\b": ["memory"],
    r"filesystem::": ["filesystem"],
    r"(?:recursive_)?mutex\b|(?:scoped|unique)_lock\b|lock_guard\b": [
        "mutex",
        "condition_variable",
    ],
    r"condition_variable(?:_any)?\b": ["condition_variable"],
    r"j?thread\b|this_thread::": ["thread"],
    r"stop_(?:token|source|callback)\b": ["stop_token", "thread"],
    r"future\b|promise\b|async\(": ["future"],
    r"atomic\w*\b|memory_order\w*\b": ["atomic"],
    r"(?:stable_)?sort\(|(?:max|min)(?:_element)?[({]|clamp\(|(?:any|all|none)_of\(": ["algorithm"],
    r"find_if\(|copy_n?\(|fill_n?\(|remove_if\(|lower_bound\(|reverse\(": ["algorithm"],
    r"ranges::(?!subrange|iota|input|forward|size|data|begin|end|empty)\w+\(": [
        "algorithm",
        "ranges",
    ],
    r"views::": ["ranges"],
    r"accumulate\(|iota\(|inner_product\(": ["numeric"],
    r"u?int(?:8|16|32|64|ptr)_t\b": ["cstdint"],
    r"numeric_limits\b": ["limits"],
    r"isfinite\(|isnan\(|sqrt\(|log2\(|ceil\(|floor\(": ["cmath"],
    r"[io]?fstream\b": ["fstream"],
    r"[io]?stringstream\b": ["sstream"],
    r"cout\b|cerr\b": ["iostream"],
    r"regex\w*\b|smatch\b": ["regex"],
    r"mt19937\w*": ["random"],
    r"(?:runtime|logic)_error\b|invalid_argument\b|out_of_range\b": ["stdexcept"],
    r"from_chars\(|to_chars\(": ["charconv"],
    r"mem(?:cpy|cmp|set|move)\(": ["cstring"],
    r"bit_cast\b|count[lr]_zero\(|popcount\(|bit_ceil\(": ["bit"],
    r"numbers::": ["numbers"],
    r"source_location\b": ["source_location"],
}
NAMES = {re.compile(rf"\bstd::(?:{names})"): headers for names, headers in DECLARED.items()}
INCLUDE = re.compile(r'#include [<"]([^>"]+)[>"]')
# Folders that includes in quotes, or those of our public headers, begin at.
FOLDERS = ("", "src", "comm/include", "tests")


def missing(texts):
    """Yields (path, name that is used, header) for files as {path: text}."""
    texts = {path: re.sub(r"//[^\n]*", "", text) for path, text in texts.items()}

    @functools.cache
    def includes(path):
        """Returns the words of a file's includes, and those of ours that they name."""
        words = INCLUDE.findall(texts[path])
        folders = (*FOLDERS, str(pathlib.PurePath(path).parent))
        places = (str(pathlib.PurePath(folder, word)) for word in words for folder in folders)
        return words, [place for place in places if place in texts]

    def reached(path):
        seen, todo, headers = {path}, [path], set()
        while todo:
            words, ours = includes(todo.pop())
            headers.update(words)
            todo += [each for each in ours if each not in seen]
            seen.update(ours)
        return headers

    for path, text in texts.items():
        headers = reached(path)
        for names, those in NAMES.items():
            used = None if headers.intersection(those) else names.search(text)
            if used:
                yield path, used.group(), those[0]


def main():
    listed = subprocess.run(
        ["git", "ls-files", "*.hpp", "*.h", "*.cpp"], capture_output=True, text=True, check=True
    )
    paths = [path for path in listed.stdout.split("\n") if path and pathlib.Path(path).exists()]
    found = list(missing({path: pathlib.Path(path).read_text() for path in paths}))
    for path, used, header in found:
        print(f"{path}: uses {used.rstrip('({:')} and does not include <{header}>")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
