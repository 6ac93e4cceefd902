"""What is refused, by whom, and with which words: nothing has begun then, and the job goes on."""

import ast
import copy
import os
import pathlib
import pickle
import subprocess
import sys

from ranks import PACKAGE, need, on_ranks, raises, run_tests
from suite import assert_equal, assert_false, assert_in, assert_is_not, assert_true

numpy = need("numpy")
import fastgpu_comm as fc  # noqa: E402


@on_ranks(2)
def wrong_arguments_are_refused_before_anything_begins(comm):
    good, frozen = numpy.zeros((4, 3)), numpy.zeros(4)
    frozen.flags.writeable = False
    for kind, words, call in (
        (TypeError, ["all_reduce: data", "list", "numpy"], lambda: comm.all_reduce([1.0])),
        (TypeError, ["float", "numpy"], lambda: comm.all_reduce(1.0)),
        (
            TypeError,
            ["uint16", "cannot be reduced"],
            lambda: comm.all_reduce(numpy.zeros(1, "uint16")),
        ),
        (TypeError, ["Python objects"], lambda: comm.broadcast(numpy.array([None]))),
        (ValueError, ["not contiguous"], lambda: comm.all_reduce(good[:, 1])),
        (ValueError, ["not contiguous"], lambda: comm.all_reduce(good.T)),
        (ValueError, ["read-only"], lambda: comm.all_reduce(frozen)),
        (ValueError, ["read-only"], lambda: comm.recv(frozen, 1 - comm.rank)),
        (ValueError, ["read-only"], lambda: comm.broadcast(b"bytes")),
        (ValueError, ["byte order"], lambda: comm.all_reduce(numpy.zeros(1, ">f4"))),
        (ValueError, ["aligned"], lambda: comm.all_reduce(numpy.zeros(9, "u1")[1:].view("f8"))),
        (ValueError, ["(3,)", "multiple of the 2"], lambda: comm.reduce_scatter(numpy.zeros(3))),
        (ValueError, ["()", "multiple of the 2"], lambda: comm.all_to_all(numpy.zeros(()))),
        (
            ValueError,
            ["out", "float32, not float64"],
            lambda: comm.all_reduce(good, out=numpy.zeros((4, 3), "f4")),
        ),
        (ValueError, ["out", "(5,)", "not 24"], lambda: comm.all_gather(good, out=numpy.zeros(5))),
        (ValueError, ["overlap"], lambda: comm.all_to_all(good, out=good)),
        (ValueError, ["overlap"], lambda: comm.all_reduce(good[:2], out=good[1:3])),
        (ValueError, ["overlap"], lambda: comm.all_gather(good[1 - comm.rank :][:1], out=good[:2])),
        (ValueError, ["root is 2", "0 to 1"], lambda: comm.broadcast(good, 2)),
        (ValueError, ["dest is -1"], lambda: comm.send(good, -1)),
        (ValueError, ["source", "itself"], lambda: comm.recv(good, comm.rank)),
        (ValueError, [str(2**32)], lambda: comm.broadcast(good, 2**32)),
        (ValueError, ["color"], lambda: comm.split(-3)),
        (ValueError, ["color"], lambda: comm.split(2**40)),
        (TypeError, [], lambda: comm.send(good, "1")),
        (TypeError, ["dest is a whole number, not of type float"], lambda: comm.send(good, 1.0)),
        (
            TypeError,
            ["root is a whole number, not of type bool"],
            lambda: comm.broadcast(good, True),
        ),
        (ValueError, ["9"], lambda: comm.all_reduce(good, 9)),
        (ValueError, ["True is no operation"], lambda: comm.all_reduce(good, True)),
        (ValueError, ["1.0 is no operation"], lambda: comm.all_reduce(good, 1.0)),
    ):
        with raises(kind, *words):
            call()
    wrapped = comm.all_reduce(numpy.array([200, 1], "uint8"))
    assert_equal(wrapped.tolist(), [144, 2], "sums of bytes wrap")
    assert_equal(comm.all_reduce(numpy.ones(1)).tolist(), [2], "the job does not go on")


