"""What users get wrong, and what machines do to them: a sentence, the documented exit code, nothing half-made.

bad_input_test.py FASTGPU [TEST ...]

Needs root, sshd and mpirun; exits with 77 where it cannot run. Whatever happens, it cleans up after itself.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback

SKIPPED = 77
NASTY = ["a  b", "$HOME;", "it's \"q\"", "new\nline", "ünï", "", "*", "`id`", "\\"]
BIG = 1 << 30
MOST_MEMORY_KIB = 128 * 1024


def check(condition, message):
    if not condition:
        raise AssertionError(message)


class User:
    """A state directory, and the program on it."""

    def __init__(self, fastgpu, folder):
        self.fastgpu, self.folder = fastgpu, pathlib.Path(folder)
        self.state = self.folder / "state"
        self.cluster = f"bad{random.randrange(100000)}"
        self.made = False
        self.mounts = []

    def environment(self, more=None):
        return {**os.environ, "FASTGPU_STATE_DIR": str(self.state), "NO_COLOR": "1", **(more or {})}

    def start(self, *words, prefix=(), environment=None, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen([*prefix, self.fastgpu, *words], env=self.environment(environment), **streams)

    def run(self, *words, code=0, timeout=120, **more):
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        process.out, process.err = out or b"", (err or b"").decode(errors="replace")
        if code is not None and process.returncode != code:
            raise AssertionError(f"{words}: exit code {process.returncode}, not {code}\n{process.out[-2000:]}{process.err}")
        return process

    def refused(self, words, code, *said, **more):
        """The command ends with the code, and its error says all of that."""
        done = self.run(*words, code=code, **more)
        lines = [line for line in done.err.split("\n") if line.startswith("error: ")]
        check(len(lines) == 1, f"{words}: {len(lines)} errors: {done.err}")
        for text in said:
            check(text in done.err, f"{words}: no {text!r} in: {done.err}")
        return done

    def two_nodes(self):
        if not self.made:
            self.run("create", "cluster", self.cluster, "--nodes", "2")
            self.made = True
        return self.cluster

    def tmpfs(self, name, options):
        place = self.folder / name
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
        self.mounts.append(place)
        return place

    def clean_up(self):
        with contextlib.suppress(Exception):
            for cluster in json.loads(self.run("get", "clusters", "-o", "json", code=None).out)["clusters"]:
                self.run("delete", "cluster", cluster["name"], "--yes", code=None)
            self.run("gc", code=None)
        for place in reversed(self.mounts):
            subprocess.run(["umount", "-l", place], check=False)

    def check_nothing_is_left(self, state=None):
        environment = {"FASTGPU_STATE_DIR": str(state)} if state else None
        found = json.loads(self.run("get", "clusters", "-o", "json", environment=environment).out)
        check(found["clusters"] == [], f"left: {found}")
        check(json.loads(self.run("gc", "-o", "json", environment=environment).out)["settled"] == [], "gc finds something")


def inits_of(node):
    """The process, outside, that is number 1 of that node."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            status = (entry / "status").read_text()
            if re.search(r"^NSpid:\t\d+\t1$", status, re.M) and (entry / "root/etc/hostname").read_text().strip() == node:
                yield int(entry.name)


def within(seconds, condition):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_names_counts_flags_and_fields_that_cannot_be(user):
    user.refused(["describe", "cluster", "nobody"], 5, "nobody")
    user.refused(["ssh", "nobody", "--", "true"], 5, "nobody")
    user.refused(["create", "cluster", "x", "--nods", "2"], 2, "--nods", "--nodes")
    user.refused(["craete", "cluster", "x"], 2, "craete", "create")
    for name in ("a/b", "a\nb", "x" * 300, "", "-", "ü"):
        done = user.refused(["create", "cluster", "--", name] if name.startswith("-") else ["create", "cluster", name], 2)
        check(len(done.err) < 400 and done.err.count("\n") <= 2, f"{name!r}: {done.err}")
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


