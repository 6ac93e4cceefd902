"""The calls of the Python package, with a program in place of fastgpu: python_calls_test.py

The program notes its words, the variables whose names begin with T_, and the lines of a file of
variables, and answers as it is told.
"""

import contextlib
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli/python"))
import fastgpu
import suite
from fastgpu import _command
from suite import assert_equal, assert_in, assert_not_in, assert_raises, assert_true

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
seen = {{name: os.environ[name] for name in os.environ if name.startswith("T_")}}
files = [word[11:] for word in sys.argv if word.startswith("--env-file=")]
lines = [line for name in files for line in pathlib.Path(name).read_text().splitlines()]
with open(folder / "seen", "a") as file:
    file.write(json.dumps([sys.argv[1:], seen, lines]) + "\\n")
answers = json.loads((folder / "answers").read_text())
(folder / "answers").write_text(json.dumps(answers[1:]))
code = answers[0].pop("code", 0)
print(json.dumps(answers[0]))
sys.exit(code)
"""


class Played:
    """The program, its answers, and what it was asked."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        program = self.folder / "fastgpu"
        program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        program.chmod(0o755)
        (self.folder / "seen").touch()
        fastgpu.use(program=str(program))

    def answers(self, *documents):
        (self.folder / "answers").write_text(json.dumps(documents))

    def job(self, nodes=1):
        self.answers(cluster_document(nodes))
        return fastgpu.find_job("demo")

    @property
    def seen(self):
        return [json.loads(line) for line in (self.folder / "seen").read_text().splitlines()]

    @property
    def words(self):
        return self.seen[-1][0]


@contextlib.contextmanager
def played(_):
    with tempfile.TemporaryDirectory(prefix="fastgpu-python-") as folder:
        yield Played(folder)


def cluster_document(nodes=1, **more):
    return {
        "schema": "fastgpu.cluster/1",
        "name": "demo",
        "provider": "local",
        "state": "running",
        "slots": 1,
        "nodes": [{"name": f"demo-{i}", "index": i, "state": "running"} for i in range(nodes)],
        **more,
    }


NOT_FOUND = {"schema": "fastgpu.error/1", "error": {"message": "none", "kind": "not_found"}}
MACHINE = {"type": "p4d", "region": "us-east-1", "zone": "us-east-1a", "market": "on-demand"}


def refusal_of(call):
    """Returns the Error that a call raises."""
    with assert_raises(fastgpu.Error) as refused:
        call()
    return refused.exception


def job_document(job_id="train-1", state="running", exit_code=None):
    return {"schema": "fastgpu.job/1", "id": job_id, "state": state, "exit_code": exit_code}


def jobs_document(*jobs):
    return {"schema": "fastgpu.jobs/1", "jobs": list(jobs)}


def host_document(**host):
    usual = {"name": "demo-0", "error": None, "exit_code": 0, "stdout": "", "stderr": ""}
    return {"schema": "fastgpu.exec/1", "hosts": [{**usual, **host}]}


def test_an_array_is_a_run_with_a_run_for_each_index(fake):
    job = fake.job()
    fake.answers(
        jobs_document(job_document("a-1.1", "queued"), job_document("a-1.2", "queued")),
        jobs_document(job_document("a-1.1", "running"), job_document("a-1.2", "queued")),
        jobs_document(job_document("a-1.1", "succeeded", 0), job_document("a-1.2", "failed", 3)),
        jobs_document(job_document("a-1.1", "succeeded", 0), job_document("a-1.2", "failed", 3)),
        jobs_document(),
    )
    run = job.launch(["true"], array=[1, 2])
    assert_in("--array=1,2", fake.words)
    assert_equal((run.id, [one.id for one in run.runs]), ("a-1", ["a-1.1", "a-1.2"]))
    assert_equal(run.state, "running")
    assert_equal(fake.words[:3], ["get", "jobs", "a-1"])
    assert_equal(run.wait(), 3)
    assert_equal(fake.words[:3], ["wait", "job", "a-1"])
    assert_equal(run.state, "failed")
    run.cancel()
    assert_equal(fake.words[:3], ["cancel", "job", "a-1"])


