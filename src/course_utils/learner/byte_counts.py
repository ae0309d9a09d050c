"""Bytes of storages: those that tensors lie in, and those that a graph keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves


def bytes_of(tensors: Any, without: Iterable[torch.Tensor] = ()) -> int:
    """Bytes of the storages of tensors, each counted once, except those that others lie in.

    Args:
        tensors: tensors, in any nest of lists, tuples and dicts; other values are passed over.
        without: tensors whose storages do not count.
    """
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in tree_leaves(tensors)
        if isinstance(tensor, torch.Tensor)
    }
    for tensor in without:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(storages.values())


def saved_bytes(run: Callable[[], Any]) -> int:
    """Bytes of all that ``run()`` saves for a backward pass, each storage counted once."""
    saved = []  # as long as a tensor lies here, no other gets its address
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor
    )
    with hooks:
        run()
    return bytes_of(saved)
