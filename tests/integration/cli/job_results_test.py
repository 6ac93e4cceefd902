"""What is left of jobs and seen of them afterwards: folders on nodes, logs, ends and reports:
job_results_test.py FASTGPU [TEST ...]
"""

import datetime
import json
import pathlib
import sys
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_folders, job_words, run_tests, within
from suite import assert_equal, assert_in, assert_is, assert_less, assert_not_in, assert_true


def test_ended_jobs_do_not_fill_the_nodes(user):
    name = user.two_nodes()
    user.run("delete", "job", "--all", "--yes")
    assert_equal(job_folders(user, name), [], "delete job --all leaves something")
    tree = user.folder / "tree"
    tree.mkdir()
    (tree / "data").write_text("data")
    (tree / ".fastgpuignore").write_text("*.ckpt\n")
    (tree / "a.ckpt").write_text("large")
    keep = {"FASTGPU_KEEP_JOBS": "2"}
    for _ in range(4):
        program = ["sh", "-c", "cat data && test ! -e a.ckpt"]
        user.run(*job_words(name, 2, program, "many", "--sync", str(tree)), environment=keep)
    running = user.start(*job_words(name, 2, ["sleep", "1000"], "held"), environment=keep)
    assert_true(
        within(
            20,
            lambda: user.run("exec", name, "--", "pgrep", "-x", "sleep", code=None).returncode == 0,
        ),
        "no start",
    )
    assert_true(
        within(10, lambda: len(job_folders(user, name)) == 3), f"left: {job_folders(user, name)}"
    )
    beside = job_words(name, 2, ["true"], "many", "--share")
    user.run(*beside, environment={"FASTGPU_KEEP_JOBS": "0"})
    assert_true(
        within(
            10, lambda: job_folders(user, name)[0] == "held-1" and len(job_folders(user, name)) == 2
        ),
        f"left: {job_folders(user, name)}",
    )
    user.refused(["delete", "job", "held-1", "--yes"], 6, "is running", "fastgpu cancel job held-1")
    user.refused(["delete", "job"], 2, "--older-than")
    user.refused(["delete", "job", "many"], 2, "--yes")
    plan = json.loads(user.run("delete", "job", "--all", "--dry-run", "-o", "json").out)
    assert_in("many-5", [job["id"] for job in plan["jobs"]], f"{plan}")
    assert_not_in("held-1", [job["id"] for job in plan["jobs"]], f"{plan}")
    assert_equal(
        json.loads(user.run("delete", "job", "--older-than", "1h", "--yes", "-o", "json").out)[
            "jobs"
        ],
        [],
        "too new",
    )
    user.run("delete", "job", "many-5", "many-4", "--yes")
    assert_not_in("many-5", job_folders(user, name), "the folder is left")
    user.refused(["logs", "many-5"], 5, "many-5")
    user.run("cancel", "job", "held-1", "--dry-run")
    assert_is(running.poll(), None, "--dry-run stopped the job")
    user.refused(["wait", "job", "held-1", "--timeout", "1s"], 124, "has not ended after 1s")
    assert_is(running.poll(), None, "waiting stopped the job")
    user.run("cancel", "job", "held-1")
    running.communicate(timeout=30)
    user.run("delete", "job", "--all", "--yes")
    assert_equal(job_folders(user, name), [], "left")


