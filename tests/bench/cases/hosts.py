"""exec on 1,000 hosts, beside pdsh, clush and Ansible: addresses of one loopback sshd, in a network
of their own.
"""

import json
import os
import pathlib
import resource  # noqa: F401  What os.wait4 needs, before /root is another one.
import subprocess
import sys
import tempfile
import time

TITLE = "exec on 1,000 hosts"
HOSTS, REPETITIONS, PORT = 1000, 3, 22
MOST_MEMORY, LESS_CPU, LESS_WALL = 64 << 20, 20, 3
Path = pathlib.Path


def addresses(count):
    return [f"127.{1 + n // 250}.0.{1 + n % 250}" for n in range(count)]


def key(path):
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True
    )
    return Path(f"{path}.pub").read_text().strip()


def start_sshd(folder, home):
    """With a home of its own, so that nobody's keys are touched."""
    key(folder / "host_key")
    (home / ".ssh").mkdir(mode=0o700)
    (home / ".ssh/authorized_keys").write_text(key(folder / "user_key") + "\n")
    (home / ".ssh/authorized_keys").chmod(0o600)
    (folder / "sshd_config").write_text(
        f"Port {PORT}\nListenAddress 0.0.0.0\nHostKey {folder}/host_key\nPidFile none\nUsePAM "
        "no\nUseDNS no\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nMaxStartups 2000\nLoginGraceTime 600\nStrictModes no\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-f", folder / "sshd_config", "-E", folder / "sshd.log"]
    )
    time.sleep(1)
    return server


def measured(argv, environment):
    """(wall, own CPU, peak bytes)"""
    began = time.perf_counter()
    process = subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(
            f"{argv[0]}: exit status {process.returncode}\n{said.decode(errors='replace')[-2000:]}"
        )
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def inside(fastgpu, count):
    """In namespaces of its own: every loopback address answers,
    and /root is a directory of ours.
    """
    with tempfile.TemporaryDirectory(prefix="fastgpu-bench-") as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["mount", "--bind", home, "/root"], check=True)
        server = start_sshd(folder, home)
        hosts = addresses(count)
        cluster = {
            "name": "many",
            "provider": "static",
            "user": "root",
            "hosts": [
                {"address": address, "identity": str(folder / "user_key")} for address in hosts
            ],
        }
        (folder / "cluster.yaml").write_text(json.dumps(cluster))
        (folder / "ssh_config").write_text(
            f"Host *\n  User root\n  Port {PORT}\n  IdentityFile {folder}/user_key\n  "
            "IdentitiesOnly yes\n  BatchMode yes\n"
            "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
        )
        environment = {
            **os.environ,
            "HOME": "/root",
            "FASTGPU_STATE_DIR": str(folder / "state"),
            "PDSH_SSH_ARGS_APPEND": f"-F {folder}/ssh_config",
        }
        try:
            made = measured(
                [
                    fastgpu,
                    "create",
                    "cluster",
                    "-f",
                    str(folder / "cluster.yaml"),
                    "--accept-host-keys",
                    "--yes",
                ],
                environment,
            )
            words = ",".join(hosts)
            clush = ["clush", "-S", "-o", f"-F {folder}/ssh_config", "-w", words]
            pdsh = ["pdsh", "-S", "-R", "ssh", "-w", words]
            (folder / "inventory").write_text("\n".join(hosts) + "\n")
            ansible = [
                "ansible",
                "all",
                "-i",
                folder / "inventory",
                "-f",
                "50",
                "-m",
                "raw",
                "--ssh-common-args",
                f"-F {folder}/ssh_config",
                "-a",
            ]
            commands = {
                "fastgpu exec": [fastgpu, "exec", "many", "--"],
                "clush": clush,
                "clush, fan-out 256": [*clush, "-f", "256"],
                "pdsh": pdsh,
                "pdsh, fan-out 256": [*pdsh, "-f", "256"],
                "ansible raw, 50 forks": ansible,
            }
            runs = {}
            for what in ("true", "sleep 1"):
                for tool, argv in commands.items():
                    if what == "true" or tool in ("fastgpu exec", "clush", "pdsh"):
                        times = REPETITIONS if tool.startswith("fastgpu") else 1
                        words = [what] if tool.startswith("ansible") else what.split()
                        runs[f"{what}|{tool}"] = [
                            measured([*argv, *words], environment) for _ in range(times)
                        ]
            return {"made": made, "runs": runs}
        finally:
            server.terminate()


def bench(fastgpu, count=HOSTS):
    done = subprocess.run(
        [
            "unshare",
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            sys.executable,
            __file__,
            fastgpu,
            str(count),
        ],
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    middle = {
        name: [sorted(run[i] for run in runs)[len(runs) // 2] for i in range(3)]
        for name, runs in found["runs"].items()
    }
    rows = []
    for name, (wall, own, memory) in middle.items():
        what, tool = name.split("|")
        base = middle[f"{what}|fastgpu exec"]
        rows.append(
            [
                f"`{what}`",
                tool,
                f"{wall:.1f}",
                f"{wall / base[0]:.1f}",
                f"{own:.2f}",
                f"{own / base[1]:.0f}",
                f"{memory / 2**20:.0f}",
            ]
        )
    ours = middle["true|fastgpu exec"]
    peers = {name: one for name, one in middle.items() if "fastgpu" not in name}
    verdicts = {
        f"client's CPU at least {LESS_CPU} times less": all(
            one[1] >= LESS_CPU * ours[1] for name, one in peers.items() if name.startswith("true")
        ),
        "wall no longer than the best": all(
            one[0] >= ours[0] for name, one in peers.items() if name.startswith("true")
        ),
        f"with `sleep 1` at least {LESS_WALL} times less": all(
            one[0] >= LESS_WALL * middle["sleep 1|fastgpu exec"][0]
            for name, one in peers.items()
            if name.startswith("sleep")
        ),
        "peak memory under 64 MiB": max(one[2] for name, one in middle.items() if "fastgpu" in name)
        < MOST_MEMORY,
    }
    said = "; ".join(f"{what}: {'yes' if good else '**no**'}" for what, good in verdicts.items())
    return (
        ["command", "by", "wall s", "times ours", "client CPU s", "times ours", "peak MiB"],
        rows,
        (
            f"{count} addresses of one sshd on loopback. The sshd uses the same two cores, which "
            "sets a lower limit to every wall time. "
            f"fastgpu: medians of {REPETITIONS} runs; the others: one run. Where the table names "
            "no fan-out, each tool uses its default "
            "(pdsh 32, clush 64). Creating the cluster of these hosts took "
            f"{found['made'][0]:.1f} s. The targets: {said}."
        ),
    )


if __name__ == "__main__":
    print(json.dumps(inside(sys.argv[1], int(sys.argv[2]))))
