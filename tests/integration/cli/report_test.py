"""The report of a job, and the bundle that is made of one that has ended badly: report_test.py
FASTGPU [TEST ...]
"""

import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

FAILS = 'echo "<b>step 1</b>"; test $RANK = 0 || { sleep 1; echo "no data" >&2; exit 7; }; sleep 60'


@shared_cluster
def test_a_report_shows_how_each_rank_ended(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sh", "-c", FAILS], "broken"), code=7)
    shown = json.loads(user.run("report", "broken-1", "-o", "json").out)
    assert_equal([rank["rank"] for rank in shown["ranks"]], [0, 1])
    assert_equal(shown["ranks"][1]["exit_code"], 7)
    assert_true(shown["ranks"][0]["ordered_to_end"], "rank 0 was not ordered to end")
    assert_true(shown["ranks"][1]["began"] < shown["ranks"][1]["ended"], "it has no duration")
    assert_equal(shown["job"]["cause"], "failure")
    page = user.folder / "report.html"
    user.run("report", "broken", "--out", str(page))
    text = page.read_text()
    root = ElementTree.fromstring(text)
    assert_in("<b>step 1</b>", "".join(root.itertext()))
    assert_in("no data", text)
    for flag in ("--out", "-o"):
        user.refused(["report", "broken", flag, str(page)], 6, "report.html")
    user.run("report", "broken", "-o", str(page), "--force")
    assert_in("no data", page.read_text())
    assert_equal(user.run("report", "broken", "-o", "html").out.decode().count("<html"), 1)
    table = user.run("report", "broken").out.decode()
    assert_in("exited with 7", table)


@shared_cluster
def test_a_report_shows_the_course_of_the_loss(user):
    name = user.two_nodes()
    program = (
        'for i in 1 2 3 4; do printf "step $i loss 0.$((9 - i))\\r" >&2; sleep 0.2; done; '
        'echo "acc=0.5"; test $RANK = 0 || echo "loss 7"'
    )
    user.run(*job_words(name, 2, ["sh", "-c", program], "learned"))
    metrics = json.loads(user.run("report", "learned", "-o", "json").out)["metrics"]
    assert_equal([metric["name"] for metric in metrics], ["loss", "acc"])
    points = metrics[0]["points"]
    assert_equal([point["value"] for point in points], [0.8, 0.7, 0.6, 0.5])
    times = [point["time"] for point in points]
    assert_equal(times, sorted(times), "their order")
    assert_true(len(set(times)) > 1, f"{times}")
    text = user.run("report", "learned", "-o", "html").out.decode()
    assert_in("loss 0.8 to 0.5, from 0.5 to 0.8", text)


@shared_cluster
def test_a_job_whose_folder_was_removed_names_all_nodes_that_lack_it(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sh", "-c", "echo rank $RANK"], "tidied"))
    remove = ["sh", "-c", "rm -r ~/.fastgpu/jobs/tidied-1"]
    for removed, rest in ((f"{name}-1", "[0] rank 0"), (f"{name}-0", "")):
        user.run("exec", f"{name}/{removed}", "--", *remove)
        lacking = f"{name}-1" if rest else f"{name}-[0-1]"
        said = f"job tidied-1 has ended, and its folder was removed from {lacking}: the settings"
        for words in (
            ["logs", "tidied"],
            ["logs", "tidied", "-f"],
            ["logs", "tidied", "-o", "json"],
        ):
            done = user.refused(words, 5, said)
            assert_in("rank 0" if rest else "", done.out.decode())
        if rest:
            attached = user.run("attach", "job", "tidied")
            assert_equal(attached.out.decode(), f"{rest}\n")
            assert_equal(attached.err.count(f"warning: {said}"), 1, attached.err)
        report = json.loads(user.run("report", "tidied", "-o", "json").out)
        assert_equal(len(report["missing"]), 1, report["missing"])
        assert_true(report["missing"][0].startswith(said), report["missing"])
    said = f"error: job tidied-1 has ended, and its folder was removed from {name}-"
    assert_not_in("goes on", user.refused(["attach", "job", "tidied"], 5, said).err)


# Prints the processor time of its parent, the agent that runs the rank, in nanoseconds.
SPENT = "read -r spent _ </proc/$PPID/schedstat; echo $spent; "


@shared_cluster
def test_a_report_shows_how_busy_the_nodes_were(user):
    name = user.two_nodes()
    busy = "end=$(($(date +%s) + 5)); while test $(date +%s) -lt $end; do :; done"
    user.run(*job_words(name, 2, ["sh", "-c", busy], "busy"))
    shown = json.loads(user.run("report", "busy", "-o", "json").out)
    assert_equal(shown["missing"], [])
    assert_equal([node["node"] for node in shown["usage"]], [f"{name}-0", f"{name}-1"])
    for node in shown["usage"]:
        samples = node["samples"]
        assert_true(2 <= len(samples) <= 6, f"{len(samples)} samples of 5 seconds")
        for sample in samples:
            assert_true(0.8 <= sample["seconds"] <= 3, sample)
            assert_true(0 < sample["busy_percent"] <= 100, sample)
            assert_true(0 < sample["memory_used_bytes"] < sample["memory_bytes"], sample)
        times = [sample["ended"] for sample in samples]
        assert_equal(times, sorted(set(times)), "their order")
    text = user.run("report", "busy", "-o", "html").out.decode()
    assert_equal(text.count("<svg"), 6, "CPU, memory and network of two nodes")
    user.run(*job_words(name, 2, ["true"], "short"))
    shown = json.loads(user.run("report", "short", "-o", "json").out)
    assert_equal([node["samples"] for node in shown["usage"]], [[], []])
    assert_equal(shown["missing"], [])


@shared_cluster
def test_sampling_goes_on_when_the_first_rank_of_a_node_has_ended(user):
    name = user.two_nodes()
    program = ["sh", "-c", "test $LOCAL_RANK = 0 && exec sleep 3; exec sleep 16"]
    words = ["--npernode", "2", "--oversubscribe"]
    user.run(*job_words(name, 4, program, "turns", *words), timeout=60)
    shown = json.loads(user.run("report", "turns", "-o", "json").out)
    for node in shown["usage"]:
        seconds = [float(sample["ended"][17:-1]) for sample in node["samples"]]
        assert_true(len(seconds) >= 4, seconds)
        # Another rank offers itself every ten seconds.
        assert_true((seconds[-1] - seconds[0]) % 60 > 7, seconds)


@shared_cluster
def test_nodes_without_this_versions_agent_get_it_when_asked_about_a_job(user):
    name = user.two_nodes()
    user.run(*job_words(name, 2, ["sh", "-c", "echo kept $RANK"], "older"), timeout=60)
    # As after an upgrade: what an older version has installed has another name.
    move = ["sh", "-c", "cd ~/.fastgpu/bin && for f in *; do mv $f $f.older; done"]
    for words in (["logs", "older"], ["report", "older"], ["logs", "older", "-f"]):
        user.run("exec", name, "--", *move)
        result = user.run(*words)
        assert_in("exited with 0" if words[0] == "report" else "[1] kept 1", result.out.decode())
        assert_equal(result.err, "")


@shared_cluster
def test_sampling_uses_less_than_half_a_percent_of_a_core(user):
    name = user.two_nodes()
    seconds = 12
    program = ["sh", "-c", f"sleep 2; {SPENT} sleep {seconds}; {SPENT}"]
    user.run(*job_words(name, 2, program, "cheap"), timeout=60)
    for rank in ("0", "1"):
        before, after = map(int, user.run("logs", "cheap", "--rank", rank).out.split())
        assert_less((after - before) / 1e9 / seconds, 0.005, f"rank {rank}: share of a core")


@shared_cluster
def test_a_report_shows_what_the_library_has_counted(user):
    name = user.two_nodes()
    folders = ["-e", "FASTGPU_COMM_COUNTERS=/root/c", "-e", "FASTGPU_COMM_TIMELINE=/root/t"]
    user.run("bench", "comm", name, "--model", "resnet50", "--steps", "3", *folders)
    job = json.loads(user.run("get", "jobs", "-o", "json").out)["jobs"]
    job = max(job, key=lambda one: one["created"])["id"]
    shown = json.loads(user.run("report", job, "-o", "json").out)
    assert_equal(shown["missing"], [])
    assert_equal([one["rank"] for one in shown["counters"]], [0, 1])
    assert_equal([one["node"] for one in shown["counters"]], [f"{name}-0", f"{name}-1"])
    for one in shown["counters"]:
        assert_true(one["counters"]["steps"] >= 3, one)
        assert_true(one["counters"]["bucket_bytes"] > 1_000_000, one)
    assert_equal(
        [one["path"] for one in shown["timelines"]], ["/root/t/rank-0.json", "/root/t/rank-1.json"]
    )
    assert_true(all(one["bytes"] > 100 for one in shown["timelines"]), shown["timelines"])
    traces = shown["traces"]
    assert_equal([one["rank"] for one in traces["ranks"]], [0, 1])
    for one in traces["ranks"]:
        assert_equal((one["bytes_read"], one["unread_lines"]), (one["bytes"], 0))
    sums = next(one for one in traces["operations"] if one["name"] == "all-reduce")
    assert_true(sums["bytes"] > 1_000_000, sums)
    assert_true(0 < sums["median_seconds"] <= sums["longest_seconds"], sums)
    assert_true(len(traces["steps"]) >= 3, traces["steps"])
    assert_true({one["ranks"] for one in traces["steps"]} == {2}, traces["steps"])
    for one in traces["waits"]:
        assert_true(one["rank"] != one["waited_for"], one)
    text = user.run("report", job, "-o", "html").out.decode()
    assert_in("<td>bucket_bytes</td><td>2</td>", text)
    assert_in("<summary>rank 1 on " + f"{name}-1</summary>", text)
    assert_in('class="op sum"', text)
    # Another job finds files of this one there, which are not its own.
    user.run(*job_words(name, 2, ["true"], "other", *folders))
    shown = json.loads(user.run("report", "other", "-o", "json").out)
    assert_equal((shown["counters"], shown["timelines"]), ([], []))


# Writes timelines as the library does: rank 0 a large one, the others one that is cut in a line.
WRITES_TIMELINES = r"""mkdir -p /root/large && awk 'BEGIN {
    printf "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{\"name\":\"process_name\"}"
    for (i = 0; i < (ENVIRON["RANK"] == 0 ? 20000 : 1); ++i)
        printf ",\n{\"name\":\"ready\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":%d.5,\"dur\":2," \
               "\"args\":{\"step\":%d,\"number\":1}}", i * 10, i / 100
    printf ENVIRON["RANK"] == 0 ? "]}\n" : ",\n{\"name\":\"rea"
}' >/root/large/rank-$RANK.json"""


@shared_cluster
def test_a_report_reads_the_ends_of_large_timelines_and_what_is_whole_in_others(user):
    name = user.two_nodes()
    folder = ["-e", "FASTGPU_COMM_TIMELINE=/root/large"]
    user.run(*job_words(name, 2, ["sh", "-c", WRITES_TIMELINES], "large", *folder))
    shown = json.loads(user.run("report", "large", "-o", "json").out)
    assert_equal(shown["missing"], [])
    large, broken = shown["traces"]["ranks"]
    assert_true(large["bytes"] > 1_500_000, large)
    assert_equal((large["bytes_read"], large["unread_lines"]), (512 * 1024, 0))
    assert_true(5_000 < large["events"] < 6_000, large)
    assert_equal((broken["events"], broken["unread_lines"]), (1, 1))
    assert_equal(shown["traces"]["steps"][-1]["step"], 199)
    text = user.run("report", "large", "-o", "html").out.decode()
    assert_in("Of 1 timeline only the end was read, 524 kB at most of each", text)
    assert_in("1 line could not be read", text)


@shared_cluster
def test_a_bad_end_leaves_a_bundle_without_secrets(user):
    name = user.two_nodes()
    place = user.folder / "bundles"
    words = ["--post-mortem", str(place), "-e", "LR=0.1", "--secret", "HIDDEN"]
    done = user.run(
        *job_words(name, 2, ["sh", "-c", FAILS], "bad", *words),
        code=7,
        environment={"HIDDEN": "sesame"},
    )
    bundle = place / "bad-1"
    assert_in(f"post-mortem of job bad-1: {bundle}", done.err)
    job = json.loads((bundle / "job.json").read_text())
    assert_equal(job["ranks"][1]["exit_code"], 7)
    assert_equal(job["missing"], [])
    assert_in("no data", (bundle / "logs/1.err").read_text())
    facts = (bundle / f"nodes/{name}-1.txt").read_text()
    assert_in("$ uname -a\nLinux", facts)
    assert_in("$ df -h", facts)
    assert_in("LR=0.1", (bundle / "environment.txt").read_text())
    for path in bundle.rglob("*"):
        if path.is_file():
            assert_not_in("sesame", path.read_text(errors="replace"), str(path))
            assert_equal(path.stat().st_mode & 0o77, 0, str(path))
    user.run(*job_words(name, 2, ["true"], "good", "--post-mortem", str(place)))
    assert_equal([path.name for path in place.iterdir()], ["bad-1"])


@shared_cluster
def test_each_run_of_a_job_that_is_started_again_leaves_its_bundle(user):
    name = user.two_nodes()
    place = user.folder / "bundles"
    words = ["--post-mortem", str(place), "--retry", "2", "--on", "failure"]
    ends_well = ["sh", "-c", "echo run $FASTGPU_RESTART_COUNT; test $FASTGPU_RESTART_COUNT = 2"]
    done = user.run(*job_words(name, 1, ends_well, "again", *words))
    assert_in(f"post-mortem of job again-1.r1: {place / 'again-1.r1'}", done.err)
    assert_equal(sorted(path.name for path in place.iterdir()), ["again-1", "again-1.r1"])
    for run, number in (("again-1", 0), ("again-1.r1", 1)):
        job = json.loads((place / run / "job.json").read_text())
        assert_equal((job["run"], job["state"], job["exit_code"]), (run, "failed", 1))
        assert_equal(job["cause"], "failure")
        assert_equal((place / run / "logs/0.out").read_text(), f"run {number}\n")


@shared_cluster
def test_a_hang_leaves_its_stacks_in_the_bundle(user):
    name = user.two_nodes()
    place = user.folder / "bundles"
    words = ["--post-mortem", str(place), "--hang-timeout", "2s"]
    user.run(*job_words(name, 2, ["sleep", "600"], "hung", *words), code=124)
    facts = (place / "hung-1" / f"nodes/{name}-0.txt").read_text()
    assert_in("rank 0, process", facts.split("$ stacks")[1])
    assert_less(len(facts), 1 << 18)


if __name__ == "__main__":
    run_tests(globals())
