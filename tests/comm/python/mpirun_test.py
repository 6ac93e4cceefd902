"""Ranks that mpirun has started, which nobody has told where to meet: TEST.py PACKAGE_DIRECTORY
LIBRARY, with the plugin for MPI in FASTGPU_TEST_MPI_PLUGIN.
"""

import os

from ranks import need, run_mpirun, run_tests
from suite import assert_equal, assert_in, assert_not_equal, need_programs

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402


def everything_once():
    with fc.init() as comm:
        assert_equal(comm.size, 3, f"{comm}")
        assert_equal(comm.rank, int(os.environ["OMPI_COMM_WORLD_RANK"]), f"{comm}")
        assert_equal(comm.all_reduce(numpy.full(1000, comm.rank)).tolist(), [3] * 1000)
        gradients = fc.Gradients(comm)
        data = numpy.full(7, comm.rank, "f4")
        gradients.register("weight", data)
        gradients.ready("weight")
        gradients.wait()
        assert_equal(data.tolist(), [1] * 7)


def test_ranks_of_mpirun_find_each_other():
    plugin = os.environ["FASTGPU_TEST_MPI_PLUGIN"]
    ((code, said),) = run_mpirun("everything_once", 3, plugin)
    assert_equal(code, 0, said)


def one_fails():
    with fc.init() as comm:
        if comm.rank == 1:
            raise OSError("the data is not there")
        comm.barrier()


def test_one_that_fails_ends_them_all():
    ((code, said),) = run_mpirun("one_fails", 3, os.environ["FASTGPU_TEST_MPI_PLUGIN"])
    assert_not_equal(code, 0, said)
    assert_in("the data is not there", said)


need_programs("mpirun")
run_tests(dict(globals()))
