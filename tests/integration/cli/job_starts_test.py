"""What keeps jobs from starting, and what does not: programs and interpreters that are missing, and
files of parameters of Open MPI: job_starts_test.py FASTGPU [TEST ...]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster
from suite import assert_equal, assert_in, assert_not_in, assert_true, skip


@shared_cluster
def test_a_file_of_the_users_does_not_choose_how_mpirun_starts_its_daemons(user):
    name = user.two_nodes()
    file = "mkdir -p /root/.openmpi; echo plm = slurm >/root/.openmpi/mca-params.conf"
    user.run("exec", name, "--", "sh", "-c", file)
    try:
        for cluster, ranks in ((name, 2), (f"{name}/0", 1)):
            done = user.run(*job_words(cluster, ranks, ["echo", "up"]))
            assert_equal(done.out.count(b"up\n"), ranks, done.err)
    finally:
        user.run("exec", name, "--", "rm", "-r", "/root/.openmpi")


SUM = r"""#include <mpi.h>
#include <stdio.h>
int main(void) {
  int one = 1, sum = 0;
  MPI_Init(NULL, NULL);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("sum %d\n", sum);
  return MPI_Finalize();
}
"""


@shared_cluster
def test_a_file_of_parameters_that_leaves_networks_out_does_not_prevent_the_start(user):
    name = user.two_nodes()
    put = "mkdir -p ~/.openmpi; echo oob_tcp_if_exclude = docker0 >~/.openmpi/mca-params.conf"
    for node in (0, 1):
        user.run("exec", f"{name}/{node}", "--", "sh", "-c", put)
        try:
            done = user.run(*job_words(name, 2, ["echo", "up"]))
            assert_equal(done.out.count(b"up\n"), 2, done.err)
        finally:
            user.run("exec", f"{name}/{node}", "--", "sh", "-c", "rm -r ~/.openmpi")


@shared_cluster
def test_ranks_meet_by_mpi_although_a_file_of_parameters_leaves_networks_out(user):
    name = user.two_nodes()
    source = user.folder / "ring"
    source.mkdir()
    (source / "sum.c").write_text(SUM)
    if not shutil.which("mpicc"):
        skip("needs mpicc")
    subprocess.run(["mpicc", "-o", source / "sum", source / "sum.c"], check=True)
    put = "mkdir -p ~/.openmpi; echo btl_tcp_if_exclude = lo,docker0 >~/.openmpi/mca-params.conf"
    user.run("exec", name, "--", "sh", "-c", put)
    try:
        done = user.run(*job_words(name, 2, ["./sum"], "ring", "--sync", str(source)))
        assert_equal(sorted(done.out.splitlines()), [b"[0] sum 2", b"[1] sum 2"], done.err)
    finally:
        user.run("exec", name, "--", "sh", "-c", "rm -r ~/.openmpi")


@shared_cluster
def test_a_program_that_is_here_alone_is_advised_about(user):
    name = user.two_nodes()
    done = user.run(*job_words(name, 1, ["echo hello"], "words"), code=127)
    assert_in("write its words apart (-- echo ...)", done.err)
    lacking = f"error: {name}-0: nosuchprog: No such file or directory"
    for more in ([], ["--launcher", "plain"]):
        words = job_words(name, 2, ["nosuchprog"], "lacks", "--dry-run", *more)
        assert_in(lacking, user.run(*words, code=127).err)
    # The job decides then where its programs are.
    user.run(*job_words(name, 2, ["nosuchprog"], "sets", "--dry-run", "-e", "PATH=/opt/bin"))
    source = user.folder / "source"
    source.mkdir()
    (source / "train.sh").write_text("#!/bin/sh\necho trained\n")
    (source / "train.sh").chmod(0o755)
    words = job_words(name, 1, ["./train.sh"], "here")
    done = user.run(*words, code=127, prefix=("env", "-C", str(source)))
    assert_in("--sync . copies this directory", done.err)
    words = job_words(name, 1, ["./train.sh"], "here", "--sync", ".")
    done = user.run(*words, prefix=("env", "-C", str(source)))
    assert_equal(done.out, b"[0] trained\n")
    (source / "train.sh").write_text("#!/nonexistent\n")
    done = user.run(*words, code=127, prefix=("env", "-C", str(source)))
    assert_in("its interpreter /nonexistent (in its first line) does not exist", done.err)
    # The script is there: it need not be copied.
    assert_in("install that interpreter on the nodes, or name one", done.err)
    assert_not_in("copies this directory", done.err)
    (source / "train.sh").write_text("#!/usr/bin/env nosuchpython\n")
    for more in ([], ["--launcher", "plain"]):
        words = job_words(name, 2, ["./train.sh"], "env", "--sync", ".", *more)
        done = user.run(*words, code=127, prefix=("env", "-C", str(source)))
        assert_true(re.search(f"on {name}-[01]: ./train.sh: its interpreter 'nosuchp", done.err))


@shared_cluster
def test_a_torchrun_without_its_interpreter_is_named_before_the_start(user):
    name = user.two_nodes()
    script = "mkdir /tmp/venv; printf '#!/old/python\\n' >/tmp/venv/torchrun"
    user.run("exec", f"{name}/1", "--", "sh", "-c", f"{script}; chmod 755 /tmp/venv/torchrun")
    link = "mkdir /tmp/venv; ln -s /bin/true /tmp/venv/torchrun"
    user.run("exec", f"{name}/0", "--", "sh", "-c", link)
    words = ["--launcher", "torchrun", "-e", "PATH=/tmp/venv:/nonexistent"]
    done = user.run(*job_words(name, 2, ["train.py"], "moved", *words), code=1)
    assert_in(f"{name}-1: /tmp/venv/torchrun: its interpreter /old/python (in its", done.err)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    run_tests(globals())
