"""What the pages of several benchmarks are made of."""

import json


def table(head, rows):
    """Of Markdown, with its last line ended."""
    lines = [head, ["---"] * len(head)] + [[str(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def write_page(folder, text, name, today, machine, data):
    """Writes a benchmark's page and its figures: NAME.md and NAME.json."""
    (folder / f"{name}.md").write_text(text)
    about = {"schema": "fastgpu.benchmark/1", "name": name, "date": today, "machine": machine}
    (folder / f"{name}.json").write_text(json.dumps({**about, **data}, indent=1) + "\n")


def kind_of(build):
    """The build type of a build folder: "release"."""
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
    return next(option["value"] for option in options if option["name"] == "buildtype")
