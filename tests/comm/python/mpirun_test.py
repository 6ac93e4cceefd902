"""Ranks that mpirun has started, which nobody has told where to meet: TEST.py PACKAGE_DIRECTORY LIBRARY, with the plugin for MPI in FASTGPU_TEST_MPI_PLUGIN."""
import os
import shutil
import sys

from ranks import SKIPPED, check, need, run_mpirun, run_tests

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402


def everything_once():
    with fc.init() as comm:
        check(comm.size == 3 and comm.rank == int(os.environ["OMPI_COMM_WORLD_RANK"]), f"{comm}")
        check(comm.all_reduce(numpy.full(1000, comm.rank)).tolist() == [3] * 1000)
        gradients = fc.Gradients(comm)
        data = numpy.full(7, comm.rank, "f4")
        gradients.register("weight", data)
        gradients.ready("weight")
        gradients.wait()
        check(data.tolist() == [1] * 7)


def test_ranks_of_mpirun_find_each_other():
    plugin = os.environ["FASTGPU_TEST_MPI_PLUGIN"]
    (code, said), = run_mpirun("everything_once", 3, plugin)
    check(code == 0, said)


def one_fails():
    with fc.init() as comm:
        if comm.rank == 1:
            raise OSError("the data is not there")
        comm.barrier()


def test_one_that_fails_ends_them_all():
    (code, said), = run_mpirun("one_fails", 3, os.environ["FASTGPU_TEST_MPI_PLUGIN"])
    check(code != 0 and "the data is not there" in said, said)


if shutil.which("mpirun") is None:
    print("skipped: there is no mpirun")
    sys.exit(SKIPPED)
run_tests(dict(globals()))
