"""What an answer keeps: an earlier result, the gradient's way back, and memory."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves, tree_map

from course_utils.learner.calls import watched
from course_utils.learner.checks import check_close
from course_utils.learner.gradients import gradient_of
from course_utils.learner.operators import OperatorMode
from course_utils.learner.tracebacks import ends_in_notebook


@ends_in_notebook
def words_of_kept(answer: Callable, first: tuple, second: tuple) -> str:
    """Words for what an answer keeps from a first call to a second one; "" for nothing.

    The second call is handed the very tensors of the first, with other numbers in them.
    """
    given = _copied(first)
    result = answer(*given)
    before = _copied(result)
    for place, other in zip(given, second, strict=True):
        if isinstance(place, torch.Tensor):
            place.copy_(other)
    after = _copied(answer(*given))
    if not _same(result, before):
        return "the next call has changed an earlier result: make a new one in each"
    if not _same(after, answer(*_copied(second))):
        return "the same tensors, with other numbers, gave the old result: keep none between calls"
    return ""


def _copied(values: Any) -> Any:
    return tree_map(lambda a: a.clone() if isinstance(a, torch.Tensor) else copy(a), values)


def _same(one: Any, other: Any) -> bool:
    for a, b in zip(tree_leaves(one), tree_leaves(other), strict=False):
        if not (torch.equal(a, b) if isinstance(a, torch.Tensor) else np.array_equal(a, b)):
            return False
    return True


@ends_in_notebook
def taken_out(answer: Callable, *args: Any) -> list[str]:
    """By what an answer takes numbers out of its tensors, as it is written."""
    names = {name: name for name in ("tolist", "item", "numpy", "__array__", "unbind")}
    names |= {"__int__": "int()", "__index__": "range()", "__float__": "float()"}
    return sorted(names[name] for name in watched(answer, *args)[1] if name in names)


@ends_in_notebook
def gradients_of(answer: Callable, x: torch.Tensor, *others: Any) -> torch.Tensor:
    """The gradient by ``x`` of the result, whose entries are weighed by 1, 2, 3, …"""
    size = answer(x, *others)
    weights = _counted(size, x) if isinstance(size, torch.Tensor) else None
    found = gradient_of(answer, x, *others, weights=weights)
    return found if isinstance(found, torch.Tensor) else found[0]


def check_gradient_by(found: torch.Tensor, right: Callable, x: torch.Tensor, name: str) -> None:
    """Compare with the gradient of ``right(x)``, weighed alike."""
    leaf = x.clone().requires_grad_()
    result = right(leaf)
    expected = torch.autograd.grad((_counted(result, x) * result).sum(), leaf)[0]
    check_close(found, expected, f"the gradient by {name}")


def _counted(result: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """1, 2, 3, …, in the shape of ``result``, with dtype and device of ``x``."""
    count = torch.arange(1.0, 1.0 + result.numel(), dtype=x.dtype, device=x.device)
    return count.view(result.shape)


class count_storages(OperatorMode):
    """Count the new storages of ``least`` bytes or more that are made in a ``with`` block."""

    def __init__(self, least: int) -> None:
        super().__init__()
        self.least, self.count = least, 0

    def after(self, name: str, new_storages: list[int]) -> None:
        self.count += sum(size >= self.least for size in new_storages)
