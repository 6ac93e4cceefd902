"""Hosts with different users and home directories, and daemons of mpirun that do not start:
mixed_hosts_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import json
import pathlib
import shlex
import shutil
import time

import static_lab
from static_lab import within_host
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

NUMBER = 4711  # Of users that the hosts have beside root.
RANKS = ["--", "sh", "-c", "echo $RANK $(id -un) $HOME"]


def add_user(host, name, home):
    """Gives the host a user, who has the key of root there."""
    passwd = host.folder / "passwd"
    passwd.write_text(
        pathlib.Path("/etc/passwd").read_text() + f"{name}:x:{NUMBER}:{NUMBER}::{home}:/bin/sh\n"
    )
    place = shlex.quote(home)
    script = f"""set -e
    mount --bind {passwd} /etc/passwd
    mount -t tmpfs tmpfs /home
    mkdir -p {place}/.ssh
    cp /root/.ssh/authorized_keys {place}/.ssh
    chmod -R go= {place}
    chown -R {NUMBER}:{NUMBER} {place}"""
    done = within_host(host, "sh", "-c", script)
    assert_equal(done.returncode, 0, done.stderr)


def entry_of(host, user):
    return host.entry().replace("user: root", f"user: {user}")


def replace_daemon(host, script):
    """Puts a script in the place of mpirun's daemon on a host. The daemon is "$real" there."""
    daemon = pathlib.Path(shutil.which("orted")).resolve()
    fake, real = host.folder / "orted", host.folder / "real"
    shutil.copy(daemon, real)
    fake.write_text(f"#!/bin/sh\nreal={real}\n{script}\n")
    fake.chmod(0o755)
    done = within_host(host, "mount", "--bind", str(fake), str(daemon))
    assert_equal(done.returncode, 0, done.stderr)


def test_nodes_of_several_users_and_homes_run_one_job(lab):
    hosts = lab.pair()
    add_user(hosts[1], "ann", "/home/data/ann")
    for users, homes in (
        (("root", "ann"), ("/root", "/home/data/ann")),
        (("ann", "ann"), ("/home/ann", "/home/data/ann")),
    ):
        if users[0] == "ann":
            add_user(hosts[0], "ann", homes[0])
        lab.create(*(entry_of(host, user) for host, user in zip(hosts, users, strict=True)))
        for launcher in ("mpirun", "plain"):
            done = lab.run("run", "job", "-c", "lab", "--launcher", launcher, *RANKS)
            assert_equal(
                sorted(done.stdout.splitlines()),
                [f"[{i}] {i} {users[i]} {homes[i]}" for i in (0, 1)],
                done.stdout + done.stderr,
            )
        lab.run("delete", "cluster", "lab", "--yes")


def test_odd_characters_in_the_name_of_a_home_are_no_obstacle(lab):
    hosts = lab.pair()
    for home in ("/home/ü ñ'q\"x", "/home/100%d %h% [a]*"):
        for host in hosts:
            add_user(host, "ann", home)
        lab.create(*(entry_of(host, "ann") for host in hosts))
        for launcher in ("mpirun", "plain"):
            done = lab.run("run", "job", "-c", "lab", "--launcher", launcher, *RANKS)
            lines = sorted(done.stdout.splitlines())
            assert_equal(lines, [f"[{i}] {i} ann {home}" for i in (0, 1)], done.stderr)
        payload = lab.folder / "payload"
        payload.write_bytes(bytes(range(256)) * 40_000)
        copied = json.loads(lab.run("cp", str(payload), "lab:", "-o", "json").stdout)["hosts"]
        assert_true(all(host["passed_on"] for host in copied), f"{copied}")
        lab.run("delete", "cluster", "lab", "--yes")


def share_home(one, two):
    """Gives two hosts one home directory, and a disk of its own each."""
    done = within_host(two, "mount", "--bind", str(one.home), "/root")
    assert_equal(done.returncode, 0, done.stderr)
    lab = shlex.quote(str(one.folder.parent))  # Its sshds need it.
    script = f"""set -e
    mount --bind {lab} /mnt
    mount -t tmpfs -o mode=1777 tmpfs /var/tmp
    mkdir -p {lab}
    mount --bind /mnt {lab}"""
    for host in (one, two):
        done = within_host(host, "sh", "-c", script)
        assert_equal(done.returncode, 0, done.stderr)


def folders_on_disk(host):
    """The folders of jobs on the disk of a host."""
    done = within_host(host, "sh", "-c", "cd /var/tmp/fastgpu-0-*/jobs && ls")
    return done.stdout.split()


