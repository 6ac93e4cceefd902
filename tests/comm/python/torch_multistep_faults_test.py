"""MultistepOptimizer of PyTorch with gradients and parameters that are not finite."""

import logging

from ranks import need, on_ranks, run_tests
from suite import assert_equal, assert_false, assert_in, assert_less, assert_true

torch = need("torch")
import fastgpu_comm as fc  # noqa: E402
from fastgpu_comm.torch import MultistepOptimizer  # noqa: E402

from multistep_models import (  # noqa: E402
    MODES,
    batch_of,
    check_same_on_all_ranks,
    largest_difference,
    loss_of,
    net_of,
    sgd,
)


class Logged(logging.Handler):
    """The sentences that the library logs meanwhile."""

    def __init__(self):
        super().__init__()
        self.sentences = []

    def __enter__(self):
        logging.getLogger("fastgpu_comm").addHandler(self)
        return self.sentences

    def __exit__(self, *_):
        logging.getLogger("fastgpu_comm").removeHandler(self)

    def emit(self, record):
        self.sentences.append(record.getMessage())


PARAMETER_MODES = ("local_steps=4", "diloco=3", "slices=2", "slices=5,rate=0.7,momentum=0.5")
OPTIMIZERS = {
    "plain": lambda model: torch.optim.SGD(model.parameters(), lr=0.05),
    "momentum": sgd,
    "adam": lambda model: torch.optim.Adam(model.parameters(), lr=0.01),
}


def net_without_statistics():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def train_with_faults(comm, mode, make, faults, steps=23):
    """Returns the model after a training. `faults` has the batches of rank 1 that are not as they
    should be: "nan" in a gradient, or "omitted".
    """
    model = net_without_statistics()
    optimizer = MultistepOptimizer(make(model), comm, model, mode)
    for batch in range(steps):
        x, y = batch_of(comm.rank, batch)
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        fault = faults.get(batch) if comm.rank == 1 else None
        if fault == "nan":
            model[0].weight.grad[1, 2] = float("nan")
        if fault == "omitted":  # Without gradients an optimizer does nothing.
            for parameter in model.parameters():
                parameter.grad = None
        optimizer.step(weight=1e-300 if fault == "omitted" else len(x))
    optimizer.finish()
    optimizer.close()
    return model


@on_ranks(3, NANCHECK="skip")
def a_batch_with_nan_counts_as_if_it_were_not_there(comm):
    for mode in PARAMETER_MODES:
        for name, make in OPTIMIZERS.items():
            whole = train_with_faults(comm, mode, make, {})
            for bad in (0, 6, 11, 22):
                what = f"{mode} {name} {bad}"
                found = train_with_faults(comm, mode, make, {bad: "nan"})
                check_same_on_all_ranks(comm, found, what)
                without = train_with_faults(comm, mode, make, {bad: "omitted"})
                assert_equal(largest_difference(found, without), 0.0, what)
                assert_less(largest_difference(found, whole), 0.3, what)


@on_ranks(2, NANCHECK="skip")
def a_rank_with_nan_in_every_batch_is_named_on_all_ranks_and_holds_nobody_up(comm):
    for mode in PARAMETER_MODES:
        with Logged() as sentences:
            model = train_with_faults(comm, mode, sgd, dict.fromkeys(range(40), "nan"), 40)
        check_same_on_all_ranks(comm, model, mode)
        without = train_with_faults(comm, mode, sgd, dict.fromkeys(range(40), "omitted"), 40)
        assert_equal(largest_difference(model, without), 0.0, mode)
        named = [one for one in sentences if "rank 1 gave nothing to the last 3 rounds" in one]
        assert_equal(len(named), 1, f"{mode}: {sentences}")
        own = [one for one in sentences if "rank 1 leaves out a step" in one]
        assert_equal(len(own), 6 if comm.rank == 1 else 0, mode)  # 1, 2, 4 and so on.
        assert_true(all("gradient '0.weight' is not finite" in one for one in own), f"{own}")


@on_ranks(2, NANCHECK="skip")
def an_optimizer_that_overflows_begins_anew(comm):
    for mode in PARAMETER_MODES:
        model = net_without_statistics()
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        for batch in range(40):
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            if comm.rank == 1 and batch == 13:  # All are finite, and the parameters are not then.
                optimizer.optimizer.state[model[0].weight]["momentum_buffer"].fill_(3e38)
                model[0].weight.grad.fill_(3e38)
            optimizer.step()
            if batch == 20:
                at_20 = [one.detach().clone() for one in model.parameters()]
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        for parameter, before in zip(model.parameters(), at_20):
            assert_true(bool(torch.isfinite(parameter).all()), mode)
            assert_false(torch.equal(parameter, before), f"{mode}: training stands still")
        for state in optimizer.optimizer.state.values():
            assert_true(bool(torch.isfinite(state["momentum_buffer"]).all()), mode)
        optimizer.close()


@on_ranks(2, NANCHECK="stop")
def with_stop_all_ranks_name_the_rank_and_may_go_on(comm):
    for mode in PARAMETER_MODES:
        model = net_without_statistics()
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        stopped = 0
        for batch in range(24):
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            if comm.rank == 1 and batch == 5:
                model[0].weight.grad[0, 0] = float("inf")
            try:
                optimizer.step()
            except fc.RemoteError as error:
                stopped += 1
                assert_in("of rank 1 has ", str(error))
        assert_equal(stopped, 1, mode)
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        assert_true(all(bool(torch.isfinite(one).all()) for one in model.parameters()), mode)
        optimizer.close()


@on_ranks(2)
def a_scaler_leaves_out_steps_of_one_rank(comm):
    if not hasattr(torch.amp, "GradScaler"):
        return  # Older ones have none for the host.
    for mode in MODES:
        model = net_of(0)
        optimizer = MultistepOptimizer(sgd(model), comm, model, mode)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for batch in range(9):
            x, y = batch_of(comm.rank, batch)
            optimizer.zero_grad()
            scaler.scale(loss_of(model, x, y)).backward()
            if batch == 3 and comm.rank == 1:
                model.first.weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
        optimizer.finish()
        check_same_on_all_ranks(comm, model, mode)
        assert_true(bool(torch.isfinite(model.first.weight).all()), mode)
        assert_equal(scaler.get_scale(), 2.0 if comm.rank == 1 else 4.0)
        optimizer.close()


run_tests(globals(), has_forked_ranks=True)
