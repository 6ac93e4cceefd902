"""Jobs, which are clusters of fastgpu, their tasks, which are its nodes, and runs on them."""

import os

from ._command import CommandError, Error, call, call_any_end, program_words, variables_of

# It is on each task while the install script has not succeeded on all of them.
_MARK = ".fastgpu/unfinished-install-script"


def make_job(
    name,
    num_tasks=None,
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
    """Creates a job with that many tasks (1), or returns the one that has this name.

    Other arguments are flags of `fastgpu create cluster`: provider="local", max_life="1h". Machines
    that cost money need confirm_cost=True. The install script runs on each task of a new job.

    Raises Error of the kind "conflict" if the job of this name has another size, provider, type,
    region or zone, or if its install script has not succeeded.
    """
    asked = {"instance_type": instance_type, "zone": zone_id, "spot": spot, **flags}
    document = _existing(name)
    # An interrupted creation is finished by the same command.
    if document is not None and document["state"] != "creating":
        _check_same(document, num_tasks, asked)
        if install_script:
            _check_installed(document)
        return Job(document)
    meant = {
        "nodes": 1 if num_tasks is None else num_tasks,
        **asked,
        "image": image_name,
        "vpc": vpc_name,
        "yes": confirm_cost,
    }
    document = call("create cluster", name, flags=meant)
    if "nodes" not in document:
        raise Error(f"create cluster made nothing: it printed {document['schema']}", "usage")
    job = Job(document)
    if install_script:
        _install(job, install_script)
    return job


def _existing(name):
    """Returns the document of the cluster of this name, or None."""
    try:
        return call("describe cluster", name)
    except Error as error:
        if error.kind != "not_found":
            raise
    return None


def _check_same(document, num_tasks, asked):
    """Raises Error if the cluster of a document is not as it is asked for, where it is."""
    machine = document.get("machine") or {}
    size = len(document["nodes"])
    is_enough = num_tasks is not None and int(asked.get("min_nodes") or num_tasks) <= size
    pairs = [
        ("tasks", size if is_enough and size <= num_tasks else num_tasks, size),
        ("provider", asked.get("provider"), document["provider"]),
        ("provider", asked.get("cloud"), document["provider"]),
        ("slots", asked.get("slots"), document["slots"]),
        ("instance type", asked.get("instance_type"), machine.get("type")),
        ("region", asked.get("region"), machine.get("region")),
        ("zone", asked.get("zone"), machine.get("zone")),
        ("market", "spot" if asked.get("spot") else None, machine.get("market")),
    ]
    for what, wanted, there in pairs:
        allowed = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        if wanted is None or {"any", "all", str(there)} & {str(one) for one in allowed}:
            continue
        name, found = document["name"], "none" if there is None else there
        raise Error(
            f"job {name} exists already with {what} {found}, not {wanted}: "
            f"find_job({name!r}) returns it, and its kill() deletes it",
            "conflict",
            6,
        )


def _install(job, script):
    """Runs the install script. The mark of one that is not finished stays if it fails."""
    mark = 'mark="$HOME/$0"; mkdir -p "${mark%/*}" && : >"$mark"'
    _outputs(job.name, ["sh", "-c", mark, _MARK], False, None)
    job.run(script)
    _outputs(job.name, ["sh", "-c", 'rm -f "$HOME/$0"', _MARK], False, None)


def _check_installed(document):
    """Raises Error if the install script of a job has not succeeded. Asks the tasks that run."""
    running = [task for task in document["nodes"] if task["state"] == "running"]
    if not running:
        return
    name = document["name"]
    target = f"{name}/{','.join(str(task['index']) for task in running)}"
    look = 'if [ -e "$HOME/$0" ]; then echo unfinished; fi'
    if any(_outputs(target, ["sh", "-c", look, _MARK], False, None)):
        raise Error(
            f"the install script of job {name} has not succeeded on all of its tasks: "
            f"find_job({name!r}).kill() deletes it, and make_job() makes it again",
            "conflict",
            6,
        )


def find_job(name):
    """Returns the job of this name. Raises Error of the kind "not_found" if there is none."""
    return Job(call("describe cluster", name))


def _outputs(target, command, ignore_errors, max_wait_sec, text=None):
    """Runs a command on tasks. Returns the standard output of each."""
    limit = None if max_wait_sec is None else f"{max_wait_sec}s"
    document, code = call_any_end(
        "exec", target, flags={"timeout": limit}, program=program_words(command), text=text
    )
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


def _local(path):
    """Returns a path of this machine as `cp` takes it for one, such as "-x" or "a:b"."""
    text = str(os.fspath(path))
    return os.path.join(".", text) if text.startswith("-") or ":" in text else text


def _copy(source, destination):
    document, code = call_any_end("cp", source, destination)
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
        _copy(_local(path), f"{self._target}:{remote}")

    def download(self, remote, path="."):
        """Copies a file or directory from there, as `cp -r` does."""
        _copy(f"{self._target}:{remote}", _local(path))

    def read(self, remote):
        """Returns the text of a file there."""
        return self.run(["cat", "--", remote])

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
        _copy(_local(path), f"{self.name}:{remote}")

    def launch(self, program, env=None, **flags):
        """Starts a distributed program on the tasks and returns its Run.

        `program` is a line for the shell, or a list of words. Other arguments are flags of
        `fastgpu run job`: np=16, npernode=8, sync=".", timeout="2h". With array="1-20" or
        parameters="runs.csv" the result is an ArrayRun. The values of `env`, texts, numbers and
        paths, are in no argument list.
        """
        variables = variables_of(env or {})
        command = f"run job --detach --cluster={self.name}"
        words = program_words(program)
        return _run_of(call(command, flags=flags, program=words, variables=variables))

    def stop(self):
        """Stops the machines, which keep their disks."""
        call("stop cluster", self.name, flags={"yes": True})

    def start(self):
        """Starts stopped machines again. Their addresses may be others then."""
        document = call("start cluster", self.name)
        self.tasks = [Task(self, node) for node in document["nodes"]]

    def kill(self):
        """Deletes the machines and all that belongs to them."""
        call("delete cluster", self.name, flags={"yes": True})


class Run:
    """A distributed program that was started."""

    def __init__(self, document):
        self.id = document["id"]

    def __repr__(self):
        return f"<Run {self.id}>"

    def describe(self):
        """Returns the document of `fastgpu describe job`."""
        return call("describe job", self.id)

    @property
    def state(self):
        return self.describe()["state"]

    def wait(self, timeout=None):
        """Waits for the end. Returns the exit code.

        Raises Error after `timeout`: seconds, or a text such as "1h".
        """
        document, _ = call_any_end("wait job", self.id, flags={"timeout": timeout})
        return document["exit_code"]

    def logs(self, rank=None, tail=None):
        """Returns the lines of the log, those of all ranks sorted by time.

        Raises Error if a part of them cannot be read.
        """
        document = call("logs", self.id, flags={"rank": rank, "tail": tail})
        return [line["text"] for line in document["lines"]]

    def cancel(self):
        """Ends the program on all tasks."""
        call("cancel job", self.id)


class ArrayRun(Run):
    """An array that was started: one Run for each index, in `runs`."""

    def __init__(self, document):
        jobs = document["jobs"]
        super().__init__({"id": jobs[0]["id"].rpartition(".")[0]})
        self.runs = [Run(job) for job in jobs]

    def describe(self):
        """Returns the document of `fastgpu get jobs`, with the jobs of the array."""
        return call("get jobs", self.id)

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

        Raises Error after `timeout`: seconds, or a text such as "1h".
        """
        document, _ = call_any_end("wait job", self.id, flags={"timeout": timeout})
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
