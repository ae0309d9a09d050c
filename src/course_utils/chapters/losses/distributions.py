"""How far apart distributions are, and what a loss estimates."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.chapters.losses.numbers import check_number
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close, check_raises
from course_utils.learner.tracebacks import ends_in_notebook


def kl_truths(p: Tensor, q: Tensor) -> dict[str, tuple[Tensor, dict]]:
    """KL(p‖q) and KL(q‖p), the means over the rows, each with slips."""
    one, other = (
        (torch.special.xlogy(a, a) - torch.special.xlogy(a, b)).sum(dim=1).mean()
        for a, b in ((p, q), (q, p))
    )
    return {
        "KL(p‖q)": (one, _kl_slips(one, other, p, q)),
        "KL(q‖p)": (other, _kl_slips(other, one, q, p)),
    }


def _kl_slips(right: Tensor, other: Tensor, p: Tensor, q: Tensor) -> dict:
    finite = (p * (p.log() - q.log())).nan_to_num(0, 0, 0).sum(dim=1).mean()
    return {
        "an inf was made 0: what the second rules out costs inf": finite,
        "0 · inf and inf - inf are nan: leave out what is impossible by the first": math.nan,
        "that is the other direction": other,
        "the mean is over rows, not over all entries": right / p.shape[1],
        "that is the sum over the rows": right * len(p),
        "a divergence is never negative: the sign is wrong": -right,
        "in bits: take natural logarithms": right / math.log(2),
        "that is the mean of both directions": (right + other) / 2,
    }


# A prediction's and a target's, some of which would broadcast.
_UNEQUAL_SHAPES = (
    *(((3, 1), (3,)), ((1,), (3,)), ((3,), (1,)), ((), (1,)), ((1,), ())),
    *(((1, 3), (3, 1)), ((1, 3), (2, 3)), ((2, 3), (1, 3)), ((2, 3), (2, 1))),
    *(((3,), (4,)), ((2, 3), (4, 3))),
)


def pinball_truth(prediction: Tensor, target: Tensor, q: float) -> tuple[Tensor, Tensor, dict]:
    """The mean pinball loss, its gradient by the prediction, and slips."""
    above = (target - prediction).double()
    right = torch.where(above > 0, q * above, (q - 1) * above).mean()
    swapped = torch.where(above > 0, (1 - q) * above, -q * above).mean()
    smaller = torch.minimum(q * above, (q - 1) * above).mean()
    slips = {
        "the sides are swapped: a target above the prediction costs q": swapped,
        "that is the sum; the mean is asked for": right * above.numel(),
        "twice too much: at quantile 0.5 it is half the absolute error": 2 * right,
        "positive and negative errors cancel: a price is never negative": (q * above).mean(),
        "the smaller of the two products; the larger one is right": smaller,
        "that is the absolute error: nothing is tilted": above.abs().mean(),
        "that is a sum over each row: the mean is over all elements": (
            right * above.numel() / (len(above) if above.dim() else 1),
            right * (above.shape[-1] if above.dim() else 1),
        ),
        "divide once, by all: that is a mean of those above plus a mean of those below": sum(
            (rise * above[side]).mean()
            for rise, side in ((q, above > 0), (q - 1, above <= 0))
            if side.any()
        ),
        "that has the slopes of the price, not its values": (
            torch.where(above > 0, -q, 1 - q) * prediction
        ).mean(),
        "below the prediction the price is (1 - q) times the distance, never negative": torch.where(
            above > 0, q * above, (1 - q) * above
        ).mean(),
        "a mean over nothing is nan: there may be no target above, or none below": math.nan,
        "squares are tilted here: a pinball price grows straight": torch.where(above > 0, q, 1 - q)
        .mul(above.square())
        .mean(),
    }
    slope = torch.where(above > 0, -q, 1 - q).to(prediction) / above.numel()
    return right, slope, slips


@ends_in_notebook
def check_pinball(found: tuple, prediction: Tensor, target: Tensor, q: float) -> None:
    """Compare a pinball loss and its gradient by the prediction with the right ones."""
    __tracebackhide__ = True
    (loss, gradient), (right, slope, slips) = found, pinball_truth(prediction, target, q)
    # torch.where of two plain numbers is float32: q may be rounded, the tensors may not.
    exact = 1e-9 if torch.tensor(q).item() == q else 1e-6
    what = f"quantile {q}: the loss"
    check_number(loss, right, what, slips, dtype=prediction.dtype, exact=exact)
    check_close(gradient, slope, f"quantile {q}: the gradient", rtol=1e-4, atol=1e-6)


@ends_in_notebook
def check_unequal(robust_regression: Callable, case: Callable, device: torch.device) -> None:
    """Check that two shapes that differ are refused."""
    __tracebackhide__ = True
    for shape, other in _UNEQUAL_SHAPES:
        with case(f"a prediction of shape {shape}, a target of shape {other}"):
            zeros = [torch.zeros(s, dtype=torch.float64, device=device) for s in (shape, other)]
            check_raises(ValueError, lambda zeros=zeros: robust_regression(*zeros, 0.5))


@ends_in_notebook
def check_kl_directions(kl_directions, p: Tensor, q: Tensor) -> None:
    """Compare an answer's two divergences with the right ones and with what known slips give."""
    log_p, log_q = p.log(), q.log()
    with forbid_changes(log_p, log_q):
        pair = kl_directions(log_p, log_q)
    two = isinstance(pair, (tuple, list)) and len(pair) == 2
    blank = "is there an answer yet?" if pair is None else "a tuple of two tensors is asked for"
    assert two, f"it returned {pair!r}, not two tensors: {blank}"
    for found, (name, (right, slips)) in zip(pair, kl_truths(p, q).items(), strict=True):
        endless = "what is possible by the first and impossible by the second costs inf"
        check_number(
            found, right, name, slips, dtype=p.dtype, otherwise=endless if right.isinf() else ""
        )


