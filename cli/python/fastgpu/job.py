"""Jobs, which are clusters of fastgpu, their tasks, which are its nodes, and runs on them."""

from ._command import CommandError, Error, call, flags_of, program_words, variables_of


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
    if "nodes" not in document:
        raise Error(f"create cluster made nothing: it printed {document['schema']}", "usage")
    job = Job(document)
    if install_script:
        job.run(install_script)
    return job


def find_job(name):
    """Returns the job of this name. Raises Error of the kind "not_found" if there is none."""
    return Job(call(["describe", "cluster", name])[0])


def _outputs(target, command, ignore_errors, max_wait_sec, text=None):
    """Runs a command on tasks. Returns the standard output of each."""
    limit = None if max_wait_sec is None else f"{max_wait_sec}s"
    words = ["exec", target, *flags_of({"timeout": limit})]
    document, code = call(words, program_words(command), text=text)
    hosts = document["hosts"]
    bad = [host for host in hosts if host["error"] or host["exit_code"]]
    if bad and not ignore_errors:
        first = bad[0]
        if first["error"]:
            raise _host_error(first, f"command {command!r}", code)
        why = f"returned status {first['exit_code']}"
        said = first["stderr"].strip().splitlines()[-1:]
        message = f"{first['name']}: command {command!r} {why}" + "".join(f": {s}" for s in said)
        raise CommandError(message, exit_code=first["exit_code"])
    return [host["stdout"] for host in hosts]


def _host_error(host, what, exit_code):
    """Returns the Error of a host that has failed by itself, and not by a program's status."""
    error = host["error"]
    message = f"{host['name']}: {what}: {error['message']}"
    return Error(message, error["kind"], exit_code)


def _copy(source, destination):
    document, code = call(["cp", source, destination])
    for host in document["hosts"]:
        if host["error"]:
            raise _host_error(host, f"copying {source} to {destination}", code)


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

        `program` is a line for the shell, or a list of words. Other arguments are flags of
        `fastgpu run job`: np=16, npernode=8, sync=".", timeout="2h". With array="1-20" or
        parameters="runs.csv" the result is an ArrayRun. The values of `env`, texts, numbers and
        paths, are in no argument list.
        """
        variables = variables_of(env or {})
        words = ["run", "job", f"--cluster={self.name}", "--detach", *flags_of(flags)]
        return _run_of(call(words, program_words(program), variables=variables)[0])

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


class ArrayRun(Run):
    """An array that was started: one Run for each index, in `runs`."""

    def __init__(self, document):
        jobs = document["jobs"]
        super().__init__({"id": jobs[0]["id"].rpartition(".")[0]})
        self.runs = [Run(job) for job in jobs]

    def describe(self):
        """Returns the document of `fastgpu get jobs`, with the jobs of the array."""
        return call(["get", "jobs", self.id])[0]

    @property
    def state(self):
        """The state of the array: "running" until all have ended, then that of the first one that
        has not succeeded.
        """
        states = [job["state"] for job in self.describe()["jobs"]]
        for open_state in ("running", "starting", "queued"):
            if open_state in states:
                begun = set(states) != {open_state}
                return "running" if begun else open_state
        return next((state for state in states if state != "succeeded"), "succeeded")

    def wait(self, timeout=None):
        """Waits for the end of all. Returns the exit code of the first one that has failed, or 0.

        Raises Error after `timeout`, such as "1h".
        """
        document, _ = call(["wait", "job", self.id, *flags_of({"timeout": timeout})])
        codes = [job["exit_code"] for job in document.get("jobs", [document])]
        return next((1 if code is None else code for code in codes if code != 0), 0)

    def logs(self, rank=None, tail=None):
        """Returns the lines of the logs, those of one job after the other."""
        return [line for run in self.runs for line in run.logs(rank, tail)]


def _run_of(document):
    """Returns the Run, or the ArrayRun, that a document of `fastgpu run job` is about."""
    kind = document["schema"].rpartition("/")[0]
    if kind == "fastgpu.jobs":
        return ArrayRun(document)
    if kind != "fastgpu.job":
        raise Error(f"run job started nothing: it printed {document['schema']}", "usage")
    return Run(document)
