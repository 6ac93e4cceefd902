"""Runs benchmarks and keeps their figures: run.py BUILD_DIR [startup clusters execute hosts copy
job comm scale clouds skypilot environments]

Each writes docs/benchmarks/NAME.md and NAME.json, with the machine that it was measured on.
"""

import datetime
import importlib
import json
import os
import pathlib
import sys
import tempfile

import measure
from pages import table

NAMES = (
    "startup",
    "clusters",
    "execute",
    "hosts",
    "copy",
    "job",
    "comm",
    "scale",
    "clouds",
    "skypilot",
    "environments",
)


def main():
    build, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise SystemExit(f"bench: unknown benchmark '{unknown[0]}'; there are: {' '.join(NAMES)}")
    fastgpu = str(build / "cli" / "fastgpu")
    folder = pathlib.Path("docs/benchmarks")
    on, today = measure.machine(), datetime.date.today().isoformat()
    described = (
        f"{on['cpu']}, {on['cores']} cores, {on['memory_gib']} GiB, {on['system']}, Linux "
        f"{on['kernel']}"
    )
    with tempfile.TemporaryDirectory(prefix="fastgpu-bench-state-") as state:
        os.environ["FASTGPU_STATE_DIR"] = state
        for name in names:
            print(f"==> {name}", file=sys.stderr)
            module = importlib.import_module(f"cases.{name}")
            if hasattr(module, "write"):
                print(module.write(build, folder, described, today, on))
                continue
            head, rows, note = module.bench(fastgpu)
            text = (
                f"# {module.TITLE}\n\n{table(head, rows)}\n{note}\n\n"
                f"Measured on {today}: {described}.\n"
            )
            print(text)
            (folder / f"{name}.md").write_text(text)
            (folder / f"{name}.json").write_text(
                json.dumps(
                    {
                        "schema": "fastgpu.benchmark/1",
                        "name": name,
                        "date": today,
                        "machine": on,
                        "columns": head,
                        "rows": rows,
                        "note": note,
                    },
                    indent=1,
                )
                + "\n"
            )


main()