@ends_in_notebook
def check_recipe(smoothing_recipe, e: float, classes: int, recipe: str) -> None:
    """Compare a factor and a smoothing with those of a recipe, and with what known slips give."""
    __tracebackhide__ = True
    try:
        pair = smoothing_recipe(e, classes, recipe)
    except ZeroDivisionError as error:
        where = "e may be 0" if e == 0 else "the smoothing may be 1, and 1 minus it 0"
        words = f"raised ZeroDivisionError: {error}; {where}: divide by something else"
        raise AssertionError(words) from None
    two = isinstance(pair, (tuple, list)) and len(pair) == 2
    blank = "is there an answer yet?" if pair is None else "a tuple of two numbers is asked for"
    assert two, f"it returned {pair!r}, not (factor, smoothing): {blank}"
    spread, rows = e * classes / (classes - 1), 1 + e / (classes - 1)
    factor, smoothing = (1, spread) if recipe == "others" else (rows, spread / rows)
    known = {
        "what do the recipe's rows sum to?": 1,
        "that is one over the factor": 1 / rows,
        "that is the other recipe's factor": rows if recipe == "others" else 1,
        "each class gets e / (C - 1), not e / C": 1 + e / classes,
        "the factor comes first, then the smoothing": smoothing,
    }
    check_number(pair[0], factor, "the factor", known, tensor=False)
    known = {
        "PyTorch's share goes to all classes, the right one too": e,
        "that leads from PyTorch to the recipe, not back": e * (classes - 1) / classes,
        "the factor multiplies the equal shares as well: divide by it": spread,
        "1 - d is only near 1 / (1 + d): divide by the factor": spread * (1 - e / (classes - 1)),
        "e is not yet the sum of all equal shares, which is e C / (C - 1)": e / rows,
        "that is what one class gets; the smoothing is what all get": e / (classes - 1),
        "it may be as large as 1: don't cut it off": tuple(
            min(smoothing, most) for most in (0.5, 0.75, 0.9, 0.95, 0.99)
        ),
    }
    check_number(pair[1], smoothing, "the smoothing", known, tensor=False)
