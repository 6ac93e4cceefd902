"""Times the exchange of a model's gradients by Horovod: gradients_horovod.py MODEL STEPS, under
mpirun, one process a rank.

MODEL is a file of lines `name elements`. Prints one JSON line on rank 0.
"""

import horovod.torch as hvd
import step_times
import torch


def main():
    hvd.init()
    torch.set_num_threads(1)
    model, steps = step_times.arguments()
    gradients = [(name, torch.ones(elements)) for name, elements in model]

    def step():
        handles = [
            hvd.allreduce_async_(gradient, name=name, op=hvd.Average)
            for name, gradient in reversed(gradients)
        ]
        for handle in handles:
            hvd.synchronize(handle)

    def barrier():
        hvd.allreduce(torch.zeros(1), name="barrier")

    def slowest(seconds):
        return max(
            hvd.allgather(torch.tensor([seconds], dtype=torch.float64), name="slowest").tolist()
        )

    step_times.measure("Horovod", hvd.rank(), hvd.size(), model, steps, step, barrier, slowest)


main()
