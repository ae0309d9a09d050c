"""Bytes that operators write."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class count_written(TorchDispatchMode):
    """Count the bytes that operators write inside a ``with`` block, and the kernels that do.

    A result counts as written unless the operator is a view. ``empty`` only sets memory aside.

    Attributes:
        nbytes: bytes of all results that were written.
        kernels: how many operators wrote something.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nbytes, self.kernels = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not func.is_view and "empty" not in name and name not in ("detach", "_unsafe_view"):
            tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
            self.nbytes += sum(tensor.numel() * tensor.element_size() for tensor in tensors)
            self.kernels += bool(tensors)
        return result
