"""Runs commands of fastgpu and reads their documents."""

import json
import os
import subprocess


class Error(RuntimeError):
    """A command of fastgpu that failed. `kind` is that of its document, such as "conflict"."""

    def __init__(self, message, kind=None, exit_code=None):
        super().__init__(message)
        self.kind, self.exit_code = kind, exit_code


class CommandError(Error):
    """A program on the tasks of a job that ended with a status other than 0."""


class _Settings:
    program, state_dir, shows_progress = "fastgpu", None, False


def use(program="fastgpu", state_dir=None, progress=False):
    """Sets the program that is run, its state directory, and whether its progress is shown."""
    _Settings.program, _Settings.state_dir = program, state_dir
    _Settings.shows_progress = progress


def flags_of(values):
    """Returns flags: {"max_life": "1h", "spot": True} are --max-life=1h and --spot."""
    words = []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            several = value if isinstance(value, (list, tuple)) else [value]
            words += [f"{flag}={one}" for one in several]
    return words


def call(words, program=(), variables=None, text=None):
    """Runs a command, with a program for the nodes behind it. Returns its document and exit code.

    Raises Error if the command itself failed.
    """
    state = [] if _Settings.state_dir is None else [f"--state-dir={_Settings.state_dir}"]
    behind = ["--", *program] if program else []
    given = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    done = subprocess.run(
        [_Settings.program, *words, *state, "--output=json", *behind],
        env={**os.environ, **(variables or {})},
        **given,
        stdout=subprocess.PIPE,
        stderr=None if _Settings.shows_progress else subprocess.PIPE,
        text=True,
        check=False,
    )
    try:
        document = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr or "").strip() or f"fastgpu ended with {done.returncode}"
        raise Error(said, exit_code=done.returncode) from None
    if document["schema"].startswith("fastgpu.error/"):
        error = document["error"]
        raise Error(error["message"], error["kind"], done.returncode)
    return document, done.returncode