def test_a_full_disk_of_a_node_is_named(user):
    name = user.two_nodes()
    jobs = "/root/.fastgpu/jobs"
    user.run(
        "exec",
        f"{name}/1",
        "--",
        "sh",
        "-c",
        f"mkdir -p {jobs} && mount -t tmpfs -o size=300k tmpfs {jobs}",
    )
    try:
        loud = (
            "for i in $(seq 20000); do echo 'a line of seventy bytes or so, as programs write "
            "them when they run' || exit 9; done"
        )
        done = user.run(
            "run", "job", "loud", "-c", name, "-np", "2", "--", "sh", "-c", loud, code=9
        )
        told = f"no space left on {name}-1: {jobs}/loud-1/ranks"
        assert_in(f"rank 1 on {name}-1: exited with 9; {told}", done.err)
        assert_equal(done.err.count("warning"), 1, done.err)
        assert_in(told, done.err)
        done = user.run(
            "run",
            "job",
            "deaf",
            "-c",
            name,
            "-np",
            "2",
            "--",
            "sh",
            "-c",
            loud.replace("|| exit 9", "2>/dev/null") + "; true",
            code=None,
        )
        assert_in("no space left", done.err)
        assert_not_in("lost", done.err)
        user.run(
            "exec", f"{name}/1", "--", "sh", "-c", f"head -c 1000000 /dev/zero >{jobs}/all; true"
        )
        done = user.refused(
            ["run", "job", "none", "-c", name, "-np", "2", "--", "true"],
            4,
            f"no space left on {name}-1: {jobs}",
        )
        assert_not_in("restarted", done.err)
    finally:
        user.run("exec", f"{name}/1", "--", "umount", "-l", jobs)
    user.run("exec", f"{name}/0", "--", "sh", "-c", f"mount -t tmpfs -o size=300k tmpfs {jobs}")
    try:
        done = user.run(
            "run",
            "job",
            "first",
            "-c",
            name,
            "-np",
            "2",
            "--",
            "sh",
            "-c",
            f"[ $RANK = 1 ] || {{ {loud}; }}",
            code=9,
        )
        assert_in(
            f"rank 0 on {name}-0: exited with 9; no space left on {name}-0: {jobs}/first-1/ranks",
            done.err,
        )
    finally:
        user.run("exec", f"{name}/0", "--", "umount", "-l", jobs)


def test_jobs_of_a_stopped_cluster_have_ended(user):
    user.run("create", "cluster", user.cluster, "--nodes", "1")
    name = user.cluster
    user.run("run", "job", "done", "-c", name, "-np", "1", "--", "echo", "written")
    user.run(*job_words(name, 1, ["sh", "-c", "echo no data >&2; exit 3"], "bad"), code=3)
    user.run("run", "job", "left", "-c", name, "-np", "1", "--detach", "--", "sleep", "1000")
    user.run("stop", "cluster", name, "--yes", code=None)
    jobs = {job["id"]: job for job in json.loads(user.run("get", "jobs", "-o", "json").out)["jobs"]}
    assert_equal(jobs["left-1"]["state"], "lost", f"{jobs}")
    assert_in("stopped", jobs["left-1"]["reason"], f"{jobs}")
    assert_equal(jobs["done-1"]["state"], "succeeded", f"{jobs}")
    for words in (["logs", "left"], ["logs", "done"], ["attach", "job", "left"]):
        began = time.monotonic()
        user.refused(words, 6, "is stopped: start it with: fastgpu start cluster")
        assert_less(time.monotonic() - began, 5, f"{words} waited")
    began = time.monotonic()
    report = json.loads(user.run("report", "bad", "-o", "json").out)
    assert_less(time.monotonic() - began, 5, "the report waited")
    assert_equal(report["ranks"][0]["exit_code"], 3)
    assert_equal(
        report["missing"],
        [f"{name}-0 is stopped: `fastgpu start cluster {name}` starts it"],
    )
    user.run("start", "cluster", name)
    assert_equal(user.run("logs", "done").out, b"written\n", "the log did not survive")


SPEAKS = "if [ $RANK = 0 ]; then echo a; sleep 6; echo c; else sleep 1; echo b; sleep 6; echo d; fi"


def test_logs_are_sorted_by_time(user):
    name = user.two_nodes()
    user.run("run", "job", "speaks", "-c", name, "-np", "2", "--", "sh", "-c", SPEAKS)
    ended = time.time()
    shown = user.run("logs", "speaks").out.decode()
    assert_equal(shown, "[0] a\n[1] b\n[0] c\n[1] d\n", "the order")
    timed = user.run("logs", "speaks", "--timestamps").out.decode().splitlines()
    assert_equal([line.split(" ", 1)[1] for line in timed], shown.splitlines(), "the lines")
    times = [
        datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00")) for line in timed
    ]
    assert_equal(times, sorted(times), "the times")
    assert_true(6 < (times[3] - times[0]).total_seconds() < 12, f"{times}")
    lines = json.loads(user.run("logs", "speaks", "-o", "json").out)["lines"]
    assert_equal(sorted(line["text"] for line in lines), ["a", "b", "c", "d"])
    by_text = {line["text"]: line["time"] for line in lines}
    assert_equal([by_text[line[-1]] for line in timed], [line.split()[0] for line in timed])
    # The command has until `c` is that old to begin, which on a busy machine takes seconds.
    since = f"{time.time() - times[1].timestamp() - 0.3:.1f}s"
    assert_equal(user.run("logs", "speaks", "--since", since).out.decode(), "[0] c\n[1] d\n")
    assert_true(time.time() - ended < 60, "the node was too slow for this test")
    assert_equal(
        user.run("logs", "speaks", "--since", "1h", "--tail", "1").out.decode(), "[0] c\n[1] d\n"
    )
    assert_equal(user.run("logs", "speaks", "--rank", "1").out, b"b\nd\n", "the bytes of a rank")


