"""Prints what must be built for some suites of tests, as ninja names it: suite_targets.py BUILD_DIR
SUITE...
"""

import json
import os
import subprocess
import sys


def introspected(build, what):
    text = subprocess.run(
        ["meson", "introspect", build, what], capture_output=True, text=True, check=True
    )
    return json.loads(text.stdout)


def main():
    build, suites = sys.argv[1], {f"fastgpu:{suite}" for suite in sys.argv[2:]}
    needed = {
        target
        for test in introspected(build, "--tests")
        if suites & set(test["suite"])
        for target in test["depends"]
    }
    for target in introspected(build, "--targets"):
        if target["id"] in needed:
            for file in target["filename"]:
                print(os.path.relpath(file, os.path.realpath(build)))


main()
