"""Ranks on CPUs of their own: placement_test.py FASTGPU [TEST ...]"""

import contextlib
import json
import os
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster, within
from suite import assert_equal, assert_in, assert_not_in, assert_true

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "templates/schemas"
GPUS = [f"0000:{bus}:00.0" for bus in ("3b", "5e", "86", "d8")]
# Bridges join the first GPU to the third one, and the second to the fourth.
SMI = r"""#!/bin/sh
case $1 in
topo)
  printf '\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n'
  printf 'GPU0\t X \tSYS\tNV12\tSYS\t0-3\nGPU1\tSYS\t X \tSYS\tNV12\t0-3\n'
  printf 'GPU2\tNV12\tSYS\t X \tSYS\t0-3\nGPU3\tSYS\tNV12\tSYS\t X \t0-3\n' ;;
--query-gpu=pci.bus_id) printf '0000%s\n' 0000:3B:00.0 0000:5E:00.0 0000:86:00.0 0000:D8:00.0 ;;
*) exit 2 ;;
esac
"""
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


@contextlib.contextmanager
def gpus_on(user, node):
    """Shows a node the files of four GPUs in place of its PCI bus, and a nvidia-smi."""
    bus, program = "/sys/bus/pci/devices", "/usr/local/sbin/nvidia-smi"

    def on(script):
        user.run("exec", node, "--", "sh", "-ec", script)

    on(f"printf %s {shlex.quote(SMI)} >{program}; chmod 755 {program}")
    on(f"mount -t tmpfs tmpfs {bus}")
    for gpu in GPUS:
        folder = f"{bus}/{gpu}"
        files = {"vendor": "0x10de", "class": "0x030200", "numa_node": "0"}
        writes = [f"echo {text} >{folder}/{file}" for file, text in files.items()]
        on("; ".join([f"mkdir {folder}", *writes]))
    try:
        yield
    finally:
        on(f"umount {bus}; rm {program}")


def fitting(document, kind):
    with contextlib.suppress(ImportError):
        import jsonschema

        jsonschema.validate(document, json.loads((SCHEMAS / f"{kind}.json").read_text()))
    return document


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
    user.refused([*words, "gpu", "--", "true"], 2, "NVIDIA GPU: leave --per out", "(--per core)")
    user.refused([*words, "cores", "--", "true"], 2, "core")
    user.refused([*words, "core", "--launcher", "torchrun", "--", "true"], 2, "torchrun")
    user.refused([*words, "core", "-np", "99", "--", "true"], 2, "there are cores for")
    alone = planned(user, f"{name}/0", "--per", "socket", "--oversubscribe", "-np", "3")
    assert_equal(len(set(alone)), 1)
    if len(planned(user, f"{name}/0", "--per", "core", "--oversubscribe")) > 1:
        words = ["run", "job", "-c", f"{name}/0", "--per", "core", "--", "true"]
        user.refused(words, 2, "which has 1 slot")


@shared_cluster
def test_ranks_get_the_gpus_that_are_linked(user):
    name = user.two_nodes()
    run = ["run", "job", "-c", f"{name}/0", "--per", "gpu", "--oversubscribe"]
    run += ["--launcher", "plain"]
    show = ["--", "sh", "-c", "echo $LOCAL_RANK: $CUDA_VISIBLE_DEVICES"]
    with gpus_on(user, f"{name}-0"):
        drawing = user.run(*run, "-np", "4", "--dry-run", "--", "true").out.decode()
        assert_in(f"{name}-0\n  NVLink (12 links): 0-2, 1-3\n", drawing)
        ranks = [line for line in drawing.splitlines() if "rank " in line]
        assert_equal([line.split(", ")[-1] for line in ranks], [f"GPU {n}" for n in (0, 2, 3, 1)])
        plan = user.run(*run, "-np", "2", "--dry-run", "-o", "json", "--", "true")
        plan = fitting(json.loads(plan.out), "plan")
        assert_equal(plan["job"]["nodes"][0]["gpus"], [0, 2])
        lines = user.run(*run, "-np", "4", *show).out.decode().splitlines()
        assert_equal(
            sorted(line.split("] ")[-1] for line in lines), [f"{n}: 0,2,3,1" for n in range(4)]
        )
        kept = user.run(*run, "-np", "1", "-e", "CUDA_VISIBLE_DEVICES=3", *show).out.decode()
        assert_in("0: 3", kept)


