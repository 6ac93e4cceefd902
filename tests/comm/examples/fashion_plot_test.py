"""The drawing of training reports, of a real one: fashion_plot_test.py PLOT_PY TRAINING_PROGRAM"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
EPOCHS = 3


def drawn(plot, reports):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"{i}.json" for i in range(len(reports))]
        for file, report in zip(files, reports, strict=True):
            file.write_text(json.dumps(report))
        done = subprocess.run(
            [sys.executable, plot, *files], check=True, capture_output=True, text=True
        )
    return ElementTree.fromstring(done.stdout)


def main():
    plot, program = sys.argv[1:]
    run = subprocess.run(
        [program, "--epochs", str(EPOCHS), "--json"], check=True, capture_output=True, text=True
    )
    report = json.loads(run.stdout)  # And nothing else on stdout.
    assert "epoch 3" in run.stderr, run.stderr
    assert [each["epoch"] for each in report["curve"]] == [1, 2, 3], report
    assert all(a["bytes"] < b["bytes"] for a, b in itertools.pairwise(report["curve"])), report

    picture = drawn(plot, [report, report | {"wire": "fp16"}])
    lines = picture.findall(SVG + "polyline")
    assert len(lines) == 4, "two curves over two quantities"
    width, height = float(picture.get("width")), float(picture.get("height"))
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        assert len(points) == EPOCHS, points
        assert all(0 < x < width and 0 < y < height for x, y in points), points
    text = " ".join(each.text for each in picture.findall(SVG + "text"))
    assert "fp32 on the wire" in text and "fp16 on the wire" in text and "seconds" in text, text

    # Codecs, one of which sends a sixtieth: bytes are then drawn by their logarithm.
    fewer = [point | {"bytes": point["bytes"] / 60} for point in report["curve"]]
    many = [report, *[report | {"wire": wire} for wire in ("int8", "1bit")]]
    picture = drawn(plot, [*many, report | {"wire": "topk:0.01", "curve": fewer}])
    lines = picture.findall(SVG + "polyline")
    assert len(lines) == 8, "four curves over two quantities"
    ends = [float(line.get("points").split()[-1].split(",")[0]) for line in lines[4:]]
    assert width / 2 < ends[3] < ends[0] < width, ends
    assert ends[3] - width / 2 > 60, "fewer bytes are not all at the left edge"
    assert float(picture.get("height")) > height, "a second row of the legend has room"


main()