def test_a_number_for_a_duration_is_in_seconds(fake):
    job = fake.job()
    fake.answers(job_document(), job_document(state="succeeded", exit_code=0))
    run = job.launch(["true"], timeout=90, grace="5s", np=2)
    for word in ("--timeout=90s", "--grace=5s", "--np=2"):
        assert_in(word, fake.words)
    run.wait(1.5)
    assert_in("--timeout=1.5s", fake.words)


def test_every_flag_that_takes_a_time_takes_a_number_of_seconds(_):
    pages = (ROOT / "docs/reference/commands").glob("*.md")
    flags = {flag for page in pages for flag in re.findall(r"--([a-z-]+) TIME", page.read_text())}
    assert_equal(_command.DURATIONS, {flag.replace("-", "_") for flag in flags})


def test_an_array_of_one_job_is_waited_for(fake):
    job = fake.job()
    fake.answers(jobs_document(job_document("a-1.7", "queued")), job_document("a-1.7", "lost"))
    assert_equal(job.launch("true", array="7").wait(), 1)


def test_a_launch_that_starts_nothing_is_refused(fake):
    job = fake.job()
    fake.answers({"schema": "fastgpu.plan/1"})
    with assert_raises(fastgpu.Error) as refused:
        job.launch("true", dry_run=True)
    assert_in("fastgpu.plan/1", str(refused.exception))
    missing = {"schema": "fastgpu.error/1", "error": {"message": "none", "kind": "not_found"}}
    fake.answers(missing, {"schema": "fastgpu.plan/1"})
    with assert_raises(fastgpu.Error) as refused:
        fastgpu.make_job("demo", dry_run=True)
    assert_in("fastgpu.plan/1", str(refused.exception))


def test_a_text_is_a_line_for_the_shell(fake):
    job = fake.job()
    fake.answers(job_document())
    job.launch("echo hi")
    assert_equal(fake.words[-4:], ["--", "sh", "-c", "echo hi"])
    fake.answers(job_document())
    job.launch([pathlib.Path("/bin/echo"), 3])
    assert_equal(fake.words[-3:], ["--", "/bin/echo", "3"])


def test_values_of_variables_are_texts_numbers_and_paths(fake):
    job = fake.job()
    fake.answers(job_document())
    values = {"T_N": 1, "T_LR": 0.5, "T_TEXT": "a b", "T_PATH": pathlib.Path("/data")}
    job.launch("true", env={**values, "T_LINES": "a\nb", "T_CR": "a\r"})
    words, own, lines = fake.seen[-1]
    assert_equal(lines, ["T_N=1", "T_LR=0.5", "T_TEXT=a b", "T_PATH=/data"])
    assert_not_in("a b", " ".join(words))
    # A file of lines cannot have these.
    assert_equal(own, {"T_LINES": "a\nb", "T_CR": "a\r"})
    assert_true("--env=T_LINES" in words and "--env=T_CR" in words, words)
    before = len(fake.seen)
    for value in (True, None, ["a"], b"a", "a\0b"):
        with assert_raises(fastgpu.Error) as refused:
            job.launch("true", env={"T_N": value})
        assert_in("T_N", str(refused.exception))
        assert_equal(refused.exception.kind, "usage")
    with assert_raises(fastgpu.Error):
        job.launch("true", env={"A=B": "c"})
    assert_equal(len(fake.seen), before, "commands after a refusal")


def test_a_list_is_one_value_with_commas_or_repeats_the_flag(fake):
    job = fake.job()
    fake.answers(job_document())
    job.launch("true", retry=1, on=["hang", "failure"], host=("demo-0", "demo-1"), after=["a", "b"])
    for word in ("--on=hang,failure", "--host=demo-0,demo-1", "--after=a", "--after=b"):
        assert_in(word, fake.words)


