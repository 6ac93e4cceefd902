"""Jobs beside bare mpirun with the same nodes and ranks: what a job costs that does nothing, and
one that writes much; how soon a line is shown; and how long many jobs on record take.
"""

import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import time

import cluster_fixture
import measure

TITLE = "Jobs"
REPETITIONS = 9
SIZES = ((2, 1), (8, 1), (32, 4), (128, 1))  # Nodes, and ranks on each.
REPETITIONS_OF_MANY = 3  # On 32 nodes and more.
SLURM_NODES = 8
BYTES_OF_RANK = 16_000_000  # Of each of 64 ranks: 1 GB together.
LINES, BETWEEN_LINES = 60, 0.1
JOBS_ON_RECORD = 10_000
SECONDS_OF_SAMPLING = 10
WRITES = f"yes {'x' * 98} | head -c {BYTES_OF_RANK}"


def run_job(fastgpu, made, ranks, *more):
    return [fastgpu, "run", "job", *more, "--cluster", made.name, "-np", str(ranks)]


def bare_mpirun(made, ranks, per_node, program, *more):
    """mpirun on the first node. Its ssh to the others has the keys that a job has left there, and
    ssh's own choice of algorithms.
    """
    hosts = ",".join(f"{node['private_address']}:{per_node}" for node in made.nodes)
    ours, config = "$(ls -dt ~/.fastgpu/jobs/*/ssh_config | head -1)", "/tmp/bench-ssh-config"
    make = f"grep -v 'Ciphers\\|KexAlgorithms' {ours} >{config};"
    words = ["mpirun", "--allow-run-as-root", "-np", str(ranks), "--host", hosts, *more]
    # It takes words of plm_rsh_args apart where one node starts others.
    words += ["--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_args", f'"-F {config}"']
    return ["ssh", "-F", made.config, made.names[0], " ".join([make, *words, program])]


def row(what, ours, theirs, bar, is_met):
    return [what, ours, theirs, bar, "yes" if is_met else "**no**"]


def of_nothing(fastgpu, made, per_node):
    """The row of a job that does nothing."""
    nodes = len(made.nodes)
    ranks = nodes * per_node
    ours = [*run_job(fastgpu, made, ranks, "--npernode", str(per_node)), "--", "true"]
    bare = bare_mpirun(made, ranks, per_node, "true")
    what = f"`true`, {ranks} ranks on {nodes} nodes"
    count = REPETITIONS if nodes < 32 else REPETITIONS_OF_MANY
    return of_overhead(what, ours, bare, "ssh and mpirun", count)


def of_overhead(what, ours, bare, bare_name, count):
    measure.run(ours)
    runs = measure.repeat({"ours": ours, "bare": bare}, count)
    wall, cpu = (
        {name: measure.median(r, what) for name, r in runs.items()}
        for what in ("wall", "machine_cpu")
    )
    return row(
        what,
        f"{wall['ours'] * 1e3:.0f} ms, {cpu['ours']:.2f} s of CPU",
        f"{wall['bare'] * 1e3:.0f} ms, {cpu['bare']:.2f} s of CPU ({bare_name})",
        "<= 150 ms more, <= 1.2 of the CPU",
        wall["ours"] - wall["bare"] <= 0.15 and cpu["ours"] <= 1.2 * cpu["bare"],
    )


def of_slurm(fastgpu):
    """The rows of jobs that do nothing, in a Slurm on the nodes, beside its own commands."""
    with cluster_fixture.cluster(fastgpu, SLURM_NODES, "--scheduler", "slurm") as made:
        on_all = ["--engine", "slurm", "--set", f"slurm.nodes={SLURM_NODES}"]
        ours = [*run_job(fastgpu, made, SLURM_NODES, *on_all), "--", "true"]
        way = ["ssh", "-F", made.config, made.names[0]]
        size = f"-N {SLURM_NODES} -n {SLURM_NODES}"
        batch = f"sbatch --wait -o /tmp/bench-output {size} --wrap 'srun true'"
        what = f"`true`, {SLURM_NODES} ranks on {SLURM_NODES} nodes, `--engine slurm`"
        return [
            of_overhead(what, ours, [*way, batch], "ssh and sbatch", REPETITIONS),
            of_overhead(what, ours, [*way, f"srun {size} true"], "ssh and srun", REPETITIONS),
        ]


def of_much_output(fastgpu, made):
    """The row of 64 ranks that write 1 GB together."""
    ranks, per_node = 64, 64 // len(made.nodes)
    ours = measure.run([*run_job(fastgpu, made, ranks, "writes"), "--", "sh", "-c", WRITES])
    count = "cat ~/.fastgpu/jobs/writes-1/ranks/*.out | wc -c"
    words = [fastgpu, "exec", made.name, "-o", "json", "--", "sh", "-c", count]
    there = json.loads(measure.output(words))
    written = sum(int(host["stdout"]) for host in there["hosts"])
    if written != ranks * BYTES_OF_RANK:
        raise SystemExit(f"bench: {written} bytes of {ranks * BYTES_OF_RANK} are in the logs")
    program = f'sh -c "{WRITES}"'
    bare = measure.run(
        bare_mpirun(made, ranks, per_node, program, "--output-filename", "/tmp/bench-output")
    )
    rate = {name: written / 1e6 / run.wall for name, run in (("ours", ours), ("bare", bare))}
    return row(
        "64 ranks write 1 GB, all of it in the logs and here",
        f"{rate['ours']:.0f} MB/s",
        f"{rate['bare']:.0f} MB/s (mpirun --output-filename)",
        ">= 0.5 of it",
        rate["ours"] >= 0.5 * rate["bare"],
    )


