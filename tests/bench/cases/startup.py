"""Start-up: how long a command takes that does nothing."""

import cluster_fixture
import measure

TITLE = "Start-up of the command line"
REPETITIONS = 41


def bench(fastgpu):
    with cluster_fixture.cluster(fastgpu, 1):
        runs = measure.repeat(
            {
                "fastgpu version": [fastgpu, "version"],
                "fastgpu completes cluster names": [
                    fastgpu,
                    "__complete",
                    "--",
                    "delete",
                    "cluster",
                    "",
                ],
                "ssh -V": ["ssh", "-V"],
                "git --version": ["git", "--version"],
                "aws --version": ["aws", "--version"],
            },
            REPETITIONS,
        )
    base = measure.median(runs["ssh -V"], "wall")
    rows = [
        [name, f"{measure.median(r, 'wall') * 1e3:.2f}", f"{measure.median(r, 'wall') / base:.2f}"]
        for name, r in runs.items()
    ]
    return (
        ["command", "ms", "times ssh -V"],
        rows,
        f"Medians of {REPETITIONS} runs, taken in turns. Target: at most 2 times `ssh -V`.",
    )
