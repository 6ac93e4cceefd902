#!/usr/bin/env python3
"""Data disks and shared storage of nodes in clouds, on the stand-in: storage_test.py FASTGPU
CLOUDSIM [TEST ...]

Nodes are local ones. A data disk is a loop device, with a true file system that the user data
makes. Of a mount all is true but the last program: mount(8) reads a true /etc/fstab, and calls a
mount.nfs that writes down what it is asked for and mounts memory instead.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests
from cloud_sim import CloudSim, Customer
from suite import (
    assert_equal,
    assert_false,
    assert_greater,
    assert_in,
    assert_less,
    assert_not_in,
    assert_true,
)

CLOUDSIM = sys.argv.pop(2)
GIB = 1 << 30

RECORDED_NFS = r"""
cat > /usr/sbin/mount.nfs <<'END'
#!/bin/sh
printf '%s\n' "$*" >> /var/log/mount.nfs
case $1 in refused*) echo "mount.nfs: access denied by server while mounting $1" >&2; exit 32;; esac
exec mount -i -t tmpfs -o size=1m "$1" "$2"
END
chmod 755 /usr/sbin/mount.nfs
"""


@contextlib.contextmanager
def customer_of(user, cloud, image=RECORDED_NFS):
    """With local nodes, which run that script first at each boot."""
    script = user.folder / "image.sh"
    script.write_text(image)
    with CloudSim(CLOUDSIM, "local", "--image-script", str(script)) as sim:
        customer = Customer(user, sim, cloud)
        yield customer
        customer.check_nothing_is_left()


def on_each(customer, *words):
    """What each node says, and how many of them there are."""
    said = json.loads(customer.run("exec", "t", "-o", "json", "--", *words).out)
    return [host["stdout"] for host in said["hosts"]]


def mounted(customer):
    """By node: path and source of what is mounted of the things that these tests mount."""
    tables = on_each(customer, "cat", "/proc/mounts")
    return [
        sorted(
            (line.split()[1], line.split()[0])
            for line in table.splitlines()
            if ":/" in line.split()[0]
        )
        for table in tables
    ]


def data_disks(sim, size):
    found = [
        r
        for r in sim.books()["resources"]
        if r["kind"] in ("volume", "disk")
        and size in (r["data"].get("size_gb"), r["data"].get("size"))
    ]
    return [disk for disk in found if disk["alive"]], [disk for disk in found if not disk["alive"]]


def test_each_cloud_makes_data_disks_with_the_machines_and_takes_them_away(user):
    def with_disks(customer):
        plan = json.loads(customer.create("t", "--dry-run", "-o", "json").out)
        wished = ("--data-disk", "500", "--mount", "10.0.0.4:/models=/models")
        dearer = json.loads(customer.create("t", "--dry-run", "-o", "json", *wished).out)
        assert_equal(dearer["data_disk"]["gib"], 500, dearer)
        assert_equal(dearer["mounts"], [{"source": "10.0.0.4:/models", "path": "/models"}], dearer)
        told = 2 * 500 * 0.0015 if customer.cloud in ("alibaba", "huawei") else 0
        assert_less(
            abs(dearer["price_per_hour"] - plan["price_per_hour"] - told),
            1e-6,
            (plan["price_per_hour"], dearer["price_per_hour"]),
        )
        assert_in(
            b"data disk of 500 GiB",
            customer.create("t", "--dry-run", *wished).out,
            "the plan's steps",
        )

        customer.create("t", "--detach", *wished)
        alive, _ = data_disks(customer.sim, 500)
        machines = {instance["id"] for instance in customer.sim.alive()[0]}
        assert_equal(len(machines), 2, alive)
        assert_equal({disk["part_of"] for disk in alive}, machines, alive)
        shown = json.loads(customer.run("describe", "cluster", "t", "-o", "json").out)
        assert_equal(shown["data_disk"], {"gib": 500, "type": "", "path": "/data"}, shown)
        assert_equal(len(shown["mounts"]), 1, shown)
        assert_in(
            "already exists and matches the request",
            customer.create("t", "--detach", *wished).err,
            "the same wish",
        )
        customer.refused(
            customer.creation("t", "--detach", "--data-disk", "40"), 6, "with data disk 500, not 40"
        )
        customer.refused(
            customer.creation("t", "--detach", *wished, "--mount", "10.0.0.4:/x=/x"),
            6,
            "without 10.0.0.4:/x at /x",
        )
        customer.run("delete", "cluster", "t", "--yes")
        alive, gone = data_disks(customer.sim, 500)
        assert_false(alive, (alive, gone))
        assert_equal(len(gone), 2, (alive, gone))

    cloud_sim.for_each_cloud(user, CLOUDSIM, with_disks)


def test_a_data_disk_that_a_cloud_does_not_sell_is_refused_and_leaves_nothing(user):
    for cloud in cloud_sim.clouds_of(user):
        with CloudSim(CLOUDSIM, facts=False) as sim:
            customer = Customer(user, sim, cloud)
            customer.refused(
                customer.creation(
                    "t", "--detach", "--data-disk", "15:nonsense" if cloud != "aws" else "65537"
                ),
                None,
            )
            customer.check_nothing_is_left()


def test_exports_are_mounted_on_all_nodes_now_and_later_and_go_again(user):
    models, scratch = ("/models", "10.0.0.4:/models"), ("/fastgpu", "nas.example:/")
    with customer_of(user, "aws") as customer:
        customer.create("t", "--mount", "10.0.0.4:/models/=/models", "--timeout", "90s")
        assert_equal(mounted(customer), [[models]] * 2)
        asked = on_each(customer, "cat", "/var/log/mount.nfs")[0]
        assert_in("nfsvers=4.1,rsize=1048576", asked)
        assert_in("noresvport", asked)
        assert_not_in("x-fastgpu", asked)

        shown = json.loads(customer.run("mount", "t", "nas.example:/", "-o", "json").out)
        assert_equal(shown["mounts"][1], {"source": "nas.example:/", "path": "/fastgpu"}, shown)
        customer.run("mount", "t", "nas.example:/")
        assert_equal(mounted(customer), [[scratch, models]] * 2)
        assert_equal(
            on_each(customer, "grep", "-c", "x-fastgpu", "/etc/fstab"), ["2\n"] * 2, "the table"
        )

        customer.refused(
            ("mount", "t", "refused.example:/x=/x"),
            1,
            "access denied by server while mounting refused.example:/x",
            "refused.example:/x at /x stays on record: `fastgpu mount t` tries again, and "
            "`fastgpu mount t /x --remove` takes it back",
        )
        listed = customer.run("mount", "t", code=1)
        assert_in(b"refused.example:/x", listed.out)
        assert_in("`fastgpu mount t PATH --remove` takes a mount off the record", listed.err)
        customer.refused(
            ("mount", "t", "other.example:/=/models/below"), 2, "10.0.0.4:/models is at /models"
        )
        customer.run("mount", "t", "/x", "--remove")
        assert_equal(mounted(customer), [[scratch, models]] * 2)

        customer.run("stop", "cluster", "t")
        customer.refused(("mount", "t", "/models", "--remove"), 6, "fastgpu start cluster t")
        customer.run("start", "cluster", "t", "--timeout", "60s")
        assert_equal(mounted(customer), [[scratch, models]] * 2)
        customer.run("scale", "cluster", "t", "--nodes", "3", "--timeout", "60s")
        assert_equal(mounted(customer), [[scratch, models]] * 3)

        customer.run("exec", "t/1", "--", "sh", "-c", "cd /models; exec sleep 60 >/dev/null 2>&1 &")
        customer.refused(("mount", "t", "10.0.0.4:/models", "--remove"), 1, "t-1", "busy")
        customer.run("exec", "t/1", "--", "pkill", "sleep")
        customer.run("mount", "t", "10.0.0.4:/models", "--remove")
        assert_equal(mounted(customer), [[scratch]] * 3)
        assert_equal(
            on_each(customer, "sh", "-c", "ls -d /models; grep -c x-fastgpu /etc/fstab"),
            ["1\n"] * 3,
            "left of /models",
        )
        customer.run("delete", "cluster", "t", "--yes")


def test_a_mount_that_was_killed_anywhere_is_finished_by_the_same_words(user):
    with customer_of(user, "aws") as customer:
        customer.create("t", "--timeout", "90s", nodes=1)
        for words in (("mount", "t", "nas.example:/"), ("mount", "t", "nas.example:/", "--remove")):
            for step in range(1 if "--remove" in words else 2, 50, 2):
                ended = customer.run(
                    *words, code=None, environment={"FASTGPU_FAULT": f"any:{step}"}
                )
                if ended.returncode == 0:
                    break
                assert_equal(ended.returncode, -9, ended.err)
            assert_greater(step, 2, f"only {step} steps")
            assert_equal(
                mounted(customer), [[] if "--remove" in words else [("/fastgpu", "nas.example:/")]]
            )
        assert_equal(
            on_each(customer, "sh", "-c", "ls /etc/fstab*"),
            ["/etc/fstab\n"],
            "something is left beside the table",
        )
        customer.run("delete", "cluster", "t", "--yes")


@contextlib.contextmanager
def loop_devices(user, count):
    """Of a GiB each, with nothing on them: their files and names."""
    with contextlib.ExitStack() as stack:
        devices = []
        for number in range(count):
            file = user.folder / f"disk{number}"
            with file.open("wb") as empty:
                empty.truncate(GIB)
            made = subprocess.run(["losetup", "-f", "--show", file], capture_output=True, text=True)
            if made.returncode != 0:
                print(
                    "without loop devices the data disks of local nodes are not tried:",
                    made.stderr.strip(),
                )
                break
            stack.callback(subprocess.run, ["losetup", "-d", made.stdout.strip()], check=True)
            devices.append((file, made.stdout.strip()))
        yield devices


def image_with(devices):
    """Nodes that have these disks and see no others."""
    nodes = "\n".join(f"mknod {name} b 7 {os.minor(os.stat(name).st_rdev)}" for _, name in devices)
    listed = "\n".join(f"{name} {GIB} disk" for _, name in devices)
    return f"""{nodes}
