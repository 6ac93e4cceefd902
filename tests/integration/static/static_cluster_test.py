"""Clusters of hosts that somebody has, as a user meets them: the program, a file of hosts, real
sshd processes.

static_cluster_test.py FASTGPU [TEST ...]

Each host is an sshd in namespaces of its own, with its own host name and /root; some have a network
of their own, too. Needs root, sshd, mpirun, ip and unshare; exits with 77 where it cannot run. It
cleans up after itself.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import shown_documents
import suite
from cli_user import within
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_less,
    assert_not_equal,
    assert_not_in,
    assert_true,
)

NETWORK = "10.203.117"
BRIDGE = f"fgst{os.getpid() % 100000}"

START = """
set -e
mount --bind {home} /root
[ ! -e {folder}/../hosts ] || mount --bind {folder}/../hosts /etc/hosts
[ ! -e {folder}/passwd ] || mount --bind {folder}/passwd /etc/passwd
hostname {name}
if [ -n "{address}" ]; then
  until ip -o address show dev eth0 2>/dev/null | grep -q "inet "; do sleep 0.02; done
fi
ip link set lo up
exec /usr/sbin/sshd -D -f {folder}/config -E {folder}/log
"""


def make_key(path, *words, passphrase=""):
    subprocess.run(
        ["ssh-keygen", "-q", *(words or ("-t", "ed25519")), "-N", passphrase, "-C", "", "-f", path],
        check=True,
    )


def line_of(path):
    return path.with_suffix(".pub").read_text().strip()


def fingerprint(path):
    done = subprocess.run(
        ["ssh-keygen", "-l", "-f", path.with_suffix(".pub")],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()[1]


def free_port(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        return listener.getsockname()[1]


class Host:
    """One sshd. With `network` it has an address that this machine and the other such hosts reach,
    and port 22.
    """

    def __init__(
        self,
        lab,
        name,
        address="127.0.0.2",
        network=False,
        inside=None,
        shell=None,
        config="",
        key=(),
        port=None,
    ):
        self.name, self.address, self.network = name, address, network
        self.folder = lab.folder / name
        self.home = self.folder / "root"
        (self.home / ".ssh").mkdir(parents=True, mode=0o700)
        self.home.chmod(0o700)
        self.key = self.folder / "host_key"
        make_key(self.key, *key)
        self.port = port or (22 if network or inside else free_port(address))
        self.inside = inside
        self.authorize((line_of(lab.user_key) + "\n").encode())
        (self.folder / "config").write_text(
            f"ListenAddress {address}\nPort {self.port}\nHostKey {self.key}\nPidFile none\n"
            "UsePAM no\n"
            "PasswordAuthentication no\nPermitRootLogin yes\nPrintMotd no\nPrintLastLog no\n"
            "LogLevel VERBOSE\n"
            "Subsystem sftp internal-sftp\nMaxStartups 100\n" + config
        )
        if shell:  # Of root, there.
            lines = [
                line.rpartition(":")[0] + ":" + shell if line.startswith("root:") else line
                for line in pathlib.Path("/etc/passwd").read_text().splitlines()
            ]
            (self.folder / "passwd").write_text("\n".join(lines) + "\n")
        self.process = None
        self.start()

    def authorize(self, text):
        self.keys_file.write_bytes(text)
        self.keys_file.chmod(0o600)

    @property
    def keys_file(self):
        return self.home / ".ssh" / "authorized_keys"

    def start(self):
        script = START.format(
            home=self.home,
            name=self.name,
            folder=self.folder,
            address=self.address if self.network else "",
        )
        namespaces = ["--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if self.network:
            namespaces.append("--net")
        prefix = ["nsenter", "-t", str(self.inside.first_process()), "--net"] if self.inside else []
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*prefix, "unshare", *namespaces, "bash", "-c", script], stderr=log
            )
        if self.network:
            self.connect()
        if not self.inside:
            self.await_answer()
        else:
            time.sleep(0.5)

    def first_process(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        assert_true(within(5, lambda: children.read_text().split()), f"{self.name} does not start")
        return int(children.read_text().split()[0])

    def connect(self):
        process, link = str(self.first_process()), f"fgv{self.process.pid}"
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", process)
        ip("link", "set", link, "master", BRIDGE, "up")
        for words in (
            ["link", "set", "eth0", "up"],
            ["address", "add", f"{self.address}/24", "dev", "eth0"],
        ):
            subprocess.run(["nsenter", "-t", process, "--net", "ip", *words], check=True)

    def await_answer(self):
        def answers():
            with (
                contextlib.suppress(OSError),
                socket.create_connection((self.address, self.port), timeout=1),
            ):
                return True

        assert_true(within(10, answers), f"{self.name} does not answer: {self.log()}")

    def stop(self):
        if self.process:
            with contextlib.suppress(OSError, AssertionError):
                os.kill(self.first_process(), signal.SIGKILL)
            self.process.wait()  # Until all that ran in there is gone.
            self.process = None

    def log(self):
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def logins(self, key):
        return sum(
            "Accepted publickey" in line and fingerprint(key) in line
            for line in self.log().splitlines()
        )

    def entry(self, host_key=True, **more):
        lines = [
            f"address: '{self.address}'",
            f"name: {self.name}",
            f"port: {self.port}",
            "user: root",
        ]
        if host_key:
            lines.append(f"host_keys: ['{line_of(self.key)}']")
        lines += [f"{name}: {value}" for name, value in more.items()]
        return "  - " + "\n    ".join(lines) + "\n"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Lab:
    """A user with a home, a state directory, a key; and hosts."""

    def __init__(self, fastgpu, folder):
        self.fastgpu, self.folder = fastgpu, pathlib.Path(folder)
        self.home = self.folder / "home"
        (self.home / ".ssh").mkdir(parents=True, mode=0o700)
        self.user_key = self.home / ".ssh" / "id_ed25519"
        make_key(self.user_key)
        self.hosts = []
        self.has_bridge = False

    def host(self, name, *args, **more):
        if more.get("network") and not self.has_bridge:
            ip("link", "add", BRIDGE, "type", "bridge")
            self.has_bridge = True
            ip("address", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
            ip("link", "set", BRIDGE, "up")
        self.hosts.append(Host(self, name, *args, **more))
        return self.hosts[-1]

    def pair(self):
        return (
            self.host("one", f"{NETWORK}.11", network=True),
            self.host("two", f"{NETWORK}.12", network=True),
        )

    def clean_up(self):
        for host in reversed(self.hosts):
            host.stop()
        if self.has_bridge:
            ip("link", "delete", BRIDGE)

    def file(self, *entries):
        path = self.folder / "cluster.yaml"
        path.write_text("name: lab\nprovider: static\nhosts:\n" + "".join(entries))
        return str(path)

    def run(self, *words, code=0, environment=None):
        done = subprocess.run(
            [self.fastgpu, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            env=self.environment(environment),
            check=False,
        )
        if code is not None and done.returncode != code:
            raise AssertionError(
                f"{' '.join(words)}: exit code {done.returncode}, not {code}\n"
                f"{done.stdout}{done.stderr}"
            )
        shown_documents.check_output(words, done.stdout)
        return done

    def environment(self, more=None):
        return {
            **os.environ,
            "HOME": str(self.home),
            "FASTGPU_STATE_DIR": str(self.folder / "state"),
            **(more or {}),
        }

    def create(self, *entries, code=0, more=(), environment=None):
        return self.run(
            "create",
            "cluster",
            "-f",
            self.file(*entries),
            *more,
            code=code,
            environment=environment,
        )

    def check_nothing_known(self):
        assert_in(
            '"clusters": []', self.run("get", "clusters", "-o", "json").stdout, "a cluster is left"
        )
        assert_in('"settled": []', self.run("gc", "-o", "json").stdout, "gc finds something")
        assert_false(list((self.folder / "state" / "clusters").glob("*")), "files are left")


def ours(host):
    return [line for line in host.keys_file.read_text().split("\n") if " fastgpu-" in line]


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


def test_host_keys_come_from_the_file_or_known_hosts_or_are_accepted(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    before = one.keys_file.read_bytes()
    unknown = lab.create(one.entry(host_key=False), two.entry(), code=3)
    assert_in("127.0.0.2", unknown.stderr)
    assert_in("--accept-host-keys", unknown.stderr)
    known = lab.home / ".ssh" / "known_hosts"
    known.write_text(f"[127.0.0.2]:{one.port} {line_of(one.key)}\n")
    lab.create(one.entry(host_key=False), two.entry())
    lab.run("delete", "cluster", "lab", "--yes")
    known.unlink()
    accepted = lab.create(one.entry(host_key=False), two.entry(), more=["--accept-host-keys"])
    assert_in(fingerprint(one.key), accepted.stderr)
    assert_in("127.0.0.2", accepted.stderr)
    assert_not_in(fingerprint(two.key), accepted.stderr, "a key that was known is accepted")
    lab.run("exec", "lab", "--", "true")
    lab.run("delete", "cluster", "lab", "--yes")
    known.write_text(f"[127.0.0.2]:{one.port} {line_of(two.key)}\n")
    for more in ([], ["--accept-host-keys"]):
        refused = lab.create(one.entry(host_key=False), two.entry(), code=3, more=more)
        assert_in(fingerprint(one.key), refused.stderr)
        assert_in(fingerprint(two.key), refused.stderr)
    assert_equal(one.keys_file.read_bytes(), before, "a refused cluster left a line")
    assert_equal(before, two.keys_file.read_bytes(), "a refused cluster left a line")
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


def known_hosts(lab, *lines):
    (lab.home / ".ssh" / "known_hosts").write_text("".join(line + "\n" for line in lines))


def refused_both_ways(lab, host, *said):
    """With and without --accept-host-keys, and nothing is written on the host."""
    before = host.keys_file.read_bytes()
    for more in ([], ["--accept-host-keys"]):
        refused = lab.create(host.entry(host_key=False), code=3, more=more)
        assert_true(all(text in refused.stderr for text in said), refused.stderr)
    assert_equal(host.keys_file.read_bytes(), before, "a refused host was changed")
    lab.check_nothing_known()


def test_a_revoked_key_is_refused_whatever_else_is_said_of_it(lab):
    one = lab.host("one", "127.0.0.2")
    place, key = f"[127.0.0.2]:{one.port}", line_of(one.key)
    for lines in (
        [f"{place} {key}", f"@revoked * {key}"],
        [f"@revoked * {key}"],
        [f"@revoked 127.0.0.2 {key}"],
        [f"@revoked {place} {key}"],
    ):
        known_hosts(lab, *lines)
        if len(lines) == 2:
            refused_both_ways(lab, one, "@revoked", fingerprint(one.key))
        assert_in(
            "@revoked",
            lab.create(one.entry(host_key=False), code=3, more=["--accept-host-keys"]).stderr,
            "accepted",
        )
        assert_in(
            "@revoked",
            lab.create(one.entry(), code=3).stderr,
            "the file's key counts although it is revoked",
        )
    known_hosts(lab, f"@revoked 127.0.0.9 {key}")
    lab.create(one.entry(host_key=False), more=["--accept-host-keys"])
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_host_that_is_known_by_another_type_of_key_is_not_unknown(lab):
    one = lab.host("one", "127.0.0.2")
    for number, words in enumerate((["-t", "rsa", "-b", "2048"], ["-t", "ecdsa"])):
        key = lab.folder / f"other{number}"
        subprocess.run(["ssh-keygen", "-q", *words, "-N", "", "-C", "", "-f", key], check=True)
        known_hosts(lab, f"[127.0.0.2]:{one.port} {line_of(key)}")
        refused_both_ways(lab, one, "its host key is not one of the known keys")


def test_a_host_whose_key_changes_later_is_refused(lab):
    one = lab.host("one", "127.0.0.2")
    lab.create(one.entry())
    one.stop()
    one.key.unlink()
    make_key(one.key)
    one.start()
    refused = lab.run("exec", "lab", "--", "true", code=None)
    assert_not_equal(refused.returncode, 0, refused.stderr)
    assert_in(fingerprint(one.key), refused.stderr)
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_in("one", done.stderr)
    assert_in(fingerprint(one.key), done.stderr)
    assert_equal(len(ours(one)), 1, "a host that proved nothing was changed")


def test_through_a_jump_host(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = lab.host("inner", "127.0.0.1", inside=gate)
    before = inner.keys_file.read_bytes(), gate.keys_file.read_bytes()
    jump = f"{{address: {gate.address}, user: root, host_keys: ['{line_of(gate.key)}']}}"
    lab.create(inner.entry(jump=jump))
    assert_equal(gate.keys_file.read_bytes(), before[1], "the jump host was changed")
    assert_equal(lab.run("exec", "lab", "--", "hostname").stdout, "inner: inner\n", "exec")
    said = lab.run("run", "job", "-c", "lab", "--", "hostname")
    assert_equal(said.stdout, "[0] inner\n")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_equal(
        (inner.keys_file.read_bytes(), gate.keys_file.read_bytes()), before, "not as before"
    )


def within_host(host, *words, **more):
    """Runs a command in all namespaces of a host."""
    inside = ["nsenter", "-t", str(host.first_process()), "--mount", "--pid", "--net"]
    return subprocess.run([*inside, *words], capture_output=True, text=True, check=False, **more)


def programs_on(host):
    """Returns the command lines of all processes of a host."""
    return within_host(host, "ps", "-eo", "args").stdout


def start_job(lab, name, ranks, number):
    """Starts a job of ranks that sleep, and waits until they do. Returns its process."""
    process = subprocess.Popen(
        [lab.fastgpu, "run", "job", name, "-c", "lab", "-np", str(ranks), "--", "sh", "-c"]
        + [f"echo up; exec sleep {number}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=lab.environment(),
    )
    for _ in range(ranks):
        assert_in(b"up", process.stdout.readline())
    return process


def start_detached(lab, name, target, ranks, number):
    """Starts a job of ranks that sleep, without following it, and waits until they do."""
    words = ["-c", target, "-np", str(ranks), "--share", "--detach", "--", "sleep", str(number)]
    lab.run("run", "job", name, *words)
    hosts = [host for host in lab.hosts if target in ("lab", f"lab/{host.name}")]
    started = within(20, lambda: all(f"sleep {number}" in programs_on(host) for host in hosts))
    assert_true(started, f"job {name} does not start")


def state_of(lab, job):
    """Returns the state of a job, as `describe job` shows it."""
    return json.loads(lab.run("describe", "job", job, "-o", "json").stdout)["state"]


def test_delete_cluster_stops_the_jobs_on_hosts_that_stay(lab):
    one, two = lab.pair()
    lab.create(one.entry(), two.entry())
    start_detached(lab, "orph", "lab", 2, 600.25)
    planned = lab.run("delete", "cluster", "lab", "--dry-run").stdout
    assert_in("end job orph-1", planned)
    assert_in("sleep 600.25", programs_on(one), "a plan ended the job")
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("warning", done.stderr)
    for host in (one, two):
        assert_not_in("600.25", programs_on(host), f"the job still runs on {host.name}")
        assert_true((host.home / ".fastgpu/jobs/orph-1").is_dir(), f"no logs on {host.name}")
    assert_equal(state_of(lab, "orph-1"), "cancelled")
    refused = lab.run("logs", "orph", code=6)
    assert_in("hosts of a static cluster keep them in ~/.fastgpu/jobs/orph-1", refused.stderr)


def test_delete_cluster_names_the_jobs_of_a_host_that_is_away(lab):
    one, two = lab.pair()
    lab.create(one.entry(), two.entry())
    start_detached(lab, "orph", "lab/two", 1, 600.35)
    start_detached(lab, "other", "lab/one", 1, 600.65)
    within_host(two, "ip", "link", "set", "eth0", "down")
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_in("stopping job orph-1: ", done.stderr)
    assert_in("its processes may still run on two", done.stderr)
    assert_not_in("other-1", done.stderr.replace("stopping job other-1\n", ""))
    assert_in("600.35", programs_on(two), "the job did not run on two any more")
    assert_not_in("600.65", programs_on(one), "the other job still runs on one")
    assert_equal([state_of(lab, job) for job in ("orph-1", "other-1")], ["lost", "cancelled"])
    lab.check_nothing_known()


def test_scale_cluster_stops_the_jobs_of_a_host_that_leaves(lab):
    one, two = lab.pair()
    lab.create(one.entry(slots=2), two.entry(slots=2))
    start_detached(lab, "both", "lab", 3, 600.45)
    start_detached(lab, "stays", "lab/one", 1, 600.55)
    lab.run("scale", "cluster", "lab", "--nodes", "1", "--yes")
    for host in (one, two):
        assert_not_in("600.45", programs_on(host), f"the job still runs on {host.name}")
    assert_equal(state_of(lab, "both-1"), "cancelled")
    assert_in("sleep 600.55", programs_on(one), "a job of the host that stays was stopped")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("600.55", programs_on(one), "the job still runs on one")


def test_a_job_behind_a_jump_host_ends_when_this_machine_is_gone(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = lab.host("inner", "127.0.0.1", inside=gate)
    jump = f"{{address: {gate.address}, user: root, host_keys: ['{line_of(gate.key)}']}}"
    lab.create(inner.entry(jump=jump))
    process = start_job(lab, "alone", 1, 4242.5)
    # Longer than the silence that is borne, so that beats have kept the job.
    time.sleep(20)
    assert_true(process.poll() is None, "the job has ended by itself")
    hole = ["blackhole", f"{NETWORK}.1"]
    within_host(gate, "ip", "route", "add", *hole)
    began = time.monotonic()
    try:
        gone = within(75, lambda: "sleep 4242.5" not in programs_on(inner))
        print(f"   its rank ended after {time.monotonic() - began:.1f} s", flush=True)
        assert_true(gone, "the rank outlives the lease of its job")
        _, err = process.communicate(timeout=30)
        assert_equal(process.returncode, 1, err)
    finally:
        within_host(gate, "ip", "route", "del", *hole)


def test_ranks_behind_a_jump_host_have_their_lease(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    pair = lab.pair()
    jump = f"{{address: {gate.address}, user: root, host_keys: ['{line_of(gate.key)}']}}"
    lab.create(*(host.entry(jump=jump) for host in pair))
    process = start_job(lab, "both", 2, 4242.6)
    within_host(pair[1], "pkill", "-STOP", "-x", "orted")
    within_host(pair[1], "ip", "link", "set", "eth0", "down")
    gone = within(15, lambda: "sleep 4242.6" not in programs_on(pair[1]))
    within_host(pair[1], "pkill", "-KILL", "-x", "orted")
    assert_true(gone, "a rank outlives its lease")
    _, err = process.communicate(timeout=30)
    assert_in(b"lost contact with two", err)
    log = (pair[1].home / ".fastgpu/jobs/both-1/ranks/1.err").read_text()
    assert_in("the first node of the job did not answer for 9s", log)


def test_keys_on_the_way_are_accepted_once_each(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = [
        lab.host(name, address, inside=gate)
        for name, address in (("one", "127.0.0.1"), ("two", "127.0.0.2"))
    ]
    jump = f"{{address: {gate.address}, user: root}}"
    unknown = lab.create(*(host.entry(host_key=False, jump=jump) for host in inner), code=3)
    assert_in(gate.address, unknown.stderr)
    made = lab.create(
        *(host.entry(host_key=False, jump=jump) for host in inner), more=["--accept-host-keys"]
    )
    said = [made.stderr.count(fingerprint(host.key)) for host in (gate, *inner)]
    assert_equal(said, [1, 1, 1], f"{said}: {made.stderr}")
    lab.run("exec", "lab", "--", "true")
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


@contextlib.contextmanager
def lab_for(fastgpu):
    """Yields the lab of a test; if the test fails, prints what its hosts have logged."""
    with tempfile.TemporaryDirectory(prefix="fastgpu-static-", dir="/var/tmp") as folder:
        lab = Lab(fastgpu, folder)
        try:
            yield lab
        except Exception:
            for host in lab.hosts:
                print(f"--- {host.name}\n{host.log()[-1500:]}", file=sys.stderr)
            raise
        finally:
            lab.clean_up()


def run_tests(names):
    """Runs the tests of a file, given its globals(): TEST.py
    FASTGPU [TEST ...]. Each gets a Lab.
    """
    suite.need_root("unshare", "nsenter", "ip", "mpirun", "ssh-keygen", "/usr/sbin/sshd")
    fastgpu = os.path.abspath(sys.argv[1])
    os.makedirs("/run/sshd", exist_ok=True)
    suite.main(suite.tests_of(names), lambda _: lab_for(fastgpu), sys.argv[2:])


if __name__ == "__main__":
    run_tests(globals())
