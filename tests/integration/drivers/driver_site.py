"""Local nodes that take themselves for machines with GPUs, and the repositories that their packages
come from.

apt, dpkg, signatures, locks, sudo and failures are real. The GPU is not: lspci, modprobe, systemctl
and the driver's packages are scripts that keep what is "loaded" in a folder of the node.
"""

import json
import os
import pathlib
import subprocess

from apt_repository import Key, Repository, Server
from cli_user import within
from suite import assert_equal, assert_in, assert_not_in, assert_true

NVIDIA_SMI = """#!/bin/sh
[ -e /run/fake/loaded ] || exit 9
for i in 0 1 2 3 4 5 6 7; do echo "NVIDIA H100 80GB HBM3, 81559, $(cat /run/fake/loaded)"; done
"""
MODPROBE = """#!/bin/sh
[ "$1" = nvidia ] || exit 1
cp /usr/share/fake-driver /run/fake/loaded
"""
LSPCI = """#!/bin/sh
for i in 0 1 2 3 4 5 6 7; do echo "0000:1$i:00.0 0302: 10de:2330 (rev a1)"; done
for i in 0 1 2 3; do echo "0000:2$i:00.0 0680: 10de:22a3 (rev a1)"; done
"""
# The fabric manager runs only with a driver of its own version. A reboot loads the driver that is
# installed, and cuts all connections.
SYSTEMCTL = """#!/bin/sh
case $1 in
  is-active) test -e "/run/fake/service-$3" ;;
  enable) cmp -s /usr/share/fake-fabric /run/fake/loaded && touch "/run/fake/service-$3" ;;
  reboot)
    cat /proc/sys/kernel/random/uuid >/run/fake/boot_id
    mount --bind /run/fake/boot_id /proc/sys/kernel/random/boot_id
    cp /usr/share/fake-driver /run/fake/loaded
    echo reboot >>/run/fake/reboots
    pkill -f 'sshd: root' ;;
esac
"""


# Of CUDA's toolkit: ends like dpkg with a kill, notes what everybody can read of all processes, or
# takes its time, where a file asks for it.
POSTINST = """if rm /run/fake/break 2>/dev/null; then kill -9 $PPID; fi
if [ -e /run/fake/look ]; then
  cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ >/run/fake/look 2>/dev/null || :
fi
while [ -e /run/fake/wait ]; do touch /run/fake/waits; sleep 0.1; done
"""


def system_folder():
    """ "debian12": how NVIDIA calls this machine's system."""
    fields = dict(
        line.split("=", 1)
        for line in pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        if "=" in line
    )
    return fields["ID"].strip('"') + fields["VERSION_ID"].strip('"').replace(".", "")


def driver_files(version):
    return {
        "/usr/local/bin/nvidia-smi": NVIDIA_SMI,
        "/usr/local/bin/modprobe": MODPROBE,
        "/usr/share/fake-driver": version + "\n",
    }


def fill(repository):
    for version in ("580.65.06", "580.95.05", "590.44.01"):
        repository.add(
            "nvidia-open",
            f"{version}-1",
            driver_files(version),
            depends=f"libnvidia-compute (= {version}-1)",
        )
        repository.add("libnvidia-compute", f"{version}-1")
    for version in ("580.65.06", "580.95.05"):
        repository.add(
            "nvidia-fabricmanager-580", f"{version}-1", {"/usr/share/fake-fabric": version + "\n"}
        )
    repository.add("cuda-toolkit-12-8", "12.8.1-1", postinst=POSTINST)
    repository.add("cudnn9-cuda-12", "9.20.0.48-1")


