"""Creating and deleting local clusters: the cost a node must not grow with the number of nodes."""

import measure

TITLE = "Creating and deleting a local cluster"
REPETITIONS, SIZES = 5, (1, 4, 16, 32)


def bench(fastgpu):
    rows = []
    for nodes in SIZES:
        create = [fastgpu, "create", "cluster", "bench", "--nodes", str(nodes)]
        delete = [fastgpu, "delete", "cluster", "bench", "--yes"]
        runs = measure.repeat({"create": create, "delete": delete}, REPETITIONS)
        for name, r in runs.items():
            wall, cpu = measure.median(r, "wall"), measure.median(r, "machine_cpu")
            rows.append(
                [
                    name,
                    nodes,
                    f"{wall:.2f}",
                    f"{wall / nodes * 1e3:.0f}",
                    f"{cpu / nodes * 1e3:.0f}",
                ]
            )
    return (
        ["command", "nodes", "seconds", "ms a node", "CPU ms a node"],
        rows,
        (
            f"Medians of {REPETITIONS} runs. The CPU time is that of the whole machine during "
            "the command: fastgpu, the nodes' init and "
            "sshd, and the kernel."
        ),
    )