def test_a_line_of_several_ranks_is_shown_once_under_fold(user):
    name = user.two_nodes()
    program = "echo begin; test $RANK = 0 || sleep 1; echo rank $RANK; echo alike >&2"
    user.run("run", "job", "alike", "-c", name, "-np", "2", "--", "sh", "-c", program)
    done = user.run("logs", "alike", "--fold")
    assert_equal(done.out.decode(), "[0-1] begin\n[0] rank 0\n[1] rank 1\n")
    assert_equal(done.err, "[0-1] alike\n")
    for more in (["-f"], ["--rank", "0"], ["--timestamps"], ["-o", "json"]):
        done = user.run("logs", "alike", "--fold", *more, code=2)
        assert_in("exclude each other", done.err)


def test_a_colour_that_a_rank_leaves_on_is_not_for_the_folded_lines_of_others(user):
    name = user.two_nodes()
    program = (
        'if [ $RANK = 0 ]; then printf "\\033[31mred\\n"; else sleep 0.5; echo plain; fi; sleep 0.5'
    )
    user.run("run", "job", "colours", "-c", name, "-np", "2", "--", "sh", "-c", program)
    done = user.run("logs", "colours", "--fold").out.decode()
    assert_equal(done, "[0] \x1b[31mred\x1b[0m\n[1] plain\n")


def test_several_jobs_are_waited_for_and_reported(user):
    name = user.two_nodes()
    for job, script in (("good", "sleep 1"), ("bad", "exit 4"), ("worse", "exit 5")):
        user.run("run", "job", job, "-c", name, "-np", "1", "-d", "--", "sh", "-c", script)
    report = user.folder / "jobs.xml"
    words = ("wait", "job", "good", "bad", "worse", "good-1", "--junit", str(report))
    done = user.run(*words, code=4)
    assert_in("job bad-1 failed", done.err)
    assert_in("job worse-1 failed", done.err)
    suite = xml.etree.ElementTree.parse(report).getroot()
    assert_equal((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("3", "2", "0"))
    cases = {case.get("name"): case for case in suite}
    assert_equal(sorted(cases), ["bad-1", "good-1", "worse-1"])
    assert_in("exited with 4", cases["bad-1"].find("failure").get("message"))
    assert_true(float(cases["good-1"].get("time")) >= 1, "the time of a job")
    shown = json.loads(user.run(*words, "-o", "json", code=4).out)["jobs"]
    assert_equal([job["id"] for job in shown], ["good-1", "bad-1", "worse-1"])
    shown = json.loads(user.run("get", "jobs", "bad", "good", "bad-1", "-o", "json").out)["jobs"]
    assert_equal([job["id"] for job in shown], ["bad-1", "good-1"])
    assert_not_in(b"worse-1", user.run("get", "jobs", "bad", "good").out)
    user.run("get", "jobs", "bad", "missing", code=5)
    shown = json.loads(user.run("get", "clusters", name, name, "-o", "json").out)["clusters"]
    assert_equal([cluster["name"] for cluster in shown], [name])
    user.run("run", "job", "long", "-c", name, "-np", "1", "-d", "--", "sleep", "600")
    done = user.run(
        "wait", "job", "good", "long", "--timeout", "1s", "--junit", str(report), code=124
    )
    suite = xml.etree.ElementTree.parse(report).getroot()
    assert_equal((suite.get("failures"), suite.get("errors")), ("0", "1"))
    user.run("cancel", "job", "long")
    user.refused(
        ["wait", "job", "good", "--junit", "/none/jobs.xml"],
        5,
        "--junit '/none/jobs.xml': no such directory: /none",
    )


def test_equal_endings_are_told_once_under_fold(user):
    name = user.two_nodes()
    done = user.run("exec", name, "-b", "--", "sh", "-c", "echo trouble >&2; exit 2", code=2)
    assert_equal(done.err, f"{name}-[0-1]: trouble\n{name}-[0-1]: exited with 2\n")


if __name__ == "__main__":
    run_tests(globals())
