"""Counts the bytes that the exchange of gradients puts on a wire, with all headers:
wire.py PACKAGE_DIRECTORY LIBRARY RANKS MODEL STEPS WAY, in a network namespace of its own, as root.

The ranks exchange by TCP over the loopback interface, which is made a wire: packets of 1500 bytes,
none joined to larger ones. It counts Ethernet's header (14 bytes), those of IP and TCP, and
acknowledgements. MODEL is a file of lines `name elements`; WAY is "fastgpu" or "ddp". Prints one
JSON line: bytes of all ranks in one step.
"""

import json
import os
import pathlib
import subprocess
import sys

WARM_UP = 5


def gradients(model):
    lines = pathlib.Path(model).read_text(encoding="utf-8").splitlines()
    return [(line.split()[0], int(line.split()[1])) for line in lines if line.strip()]


def steps_of_fastgpu(package, model):
    """Returns a function that makes one step."""
    sys.path.insert(0, package)
    import fastgpu_comm
    import numpy

    exchange = fastgpu_comm.Gradients(fastgpu_comm.init())
    for name, elements in gradients(model):
        exchange.register(name, numpy.ones(elements, dtype=numpy.float32))

    def step():
        for name, _ in gradients(model):
            exchange.ready(name)
        exchange.wait()

    return step


def steps_of_ddp(model):
    import torch

    class Parameters(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.values = torch.nn.ParameterList(
                [torch.nn.Parameter(torch.ones(elements)) for _, elements in gradients(model)]
            )

        def forward(self, by):
            return torch.stack([value.sum() for value in self.values]).sum() * by

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    parallel = torch.nn.parallel.DistributedDataParallel(Parameters())
    return lambda: parallel(torch.ones(())).backward()


def run_rank(package, model, steps, way):
    """Makes as many steps as standard input asks for, and reports each time."""
    step = steps_of_fastgpu(package, model) if way == "fastgpu" else steps_of_ddp(model)
    for count in (WARM_UP, steps):
        sys.stdin.readline()
        for _ in range(count):
            step()
        print("done", flush=True)
    sys.stdin.readline()
    os._exit(0)  # Leaving the job is no part of a step.


def sent():
    """Returns the bytes that the loopback interface of this namespace has sent."""
    for line in pathlib.Path("/proc/net/dev").read_text(encoding="utf-8").splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[8])
    raise SystemExit("wire.py: there is no loopback interface")


def start(arguments, library, ranks):
    shared = {
        **os.environ,
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29441",
        "GLOO_SOCKET_IFNAME": "lo",
        "FASTGPU_COMM_LIBRARY": library,
        "FASTGPU_COMM_SHARED_MEMORY": "0",
    }
    return [
        subprocess.Popen(
            [sys.executable, __file__, "rank", *arguments],
            env={**shared, "RANK": str(rank)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def round_of(processes):
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        if process.stdout.readline().strip() != "done":
            raise SystemExit("wire.py: a rank has ended early")


def main():
    package, library, ranks, model, steps, way = sys.argv[1:]
    subprocess.run(
        ["ip", "link", "set", "lo", "up", "mtu", "1500", "gso_max_segs", "1"], check=True
    )
    processes = start([package, model, steps, way], library, int(ranks))
    try:
        round_of(processes)
        before = sent()
        round_of(processes)
        count = sent() - before
    finally:
        for process in processes:
            process.kill()
            process.wait()
    payload = 4 * sum(elements for _, elements in gradients(model))
    line = {"library": way, "ranks": int(ranks), "bytes": payload, "wire": count / int(steps)}
    print(json.dumps(line), flush=True)


if sys.argv[1] == "rank":
    run_rank(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
else:
    main()
