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
    user.refused(["report", "broken", "--out", str(page)], 6, "report.html")
    assert_equal(user.run("report", "broken", "-o", "html").out.decode().count("<html"), 1)
    table = user.run("report", "broken").out.decode()
    assert_in("exited with 7", table)


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