def test_a_cluster_that_exists_in_another_form(user):
    name = user.two_nodes()
    file = user.folder / "cluster.yaml"
    file.write_text(f"name: {name}\nnodes: 2\nuser: ada\n")
    user.refused(["create", "cluster", name, "--nodes", "3"], 6, name, "2 nodes", "3", "scale cluster")
    user.refused(["create", "cluster", name, "--nodes", "2", "--slots", "4"], 6, name, "4")
    user.refused(["create", "cluster", name, "--nodes", "2", "--link-rate", "1gbit"], 6, name, "no link rate", "1gbit")
    user.refused(["create", "cluster", "-f", str(file)], 6, name, "ada", "root")
    user.refused(["create", "cluster", name, "--nodes", "2", "--link-rate", "1gbit", "--dry-run"], 6, "1gbit")
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
    plain = ["chroot", str(whole), "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    try:
        user.refused(["create", "cluster", "x"], 3, "root", prefix=plain, environment={"FASTGPU_STATE_DIR": str(place)})
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", whole], check=True)


def test_no_room_for_the_state(user):
    small = user.tmpfs("small", "size=16k")
    user.refused(["create", "cluster", "x"], 4, str(small), environment={"FASTGPU_STATE_DIR": str(small / "state")})


def test_the_disk_fills_up_under_the_state(user):
    user.two_nodes()
    tight = user.tmpfs("tight", "size=1m")
    environment = {"FASTGPU_STATE_DIR": str(tight / "state"), "FASTGPU_LOCAL_DIR": str(user.folder / "nodes")}
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
    user.run("exec", "full/0", "--", "sh", "-c", "cat /dev/zero >/root/ballast", code=1, environment=environment)
    user.run("delete", "cluster", "full", "--yes", environment=environment)
    check(not list(disk.glob("*/[0-9]")), "folders of nodes are left")
    user.check_nothing_is_left()


def test_no_room_for_the_nodes(user):
    small = user.tmpfs("nodes", "size=128k,nr_inodes=60")
    done = user.refused(["create", "cluster", "x", "--nodes", "2"], 4, environment={"FASTGPU_LOCAL_DIR": str(small)})
    check(str(small) in done.err or "x-0" in done.err, done.err)
    user.check_nothing_is_left()


def test_a_state_directory_that_can_only_be_read(user):
    name = user.two_nodes()
    view = user.folder / "view"
    view.mkdir()
    subprocess.run(["mount", "--bind", user.state, view], check=True)
    user.mounts.append(view)
    subprocess.run(["mount", "-o", "remount,bind,ro", view], check=True)
    environment = {"FASTGPU_STATE_DIR": str(view)}
    check(name in user.run("get", "clusters", environment=environment).out.decode(), "it cannot be read")
    user.run("exec", name, "--", "true", environment=environment)
    user.refused(["create", "cluster", "x"], 3, str(view), environment=environment)
    user.refused(["delete", "cluster", name, "--yes"], 3, str(view), environment=environment)
    user.refused(["run", "job", "-c", name, "--", "true"], 3, str(view), environment=environment)
    user.run("exec", name, "--", "true")


def test_a_database_that_is_broken(user):
    user.state.mkdir()
    database = user.state / "state.db"
    for text in (b"this is no database, and long enough to tell" * 200, b"SQLite format 3\0" + os.urandom(8000)):
        database.write_bytes(text)
        for words in (["get", "clusters"], ["create", "cluster", "x"], ["gc"]):
            user.refused(words, 1, str(database))
        check(database.read_bytes() == text, "it was changed")


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
    check(before == after, f"changed: {before.keys()} {after.keys()}")


def test_a_port_where_something_else_listens(user):
    home = user.folder / "home"
    (home / ".ssh").mkdir(parents=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / ".ssh/id_ed25519"], check=True)
    public = (home / ".ssh/id_ed25519.pub").read_text().strip()
    file = user.folder / "cluster.yaml"
    for greeting in (b"HTTP/1.0 400 Bad Request\r\n\r\n", None):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def answer():
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        if greeting:
                            connection.sendall(greeting)
                        else:
                            time.sleep(20)
            threading.Thread(target=answer, daemon=True).start()
            port = listener.getsockname()[1]
            file.write_text(f"name: x\nhosts:\n  - address: 127.0.0.1\n    port: {port}\n    host_key: '{public}'\n")
            began = time.monotonic()
            user.refused(["create", "cluster", "-f", str(file)], 1, str(port), environment={"HOME": str(home)})
            check(time.monotonic() - began < 15, "it took too long")
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
      for range in 10.64.0.0/10 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15; do ip route add $range dev taken; done
      '{user.fastgpu}' create cluster ranges 2>'{user.folder}/said'
      echo $? >'{user.folder}/code'
    """
    subprocess.run(["unshare", "--net", "bash", "-c", script], env=user.environment(), check=True, timeout=60,
                   stderr=subprocess.DEVNULL)
    address = json.loads((user.folder / "made").read_text())["nodes"][0]["address"]
    check(not address.startswith("10.64."), f"{address} is in a range that was taken")
    check((user.folder / "code").read_text() == "4\n", (user.folder / "said").read_text())
    check("no private address range is free" in (user.folder / "said").read_text(), "the reason is missing")
    user.check_nothing_is_left()


def test_a_machine_without_sshd(user):
    hide = ["unshare", "--mount", "bash", "-c",
            "for f in /usr/sbin/sshd /usr/local/sbin/sshd /usr/bin/sshd; do [ ! -e $f ] || mount --bind /dev/null $f; done; "
            "exec \"$@\"", "-"]
    user.refused(["create", "cluster", "x"], 1, "sshd", "openssh-server", prefix=hide)
    user.check_nothing_is_left()


def test_a_node_without_mpirun(user):
    name = user.two_nodes()
    user.run("exec", f"{name}/1", "--", "sh", "-c", "mv $(command -v mpirun) /root/hidden")
    try:
        user.refused(["run", "job", "-c", name, "-np", "2", "--", "true"], 1, f"{name}-1: mpirun is not there", "openmpi-bin")
    finally:
        user.run("exec", f"{name}/1", "--", "mv", "/root/hidden", "/usr/bin/mpirun")


def test_programs_and_how_they_end(user):
    name = user.two_nodes()
    user.run("exec", f"{name}/0", "--", "sh", "-c", "printf '#!/bin/sh\\n' >/root/only; chmod +x /root/only")
    done = user.run("run", "job", "only", "-c", name, "-np", "2", "--", "/root/only", code=127)
    check(f"rank 1 on {name}-1" in done.err and "/root/only" in done.err, done.err)
    done = user.run("run", "job", "notes", "-c", name, "-np", "2", "--", "/etc/hostname", code=126)
    check("/etc/hostname" in done.err, done.err)
    user.run("run", "job", "zero", "-c", name, "-np", "2", "--", "true")
    check("rank 1" in user.run("run", "job", "three", "-c", name, "-np", "2", "--", "sh", "-c",
                               "[ $FASTGPU_RANK = 0 ] && sleep 20; exit 3", code=3).err, "the rank is not named")
    check("SIGSEGV" in user.run("run", "job", "segv", "-c", name, "-np", "1", "--", "sh", "-c", "kill -SEGV $$",
                                code=139).err, "the signal is not named")


def most_memory(user, words, sink):
    """Runs it with its output in `sink`; the most memory that it used, in KiB."""
    process = user.start(*words, stdout=sink, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"{words}: exit code {process.returncode}")
    return usage.ru_maxrss


def test_a_gigabyte_of_output(user):
    name = user.two_nodes()
    program = ["sh", "-c", f"yes 'a line of output, as programs write them' | head -c {BIG}"]
    for words in (["run", "job", "big", "-c", name, "-np", "1", "--", *program], ["exec", f"{name}/0", "--", *program],
                  ["exec", f"{name}/0", "--", "head", "-c", str(BIG // 4), "/dev/zero"]):
        reader = subprocess.Popen(["wc", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        used = most_memory(user, words, reader.stdin)
        count = int(reader.communicate()[0])
        print(f"   {words[0]}: {count} bytes, {used} KiB", flush=True)
        check(count > BIG // 4, f"{words}: {count} bytes came")
        check(used < MOST_MEMORY_KIB, f"{words}: it took {used} KiB")
    user.run("exec", f"{name}/0", "--", "sh", "-c", "rm -rf /root/.fastgpu/jobs/big-1")


def test_bytes_of_any_kind(user):
    name = user.two_nodes()
    make = "head -c 3000000 /dev/urandom >/root/bytes; printf '\\0\\377\\r\\n\\033[2J' >>/root/bytes"
    user.run("exec", f"{name}/0", "--", "sh", "-c", make)
    there = user.run("ssh", f"{name}/0", "--", "cat", "/root/bytes").out
    check(len(there) == 3000008, f"{len(there)} bytes")
    user.run("run", "job", "bytes", "-c", name, "-np", "1", "--", "cat", "/root/bytes")
    check(user.run("logs", "bytes", "--rank", "0").out == there, "the log is not what the program wrote")
    wanted = hashlib.sha256(there).hexdigest().encode()
    check(user.run("ssh", f"{name}/0", "--", "sha256sum", "/root/bytes").out.startswith(wanted), "ssh changed it")
    said = user.run("exec", f"{name}/0", "--", "head", "-c", "10000000", "/dev/zero").out
    check(said.count(b"\0") == 10_000_000, "a line of 10 MB does not come whole")


def test_arguments_and_names_of_files_stay_as_they_are(user):
    name = user.two_nodes()
    tree = user.folder / "tree"
    tree.mkdir()
    names = [text for text in NASTY if text] + ["-n", "a:b", " "]
    for text in names:
        (tree / text).write_text(text)
    user.run("cp", str(tree), f"{name}/0:/root/na sty")
    user.run("cp", f"{name}/0:/root/na sty", str(user.folder / "back"))
    check(sorted(path.name for path in (user.folder / "back").iterdir()) == sorted(names), "names of files changed")
    for text in names:
        user.run("cp", f"{name}/0:/root/na sty/{text}", str(user.folder / "one"))
        check((user.folder / "one").read_text() == text, f"{text!r} did not come back")
    wanted = "".join(f"<{text}>" for text in NASTY).encode()
    check(user.run("ssh", f"{name}/0", "--", "printf", "<%s>", *NASTY).out == wanted, "ssh")
    user.run("run", "job", "nasty", "-c", name, "-np", "2", "-e", f"ODD={NASTY[2]}\n$x", "--", "sh", "-c",
             "printf '<%s>' \"$@\" \"$ODD\"", "-", *NASTY)
    check(user.run("logs", "nasty", "--rank", "1").out == wanted + f"<{NASTY[2]}\n$x>".encode(), "run job")
    done = json.loads(user.run("exec", f"{name}/0", "-o", "json", "--", "printf", "<%s>", *NASTY).out)
    check(wanted.decode() in json.dumps(done, ensure_ascii=False).encode().decode("unicode_escape", "replace")
          or wanted.decode() in [host.get("stdout") for host in done["hosts"]], f"exec: {done}")


def test_a_node_that_dies_in_the_middle_of_a_job(user):
    name = user.two_nodes()
    process = user.start("run", "job", "dies", "-c", name, "-np", "2", "--", "sleep", "1000")
    check(within(20, lambda: b"sleep" in user.run("exec", name, "--", "pgrep", "-x", "-l", "sleep", code=None).out), "no start")
    for pid in inits_of(f"{name}-1"):
        os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    _, err = process.communicate(timeout=60)
    took = time.monotonic() - began
    print(f"   noticed after {took:.1f} s", flush=True)
    check(process.returncode == 1, f"exit code {process.returncode}: {err.decode()}")
    check(f"{name}-1" in err.decode(), err.decode())
    check(took < 20, f"it took {took:.1f} s")
    check(user.run("exec", f"{name}/0", "--", "pgrep", "-x", "sleep", code=None).returncode == 1, "rank 0 lives on")
    user.run("start", "cluster", name)
    user.run("exec", name, "--", "true")


def test_streams_that_are_closed_or_full(user):
    name = user.two_nodes()
    shell = f"'{user.fastgpu}'"
    jobs = f"run job shut -c {name} -np 1 --"
    for words in ("get clusters", f"exec {name} -- echo x", f"{jobs} echo x", f"ssh {name}/0 -- echo x", "version",
                  f"logs shut"):
        for closed in ("<&-", ">&-", "<&- >&-"):
            done = subprocess.run(["bash", "-c", f"{shell} {words} {closed}"], env=user.environment(), capture_output=True,
                                  check=False, timeout=60)
            check(done.returncode == 0, f"{words} {closed}: {done.returncode} {done.stderr}")
        full = subprocess.run(["bash", "-c", f"{shell} {words} >/dev/full"], env=user.environment(), capture_output=True,
                              check=False, timeout=60, text=True)
        check(full.returncode == 1 and "No space left" in full.stderr, f"{words} >/dev/full: {full.returncode} {full.stderr}")
    silent = subprocess.run(["bash", "-c", f"{shell} get clusters | head -0; echo ${{PIPESTATUS[0]}}"],
                            env=user.environment(), capture_output=True, check=False, text=True, timeout=60)
    check(silent.stdout == "0\n" and silent.stderr == "", f"{silent}")
    check(within(5, lambda: not running_ranks(user, name)), "a rank is left")


def running_ranks(user, name, program="sleep"):
    return user.run("exec", name, "--", "pgrep", "-x", program, code=None).out


def stopped_job(user, name, job, signals, pause, program=("sleep", "1000")):
    process = user.start("run", "job", job, "-c", name, "-np", "2", "--", *program)
    check(within(20, lambda: running_ranks(user, name).count(b"\n") == 2), f"{job} does not start")
    began = time.monotonic()
    for number in signals:
        process.send_signal(number)
        time.sleep(pause)
    _, err = process.communicate(timeout=30)
    return process.returncode, err.decode(), time.monotonic() - began


def test_signals(user):
    name = user.two_nodes()
    code, err, took = stopped_job(user, name, "term", [signal.SIGTERM], 0)
    check(code == 130 and took < 5, f"SIGTERM: {code} after {took:.1f} s: {err}")
    check(within(1, lambda: not running_ranks(user, name)), "a rank is left")
    deaf = ("sh", "-c", "trap '' TERM INT; exec sleep 1000")
    code, err, took = stopped_job(user, name, "twice", [signal.SIGINT, signal.SIGINT], 0.3, deaf)
    check(code == 130 and took < 1.5, f"twice: {code} after {took:.1f} s: {err}")
    check("fastgpu cancel job twice-1" in err, err)
    time.sleep(2)  # A job that is only just written down is left alone.
    user.run("gc")
    check(within(5, lambda: not running_ranks(user, name)), "gc left a rank")
    check(json.loads(user.run("gc", "-o", "json").out)["settled"] == [], "gc finds more")
    other = f"{name}x"
    process = user.start("create", "cluster", other, "--nodes", "8")
    time.sleep(0.15)
    process.send_signal(signal.SIGINT)
    time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    check(process.returncode in (0, 130), err)
    user.run("gc")
    if process.returncode == 130:
        user.refused(["describe", "cluster", other], 5, other)
    else:
        user.run("delete", "cluster", other, "--yes")


def test_two_at_once(user):
    name = user.two_nodes()
    first = user.start("scale", "cluster", name, "--nodes", "6")
    check(within(5, lambda: (user.state / "locks" / f"{name}.lock").exists()), "no lock")
    time.sleep(0.05)
    second = user.run("scale", "cluster", name, "--nodes", "7", "--wait", "0s", code=None)
    _, err = first.communicate(timeout=60)
    check(first.returncode == 0, err)
    check(second.returncode in (0, 6), second.err)
    if second.returncode == 6:
        check("process" in second.err and name in second.err, second.err)
    workers = [user.start("scale", "cluster", name, "--nodes", str(count), "--yes") for count in (3, 4, 2)]
    for worker in workers:
        _, err = worker.communicate(timeout=60)
        check(worker.returncode == 0, err)
    user.run("scale", "cluster", name, "--nodes", "2", "--yes")
    pair = [user.start("create", "cluster", f"{name}-{letter}") for letter in "ab"]
    for one in pair:
        _, err = one.communicate(timeout=60)
        check(one.returncode == 0, err)
    same = [user.start("create", "cluster", f"{name}-c") for _ in range(3)]
    for one in same:
        _, err = one.communicate(timeout=60)
        check(one.returncode == 0, err)
    gone = [user.start("delete", "cluster", f"{name}-{letter}", "--yes") for letter in "abcc"]
    codes = sorted(one.wait(timeout=60) for one in gone)
    check(codes in ([0, 0, 0, 0], [0, 0, 0, 5]), f"{codes}: {[one.stderr.read() for one in gone]}")
    held = user.start("run", "job", "held", "-c", name, "-np", "2", "--", "sleep", "2")
    beside = user.start("run", "job", "beside", "-c", name, "-np", "2", "--", "true")
    for job in (held, beside):
        _, err = job.communicate(timeout=60)
        check(job.returncode == 0, err)


def main():
    if os.geteuid() != 0 or not all(map(shutil.which, ("mpirun", "ip", "unshare", "/usr/sbin/sshd"))):
        sys.exit(SKIPPED)
    fastgpu, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = 0
    shared = None
    with contextlib.ExitStack() as stack:
        for name, test in list(globals().items()):
            if not name.startswith("test_") or (wanted and name not in wanted):
                continue
            if shared is None:
                shared = User(fastgpu, stack.enter_context(tempfile.TemporaryDirectory(prefix="fastgpu-bad-")))
                stack.callback(shared.clean_up)
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="fastgpu-bad-") as folder:
                user = User(fastgpu, folder)
                with_nodes = "two_nodes" in test.__code__.co_names
                if with_nodes:  # One cluster for all tests that need one.
                    user = shared
                    user.folder = pathlib.Path(folder)
                try:
                    test(user)
                    print(f"ok: {name} ({time.monotonic() - began:.1f} s)", flush=True)
                except Exception:
                    failed += 1
                    print(f"FAILED: {name}", flush=True)
                    traceback.print_exc()
                finally:
                    if with_nodes:
                        for place in reversed(user.mounts):
                            subprocess.run(["umount", "-l", place], check=False)
                        user.mounts.clear()
                    else:
                        user.clean_up()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
