"""A disk that is full, of the state directory and of local nodes, can be got out of with fastgpu
alone.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from suite import assert_equal, assert_false, assert_greater, assert_in, assert_true


def fill(path):
    """Takes the last byte of the disk."""
    with open(path, "wb", buffering=0) as file:
        for piece in (1 << 16, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(piece)):
                    pass


def free(disk):
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def full_cluster(user, options="size=10m", nodes=2):
    """A cluster whose nodes, state and keys are on one small disk, which a node then fills."""
    disk = user.tmpfs("disk", options)
    user.state = disk
    user.run("create", "cluster", "full", "--nodes", str(nodes))
    user.run("exec", "full/0", "--", "sh", "-c", "cat /dev/zero >/root/ballast", code=1)
    fill(disk / "rest")
    assert_equal(free(disk), 0, f"{free(disk)} bytes are free")
    return disk


def test_a_cluster_on_a_full_disk_is_deleted(user):
    disk = full_cluster(user)
    user.run("get", "clusters")
    user.run("delete", "cluster", "full", "--yes")
    assert_false(list(disk.glob("local/*/[0-9]")), "folders of nodes are left")
    assert_false(list((disk / "locks").iterdir()), "locks are left")
    assert_false(list((disk / "clusters").iterdir()), "keys are left")
    user.check_nothing_is_left()


def test_a_cluster_on_a_disk_that_others_fill_is_deleted(user):
    disk = full_cluster(user)
    filler = subprocess.Popen(
        ["sh", "-c", f"while :; do cat /dev/zero >>{disk}/filler; done"], stderr=subprocess.DEVNULL
    )
    try:
        user.run("delete", "cluster", "full", "--yes")
        assert_equal(
            json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"],
            [],
            "it is still there",
        )
    finally:
        filler.kill()
        filler.wait()
    assert_false(list(disk.glob("local/*/[0-9]")), "folders of nodes are left")
    for name in ("filler", "rest"):
        (disk / name).unlink()
    user.check_nothing_is_left()


def test_a_cluster_on_a_full_disk_is_stopped_and_started(user):
    full_cluster(user)
    user.run("stop", "cluster", "full")
    states = {
        node["state"]
        for node in json.loads(user.run("get", "nodes", "full", "-o", "json").out)["nodes"]
    }
    assert_equal(states, {"stopped"})
    user.run("delete", "cluster", "full", "--yes")
    user.check_nothing_is_left()


def test_files_of_a_node_are_removed_on_a_full_disk(user):
    disk = full_cluster(user)
    done = user.run("exec", "full/1", "--", "rm", "-f", "/etc/hostname")
    assert_false(
        list(disk.glob("local/*/1/layers/root/upper/root/.fastgpu/bin/*")),
        f"a part of the agent is left: {done.err}",
    )
    user.run("exec", "full/0", "--", "rm", "/root/ballast")
    (disk / "rest").unlink()
    assert_greater(free(disk), 1 << 19, f"{free(disk)} bytes are free")


def test_gc_says_what_fills_the_disk(user):
    disk = full_cluster(user)
    done = user.run("gc")
    assert_in(f"the disk of {disk} is nearly full: 0 B of 10.5 MB left", done.err)
    lines = [line for line in done.err.split("\n") if line.startswith("  ")]
    assert_in("node full-0", lines[0], done.err)
    full = json.loads(user.run("gc", "-o", "json").out)["full_disks"]
    assert_equal(len(full), 1, full)
    assert_equal(full[0]["path"], str(disk), full)
    assert_equal(full[0]["free_bytes"], 0, full)
    sizes = [item["bytes"] for item in full[0]["items"]]
    assert_equal(sizes, sorted(sizes, reverse=True), full)
    assert_greater(sizes[0], 1 << 20, full)


def test_nothing_is_begun_on_a_full_disk(user):
    disk = full_cluster(user)
    for words in (["create", "cluster", "more"], ["create", "cluster", "more", "--dry-run"]):
        user.refused(words, 4, str(disk), "full", "fastgpu gc")
    assert_false((disk / "locks" / "more.lock").exists(), "its lock is left")


def test_a_job_on_a_nearly_full_disk_fails_for_that(user):
    disk = user.tmpfs("disk", "size=60m")
    user.state = disk
    user.run("create", "cluster", "tight", "--nodes", "2")
    run = ("run", "job", "--cluster", "tight", "--", "echo", "hello")
    user.run(*run)
    for left in (24, 48, 64, 96):
        fill(disk / "ballast")
        with open(disk / "ballast", "r+b") as ballast:
            ballast.truncate(os.path.getsize(disk / "ballast") - (left << 10))
        done = user.run(*run, code=None)
        if done.returncode != 0:
            assert_in("pace left", done.err, f"{left} KiB: {done.returncode} {done.err}")
            # A program that has begun, and could not write, fails by itself.
            code = 1 if "exited with 1;" in done.err else 4
            assert_equal(done.returncode, code, f"{left} KiB: {done.err}")
        (disk / "ballast").unlink()


def test_a_killed_deletion_on_a_full_disk_is_repeated(user):
    for pause in (0.0, 0.02, 0.05, 0.1, 0.2):
        disk = full_cluster(user)
        process = user.start("delete", "cluster", "full", "--yes")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=pause)
        process.kill()
        process.wait()
        if json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"]:
            # Settling may come first, and find nothing more to do.
            done = user.run("delete", "cluster", "full", "--yes", code=None)
            assert_true(done.returncode == 0 or "finished its deletion" in done.err, done.err)
        assert_equal(
            json.loads(user.run("get", "clusters", "-o", "json").out)["clusters"],
            [],
            "it is still there",
        )
        user.run("gc")
        assert_false(list(disk.glob("local/*/[0-9]")), "folders of nodes are left")
        user.unmount()
        os.rmdir(disk)


if __name__ == "__main__":
    run_tests(globals())
