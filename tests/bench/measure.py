"""How the benchmarks measure: wall seconds, CPU seconds of one
command, CPU seconds of the machine.
"""

import os
import platform
import statistics
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")


def machine():
    """What the figures were measured on, as a dictionary."""
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        model = next(
            (line.split(":")[1].strip() for line in cpuinfo if line.startswith("model name")),
            platform.machine(),
        )
    with open("/etc/os-release", encoding="utf-8") as release:
        system = next(
            line.split("=")[1].strip().strip('"')
            for line in release
            if line.startswith("PRETTY_NAME")
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": system,
        "kernel": platform.release(),
    }


def busy_seconds():
    """CPU seconds that the whole machine has spent on anything but idling."""
    with open("/proc/stat", encoding="utf-8") as stat:
        fields = [int(x) for x in stat.readline().split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / TICK


class Run:
    """One measured command."""

    def __init__(self, wall, own_cpu, machine_cpu):
        self.wall, self.own_cpu, self.machine_cpu = wall, own_cpu, machine_cpu


def run(argv, env=None, expect=0):
    """Runs argv with its output thrown away. `own_cpu` is that of the command and of the children
    it waited for; `machine_cpu` that of the machine meanwhile, which for local nodes includes their
    sshd.
    """
    before, start = busy_seconds(), time.perf_counter()
    process = subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    text = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != expect:
        raise SystemExit(
            f"{' '.join(argv)}: exit status {process.returncode}\n{text.decode(errors='replace')}"
        )
    return Run(wall, usage.ru_utime + usage.ru_stime, busy_seconds() - before)


def repeat(commands, times, prepare=None):
    """Measures the named commands in turns, so that a slow minute of the machine meets all of them.
    Returns {name: [Run, ...]}."""
    runs = {name: [] for name in commands}
    for _ in range(times):
        for name, argv in commands.items():
            if prepare:
                prepare(name)
            runs[name].append(run(argv))
    return runs


def median(runs, what):
    return statistics.median(getattr(r, what) for r in runs)


def output(argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
