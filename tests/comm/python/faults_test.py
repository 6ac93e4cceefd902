"""Ranks that disagree, fail, die or never come: an exception on the others names them."""

import contextlib
import os
import signal
import sys
import threading
import time

from ranks import need, on_ranks, raises, run_ranks, run_tests
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

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
    assert_equal([code for code, _ in results], [0, -signal.SIGKILL, 0], f"{results}")


def killed_while_something_is_under_way():
    comm = fc.init()
    gradients = fc.Gradients(comm)
    gradients.register("weight", numpy.ones(10))
    if comm.rank == 1:
        time.sleep(0.3)  # Rank 0 begins meanwhile. With this rank's part it could end.
        os.kill(os.getpid(), signal.SIGKILL)
    request = comm.all_reduce_async(numpy.ones(1000000))
    with raises(fc.RemoteError, "rank 1"):
        request.wait()
    with raises(fc.RemoteError, "rank 1"):
        gradients.ready("weight")
        gradients.wait()


def test_what_was_under_way_with_a_killed_rank_fails_too():
    results = run_ranks("killed_while_something_is_under_way", 2)
    assert_equal([code for code, _ in results], [0, -signal.SIGKILL], f"{results}")


def failing():
    with fc.init() as comm:
        if comm.rank == 1:
            raise OSError("the data is not there")
        comm.barrier()


def test_an_exception_within_leaves_the_job_and_ends_the_others():
    (first, said), (second, of_the_second) = run_ranks("failing", 2)
    assert_equal(first, 1, said)
    assert_in("RemoteError", said)
    assert_in("rank 1", said)
    assert_equal(second, 1, of_the_second)
    assert_in("the data is not there", of_the_second)


def forked():
    """A child that is made by fork lives on while its rank dies, and may not use what it has
    inherited.
    """
    comm = fc.init()
    gradients = fc.Gradients(comm)
    gradients.register("weight", numpy.ones(10))
    ends, begins = os.pipe()
    comm.barrier()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (
                comm.barrier,
                lambda: comm.all_reduce_async(numpy.ones(3)),
                lambda: gradients.ready("weight"),
                lambda: comm.split(0),
                gradients.wait,
            ):
                with raises(fc.UsageError, f"forked from rank {comm.rank}"):
                    use()
            code = 0
        finally:
            os.write(begins, b"x")
            if comm.rank == 1:
                os.close(1), os.close(2)  # The test reads them to their end.
                time.sleep(30)
            os._exit(code)
    os.read(ends, 1)
    comm.barrier()  # Untouched by what the child did.
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    with raises(fc.RemoteError, "rank 1"):
        comm.barrier()
    assert_less(time.monotonic() - began, 20, "the dead rank was kept alive by its child")
    assert_equal(os.waitpid(child, 0)[1], 0, "the child could use the communicator")


def test_a_child_made_by_fork_neither_hides_its_rank_nor_uses_what_it_has():
    for shared in ("0", "1"):
        (code, said), _ = run_ranks(
            "forked", 2, {"FASTGPU_COMM_SHARED_MEMORY": shared, "FASTGPU_COMM_TIMEOUT": "60s"}
        )
        assert_equal(code, 0, said)


def uneven():
    comm = fc.init()
    for _ in range(3 + comm.rank):
        comm.all_reduce(numpy.ones(1000))
    group = comm.split(0)  # Rank 1 is in one more all_reduce.
    group.barrier()


def waiting_for_a_gradient():
    comm = fc.init()
    group = comm.split(0)
    gradients = fc.Gradients(group)
    gradients.register("weight", numpy.ones(10))
    for _ in range(3 + comm.rank):
        gradients.ready("weight")
        gradients.wait()
    comm.barrier()


