"""Flags, variables and files as the program reads them: one meaning for a word, and no trust in
what lies around.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests, shared_cluster
from suite import assert_equal, assert_false, assert_in, assert_not_in, assert_true

ANOTHER_USER = 4321
RUN_ANYWAY = (
    ["version"],
    ["completion", "bash"],
    ["--version"],
    ["help"],
    ["create", "cluster", "--help"],
)


def is_json(user, folder, **more):
    done = user.run("get", "clusters", cwd=folder, timeout=20, **more)
    return done.out.startswith(b"{"), done.err


def test_a_project_file_of_others_is_ignored_aloud(user):
    file = user.folder / "fastgpu.yaml"
    file.write_text("output: json\n")
    assert_equal(is_json(user, user.folder), (True, ""), "a file of one's own is not used")
    os.chown(file, ANOTHER_USER, ANOTHER_USER)
    used, said = is_json(user, user.folder)
    assert_false(used, said)
    assert_in("belongs to another user", said)
    os.chown(file, 0, 0)
    file.chmod(0o666)
    used, said = is_json(user, user.folder)
    assert_false(used, said)
    assert_in("other users may write it", said)
    file.unlink()
    os.mkfifo(file)
    used, said = is_json(user, user.folder)
    assert_false(used, said)
    assert_in("not a regular file", said)
    file.unlink()
    for target in ("/dev/zero", str(user.folder)):
        file.symlink_to(target)
        used, said = is_json(user, user.folder)
        assert_false(used, said)
        assert_in("not a regular file", said)
        file.unlink()


@shared_cluster
def test_a_project_file_takes_no_question_away(user):
    name = user.two_nodes()
    (user.folder / "fastgpu.yaml").write_text(
        f"yes: true\nuser: eve\nprovider: static\ncluster: {name}\n"
    )
    done = user.refused(
        ["delete", "cluster", name],
        2,
        f"Delete cluster {name}",
        "'yes' is ignored",
        cwd=user.folder,
    )
    assert_equal(done.err.count("is ignored"), 3, done.err)
    user.refused(
        ["scale", "cluster", name, "--nodes", "1"], 2, "Delete the last 1 node", cwd=user.folder
    )
    user.refused(["env", "remove", "--all"], 2, "name the cluster with --cluster", cwd=user.folder)
    for word in ("off", "False", "NO", "0", "no"):
        user.refused(
            ["delete", "cluster", name],
            2,
            f"Delete cluster {name}",
            environment={"FASTGPU_YES": word},
        )
    for word in ("n", "none", "disabled", "maybe"):
        user.refused(
            ["delete", "cluster", name], 2, "FASTGPU_YES", word, environment={"FASTGPU_YES": word}
        )
    own = user.folder / "own.yaml"
    own.write_text("yes: on\n")
    assert_in(name, user.run("get", "clusters").out.decode(), "the cluster is gone")
    user.run("exec", name + "-0", "--", "true")
    assert_equal(
        user.run("exec", f"{name}-[0-1]", "--", "hostname").out.count(b"\n"),
        2,
        "nodes as shown are not found",
    )
    user.run("ssh", name + "-1", "--", "true")
    user.run("delete", "cluster", name, environment={"FASTGPU_CONFIG": str(own)})
    user.made = False


def test_a_broken_project_file_stops_those_who_need_it(user):
    file = user.folder / "fastgpu.yaml"
    for text in (
        "yes: [\n",
        "output: csv\n",
        "yes: maybe\n",
        "fanuot: 3\n",
        "a\0b",
        "x: !!python/object:os.system y\n",
    ):
        file.write_text(text)
        for words in RUN_ANYWAY:
            user.run(*words, cwd=user.folder)
        user.run("doctor", code=None, cwd=user.folder)
        assert_in("fastgpu.yaml:", user.run("get", "clusters", cwd=user.folder).err, text)
        done = user.refused(["run", "job", "--", "true"], 2, "fastgpu.yaml:", cwd=user.folder)
        assert_equal(done.err.count("fastgpu.yaml:"), 1, "the fault is reported twice")
        assert_true(
            user.run("__complete", "--", "vers", cwd=user.folder).out.startswith(b"version"), text
        )


def test_a_wrong_variable_stops_all_but_those_that_help(user):
    for name, value, said in (
        ("FASTGPU_NODSE", "3", "FASTGPU_NODES?"),
        ("FASTGPU_TIMEOUT", "5m", "FASTGPU_RUN_JOB_TIMEOUT"),
        ("FASTGPU_FANOUT", "lots", "FASTGPU_FANOUT"),
        ("FASTGPU_COLOR", "blue", "FASTGPU_COLOR"),
        ("FASTGPU_QUIET", "perhaps", "FASTGPU_QUIET"),
        ("FASTGPU_WAIT", "5", "lacks its unit"),
        ("FASTGPU_PATIENCE", "5s", "FASTGPU_WAIT now"),
    ):
        environment = {name: value}
        for words in RUN_ANYWAY:
            user.run(*words, environment=environment)
        assert_in(said, user.run("version", environment=environment).err, name)
        user.refused(["run", "job", "--", "true"], 2, said, environment=environment)
        user.run("run", "job", "--help", environment=environment)
    user.run(
        "get",
        "clusters",
        environment={"FASTGPU_FANOUT": "", "FASTGPU_QUIET": "", "FASTGPU_COMM_SECRET": "x"},
    )
    user.run(
        "get",
        "clusters",
        environment={"FASTGPU_JOB_ID": "train-1", "FASTGPU_RANK": "0", "FASTGPU_LATER": "1"},
    )


def test_a_program_that_is_not_behind_dashes_is_advised_about(user):
    line = "put the program after --: fastgpu mpirun -np 2 -c q"
    words = ["mpirun", "-np", "2", "-c", "q"]
    said = ("unknown flag --epochs", f"{line} -- ./a.out --epochs 3")
    user.refused([*words, "./a.out", "--epochs", "3"], 2, *said)
    said = ("--cluster is given twice", f"{line} -x FOO=... -- sh -c 'echo $FOO'")
    user.refused([*words, "-x", "FOO=1", "sh", "-c", "echo $FOO"], 2, *said)
    done = user.refused([*words, "-x", "FOO=1", "--epochs", "3"], 2, "unknown flag --epochs")
    assert_not_in("put the program", done.err)


def test_an_empty_value_takes_no_other_word(user):
    for words in (
        ["create", "cluster", "x", "--ssh-from=", "--dry-run"],
        ["create", "cluster", "x", "--state-dir=", "--dry-run"],
        ["create", "cluster", "x", "--nodes=", "--dry-run"],
        ["--state-dir=", "create", "cluster", "x", "--dry-run"],
        ["create", "cluster", "x", "-f", "", "--dry-run"],
        ["create", "cluster", "x", "-n=", "--dry-run"],
    ):
        user.refused(words, 2, "is empty", cwd=user.folder)
    user.refused(["create", "cluster", "x", "--image", "--dry-run"], 2, "the flag --dry-run")
    assert_false((user.folder / "--dry-run").exists(), "a folder is named like a flag")
    user.check_nothing_is_left()


def test_files_that_are_none_are_called_so(user):
    fifo, empty, binary, tabs = (user.folder / name for name in ("fifo", "empty", "binary", "tabs"))
    os.mkfifo(fifo)
    empty.write_text("")
    binary.write_bytes(b"\x7fELF\x02\x01\0\0")
    tabs.write_text("name: x\ncloud:\n\tgpus: T4:1\n")
    for words in (["create", "cluster"], ["run", "job"], ["env", "create", "x"], ["env", "lock"]):
        user.refused([*words, "-f", str(fifo)], 2, str(fifo) + " is empty", timeout=20)
        user.refused([*words, "-f", str(empty)], 2, str(empty) + " is empty")
        user.refused([*words, "-f", str(binary)], 2, str(binary) + ":1:1", "not part of a text")
        user.refused([*words, "-f", str(tabs)], 2, str(tabs) + ":3:", "by a tab")
        user.refused([*words, "-f", str(user.folder)], 2, "a directory")
        user.refused([*words, "-f", "/dev/zero"], 2, "a device", timeout=20)


def test_fields_that_do_nothing_are_refused(user):
    file = user.folder / "x.yaml"
    for text, said in (
        ("engine: pbs\ncommand: [true]\n", "is not one of mpirun"),
        ("timeout: 30\ncommand: [true]\n", "lacks its unit"),
        ("command: !!python/object:x [true]\n", "tags such as"),
    ):
        file.write_text(text)
        user.refused(["run", "job", "-f", str(file)], 2, "x.yaml:1:", said)
    for text, said in (
        ("name: x\nprovider: local\nhosts: [10.0.0.1]\n", "x.yaml:2:11"),
        ("name: x\nmax-life: 8\n", "lacks its unit"),
        ("name: x\nprovider: aws\nlink-rate: 1gbit\n", "for provider local only"),
    ):
        file.write_text(text)
        user.refused(["create", "cluster", "-f", str(file), "--dry-run"], 2, said)


run_tests(globals())
