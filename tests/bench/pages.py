"""What the pages of several benchmarks are made of."""

import json


def table(head, rows):
    """Of Markdown, with its last line ended."""
    lines = [head, ["---"] * len(head)] + [[str(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def kind_of(build):
    """The build type of a build folder: "release"."""
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
    return next(option["value"] for option in options if option["name"] == "buildtype")
