"""Slurm that fastgpu sets up on nodes, from the creation of a cluster to its removal:
own_slurm_test.py FASTGPU [TEST ...]

Needs root, sshd and Slurm (Debian: slurmctld, slurmd, slurm-client, munge); exits with 77 where it
cannot run. It cleans up after itself.
"""

import base64
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "static"))
import static_lab
import suite
from own_slurm import PLACE, create, on_node, run_job, run_tests, slurm_nodes
from suite import assert_equal, assert_in, assert_not_in, assert_true

USUAL = pathlib.Path("/etc/slurm/slurm.conf")
NODES = pathlib.Path(__file__).resolve().parents[3] / "templates/nodes"
SCRIPT = "".join((NODES / name).read_text() for name in ("slurm_environment.sh", "set_up_slurm.sh"))
REMOVAL = f"sudo sh {PLACE}/set_up remove"
INSIDE = ["nsenter", "--mount", "--pid", "--net"]
PROGRAMS = {"slurmctld", "slurmd", "slurmstepd", "munged"}
STEPS = ("recorded", "prepared", "key", "applied")


def slurm_findings(user):
    """Returns the nodes and the faults that the check of the cluster has found in Slurm."""
    done = user.run("check", "cluster", user.cluster, "-o", "json", code=None)
    found = json.loads(done.out)["findings"]
    return [(one["nodes"], one["found"]) for one in found if one["check"] == "slurm"]


def processes_of_slurm():
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if entry.read_text().strip() in PROGRAMS:
                found.append((entry.parent.name, entry.read_text().strip()))
    return found


def test_a_job_runs_in_slurm_and_nothing_is_left_after_the_cluster(user):
    made = create(user, "-v")
    assert_in(f"run job --cluster {user.cluster} --engine slurm -np 4", made.err)
    beside = user.run("run", "job", "-c", user.cluster, "-np", "1", "--", "true")
    assert_in("--engine slurm gives it to Slurm", beside.err)
    key = on_node(user, 0, f"base64 -w 0 {PLACE}/munge.key").strip()
    assert_equal(len(base64.b64decode(key)), 128)
    assert_not_in(key, made.err + made.out.decode())
    for index in (0, 1):
        assert_in("400 root", on_node(user, index, f"stat -c '%a %U' {PLACE}/munge.key"))
        assert_in(key, on_node(user, index, f"base64 -w 0 {PLACE}/munge.key"))
    assert_in("slurm", user.run("describe", "cluster", user.cluster).out.decode())

    source = user.folder / "source"
    source.mkdir()
    (source / "data").write_text("text")
    show = (
        'echo "$SLURMD_NODENAME $(cat data) $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $A"; '
        "echo e >&2"
    )
    words = ["-np", "4", "--npernode", "2", "--set", "slurm.nodes=2", "-e", "A=x y"]
    done = run_job(user, "place", ["sh", "-c", show], *words, "--sync", str(source))
    address = json.loads(user.run("get", "nodes", user.cluster, "-o", "json").out)["nodes"][0]
    wanted = [
        f"[{rank}] {user.cluster}-{rank // 2} text {rank} {rank % 2} 4 {address['address']} x y"
        for rank in range(4)
    ]
    assert_equal(sorted(done.out.decode().splitlines()), wanted)
    assert_equal(done.err.count("] e"), 4, done.err)
    assert_equal(len(user.run("logs", "place").out.splitlines()), 4)
    assert_in(f"{user.cluster}-1", user.run("logs", "place", "--rank", "3").out.decode())
    for index in (0, 1):
        left = on_node(user, index, "ls .fastgpu/jobs/place-1")
        assert_not_in("variables", left)
        assert_not_in("comm-secret", left)

    show = 'echo "$LOCAL_WORLD_SIZE $MASTER_PORT $FASTGPU_COMM_MASTER_PORT $TF_CONFIG"'
    run_job(user, "uneven", ["sh", "-c", show], "-np", "3", "--set", "slurm.nodes=2")
    texts = [user.run("logs", "uneven", "--rank", str(rank)).out.decode() for rank in range(3)]
    found = [text.split(maxsplit=3) for text in texts]
    assert_equal([words[0] for words in found], ["2", "2", "1"], "the ranks of each node")
    port = int(found[0][1])
    assert_equal({tuple(words[1:3]) for words in found}, {(str(port), str(port + 2))}, "ports")
    nodes = [
        one["address"]
        for one in json.loads(user.run("get", "nodes", user.cluster, "-o", "json").out)["nodes"]
    ]
    workers = [f"{nodes[0]}:{port}", f"{nodes[0]}:{port + 1}", f"{nodes[1]}:{port}"]
    for rank, words in enumerate(found):
        assert_equal(
            json.loads(words[3]),
            {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}},
        )

    fail = ["sh", "-c", '[ "$RANK" = 1 ] && exit 7; exec sleep 60']
    failed = run_job(user, "seven", fail, "-np", "2", "--set", "slurm.nodes=2", code=7)
    assert_in(f"rank 1 on {user.cluster}-1: exited with 7", failed.err)
    user.run("delete", "job", "seven", "--yes")
    run_job(user, "busy", ["sleep", "4"], "-np", "2", "--set", "slurm.nodes=2")
    report = json.loads(user.run("report", "busy", "-o", "json").out)
    sampled = {one["node"] for one in report["usage"] if one["samples"]}
    assert_equal(sampled, {f"{user.cluster}-0", f"{user.cluster}-1"})
    assert_not_in("seven", on_node(user, 1, "ls .fastgpu/jobs"))

    user.run("delete", "cluster", user.cluster, "--yes")
    user.check_nothing_is_left()
    assert_equal(processes_of_slurm(), [])
    assert_true(not PLACE.exists() and not USUAL.exists(), "files are left on this machine")


