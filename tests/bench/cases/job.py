"""A job that does nothing, beside bare mpirun with the same nodes and ranks."""

import cluster_fixture
import measure

TITLE = "run job of a program that does nothing"
REPETITIONS, NODES = 21, 2


def bench(fastgpu):
    with cluster_fixture.cluster(fastgpu, NODES, slots=1) as made:
        addresses = ",".join(f"{node['private_address']}:1" for node in made.nodes)
        # The first job leaves the files for ssh between the nodes, which bare mpirun uses as well.
        measure.run(
            [fastgpu, "run", "job", "--cluster", made.name, "-np", str(NODES), "--", "true"]
        )
        config = "$(ls -d ~/.fastgpu/clusters/*/ssh_config | head -1)"
        bare = (
            f'mpirun --allow-run-as-root -np {NODES} --host {addresses} --mca plm_rsh_args "-F '
            f'{config}" true'
        )
        runs = measure.repeat(
            {
                "fastgpu run job": [
                    fastgpu,
                    "run",
                    "job",
                    "--cluster",
                    made.name,
                    "-np",
                    str(NODES),
                    "--",
                    "true",
                ],
                "ssh + mpirun": ["ssh", "-F", made.config, made.names[0], bare],
            },
            REPETITIONS,
        )
    ours, theirs = runs["fastgpu run job"], runs["ssh + mpirun"]
    rows = [
        [
            name,
            f"{measure.median(r, 'wall') * 1e3:.0f}",
            f"{measure.median(r, 'own_cpu') * 1e3:.0f}",
        ]
        for name, r in runs.items()
    ]
    overhead = (measure.median(ours, "wall") - measure.median(theirs, "wall")) * 1e3
    return (
        ["command", "wall ms", "client CPU ms"],
        rows,
        (
            f"`true` as {NODES} ranks on {NODES} local nodes, medians of {REPETITIONS} runs "
            "taken in turns. "
            f"Our overhead: {overhead:.0f} ms."
        ),
    )
