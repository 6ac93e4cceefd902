"""Checks every relative link and anchor in the Markdown pages of a checkout: links.py [CHECKOUT]

Prints "file:line: what is wrong" for each broken link, and exits with 1 if there is one. Addresses
on the web are not opened. Exits with 77 (skipped) where the sources are no checkout of git.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

FENCE = re.compile(r"^\s*(```+|~~~+)")
CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
LABEL = r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]"
TARGET = r"([^()<>\s]+(?:\([^()\s]*\)[^()\s]*)*)"
LINK = re.compile(LABEL + r"\(\s*<?" + TARGET + r">?(?:\s+\"[^\"]*\")?\s*\)")
PICTURE_IN_LINK = re.compile(r"\[!\[[^\]]*\]\(([^)\s]+)\)\]")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]^]+\]:\s+<?(\S+?)>?(?:\s|$)")
HTML = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"")
ANCHOR = re.compile(r"<a\b[^>]*?\b(?:id|name)=\"([^\"]+)\"")
HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$")


def pages_of(root):
    """Returns the Markdown files that git knows, the new ones included.

    Ends the program as skipped where the sources are no checkout of git.
    """
    if not shutil.which("git") or not (root / ".git").exists():
        sys.exit(77)
    listed = subprocess.run(
        [
            "git",
            "-c",
            "safe.directory=*",
            "-C",
            root,
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.md",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (root / name for name in listed.stdout.splitlines())
    return sorted(path for path in paths if path.exists())


def prose_of(text):
    """Yields each line outside of code blocks with its number."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if mark and fence is None:
            fence = mark.group(1)
        elif fence is None:
            yield number, line
        elif mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
            fence = None


def slug_of(heading):
    """Returns the anchor that GitHub gives a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"<[^>]+>", "", text).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors_of(text):
    """Returns the anchors of a page: its headings, numbered where they repeat, and its marks."""
    found, seen = set(), {}
    for _, line in prose_of(text):
        found.update(ANCHOR.findall(line))
        heading = HEADING.match(line)
        if heading:
            slug = slug_of(heading.group(1))
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
    return found


def links_of(text):
    """Yields the target of each link outside of code with its line number."""
    for number, line in prose_of(text):
        plain = CODE.sub("", line)
        targets = LINK.findall(plain) + HTML.findall(plain) + DEFINITION.findall(plain)
        targets += PICTURE_IN_LINK.findall(plain)
        for target in targets:
            yield number, target


def fault_of(root, page, target, anchors):
    """Returns what is wrong with a link, or None."""
    parts = urllib.parse.urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    if target.startswith("/"):
        return f"'{target}' is absolute: link relative to the page"
    path = page if not parts.path else page.parent / urllib.parse.unquote(parts.path)
    resolved = path.resolve()
    if not resolved.is_relative_to(root):
        return f"'{target}' leaves the repository"
    if not resolved.exists():
        return f"'{target}' does not exist"
    if parts.fragment and resolved.suffix == ".md":
        if resolved not in anchors:
            anchors[resolved] = anchors_of(resolved.read_text())
        if urllib.parse.unquote(parts.fragment) not in anchors[resolved]:
            return f"'{target}': {resolved.relative_to(root)} has no heading '#{parts.fragment}'"
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    anchors, count, faults = {}, 0, 0
    pages = pages_of(root)
    for page in pages:
        for number, target in links_of(page.read_text()):
            count += 1
            fault = fault_of(root, page, target, anchors)
            if fault:
                faults += 1
                print(f"{page.relative_to(root)}:{number}: {fault}")
    print(f"{count} links in {len(pages)} pages, {faults} broken", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
