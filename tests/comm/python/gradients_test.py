"""The gradient layer by way of Python: averages, whatever the order; what is skipped, not finite,
late or missing.
"""

import logging
import sys

from ranks import need, on_ranks, raises, run_tests
from suite import assert_equal, assert_false, assert_greater_equal, assert_is, assert_true

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402


def register(gradients, shapes, rank):
    data = [
        numpy.full(shape, float(rank + number), "float32") for number, shape in enumerate(shapes)
    ]
    for number, one in enumerate(data):
        assert_equal(gradients.register(f"layer{number}", one), number)
    return data


@on_ranks(1, 3)
def gradients_become_averages_in_whatever_order_they_are_ready(comm):
    gradients = fc.Gradients(comm)
    data = register(gradients, [(3, 4), (1000,), (), (2, 2, 2)], comm.rank)
    assert_equal(len(gradients), 4)
    for step in range(4):
        for number, one in enumerate(data):
            one[...] = comm.rank + number + 10 * step
        for number in numpy.random.default_rng(comm.rank + step).permutation(4).tolist():
            gradients.ready(number if step % 2 else f"layer{number}")
        outcome = gradients.wait()
        assert_equal(outcome.step, step, f"{outcome}")
        assert_true(outcome.is_applied, f"{outcome}")
        assert_false(outcome.skipped, f"{outcome}")
        assert_false(outcome.is_somebody_leaving, f"{outcome}")
        for number, one in enumerate(data):
            assert_true((one == (comm.size - 1) / 2 + number + 10 * step).all(), f"{number}: {one}")
    counters = gradients.counters()
    assert_equal(counters.steps, 4, f"{counters}")
    assert_greater_equal(counters.bucket_bytes, 4 * 4 * (12 + 1000 + 1 + 8), f"{counters}")


@on_ranks(2)
def a_gradient_may_be_in_other_memory_in_each_step(comm):
    gradients = fc.Gradients(comm)
    (data,) = register(gradients, [(2, 3)], comm.rank)
    before = data.copy()
    for step in range(3):
        elsewhere = numpy.full(6, comm.rank + 2.0 * step, numpy.float32)
        gradients.ready(0, elsewhere)
        gradients.wait()
        assert_true((elsewhere == 2 * step + 0.5).all(), f"{elsewhere}")
        assert_true((data == before).all(), f"{data}")
    assert_equal(sys.getrefcount(elsewhere), 2, "it is kept alive after the step")
    for bad, why in (
        (numpy.zeros(5, numpy.float32), "5 elements and not 6"),
        (numpy.zeros(6), "elements of type float64, not float32"),
        (numpy.zeros(12, numpy.float32)[::2], "not contiguous"),
    ):
        with raises(ValueError, why):
            gradients.ready(0, bad)
    gradients.ready(0)
    gradients.wait()
    assert_true((data == 0.5).all(), f"{data}")


@on_ranks(2)
def sums_and_other_types_on_the_wire(comm):
    gradients = fc.Gradients(comm, {"FASTGPU_COMM_WIRE": "fp16"})
    (data,) = register(gradients, [(8,)], comm.rank + 1)
    assert_equal(gradients.wire_type("layer0"), fc.ElementType.FLOAT16)
    gradients.use_op(fc.SUM)
    gradients.ready("layer0")
    gradients.wait()
    assert_true((data == 3).all(), f"{data}")


@on_ranks(2)
def what_a_codec_has_not_sent_is_saved_and_loaded(comm):
    settings = {"FASTGPU_COMM_WIRE": "1bit", "FASTGPU_COMM_MIXED_SMALL": "1"}

    def steps(gradients, data, numbers):
        found = []
        for number in numbers:
            data[...] = numpy.sin(numpy.arange(300) * (number + 1) + comm.rank)
            gradients.ready(0)
            gradients.wait()
            found.append(data.copy())
        return found

    first = fc.Gradients(comm, settings)
    (data,) = register(first, [(300,)], comm.rank)
    steps(first, data, range(3))
    saved = first.saved_state()
    wanted = steps(first, data, range(3, 6))
    second = fc.Gradients(comm, settings)
    (data,) = register(second, [(300,)], comm.rank)
    second.load_state(saved)
    for one, other in zip(steps(second, data, range(3, 6)), wanted):
        assert_true((one == other).all(), "it goes on as it was")
    everyones = comm.all_gather(numpy.frombuffer(saved, "uint8").copy())
    with raises(fc.UsageError, f"that of rank {1 - comm.rank}"):
        second.load_state(everyones[1 - comm.rank].tobytes())
    alone = fc.Gradients(comm.split(comm.rank), settings)
    register(alone, [(300,)], comm.rank)
    with raises(fc.UsageError, f"that of rank {comm.rank} of 2, not of rank 0 of 1"):
        alone.load_state(saved)
    assert_equal(fc.Gradients(comm).saved_state(), b"")


@on_ranks(2)
def what_nobody_has_is_skipped_and_what_one_lacks_is_an_error(comm):
    gradients = fc.Gradients(comm)
    data = register(gradients, [(2,), (2,)], comm.rank)
    gradients.ready(0)
    assert_equal(gradients.wait().skipped, ["layer1"])
    assert_true((data[1] == comm.rank + 1).all(), "what was skipped has changed")
    gradients.ready(0)
    if comm.rank == 0:
        gradients.ready(1)
    with raises(fc.UsageError, "layer1", "rank 1"):
        gradients.wait()
    gradients.ready(0)
    assert_true(gradients.leave().is_somebody_leaving)


@on_ranks(2, NANCHECK="skip")
def a_step_that_is_not_finite_is_skipped_and_told(comm):
    said = []
    gradients = fc.Gradients(comm, on_warning=said.append)
    (data,) = register(gradients, [(5,)], comm.rank)
    if comm.rank == 1:
        data[3] = numpy.nan
    gradients.ready(0)
    outcome = gradients.wait()
    assert_false(outcome.is_applied, f"{outcome}")
    assert_is(outcome.non_finite, fc.NonFinite.NAN, f"{outcome}")
    assert_equal(outcome.non_finite_name, "layer0", f"{outcome}")
    assert_equal(outcome.non_finite_rank, 1, f"{outcome} {said}")
    # One line for the job: that of the rank that has it.
    assert_equal(any("layer0" in sentence for sentence in said), comm.rank == 1, f"{said}")


@on_ranks(2, NANCHECK="warn")
def warnings_go_to_the_logger(comm):
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("fastgpu_comm").addHandler(handler)
    gradients = fc.Gradients(comm)
    (data,) = register(gradients, [(5,)], comm.rank)
    data[0] = numpy.inf
    gradients.ready(0)
    outcome = gradients.wait()
    assert_true(outcome.is_applied)
    is_mine = outcome.non_finite_rank == comm.rank
    assert_equal(any("layer0" in sentence for sentence in said), is_mine, f"{outcome} {said}")


@on_ranks(2)
def ranks_that_register_other_gradients_are_told(comm):
    gradients = fc.Gradients(comm)
    gradients.register("weight", numpy.zeros(3 + comm.rank, "f4"))
    with raises(fc.UsageError, "weight", "rank"):
        gradients.ready("weight")
        gradients.wait()
    comm.close()


run_tests(dict(globals()))
