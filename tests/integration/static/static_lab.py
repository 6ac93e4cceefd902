"""What tests of static clusters share: a Lab, which is a user with hosts, and how their files run.

Each host is an sshd in namespaces of its own, with its own host name and /root; some have a network
of their own, too. Needs root, sshd, mpirun, ip and unshare. It cleans up after itself.
"""

import contextlib
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
from suite import assert_equal, assert_false, assert_in, assert_true

NETWORK = "10.203.117"
NETWORK_6 = "fd13:14"
BRIDGE = f"fgst{os.getpid() % 100000}"

START = """
set -e
mount --bind {home} /root
[ ! -e {folder}/../hosts ] || mount --bind {folder}/../hosts /etc/hosts
[ ! -e {folder}/passwd ] || mount --bind {folder}/passwd /etc/passwd
hostname {name}
if [ -n "{address}" ]; then
  until ip -o address show dev eth0 2>/dev/null | grep -qF "{address}"; do sleep 0.02; done
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
        self.first_keys = (line_of(lab.user_key) + "\n").encode()
        self.authorize(self.first_keys)
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
        prefix = ["/64", "nodad"] if ":" in self.address else ["/24"]
        for words in (
            ["link", "set", "eth0", "up"],
            ["address", "add", self.address + prefix[0], "dev", "eth0", *prefix[1:]],
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

    def install_anew(self):
        """Makes it a new machine at the same address, which only the user can log in to."""
        self.stop()
        self.key.unlink()
        make_key(self.key)
        shutil.rmtree(self.home / ".fastgpu", ignore_errors=True)
        self.authorize(self.first_keys)
        self.start()

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


def has_ipv6():
    addresses = pathlib.Path("/proc/net/if_inet6")
    return addresses.exists() and "lo" in addresses.read_text()


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
            if has_ipv6():
                ip("address", "add", f"{NETWORK_6}::1/64", "dev", BRIDGE, "nodad")
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


def within_host(host, *words, **more):
    """Runs a command in all namespaces of a host."""
    inside = ["nsenter", "-t", str(host.first_process()), "--mount", "--pid", "--net"]
    return subprocess.run([*inside, *words], capture_output=True, text=True, check=False, **more)


def programs_on(host):
    """Returns the command lines of all processes of a host."""
    return within_host(host, "ps", "-eo", "args").stdout


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
