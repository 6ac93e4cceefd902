"""What users get wrong, and what machines do to them: a sentence, the documented exit code, nothing
half-made.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests, shared_cluster
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_less,
    assert_less_equal,
    assert_true,
)


def test_names_counts_flags_and_fields_that_cannot_be(user):
    user.refused(["describe", "cluster", "nobody"], 5, "nobody")
    user.refused(["ssh", "nobody", "--", "true"], 5, "nobody")
    user.refused(["create", "cluster", "x", "--nods", "2"], 2, "--nods", "--nodes")
    user.refused(["craete", "cluster", "x"], 2, "craete", "create")
    for name in ("a/b", "a\nb", "x" * 300, "", "-", "ü"):
        done = user.refused(
            ["create", "cluster", "--", name]
            if name.startswith("-")
            else ["create", "cluster", name],
            2,
        )
        assert_less(len(done.err), 400, f"{name!r}: {done.err}")
        assert_less_equal(done.err.count("\n"), 2, f"{name!r}: {done.err}")
    for count in ("0", "-1", "99999999999999999999", "1000000", "two", "1.5", ""):
        user.refused(["create", "cluster", "x", "--nodes", count], 2, "--nodes")
        user.refused(["create", "cluster", "x", "--slots", count], 2, "--slots")
    for rate in ("0", "-1gbit", "fast", "1"):
        user.refused(["create", "cluster", "x", "--link-rate", rate], 2, rate)
    file = user.folder / "cluster.yaml"
    file.write_text("name: x\nnods: 2\n")
    user.refused(["create", "cluster", "-f", str(file)], 2, "cluster.yaml:2:1", "nods", "nodes")
    file.write_text("name: x\nnodes: [\n")
    user.refused(["create", "cluster", "-f", str(file)], 2, "cluster.yaml:")
    user.refused(["create", "cluster", "-f", str(user.folder / "none.yaml")], 5, "none.yaml")
    user.refused(["create", "cluster", "x", "--provider", "statik"], 2, "statik", "static")
    user.check_nothing_is_left()


@shared_cluster
def test_a_cluster_that_exists_in_another_form(user):
    name = user.two_nodes()
    file = user.folder / "cluster.yaml"
    file.write_text(f"name: {name}\nnodes: 2\nuser: ada\n")
    user.refused(
        ["create", "cluster", name, "--nodes", "3"], 6, name, "2 nodes", "3", "scale cluster"
    )
    user.refused(["create", "cluster", name, "--nodes", "2", "--slots", "4"], 6, name, "4")
    user.refused(
        ["create", "cluster", name, "--nodes", "2", "--link-rate", "1gbit"],
        6,
        name,
        "no link rate",
        "1gbit",
    )
    user.refused(["create", "cluster", "-f", str(file)], 6, name, "ada", "root")
    user.refused(
        ["create", "cluster", name, "--nodes", "2", "--link-rate", "1gbit", "--dry-run"], 6, "1gbit"
    )
    user.run("exec", name, "--", "true")


def test_no_rights(user):
    folder = user.folder
    folder.chmod(0o755)
    place = folder / "mine"
    place.mkdir()
    os.chown(place, 65534, 65534)
    whole = folder / "whole"  # Within another root, nobody but root may make user namespaces.
    whole.mkdir()
    subprocess.run(["mount", "--rbind", "/", whole], check=True)
    plain = [
        "chroot",
        str(whole),
        "setpriv",
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
    ]
    try:
        user.refused(
            ["create", "cluster", "x"],
            3,
            "root",
            prefix=plain,
            environment={"FASTGPU_STATE_DIR": str(place)},
        )
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", whole], check=True)


@shared_cluster
def test_a_place_that_cannot_be_used_is_the_users_choice(user):
    name = user.two_nodes()
    file = user.folder / "file"
    file.write_text("")
    state = "--state-dir"
    for place in ("/proc/x", "/proc", f"{file}/below", str(file), "/dev/null/x"):
        own = {"FASTGPU_STATE_DIR": place}
        for words in (["get", "clusters"], ["create", "cluster", "x"], ["run", "job", "--", "x"]):
            user.refused(words, 2, "the state directory", place, state, environment=own)
        if place != "/proc":
            own = {"FASTGPU_LOCAL_DIR": place}
            user.refused(["create", "cluster", "x"], 2, place, environment=own)
        if place in ("/proc/x", f"{file}/below"):
            user.refused(["exec", name, "--outdir", place, "--", "true"], 2, place)
            user.refused(["cp", f"{name}/0:/etc/hostname", place], 2, "the destination", place)
            user.refused(["cp", f"{name}:/etc/hostname", place], 2, "the destination", place)
            user.refused(["cp", f"{name}:/etc/hostname", place, "--dry-run"], 2, place)
            user.refused(["init", "job", "--file", place], 2, "--file", place)
    user.refused(["report", "none-1", "--out", "/proc/x"], 2, "--out", "/proc/x")
    user.refused(["get", "clusters"], 2, "HOME", environment={"FASTGPU_STATE_DIR": "", "HOME": ""})


def test_no_room_for_the_state(user):
    small = user.tmpfs("small", "size=16k")
    user.refused(
        ["create", "cluster", "x"],
        4,
        str(small),
        environment={"FASTGPU_STATE_DIR": str(small / "state")},
    )


@shared_cluster
def test_the_disk_fills_up_under_the_state(user):
    user.two_nodes()
    tight = user.tmpfs("tight", "size=1m")
    environment = {
        "FASTGPU_STATE_DIR": str(tight / "state"),
        "FASTGPU_LOCAL_DIR": str(user.folder / "nodes"),
    }
    user.run("get", "clusters", environment=environment)
    with contextlib.suppress(OSError), open(tight / "ballast", "wb", buffering=0) as ballast:
        while ballast.write(bytes(4096)):
            pass
    user.refused(["create", "cluster", "x"], 4, str(tight), environment=environment)
    (tight / "ballast").unlink()
    user.check_nothing_is_left(tight / "state")


def test_deleting_makes_room_on_a_full_disk(user):
    disk = user.tmpfs("disk", "size=64m")
    environment = {"FASTGPU_LOCAL_DIR": str(disk)}
    user.run("create", "cluster", "full", "--nodes", "2", environment=environment)
    user.run(
        "exec",
        "full/0",
        "--",
        "sh",
        "-c",
        "cat /dev/zero >/root/ballast",
        code=1,
        environment=environment,
    )
    user.run("delete", "cluster", "full", "--yes", environment=environment)
    assert_false(list(disk.glob("*/[0-9]")), "folders of nodes are left")
    user.check_nothing_is_left()


def test_no_room_for_the_nodes(user):
    small = user.tmpfs("nodes", "size=128k,nr_inodes=60")
    done = user.refused(
        ["create", "cluster", "x", "--nodes", "2"], 4, environment={"FASTGPU_LOCAL_DIR": str(small)}
    )
    assert_true(str(small) in done.err or "x-0" in done.err, done.err)
    user.check_nothing_is_left()


@shared_cluster
def test_a_state_directory_that_can_only_be_read(user):
    name = user.two_nodes()
    view = user.folder / "view"
    view.mkdir()
    subprocess.run(["mount", "--bind", user.state, view], check=True)
    user.mounts.append(view)
    subprocess.run(["mount", "-o", "remount,bind,ro", view], check=True)
    environment = {"FASTGPU_STATE_DIR": str(view)}
    assert_in(
        name, user.run("get", "clusters", environment=environment).out.decode(), "it cannot be read"
    )
    user.run("exec", name, "--", "true", environment=environment)
    user.refused(["create", "cluster", "x"], 3, str(view), environment=environment)
    user.refused(["delete", "cluster", name, "--yes"], 3, str(view), environment=environment)
    user.refused(["run", "job", "-c", name, "--", "true"], 3, str(view), environment=environment)
    user.run("exec", name, "--", "true")


def test_doctor_tries_to_write(user):
    read_only = user.tmpfs("read-only", "size=1m,ro")
    full = user.tmpfs("full", "size=64k")
    with contextlib.suppress(OSError), open(full / "ballast", "wb", buffering=0) as ballast:
        while ballast.write(bytes(4096)):
            pass
    for place, reason in ((read_only, "Read-only file system"), (full, "No space left")):
        done = user.run(
            "doctor", "-o", "json", code=1, environment={"FASTGPU_STATE_DIR": str(place)}
        )
        state = [check for check in json.loads(done.out)["checks"] if check["name"] == "state"]
        assert_equal(state[0]["result"], "fail", state)
        assert_in(reason, state[0]["found"], state)
        assert_in(str(place), state[0]["found"], state)
    user.run("get", "clusters")
    before = sorted(user.state.iterdir())
    user.run("doctor", code=None)
    assert_equal(sorted(user.state.iterdir()), before, "doctor has left something")


def bridges():
    links = subprocess.run(
        ["ip", "-j", "link", "show", "type", "bridge"], check=True, capture_output=True
    ).stdout
    return {link["ifname"] for link in json.loads(links or b"[]")}


def test_a_cluster_whose_state_has_a_long_path_leaves_no_bridge(user):
    before = bridges()
    place = {"FASTGPU_STATE_DIR": str(user.folder / ("x" * 240))}
    user.run("create", "cluster", "long", environment=place)
    assert_equal(user.run("exec", "long", "--", "true", environment=place).returncode, 0)
    user.run("delete", "cluster", "long", "--yes", environment=place)
    assert_equal(bridges() - before, set())


def test_limits_of_this_process(user):
    def limited(limit):
        return ["bash", "-c", f'ulimit {limit}; exec "$@"', "-"]

    def try_few_descriptors():
        for limit in range(4, 9):
            done = user.run("get", "clusters", code=None, prefix=limited(f"-n {limit}"))
            if done.returncode not in (0, 127):
                assert_equal(done.returncode, 4, (limit, done.returncode, done.err))
                assert_in("Too many open files", done.err, (limit, done.returncode, done.err))
                assert_in("ulimit -n", done.err, (limit, done.returncode, done.err))

    user.run("get", "clusters")
    try_few_descriptors()
    # With the database in use, SQLite takes what it cannot open for locked.
    with contextlib.closing(sqlite3.connect(user.state / "state.db")) as records:
        records.execute("SELECT * FROM clusters").fetchall()
        try_few_descriptors()
    done = user.run("create", "cluster", "x", code=None, prefix=limited("-f 0"))
    assert_equal(done.returncode, 4, (done.returncode, done.err))
    assert_in("File too large", done.err, (done.returncode, done.err))
    assert_in("ulimit -f", done.err, (done.returncode, done.err))
    user.check_nothing_is_left()


def test_many_nodes_under_a_small_limit_of_open_files(user):
    user.run("create", "cluster", "many", "--nodes", "16", prefix=["prlimit", "--nofile=64:64"])
    user.run(
        "exec",
        "many",
        "--",
        "sh",
        "-c",
        "mkdir -p /root/" + "d/" * 60,
        prefix=["prlimit", "--nofile=64:64"],
    )
    user.run("stop", "cluster", "many", prefix=["prlimit", "--nofile=40:40"])
    user.run("start", "cluster", "many", prefix=["prlimit", "--nofile=64:64"])
    user.run("delete", "cluster", "many", "--yes", prefix=["prlimit", "--nofile=40:40"])
    user.check_nothing_is_left()


def test_helpers_of_others_are_not_run(user):
    user.folder.chmod(0o755)
    place = user.folder / "program" / "bin"
    place.mkdir(parents=True)
    helpers = user.folder / "program" / "libexec" / "fastgpu"
    helpers.mkdir(parents=True)
    shutil.copy(user.fastgpu, place / "fastgpu")
    said = user.folder / "said"
    said.write_text("")
    said.chmod(0o666)
    helper = helpers / "fastgpu-node-init"
    helper.write_text(f"#!/bin/sh\nid >>{said}\n")
    helper.chmod(0o755)
    program = user.fastgpu
    user.fastgpu = str(place / "fastgpu")
    try:
        for part, change in (
            (helper, lambda path: os.chown(path, 54321, 54321)),
            (helper, lambda path: path.chmod(0o757)),
            (helpers, lambda path: os.chown(path, 54321, 54321)),
            (helpers, lambda path: path.chmod(0o777)),
            (helpers.parent, lambda path: path.chmod(0o773)),
        ):
            change(part)
            user.refused(["create", "cluster", "x"], 3, str(helper), str(part), "not used")
            os.chown(part, 0, 0)
            part.chmod(0o755)
    finally:
        user.fastgpu = program
    assert_equal(said.read_text(), "", "it was run")


def test_a_database_that_is_broken(user):
    user.state.mkdir()
    database = user.state / "state.db"
    for text in (
        b"this is no database, and long enough to tell" * 200,
        b"SQLite format 3\0" + os.urandom(8000),
    ):
        database.write_bytes(text)
        for words in (["get", "clusters"], ["create", "cluster", "x"], ["gc"]):
            user.refused(words, 1, str(database))
        assert_equal(database.read_bytes(), text, "it was changed")


def test_a_database_of_a_newer_fastgpu(user):
    user.run("get", "clusters")
    user.run("gc")
    database = user.state / "state.db"
    with contextlib.closing(sqlite3.connect(database)) as books:
        books.execute("PRAGMA journal_mode=DELETE")
        books.execute("PRAGMA user_version=4711")
        books.commit()
    before = {path.name: path.read_bytes() for path in user.state.iterdir() if path.is_file()}
    for words in (["get", "clusters"], ["create", "cluster", "x"], ["gc"]):
        user.refused(words, 1, str(database), "4711", "newer")
    after = {path.name: path.read_bytes() for path in user.state.iterdir() if path.is_file()}
    assert_equal(before, after, f"changed: {before.keys()} {after.keys()}")


def test_a_port_where_something_else_listens(user):
    home = user.folder / "home"
    (home / ".ssh").mkdir(parents=True)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / ".ssh/id_ed25519"], check=True
    )
    public = (home / ".ssh/id_ed25519.pub").read_text().strip()
    file = user.folder / "cluster.yaml"
    for greeting in (b"HTTP/1.0 400 Bad Request\r\n\r\n", None):
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def answer(listener, greeting):
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        if greeting:
                            connection.sendall(greeting)
                        else:
                            time.sleep(20)

            threading.Thread(target=answer, args=(listener, greeting), daemon=True).start()
            port = listener.getsockname()[1]
            file.write_text(
                f"name: x\nhosts:\n  - address: 127.0.0.1\n    port: {port}\n"
                f"    host_key: '{public}'\n"
            )
            began = time.monotonic()
            user.refused(
                ["create", "cluster", "-f", str(file)],
                1,
                str(port),
                environment={"HOME": str(home)},
            )
            assert_less(time.monotonic() - began, 15, "it took too long")
    user.check_nothing_is_left()


def test_address_ranges_that_are_in_use(user):
    script = f"""
      ip link set lo up
      ip link add taken type bridge && ip link set taken up
      set -e
      ip address add 10.64.0.1/16 dev taken
      '{user.fastgpu}' create cluster ranges -o json >'{user.folder}/made'
      '{user.fastgpu}' delete cluster ranges --yes -q
      set +e
      for range in 10.64.0.0/10 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15; do
        ip route add $range dev taken
      done
      '{user.fastgpu}' create cluster ranges 2>'{user.folder}/said'
      echo $? >'{user.folder}/code'
    """
    subprocess.run(
        ["unshare", "--net", "bash", "-c", script],
        env=user.environment(),
        check=True,
        timeout=60,
        stderr=subprocess.DEVNULL,
    )
    address = json.loads((user.folder / "made").read_text())["nodes"][0]["address"]
    assert_false(address.startswith("10.64."), f"{address} is in a range that was taken")
    assert_equal((user.folder / "code").read_text(), "4\n", (user.folder / "said").read_text())
    assert_in(
        "no private address range is free",
        (user.folder / "said").read_text(),
        "the reason is missing",
    )
    user.check_nothing_is_left()


def test_a_machine_without_sshd(user):
    hide = [
        "unshare",
        "--mount",
        "bash",
        "-c",
        "for f in /usr/sbin/sshd /usr/local/sbin/sshd /usr/bin/sshd; do [ ! -e $f ] || mount "
        "--bind /dev/null $f; done; "
        'exec "$@"',
        "-",
    ]
    user.refused(["create", "cluster", "x"], 1, "sshd", "openssh-server", prefix=hide)
    user.check_nothing_is_left()


if __name__ == "__main__":
    run_tests(globals())
