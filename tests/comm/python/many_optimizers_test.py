"""Thousands of optimizers in one process, one after the other. The arguments are those of ranks.py.

Takes half a minute. FASTGPU_TEST_OPTIMIZERS is another number of them than 10000.
"""

import os
import pathlib
import resource

import ranks
from ranks import need, on_ranks, run_tests
from suite import assert_equal, assert_less

torch = need("torch")
from fastgpu_comm.torch import DistributedOptimizer  # noqa: E402

ranks.LIMIT = 3000
COUNT = int(os.environ.get("FASTGPU_TEST_OPTIMIZERS", "10000"))


def resident():
    """Returns the bytes of this process that are in memory."""
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def open_files():
    return len(os.listdir("/proc/self/fd"))


@on_ranks(2)
def thousands_of_optimizers_come_and_go_and_leave_nothing(comm):
    torch.set_num_threads(1)
    before = files = 0
    for number in range(COUNT):
        if number == COUNT // 5:
            before, files = resident(), open_files()
        torch.manual_seed(number)  # The same parameters on both ranks.
        model = torch.nn.Linear(2, 1)
        optimizer = DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm)
        model(torch.ones(1, 2) * (comm.rank + 1)).sum().backward()
        optimizer.step()
        assert_equal(model.weight.grad.tolist(), [[1.5, 1.5]])
        if number % 2:
            optimizer.close()
    assert_less(resident() - before, 64 << 20, "memory grows with the optimizers that are gone")
    assert_less(open_files() - files, 8, "descriptors stay open")


run_tests(globals())
