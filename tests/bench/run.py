"""Runs benchmarks and keeps their figures: run.py BUILD_DIR [startup clusters execute hosts copy
job comm codecs scale clouds skypilot environments]

Each writes docs/benchmarks/NAME.md and NAME.json, with the machine that it was measured on.
comm:PART measures a part of comm alone, and codecs:PART one of codecs. FASTGPU_BENCH_FOLDER is
another folder for the pages.
"""

import datetime
import importlib
import os
import pathlib
import sys
import tempfile

import measure
from pages import table, write_page

NAMES = (
    "startup",
    "clusters",
    "execute",
    "hosts",
    "copy",
    "job",
    "comm",
    "codecs",
    "scale",
    "clouds",
    "skypilot",
    "environments",
)


def check_name(name):
    """Ends the program unless there is such a benchmark, or part of one."""
    whole, colon, part = name.partition(":")
    if whole not in NAMES:
        raise SystemExit(f"bench: unknown benchmark '{whole}'; there are: {' '.join(NAMES)}")
    parts = getattr(importlib.import_module(f"cases.{whole}"), "PARTS", ())
    if colon and part not in parts:
        known = f"its parts are: {' '.join(parts)}" if parts else "it is measured as a whole"
        raise SystemExit(f"bench: {whole} has no part '{part}'; {known}")


def main():
    build, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or NAMES
    for name in names:
        check_name(name)
    fastgpu = str(build / "cli" / "fastgpu")
    folder = pathlib.Path(os.environ.get("FASTGPU_BENCH_FOLDER", "docs/benchmarks"))
    on, today = measure.machine(), datetime.date.today().isoformat()
    described = (
        f"{on['cpu']}, {on['cores']} cores, {on['memory_gib']} GiB, {on['system']}, Linux "
        f"{on['kernel']}"
    )
    with tempfile.TemporaryDirectory(prefix="fastgpu-bench-state-") as state:
        os.environ["FASTGPU_STATE_DIR"] = state
        for name in names:
            print(f"==> {name}", file=sys.stderr)
            name, _, part = name.partition(":")
            module = importlib.import_module(f"cases.{name}")
            if hasattr(module, "write"):
                print(module.write(build, folder, described, today, on, *([part] if part else [])))
                continue
            head, rows, note = module.bench(fastgpu)
            text = (
                f"# {module.TITLE}\n\n{table(head, rows)}\n{note}\n\n"
                f"Measured on {today}: {described}.\n"
            )
            print(text)
            write_page(folder, text, name, today, on, {"columns": head, "rows": rows, "note": note})


main()
