"""Draws reports of fastgpu-fashion as SVG: plot.py REPORT.json... > FILE.svg"""

import json
import math
import pathlib
import sys

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 28, 36, 44
COLOURS = "#1f6fb4", "#d9690f", "#2e8b3d", "#7a52a3"
STYLE = "font: 12px sans-serif; fill: #222"


def steps(most, wanted=5):
    """Returns round numbers from 0 to at least `most`, which is more than 0."""
    rough = most / wanted
    magnitude = 10 ** math.floor(math.log10(rough))
    step = next(
        factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough * 0.999
    )
    return [step * i for i in range(math.ceil(most / step * 0.999) + 1)]


def panel(reports, key, unit, scale, left):
    """Draws the loss over one quantity."""
    curves = [
        [(0.0 + each[key] / scale, each["loss"]) for each in report["curve"]] for report in reports
    ]
    across = steps(max(x for curve in curves for x, _ in curve))
    up = steps(max(y for curve in curves for _, y in curve))

    def x_of(x):
        return left + LEFT + x / across[-1] * (WIDTH - LEFT - RIGHT)

    def y_of(y):
        return HEIGHT - BOTTOM - y / up[-1] * (HEIGHT - BOTTOM - TOP)

    lines = []
    for y in up:
        lines.append(
            f'<line x1="{x_of(0):.1f}" x2="{x_of(across[-1]):.1f}" y1="{y_of(y):.1f}" '
            f'y2="{y_of(y):.1f}" stroke="#ddd"/>'
        )
        lines.append(
            f'<text x="{x_of(0) - 6:.1f}" y="{y_of(y) + 4:.1f}" text-anchor="end" '
            f'style="{STYLE}">{y:g}</text>'
        )
    for x in across:
        lines.append(
            f'<text x="{x_of(x):.1f}" y="{y_of(0) + 18:.1f}" text-anchor="middle" '
            f'style="{STYLE}">{x:g}</text>'
        )
    lines.append(
        f'<text x="{x_of(across[-1] / 2):.1f}" y="{HEIGHT - 6}" text-anchor="middle" '
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
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{HEIGHT}">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, report in enumerate(reports):
        lines.append(
            f'<rect x="{LEFT + 250 * i}" y="10" width="14" height="4" '
            f'fill="{COLOURS[i % len(COLOURS)]}"/>'
        )
        lines.append(
            f'<text x="{LEFT + 250 * i + 20}" y="17" style="{STYLE}">{report["wire"]} on the wire, '
            f"{report['ranks']} ranks: {report['accuracy']:.1%} right</text>"
        )
    lines += panel(reports, "seconds", "training loss over seconds", 1, 0)
    lines += panel(reports, "bytes", "training loss over megabytes of gradients a rank", 1e6, WIDTH)
    return "\n".join(lines + ["</svg>"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(drawing(sys.argv[1:]))
