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

# The flags whose value is a TIME in the help. A number is one in seconds.
DURATIONS = {
    "grace",
    "hang_timeout",
    "hold",
    "idle_delete",
    "idle_stop",
    "index_timeout",
    "interval",
    "max_life",
    "older_than",
    "since",
    "time",
    "timeout",
    "unattended",
    "wait",
}


def _value_text(name, value):
    """Returns the text of a flag's value: {"timeout": 90} is --timeout=90s."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value}s" if is_number and name in DURATIONS else str(value)


def flags_of(values):
    """Returns flags: {"spot": True, "max_life": "1h"} are --max-life=1h and --spot.

    A number for a duration is in seconds: {"timeout": 90} is --timeout=90s.
    A list of values repeats the flag, or is joined by commas where the flag takes such a list.
    Flags without a value are last: a flag that lacks its value takes no other one for it.
    """
    words, bare = [], []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            bare.append(flag)
        elif value is not None and value is not False:
            several = value if isinstance(value, (list, tuple)) else [value]
            if several and name in _COMMA_LISTS:
                several = [",".join(str(one) for one in several)]
            words += [f"{flag}={_value_text(name, one)}" for one in several]
    return words + bare


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


def _operand(value):
    """Returns a name or path for a command line. Raises Error if it would be taken for a flag."""
    text = str(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if not text or text.startswith("-"):
        raise Error(f"{text!r} is not a name: it is empty, or begins with '-'", "usage", 2)
    return text


def _run(words, variables, text):
    """Runs fastgpu with these words. Returns what subprocess.run() does."""
    with _flags_of_variables(variables) as (flags, own, descriptors):
        at = words.index("--") if "--" in words else len(words)
        given = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        try:
            return subprocess.run(
                [_Settings.program, *words[:at], *flags, *words[at:]],
                env={**os.environ, **own},
                pass_fds=descriptors,
                **given,
                stdout=subprocess.PIPE,
                stderr=None if _Settings.shows_progress else subprocess.PIPE,
                text=True,
                check=False,
            )
        except OSError as error:
            why = f"{_Settings.program} cannot be run: {error.strerror}"
            raise Error(why, "local") from None
        except ValueError as error:  # Such as a NUL byte in a word.
            raise Error(f"{words[0]}: {error}", "usage", 2) from None


def call_any_end(command, *operands, flags=None, program=(), variables=None, text=None):
    """Runs a command whose exit code may be that of a program: "exec", "cp", "wait job".

    `operands` are its names and paths, `flags` those of flags_of(), `program` is one for the nodes
    with its words, `variables` are those of its ranks. Returns the document and the exit code.
    Raises Error if the document is an error, or has one.
    """
    state = [] if _Settings.state_dir is None else [f"--state-dir={_Settings.state_dir}"]
    words = [*command.split(), *map(_operand, operands), "--output=json", *state]
    words += [*flags_of(flags or {}), *(["--", *program] if program else [])]
    done = _run(words, variables or {}, text)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr or "").strip()
        said = said or f"fastgpu {command} ended with {done.returncode} and printed no document"
        raise Error(said, exit_code=done.returncode) from None
    error = document.get("error")
    if error:
        raise Error(error["message"], error["kind"], done.returncode, error.get("job"))
    return document, done.returncode


def call(command, *operands, **more):
    """Runs a command, with the arguments of call_any_end(), that ends with 0 if all is well.

    Returns its document. Raises Error for any other end, although there is a document.
    """
    document, code = call_any_end(command, *operands, **more)
    if code != 0:
        kind = document["schema"].rpartition("/")[0]
        raise Error(f"fastgpu {command} ended with {code} after it had printed {kind}", None, code)
    return document
