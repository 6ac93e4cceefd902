"""Clusters of hosts that somebody has, as a user meets them: the program, a file of hosts, real
sshd processes: static_cluster_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import static_lab
from static_lab import free_port, line_of, make_key, ours
from suite import assert_equal, assert_false, assert_in, assert_less, assert_not_in, assert_true


def test_the_whole_life_of_a_cluster(lab):
    one, two = lab.pair()
    own = line_of(lab.user_key).encode()
    before = {one: b"# mine\r\n\n" + own + b"\nssh-ed25519 AAAAforeign x", two: own + b" me\n"}
    for host, text in before.items():
        host.authorize(text)
    two.keys_file.chmod(0o640)
    entries = (one.entry(), two.entry())
    lab.create(*entries, more=["--dry-run"])
    assert_true(
        all(host.keys_file.read_bytes() == text for host, text in before.items()),
        "a plan changed a host",
    )
    lab.create(*entries)
    for host in (one, two):
        assert_equal(len(ours(host)), 1, f"{host.name} has {ours(host)}")
        assert_true(host.keys_file.read_bytes().startswith(before[host]), "a foreign line changed")
    assert_equal(two.keys_file.stat().st_mode & 0o7777, 0o640, "the mode changed")
    assert_in(
        "already exists and matches",
        lab.create(*entries).stderr,
        "the same file is another cluster",
    )
    assert_in(
        "one",
        lab.create(two.entry(), one.entry(), code=6).stderr,
        "another list is the same cluster",
    )

    used = {host: host.logins(lab.user_key) for host in (one, two)}
    assert_equal(
        sorted(lab.run("exec", "lab", "--", "hostname").stdout.split()),
        ["one", "one:", "two", "two:"],
        "exec",
    )
    nasty = ["a  b", "$HOME;", 'it\'s "q"', "new\nline", "ünï", "", "*"]
    assert_equal(
        lab.run("ssh", "lab/one", "--", "printf", "<%s>", *nasty).stdout,
        "".join(f"<{x}>" for x in nasty),
        "ssh",
    )
    payload = lab.folder / "pay load"
    payload.write_bytes(os.urandom(300_000))
    lab.run("cp", str(payload), "lab:")
    assert_true(
        all((host.home / "pay load").read_bytes() == payload.read_bytes() for host in (one, two)),
        "cp",
    )
    lab.run("cp", "lab/two:pay load", str(lab.folder / "back"))
    assert_equal((lab.folder / "back").read_bytes(), payload.read_bytes(), "cp back")
    said = lab.run(
        "run",
        "job",
        "hello",
        "-c",
        "lab",
        "-np",
        "2",
        "--",
        "sh",
        "-c",
        "echo rank $FASTGPU_RANK of $(hostname)",
    )
    assert_equal(
        sorted(said.stdout.split("\n")[:2]), ["[0] rank 0 of one", "[1] rank 1 of two"], said.stdout
    )

    secret = "".join(lab.user_key.read_text().split("\n")[2:4])[:60].encode()
    for host in (one, two):
        assert_equal(
            host.logins(lab.user_key),
            used[host],
            f"{host.name} saw the user's key after the creation",
        )
        for path in host.home.rglob("*"):
            assert_true(
                not path.is_file() or secret not in path.read_bytes().replace(b"\n", b""),
                f"the user's key is in {path}",
            )

    lab.run("scale", "cluster", "lab", "--nodes", "1", "--yes")
    assert_equal(two.keys_file.read_bytes(), before[two], "scaled away, its keys are not as before")
    assert_equal(len(ours(one)), 1, "the host that stays lost its line")
    lab.run("scale", "cluster", "lab", "--nodes", "2")
    assert_equal(
        lab.run("exec", "lab/two", "--", "hostname").stdout, "two: two\n", "scaled up again"
    )
    assert_in(
        "listed 2 hosts",
        lab.run("scale", "cluster", "lab", "--nodes", "3", code=2).stderr,
        "a third host",
    )

    lab.user_key.rename(lab.home / "elsewhere")
    lab.run("exec", "lab", "--", "true")
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("warning", done.stderr)
    for host, text in before.items():
        assert_equal(host.keys_file.read_bytes(), text, f"{host.name}")
        assert_false(
            list((host.home / ".fastgpu" / "clusters").glob("*")),
            "the cluster's key is left on a host",
        )
    assert_equal(two.keys_file.stat().st_mode & 0o7777, 0o640, "the mode changed")
    lab.check_nothing_known()


def test_a_host_that_is_away_is_named_and_forgotten(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    lab.create(one.entry(), two.entry())
    before = one.keys_file.read_text().replace(ours(one)[0] + "\n", "")
    mark = ours(two)[0].split()[-1]
    two.stop()
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_equal(done.stderr.count(mark), 1, done.stderr)
    assert_in("two", done.stderr)
    assert_equal(one.keys_file.read_text(), before, "the other host keeps the line")
    lab.check_nothing_known()


def test_start_cluster_names_the_hosts_that_do_not_answer(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    lab.create(one.entry(), two.entry())
    lab.run("start", "cluster", "lab")
    two.stop()
    refused = lab.run("start", "cluster", "lab", code=1)
    assert_in("two (127.0.0.3:", refused.stderr)
    assert_in("fastgpu does not start hosts", refused.stderr)
    assert_not_in("one (127.0.0.2:", refused.stderr)
    assert_equal(refused.stdout, "")
    two.start()
    lab.run("start", "cluster", "lab")
    lab.run("delete", "cluster", "lab", "--yes")


def test_what_a_kill_leaves_is_settled(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    entries = (one.entry(), two.entry())
    before = one.keys_file.read_bytes()
    if (
        lab.create(*entries, code=None, environment={"FASTGPU_FAULT": "static:opened"}).returncode
        == 0
    ):
        return  # A build without fault points.
    assert_equal(len(ours(one)), 1, "the kill came too early")
    lab.run("gc")
    assert_equal(one.keys_file.read_bytes(), before, "gc left a line")
    assert_equal(before, two.keys_file.read_bytes(), "gc left a line")
    lab.check_nothing_known()
    lab.create(*entries, code=None, environment={"FASTGPU_FAULT": "static:opened"})
    lab.create(*entries)
    assert_equal(len(ours(one)), 1, "creating again added another line")
    lab.run(
        "delete",
        "cluster",
        "lab",
        "--yes",
        code=None,
        environment={"FASTGPU_FAULT": "static:closed"},
    )
    assert_in("lab", lab.run("gc", "--dry-run").stdout, "gc does not show the unfinished deletion")
    done = lab.run("gc")
    assert_not_in("warning", done.stderr)
    assert_equal(one.keys_file.read_bytes(), before, "a line is left")
    assert_equal(before, two.keys_file.read_bytes(), "a line is left")
    lab.check_nothing_known()


def test_ctrl_c_takes_back_what_was_done(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    before = one.keys_file.read_bytes()
    file = lab.file(one.entry(), two.entry())
    lab.create(one.entry(), two.entry())
    lab.run("delete", "cluster", "lab", "--yes")
    codes = []
    for wait_for, pause in (
        (b"creating", 0.02),
        (b"creating", 0.05),
        (b"creating", 0.1),
        (b"waiting", 0),
        (b"waiting", 0.03),
    ):
        process = subprocess.Popen(
            [lab.fastgpu, "create", "cluster", "-f", file],
            env=lab.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        seen = b""
        while wait_for not in seen:
            seen += process.stderr.read1()
        time.sleep(pause)
        process.send_signal(signal.SIGINT)
        said = seen + process.communicate(timeout=60)[1]
        codes.append(process.returncode)
        assert_in(process.returncode, (0, 130), f"{process.returncode} {said.decode()}")
        assert_not_in(b"left", said, f"{process.returncode} {said.decode()}")
        if process.returncode == 0:
            lab.run("delete", "cluster", "lab", "--yes")
        assert_equal(one.keys_file.read_bytes(), before, "a line is left")
        assert_equal(before, two.keys_file.read_bytes(), "a line is left")
    assert_in(130, codes, "the signal always came too late")
    lab.check_nothing_known()


def test_a_node_does_not_choose_what_a_copy_writes_here(lab):
    one = lab.host("one", "127.0.0.2")
    lab.create(one.entry())
    for name, text in (("results.csv", "1,2"), (".bashrc", "echo theirs")):
        (one.home / name).write_text(text)
    lab.run("cp", "lab/one:results.csv", str(lab.folder / "honest"))
    assert_equal((lab.folder / "honest").read_text(), "1,2", "an honest copy")
    program = next((one.home / ".fastgpu" / "bin").iterdir())
    program.rename(one.home / "honest")
    program.write_text(
        "#!/bin/sh\ncase $1 in send) exec /root/honest send -- /root/results.csv /root/.bashrc;; "
        'esac\nexec /root/honest "$@"\n'
    )
    program.chmod(0o755)
    here = lab.folder / "here"
    here.mkdir()
    refused = lab.run("cp", "lab/one:results.csv", str(here), code=3)
    assert_in("one", refused.stderr)
    assert_in("'.bashrc'", refused.stderr)
    assert_false(list(here.iterdir()))
    program.unlink()
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_node_that_falls_silent_in_a_copy_is_given_up(lab):
    one = lab.host("one", "127.0.0.2")
    lab.create(one.entry())
    lab.run("exec", "lab", "--", "true")
    program = next((one.home / ".fastgpu" / "bin").iterdir())
    program.rename(one.home / "honest")
    program.write_text(
        '#!/bin/sh\ncase $1 in send|receive) exec sleep 300;; esac\nexec /root/honest "$@"\n'
    )
    program.chmod(0o755)
    for words in (
        ["lab/one:results.csv", str(lab.folder / "here")],
        [str(lab.user_key) + ".pub", "lab:"],
    ):
        began = time.monotonic()
        silent = lab.run("cp", *words, code=124, environment={"FASTGPU_ANSWER_TIMEOUT": "2s"})
        assert_in("one", silent.stderr)
        assert_in("no answer for 2s (FASTGPU_ANSWER_TIMEOUT)", silent.stderr)
        assert_less(time.monotonic() - began, 30, "it took too long")
    program.unlink()
    lab.run("delete", "cluster", "lab", "--yes")


def test_over_ipv6(lab):
    if (
        not pathlib.Path("/proc/net/if_inet6").exists()
        or "lo" not in pathlib.Path("/proc/net/if_inet6").read_text()
    ):
        return
    one = lab.host("one", "::1")
    before = one.keys_file.read_bytes()
    accepted = lab.create(one.entry(host_key=False), more=["--accept-host-keys"])
    assert_in(f"[::1]:{one.port}", accepted.stderr)
    assert_equal(lab.run("exec", "lab", "--", "hostname").stdout, "one: one\n", "exec")
    said = lab.run("run", "job", "-c", "lab", "--", "hostname")
    assert_equal(said.stdout, "[0] one\n")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_equal(one.keys_file.read_bytes(), before, "not as before")


def test_a_full_home_is_left_without_a_key_of_ours(lab):
    one = lab.host("one", "127.0.0.2")
    script = "mount -t tmpfs -o size=32m none /mnt && cp -a /root/. /mnt && mount --move /mnt /root"
    inside = ["nsenter", "-t", str(one.first_process()), "--mount", "sh", "-c"]
    subprocess.run([*inside, script], check=True)
    lab.create(one.entry())
    subprocess.run([*inside, "cat /dev/zero >/root/fill"], check=False, stderr=subprocess.DEVNULL)
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("stays", done.stderr)
    keys = subprocess.run(
        [*inside, "cat /root/.ssh/authorized_keys"], check=True, capture_output=True, text=True
    ).stdout
    assert_true(
        all(line.startswith("#") for line in keys.splitlines() if " fastgpu-" in line), keys
    )
    assert_in(line_of(lab.user_key), keys.splitlines(), keys)


def test_hosts_that_cannot_be_had_are_refused_before_anything_is_written(lab):
    one = lab.host("one", "127.0.0.2")
    before = one.keys_file.read_bytes()
    two = (
        one.entry()
        .replace("name: one", "name: two")
        .replace(f"port: {one.port}", f"port: {free_port('127.0.0.2')}")
    )
    refused = lab.create(one.entry(), two, code=1)
    assert_in("two", refused.stderr)
    assert_in("refused", refused.stderr)
    assert_not_in("fastgpu-", refused.stderr)
    assert_equal(one.keys_file.read_bytes(), before, "one was changed")
    lab.user_key.rename(lab.home / "elsewhere")
    assert_in("id_ed25519", lab.create(one.entry(), code=3).stderr, "no key")
    make_key(lab.user_key)
    assert_in("one", lab.create(one.entry(), code=3).stderr, "a key that is refused")
    assert_equal(one.keys_file.read_bytes(), before, "one was changed")
    lab.check_nothing_known()


def test_two_names_of_one_host_are_refused(lab):
    one = lab.host("one", "127.0.0.2", config="ListenAddress 127.0.0.3\n")
    other_name = one.entry().replace("name: one", "name: two").replace("'127.0.0.2'", "'127.0.0.3'")
    before = one.keys_file.read_bytes()
    for _ in range(2):  # Nothing of the first attempt changes the second one.
        refused = lab.create(one.entry(), other_name, code=2)
        assert_in(f"one root@127.0.0.2 port {one.port}", refused.stderr)
        assert_in(f"two root@127.0.0.3 port {one.port}", refused.stderr)
        assert_in("same machine", refused.stderr)
    assert_equal(one.keys_file.read_bytes(), before, "a refused cluster left a line")
    lab.check_nothing_known()
    lab.create(one.entry(), other_name, more=["--nodes", "1"])
    refused = lab.run("scale", "cluster", "lab", "--nodes", "2", code=2)
    assert_in("same machine", refused.stderr)
    lab.run("exec", "lab", "--", "true")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_equal(one.keys_file.read_bytes(), before, "not as before")


def test_an_sshd_that_reads_other_files_is_explained(lab):
    one = lab.host("one", "127.0.0.2")
    one.stop()
    shutil.copy(one.keys_file, one.folder / "keys")
    (one.folder / "keys").chmod(0o600)
    with (one.folder / "config").open("a") as config:
        config.write(f"AuthorizedKeysFile {one.folder}/keys\nStrictModes no\n")
    one.start()
    before = one.keys_file.read_bytes()
    refused = lab.create(one.entry(), code=3)
    assert_in("AuthorizedKeysFile", refused.stderr)
    assert_equal(one.keys_file.read_bytes(), before, "a line is left")
    lab.check_nothing_known()


if __name__ == "__main__":
    static_lab.run_tests(globals())
