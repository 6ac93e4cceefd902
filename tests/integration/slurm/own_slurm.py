"""What tests of Slurm that fastgpu sets up share: clusters with it, jobs and commands there, and
how their files run.
"""

import os
import pathlib

import cli_user
import suite

PLACE = pathlib.Path("/var/lib/fastgpu-slurm")


def create(user, *more, nodes=2, **options):
    words = ["--nodes", str(nodes), "--slots", "2", "--scheduler", "slurm", *more]
    return user.run("create", "cluster", user.cluster, *words, **options)


def run_job(user, name, program, *more, code=0):
    words = ["run", "job", name, "-c", user.cluster, "--engine", "slurm", *more, "--"]
    return user.run(*words, *program, code=code)


def on_node(user, index, command):
    """Returns the output of the command there, without the name of the node."""
    text = user.run("exec", f"{user.cluster}/{index}", "--", "sh", "-c", command).out.decode()
    return "".join(line.split(": ", 1)[1] for line in text.splitlines(keepends=True))


def slurm_nodes(user):
    """Returns the nodes and their states, as the controller knows them."""
    text = on_node(user, 0, "sinfo -h -N -o '%N %T'")
    return dict(line.split() for line in text.splitlines())


def run_tests(names):
    """Runs the tests of a file, given its globals(): TEST.py
    FASTGPU [TEST ...]. Each gets a User.
    """
    suite.need_root("unshare", "nsenter", "ip", "ssh-keygen", "/usr/sbin/sshd")
    suite.need_programs("slurmctld", "slurmd", "sbatch", "munged")
    os.makedirs("/run/sshd", exist_ok=True)
    cli_user.run_tests(names)
