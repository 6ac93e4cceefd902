"""One gigabyte to 1, 2, 4 and 8 nodes on slow links, beside clush
--copy and scp one after another.
"""

import os
import time

import cluster_fixture
import measure

TITLE = "cp of 1 GB on links of 300 Mbit/s"
REPETITIONS, NODES, SIZE, RATE = 3, (1, 2, 4, 8), 10**9, 300
BAR = 1.3  # Times what one node takes.
PLACE = "/root/payload"


def seconds_of_new_memory(folder):
    """What a virtual machine waits for SIZE bytes of memory that its host has yet to give, beside
    what writing them takes where it has just had them. Whoever writes files into memory pays it,
    whatever he writes them with, for what the host has taken back since.
    """
    piece, files = bytes(10**6), [folder / f"memory-{k}" for k in range(NODES[-1])]

    def seconds_to_write(file):
        start = time.perf_counter()
        with open(file, "wb") as out:
            for _ in range(SIZE // len(piece)):
                out.write(piece)
        return time.perf_counter() - start

    new = sum(map(seconds_to_write, files)) / len(files)
    for file in files:
        file.unlink()
    again = seconds_to_write(files[0])
    files[0].unlink()
    return max(new - again, 0)


def bench(fastgpu):
    rows, ours = [], {}
    with cluster_fixture.cluster(
        fastgpu, NODES[-1], in_memory=True, link_rate=f"{RATE}mbit"
    ) as made:
        source = made.folder / "payload"
        with open(source, "wb") as out:
            for _ in range(SIZE // 10**6):
                out.write(os.urandom(10**6))

        new_memory = seconds_of_new_memory(made.folder)

        def forget(_=None):
            measure.run([fastgpu, "exec", made.name, "--", "rm", "-f", PLACE])

        def add(name, nodes, runs):
            wall = measure.median(runs, "wall")
            ours.setdefault(name, wall)
            rows.append(
                [
                    name,
                    nodes,
                    f"{wall:.1f}",
                    f"{wall / ours[name]:.2f}",
                    f"{measure.median(runs, 'own_cpu'):.1f}",
                    f"{measure.median(runs, 'machine_cpu') / nodes:.1f}",
                ]
            )

        def once(name, argv, nodes, times=REPETITIONS):
            runs = []
            for _ in range(times):
                forget()
                runs.append(measure.run(argv))
            add(name, nodes, runs)

        for nodes in NODES:
            once(
                "fastgpu cp",
                [fastgpu, "cp", str(source), f"{made.name}/0-{nodes - 1}:{PLACE}"],
                nodes,
            )
        for nodes in (NODES[0], NODES[-1]):
            once(
                "fastgpu cp --direct",
                [fastgpu, "cp", "--direct", str(source), f"{made.name}/0-{nodes - 1}:{PLACE}"],
                nodes,
            )
            hosts = made.names[:nodes]
            once(
                "clush --copy",
                [
                    "clush",
                    "-S",
                    "-o",
                    f"-F {made.config}",
                    "-w",
                    ",".join(hosts),
                    "--copy",
                    str(source),
                    "--dest",
                    PLACE,
                ],
                nodes,
            )
            loop = "; ".join(
                f"scp -q -F {made.config} {source} {host}:{PLACE} || exit 1" for host in hosts
            )
            once("scp in a loop", ["sh", "-c", loop], nodes, 1)
    limit = 8 * SIZE / RATE / 1e6
    last = next(row for row in rows if row[:2] == ["fastgpu cp", NODES[-1]])
    busy = NODES[-1] * float(last[5]) / os.cpu_count()
    good = float(last[3]) <= BAR
    return (
        ["command", "nodes", "seconds", "times one node", "client CPU s", "machine CPU s a node"],
        rows,
        f"Random bytes between local nodes whose files are in memory. Medians of {REPETITIONS} "
        "runs (scp: 1). One link alone needs "
        f"{limit:.1f} s for the bytes. Each node has a link of its own here, and the link of "
        "this machine is not limited. If it were, a "
        "sender that sends to N nodes itself would need N times as long. All nodes share "
        f"{os.cpu_count()} cores here: the CPU time of "
        f"fastgpu for {NODES[-1]} nodes alone takes {busy:.1f} s. The host of a virtual machine "
        "takes free memory back, and returning it "
        f"takes time: before the first command, the kernel needed {new_memory:.1f} s more to "
        "write the file into returned memory than "
        "into memory that was just used. Each command pays for the memory that was taken back "
        "since the previous one. fastgpu verifies "
        f"SHA-256 on every node. The target is at most {BAR:g} times the time of one node at "
        f"{NODES[-1]} nodes: "
        f"{'yes' if good else '**no**'}.",
    )
