"""One gigabyte to every node, beside clush --copy and scp one after another."""
import os

import cluster_fixture
import measure

TITLE = "cp of 1 GB to 8 nodes"
REPETITIONS, NODES, SIZE = 5, 8, 10**9


def bench(fastgpu):
    with cluster_fixture.cluster(fastgpu, NODES, in_memory=True) as made:
        source = made.folder / "payload"
        with open(source, "wb") as out:
            for _ in range(SIZE // 10**6):
                out.write(os.urandom(10**6))
        loop = "; ".join(f"scp -q -F {made.config} {source} {host}:/root/payload || exit 1" for host in made.names)

        def forget(_):
            measure.run([fastgpu, "exec", made.name, "--", "rm", "-f", "/root/payload"])

        runs = measure.repeat({
            "fastgpu cp": [fastgpu, "cp", str(source), f"{made.name}:/root/payload"],
            "clush --copy": ["clush", "-S", "-o", f"-F {made.config}", "-w", ",".join(made.names), "--copy", str(source),
                             "--dest", "/root/payload"],
            "scp in a loop": ["sh", "-c", loop],
        }, REPETITIONS, prepare=forget)
    base = measure.median(runs["fastgpu cp"], "wall")
    rows = []
    for name, r in runs.items():
        wall = measure.median(r, "wall")
        rows.append([name, f"{wall:.1f}", f"{wall / base:.2f}", f"{NODES * SIZE / wall / 1e6:.0f}",
                     f"{measure.median(r, 'own_cpu'):.1f}", f"{measure.median(r, 'machine_cpu'):.1f}"])
    return ["command", "seconds", "times ours", "MB/s in all", "client CPU s", "machine CPU s"], rows, \
        f"Random bytes, {NODES} local nodes whose files are in memory, medians of {REPETITIONS} runs taken in turns. Ours verifies SHA-256 at both ends."
