"""Jobs, which are clusters of fastgpu, their tasks, which are its nodes, and runs on them."""

from ._command import CommandError, Error, call, flags_of


def make_job(
    name,
    num_tasks=1,
    instance_type=None,
    *,
    image_name=None,
    zone_id=None,
    vpc_name=None,
    spot=False,
    confirm_cost=False,
    install_script=None,
    **flags,
):
    """Creates a job with that many tasks, or returns the one that has this name.

    Other arguments are flags of `fastgpu create cluster`: provider="local", max_life="1h". Machines
    that cost money need confirm_cost=True. The install script runs on each task of a new job.
    """
    try:
        return find_job(name)
    except Error as error:
        if error.kind != "not_found":
            raise
    meant = {
        "nodes": num_tasks,
        "instance_type": instance_type,
        "image": image_name,
        "zone": zone_id,
        "vpc": vpc_name,
        "spot": spot,
        "yes": confirm_cost,
    }
    document, _ = call(["create", "cluster", name, *flags_of({**meant, **flags})])
    job = Job(document)
    if install_script:
        job.run(install_script)
    return job


def find_job(name):
    """Returns the job of this name. Raises Error of the kind "not_found" if there is none."""
    return Job(call(["describe", "cluster", name])[0])


def _outputs(target, command, ignore_errors, max_wait_sec, text=None):
    """Runs a command on tasks. Returns the standard output of each."""
    program = ["sh", "-c", command] if isinstance(command, str) else list(command)
    limit = None if max_wait_sec is None else f"{max_wait_sec}s"
    words = ["exec", target, *flags_of({"timeout": limit})]
    document, _ = call(words, program, text=text)
    hosts = document["hosts"]
    bad = [host for host in hosts if host["error"] or host["exit_code"]]
    if bad and not ignore_errors:
        first = bad[0]
        why = first["error"] or f"returned status {first['exit_code']}"
        said = first["stderr"].strip().splitlines()[-1:]
        message = f"{first['name']}: command {command!r} {why}" + "".join(f": {s}" for s in said)
        raise CommandError(message, exit_code=first["exit_code"])
    return [host["stdout"] for host in hosts]


def _copy(source, destination):
    document, _ = call(["cp", source, destination])
    for host in document["hosts"]:
        if host["error"]:
            raise Error(f"{host['name']}: {host['error']}")


class Task:
    """One machine of a job. `ip` is its address for the other tasks."""

    def __init__(self, job, node):
        self.job, self.name, self.index = job, node["name"], node["index"]
        self.ip = node.get("private_address")
        self.public_ip = node.get("address")

    def __repr__(self):
        return f"<Task {self.name}>"

    @property
    def _target(self):
        return f"{self.job.name}/{self.index}"

    def run(self, command, ignore_errors=False, max_wait_sec=None):
        """Runs a line for the shell, or a list of words. Returns the standard output."""
        return _outputs(self._target, command, ignore_errors, max_wait_sec)[0]

    def upload(self, path, remote="."):
        """Copies a file or directory there, as `cp -r` does; by default into the home directory."""
        _copy(str(path), f"{self._target}:{remote}")

    def download(self, remote, path="."):
        """Copies a file or directory from there, as `cp -r` does."""
        _copy(f"{self._target}:{remote}", str(path))

    def read(self, remote):
        """Returns the text of a file there."""
        return self.run(["cat", remote])

    def write(self, remote, text):
        """Writes a file there."""
        _outputs(self._target, ["sh", "-c", 'cat > "$0"', remote], False, None, text)

    def exists(self, remote):
        """Returns whether there is such a file or directory."""
        found = self.run(["sh", "-c", 'if [ -e "$0" ]; then echo yes; fi', remote])
        return found.strip() == "yes"


class Job:
    """A group of machines, from the document of `fastgpu describe cluster`."""

    def __init__(self, document):
        self.name = document["name"]
        self.tasks = [Task(self, node) for node in document["nodes"]]

    def __repr__(self):
        return f"<Job {self.name}: {len(self.tasks)} tasks>"

    def run(self, command, ignore_errors=False, max_wait_sec=None):
        """Runs a command on all tasks at once. Returns the standard output of each."""
        return _outputs(self.name, command, ignore_errors, max_wait_sec)

    def upload(self, path, remote="."):
        """Copies a file or directory to all tasks; by default into the home directory."""
        _copy(str(path), f"{self.name}:{remote}")

    def launch(self, program, env=None, **flags):
        """Starts a distributed program on the tasks and returns its Run.

        `program` is a list of words. Other arguments are flags of `fastgpu run job`: np=16,
        npernode=8, sync=".", timeout="2h". The values of `env` are in no argument list.
        """
        env = env or {}
        words = ["run", "job", f"--cluster={self.name}", "--detach", *flags_of(flags)]
        words += [f"--env={name}" for name in env]
        return Run(call(words, program, variables=env)[0])

    def stop(self):
        """Stops the machines, which keep their disks."""
        call(["stop", "cluster", self.name, "--yes"])

    def start(self):
        """Starts stopped machines again. Their addresses may be others then."""
        document, _ = call(["start", "cluster", self.name])
        self.tasks = [Task(self, node) for node in document["nodes"]]

    def kill(self):
        """Deletes the machines and all that belongs to them."""
        call(["delete", "cluster", self.name, "--yes"])


class Run:
    """A distributed program that was started."""

    def __init__(self, document):
        self.id = document["id"]

    def __repr__(self):
        return f"<Run {self.id}>"

    def describe(self):
        """Returns the document of `fastgpu describe job`."""
        return call(["describe", "job", self.id])[0]

    @property
    def state(self):
        return self.describe()["state"]

    def wait(self, timeout=None):
        """Waits for the end. Returns the exit code. Raises Error after `timeout`, such as "1h"."""
        document, _ = call(["wait", "job", self.id, *flags_of({"timeout": timeout})])
        return document["exit_code"]

    def logs(self, rank=None, tail=None):
        """Returns the lines of the log, those of all ranks sorted by time."""
        document, _ = call(["logs", self.id, *flags_of({"rank": rank, "tail": tail})])
        return [line["text"] for line in document["lines"]]

    def cancel(self):
        """Ends the program on all tasks."""
        call(["cancel", "job", self.id])
