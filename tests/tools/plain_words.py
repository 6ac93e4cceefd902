"""Checks how plainly comments and pages speak: plain_words.py [--all] [MODULE...]

Run it in the root of a checkout. Each module (a top-level folder, or "pages") has six figures: the
share of doc comments and of trailing doc comments that open with a fragment, and the rate of four
habits per 1,000 words. Prints a table, and file:line of every place in a module that is over a
limit. With names of modules, prints the places in these as well; with --all, in every module. Exits
with status 1 if a module is over a limit.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys

# The figures in the order of the table: shares in per cent, then rates per 1,000 words.
FIGURES = ("fragments", "trailing", "told", "whoever", "is none", "stands")
LIMITS = (3.0, 3.0, 0.3, 0.3, 0.3, 0.3)
MODULES = ("src", "envs", "comm", "launcher", "provision", "cli")
PAGES = "pages"

OPENERS = (
    "Also",
    "As",
    "By",
    "For",
    "From",
    "In",
    "It",
    "Its",
    "Likewise",
    "Not",
    "Nobody",
    "Nothing",
    "Of",
    "On",
    "Once",
    "So",
    "Some",
    "The same",
    "Theirs",
    "Those",
    "Until",
    "What",
    "Where",
    "Who",
    "Whoever",
    "With",
)
FRAGMENT = re.compile(rf"({'|'.join(OPENERS)})(?![-\w])")
HABITS = {
    "told": re.compile(r"\b(told|tells?|said|says)\b"),
    "whoever": re.compile(r"\b(whoever|somebody|nobody|everybody)\b", re.IGNORECASE),
    "is none": re.compile(r"\b(is|are|was|were) (none|no)\b"),
    "stands": re.compile(r"\b(stands?|stood|lies|lay)\b"),
}
# Identifiers and quotations are not ours to word.
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

SOURCE = re.compile(r"\.(hpp|cpp|h|cu)$")
PAGE = re.compile(r"(README\.md|docs/.*\.md|comm/.*\.md)$")
# A literal, which may have "//" in it, or a comment.
TOKEN = re.compile(
    r'R"([^\s()]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])+'|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)


@dataclasses.dataclass
class Comment:
    """A comment, or a run of lines of one kind."""

    line: int
    kind: str  # "///", "///<", "//" or "/*"
    text: str


@dataclasses.dataclass
class Place:
    """A finding."""

    file: str
    line: int
    figure: str
    text: str


class Tally:
    """Counts in one module."""

    def __init__(self):
        self.comments = collections.Counter()
        self.words = 0
        self.places = []

    def add(self, file, line, figure, text):
        self.places.append(Place(file, line, figure, text))

    def add_prose(self, file, line, text):
        """Counts the words and habits of a text that begins at `line`."""
        for number, one in enumerate(text.split("\n"), line):
            self.words += len(one.split())
            plain = QUOTED.sub("", one)
            for figure, pattern in HABITS.items():
                for _ in pattern.finditer(plain):
                    self.add(file, number, figure, one.strip())

    def figures(self):
        """The six figures, rounded to two digits."""
        found = collections.Counter(place.figure for place in self.places)
        return tuple(
            round(100 * found[figure] / max(1, self.comments[figure]), 2)
            if figure in FIGURES[:2]
            else round(1000 * found[figure] / max(1, self.words), 2)
            for figure in FIGURES
        )


def git_files():
    """Lists the files of the checkout."""
    return subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def kind_of(comment):
    """Returns the kind of a comment's text."""
    return next(kind for kind in ("///<", "///", "//", "/*") if comment.startswith(kind))


def comments_in(source):
    """Yields the comments of a C++ source. Lines of one kind that follow each other are one
    comment.
    """
    current = None
    for token in TOKEN.finditer(source):
        text = token["comment"]
        if text is None:
            continue
        line = source.count("\n", 0, token.start()) + 1
        begin = source.rfind("\n", 0, token.start()) + 1
        is_alone = not source[begin : token.start()].strip()
        kind = kind_of(text)
        body = text[len(kind) :].removesuffix("*/")
        if (
            current
            and is_alone
            and kind == current.kind
            and line == current.line + current.text.count("\n") + 1
        ):
            current.text += "\n" + body
            continue
        if current:
            yield current
        current = Comment(line, kind, body)
    if current:
        yield current


def add_source(tally, file, source):
    """Counts the comments of a source."""
    for comment in comments_in(source):
        tally.add_prose(file, comment.line, comment.text)
        figure = {"///": "fragments", "///<": "trailing"}.get(comment.kind)
        if figure:
            tally.comments[figure] += 1
            if FRAGMENT.match(comment.text.strip()):
                tally.add(file, comment.line, figure, comment.text.strip().split("\n")[0])


def add_page(tally, file, text):
    """Counts the words of a page, without its examples."""
    tally.add_prose(file, 1, FENCED.sub(lambda example: "\n" * example[0].count("\n"), text))


def tallies():
    """Returns the counts of each module."""
    counts = {module: Tally() for module in (*MODULES, PAGES)}
    for file in git_files():
        module = file.split("/")[0]
        is_source = module in MODULES and SOURCE.search(file)
        if not is_source and not PAGE.match(file):
            continue
        text = pathlib.Path(file).read_text(encoding="utf-8", errors="replace")
        if is_source:
            add_source(counts[module], file, text)
        else:
            add_page(counts[PAGES], file, text)
    return counts


def over(figures):
    """Returns the names of the figures that are over their limits."""
    return [
        name for name, figure, limit in zip(FIGURES, figures, LIMITS, strict=True) if figure > limit
    ]


def row(name, cells):
    """Returns a line of the table."""
    return f"{name:10}" + "".join(f"{cell:>18}" for cell in cells)


def main():
    """Prints the table and the places. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true")
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    options = parser.parse_args()
    for unknown in set(options.modules) - {*MODULES, PAGES}:
        parser.error(f"there is no module {unknown}")
    failed = []
    table = [row("", [f"{name} {'%' if name in FIGURES[:2] else 'per 1000'}" for name in FIGURES])]
    for module, tally in tallies().items():
        figures = tally.figures()
        wrong = over(figures)
        table.append(
            row(
                module,
                [
                    f"{figure:g} (of {limit:g})"
                    for figure, limit in zip(figures, LIMITS, strict=True)
                ],
            )
        )
        failed += [f"{module}: {name}" for name in wrong]
        is_wanted = options.all or module in options.modules
        for place in tally.places:
            if is_wanted or place.figure in wrong:
                print(f"{place.file}:{place.line}: {place.figure}: {place.text}")
    print("\n".join(table))
    if failed:
        print("over the limit: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
