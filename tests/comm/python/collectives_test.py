"""What the collectives of the Python package give, held against numpy; and that a rank's other
threads run while it waits.
"""

import array
import os
import sys
import threading

from ranks import need, on_ranks, raises, run_tests
from suite import assert_equal, assert_is, assert_true

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402

TYPES = ("float32", "float64", "int32", "int64", "float16", "int8")


def values(rank, shape, kind, seed=0):
    """Small whole numbers, so that every type holds every sum and product of them."""
    return numpy.random.default_rng([seed, rank]).integers(1, 4, shape).astype(kind)


def same(found, wanted):
    assert_equal(found.dtype, wanted.dtype, f"{found!r} is not {wanted!r}")
    assert_true(numpy.array_equal(found, wanted), f"{found!r} is not {wanted!r}")


def expected(op, everybody):
    total = numpy.stack(everybody)
    kind = total.dtype
    wide = total.astype("float64")
    result = {
        fc.SUM: wide.sum,
        fc.PRODUCT: wide.prod,
        fc.MIN: wide.min,
        fc.MAX: wide.max,
        fc.AVERAGE: wide.mean,
    }[op](0)
    return (numpy.trunc(result) if kind.kind == "i" else result).astype(kind)


@on_ranks(1, 2)
def links_count_what_ranks_exchange(comm):
    comm.all_reduce(numpy.ones(1000, "float64"))
    links = comm.links()
    assert_equal(len({link.name for link in links}), len(links))
    counted = sum(link.bytes_sent for link in links), sum(link.bytes_received for link in links)
    assert_true(min(counted) >= (8000 if comm.size > 1 else 0), f"{links}")
    assert_equal(sum(link.failures for link in links), 0)


@on_ranks(1, 3)
def every_type_and_operation_is_reduced_as_numpy_does(comm):
    for kind in TYPES:
        for op in fc.Op:
            for shape in ((), (5,), (4, 3), (0,), (20011,)):
                everybody = [values(rank, shape, kind) for rank in range(comm.size)]
                mine, given = everybody[comm.rank].copy(), everybody[comm.rank].copy()
                wanted = expected(op, everybody)
                out = numpy.empty(shape, kind)
                assert_is(
                    comm.all_reduce(given, op, out=out),
                    out,
                    "out is not the result, or data has changed",
                )
                assert_true(
                    numpy.array_equal(given, mine), "out is not the result, or data has changed"
                )
                assert_is(comm.all_reduce(mine, op), mine, "in place is another array")
                same(mine, out)
                if kind == "float16":
                    assert_true(
                        numpy.allclose(mine.astype("f8"), wanted.astype("f8"), rtol=2e-3),
                        f"{mine} is not near {wanted}",
                    )
                elif kind == "float32":
                    assert_true(
                        numpy.allclose(mine, wanted, rtol=1e-6), f"{mine} is not near {wanted}"
                    )
                else:
                    same(mine, wanted)


@on_ranks(1, 3, SHARED_MEMORY="0")
def blocks_go_where_they_belong(comm):
    n, size, rank = 4, comm.size, comm.rank
    for kind in TYPES:
        everybody = [values(r, (size * n, 2), kind) for r in range(size)]
        same(
            comm.reduce_scatter(everybody[rank], fc.SUM),
            expected(fc.SUM, everybody)[rank * n : (rank + 1) * n],
        )
        same(comm.all_gather(everybody[rank]), numpy.stack(everybody))
        same(
            comm.all_to_all(everybody[rank]),
            numpy.concatenate([e[rank * n : (rank + 1) * n] for e in everybody]),
        )
        place = numpy.empty((size, size * n, 2), kind)
        place[rank] = everybody[rank]
        assert_is(comm.all_gather(place[rank], out=place), place)
        same(place, numpy.stack(everybody))


@on_ranks(1, 2)
def what_cannot_be_reduced_can_be_moved(comm):
    for everybody in (
        [numpy.array([True, False]), numpy.array([False, True])],
        [numpy.array([1 + 2j]), numpy.array([3j])],
        [numpy.array(["one", "two"]), numpy.array(["six", "ten"])],
        [numpy.array([7], "uint16"), numpy.array([9], "uint16")],
        [numpy.zeros(2, [("a", "i4"), ("b", "f8")])] * 2,
    ):
        mine = everybody[comm.rank].copy()
        same(comm.all_gather(mine), numpy.stack(everybody[: comm.size]))
        with raises(TypeError, "cannot be reduced"):
            comm.all_reduce(mine)
        comm.broadcast(mine, comm.size - 1)
        same(mine, everybody[comm.size - 1])