def test_nodes_that_come_and_go_are_those_of_slurm(user):
    create(user)
    name = user.cluster
    user.run("scale", "cluster", name, "--nodes", "3", "--yes")
    assert_equal(slurm_nodes(user), {f"{name}-{index}": "idle" for index in range(3)})
    run_job(user, "three", ["true"], "-np", "3", "--set", "slurm.nodes=3")
    user.run("scale", "cluster", name, "--nodes", "1", "--yes")
    assert_equal(slurm_nodes(user), {f"{name}-0": "idle"})
    user.run("stop", "cluster", name, "--yes")
    user.run("start", "cluster", name)
    run_job(user, "again", ["true"], "-np", "2")
    create(user, nodes=1)
    assert_equal(slurm_nodes(user), {f"{name}-0": "idle"})


def test_a_creation_that_is_killed_at_any_step_is_finished_by_the_next(user):
    user.run("create", "cluster", user.cluster, "--nodes", "2", "--slots", "2")
    for step in STEPS:
        killed = create(user, code=None, environment={"FASTGPU_FAULT": f"scheduler:{step}"})
        if killed.returncode == 0:
            suite.skip("needs fault points (meson -Dfault_points=true)")
        assert_equal(killed.returncode, -signal.SIGKILL, killed.err)
    create(user)
    run_job(user, "after", ["true"], "-np", "2", "--set", "slurm.nodes=2")


def test_slurm_is_added_to_a_cluster_with_its_gpus(user):
    user.run("create", "cluster", user.cluster, "--nodes", "1", "--slots", "2")
    on_node(user, 0, "mknod /dev/nvidia0 c 1 3 && mknod /dev/nvidia1 c 1 3")
    create(user, nodes=1)
    show = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
    done = run_job(user, "gpus", show, "-np", "1", "--set", "slurm.gpus=2")
    assert_in("0,1", done.out.decode())


def test_what_was_ended_on_a_node_is_started_again(user):
    create(user)
    assert_equal(slurm_findings(user), [])
    on_node(user, 1, f"kill -KILL $(cat {PLACE}/slurmd.pid) $(cat {PLACE}/munged.pid)")
    dead = [([f"{user.cluster}-1"], f"{name} does not run") for name in ("munged", "slurmd")]
    assert_equal(slurm_findings(user), dead)
    on_node(user, 0, f"rm -rf {PLACE}/slurm.conf; kill -KILL $(cat {PLACE}/slurmctld.pid)")
    assert_in(([f"{user.cluster}-0"], "slurmctld does not run"), slurm_findings(user))
    user.run("start", "cluster", user.cluster)
    assert_equal(slurm_findings(user), [])
    run_job(user, "after", ["true"], "-np", "2", "--set", "slurm.nodes=2")