def test_all_flags_with_a_list_of_values_are_joined_by_commas(_):
    pages = (ROOT / "docs/reference/commands").glob("*.md")
    found = {
        flag.replace("-", "_")
        for page in pages
        for flag in re.findall(r"^  .*--([a-z-]+) \S+,\.\.\.", page.read_text(), re.M)
    }
    assert_true({"on", "host"} <= found, found)
    assert_equal(found - _command._COMMA_LISTS, set())


def test_a_host_that_fails_by_itself_is_an_error_with_its_kind(fake):
    job = fake.job()
    failure = {"kind": "timeout", "message": "no answer within 2s"}
    fake.answers(host_document(error=failure, exit_code=None))
    with assert_raises(fastgpu.Error) as failed:
        job.run("sleep 10", max_wait_sec=2)
    assert_equal(
        str(failed.exception), "demo-0: command 'sleep 10': no answer within 2s", "the message"
    )
    assert_equal(failed.exception.kind, "timeout")
    fake.answers(host_document(error=failure))
    with assert_raises(fastgpu.Error) as failed:
        job.upload("data")
    assert_not_in("{", str(failed.exception))
    assert_equal(failed.exception.kind, "timeout")


def test_a_program_that_fails_is_a_command_error(fake):
    job = fake.job()
    fake.answers(host_document(exit_code=3, stderr="step\nwhy\n"))
    with assert_raises(fastgpu.CommandError) as failed:
        job.run("false")
    assert_in("returned status 3: why", str(failed.exception))
    assert_equal(failed.exception.exit_code, 3)


def test_logs_that_cannot_be_read_are_an_error(fake):
    job = fake.job()
    fake.answers(job_document())
    run = job.launch("true")
    lines = [{"rank": 0, "stream": "stdout", "time": None, "text": "step"}]
    logs = {"schema": "fastgpu.logs/1", "job": "train-1", "lines": lines}
    gone = {"kind": "transient", "message": "demo-1 does not answer"}
    fake.answers(logs, {**logs, "error": gone, "code": 1}, {**logs, "code": 2})
    assert_equal(run.logs(), ["step"])
    failed = refusal_of(run.logs)
    assert_equal((str(failed), failed.kind), ("demo-1 does not answer", "transient"))
    assert_equal(refusal_of(run.logs).exit_code, 2)
    fake.answers(jobs_document(job_document("a-1.1"), job_document("a-1.2")))
    array = job.launch("true", array="1-2")
    fake.answers(logs, {**logs, "lines": [], "error": gone, "code": 1})
    assert_equal(refusal_of(array.logs).kind, "transient")


def test_a_command_that_fails_behind_its_document_is_an_error(fake):
    job = fake.job()
    fake.answers(cluster_document(state="degraded", code=1))
    assert_equal(refusal_of(job.start).exit_code, 1)


def test_a_job_that_is_not_as_it_is_asked_for_is_a_conflict(fake):
    there = cluster_document(2, machine=MACHINE, provider="aws", slots=8)
    for asked in (
        {"num_tasks": 5},
        {"num_tasks": 1},
        {"num_tasks": 4, "min_nodes": 3},
        {"provider": "local"},
        {"cloud": ["alibaba", "tencent"]},
        {"slots": 1},
        {"instance_type": "p5"},
        {"zone_id": "us-east-1b"},
        {"region": "eu-west-1"},
        {"spot": True},
    ):
        fake.answers(there)
        refused = refusal_of(lambda given=asked: fastgpu.make_job("demo", **given))
        assert_equal((refused.kind, refused.exit_code), ("conflict", 6), asked)
        assert_in("demo exists already", str(refused))
    for asked in (
        {},
        {"num_tasks": 2},
        {"num_tasks": 4, "min_nodes": 2},
        {"provider": "aws", "slots": 8},
        {"cloud": "any", "region": "all"},
        {"cloud": ["alibaba", "aws"]},
        {"instance_type": "p4d", "zone_id": "us-east-1a", "confirm_cost": True},
    ):
        fake.answers(there)
        assert_equal(len(fastgpu.make_job("demo", **asked).tasks), 2)
    fake.answers(cluster_document())
    assert_in("not p4d", str(refusal_of(lambda: fastgpu.make_job("demo", instance_type="p4d"))))