@on_ranks(3)
def messages_travel_round(comm):
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    sent = values(comm.rank, 70000, "float64")
    request = comm.send_async(sent, after)
    same(comm.recv(numpy.empty_like(sent), before), values(before, 70000, "float64"))
    assert_is(request.wait(), None)
    into = numpy.empty(3, "i4")
    request = comm.recv_async(into, before)
    comm.send(numpy.full(3, comm.rank, "i4"), after)
    assert_is(request.wait(), into)
    same(into, numpy.full(3, before, "i4"))


@on_ranks(2)
def many_are_begun_and_waited_for_in_any_order(comm):
    begun = [comm.all_reduce_async(numpy.full(100, i + comm.rank, "f8")) for i in range(20)]
    begun += [
        comm.barrier_async(),
        comm.all_gather_async(numpy.full(1, comm.rank)),
        comm.broadcast_async(numpy.full(1, comm.rank), 1),
        comm.reduce_scatter_async(numpy.full(2, 1.0)),
        comm.all_to_all_async(numpy.arange(2)),
    ]
    results = [request.wait() for request in reversed(begun)][::-1]
    for i in range(20):
        same(results[i], numpy.full(100, 2.0 * i + 1))
    assert_is(results[20], None)
    assert_equal(results[21].tolist(), [[0], [1]])
    assert_equal(results[22].tolist(), [1])
    assert_equal(results[23].tolist(), [2.0])
    assert_equal(results[24].tolist(), [comm.rank] * 2)
    assert_true(all(request.test() for request in begun), "a second wait gives something else")
    assert_is(begun[0].wait(), results[0], "a second wait gives something else")
    for i in range(50):  # Dropped, not waited for: what they write to lasts as long as they do.
        comm.all_reduce_async(numpy.full(1000, i, "f4"))


@on_ranks(2)
def anything_with_a_buffer_will_do(comm):
    numbers = array.array("d", [1, comm.rank])
    assert_is(comm.all_reduce(numbers), numbers)
    assert_equal(numbers.tolist(), [2, 1])
    assert_equal(comm.all_reduce(array.array("q", [comm.rank]), fc.MAX).tolist(), [1])
    assert_equal(comm.broadcast(bytearray(b"one" if comm.rank == 0 else b"six")), b"one")
    with raises(TypeError, "out"):
        comm.all_gather(numbers)
    out = array.array("d", [0] * 4)
    assert_equal(comm.all_gather(numbers, out=out).tolist(), [2, 1, 2, 1])
    pending = comm.all_reduce_async(numbers)
    with raises(BufferError):
        numbers.append(1)  # It cannot move meanwhile.
    pending.wait()


@on_ranks(4)
def a_group_is_a_communicator_of_its_own(comm):
    assert_equal(
        (comm.local_rank, comm.local_size, comm.node_rank, comm.node_count), (comm.rank, 4, 0, 1)
    )
    group = comm.split(comm.rank % 2, key=-comm.rank)
    assert_equal((group.rank, group.size), (1 - comm.rank // 2, 2))
    same(
        group.all_gather(numpy.array([comm.rank])),
        numpy.array([[comm.rank % 2 + 2], [comm.rank % 2]]),
    )
    assert_true(
        comm.split(None if comm.rank else 0) is None or comm.rank == 0, "who is in no group has one"
    )
    group.shutdown()
    with raises(ValueError, "closed"):
        group.barrier()
    group.shutdown()


@on_ranks(2)
def other_threads_run_while_one_waits(comm):
    """Rank 1 answers what rank 0 sends while a thread of rank 0 waits for that answer: without
    other threads nobody would send.
    """
    data = numpy.zeros(1)
    if comm.rank == 1:
        comm.recv(data, 0)
        return comm.send(data + 1, 0)
    request = comm.recv_async(data, 1)
    thread = threading.Thread(target=request.wait)
    thread.start()
    comm.send(numpy.ones(1), 1)
    thread.join()
    assert_equal(data.tolist(), [2])


@on_ranks(2)
def a_child_of_a_rank_leaves_the_job_alone(comm):
    child = os.fork()
    if child == 0:
        sys.exit(0)  # With all that it does at its end.
    assert_equal(os.waitpid(child, 0)[1], 0)
    assert_equal(comm.all_reduce(numpy.ones(1)).tolist(), [2])


run_tests(dict(globals()))
