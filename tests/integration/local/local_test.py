"""Real local nodes: made, used, killed at any moment, and gone without a trace.

local_test.py DRIVER INIT KILL_AT [TEST ...]

Needs root, sshd and ssh; exits with 77 where it cannot run. Whatever happens, it cleans up after
itself.
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import suite
from cli_user import within
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_is,
    assert_less,
    assert_not_equal,
    assert_not_in,
    assert_true,
)

CLUSTER = "7e571a00"
SSH_OPTIONS = (
    "-o",
    "BatchMode=yes",
    "-o",
    "StrictHostKeyChecking=yes",
    "-o",
    "LogLevel=ERROR",
    "-F",
    "/dev/null",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
)


def init_processes(root_id):
    """Process numbers of all node inits under this root."""
    found = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"\0boot\0{root_id}/".encode() in entry.read_bytes():
                found.add(entry.parent.name)
        except OSError:
            pass
    return found


def process_tree():
    return subprocess.run(["ps", "axjf"], capture_output=True, text=True, check=False).stdout


def is_settled(pid):
    """Whether a node's init will live on: its maker has let go of
    it, and it has not been killed.
    """
    try:
        status = dict(
            line.split(":\t", 1)
            for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
            if ":\t" in line
        )
        maker = (
            pathlib.Path(f"/proc/{status['PPid'].strip()}/comm").read_text(encoding="utf-8").strip()
        )
    except OSError:
        return False
    killed = int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)
    return maker != "fastgpu-node-init"[:15] and not killed & 1 << (signal.SIGKILL - 1)


class Machine:
    """A root folder of its own, the driver, and what the machine looked like before."""

    def __init__(self, driver, init, kill_at, folder):
        self.driver, self.init, self.kill_at = driver, init, kill_at
        self.folder = pathlib.Path(folder)
        self.root = self.folder / "root"
        self.keys = self.folder / "keys"
        self.keys.mkdir()
        for name in ("host", "user"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.keys / name], check=True
            )
        self.before = self.visible()

    def argv(self, *words):
        return [self.driver, str(self.root), self.init, str(self.keys), *map(str, words)]

    def run(self, *words, ok=True, prefix=()):
        done = subprocess.run(
            [*prefix, *self.argv(*words)], capture_output=True, text=True, timeout=180, check=False
        )
        if ok and done.returncode != 0:
            raise AssertionError(
                f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    def addresses(self, cluster=CLUSTER):
        lines = self.run("list", cluster).stdout.split("\n")
        return {int(line.split()[0]): line.split()[2] for line in lines if line}

    def states(self, cluster=CLUSTER):
        return [line.split()[1] for line in self.run("list", cluster).stdout.split("\n") if line]

    def ssh_argv(self, node, command, cluster=CLUSTER):
        addresses = self.addresses(cluster)
        known = self.folder / "known_hosts"
        host_key = " ".join((self.keys / "host.pub").read_text().split()[:2])
        known.write_text("".join(f"{address} {host_key}\n" for address in addresses.values()))
        return [
            "ssh",
            *SSH_OPTIONS,
            "-o",
            f"UserKnownHostsFile={known}",
            "-i",
            str(self.keys / "user"),
            f"root@{addresses[node]}",
            command,
        ]

    def ssh(self, node, command, cluster=CLUSTER, data=None):
        try:
            done = subprocess.run(
                self.ssh_argv(node, command, cluster),
                input=data,
                capture_output=True,
                timeout=60,
                check=False,
            )
        except subprocess.TimeoutExpired as e:
            raise AssertionError(
                f"{e}; the nodes are {self.states(cluster)} now; {process_tree()}"
            ) from e
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace").strip()

    def sure(self, node, command, cluster=CLUSTER, patience=0):
        code, text = self.ssh(node, command, cluster)
        deadline = time.monotonic() + patience
        while code == 255 and time.monotonic() < deadline:
            code, text = self.ssh(node, command, cluster)
        assert_equal(code, 0, f"{command}: {code} {text}")
        return text

    def root_id(self):
        path = self.root / "id"
        return path.read_text().strip() if path.exists() else "none"

    def visible(self):
        links = {n for n in os.listdir("/sys/class/net") if n.startswith(("fg7e57", "fg-7e57"))}
        mounts = {
            line
            for line in pathlib.Path("/proc/self/mountinfo")
            .read_text(encoding="utf-8")
            .splitlines()
            if str(self.folder) in line
        }
        return links, mounts, init_processes(self.root_id())

    def check_nothing_left(self):
        # The kernel takes a dead node's network apart in its own time.
        within(5, lambda: self.visible() == self.before)
        assert_equal(self.visible(), self.before, "left")
        left = sorted(p.name for p in self.root.iterdir()) if self.root.exists() else []
        assert_in(left, ([], ["id"], ["id", "storage"]), "files left")

    def clean_up(self):
        self.run("gc", "-", ok=False)
        for pid in init_processes(self.root_id()):
            os.kill(int(pid), signal.SIGKILL)


def test_nodes_are_hosts_of_their_own(m):
    m.run("create", CLUSTER, 2)
    assert_equal(m.states(), ["running", "running"])
    assert_equal(m.sure(0, "hostname"), "t7e5-0")
    bridge = m.addresses()[0].rsplit(".", 1)[0] + ".1"
    assert_equal(m.sure(0, "getent hosts t7e5-1").split()[0], m.addresses()[1])
    assert_equal(m.sure(0, "getent hosts " + os.uname().nodename).split()[0], bridge)
    assert_true(
        m.sure(0, "timeout 5 bash -c 'read line </dev/tcp/t7e5-1/22; echo $line'").startswith(
            "SSH-2.0"
        )
    )
    assert_equal(m.ssh(0, "echo a >/usr/only-here && echo b >/root/.ssh/x && ls -A /tmp")[1], "")
    assert_equal(m.ssh(1, "test -e /usr/only-here")[0], 1)
    assert_false(os.path.exists("/usr/only-here"))
    assert_false(os.path.exists("/root/.ssh/x"))
    assert_equal(m.sure(0, f"ls -A {m.root}"), "", "a node sees the folders of the nodes")
    assert_equal(m.sure(1, "ls -A /root/.ssh; ls /etc/ssh/*rsa* 2>/dev/null; true"), "")
    assert_true(m.sure(0, "script -qc tty /dev/null </dev/null").strip().startswith("/dev/pts/"))
    assert_not_equal(
        m.sure(0, "cat /proc/sys/kernel/random/boot_id"),
        m.sure(1, "cat /proc/sys/kernel/random/boot_id"),
    )


def test_only_the_clusters_key_opens_an_account(m):
    m.run("create", CLUSTER, 1)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", m.keys / "own"], check=True
    )
    own = (m.keys / "own.pub").read_text().strip()
    m.sure(
        0,
        "useradd --create-home --shell /bin/sh guest && usermod --password '*' guest && cd "
        "/home/guest && mkdir -m 700 .ssh && "
        f"echo '{own}' >.ssh/authorized_keys && cp .ssh/authorized_keys .ssh/authorized_keys2 && "
        "chown -R guest: .ssh",
    )
    m.sure(
        0,
        f"mkdir -p /root/.ssh && echo '{own}' >/root/.ssh/authorized_keys && chmod -R go= "
        "/root/.ssh",
    )
    words = m.ssh_argv(0, "id -un")
    for account in ("guest", "root"):
        for key, opens in (("user", True), ("own", False)):
            argv = [
                *words[:-4],
                "-o",
                "IdentitiesOnly=yes",
                "-i",
                str(m.keys / key),
                words[-2].replace("root@", account + "@"),
                words[-1],
            ]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
            assert_equal(
                done.stdout.strip() == account,
                opens,
                f"{account}'s account and the key {key}: {done.returncode} "
                f"{done.stdout}{done.stderr}",
            )


def test_killing_on_one_node_kills_nobody_else(m):
    m.run("create", CLUSTER, 2)
    sleeper = subprocess.Popen(m.ssh_argv(1, "sleep 60"))
    wait_for(lambda: m.ssh(1, "pgrep -x sleep")[0] == 0, "a process runs on node 1")
    here = subprocess.Popen(["sleep", "60"])
    m.ssh(0, "kill -9 -1; true")
    time.sleep(0.3)
    assert_is(sleeper.poll(), None)
    assert_is(here.poll(), None)
    assert_equal(m.states(), ["running", "running"])
    wait_for(lambda: m.ssh(0, "true")[0] == 0, "sshd is started again")
    sleeper.kill()
    here.kill()
    sleeper.wait()
    here.wait()


def test_stop_keeps_files_and_start_brings_them_back(m):
    m.run("create", CLUSTER, 2)
    addresses = m.addresses()
    m.sure(0, "echo kept >/usr/kept && sync; (trap '' TERM HUP; sleep 300) >/dev/null 2>&1 & true")
    m.run("stop", CLUSTER, 2)
    assert_equal(m.states(), ["stopped", "stopped"])
    assert_equal(m.addresses(), addresses)
    m.run("stop", CLUSTER, 2)
    m.run("start", CLUSTER, 2)
    m.run("start", CLUSTER, 2)
    assert_equal(m.addresses(), addresses)
    assert_equal(m.sure(0, "cat /usr/kept; pgrep -x sleep || true"), "kept")
    assert_equal(m.sure(1, "getent hosts t7e5-0").split()[0], addresses[0])


def test_a_crash_is_seen_at_once_and_a_missing_bridge_is_made_again(m):
    m.run("create", CLUSTER, 2)
    for pid in init_processes(m.root_id()):
        os.kill(int(pid), signal.SIGKILL)
    wait_for(lambda: m.states() == ["stopped", "stopped"], "the nodes count as stopped")
    subprocess.run(["ip", "link", "delete", "fg-" + CLUSTER], check=True)
    m.run("start", CLUSTER, 2)
    assert_equal(m.sure(1, "hostname"), "t7e5-1")


def test_a_cluster_grows_and_shrinks_and_every_node_knows(m):
    m.run("create", CLUSTER, 1)
    m.sure(0, "echo 10.9.9.9 mine >>/etc/hosts")
    m.run("create", CLUSTER, 3)
    assert_equal(m.sure(0, "getent hosts t7e5-2").split()[0], m.addresses()[2])
    assert_equal(m.sure(0, "getent hosts mine").split()[0], "10.9.9.9")
    m.sure(2, "rm /etc/hosts && ln -s /root/elsewhere /etc/hosts")
    m.run("destroy", CLUSTER, 1)
    assert_equal(m.addresses().keys(), {1, 2})
    assert_equal(m.ssh(1, "getent hosts t7e5-0")[0], 2)
    assert_false(os.path.exists("/root/elsewhere"))


def test_link_rate_is_held_in_both_directions(m):
    m.run("create", CLUSTER, 2, 80_000_000)  # 10 MB/s
    data = bytes(10_000_000)
    start = time.monotonic()
    assert_equal(m.ssh(0, "cat >/dev/null", data=data)[0], 0)
    down = time.monotonic() - start
    start = time.monotonic()
    m.sure(0, "head -c 10000000 /dev/zero | cat >/dev/null")
    reader = subprocess.run(
        m.ssh_argv(1, "head -c 10000000 /dev/zero"), stdout=subprocess.DEVNULL, check=True
    )
    up = time.monotonic() - start
    assert_equal(reader.returncode, 0, f"{down:.2f} s down, {up:.2f} s up")
    assert_less(0.7, down, f"{down:.2f} s down, {up:.2f} s up")
    assert_less(down, 15, f"{down:.2f} s down, {up:.2f} s up")
    assert_less(0.7, up, f"{down:.2f} s down, {up:.2f} s up")
    assert_less(up, 15, f"{down:.2f} s down, {up:.2f} s up")


def test_thirty_two_nodes(m):
    start = time.monotonic()
    m.run("create", CLUSTER, 32)
    seconds = time.monotonic() - start
    assert_equal(m.states(), ["running"] * 32)
    assert_equal(
        m.sure(
            31, 'for i in $(seq 0 31); do bash -c "read l </dev/tcp/t7e5-$i/22" || echo $i; done'
        ),
        "",
    )
    assert_less(seconds, 60, f"{seconds:.1f} s")


def test_a_taken_subnet_is_a_conflict_for_a_stopped_cluster(m):
    m.run("create", CLUSTER, 1)
    address = m.addresses()[0]
    m.run("stop", CLUSTER, 1)
    subprocess.run(["ip", "link", "delete", "fg-" + CLUSTER], check=True)
    subprocess.run(["ip", "link", "add", "fg7e57x", "type", "bridge"], check=True)
    try:
        subprocess.run(
            ["ip", "addr", "add", address.rsplit(".", 1)[0] + ".77/24", "dev", "fg7e57x"],
            check=True,
        )
        done = m.run("start", CLUSTER, 1, ok=False)
        assert_equal(done.returncode, 1, done.stderr)
        assert_in("have been taken", done.stderr)
        other = "7e571a01"
        m.run("create", other, 1)
        assert_not_equal(m.addresses(other)[0].rsplit(".", 1)[0], address.rsplit(".", 1)[0])
        m.run("delete", other, 1)
    finally:
        subprocess.run(["ip", "link", "delete", "fg7e57x"], check=True)
    m.run("start", CLUSTER, 1)
    assert_equal(m.addresses()[0], address)


def test_orphans_are_found_by_their_marks_and_removed(m):
    m.run("create", CLUSTER, 2)
    assert_equal(m.run("orphans", "-").stdout.split()[::2][:1], ["folder"])
    shutil.rmtree(m.root / CLUSTER, ignore_errors=True)
    assert_true(m.run("orphans", "-").stdout.startswith("process "))
    m.run("gc", "-")
    m.run("gc", "-")
    assert_equal(m.run("orphans", "-").stdout, "")
    m.check_nothing_left()


def test_a_broken_sshd_names_the_node_and_says_why(m):
    m.run("create", CLUSTER, 1)
    m.sure(0, "echo Nonsense yes >>/etc/fastgpu/sshd_config")
    m.run("stop", CLUSTER, 1)
    done = m.run("start", CLUSTER, 1, ok=False)
    assert_equal(done.returncode, 1, done.stderr)
    assert_in("t7e5-0", done.stderr)
    assert_in("sshd", done.stderr)
    assert_equal(m.states(), ["stopped"])
    done = m.run("create", CLUSTER, 1, ok=False)
    assert_not_in("conflict", done.stderr)


def test_a_creator_killed_anywhere_leaves_whole_nodes_or_none(m):
    counted = m.run("create", CLUSTER, 2, prefix=(m.kill_at, "0"), ok=False)
    calls = int(counted.stderr.rsplit("calls: ", 1)[1])
    m.run("delete", CLUSTER, 2)
    for call in sorted(random.sample(range(1, calls + 1), min(calls, 40))):
        m.run("create", CLUSTER, 2, prefix=(m.kill_at, str(call)), ok=False)
        settle(m)
        for node, state in zip(m.addresses(), m.states(), strict=True):
            if state == "running":
                m.sure(node, "hostname", patience=20)  # Nobody has waited for its sshd.
        if call % 2:
            m.run("create", CLUSTER, 2)
            assert_equal(m.states(), ["running", "running"])
            assert_true(m.sure(1, "getent hosts t7e5-0"))
        m.run("delete", CLUSTER, 2)
        m.check_nothing_left()


def test_a_delete_killed_anywhere_can_be_repeated(m):
    m.run("create", CLUSTER, 2)
    counted = m.run("delete", CLUSTER, 2, prefix=(m.kill_at, "0"), ok=False)
    calls = int(counted.stderr.rsplit("calls: ", 1)[1])
    for call in sorted(random.sample(range(1, calls + 1), min(calls, 25))):
        m.run("create", CLUSTER, 2)
        m.run("delete", CLUSTER, 2, prefix=(m.kill_at, str(call)), ok=False)
        m.run(*(("delete", CLUSTER, 2) if call % 2 else ("gc", "-")))
        m.check_nothing_left()


def settle(m):
    """Half-made nodes die with their creator, but not in the same instant."""

    def quiet():
        running = m.states().count("running")
        inits = init_processes(m.root_id())
        return len(inits) == running and all(map(is_settled, inits))

    wait_for(quiet, "half-made nodes have ended")


def wait_for(condition, what):
    assert_true(within(10, condition), f"not within 10 s: {what}")


@contextlib.contextmanager
def machine_for(driver, init, kill_at):
    """Yields the machine of a test; nothing of its cluster may be left in the end."""
    with tempfile.TemporaryDirectory(
        prefix="fastgpu-local-", dir="/var/tmp", ignore_cleanup_errors=True
    ) as folder:
        machine = Machine(driver, init, kill_at, folder)
        try:
            yield machine
            machine.run("delete", CLUSTER, 32)
            machine.check_nothing_left()
        finally:
            machine.clean_up()


if __name__ == "__main__":
    suite.need_root("/usr/sbin/sshd", "ssh", "ssh-keygen", "ip", "unshare")
    if (
        subprocess.run(
            ["unshare", "-m", "-n", "-p", "-u", "-i", "-f", "true"], check=False
        ).returncode
        != 0
    ):
        suite.skip("no namespaces here")
    programs = [os.path.abspath(path) for path in sys.argv[1:4]]
    suite.main(suite.tests_of(globals()), lambda _: machine_for(*programs), sys.argv[4:])
