"""One number that is a loss: compared, with its gradient; and the names of what ran for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_utils.learner.checks import refuse_missing
from course_utils.learner.tracebacks import ends_in_notebook


@ends_in_notebook
def check_number(
    actual: Any,
    right: Tensor | float,
    what: str,
    slips: Mapping[str, Tensor | float] | None = None,
    *,
    tensor: bool = True,
    otherwise: str = "",
) -> None:
    """Compare one number with the right one.

    Args:
        actual: the learner's number.
        right: the right one; a ``nan`` equals a ``nan``.
        what: what was asked, as the message will call it.
        slips: words for known mistakes, each with the number that it would give.
        tensor: whether it has to be a tensor of shape ``()``; otherwise any number will do.
        otherwise: words for a wrong number that no slip would give.

    Raises:
        AssertionError: it is missing, no such number, or another one; with the words of the first
            slip that would give it.
    """
    __tracebackhide__ = True
    refuse_missing(actual, what)
    if tensor:
        kind = type(actual).__name__
        assert isinstance(actual, Tensor), f"{what} is of type {kind}, expected a torch.Tensor"
        shape = tuple(actual.shape)
        assert shape == (), f"{what} has shape {shape}, expected one number, a tensor of shape ()"
    try:
        value = actual.item() if hasattr(actual, "item") else float(actual)
    except (TypeError, ValueError, RuntimeError):
        raise AssertionError(f"{what} is {actual!r}, expected a number") from None
    right = _plain(right)
    if _same(value, right):
        return
    words = [words for words, slip in (slips or {}).items() if _same(value, _plain(slip))]
    reason = f" ({words[0]})" if words else f" ({otherwise})" if otherwise else ""
    raise AssertionError(f"{what}: expected {right:.5g}, got {value:.5g}{reason}")


def _plain(number: Tensor | float) -> float:
    return float(number.item() if isinstance(number, Tensor) else number)


def _same(one: float, other: float) -> bool:
    if one != one or other != other:
        return one != one and other != other
    return math.isclose(one, other, rel_tol=2e-4, abs_tol=2e-6)


@ends_in_notebook
def value_and_gradient(loss: Any, leaves: list[Tensor], name: str = "it") -> tuple:
    """A learner's loss, without its graph, and its gradients by ``leaves``.

    Raises:
        AssertionError: ``loss`` is no tensor, or hangs on no graph.
    """
    __tracebackhide__ = True
    assert loss is not None, f"{name} returned None: is there an answer yet?"
    kind = type(loss).__name__
    assert isinstance(loss, Tensor), f"{name} returned a value of type {kind}, not a tensor"
    lost = f"no gradient flows through what {name} returned: item, detach, a new tensor?"
    assert loss.requires_grad, lost
    return loss.detach(), *torch.autograd.grad(loss.sum(), leaves, materialize_grads=True)


class names_of_calls(TorchFunctionMode):
    """A ``with`` block that notes the names of PyTorch's functions that are called in it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))
