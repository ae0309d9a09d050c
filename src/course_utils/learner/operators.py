"""Watch which operators run: count them, forbid some, or forbid every copy."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.tracebacks import ends_in_notebook


def _name(operator) -> str:
    """``as_strided`` for PyTorch's own ``aten.as_strided.default``, else ``library.operator``."""
    packet = operator.overloadpacket
    name = packet.__name__
    return name if operator.namespace == "aten" else f"{operator.namespace}.{name}"


def _memory(values) -> list[tuple[int, int]]:
    """The address ranges ``(first byte, end)`` of the storages of all tensors in ``values``."""
    ranges = []
    for tensor in tree_leaves(values):
        if isinstance(tensor, torch.UntypedStorage):  # as set_ takes it
            ranges.append((tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes()))
        # Forward-mode differentiation has zeros without memory; they have no address to ask for.
        if isinstance(tensor, torch.Tensor) and not tensor._is_zerotensor():
            # Sparse and nested tensors and their like have no storage of their own.
            with suppress(NotImplementedError, RuntimeError):
                storage = tensor.untyped_storage()
                ranges.append((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
    return ranges


class OperatorMode(TorchDispatchMode):
    """A ``with`` block that is told of every operator that runs inside it.

    A mode says what it makes of an operator in :meth:`before` and :meth:`after`. They take plain
    facts, no tensors, so that they can also be told of operators that ran in another process.

    Attributes:
        refused: the operators at which the block fails.
        largest: the most bytes that a new storage may have, or the block fails; None for any.
    """

    refused: frozenset[str] = frozenset()
    largest: int | None = None

    def before(self, name: str) -> None:
        """An operator is about to run.

        Args:
            name: as :func:`count_operators` shows it.
        """

    def after(self, name: str, new_storages: list[int]) -> None:
        """An operator has run.

        Args:
            name: as :func:`count_operators` shows it.
            new_storages: the bytes of each storage of its results that no argument lies in.
        """

    @ends_in_notebook
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        __tracebackhide__ = True
        name, known = _name(func), _memory((args, kwargs))
        self.before(name)
        result = func(*args, **(kwargs or {}))
        made = [
            end - start
            for start, end in _memory(result)
            if not any(first <= start and end <= last for first, last in known)
        ]
        self.after(name, made)
        return result


class count_operators(OperatorMode):
    """Count the operators that run inside a ``with`` block.

    What is counted is what reaches PyTorch's dispatcher below autograd: a composite function
    appears as its parts (``torch.einsum`` as ``bmm``, for one), forward and backward alike.

    ::

        with count_operators() as counts:
            x.t().contiguous()
        counts  # {"t": 1, "clone": 1}
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Counter[str]:
        super().__enter__()
        return self.counts

    def before(self, name: str) -> None:
        self.counts[name] += 1


class forbid_operators(OperatorMode):
    """Refuse the named operators inside a ``with`` block.

    Args:
        names: operator names as :class:`count_operators` shows them.
        because: words added to the refusal: what to use instead.

    Raises:
        AssertionError: one of them is called; the message names it.
    """

    def __init__(self, *names: str, because: str = "") -> None:
        super().__init__()
        self.refused = frozenset(names)
        self.because = because

    def before(self, name: str) -> None:
        __tracebackhide__ = True
        if name in self.refused:
            reason = f": {self.because}" if self.because else ""
            raise AssertionError(f"the operator {name} is not allowed here{reason}")


class forbid_copies(OperatorMode):
    """Refuse every operator that allocates a new storage inside a ``with`` block.

    A view's result lies in the memory of an argument; a copy's, or a computation's, does not.

    Args:
        up_to: new storages of at most this many bytes are let through (a sum needs one element).
        because: words for the message, such as why a larger one is not needed.

    Raises:
        AssertionError: an operator made a larger storage; the message names it and its bytes.
    """

    def __init__(self, up_to: int = 0, because: str = "") -> None:
        super().__init__()
        self.largest = up_to
        self.because = because

    def after(self, name: str, new_storages: list[int]) -> None:
        __tracebackhide__ = True
        for size in new_storages:
            if self.largest is not None and size > self.largest:
                reason = f"; {self.because}" if self.because else ""
                raise AssertionError(
                    f"a copy was made: {name} allocated a new storage of {size} bytes{reason}"
                )
