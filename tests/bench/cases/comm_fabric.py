"""The fabric transport over libfabric's provider `net`, which needs no special network: beside TCP,
and beside libfabric's own fi_pingpong. Two ranks of this host, without shared memory.
"""

import subprocess
import time

from cases.comm_figures import MIB, median, ms, us
from pages import table

LARGE = 64 * MIB
SMALL = 8
PUTS = ("none", "a", "b", "c")  # How a piece is put; comm/README.md says what each means.
PINGPONG = "fi_pingpong"


def by_tcp():
    return {"FASTGPU_COMM_SHARED_MEMORY": "0", "FASTGPU_COMM_TRANSPORT": "tcp"}


def by_net(programs, put):
    return {
        "FASTGPU_COMM_SHARED_MEMORY": "0",
        "FASTGPU_COMM_TRANSPORT": "fabric",
        "FASTGPU_COMM_FABRIC": "net",
        "FASTGPU_COMM_FABRIC_PUT": put,
        "FASTGPU_COMM_FABRIC_PLUGIN": programs.fabric_plugin,
    }


def seconds_of_pingpong(text):
    """Of one message one way, of the last line that fi_pingpong prints."""
    microseconds = float(text.split("\n")[-1].split()[-2])
    return microseconds / 1e6


def pingpong(size, count):
    """fi_pingpong between two processes of this host, as a result of a benchmark."""
    words = [PINGPONG, "-p", "net", "-e", "rdm", "-I", str(count), "-S", str(size)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(100):  # Until the server listens.
            client = subprocess.run(
                [*words, "127.0.0.1"], capture_output=True, text=True, check=False, timeout=120
            )
            if client.returncode == 0:
                break
            time.sleep(0.1)
        else:
            raise SystemExit(f"{' '.join(words)}: {client.stderr}")
        server.wait(timeout=60)
    finally:
        server.kill()
        server.wait()
    seconds = seconds_of_pingpong(client.stdout.rstrip())
    return [{"bytes": size, "collective": "ping_pong", "seconds": seconds}]


def measured(programs, in_turns):
    """{"fabric": {name: rounds}}: all-reduces of 64 MiB and of 8 B, and messages there and back,
    of which the time of one way is taken, as fi_pingpong does.
    """
    both_kinds = ["--collective", "all_reduce,ping_pong"]
    large = [programs.dynamic, "--sizes", str(LARGE), "--repetitions", "3", *both_kinds]
    small = [programs.dynamic, "--sizes", str(SMALL), "--repetitions", "9", *both_kinds]

    def both(environment):
        def run():
            return [
                *programs.here(2, large, environment=environment),
                *programs.here(2, small, environment=environment),
            ]

        return run

    commands = {"TCP": both(by_tcp())}
    for put in PUTS:
        commands[f"net, {put}"] = both(by_net(programs, put))
    commands[PINGPONG] = lambda: [*pingpong(LARGE, 10), *pingpong(SMALL, 2000)]
    return {"fabric": in_turns(commands)}


def best_put(found):
    """The way to put pieces that is quickest for 64 MiB: its name, and its medians."""
    ways = {name: median(rounds) for name, rounds in found.items() if name.startswith("net, ")}
    return min(ways.items(), key=lambda way: way[1][(LARGE, "all_reduce")])


def add_bars(bars, found):
    tcp, peer = median(found["TCP"]), median(found[PINGPONG])
    name, net = best_put(found)
    ours = net[(LARGE, "all_reduce")]
    theirs = tcp[(LARGE, "all_reduce")]
    bars.at_least(
        f"64 MiB by libfabric ({name})", ms(ours), f"{ms(theirs)} (TCP)", theirs / ours, 0.8
    )
    ours, theirs = net[(LARGE, "ping_pong")], peer[(LARGE, "ping_pong")]
    bars.at_least(
        "a message of 64 MiB there and back, by libfabric",
        ms(ours),
        f"{ms(theirs)} (fi_pingpong)",
        theirs / ours,
        0.9,
    )
    latencies = [
        median(rounds)[(SMALL, "ping_pong")]
        for way, rounds in found.items()
        if way.startswith("net, ")
    ]
    ours, theirs = min(latencies), peer[(SMALL, "ping_pong")]
    bars.at_most(
        "a message of 8 B there and back, by libfabric",
        us(ours),
        f"{us(theirs)} (fi_pingpong)",
        ours / theirs,
        1.3,
    )


def section(found):
    kinds = [(size, kind) for kind in ("all_reduce", "ping_pong") for size in (LARGE, SMALL)]
    rows = []
    for name, rounds in found.items():
        seconds = median(rounds)
        cells = [
            (ms if key[0] == LARGE else us)(seconds[key]) if key in seconds else "" for key in kinds
        ]
        rows.append([name, *cells])
    return (
        "## By libfabric, without special hardware\n\n"
        "Two ranks of this host without shared memory. `net` is the provider of libfabric that "
        "works over TCP; after it is how pieces are put "
        "([the four ways](../../comm/README.md#fabric)). In an all-reduce of 64 MiB each rank "
        "sends and receives 64 MiB, in one of 8 B one message each way. A message goes there and "
        "back, as in fi_pingpong; the time is that of one way.\n\n"
        + table(
            [
                "transport",
                "all-reduce, 64 MiB",
                "all-reduce, 8 B",
                "message, 64 MiB",
                "message, 8 B",
            ],
            rows,
        )
    )
