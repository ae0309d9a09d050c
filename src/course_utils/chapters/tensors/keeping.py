"""What an answer keeps: the gradient's way back, and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from course_utils.learner.calls import watched
from course_utils.learner.checks import check_close
from course_utils.learner.gradients import gradient_of
from course_utils.learner.operators import OperatorMode
from course_utils.learner.tracebacks import ends_in_notebook


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