def test_ranks_that_wait_for_each_other_are_told_so_long_before_the_timeout():
    for name, words in (
        ("uneven", ["rank 0 is in", "rank 1 is in"]),
        (
            "waiting_for_a_gradient",
            ["none can go on", "rank 0 waits in barrier", "rank 1 waits in the end of a step"],
        ),
    ):
        began = time.monotonic()
        results = run_ranks(name, 2, {"FASTGPU_COMM_TIMEOUT": "100s"})
        assert_less(time.monotonic() - began, 60, "only the timeout has ended it")
        for code, said in results:
            assert_equal(code, 1, said)
            assert_in("UsageError", said)
        assert_true(any(all(word in said for word in words) for _, said in results), f"{results}")


def late():
    comm = fc.init()
    comm.barrier()
    if comm.rank == 0:
        time.sleep(3)
    comm.barrier()
    comm.shutdown()


def test_a_rank_that_is_late_is_warned_of_and_waited_for():
    (first, _), (second, said) = run_ranks(
        "late", 2, {"FASTGPU_COMM_TIMEOUT": "100s", "FASTGPU_COMM_SILENCE": "500ms"}
    )
    assert_equal(first, 0, said)
    assert_equal(second, 0, said)
    assert_in("fastgpu_comm: rank 0 has sent nothing for", said)
    assert_in("FASTGPU_COMM_TIMEOUT", said)


class Stop(Exception):
    pass


def interrupted():
    """Rank 0 waits for what never comes until a signal ends it; rank 1 sleeps."""
    comm = fc.init()
    comm.barrier()
    if comm.rank == 1:
        with raises(fc.RemoteError, "rank 0", "interrupted"):
            time.sleep(2)
            comm.all_gather(numpy.ones(3))  # What rank 0 gave before is there.
            comm.barrier()
        return
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))

    def send():
        for kind in (signal.SIGUSR1, signal.SIGINT):
            time.sleep(0.3)
            sent.append(time.monotonic())
            os.kill(os.getpid(), kind)

    sent = []
    threading.Thread(target=send).start()
    try:
        comm.all_gather(numpy.ones(3))
    except KeyboardInterrupt:
        seen.append(time.monotonic())
    assert_equal(len(seen), 2, "the wait went on")
    assert_equal(len(sent), 2, "the wait went on")
    assert_true(all(0 <= there - here < 10 for here, there in zip(sent, seen)), f"{sent} {seen}")
    with raises(fc.Error, "interrupted"):
        comm.barrier()


def test_signals_are_seen_in_a_wait():
    all_results = run_ranks("interrupted", 2, {"FASTGPU_COMM_TIMEOUT": "100s"})
    assert_true(all(code == 0 for code, _ in all_results), f"{all_results}")


def called_in_a_handler():
    """A handler of rank 0 makes calls while the rank waits; rank 1 sleeps, then comes."""
    comm = fc.init()
    comm.barrier()
    if comm.rank == 1:
        time.sleep(2)
        with contextlib.suppress(fc.RemoteError):
            comm.all_reduce(numpy.ones(3))
        return
    seen = []

    def handler(*_):
        seen.append(comm.links())  # Waits for nothing.
        comm.blame(1)
        for call in (comm.barrier, lambda: comm.all_gather(numpy.ones(3)), lambda: comm.split(0)):
            with raises(fc.UsageError, "in the handler of a signal, whose thread waits in"):
                call()
        comm.all_reduce_async(numpy.ones(3))

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with raises(fc.UsageError, "all_reduce_async in the handler of a signal"):
        comm.all_reduce(numpy.ones(3))
    assert_equal(len(seen), 1)


def test_a_call_within_a_call_is_refused():
    for code, said in run_ranks("called_in_a_handler", 2, {"FASTGPU_COMM_TIMEOUT": "20s"}):
        assert_equal(code, 0, said)
        assert_not_in("Exception ignored", said)


def interrupted_alone():
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(Stop()))
    signal.alarm(1)
    with raises(Stop):
        fc.init({"RANK": "0", "WORLD_SIZE": "2", "FASTGPU_COMM_TIMEOUT": "100s"})


def test_signals_are_seen_while_ranks_are_awaited():
    ((code, said),) = run_ranks("interrupted_alone", 1)
    assert_equal(code, 0, said)