def test_an_interrupted_creation_is_finished_and_its_script_is_run(fake):
    done = host_document()
    fake.answers(cluster_document(0, state="creating"), cluster_document(2), done, done, done)
    assert_equal(len(fastgpu.make_job("demo", num_tasks=2, install_script="true").tasks), 2)
    assert_equal([one[0][0] for one in fake.seen], ["describe", "create", "exec", "exec", "exec"])


def test_a_job_whose_install_script_has_failed_is_a_conflict(fake):
    marked, bad = host_document(stdout="unfinished\n"), host_document(exit_code=3)
    fake.answers(NOT_FOUND, cluster_document(), host_document(), bad, cluster_document(), marked)
    failed = refusal_of(lambda: fastgpu.make_job("demo", install_script="exit 3"))
    assert_equal(failed.exit_code, 3)
    again = refusal_of(lambda: fastgpu.make_job("demo", install_script="exit 3"))
    assert_equal(again.kind, "conflict")
    # The mark is made before the script, and removed by a command after it.
    assert_equal(len([one for one in fake.seen if one[0][0] == "exec"]), 3)
    stopped = [{"name": "demo-0", "index": 0, "state": "stopped"}]
    fake.answers({**cluster_document(state="stopped"), "nodes": stopped})
    fastgpu.make_job("demo", install_script="exit 3")  # It is looked at once it runs.


def test_words_that_look_like_flags_are_names_or_refused(fake):
    for name in ("--help", "-v", ""):
        assert_equal(refusal_of(lambda given=name: fastgpu.find_job(given)).kind, "usage")
        assert_equal(refusal_of(lambda given=name: fastgpu.make_job(given)).kind, "usage")
    assert_equal(fake.seen, [])
    task = fake.job().tasks[0]
    fake.answers(host_document(stdout="text"))
    assert_equal(task.read("-w"), "text")
    assert_equal(fake.words[-4:], ["--", "cat", "--", "-w"])
    copied = {"schema": "fastgpu.copy/1", "hosts": [host_document()["hosts"][0]]}
    fake.answers(copied, copied)
    task.upload("-x", "-y")
    assert_equal(fake.words[:3], ["cp", "./-x", "demo/0:-y"])
    task.download("-y", pathlib.Path("a:b"))
    assert_equal(fake.words[:3], ["cp", "demo/0:-y", "./a:b"])
    assert_equal(refusal_of(lambda: task.upload("")).kind, "usage")


def test_a_flag_without_its_value_takes_no_other_flag_for_it(fake):
    job = fake.job()
    fake.answers(job_document())
    job.launch("true", np=True, npernode=2)
    assert_equal(fake.words[fake.words.index("--np") + 1], "--")


def test_a_program_that_cannot_be_run_is_an_error(fake):
    fastgpu.use(program=str(fake.folder / "missing"))
    refused = refusal_of(lambda: fastgpu.find_job("demo"))
    assert_equal(refused.kind, "local")
    assert_in("missing cannot be run: No such file", str(refused))
    fastgpu.use(program=str(fake.folder))
    assert_equal(refusal_of(lambda: fastgpu.find_job("demo")).kind, "local")
    fastgpu.use(program="true")
    assert_in("no document", str(refusal_of(lambda: fastgpu.find_job("demo"))))
    assert_equal(refusal_of(lambda: fastgpu.find_job("de\0mo")).kind, "usage")


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), played, sys.argv[1:])
