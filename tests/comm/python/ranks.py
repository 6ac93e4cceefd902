"""Tests of the Python package, each a function. One that begins with test_ runs here; a function of
`on_ranks` runs in so many processes at once, each of them a rank, and is given its communicator:
TEST.py PACKAGE_DIRECTORY LIBRARY [TEST ...]
"""

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
import suite
from suite import assert_equal, assert_in

LIMIT = 120  # Seconds for one test.
FOREIGN = (
    "RANK",
    "WORLD_SIZE",
    "MASTER_",
    "FASTGPU_COMM_",
    "OMPI_",
    "PERSEUS_",
    "PYTHONPATH",
    "TORCHELASTIC_",
)

PACKAGE, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])
sys.dont_write_bytecode = True
os.environ["OMP_NUM_THREADS"] = "1"  # PyTorch reads it when it is imported.
sys.path.insert(0, PACKAGE)


def need(module, package=None):
    """Skips all of it where that is not installed."""
    try:
        return __import__(module)
    except ImportError:
        suite.skip(f"{sys.executable} has no {module} ({package or f'Debian: python3-{module}'})")


@contextlib.contextmanager
def raises(kind, *words):
    """What is within fails like that, and says all those words."""
    try:
        yield
    except kind as error:
        for word in words:
            assert_in(word, str(error))
    else:
        raise AssertionError(f"no {kind.__name__}")


def environment(more=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {
        **kept,
        "FASTGPU_COMM_LIBRARY": LIBRARY,
        "FASTGPU_COMM_TIMEOUT": "30s",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "error::ResourceWarning",
        **(more or {}),
    }


class RankStarter:
    """A process that stays as this one is now, with all that it has imported, and forks ranks.

    To import PyTorch takes longer than most tests. This process may not fork ranks itself: once it
    has trained, PyTorch has threads here.
    """

    def __init__(self):
        here, there = socket.socketpair()
        self.name = None  # The function that this process runs as a rank.
        self.pid = os.fork()
        if self.pid == 0:
            here.close()
            self._serve(there)
            return
        there.close()
        self.requests = here.makefile("rw")

    def run(self, name, environments):
        """Runs the function as ranks, and returns their exit statuses and output."""
        with tempfile.TemporaryDirectory() as folder:
            outputs = [os.path.join(folder, str(rank)) for rank in range(len(environments))]
            json.dump([name, list(zip(environments, outputs))], self.requests)
            self.requests.write("\n")
            self.requests.flush()
            codes = json.loads(self.requests.readline())
            texts = []
            for output in outputs:
                with open(output, errors="replace") as file:
                    texts.append(file.read())
        return list(zip(codes, texts))

    def _serve(self, connection):
        """Forks the ranks of each request. Returns in a rank; ends the process after the last."""
        requests = connection.makefile("rw")
        for line in requests:
            name, ranks = json.loads(line)
            running = []
            for variables, output in ranks:
                pid = os.fork()
                if pid == 0:
                    connection.close()
                    self._become_rank(name, variables, output)
                    return
                running.append(pid)
            json.dump([ended_by_limit(pid) for pid in running], requests)
            requests.write("\n")
            requests.flush()
        os._exit(0)

    def _become_rank(self, name, variables, output):
        os.environ.clear()
        os.environ.update(variables)
        warnings.simplefilter("error", ResourceWarning)
        file = os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.close(file)
        self.name = name


def ended_by_limit(pid):
    """Returns the exit status of a child, which is killed if it takes longer than a test may."""
    deadline = time.monotonic() + LIMIT
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended != 0:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


starter = None  # The starter of ranks; None: each is a program of its own.


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def program(name):
    return [sys.executable, os.path.abspath(sys.argv[0]), PACKAGE, LIBRARY, "rank", name]


def finish(processes):
    """What they have said, with their exit statuses; none is left."""
    deadline = time.monotonic() + LIMIT
    try:
        outputs = [
            process.communicate(timeout=max(1, deadline - time.monotonic()))[0]
            for process in processes
        ]
    finally:
        for process in processes:
            process.kill()
    return [
        (process.returncode, output.decode(errors="replace"))
        for process, output in zip(processes, outputs)
    ]


def run_ranks(name, ranks, more=None):
    """The function `name` in so many processes, which meet by TCP."""
    job = {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": free_port(),
        **(more or {}),
    }
    if starter is not None:
        return starter.run(name, [environment({**job, "RANK": str(r)}) for r in range(ranks)])
    return finish(
        [
            subprocess.Popen(
                program(name),
                env=environment({**job, "RANK": str(rank)}),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for rank in range(ranks)
        ]
    )


def run_mpirun(name, ranks, plugin):
    """The same by mpirun, which tells the ranks all they know."""
    # Open MPI names what it leaves by the host and mpirun's process number, which tests share.
    with tempfile.TemporaryDirectory() as folder:
        own = {
            "TMPDIR": folder,
            "OMPI_MCA_btl_vader_backing_directory": folder,
            "FASTGPU_COMM_MPI_PLUGIN": plugin,
        }
        words = [
            "mpirun",
            "--allow-run-as-root",
            "--oversubscribe",
            "--mca",
            "mpi_yield_when_idle",
            "1",
            "-np",
            str(ranks),
            *program(name),
        ]
        return finish(
            [
                subprocess.Popen(
                    words, env=environment(own), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
                )
            ]
        )


def on_ranks(*sizes, **settings):
    """The function is a test with so many ranks, one after the other; `settings` are variables of
    the library.
    """

    def decorate(function):
        function.sizes = sizes
        function.settings = {f"FASTGPU_COMM_{name}": value for name, value in settings.items()}
        return function

    return decorate


def part(comm, rows):
    """What this rank trains on of the joint batch."""
    n = len(rows) // comm.size
    return rows[comm.rank * n : (comm.rank + 1) * n]


def end_like_a_crash(comm, rank):
    """Of that rank alone."""
    if comm.rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)


def check_dead_rank_is_named(*names):
    """Of two ranks that run the function, of which rank 1 is killed in a step."""
    for name in names:
        (code, said), (other, _) = run_ranks(name, 2)
        assert_equal(code, 1, said)
        assert_in("RemoteError", said)
        assert_in("rank 1", said)
        assert_equal(other, -signal.SIGKILL)


def run_one_rank(function):
    import fastgpu_comm

    if getattr(function, "sizes", None):
        with fastgpu_comm.init() as comm:
            function(comm)
    else:
        function()


def all_well(results):
    for rank, (code, output) in enumerate(results):
        assert_equal(code, 0, f"rank {rank} ended with {code}:\n{output}")


def run_test(name, function):
    if name.startswith("test_"):
        function()
    for size in getattr(function, "sizes", ()):
        all_well(run_ranks(name, size, function.settings))


def run_tests(functions, has_forked_ranks=False):
    """Runs the tests of a file, given its globals(), or the one function that makes this process a
    rank. With `has_forked_ranks` ranks have imported already what this process has.
    """
    words = sys.argv[3:]
    if words[:1] == ["rank"]:
        run_one_rank(functions[words[1]])
        return
    os.environ.update(environment())
    for name in [
        name for name in os.environ if name.startswith(FOREIGN) and name not in environment()
    ]:
        del os.environ[name]
    if has_forked_ranks:
        global starter
        starter = RankStarter()
        if starter.name is not None:
            run_one_rank(functions[starter.name])
            return
    tests = {
        name: functools.partial(run_test, name, function)
        for name, function in functions.items()
        if name.startswith("test_") or hasattr(function, "sizes")
    }
    suite.main(tests, wanted=words)
