"""The gradient of one parameter of PyTorch, on its way through an exchange."""

from __future__ import annotations

import torch

from ._torch_wrapper import check_plain, gradient_type, memory_order
from .kinds import Op


def _storage_bytes(tensor: torch.Tensor) -> int:
    has_untyped = hasattr(tensor, "untyped_storage")  # Since PyTorch 2.0.
    return (tensor.untyped_storage() if has_untyped else tensor.storage()).nbytes()


def _kind(tensor: torch.Tensor) -> str:
    return f"{tensor.dtype} on {tensor.device}"


def _is_a_part(tensor: torch.Tensor) -> bool:
    """Returns True if other memory is in the same storage."""
    return tensor.numel() * tensor.element_size() != _storage_bytes(tensor)


def _is_zero(tensor: torch.Tensor) -> bool:
    return not (tensor.coalesce().values() if tensor.is_sparse else tensor).any()


def sum_of_bits(tensor: torch.Tensor) -> int:
    """Returns one number by which ranks compare the content of a tensor: the sum of its memory,
    read as whole numbers of 8 bytes. 0 for a tensor of another class, whose content is not known.
    """
    values = tensor.detach()
    if type(values) is not torch.Tensor:
        return 0
    if values.is_complex():
        values = torch.view_as_real(values)
    memory = values.permute(memory_order(values)).reshape(-1).view(torch.uint8)
    if memory.storage_offset() % 8 != 0:
        memory = memory.clone()
    whole = memory.numel() // 8 * 8
    rest = memory[whole:]
    return int(memory[:whole].view(torch.int64).sum() + rest.sum(dtype=torch.int64))