def test_wrong_settings_are_refused():
    with raises(fc.UsageError, "FASTGPU_COMM_TIMEOUT"):
        fc.init({"FASTGPU_COMM_TIMEOUT": "soon"})
    with raises(ValueError, "no setting"):
        fc.init({"A=B": "1"})
    with raises(ValueError, "no setting"):
        fc.init({"A": "1\0B"})
    with raises(fc.UsageError, "RANK"):
        fc.init({"RANK": "5", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"})
    assert_equal(fc.init({"RANK": None, "WORLD_SIZE": None}).size, 1)
    for settings in (["FASTGPU_COMM_WIRE=fp16"], "FASTGPU_COMM_WIRE=fp16"):
        with raises(TypeError, "the settings are of type", "give a dict"):
            fc.init(settings)
    with raises(fc.UsageError, "wire is no variable", "did you mean FASTGPU_COMM_WIRE?"):
        fc.init({"wire": "fp16"})
    comm = fc.init({"FASTGPU_COMM_SHARED_MEMORY": False, "FASTGPU_COMM_LANES": 4})
    with raises(fc.UsageError, "FASTGPU_COMM_TIMEOUT has an effect when a rank joins"):
        fc.Gradients(comm, {"FASTGPU_COMM_TIMEOUT": "1s"})


def test_no_setting_of_an_exchange_is_passed_over():
    comm = fc.init({"FASTGPU_COMM_LANES": 2, "FASTGPU_COMM_GUARD": 4})
    kinds = {
        "gradients": lambda settings: fc.Gradients(comm, settings),
        "gossip": lambda settings: fc.Gossip(comm, settings),
        "multistep training": lambda settings: fc.Multistep(comm, "delay=1", settings),
    }
    names = "DEVICE EXCHANGE FUSION GOSSIP_STEP GUARD LANES MIXED_SMALL MULTISTEP NANCHECK STALL"
    for name in f"{names} TOPOLOGY TUNE WIRE".split():
        for make in kinds.values():  # It is read, and wrong, or it is not.
            with raises(fc.UsageError, f"FASTGPU_COMM_{name}"):
                make({f"FASTGPU_COMM_{name}": "?"})
    for kind, settings in {
        "gradients": ["FASTGPU_COMM_GUARD", "FASTGPU_COMM_MULTISTEP"],
        "gossip": ["FASTGPU_COMM_FUSION", "FASTGPU_COMM_LANES", "FASTGPU_COMM_NCCL", "HOME"],
        "multistep training": ["FASTGPU_COMM_TOPOLOGY", "FASTGPU_COMM_NCCL"],
    }.items():
        for name in settings:
            with raises(fc.UsageError, f"{name} has no effect on {kind}"):
                kinds[kind]({name: "8"})
    with raises(fc.UsageError, "MULTISTEP has no effect where the program names a mode"):
        fc.Multistep(comm, "delay=1", {"FASTGPU_COMM_MULTISTEP": "slices=2"})
    for kind in kinds.values():  # Those of the job stay as they are, or are left out.
        kind({"FASTGPU_COMM_LANES": 2, "FASTGPU_COMM_GUARD": 4, "FASTGPU_COMM_TUNE": None})


def test_what_is_no_name_no_state_and_no_operation_is_said():
    comm = fc.init()
    gradients, gossip = fc.Gradients(comm), fc.Gossip(comm)
    steps = fc.Multistep(comm, "accumulate=2")
    numbers = numpy.zeros(3, "float32")
    for owner, what in ((gradients, "gradient"), (gossip, "parameter"), (steps, "gradient")):
        with raises(TypeError, f"the name of a {what} is text, not of type int"):
            owner.register(3, numbers)
        for state in (None, "abc"):
            with raises(TypeError, "the state is of type", "saved_state()"):
                owner.load_state(state)
    with raises(TypeError, "the weight is a number, not of type str"):
        steps.weigh("3")
    steps.weigh(numpy.float32(2))
    with raises(TypeError, "the mode is text, not of type int"):
        fc.Multistep(comm, 8)
    with raises(ValueError, "'mean' is no operation", "AVERAGE"):
        comm.all_reduce(numbers, "mean")
    gossip.register("weight", numbers)
    saved = gossip.saved_state()
    gossip.load_state(bytearray(saved))  # Anything with bytes.


def test_what_belongs_to_its_process_is_not_copied():
    comm = fc.init({"RANK": None, "WORLD_SIZE": None})
    request = comm.all_reduce_async(numpy.zeros(1))
    for owner, what in (
        (comm, "communicator"),
        (request, "request"),
        (fc.Gradients(comm), "set of gradients"),
    ):
        for copied in (copy.deepcopy, pickle.dumps):
            with raises(TypeError, f"a {what} belongs to its process: call init()"):
                copied(owner)
    request.wait()


@on_ranks(2)
def wrong_gradients_are_refused(comm):
    gradients = fc.Gradients(comm)
    for kind, words, call in (
        (TypeError, ["'x'", "bool"], lambda: gradients.register("x", numpy.zeros(1, bool))),
        (ValueError, ["no gradient 'y'"], lambda: gradients.ready("y")),
        (ValueError, ["no gradient 0"], lambda: gradients.ready(0)),
        (TypeError, ["not of type float"], lambda: gradients.ready(0.0)),
        (TypeError, ["not of type bool"], lambda: gradients.ready(False)),
        (ValueError, ["NUL"], lambda: gradients.register("x\0y", numpy.zeros(1))),
        (
            ValueError,
            ["the priority is 1099511627776"],
            lambda: gradients.register("x", numpy.zeros(1), 2**40),
        ),
        (TypeError, ["priority"], lambda: gradients.register("x", numpy.zeros(1), 1.5)),
    ):
        with raises(kind, *words):
            call()
    gradients.register("x", numpy.zeros(3))
    with raises(fc.UsageError, "x"):
        gradients.register("x", numpy.zeros(3))
    with raises(fc.UsageError, "FASTGPU_COMM_WIRE"):
        fc.Gradients(comm, {"FASTGPU_COMM_WIRE": "fp12"})
    gradients.close()
    with raises(ValueError, "closed"):
        gradients.wait()


def test_a_library_that_is_not_there_is_told_with_the_places():
    script = (
        "import fastgpu_comm as fc\ntry: fc.init()\nexcept fc.LocalError as error: print(error)"
    )
    for library, words in (
        (
            "/nowhere/libfastgpu_comm.so.0",
            ["/nowhere/libfastgpu_comm.so.0", "FASTGPU_COMM_LIBRARY"],
        ),
        ("libc.so.6", ["libc.so.6", "fgc_"]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": PACKAGE, "FASTGPU_COMM_LIBRARY": library},
            capture_output=True,
            text=True,
            check=True,
        )
        for word in words:
            assert_in(word, done.stdout, f"no {word} in {done.stdout}")


def test_it_is_python_3_8_and_says_what_everything_is():
    """As far as a newer Python can tell."""
    for file in sorted(pathlib.Path(PACKAGE, "fastgpu_comm").glob("*.py")):
        tree = ast.parse(file.read_text(), str(file), feature_version=(3, 8))
        assert_true(ast.get_docstring(tree), f"{file.name} does not say what it is")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name != "closure":
                unsaid = [
                    argument.arg
                    for argument in node.args.args
                    if argument.annotation is None and argument.arg not in ("self", "cls")
                ]
                assert_is_not(
                    node.returns,
                    None,
                    f"{file.name}: {node.name} has no types for {unsaid or 'its result'}",
                )
                assert_false(
                    unsaid, f"{file.name}: {node.name} has no types for {unsaid or 'its result'}"
                )


run_tests(dict(globals()))
