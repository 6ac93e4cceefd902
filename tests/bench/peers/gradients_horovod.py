"""Times the exchange of a model's gradients by Horovod: gradients_horovod.py MODEL STEPS
[fp16], under mpirun, one process a rank.

MODEL is a file of lines `name elements`. With fp16 gradients are compressed as Horovod's optimizer
does. Prints one JSON line on rank 0.
"""

import horovod.torch as hvd
import step_times
import torch


def main():
    hvd.init()
    torch.set_num_threads(1)
    model, steps = step_times.arguments()
    gradients = [(name, torch.ones(elements)) for name, elements in model]
    way = {"": hvd.Compression.none, "fp16": hvd.Compression.fp16}[step_times.compression()]

    def begin(name, gradient):
        compressed, context = way.compress(gradient)
        return hvd.allreduce_async_(compressed, name=name, op=hvd.Average), gradient, context

    def step():
        begun = [begin(name, gradient) for name, gradient in reversed(gradients)]
        for handle, gradient, context in begun:
            gradient.set_(way.decompress(hvd.synchronize(handle), context))

    def barrier():
        hvd.allreduce(torch.zeros(1), name="barrier")

    def slowest(seconds):
        return max(
            hvd.allgather(torch.tensor([seconds], dtype=torch.float64), name="slowest").tolist()
        )

    step_times.measure("Horovod", hvd.rank(), hvd.size(), model, steps, step, barrier, slowest)


main()
