"""What PyTorch's own layers make of a case: the sizes they give, what they refuse."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from course_utils.learner.calls import watched


def refused(call: Callable[[], Any]) -> str:
    """The name of the exception that ``call()`` raises, or ``"nothing"``."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def watched_in_use(function: Callable, *args: Any) -> tuple[Any, list[str], str]:
    """As ``watched``. Where arguments require a gradient, it calls twice.

    In the first call they have no gradient yet: zeros that are added show only there. In the
    second they have one, which must neither be cleared nor added to.
    """
    leaves = [
        leaf
        for leaf in tree_leaves(args)
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.is_leaf
    ]
    changed = watched(function, *args)[2] if leaves else ""
    for leaf in leaves:
        leaf.grad = torch.full_like(leaf, 0.25)
    result, names, changed_again = watched(function, *args)
    return result, names, changed or changed_again


def dry_run(layers: Sequence[Mapping[str, Any]], size: int) -> list[int] | str:
    """The sizes after each layer, along one dimension, as PyTorch's modules have them.

    Args:
        layers: mappings with ``kind`` (conv, pool or transposed), ``kernel`` and the options of
            ``nn.Conv1d``, ``nn.MaxPool1d`` or ``nn.ConvTranspose1d``.
        size: of the input.

    Returns:
        The sizes, or ``"ValueError"`` where a module refuses its input.
    """
    x, sizes = torch.empty(1, 1, size, device="meta"), []
    for layer in layers:
        options = {key: value for key, value in layer.items() if key not in ("kind", "kernel")}
        if layer["kind"] == "pool":
            module = nn.MaxPool1d(layer["kernel"], **options)
        else:
            kind = nn.Conv1d if layer["kind"] == "conv" else nn.ConvTranspose1d
            module = kind(1, 1, layer["kernel"], device="meta", **options)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "same" with an even reach tells of a copy
                x = module(x)
        except RuntimeError:
            return "ValueError"
        sizes.append(x.shape[-1])
    return sizes
