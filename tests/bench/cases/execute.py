"""One command on every node, beside clush and pdsh."""

import os

import cluster_fixture
import measure

TITLE = "exec on 8 nodes"
REPETITIONS, NODES = 100, 8


def bench(fastgpu):
    with cluster_fixture.cluster(fastgpu, NODES) as made:
        hosts = ",".join(made.names)
        os.environ["PDSH_SSH_ARGS_APPEND"] = f"-F {made.config}"
        runs = measure.repeat(
            {
                "fastgpu exec": [fastgpu, "exec", made.name, "--", "true"],
                "clush": ["clush", "-S", "-o", f"-F {made.config}", "-w", hosts, "true"],
                "pdsh": ["pdsh", "-S", "-R", "ssh", "-w", hosts, "true"],
            },
            REPETITIONS,
        )
    ours = runs["fastgpu exec"]
    rows = []
    for name, r in runs.items():
        own, whole = measure.median(r, "own_cpu"), measure.median(r, "machine_cpu")
        rows.append(
            [
                name,
                f"{measure.median(r, 'wall') * 1e3:.0f}",
                f"{own * 1e3:.1f}",
                f"{own / measure.median(ours, 'own_cpu'):.1f}",
                f"{(whole - own) * 1e3:.0f}",
            ]
        )
    return (
        [
            "command",
            "wall ms",
            "client CPU ms",
            "client CPU, times ours",
            "rest of the machine, CPU ms",
        ],
        rows,
        (
            f"`true` on {NODES} local nodes, medians of {REPETITIONS} runs taken in turns. The "
            "rest of the machine is the sshd of the "
            "nodes. They share these cores with the client, and limit the wall time."
        ),
    )
