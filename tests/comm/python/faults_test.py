"""Ranks that disagree, fail, die or never come: an exception on the others names them."""
import os
import signal
import sys

from ranks import check, need, on_ranks, raises, run_ranks, run_tests

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402


def killed():
    """Rank 1 dies while the others wait for it."""
    comm = fc.init()
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    with raises(fc.RemoteError, "rank 1"):
        comm.all_reduce(numpy.ones(1000000))
    with raises(fc.Error, "rank 1"):  # And so on.
        comm.barrier()


def test_a_rank_that_is_killed_is_named_on_the_others():
    results = run_ranks("killed", 3)
    check([code for code, _ in results] == [0, -signal.SIGKILL, 0], f"{results}")


def killed_while_something_is_under_way():
    comm = fc.init()
    gradients = fc.Gradients(comm)
    gradients.register("weight", numpy.ones(10))
    request = comm.all_reduce_async(numpy.ones(1000000))
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    with raises(fc.RemoteError, "rank 1"):
        request.wait()
    with raises(fc.RemoteError, "rank 1"):
        gradients.ready("weight")
        gradients.wait()


def test_what_was_under_way_with_a_killed_rank_fails_too():
    results = run_ranks("killed_while_something_is_under_way", 2)
    check([code for code, _ in results] == [0, -signal.SIGKILL], f"{results}")


def failing():
    with fc.init() as comm:
        if comm.rank == 1:
            raise OSError("the data is not there")
        comm.barrier()


def test_an_exception_within_leaves_the_job_and_ends_the_others():
    (first, said), (second, of_the_second) = run_ranks("failing", 2)
    check(first == 1 and "RemoteError" in said and "rank 1" in said, said)
    check(second == 1 and "the data is not there" in of_the_second, of_the_second)


def alone():
    with raises(fc.RankTimeoutError, "rank"):
        fc.init({"RANK": "0", "WORLD_SIZE": "2", "FASTGPU_COMM_TIMEOUT": "1s"})


def test_ranks_that_never_come_are_waited_for_no_longer_than_the_timeout():
    (code, said), = run_ranks("alone", 1)
    check(code == 0, said)


@on_ranks(2)
def a_disagreement_is_told_on_both(comm):
    with raises(fc.Error, "rank"):
        comm.all_reduce(numpy.ones(10 + comm.rank))
    comm.close()
    sys.exit(0)


run_tests(dict(globals()))
