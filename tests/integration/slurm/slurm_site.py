"""A host that submits to a real Slurm of two nodes, and a cluster of fastgpu that is this host."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "static"))
import static_lab
from suite import assert_in, assert_less

ADDRESS = f"{static_lab.NETWORK}.21"
CONFIGURATION = """
ClusterName=lab
SlurmctldHost=login({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
StateSaveLocation={folder}/ctld
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=15
MessageTimeout=5
InactiveLimit=0
NodeName=node1 NodeHostname=login NodeAddr={address} Port=17001 CPUs=2 RealMemory=500 Gres=gpu:2
NodeName=node2 NodeHostname=login NodeAddr={address} Port=17002 CPUs=2 RealMemory=500 Gres=gpu:2
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
"""


class Site:
    """Both nodes of Slurm have the home directory of the host, as those of a site share one."""

    def __init__(self, lab):
        self.lab = lab
        self.folder = lab.folder / "slurm"
        self.folder.mkdir(mode=0o700)
        (lab.folder / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} login node1 node2\n")
        self.configuration = self.folder / "slurm.conf"
        self.host = lab.host(
            "login", ADDRESS, network=True, config=f"SetEnv SLURM_CONF={self.configuration}\n"
        )
        self.configuration.write_text(CONFIGURATION.format(folder=self.folder, address=ADDRESS))
        for number in (0, 1):
            self.inside("mknod", f"{self.folder}/gpu{number}", "c", "1", "3")
        (self.folder / "gres.conf").write_text(
            f"NodeName=node[1-2] Name=gpu File={self.folder}/gpu[0-1]\n"
        )
        for name in ("ctld", "spool-node1", "spool-node2"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o400)
        self.inside(
            *["munged", "--force", f"--key-file={self.folder}/munge.key"],
            *[f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid"],
            *[f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed"],
        )
        # slurmd looks there for control groups, which it does not use with this configuration.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self.inside("mount", "-t", "tmpfs", "cgroup", "/sys/fs/cgroup")
        self.start_controller()
        for node in ("node1", "node2"):
            self.inside("slurmd", "-N", node)
        self.await_nodes()
        lab.create(self.host.entry(slots=4))

    @contextlib.contextmanager
    def for_a_test(self):
        """Yields the site, and then ends the jobs that a test has left there."""
        try:
            yield self
        finally:
            self.inside("scancel", "--user", "root", check=False)
            self.await_nodes()

    def command(self, *words):
        return [
            *["nsenter", "-t", str(self.host.first_process())],
            *["--mount", "--uts", "--net", "--pid", "env", f"SLURM_CONF={self.configuration}"],
            *words,
        ]

    def inside(self, *words, check=True):
        done = subprocess.run(
            self.command(*words), capture_output=True, text=True, timeout=60, check=False
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start_controller(self):
        self.inside("slurmctld")

    def stop_controller(self):
        self.inside("kill", (self.folder / "ctld.pid").read_text().strip())
        for _ in range(200):
            if "UP" not in self.inside("scontrol", "ping", check=False):
                return
            time.sleep(0.05)
        raise AssertionError("the controller does not end")

    def await_nodes(self):
        for _ in range(300):
            if self.inside("sinfo", "-h", "-o", "%T %D", check=False).strip() == "idle 2":
                return
            time.sleep(0.1)
        raise AssertionError(f"Slurm has no two idle nodes: {self.inside('sinfo', '-N', '-l')}")

    def run(self, *words, **more):
        return self.lab.run(*words, **more)

    def job(self, *more, program=(), **options):
        return self.run(
            *["run", "job", "-c", "lab", "--engine", "slurm", *more, "--", *program], **options
        )

    def start(self, *more, program):
        """Starts a job in the background, and returns once its program has said that it is up."""
        process = subprocess.Popen(
            [
                *[self.lab.fastgpu, "run", "job", "-c", "lab", "--engine", "slurm"],
                *[*more, "--", *program],
            ],
            env=self.lab.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert_in("up", process.stdout.readline())
        return process

    def seen(self, job):
        return json.loads(self.run("describe", "job", job, "-o", "json").stdout)

    def await_seen(self, job, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition(seen := self.seen(job)):
            assert_less(time.monotonic(), end, f"{job} is {seen['state']}: {seen['reason']}")
            time.sleep(0.2)

    def await_state(self, job, state):
        self.await_seen(job, lambda seen: seen["state"] == state)

    def files_of(self, job):
        return self.host.home / ".fastgpu" / "jobs" / job


@contextlib.contextmanager
def site_of(fastgpu):
    with static_lab.lab_for(fastgpu) as lab:
        site = None
        try:
            site = Site(lab)
            yield site
        except Exception:
            for log in (lab.folder / "slurm").glob("*.log"):
                print(f"--- {log.name}\n{log.read_text()[-3000:]}", file=sys.stderr)
            raise
