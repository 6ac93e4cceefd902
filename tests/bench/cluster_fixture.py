"""A local cluster for a benchmark, with an ssh_config for the tools that we are compared with."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

import measure


class BenchCluster:
    def __init__(self, fastgpu, name, folder):
        self.name, self.folder = name, pathlib.Path(folder)
        self.nodes = json.loads(measure.output([fastgpu, "get", "nodes", name, "-o", "json"]))[
            "nodes"
        ]
        identity = json.loads(measure.output([fastgpu, "describe", "cluster", name, "-o", "json"]))[
            "id"
        ]
        self.identity_file = pathlib.Path(
            os.environ["FASTGPU_STATE_DIR"], "clusters", identity, "id_ed25519"
        )
        self.names = [node["name"] for node in self.nodes]
        self.config = str(self.folder / "ssh_config")
        self._write_ssh_files()

    def _write_ssh_files(self):
        known, config = [], []
        for node in self.nodes:
            known += [f"{node['address']} {key}" for key in node["host_keys"]]
            config.append(
                f"Host {node['name']}\n  HostName {node['address']}\n  User {node['user']}\n"
                f"  IdentityFile {self.identity_file}\n"
            )
        (self.folder / "known_hosts").write_text("\n".join(known) + "\n")
        common = (
            f"Host *\n  UserKnownHostsFile {self.folder}/known_hosts\n  StrictHostKeyChecking yes\n"
            "  BatchMode yes\n  IdentitiesOnly yes\n"
        )
        pathlib.Path(self.config).write_text("".join(config) + common)


@contextlib.contextmanager
def cluster(fastgpu, nodes, *more, name="bench", slots=1, in_memory=False, link_rate=""):
    """Makes a cluster, yields it, deletes it whatever happens. In memory, no disk decides about the
    figures. ~/.bashrc, which bash reads for each command over SSH, is empty on its nodes.
    """
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory(
        prefix="fastgpu-bench-", dir="/dev/shm" if in_memory else None
    ) as folder:
        if in_memory:
            os.environ["FASTGPU_LOCAL_DIR"] = f"{folder}/nodes"
        links = ["--link-rate", link_rate] if link_rate else []
        create = [fastgpu, "create", "cluster", name, "--nodes", str(nodes), "--slots", str(slots)]
        try:
            made = subprocess.run([*create, *links, *more], capture_output=True, text=True)
            if made.returncode != 0:
                raise SystemExit(f"bench: no cluster was made: {made.stderr}")
            # A few at a time: 128 shells at once would keep others waiting for their logins.
            make_empty = ["--", "sh", "-c", ": >~/.bashrc"]
            subprocess.run([fastgpu, "exec", "--fanout", "16", name, *make_empty], **quiet)
            yield BenchCluster(fastgpu, name, folder)
        finally:
            subprocess.run([fastgpu, "delete", "cluster", name, "--yes"], **quiet)
            os.environ.pop("FASTGPU_LOCAL_DIR", None)
