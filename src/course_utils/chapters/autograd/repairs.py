"""Exercise 5.8: functions with in-place edits, and their repair."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType

import torch
from torch import Tensor

import course_utils
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def gradient_by_backward(function: Callable, upstream: Tensor, x: Tensor) -> Tensor:
    """The gradient of ``x`` as autograd has it."""
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(function(leaf), leaf, upstream)[0]


def numeric_gradient(function: Callable, upstream: Tensor, x: Tensor) -> Tensor:
    """The gradient of ``x`` by nudging each of its entries a little up and down, in float64."""
    nudges, slopes = 1e-5 * torch.eye(len(x), dtype=torch.float64, device=x.device), []
    with torch.no_grad():
        for nudge in nudges:
            high, low = function(x.double() + nudge), function(x.double() - nudge)
            slopes.append(((high - low) * upstream).sum() / 2e-5)
    return torch.stack(slopes).to(x.dtype)


def verdict_on(function: Callable) -> str:
    """Whether a function's gradient is ``"fine"``, ``"wrong"``, or an ``"error"``."""
    x, g = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([1.0, -1.0, 2.0])
    try:
        gradient = gradient_by_backward(function, g, x)
    except RuntimeError:
        return "error"
    right = torch.allclose(gradient, numeric_gradient(function, g, x), atol=1e-4)
    return "fine" if right else "wrong"


@ends_in_notebook
def check_repair(try_repaired: Callable, original: FunctionType, x: Tensor) -> None:
    """Compare a repaired function with the original: values, gradient, and ``x`` left alone.

    Args:
        try_repaired: from a name, ``x`` and the upstream gradient to words, or to the values, the
            gradient and whether ``x`` was changed.
        original: the function that edits in place.
        x: 1-D.
    """
    g = torch.linspace(-1, 2, len(x), dtype=x.dtype, device=x.device)
    with torch.no_grad():
        values = original(x.clone())
    answer = try_repaired(original.__name__, x, g)
    assert not isinstance(answer, str), answer
    assert not answer[2], "it changes its argument x: leave it as it was, without a hook or a .grad"
    loose, kept = 1e-12 if x.dtype == torch.float64 else 1e-5, "what the edit writes is part of it"
    check_close(answer[0], values, "its result", rtol=loose, atol=loose, because=kept)
    again = try_repaired(original.__name__, x, g)
    assert not isinstance(again, str), f"called again: {again}"
    stays = "what one call keeps or edits must not count in the next"
    check_close(again[0], values, "called again, its result", rtol=loose, atol=loose, because=stays)
    truth = numeric_gradient(original, g, x)
    if x.isnan().any() or not truth.isfinite().all():  # 0 · nan, inf - inf: nothing to compare with
        return
    try:
        check_close(answer[1], truth, "the gradient of x", rtol=1e-4, atol=1e-4)
    except AssertionError as error:
        words = "is part of its way detached, or written through .data?"
        raise AssertionError(f"{error}; {words}") from None


@ends_in_notebook
def check_repairs(try_repaired: Callable, broken: Iterable[FunctionType], *inputs: Tensor) -> None:
    """:func:`check_repair` for several functions; of each the first input that it fails."""
    with every_case() as case:
        for original in broken:
            for x in inputs:
                failures = len(case.failures)
                kind = str(x.dtype).removeprefix("torch.")
                kind += ", some numbers equal" if len(x.unique()) < len(x) else ""
                kind += ", far from 0" if x.abs().max() > 100 else ""
                kind += ", the first not finite" if not x[0].isfinite() else ""
                with case(f"repaired[{original.__name__!r}] with x of {len(x)}, {kind}"):
                    check_repair(try_repaired, original, x.to(course_utils.device))
                if len(case.failures) > failures:
                    break
