"""Ranks on CPUs of their own: placement_test.py FASTGPU [TEST ...]"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster
from suite import assert_equal, assert_in, assert_not_in

ALLOWED = "$(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)"
SHOW = ["sh", "-c", f"echo $RANK $FASTGPU_CPUS {ALLOWED}"]


def usable():
    return sorted(os.sched_getaffinity(0))


def numbers(text):
    found = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def planned(user, cluster, *more):
    """Returns the CPUs of each rank, as a dry run has them."""
    words = ("run", "job", "-c", cluster, *more, "--dry-run", "-o", "json", "--", "true")
    nodes = json.loads(user.run(*words).out)["job"]["nodes"]
    return [cpus for node in nodes for cpus in node["cpus"]]


@shared_cluster
def test_ranks_run_where_the_dry_run_draws_them(user):
    name = user.two_nodes()
    for launcher in ("mpirun", "plain"):
        for unit in ("core", "numa", "socket"):
            plan = planned(user, name, "--per", unit, "--launcher", launcher)
            assert_equal(len(plan), 2)
            done = user.run(
                "run", "job", "-c", name, "--per", unit, "--launcher", launcher, "--", *SHOW
            )
            seen = {}
            for line in done.out.decode().splitlines():
                rank, told, real = line.split("] ")[-1].split()
                assert_equal(told, real)
                seen[int(rank)] = real
            assert_equal([seen[rank] for rank in sorted(seen)], plan)
            assert_not_in("uses CPUs", done.err)
    if len(usable()) > 1:
        cores = planned(user, name, "--per", "core")
        assert_equal(set(numbers(cores[0])) & set(numbers(cores[1])), set(), "two nodes share one")


@shared_cluster
def test_the_drawing_has_nodes_sockets_and_ranks(user):
    name = user.two_nodes()
    done = user.run("run", "job", "-c", name, "--per", "socket", "--dry-run", "--", "true")
    text = done.out.decode()
    for part in (f"{name}-0\n", f"{name}-1\n", "  socket ", "    NUMA node ", "rank 0: CPUs"):
        assert_in(part, text)
    plain = user.run("run", "job", "-c", name, "--dry-run", "--", "true").out.decode()
    assert_not_in("socket", plain)


@shared_cluster
def test_a_rank_without_a_unit_uses_all_of_its_node(user):
    name = user.two_nodes()
    done = user.run(*job_words(f"{name}/0", 1, SHOW))
    real = done.out.decode().split()[-1]
    assert_equal(numbers(real), usable())
    threads = ["sh", "-c", "echo threads $OMP_NUM_THREADS"]
    bound = user.run("run", "job", "-c", f"{name}/0", "-np", "1", "--per", "core", "--", *threads)
    cores = numbers(planned(user, f"{name}/0", "-np", "1", "--per", "core")[0])
    assert_in(f"threads {len(cores)}", bound.out.decode())


@shared_cluster
def test_what_does_not_fit_is_refused(user):
    name = user.two_nodes()
    words = ("run", "job", "-c", name, "--per")
    user.refused([*words, "gpu", "--", "true"], 2, "has no gpu")
    user.refused([*words, "cores", "--", "true"], 2, "core")
    user.refused([*words, "core", "--launcher", "torchrun", "--", "true"], 2, "torchrun")
    user.refused([*words, "core", "-np", "99", "--", "true"], 2, "slots")
    alone = planned(user, f"{name}/0", "--per", "socket", "--oversubscribe", "-np", "3")
    assert_equal(len(set(alone)), 1)
    if len(planned(user, f"{name}/0", "--per", "core", "--oversubscribe")) > 1:
        words = ["run", "job", "-c", f"{name}/0", "--per", "core", "--", "true"]
        user.refused(words, 2, "which has 1 slot")


if __name__ == "__main__":
    run_tests(globals())
