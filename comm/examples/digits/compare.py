"""Compares two reports of fastgpu-digits: compare.py ONE_RANK MANY_RANKS

Exits with 1 if the accuracy is under 95 % or the two differ by more than 0.5 percentage points.
"""

import json
import pathlib
import sys

LEAST, APART = 0.95, 0.005


def main():
    one, many = (
        json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:3]
    )
    apart = abs(one["accuracy"] - many["accuracy"])
    for report in (one, many):
        print(
            f"{report['ranks']} rank{'s' if report['ranks'] > 1 else ' '}: accuracy "
            f"{report['accuracy']:.2%}, "
            f"loss {report['loss']:.4f}, {report['seconds']:.2f} s"
        )
    print(f"apart by {apart * 100:.2f} percentage points (at most {APART * 100:.1f} allowed)")
    sys.exit(0 if apart <= APART and min(one["accuracy"], many["accuracy"]) >= LEAST else 1)


main()