class Parameter:
    """One parameter: the memory of its gradient that is registered, and where that gradient is in
    an exchange.
    """

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        check_plain(tensor, name, "DistributedOptimizer")
        self.name, self.tensor = name, tensor
        # What backward has computed travels from where it is. This memory is for what cannot, and
        # costs nothing on the host until it is written to.
        kind = gradient_type(tensor)
        self.gradient = torch.empty_like(tensor.detach(), dtype=kind)
        self._order = memory_order(self.gradient)
        self.registered = self.gradient.permute(self._order)
        if not self.registered.is_contiguous():
            self.gradient = torch.empty_like(
                tensor.detach(), dtype=kind, memory_format=torch.contiguous_format
            )
            self._order = list(range(tensor.dim()))
            self.registered = self.gradient
        if self.gradient.is_complex():
            self.registered = torch.view_as_real(self.registered)
        self.number = -1
        self.is_travelling = self.is_new = self.is_sparse = False
        self.travelling = self.gradient  # The memory that travels, and gets the result.
        # Where the result is copied to, if backward has written to memory that cannot travel.
        self._target: torch.Tensor | None = None
        self._result: torch.Tensor | None = (
            None  # What .grad was after the last exchange, and its version then.
        )
        self._version = 0
        self._has_result = False  # The program has not set it to 0 since.
        self._has_additions = False  # By backward, since then.
        self._is_sum_added_to = False
        self._kept: torch.Tensor | None = None  # What .grad was before this exchange.
        self._more: torch.Tensor | None = (
            None  # What backward has computed while the gradient travelled.
        )

    def has_more(self) -> bool:
        """Returns True if backward has computed a further part of a gradient that travels."""
        return self.is_travelling and self.tensor.grad is not None

    @property
    def had_gradient(self) -> bool:
        """Whether .grad was there before it began to travel."""
        return self._kept is not None

    def note_addition(self) -> None:
        """Backward is about to add to .grad a part of a sum over all ranks."""
        found = self.tensor.grad
        is_result = found is not None and found is self._result and self._has_result
        is_sum = found is not None and is_result and not _is_zero(found)
        self._is_sum_added_to = is_sum and (self._is_sum_added_to or not self._has_additions)
        self._has_additions = True

    def note_zero(self) -> None:
        """The program sets .grad to 0, or gives it up: what backward adds then is new."""
        self._has_result = self._has_additions = self._is_sum_added_to = False

    def take(self, op: Op, rank: int, is_computed: bool, used: set[int]) -> torch.Tensor | None:
        """Lets .grad travel. `is_new` is then False if all ranks have that gradient already.

        Returns None if it travels from the registered memory. Where backward has just written
        (`is_computed`), the result is written, too, and .grad may travel from there: returns its
        elements in the order of memory. `used` gets the addresses that the result is written to.
        """
        found = self._kept = self.tensor.grad
        if found is not None and _kind(found) != _kind(self.gradient):
            raise RuntimeError(
                f"the gradient of {self.name} is {_kind(found)}, and was {_kind(self.gradient)} "
                "when the DistributedOptimizer was made: convert the model, or set grad_dtype, "
                "before you make it"
            )
        is_result = found is not None and found is self._result and self._has_result
        self.is_new = found is not None and not (is_result and found._version == self._version)
        self.is_sparse = found is not None and found.is_sparse
        if is_result and self._is_sum_added_to:
            raise RuntimeError(
                f"the gradient of {self.name} was added to a sum over all ranks, which would "
                "be summed again: call zero_grad() "
                "before backward(), or put all backward passes but the last into `with "
                "optimizer.no_sync():`"
            )
        self.travelling, self._target = self.gradient, None
        if found is not None and self._may_be_written_to(found, is_computed, used):
            if is_computed and self._may_travel(found):
                self.travelling = found
            elif not found.is_cuda or _is_a_part(found):
                self._target = found
            used.add(found.data_ptr())
        with torch.no_grad():
            if found is None:
                self.gradient.zero_()
            elif found is not self.travelling:
                if found.is_cuda:  # Backward may have made it on another stream.
                    found.record_stream(torch.cuda.current_stream(found.device))
                self.gradient.copy_(found.to_dense() if found.is_sparse else found)
            if found is not None and not self.is_new and op is Op.SUM and rank != 0:
                self.travelling.zero_()  # All ranks have the same sum, which one gives.
            if self._more is not None:
                self.is_new = True
                self.is_sparse = self.is_sparse or self._more.is_sparse
                self.travelling.add_(self._more)
                self._more = None
        self.tensor.grad = None  # Backward may compute a further part meanwhile.
        self.is_travelling = True
        return None if self.travelling is self.gradient else self.travelling.permute(self._order)

    def _may_be_written_to(self, found: torch.Tensor, is_computed: bool, used: set[int]) -> bool:
        """Returns True for plain memory to which backward writes: just now, in former passes, or
        because it is a part of a tensor that has the gradients of many parameters. Where two have
        the very same memory, the second is copied.
        """
        return (
            found is not self.gradient
            and type(found) is torch.Tensor
            and found.layout is torch.strided
            and not found.requires_grad
            and found.dtype is self.gradient.dtype
            and found.numel() > 0
            and found.data_ptr() not in used
            and (is_computed or found is self._result or _is_a_part(found))
        )

    def _may_travel(self, found: torch.Tensor) -> bool:
        """Returns True for a gradient on the host that has the form of the registered memory, and
        all of its storage.
        """
        return not (
            found.is_cuda
            or found.is_complex()
            or found.is_neg()
            or found.stride() != self.gradient.stride()
            or _is_a_part(found)
        )

    def settle(self, is_present: bool, is_sparse: bool) -> None:
        """Gives the result to .grad, or what was there before if no rank had anything new."""
        self._more = self.tensor.grad
        self.is_travelling = False
        if is_present:
            self._result = (
                self.travelling.to_sparse(1)
                if is_sparse and self.travelling.dim() > 0
                else self._written()
            )
        elif self._kept is None:
            self._result = None
        self.tensor.grad = self._result
        self.forget()
        self.note_zero()
        self._has_result = self._result is not None
        if self._result is not None:
            self._version = self._result._version

    def _written(self) -> torch.Tensor:
        """Returns the tensor that has the result."""
        if self._target is None:
            return self.travelling
        with torch.no_grad():
            return self._target.copy_(self.travelling)

    def forget(self) -> None:
        """Keeps no memory alive that the program has given up."""
        self._kept = self._target = None
        self.travelling = self.gradient

    def give_up(self) -> None:
        """Undoes take() after an exchange that has failed: .grad is what this rank has computed, or
        the part of it that had travelled.
        """
        self._more = self._result = None
        self.note_zero()
        self.is_travelling = False
        if self.tensor.grad is None:
            self.tensor.grad = self._written()
        self.forget()
