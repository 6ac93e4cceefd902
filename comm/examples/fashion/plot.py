"""Draws reports of fastgpu-fashion as SVG: plot.py REPORT.json... > FILE.svg"""

import json
import math
import pathlib
import sys

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 28, 36, 44
COLOURS = "#1f6fb4", "#d9690f", "#2e8b3d", "#7a52a3", "#b03a48", "#5c6670"
LEGENDS_IN_ROW = 3
ROW = 18  # Pixels that each further row of the legend takes.
STYLE = "font: 12px sans-serif; fill: #222"


def steps(most, wanted=5):
    """Returns round numbers from 0 to at least `most`, which is more than 0."""
    rough = most / wanted
    magnitude = 10 ** math.floor(math.log10(rough))
    step = next(
        factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough * 0.999
    )
    return [step * i for i in range(math.ceil(most / step * 0.999) + 1)]


def powers(least, most):
    """Returns powers of ten from one that is at most `least` to one that is at least `most`."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def panel(reports, key, unit, scale, corner, is_log=False):
    """Draws the loss over one quantity."""
    left, top = corner
    curves = [
        [(0.0 + each[key] / scale, each["loss"]) for each in report["curve"]] for report in reports
    ]
    xs = [x for curve in curves for x, _ in curve]
    across = powers(min(xs), max(xs)) if is_log else steps(max(xs))
    up = steps(max(y for curve in curves for _, y in curve))

    def share(x):
        if is_log:
            return math.log(x / across[0]) / math.log(across[-1] / across[0])
        return x / across[-1]

    def x_of(x):
        return left + LEFT + share(x) * (WIDTH - LEFT - RIGHT)

    def y_of(y):
        return top + HEIGHT - BOTTOM - y / up[-1] * (HEIGHT - BOTTOM - TOP)

    lines = []
    for y in up:
        lines.append(
            f'<line x1="{x_of(across[0]):.1f}" x2="{x_of(across[-1]):.1f}" y1="{y_of(y):.1f}" '
            f'y2="{y_of(y):.1f}" stroke="#ddd"/>'
        )
        lines.append(
            f'<text x="{x_of(across[0]) - 6:.1f}" y="{y_of(y) + 4:.1f}" text-anchor="end" '
            f'style="{STYLE}">{y:g}</text>'
        )
    for x in across:
        lines.append(
            f'<text x="{x_of(x):.1f}" y="{y_of(0) + 18:.1f}" text-anchor="middle" '
            f'style="{STYLE}">{x:g}</text>'
        )
    lines.append(
        f'<text x="{(x_of(across[0]) + x_of(across[-1])) / 2:.1f}" y="{top + HEIGHT - 6}" '
        'text-anchor="middle" '
        f'style="{STYLE}">{unit}</text>'
    )
    for i, curve in enumerate(curves):
        points = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in curve)
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[i % len(COLOURS)]}" '
            'stroke-width="2"/>'
        )
    return lines


def drawing(files):
    reports = [json.loads(pathlib.Path(file).read_text(encoding="utf-8")) for file in files]
    rows = math.ceil(len(reports) / LEGENDS_IN_ROW)
    top = ROW * (rows - 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{top + HEIGHT}">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, report in enumerate(reports):
        row, column = divmod(i, LEGENDS_IN_ROW)
        x, y = LEFT + 250 * column, ROW * row
        lines.append(
            f'<rect x="{x}" y="{y + 10}" width="14" height="4" fill="{COLOURS[i % len(COLOURS)]}"/>'
        )
        lines.append(
            f'<text x="{x + 20}" y="{y + 17}" style="{STYLE}">{report["wire"]} on the wire: '
            f"{report['accuracy']:.1%} right</text>"
        )
    all_bytes = [report["curve"][-1]["bytes"] for report in reports]
    is_wide = max(all_bytes) > 10 * min(all_bytes)
    lines += panel(reports, "seconds", "training loss over seconds", 1, (0, top))
    lines += panel(
        reports,
        "bytes",
        "training loss over megabytes of gradients a rank",
        1e6,
        (WIDTH, top),
        is_log=is_wide,
    )
    return "\n".join(lines + ["</svg>"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(drawing(sys.argv[1:]))