cat > /usr/local/sbin/lsblk <<'END'
#!/bin/sh
case $1 in -dbnrpo) echo '{listed}' ;; *) exec /usr/bin/lsblk "$@" ;; esac
END
chmod 755 /usr/local/sbin/lsblk
"""


def digest(file):
    with file.open("rb") as content:
        return (
            hashlib.file_digest(content, "sha256").hexdigest()
            if sys.version_info >= (3, 11)
            else hashlib.sha256(content.read()).hexdigest()
        )


def test_a_blank_disk_becomes_data_of_the_node_and_survives_a_restart(user):
    with loop_devices(user, 2) as devices:
        if len(devices) < 2:
            return
        (foreign, name), _ = devices
        subprocess.run(["mkfs.ext4", "-q", "-L", "somebodys", name], check=True)
        before = digest(foreign)
        with customer_of(user, "aws", image_with(devices)) as customer:
            customer.create("t", "--data-disk", "1", "--timeout", "90s", nodes=1)
            assert_equal(
                on_each(
                    customer,
                    "sh",
                    "-c",
                    "echo kept > /data/file; df --output=source,fstype /data | tail -n 1",
                )[0].split(),
                [devices[1][1], "ext4"],
                "what is at /data",
            )
            line = on_each(customer, "grep", "/data", "/etc/fstab")[0]
            assert_true(line.startswith("UUID="), line)
            assert_in("nofail", line)
            customer.run("stop", "cluster", "t")
            customer.run("start", "cluster", "t", "--timeout", "60s")
            assert_equal(on_each(customer, "cat", "/data/file"), ["kept\n"], "the file is gone")
            assert_equal(
                on_each(customer, "grep", "-c", "/data", "/etc/fstab"), ["1\n"], "the table grows"
            )
            customer.run("delete", "cluster", "t", "--yes")
        assert_equal(digest(foreign), before, "a disk with a file system was written to")


def test_a_disk_that_cannot_be_told_from_another_is_left_alone(user):
    with loop_devices(user, 2) as devices:
        if len(devices) < 2:
            return
        with customer_of(user, "aws", image_with(devices)) as customer:
            customer.refused(
                customer.creation("t", "--data-disk", "1", "--timeout", "90s", nodes=1),
                1,
                "t-0",
                "several blank disks have 1 GiB",
                devices[0][1],
            )
        assert_true(
            all(file.stat().st_blocks == 0 for file, _ in devices), "one of them was written to"
        )


def test_what_cannot_be_storage_is_refused_before_anybody_is_asked(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        for options, said in (
            (("--data-disk", "0"), "'0' is not usable"),
            (("--data-disk", "500:gp3,x"), "is not a data disk"),
            (("--mount", "10.0.0.4"), "write ADDRESS:/EXPORT"),
            (("--mount", "-o:/x"), "write ADDRESS:/EXPORT"),
            (("--mount", "nas:/x -o exec"), "not an absolute path"),
            (("--mount", "nas:/x=/etc"), "the system's own"),
            (("--mount", "nas:/x=/data/y", "--data-disk", "10"), "the data disk is at /data"),
            (("--mount", "nas:/x", "--mount", "nas:/y"), "is at /fastgpu"),
        ):
            customer.refused(customer.creation("t", *options), 2, said)
        assert_equal(sim.control("calls")["total"], 0, sim.control("calls")["counts"])
        customer.create("t", "--detach", nodes=1)
        for words, said in (
            (("nas:/x=/y z",), "not an absolute path"),
            (("/x",), "ADDRESS:/EXPORT=/PATH"),
            (("--remove",), "--remove needs"),
        ):
            customer.refused(("mount", "t", *words), 2, said)
        customer.refused(("mount", "nobody"), 5, "nobody")
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()
    user.refused(
        ("create", "cluster", "t", "--provider", "local", "--data-disk", "5"),
        2,
        "--data-disk is for clouds",
    )
    user.refused(("create", "cluster", "t", "--mount", "nas:/x"), 2, "--mount is for clouds")


if __name__ == "__main__":
    run_tests(globals())