class Site:
    """Nodes that take themselves for machines with eight GPUs, and
    the repositories that they see.
    """

    def __init__(self, user, gpus=True, nodes=2):
        self.user, self.folder = user, user.folder
        user.run("create", "cluster", "t", "--nodes", str(nodes))
        self.key, self.other_key = Key(self.folder / "key"), Key(self.folder / "other")
        self.key_file = self.folder / "key.asc"
        self.key_file.write_bytes(self.key.armoured)
        self.make_repositories()
        self.server = Server(self.folder / "www", user.address_for("t"))
        self.use_repositories()
        if gpus:
            self.put_program("lspci", LSPCI)
            self.put_program("systemctl", SYSTEMCTL)

    def make_repositories(self):
        self.vendor = Repository(self.folder / "www/nvidia" / system_folder() / "x86_64")
        self.system = Repository(self.folder / "www/system")
        fill(self.vendor)
        (self.vendor.folder / "3bf863cc.pub").write_bytes(self.key.armoured)
        self.system.add(f"linux-headers-{os.uname().release}", "1-1")
        self.system.add("dkms", "3.0-1")
        for repository in (self.vendor, self.system):
            repository.publish(self.key)

    def use_repositories(self):
        self.on_nodes(
            "mkdir -p /run/fake && rm -rf /etc/apt/sources.list /etc/apt/sources.list.d "
            "/var/lib/apt/lists/* && "
            "mkdir -p /etc/apt/sources.list.d && "
            f"echo 'deb [trusted=yes] {self.server.url}/system /' "
            ">/etc/apt/sources.list.d/system.list"
        )

    def put_program(self, name, script):
        path = f"/usr/local/bin/{name}"
        self.on_nodes(f"cat >{path} <<'END'\n{script}END\nchmod 755 {path}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()
        self.key.close()
        self.other_key.close()

    def on_nodes(self, script, nodes="t"):
        return self.user.run("exec", nodes, "-b", "--", "sh", "-c", script).out.decode()

    def words(self, *more):
        return (
            "env",
            "install-driver",
            "--cluster",
            "t",
            "--repository",
            self.server.url + "/nvidia",
            "--repository-key",
            str(self.key_file),
            "--driver",
            "580",
            *more,
        )

    def install(self, *more, code=0, **options):
        return self.user.run(*self.words("-o", "json", *more), code=code, timeout=600, **options)

    def did(self, *more, **options):
        """What each node did, by its name."""
        nodes = json.loads(self.install(*more, **options).out)["nodes"]
        assert_true(all(node["error"] is None for node in nodes), f"{nodes}")
        return {node["name"]: node["did"] for node in nodes}


# Holds locks of apt and dpkg, each until a file with its name appears.
HOLDER = """
import fcntl, os, sys, time
held = {path: open(path, 'w') for path in sys.argv[1:]}
for path in held: fcntl.lockf(held[path], fcntl.LOCK_EX)
print('held', flush=True)
while held:
    for path in list(held):
        if os.path.exists('/run/fake/' + path.replace('/', '-')): held.pop(path).close()
    time.sleep(0.1)
"""


class Held:
    """Locks of the first node that somebody else holds."""

    def __init__(self, site, *paths):
        self.site = site
        self.process = site.user.start(
            "exec", "t/0", "--", "/usr/bin/python3", "-c", HOLDER, *paths
        )
        assert_in(b"held", self.process.stdout.readline(), "not held")

    def release(self, path):
        self.site.on_nodes(f"touch /run/fake/{path.replace('/', '-')}", "t/0")

    def end(self):
        self.process.communicate(timeout=60)


class Worker:
    """A cluster "w" of the first node alone, where we log in as somebody who is not root."""

    def __init__(self, site):
        self.site, self.user = site, site.user
        key = site.folder / "worker"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        public = key.with_suffix(".pub").read_text().strip()
        site.on_nodes(
            "useradd --create-home --shell /bin/bash worker && mkdir -p /home/worker/.ssh && "
            f"echo '{public}' >/home/worker/.ssh/authorized_keys && sed -i "
            "'s,^AuthorizedKeysFile.*,& .ssh/authorized_keys,' /etc/fastgpu/sshd_config && kill "
            "-HUP $(cat /run/sshd.pid) && chown -R worker:worker /home/worker/.ssh && usermod "
            "--password '*' worker",
            "t/0",
        )
        node = json.loads(self.user.run("get", "nodes", "t", "-o", "json").out)["nodes"][0]
        words = site.on_nodes("cat /etc/ssh/ssh_host_ed25519_key.pub", "t/0").split()
        host_key = " ".join(words[words.index("ssh-ed25519") :][:2])
        file = site.folder / "workers.yaml"
        file.write_text(
            f"name: w\nprovider: static\nhosts:\n  - address: '{node['address']}'\n"
            f"    user: worker\n    identity: {key}\n"
            f"    host_keys: ['{host_key}']\n"
        )
        self.user.run("create", "cluster", "-f", str(file))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.user.run("delete", "cluster", "w", "--yes", code=None)

    def words(self, *more):
        return [("w" if word == "t" else word) for word in self.site.words(*more)]

    def may(self, rule, password="*"):
        """What sudo lets `worker` do, in the words of sudoers."""
        self.site.on_nodes(
            f"echo 'worker {rule}' >/etc/sudoers.d/worker && chmod 440 /etc/sudoers.d/worker", "t/0"
        )
        if password != "*":
            encrypted = subprocess.run(
                ["openssl", "passwd", "-6", "-stdin"],
                input=password + "\n",
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            self.site.on_nodes(f"usermod --password '{encrypted.strip()}' worker", "t/0")

    def did(self, *more, **options):
        nodes = json.loads(
            self.user.run(*self.words("-o", "json", *more), timeout=600, **options).out
        )["nodes"]
        assert_equal([node["error"] for node in nodes], [None], f"{nodes}")
        return nodes[0]["did"]

    def start(self, *more, **options):
        """A command that is under way in the middle of dpkg's work, until `let_go_on`."""
        self.site.on_nodes("rm -f /run/fake/waits; touch /run/fake/wait", "t/0")
        process = self.user.start(*self.words(*more), **options)
        assert_true(
            within(120, lambda: "waits" in self.site.on_nodes("ls /run/fake", "t/0")),
            "nothing is installed",
        )
        return process

    def let_go_on(self):
        self.site.on_nodes("rm -f /run/fake/wait", "t/0")

    def installers(self):
        """The processes of apt and dpkg that run there."""
        return [
            line
            for line in self.site.on_nodes(
                "pgrep -f -a '[a]pt-get|[d]pkg|[p]ostinst' || :", "t/0"
            ).splitlines()
            if line[:1].isdigit()
        ]

    def check_nothing_is_changed(self):
        assert_not_in(
            "fastgpu",
            self.site.on_nodes("ls /etc/apt/apt.conf.d /etc/apt/sources.list.d", "t/0"),
            "something was changed",
        )