@shared_cluster
def test_the_gpus_of_a_node_are_described_with_their_links(user):
    name = user.two_nodes()
    words = ("describe", "node", f"{name}-0")
    document = fitting(json.loads(user.run(*words, "-o", "json").out), "node")
    assert_equal((document["gpu_devices"], document["nvlinks"]), ([], []))
    with gpus_on(user, f"{name}-0"):
        document = fitting(json.loads(user.run(*words, "-o", "json").out), "node")
        assert_equal([gpu["address"] for gpu in document["gpu_devices"]], GPUS)
        links = [{"gpus": [0, 2], "links": 12}, {"gpus": [1, 3], "links": 12}]
        assert_equal(document["nvlinks"], links)
        assert_in("NVLink:\n  12 links:  0-2, 1-3\n", user.run(*words).out.decode())
        hang = "printf '#!/bin/sh\\nexec sleep 60\\n' >/usr/local/sbin/nvidia-smi"
        user.run("exec", f"{name}/0", "--", "sh", "-c", hang)
        assert_in("unknown: nvidia-smi does not answer", user.run(*words).out.decode())
        run = ["run", "job", "-c", f"{name}/0", "--per", "gpu", "--dry-run", "--oversubscribe"]
        assert_in(f"{name}-0: nvidia-smi does not answer", user.run(*run, "--", "true").err)
        top = fitting(json.loads(user.run("top", name, "-o", "json").out), "top")
        assert_equal([node["gpus"] for node in top["nodes"]], [None, []])


# A program that shows what it has, and ends once a file with the id of its job exists.
UNTIL_FILE = [
    "sh",
    "-c",
    "echo has $CUDA_VISIBLE_DEVICES on $FASTGPU_CPUS; "
    "until test -e /root/$FASTGPU_JOB_ID; do sleep 0.1; done",
]


def node_with_slots(user, slots):
    """Makes a cluster of one node with more slots than it has cores or GPUs."""
    user.run("create", "cluster", user.cluster, "--nodes", "1", "--slots", str(slots))
    return user.cluster


def begin(user, name, job, ranks, unit, *more):
    """Starts a job with --detach that ends with its file. Returns what fastgpu says about it."""
    words = job_words(name, ranks, UNTIL_FILE, job, "--detach", "--per", unit, *more)
    return user.run(*words).err


def end(user, name, *jobs):
    user.run("exec", f"{name}/0", "--", "touch", *[f"/root/{job}" for job in jobs])
    user.run("wait", "job", *jobs, timeout=60)


def described(user, job):
    return fitting(json.loads(user.run("describe", "job", job, "-o", "json").out), "job-document")


def held(user, job, what="gpus"):
    """Returns what the ranks of a job on its first node hold; empty before it begins."""
    return described(user, job)["spec"]["nodes"][0].get(what, [])


def begins_with(user, job, gpus):
    assert_true(within(60, lambda: described(user, job)["state"] == "running"), f"{job} waits")
    assert_equal(held(user, job), gpus, job)


