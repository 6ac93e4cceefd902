"""Hosts and logins that libssh2 does not know, by OpenSSH's client: openssh_hosts_test.py FASTGPU
[TEST ...]

Exits with 77 where it cannot run.
"""

import hashlib
import os
import pathlib
import pty
import select
import signal
import subprocess
import time

import static_lab
from cli_user import within
from relay import Relay
from static_lab import NETWORK, line_of, make_key, ours
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_not_equal,
    assert_not_in,
    assert_true,
)

ETM = "MACs hmac-sha2-512-etm@openssh.com,hmac-sha2-256-etm@openssh.com\nCiphers aes256-ctr\n"
CHACHA = "Ciphers chacha20-poly1305@openssh.com\n"
DH = "KexAlgorithms diffie-hellman-group16-sha512\n"


def commands_on(host):
    """Returns the command lines of all processes of a host."""
    words = ["nsenter", "-t", str(host.first_process()), "--mount", "--pid", "ps", "-eo", "args"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def check_use(lab, host):
    """That a host is reached, in each of the ways in which commands reach it."""
    node = f"lab/{host.name}"
    for words in (("exec", node, "--", "hostname"), ("ssh", node, "--", "hostname")):
        assert_in(host.name, lab.run(*words).stdout, words)
    lab.run("cp", str(lab.user_key) + ".pub", f"{node}:")


def check_everything(lab, host):
    """What each command does on a host of cluster lab, whatever the way to it."""
    node = f"lab/{host.name}"
    assert_equal(
        lab.run("exec", node, "--", "hostname").stdout, f"{host.name}: {host.name}\n", "exec"
    )
    for code in (3, 255):  # 255 is also how OpenSSH's client ends by itself.
        for verb in ("exec", "ssh"):
            assert_equal(
                lab.run(verb, node, "--", "sh", "-c", f"exit {code}", code=None).returncode,
                code,
                f"{verb}: exit {code}",
            )
    assert_equal(
        lab.run("exec", node, "--", "sh", "-c", "kill -9 $$", code=None).returncode,
        137,
        "a signal",
    )
    assert_equal(
        lab.run("ssh", node, "--", "printf", "<%s>", "a  b", 'it\'s "q"').stdout,
        '<a  b><it\'s "q">',
        "ssh",
    )
    payload = lab.folder / f"payload-{host.name}"
    payload.write_bytes(os.urandom(1_200_000))
    for verb, program in (("exec", "sha256sum"), ("ssh", "cat")):
        with payload.open("rb") as stdin:
            done = subprocess.run(
                [lab.fastgpu, verb, node, "--", program],
                stdin=stdin,
                capture_output=True,
                timeout=120,
                env=lab.environment(),
                check=True,
            )
        wanted = (
            hashlib.sha256(payload.read_bytes()).hexdigest().encode()
            if verb == "exec"
            else payload.read_bytes()
        )
        assert_in(wanted, done.stdout, f"{verb} does not pass standard input on")
    lab.run("cp", str(payload), f"{node}:")
    assert_equal((host.home / payload.name).read_bytes(), payload.read_bytes(), "cp to a node")
    lab.run("cp", f"{node}:{payload.name}", str(lab.folder / f"back-{host.name}"))
    assert_equal(
        (lab.folder / f"back-{host.name}").read_bytes(), payload.read_bytes(), "cp from a node"
    )
    interrupted = subprocess.Popen(
        [lab.fastgpu, "exec", node, "--", "sh", "-c", "echo begun; sleep 4242"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=lab.environment(),
    )
    assert_true(interrupted.stdout.readline().endswith(b"begun\n"), "a long program does not begin")
    interrupted.send_signal(signal.SIGINT)
    assert_equal(interrupted.wait(timeout=60), 130, "Ctrl-C")
    assert_true(
        within(10, lambda: "sleep 4242" not in commands_on(host)),
        "Ctrl-C left the program behind",
    )


def check_life(lab, *entries, hosts, more=(), environment=None, job=False, check=check_everything):
    """Creates the cluster, uses it, and deletes it without a trace."""
    before = {host: host.keys_file.read_bytes() for host in hosts}
    lab.create(*entries, more=more, environment=environment)
    assert_true(all(len(ours(host)) == 1 for host in hosts), "the cluster's key is not there")
    for host in hosts:
        check(lab, host)
    if job:
        done = lab.run(
            "run",
            "job",
            "-c",
            "lab",
            "-np",
            str(len(hosts)),
            "--",
            "sh",
            "-c",
            "echo $FASTGPU_RANK $(hostname)",
        )
        assert_equal(
            sorted(done.stdout.splitlines()),
            [f"[{i}] {i} {host.name}" for i, host in enumerate(hosts)],
            done.stdout + done.stderr,
        )
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("warning", done.stderr)
    for host, text in before.items():
        assert_equal(host.keys_file.read_bytes(), text, f"{host.name}")
    lab.check_nothing_known()


def know(lab, *hosts):
    (lab.home / ".ssh" / "known_hosts").write_text(
        "".join(
            (host.address if host.port == 22 else f"[{host.address}]:{host.port}")
            + f" {line_of(host.key)}\n"
            for host in hosts
        )
    )


def test_hosts_whose_lists_libssh2_does_not_meet(lab):
    etm = lab.host("etm", f"{NETWORK}.21", network=True, config=ETM)
    rsa = lab.host("rsa", f"{NETWORK}.22", network=True, key=("-t", "rsa", "-b", "3072"))
    check_life(lab, etm.entry(), rsa.entry(), hosts=(etm, rsa), job=True)


def test_other_algorithms_and_types_of_host_keys(lab):
    hosts = [
        lab.host("chacha", "127.0.0.2", config=CHACHA),
        lab.host("ecdsa", "127.0.0.3", key=("-t", "ecdsa")),
        lab.host("dh", "127.0.0.4", config=DH),
    ]
    know(lab, *hosts)
    check_life(lab, *(host.entry(host_key=False) for host in hosts), hosts=hosts)


def test_keys_of_such_hosts_are_accepted_where_the_user_says_so(lab):
    hosts = [
        lab.host("etm", "127.0.0.2", config=ETM),
        lab.host("rsa", "127.0.0.3", key=("-t", "rsa", "-b", "3072")),
    ]
    before = [host.keys_file.read_bytes() for host in hosts]
    entries = [host.entry(host_key=False) for host in hosts]
    assert_in("--accept-host-keys", lab.create(*entries, code=3).stderr, "unknown keys are trusted")
    made = lab.create(*entries, more=["--accept-host-keys"])
    for host in hosts:
        assert_in(static_lab.fingerprint(host.key), made.stderr)
    assert_equal(lab.run("exec", "lab", "--", "true").returncode, 0, "exec")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_equal([host.keys_file.read_bytes() for host in hosts], before, "a line is left")
    for host in hosts:
        (lab.home / ".ssh" / "known_hosts").write_text(f"@revoked * {line_of(host.key)}\n")
        assert_in(
            "@revoked",
            lab.create(host.entry(host_key=False), code=3, more=["--accept-host-keys"]).stderr,
            "a revoked key",
        )


def test_a_host_that_shows_another_key_than_the_known_one_is_refused(lab):
    rsa = lab.host("rsa", "127.0.0.2", key=("-t", "rsa", "-b", "3072"))
    make_key(lab.folder / "other", "-t", "rsa", "-b", "3072")
    (lab.home / ".ssh" / "known_hosts").write_text(
        f"[127.0.0.2]:{rsa.port} {line_of(lab.folder / 'other')}\n"
    )
    for more in ([], ["--accept-host-keys"]):
        assert_in(
            "host key",
            lab.create(rsa.entry(host_key=False), code=3, more=more).stderr,
            "another key",
        )
    assert_false(ours(rsa), "a host that proved nothing was changed")


def only_key(lab, name, *words, passphrase=""):
    """The user has that key, and no other."""
    for file in lab.user_key.parent.glob("id_*"):
        file.unlink()
    key = lab.home / ".ssh" / name
    make_key(key, *words, passphrase=passphrase)
    return key


def test_a_user_with_an_rsa_key_alone(lab):
    key = only_key(lab, "id_rsa", "-t", "rsa", "-b", "3072")
    lab.user_key = key
    one = lab.host("one", "127.0.0.2")
    check_life(lab, one.entry(), hosts=(one,))
    check_life(lab, one.entry(identity=key), hosts=(one,), check=check_use)


class Agent:
    def __init__(self, lab):
        self.socket = lab.folder / "agent"
        self.process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", self.socket], stdout=subprocess.DEVNULL
        )
        while not self.socket.exists():
            time.sleep(0.01)
        self.environment = {"SSH_AUTH_SOCK": str(self.socket)}

    def add(self, key, passphrase):
        ask = key.parent / "ask"
        ask.write_text(f"#!/bin/sh\necho {passphrase}\n")
        ask.chmod(0o755)
        subprocess.run(
            ["ssh-add", "-q", key],
            check=True,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                **self.environment,
                "SSH_ASKPASS": str(ask),
                "SSH_ASKPASS_REQUIRE": "force",
            },
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def test_a_key_with_a_passphrase_in_an_agent(lab):
    key = only_key(lab, "id_ed25519", "-t", "ed25519", passphrase="word")
    lab.user_key = key
    one = lab.host("one", "127.0.0.2")
    locked = lab.create(one.entry(), code=3)
    assert_in("has a passphrase", locked.stderr)
    assert_in("ssh-add", locked.stderr)
    with Agent(lab) as agent:
        agent.add(key, "word")
        check_life(lab, one.entry(), hosts=(one,), environment=agent.environment)
        key.unlink()  # In the agent alone.
        lab.create(one.entry(), environment=agent.environment)
    lab.run("exec", "lab", "--", "true")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_false(ours(one), "a line is left")


def test_a_passphrase_is_asked_for_once_at_a_terminal(lab):
    key = only_key(lab, "id_ed25519", "-t", "ed25519", passphrase="word")
    lab.user_key = key
    hosts = [
        lab.host(name, address) for name, address in (("one", "127.0.0.2"), ("two", "127.0.0.3"))
    ]
    file = lab.file(*(host.entry() for host in hosts))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(lab.fastgpu, [lab.fastgpu, "create", "cluster", "-f", file], lab.environment())
    said, until, asked = b"", time.monotonic() + 90, 0
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            said += os.read(terminal, 4096)
        except OSError:
            break
        if said.count(b"passphrase for") > asked:
            asked += 1
            os.write(terminal, b"word\n")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert_equal(status, 0, f"{status}, asked {asked} times: {said.decode()}")
    assert_equal(asked, 1, f"{status}, asked {asked} times: {said.decode()}")
    assert_true(all(len(ours(host)) == 1 for host in hosts), "the cluster's key is not there")
    assert_false(list(pathlib.Path("/tmp").glob("fastgpu-agent-*")), "an agent is left")
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_user_certificate(lab):
    authority = lab.folder / "authority"
    make_key(authority)
    one = lab.host("one", "127.0.0.2", config=f"TrustedUserCAKeys {authority}.pub\n")
    subprocess.run(
        [
            "ssh-keygen",
            "-q",
            "-s",
            authority,
            "-I",
            "me",
            "-n",
            "root",
            lab.user_key.with_suffix(".pub"),
        ],
        check=True,
    )
    one.authorize(b"# nobody\n")
    check_life(lab, one.entry(), hosts=(one,))


def test_names_of_the_users_configuration(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = lab.host("inner", "127.0.0.1", inside=gate)
    near = lab.host("near", "127.0.0.2")
    other = lab.home / ".ssh" / "other_key"
    make_key(other, "-t", "ecdsa")
    near.authorize((line_of(other) + "\n").encode())
    folder = lab.home / ".ssh"
    (folder / "config").write_text(
        f"Include {folder}/more\nHost gpubox\n  HostName 127.0.0.2\n  Port {near.port}\n"
        "  User root\n"
        f"  IdentityFile {other}\nHost *\n  IdentityFile {lab.user_key}\n"
    )
    (folder / "more").write_text(
        "Host behind\n  HostName 127.0.0.1\n  ProxyJump gate\nHost gate\n"
        f"  HostName {gate.address}\n  User root\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n"
    )
    known = [
        f"{gate.address} {line_of(gate.key)}",
        f"[127.0.0.2]:{near.port} {line_of(near.key)}",
        f"127.0.0.1 {line_of(inner.key)}",
    ]
    (folder / "known_hosts").write_text("".join(line + "\n" for line in known))
    check_life(
        lab,
        "  - {name: near, address: gpubox}\n",
        "  - {name: inner, address: behind}\n",
        hosts=(near, inner),
    )


def test_a_jump_host_with_a_key_and_a_port_of_its_own(lab):
    gate = lab.host("gate", f"{NETWORK}.13", network=True, port=2222)
    inner = lab.host("inner", "127.0.0.1", inside=gate)
    key = lab.home / ".ssh" / "gate"
    for words in ((), ("-t", "rsa", "-b", "3072")):
        key.unlink(missing_ok=True)
        make_key(key, *words)
        gate.authorize((line_of(key) + "\n").encode())
        jump = (
            f"{{address: {gate.address}, port: 2222, user: root, identity: {key}, host_keys: "
            f"['{line_of(gate.key)}']}}"
        )
        check_life(lab, inner.entry(jump=jump), hosts=(inner,), check=check_use)
    (lab.home / ".ssh" / "known_hosts").write_text(f"[{gate.address}]:2222 {line_of(gate.key)}\n")
    gate.authorize((line_of(lab.user_key) + "\n").encode())
    check_life(lab, inner.entry(jump=f"root@{gate.address}:2222"), hosts=(inner,))


def test_every_command_waits_for_a_connection_as_long_as_it_is_told_to(lab):
    one = lab.host("one", "127.0.0.2")
    relay = Relay(("127.0.0.2", one.port), delay=3)  # An sshd that looks names up.
    entry = (
        f"  - {{name: one, address: 127.0.0.1, port: {relay.port}, user: root, host_keys: "
        f"['{line_of(one.key)}']}}\n"
    )
    short, long = {"FASTGPU_CONNECT_TIMEOUT": "1s"}, {"FASTGPU_CONNECT_TIMEOUT": "30s"}
    refused = lab.create(entry, code=None, environment=short)
    assert_not_equal(refused.returncode, 0, refused.stderr)
    assert_in("within 1s", refused.stderr)
    lab.create(entry, environment=long)
    for words in (
        ["exec", "lab", "--", "true"],
        ["run", "job", "-c", "lab", "--", "true"],
        ["cp", str(lab.user_key) + ".pub", "lab:"],
    ):
        refused = lab.run(*words, code=None, environment=short)
        assert_not_equal(refused.returncode, 0, f"{words}: {refused.stderr}")
        assert_in("within 1s", refused.stderr, f"{words}")
        lab.run(*words, environment=long)
    lab.run("delete", "cluster", "lab", "--yes", environment=long)


if __name__ == "__main__":
    static_lab.run_tests(globals())
