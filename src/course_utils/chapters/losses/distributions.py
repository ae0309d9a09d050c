"""How far apart distributions are, and what a loss estimates."""

from __future__ import annotations

import math

import torch
from torch import Tensor


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
    }
    slope = torch.where(above > 0, -q, 1 - q).to(prediction) / above.numel()
    return right, slope, slips
