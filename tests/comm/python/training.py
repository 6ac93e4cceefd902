"""What the trainings of all frameworks share: their data, and how a rank dies in one of them."""

import numpy

from ranks import end_like_a_crash
from suite import assert_equal, assert_false, assert_true

STEPS, BATCH = 6, 12
X = numpy.random.default_rng(1).normal(size=(STEPS, BATCH, 5)).astype("float32")
Y = numpy.random.default_rng(2).normal(size=(STEPS, BATCH, 2)).astype("float32")


def check_same_as_on_one_rank(comm, found, wanted, tolerance=1e-5):
    """Checks parameters against those that one rank comes to, and that all ranks have the same."""
    for one, other in zip(found, wanted):
        apart = abs(one - other).max()
        assert_true(numpy.allclose(one, other, atol=tolerance), f"apart by {apart}")
        everybody = comm.all_gather(numpy.array(one))
        assert_true((everybody == everybody[0]).all(), "ranks differ")


def check_not_applied(outcome):
    """Checks the outcome of a step in which rank 1 had a gradient that is not finite."""
    assert_false(outcome.is_applied, f"{outcome}")
    assert_equal(outcome.non_finite_rank, 1, f"{outcome}")


def train_until_rank_1_is_killed(comm, train):
    for step in range(3):
        if step == 2:
            end_like_a_crash(comm, rank=1)
        train()