def test_jobs_at_one_time_have_different_gpus(user):
    name = node_with_slots(user, 8)
    with gpus_on(user, f"{name}-0"):
        begin(user, name, "first", 2, "gpu", "--launcher", "plain")
        begin(user, name, "second", 1, "gpu", "--launcher", "mpirun")
        begins_with(user, "first-1", [0, 2])
        begins_with(user, "second-1", [1])
        assert_in("waits for", begin(user, name, "third", 2, "gpu"))
        waits = {"first-1", "second-1"}
        third = described(user, "third-1")
        assert_equal((third["state"], set(third["waits_for"])), ("queued", waits))
        assert_equal(held(user, "third-1"), [])
        said = user.run("describe", "job", "third").out.decode()
        assert_in("a GPU and cores beside it, chosen when the job begins", said)
        words = ["run", "job", "-c", name, "--per", "gpu", "-np", "2", "--dry-run"]
        plan = fitting(json.loads(user.run(*words, "-o", "json", "--", "true").out), "plan")
        both = {"first-1": [0, 2], "second-1": [1]}
        assert_equal({one["job"]: one["gpus"] for one in plan["held"]}, both)
        assert_equal(set(plan["waits_for"]), waits | {"third-1"})
        assert_in("job first-1: CPUs ", user.run(*words, "--", "true").out.decode())
        node = json.loads(user.run("describe", "node", f"{name}-0", "-o", "json").out)
        jobs = {one["job"]: one["gpus"] for one in fitting(node, "node")["jobs"]}
        assert_equal(jobs, both)
        assert_in("HOLDS GPUS", user.run("describe", "node", f"{name}-0").out.decode())
        end(user, name, "first-1")
        begins_with(user, "third-1", [0, 2])
        begin(user, name, "fourth", 1, "gpu")
        begins_with(user, "fourth-1", [3])
        end(user, name, "second-1", "third-1", "fourth-1")
        for job, gpus in (("first", "0,2"), ("second", "1"), ("third", "0,2"), ("fourth", "3")):
            assert_in(f"has {gpus} on ", user.run("logs", job).out.decode())


def test_gpus_of_a_killed_fastgpu_are_free_again_and_those_of_arrays_differ(user):
    name = node_with_slots(user, 8)
    with gpus_on(user, f"{name}-0"):
        killed = user.start(*job_words(name, 4, UNTIL_FILE, "killed", "--per", "gpu"))
        assert_true(within(30, lambda: b"killed-1" in user.run("get", "jobs").out), "not there")
        begins_with(user, "killed-1", [0, 2, 3, 1])
        killed.kill()
        killed.communicate(timeout=10)
        more = ("--array", "1-3", "--per", "gpu", "--detach")
        user.run(*job_words(name, 2, UNTIL_FILE, "sweep", *more))
        begins_with(user, "sweep-1.1", [0, 2])
        begins_with(user, "sweep-1.2", [1, 3])
        assert_equal(described(user, "sweep-1.3")["state"], "queued")
        beside = user.run(
            *job_words(
                name,
                1,
                ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"],
                "beside",
                "--per",
                "gpu",
                "--share",
            )
        ).out.decode()
        assert_in("] 0\n", beside)
        user.run("exec", f"{name}/0", "--", "touch", "/root/sweep-1.2")
        begins_with(user, "sweep-1.3", [1, 3])
        end(user, name, "sweep-1.1", "sweep-1.3")


def test_jobs_of_torchrun_have_gpus_that_others_do_not_hold(user):
    name = node_with_slots(user, 8)
    torchrun = "/usr/local/bin/torchrun"
    show = "echo sees $CUDA_VISIBLE_DEVICES for $PET_NPROC_PER_NODE"
    script = f"printf '#!/bin/sh\\n%s\\n' {shlex.quote(show)} >{torchrun}; chmod 755 {torchrun}"
    user.run("exec", f"{name}/0", "--", "sh", "-ec", script)
    with gpus_on(user, f"{name}-0"):
        begin(user, name, "first", 1, "gpu")
        begins_with(user, "first-1", [0])
        more = ("train", "--per", "gpu", "--launcher", "torchrun")
        done = user.run(*job_words(name, 2, ["train.py"], *more)).out.decode()
        assert_in("sees 1,3 for 2", done)
        drawing = user.run(*job_words(name, 2, ["train.py"], *more, "--dry-run")).out.decode()
        assert_in("torchrun with 2 workers: CPUs ", drawing)
        end(user, name, "first-1")


def test_jobs_at_one_time_have_different_cores(user):
    name = node_with_slots(user, 64)
    cores = planned(user, name, "--per", "core")
    begin(user, name, "first", 1, "core")
    if len(cores) > 1:
        begin(user, name, "second", len(cores) - 1, "core")
        assert_equal(held(user, "first-1", "cpus"), cores[:1])
        assert_equal(held(user, "second-1", "cpus"), cores[1:])
    assert_in("waits for", begin(user, name, "third", 1, "core"))
    end(user, name, "first-1")
    assert_true(within(30, lambda: held(user, "third-1", "cpus") == cores[:1]), "third waits")
    end(user, name, "third-1", *(["second-1"] if len(cores) > 1 else []))


if __name__ == "__main__":
    run_tests(globals())