def test_a_plan_names_the_step_and_detached_creations_are_refused(user):
    done = create(user, "--dry-run")
    assert_in("set up Slurm on each node", done.out.decode())
    assert_equal(json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"], [])
    assert_in("leave out --detach", create(user, "--detach", code=2).err)
    words = ["create", "cluster", user.cluster, "--scheduler", "slrum"]
    assert_in("slurm", user.run(*words, code=2).err)


def test_a_user_without_root_is_named(user):
    done = subprocess.run(
        ["setpriv", "--reuid", "65534", "--clear-groups", "sh", "-s", "prepare", "c", "head", "x"],
        input=SCRIPT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert_equal(done.returncode, 1)
    assert_in("this needs root", done.stderr)


@contextlib.contextmanager
def hidden_places():
    """Hides the directories of this machine that a host of the user shares with it."""
    with tempfile.TemporaryDirectory(prefix="fastgpu-slurm-") as folder:
        places = (PLACE, USUAL.parent)
        made = [place for place in places if not place.exists()]
        for place in places:
            place.mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
        try:
            yield folder
        finally:
            for place in places:
                subprocess.run(["umount", "-l", place], check=False)
            for place in made:
                place.rmdir()


def test_a_host_of_the_user_is_left_as_it_was(user):
    with hidden_places(), static_lab.lab_for(user.fastgpu) as lab:
        host = lab.host("one", f"{static_lab.NETWORK}.31", network=True)
        USUAL.write_text("ClusterName=theirs\n")
        refused = lab.create(host.entry(), more=["--scheduler", "slurm"], code=1)
        assert_in(f"could not set up Slurm: it has Slurm already ({USUAL})", refused.stderr)
        assert_equal(USUAL.read_text(), "ClusterName=theirs\n")
        USUAL.unlink()
        lab.run("start", "cluster", "lab")
        words = ["run", "job", "-c", "lab", "--engine", "slurm", "-np", "1", "--", "echo", "up"]
        done = lab.run(*words)
        assert_in("up", done.stdout)
        lab.run("delete", "cluster", "lab", "--yes")
        assert_equal(processes_of_slurm(), [])
        assert_equal([*PLACE.iterdir(), *USUAL.parent.iterdir()], [])


def test_a_set_up_that_failed_early_leaves_nothing_to_warn_of(user):
    with hidden_places(), static_lab.lab_for(user.fastgpu) as lab:
        host = lab.host("one", f"{static_lab.NETWORK}.31", network=True)
        USUAL.write_text("ClusterName=theirs\n")
        lab.create(host.entry(), more=["--scheduler", "slurm"], code=1)
        done = lab.run("delete", "cluster", "lab", "--yes")
        assert_not_in("Slurm", done.stderr)
        assert_equal(USUAL.read_text(), "ClusterName=theirs\n")
        USUAL.unlink()


def test_a_user_without_root_learns_whether_slurm_is_there(user):
    with hidden_places():
        words = ["setpriv", "--reuid", "65534", "--clear-groups", "sh", "-s", "has", "c"]

        def ask():
            return subprocess.run(words, input=SCRIPT, text=True, check=False).returncode

        assert_equal(ask(), 3)
        PLACE.chmod(0o755)
        (PLACE / "cluster").write_text("other\n")
        assert_equal(ask(), 3)
        (PLACE / "cluster").write_text("c\n")
        assert_equal(ask(), 0)


def test_a_host_that_is_away_keeps_slurm_until_it_is_removed_there(user):
    with hidden_places(), static_lab.lab_for(user.fastgpu) as lab:
        host = lab.host("one", f"{static_lab.NETWORK}.31", network=True)
        lab.create(host.entry(), more=["--scheduler", "slurm"])
        host.stop()
        done = lab.run("delete", "cluster", "lab", "--yes")
        stays = "if Slurm is set up on one, it stays there, and is removed by running there: "
        assert_in(stays + REMOVAL, done.stderr)
        assert_in("authorized_keys", done.stderr)
        lab.check_nothing_known()

        host.start()
        refused = lab.create(host.entry(), more=["--scheduler", "slurm"], code=1)
        assert_in(f"delete that cluster, or run there: {REMOVAL}", refused.stderr)
        lab.run("delete", "cluster", "lab", "--yes")
        words = REMOVAL.removeprefix("sudo ").split()
        subprocess.run([*INSIDE, "-t", str(host.first_process()), *words], check=True)
        assert_equal([*PLACE.iterdir(), *USUAL.parent.iterdir()], [])


if __name__ == "__main__":
    run_tests(globals())