def of_another_size():
    fc.init({"WORLD_SIZE": "3" if os.environ["RANK"] == "1" else "2"})


def started_twice():
    fc.init({"WORLD_SIZE": "3", "RANK": str(min(1, int(os.environ["RANK"])))})


def test_a_job_that_cannot_come_together_ends_at_once():
    for name, ranks, kind in (
        ("of_another_size", 2, "UsageError"),
        ("started_twice", 3, "ConflictError"),
    ):
        began = time.monotonic()
        results = run_ranks(name, ranks, {"FASTGPU_COMM_TIMEOUT": "100s"})
        assert_less(time.monotonic() - began, 60, "rank 0 waited for its timeout")
        assert_equal(results[0][0], 1, results[0][1])
        assert_in(kind, results[0][1])
        assert_in("rank 1", results[0][1])


def ahead():
    """A sender that is far ahead of its receiver waits for it."""
    comm = fc.init()
    data = numpy.ones(32000, "uint8")
    comm.barrier()
    for number in range(9000):  # 275 MiB, and 256 may be ahead.
        if comm.rank == 0:
            data[:] = number % 251
            comm.send(data, 1)
        else:
            if number == 0:
                time.sleep(1)
            comm.recv(data, 0)
            assert_true((data == number % 251).all(), f"message {number} is another one")
    comm.barrier()
    comm.close()


def test_a_sender_that_is_far_ahead_is_held_back():
    for shared in ("1", "0"):
        for code, said in run_ranks(
            "ahead", 2, {"FASTGPU_COMM_SHARED_MEMORY": shared, "FASTGPU_COMM_TIMEOUT": "100s"}
        ):
            assert_equal(code, 0, said)


def alone():
    with raises(fc.RankTimeoutError, "rank"):
        fc.init({"RANK": "0", "WORLD_SIZE": "2", "FASTGPU_COMM_TIMEOUT": "1s"})


def test_ranks_that_never_come_are_waited_for_no_longer_than_the_timeout():
    ((code, said),) = run_ranks("alone", 1)
    assert_equal(code, 0, said)


def check_other_types(comm, move):
    """Rank 1 moves whole numbers where rank 0 moves others, equally many bytes."""
    with raises(fc.UsageError, "4 float32", "4 int32", "every rank must make the same calls"):
        move(numpy.ones(4, "int32" if comm.rank == 1 else "float32"))
        comm.barrier()
    comm.close()
    sys.exit(0)


@on_ranks(2)
def a_broadcast_of_another_type_is_told_on_both(comm):
    check_other_types(comm, comm.broadcast)


@on_ranks(2)
def a_gather_of_another_type_is_told_on_both(comm):
    check_other_types(comm, comm.all_gather)


@on_ranks(2)
def an_exchange_of_another_type_is_told_on_both(comm):
    check_other_types(comm, lambda data: comm.all_to_all(numpy.concatenate([data, data])))


@on_ranks(2)
def messages_of_another_type_are_told_on_both(comm):
    with raises(fc.UsageError, "rank 0", "4 float32", "4 int32"):
        if comm.rank == 0:
            comm.send(numpy.ones(4, "float32"), 1)
        else:
            comm.recv(numpy.ones(4, "int32"), 0)
        comm.barrier()
    comm.close()
    sys.exit(0)


@on_ranks(2)
def messages_of_16_bit_numbers_are_not_taken_for_half_as_many_others(comm):
    with raises(fc.UsageError, "rank 0", "16 float16", "8 float32"):
        if comm.rank == 0:
            comm.send(numpy.ones(16, "float16"), 1)
        else:
            comm.recv(numpy.ones(8, "float32"), 0)
        comm.barrier()
    comm.close()
    sys.exit(0)


@on_ranks(2)
def a_disagreement_is_told_on_both(comm):
    with raises(fc.Error, "rank"):
        comm.all_reduce(numpy.ones(10 + comm.rank))
    comm.close()
    sys.exit(0)


run_tests(dict(globals()))
