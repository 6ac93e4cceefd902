"""Runs commands of fastgpu and reads their documents."""

import contextlib
import json
import os
import subprocess


class Error(RuntimeError):
    """A command of fastgpu that failed. `kind` is that of its document, such as "conflict", and
    `job` the id of the job that it is about, if there is one.
    """

    def __init__(self, message, kind=None, exit_code=None, job=None):
        super().__init__(message)
        self.kind, self.exit_code, self.job = kind, exit_code, job


class CommandError(Error):
    """A program on the tasks of a job that ended with a status other than 0."""


class _Settings:
    program, state_dir, shows_progress = "fastgpu", None, False


def use(program="fastgpu", state_dir=None, progress=False):
    """Sets the program that is run, its state directory, and whether its progress is shown."""
    _Settings.program, _Settings.state_dir = program, state_dir
    _Settings.shows_progress = progress


# The flags that take several values as one list with commas. All others are repeated.
_COMMA_LISTS = {"array", "host", "on"}


def flags_of(values):
    """Returns flags: {"max_life": "1h", "spot": True} are --max-life=1h and --spot.

    A list of values repeats the flag, or is joined by commas where the flag takes such a list.
    """
    words = []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            several = value if isinstance(value, (list, tuple)) else [value]
            if several and name in _COMMA_LISTS:
                several = [",".join(str(one) for one in several)]
            words += [f"{flag}={one}" for one in several]
    return words


def program_words(program):
    """Returns the words of a program: a text is a line for the shell, anything else a list."""
    if isinstance(program, str):
        return ["sh", "-c", program]
    return [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in program]


def variables_of(env):
    """Returns environment variables as texts. Raises Error, naming the variable, for other values.

    Numbers and paths are written as Python does. True and None are refused: programs disagree on
    how they are written.
    """
    variables = {}
    for name, value in env.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise Error(f"env: {name!r} is not the name of a variable", "usage")
        if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
            kind = type(value).__name__
            raise Error(f"env: the value of {name} is a {kind}, not a text or a number", "usage")
        variables[name] = str(os.fspath(value) if isinstance(value, os.PathLike) else value)
        if "\0" in variables[name]:
            raise Error(f"env: the value of {name} has a NUL byte", "usage")
    return variables


@contextlib.contextmanager
def _flags_of_variables(variables):
    """Gives flags that set variables of ranks, variables of the command, and its descriptors.

    The values are in a file without a name rather than in the command's own environment, where a
    PATH or HTTPS_PROXY for the ranks would change the command. The file has a line for each: a text
    of several lines is in the environment all the same.
    """
    in_file = {
        name: value
        for name, value in variables.items()
        if "\n" not in value and not value.endswith("\r") and not name.startswith("#")
    }
    others = {name: value for name, value in variables.items() if name not in in_file}
    flags = [f"--env={name}" for name in others]
    if not in_file:
        yield flags, others, ()
        return
    with open(os.memfd_create("variables"), "wb") as file:
        file.writelines(os.fsencode(f"{name}={value}\n") for name, value in in_file.items())
        file.flush()
        yield [*flags, f"--env-file=/dev/fd/{file.fileno()}"], others, (file.fileno(),)


def call(words, program=(), variables=None, text=None):
    """Runs a command, with a program for the nodes behind it and variables of its ranks.

    Returns its document and exit code. Raises Error if the command itself failed.
    """
    state = [] if _Settings.state_dir is None else [f"--state-dir={_Settings.state_dir}"]
    behind = ["--", *program] if program else []
    given = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    with _flags_of_variables(variables or {}) as (flags, own, descriptors):
        done = subprocess.run(
            [_Settings.program, *words, *flags, *state, "--output=json", *behind],
            env={**os.environ, **own},
            pass_fds=descriptors,
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
        raise Error(error["message"], error["kind"], done.returncode, error.get("job"))
    return document, done.returncode
