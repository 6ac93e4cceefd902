"""The rank that ends a job by itself is named, although its victims end before it:
culprits_test.py FASTGPU LIBRARY [TEST ...]
"""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster
from suite import assert_equal, assert_in

SOURCE = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(sys.argv.pop(2)).resolve()
PYTHON = "/usr/bin/python3"
CULPRIT = 1
# The end of a process with large libraries takes long after it has left its communicator.
PROGRAM = f"""
import array
import sys
import time

import fastgpu_comm

comm = fastgpu_comm.init()
values = array.array("f", [1.0] * 1000)
comm.all_reduce(values)
if comm.rank == {CULPRIT}:
    print("my data is broken", flush=True)
    comm.close()
    time.sleep(1)
    sys.exit(3)
while True:
    comm.all_reduce(values)
"""


# All ranks get one error, which names the culprit. It ends last, and has an exit code of its own.
DIFFERENCES = {
    "settings": "",
    "gradients": """
    gradients = fastgpu_comm.Gradients(comm)
    gradients.register("bias" if is_odd else "weight", values)
    gradients.ready(0)
""",
    "stop": """
    gradients = fastgpu_comm.Gradients(comm, {"FASTGPU_COMM_NANCHECK": "stop"})
    values[3] = float("nan") if is_odd else 1
    gradients.register("weight", values)
    gradients.ready(0)
    gradients.wait()
""",
    "tensors": """
    tensors = [Described.of("float32", [5 if is_odd else 4], "weight")]
    check_same_tensors(tensors, comm, 0, "broadcast_parameters", has_own_names=False)
""",
}
BEFORE_DIFFERENCE = f"""
import array
import os
import sys
import time

import fastgpu_comm
from fastgpu_comm._agreement import Described, check_same_tensors

is_odd = os.environ["RANK"] == "{CULPRIT}"
try:
    is_other = is_odd and sys.argv[1] == "settings"
    comm = fastgpu_comm.init({{"FASTGPU_COMM_ALGORITHM": "ring"}} if is_other else {{}})
    values = array.array("f", [1.0] * 1000)
"""
BEHIND_DIFFERENCE = """
except fastgpu_comm.Error as error:
    print(error, flush=True)
    time.sleep(1 if is_odd else 0)
    sys.exit(3 if is_odd else 4)
"""


def files_for(user, program=PROGRAM, name="culprit"):
    """Returns a folder with the program and all that it needs."""
    folder = user.folder / name
    folder.mkdir()
    shutil.copy(LIBRARY, folder / "libfastgpu_comm.so.0")
    shutil.copytree(SOURCE / "comm/bindings/python/fastgpu_comm", folder / "fastgpu_comm")
    (folder / "program.py").write_text(program)
    return folder


def check_that_the_culprit_is_named(user, *words):
    name = user.two_nodes()
    more = ("--oversubscribe", "--sync", str(files_for(user)), *words)
    library = ("-e", "FASTGPU_COMM_LIBRARY=./libfastgpu_comm.so.0")
    job = f"job{len(words)}"
    words = job_words(name, 4, [PYTHON, "program.py"], job, *more, *library)
    done = user.run(*words, code=3)
    assert_in(f"rank {CULPRIT} on ", done.err)
    assert_in(": exited with 3", done.err)
    failure = json.loads(user.run("describe", "job", job, "-o", "json").out)["failure"]
    assert_equal((failure["rank"], failure["exit_code"]), (CULPRIT, 3), f"{failure}")
    assert_equal(failure["last_lines"], ["my data is broken"])


@shared_cluster
def test_a_rank_whose_process_ends_after_those_of_its_victims_is_named(user):
    check_that_the_culprit_is_named(user)


@shared_cluster
def test_the_same_without_mpirun(user):
    check_that_the_culprit_is_named(user, "--launcher", "plain")


@shared_cluster
def test_a_rank_that_all_errors_name_is_named_although_others_end_first(user):
    cluster = user.two_nodes()
    for what, body in DIFFERENCES.items():
        folder = files_for(user, BEFORE_DIFFERENCE + body + BEHIND_DIFFERENCE, what)
        more = ("--oversubscribe", "--sync", str(folder), "--launcher", "plain")
        library = ("-e", "FASTGPU_COMM_LIBRARY=./libfastgpu_comm.so.0")
        words = job_words(cluster, 4, [PYTHON, "program.py", what], what, *more, *library)
        done = user.run(*words, code=3)
        assert_in(f"rank {CULPRIT} on ", done.err, what)
        assert_in(": exited with 3", done.err, what)


if __name__ == "__main__":
    run_tests(globals())