def test_hosts_that_share_a_home_directory_run_jobs_together(lab):
    one, two = lab.pair()
    share_home(one, two)
    lab.create(one.entry(), two.entry())
    for launcher in ("mpirun", "plain", "mpirun"):
        done = lab.run("run", "job", "-c", "lab", "--launcher", launcher, *RANKS)
        wanted = [f"[{i}] {i} root /root" for i in (0, 1)]
        assert_equal(sorted(done.stdout.splitlines()), wanted, done.stderr)
        assert_not_in("trying another number", done.stderr)
    files = lab.folder / "files"
    files.mkdir()
    (files / "word").write_text("synced")
    program = "cat word; echo of-$RANK > out-$RANK; echo $RANK >&2; exit $((RANK * 3))"
    lab.run(
        *("run", "job", "files", "-c", "lab", "--sync", str(files)),
        *("--", "sh", "-c", program),
        code=3,
    )
    logs = lab.run("logs", "files-1").stdout
    assert_equal(logs.count("synced"), 2, logs)
    described = lab.run("describe", "job", "files-1").stdout
    assert_in("two", described)
    assert_in("files-1", folders_on_disk(one))
    assert_in("files-1", folders_on_disk(two))
    lab.run("delete", "job", "files-1", "--yes")
    assert_not_in("files-1", folders_on_disk(one) + folders_on_disk(two))
    left = within_host(one, "sh", "-c", "ls /root/.fastgpu/jobs").stdout.split()
    assert_not_in("files-1", left)
    lab.run("check", "cluster", "lab")
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_job_is_cancelled_and_a_hang_ended_on_hosts_that_share_a_home_directory(lab):
    one, two = lab.pair()
    share_home(one, two)
    lab.create(one.entry(), two.entry())
    for _ in range(2):
        lab.run("run", "job", "long", "-c", "lab", "--detach", "--", "sleep", "600")
        name = json.loads(lab.run("get", "jobs", "-o", "json").stdout)["jobs"][0]["id"]
        lab.run("cancel", "job", name)
        for host in (one, two):
            done = within_host(host, "pgrep", "-f", "^sleep 600")
            assert_equal(done.stdout, "")
    lab.run("run", "job", "-c", "lab", "--timeout", "2s", "--", "sleep", "600", code=124)
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_directory_for_temporary_files_that_cannot_be_written_is_named(lab):
    hosts = lab.pair()
    lab.create(*(host.entry() for host in hosts))
    for host in hosts:
        done = within_host(host, "mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "/tmp")
        assert_equal(done.returncode, 0, done.stderr)
        failed = lab.run("run", "job", "-c", "lab", *RANKS, code=None)
        assert_not_in(failed.returncode, (0, 124), failed.stderr)
        reason = failed.stderr.splitlines()[-1]
        assert_in("/tmp", reason, failed.stderr)
        assert_in("Read-only file system", reason, failed.stderr)
        within_host(host, "umount", "/tmp")
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_connection_between_nodes_that_fails_is_named_with_the_words_of_ssh(lab):
    one, two = lab.pair()
    lab.create(one.entry(), two.entry())
    fake = one.folder / "ssh"
    fake.write_text("#!/bin/sh\necho 'ssh_config line 10: no such option' >&2\nexit 255\n")
    fake.chmod(0o755)
    done = within_host(one, "mount", "--bind", str(fake), shutil.which("ssh"))
    assert_equal(done.returncode, 0, done.stderr)
    failed = lab.run("run", "job", "-c", "lab", "--launcher", "plain", *RANKS, code=None)
    wanted = "lost contact with two: ssh_config line 10: no such option"
    assert_in(wanted, failed.stderr.splitlines()[-1], failed.stderr)
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_daemon_that_ends_without_a_word_is_named(lab):
    one, two = lab.pair()
    lab.create(one.entry(), two.entry())
    for script, said in (
        ("exit 0", "mpirun's daemon ended before it had reported to mpirun"),
        ("echo 'no such library' >&2; exit 3", "no such library"),
    ):
        replace_daemon(two, script)
        begun = time.monotonic()
        failed = lab.run("run", "job", "-c", "lab", *RANKS, code=None)
        assert_less(time.monotonic() - begun, 15, "it took long")
        assert_not_in(failed.returncode, (0, 124), failed.stderr)
        assert_in(f"mpirun on one could not start its daemons on two ({said})", failed.stderr)
        assert_not_in("[mpirun]", failed.stderr)
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_daemon_that_is_late_is_named_and_the_job_runs(lab):
    one, two = lab.pair()
    lab.create(one.entry(), two.entry())
    replace_daemon(two, 'sleep 7; exec "$real" "$@"')
    done = lab.run("run", "job", "-c", "lab", *RANKS)
    assert_in("node two has not begun yet", done.stderr)
    assert_equal(len(done.stdout.splitlines()), 2, done.stdout)
    lab.run("delete", "cluster", "lab", "--yes")


if __name__ == "__main__":
    static_lab.run_tests(globals())
