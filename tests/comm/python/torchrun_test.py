"""Ranks whose MASTER_PORT belongs to PyTorch: those of torchrun, and those that have begun
torch.distributed: TEST.py PACKAGE_DIRECTORY LIBRARY
"""

import os
import socket
import subprocess
import sys

from ranks import all_well, environment, finish, free_port, need, program, run_ranks, run_tests
from suite import assert_equal, assert_in, skip

torch = need("torch")
if not torch.distributed.is_available():
    skip("this PyTorch has no torch.distributed")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm._meeting import beside_torch  # noqa: E402


def run_torchrun(name, ranks, more=None):
    """The function `name` in as many workers of torchrun."""
    # torchrun of PyTorch 1.13 cannot start workers under Python 3.11 without these two.
    old = {"PET_TEE": "1", "PET_REDIRECTS": "2"} if torch.__version__.startswith("1.") else {}
    flags = ["--nproc_per_node", str(ranks), "--master_addr", "127.0.0.1"]
    words = [*flags, "--master_port", free_port(), *program(name)[1:]]
    return finish(
        [
            subprocess.Popen(
                [sys.executable, "-m", "torch.distributed.run", *words],
                env=environment({**old, **(more or {})}),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        ]
    )


def meet():
    with fc.init() as comm:
        assert_equal(comm.size, int(os.environ["WORLD_SIZE"]))
        assert_equal(comm.all_reduce(torch.ones(3)).tolist(), [float(comm.size)] * 3)


def begin_torch():
    torch.distributed.init_process_group("gloo")


def check_torch():
    value = torch.ones(3)
    torch.distributed.all_reduce(value)
    assert_equal(value.tolist(), [float(os.environ["WORLD_SIZE"])] * 3)


def meet_after_torch():
    begin_torch()
    meet()
    meet()  # And once more in the same processes.
    check_torch()
    torch.distributed.destroy_process_group()


def meet_before_torch():
    meet()
    meet_after_torch()


def meet_at_a_port_of_their_own():
    begin_torch()
    apart = os.environ["OWN_PORT"]
    with fc.init({"FASTGPU_COMM_MASTER_PORT": apart}) as comm:
        assert_equal(comm.all_reduce(torch.ones(1)).tolist(), [2.0])
    check_torch()


def meet_as_one():
    """None as a value hides a variable: each process is a job of one."""
    begin_torch()
    hidden = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    with fc.init(dict.fromkeys(hidden)) as comm:
        assert_equal(comm.size, 1)
    check_torch()


def ports_beside_torch():
    ours = "FASTGPU_COMM_MASTER_PORT"
    assert_equal(beside_torch({"MASTER_PORT": "29500"}), {"MASTER_PORT": "29500"}, "no torch yet")
    begin_torch()
    for port, apart in (("29500", "30500"), (64535, "65535"), ("64536", "63536")):
        assert_equal(beside_torch({"MASTER_PORT": port})[ours], apart)
    for given in (
        {ours: "4001"},
        {"MASTER_PORT": None},
        {"MASTER_PORT": "many"},
        {"MASTER_PORT": "0"},
        {"MASTER_PORT": "70000"},
    ):
        assert_equal(beside_torch(given), given, "left as it is, for the library to judge")
    own = int(os.environ["MASTER_PORT"])
    assert_equal(beside_torch(None), {ours: str(own + (1000 if own <= 64535 else -1000))})


def test_the_port_beside_torch_follows_from_master_port_alone():
    all_well(run_ranks("ports_beside_torch", 1))


def test_workers_of_torchrun_meet():
    all_well(run_torchrun("meet", 2))


def test_workers_of_torchrun_meet_before_and_after_torch_distributed():
    all_well(run_torchrun("meet_before_torch", 3))


def test_ranks_of_other_launchers_meet_after_torch_distributed_has_begun():
    all_well(run_ranks("meet_after_torch", 2))


def test_ranks_of_other_launchers_meet_before_torch_distributed_begins():
    all_well(run_ranks("meet_before_torch", 2))


def test_ranks_of_other_launchers_meet_at_the_port_that_is_set():
    all_well(run_ranks("meet_at_a_port_of_their_own", 2, {"OWN_PORT": free_port()}))


def test_settings_that_hide_the_variables_hide_the_port_as_well():
    all_well(run_ranks("meet_as_one", 2))


def test_a_port_in_use_is_an_error_with_the_variable_that_helps():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = {"MASTER_PORT": str(taken.getsockname()[1]), "FASTGPU_COMM_JOIN_TIMEOUT": "2s"}
        (code, said), (other, answer) = run_ranks("meet", 2, port)
    assert_equal((code, other), (1, 1), said + answer)
    assert_in("ConflictError", said)
    for text in (said, answer):
        assert_in("set FASTGPU_COMM_MASTER_PORT to a free port for all ranks", text)


run_tests(dict(globals()))