def of_one_line(fastgpu, made):
    """The row of `logs -f`: from the moment at which a rank writes a line until it is here."""
    program = f"for i in $(seq {LINES}); do date +%s.%N; sleep {BETWEEN_LINES}; done"
    words = [*run_job(fastgpu, made, 1, "clock", "--detach"), "--", "sh", "-c", program]
    measure.run(words)
    late = []
    with subprocess.Popen(
        [fastgpu, "logs", "-f", "clock-1"], stdout=subprocess.PIPE, text=True, bufsize=1
    ) as following:
        for line in following.stdout:
            late.append(time.time() - float(line.split()[-1]))
    late = late[len(late) // 3 :]  # Those before are what was there at the start.
    took = statistics.median(late)
    return row("`logs -f` shows a line", f"{took * 1e3:.1f} ms", "", "<= 50 ms", took <= 0.05)


def agents_of(job):
    """The processes of agents that run a rank of the job."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"fastgpu-agent" in words[0] and b"rank" in words and job.encode() in b" ".join(words):
            found.append(process)
    return found


def cpu_seconds(processes):
    fields = [(p / "stat").read_text().rpartition(")")[2].split() for p in processes]
    return sum(int(each[11]) + int(each[12]) for each in fields) / measure.TICK


def of_sampling(fastgpu, made):
    """The row of what an agent costs beside a rank that does nothing."""
    words = [*run_job(fastgpu, made, 1, "sleeps", "--detach"), "--", "sleep", "600"]
    measure.run(words)
    time.sleep(3)
    processes = agents_of("sleeps-1")
    if not processes:
        raise SystemExit("bench: no agent runs the rank of sleeps-1")
    before = cpu_seconds(processes)
    time.sleep(SECONDS_OF_SAMPLING)
    part = (cpu_seconds(processes) - before) / SECONDS_OF_SAMPLING
    measure.run([fastgpu, "cancel", "job", "sleeps-1"])
    return row(
        "agent of a rank, with its samples", f"{part:.2%} of a core", "", "<= 0.5 %", part <= 0.005
    )


def of_many_jobs(fastgpu):
    """The rows of `get jobs` with copies of an ended job on record."""
    (database,) = pathlib.Path(os.environ["FASTGPU_STATE_DIR"]).glob("*.db")
    with sqlite3.connect(database) as store:
        store.execute(
            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number "
            "WHERE n < ?) INSERT INTO jobs(id, cluster, spec, state, exit_code, reason, created, "
            "ended) SELECT 'many-' || n, cluster, spec, state, exit_code, reason, created, ended "
            "FROM number, (SELECT * FROM jobs WHERE state = 'succeeded' LIMIT 1)",
            (JOBS_ON_RECORD,),
        )
    store.close()
    shown = measure.output([fastgpu, "get", "jobs"]).count("many-")
    if shown != JOBS_ON_RECORD:
        raise SystemExit(f"bench: {shown} of {JOBS_ON_RECORD} jobs are shown")
    commands = {
        " ".join(["get jobs", *more]): [fastgpu, "get", "jobs", *more]
        for more in ((), ("-o", "wide"))
    }
    runs = measure.repeat(commands, REPETITIONS)
    with sqlite3.connect(database) as store:
        store.execute("DELETE FROM jobs WHERE id LIKE 'many-%'")
    store.close()
    rows = []
    for name in commands:
        took = measure.median(runs[name], "wall")
        what = f"`{name}` with {JOBS_ON_RECORD:,} on record"
        rows.append(row(what, f"{took * 1e3:.0f} ms", "", "<= 50 ms", took <= 0.05))
    return rows


def bench(fastgpu):
    rows = []
    for nodes, per_node in SIZES:
        slots = max(per_node, 64 // nodes)
        with cluster_fixture.cluster(fastgpu, nodes, slots=slots) as made:
            rows.append(of_nothing(fastgpu, made, per_node))
            if nodes == 2:  # Before others keep the disk busy.
                rows += of_many_jobs(fastgpu)
            if nodes == 8:
                rows.append(of_much_output(fastgpu, made))
                rows.append(of_one_line(fastgpu, made))
                rows.append(of_sampling(fastgpu, made))
    rows += of_slurm(fastgpu)
    return (
        ["job", "fastgpu", "beside", "target", "met"],
        rows,
        (
            f"Local nodes, which share the cores with all else. `true`: medians of {REPETITIONS} "
            f"runs taken in turns ({REPETITIONS_OF_MANY} on 32 nodes and more); the CPU is that of "
            "the whole machine. ~/.bashrc, which bash reads for each command that comes over SSH, "
            "is empty on the nodes: fastgpu sends each node three commands, and mpirun one."
        ),
    )
