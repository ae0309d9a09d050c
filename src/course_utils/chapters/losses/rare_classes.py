"""Losses where one class is rare."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.chapters.losses.numbers import check_number
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def imbalance_truth(
    logits: Tensor, target: Tensor, weight: float, gamma: float
) -> tuple[Tensor, Tensor, dict]:
    """The weighted focal loss, its gradient by the logits, and slips."""
    leaf = logits.detach().clone().requires_grad_()
    sign, weights = 2 * target - 1, 1 + (weight - 1) * target
    log_p, wrong = F.logsigmoid(sign * leaf), (-sign * leaf).sigmoid()
    right = -(wrong**gamma * log_p * weights).mean()
    one_sided = -((1 - leaf.sigmoid()) ** gamma * log_p * weights).mean()
    prices = wrong**gamma * -log_p
    pieces = [prices[target == kind].sum() / (target == kind).sum() for kind in (0, 1)]
    nan_words = "a mean over nothing is nan: there may be no target of a kind"
    if logits.abs().max() > 100:
        nan_words = "the log of a probability of 0, or inf times 0: stay with logits"
    slips = {
        "the mean is over all elements, not over weights": right * target.numel() / weights.sum(),
        "the weight belongs only where the target is 1": -(wrong**gamma * log_p).mean() * weight,
        "the factor belongs to both kinds of target, not to one alone": tuple(
            -(torch.where(target == kind, wrong**gamma, 1) * log_p * weights).mean()
            for kind in (0, 1)
        ),
        "p is the right answer's probability, 1 - sigmoid where the target is 0": one_sided,
        "the factor is 1 - p, not p": -((1 - wrong) ** gamma * log_p * weights).mean(),
        "gamma has no effect": -(log_p * weights).mean(),
        "gamma is an argument, and isn't always 2": -(wrong**2 * log_p * weights).mean(),
        "pos_weight has no effect": -(wrong**gamma * log_p).mean(),
        nan_words: math.nan,
        "p comes from the weighted price: p has no weight in it": (
            -((1 - (weights * log_p).exp()) ** gamma) * log_p * weights
        ).mean(),
        "the factor belongs to each price, before the mean": (wrong**gamma).mean()
        * -(log_p * weights).mean(),
        "the weight belongs to each price, before the mean": -(wrong**gamma * log_p).mean()
        * weights.mean(),
        "that has the wrong sign": -right,
        "that is the sum": right * target.numel(),
        "the mean is over all elements, not over the rows alone": (
            right * target.numel() / (len(target) if target.dim() else 1),
            right * (target.shape[-1] if target.dim() else 1),
        ),
        "the weight is on the wrong side: it belongs where the target is 1": -(
            wrong**gamma * log_p * (1 + (weight - 1) * (1 - target))
        ).mean(),
        "one mean over all elements, not one for each kind of target": (
            pieces[0] + weight * pieces[1]
        ),
        "sigmoid was applied twice": F.binary_cross_entropy_with_logits(leaf.sigmoid(), target),
    }
    return right.detach(), torch.autograd.grad(right, leaf)[0], slips


@ends_in_notebook
def check_imbalance(found: tuple, logits: Tensor, target: Tensor, *options: float) -> None:
    """Compare a weighted focal loss and its gradient by the logits with the right ones.

    ``options`` are ``pos_weight`` and ``gamma``, or none, where both were left out.
    """
    __tracebackhide__ = True
    weight, gamma = options or (1.0, 0.0)
    loss, gradient = found
    right, slope, slips = imbalance_truth(logits, target, weight, gamma)
    if not options:
        del slips["gamma is an argument, and isn't always 2"]
    what = f"imbalance(…, pos_weight={weight}, gamma={gamma})"
    what = what if options else "imbalance(logits, target)"
    # What a clamped probability costs is too little; the logarithm of 0 is infinite.
    likely = bool(torch.as_tensor(loss) < right) or not bool(torch.as_tensor(loss).isfinite())
    large = likely and bool((logits.abs() > 100).any())
    words = "is a probability clamped, or the argument of its log? stay with logits"
    guess = words if large else "" if options else "by default pos_weight is 1 and gamma is 0"
    check_number(loss, right, what, slips, dtype=logits.dtype, guess=guess)
    leaf, sign = logits.detach().clone().requires_grad_(), 2 * target - 1
    factor = (-sign * logits).sigmoid() ** gamma * (1 + (weight - 1) * target)
    (cut,) = torch.autograd.grad(-(factor * F.logsigmoid(sign * leaf)).mean(), leaf)
    if not torch.allclose(slope, cut, rtol=1e-3, atol=1e-6):
        off = torch.allclose(gradient, cut, rtol=1e-3, atol=1e-6)
        assert not off, f"{what}: (1 - p) ** gamma has a gradient, too: is it detached?"
    check_close(gradient, slope, f"the gradient of {what}", rtol=1e-3, atol=1e-6)


@ends_in_notebook
def check_way_back(recalibrate, logits: Tensor, weight: float) -> None:
    """Check the probabilities that an answer makes of a weighted model's logits."""
    __tracebackhide__ = True
    with forbid_changes(logits):
        found = recalibrate(logits, weight)
    what = f"recalibrate of a model trained with pos_weight={weight}"
    q = (logits.double() - math.log(weight)).sigmoid().to(logits)
    assert found is not None, f"{what} is None: is there an answer yet?"
    alike = getattr(found, "shape", None) == q.shape and found.dtype == q.dtype
    # Far from 0 a slip differs from what is right by less than rounding: it is named elsewhere.
    near = alike and torch.allclose(found, q, rtol=1e-4, atol=1e-6)
    if alike and not near and weight != 1:
        assert not torch.allclose(found, logits.sigmoid()), f"{what}: the weight is still in it"
        divided = torch.allclose(found, logits.sigmoid() / weight)
        assert not divided, f"{what}: the weight multiplied the odds, not the probability"
        p = logits.sigmoid()
        added = torch.allclose(found, p / (p + weight))
        assert not added, f"{what}: the odds are p / (1 - p), not p; divide these by the weight"
        twice = torch.allclose(found, (logits + math.log(weight)).sigmoid())
        assert not twice, f"{what}: the weight added log(w) to the logit; take it away"
        for words, off in {
            "take the natural logarithm of the weight": math.log10(weight),
            "take the natural logarithm of the weight; that is one of 1 + weight": math.log1p(
                weight
            ),
            "the weight multiplied the odds: to the logit it added its logarithm": weight,
        }.items():
            slip = (logits - off).sigmoid()
            told = torch.allclose(found, slip) and not torch.allclose(q, slip)
            assert not told, f"{what}: {words}"
        large = "exp of it is inf, or p is 1 and p / (1 - p) inf; stay with the logit"
        assert found.isfinite().all(), f"{what}: nan or inf for a large logit: {large}"
        logit = torch.allclose(found, logits - math.log(weight))
        assert not logit, f"{what}: these are logits; probabilities are asked for"
    check_close(found, q, what, rtol=1e-4, atol=1e-6)
    exact = logits.dtype != torch.float64 or torch.allclose(found, q, rtol=1e-9, atol=0)
    assert exact, f"{what}: it is near, but rounded on the way: is something float32?"


def skewed_set(seed: int, size: int) -> tuple[Tensor, Tensor]:
    """Points (size, 3), the last column 1, and 1.0 for about one in twenty of them."""
    generator = torch.Generator().manual_seed(seed)
    rare = (torch.rand(size, generator=generator) < 0.05).float()
    points = torch.randn(size, 2, generator=generator) + rare[:, None] * torch.tensor([1.5, 1.0])
    return F.pad(points, (0, 1), value=1.0), rare


def focal(logits: Tensor, target: Tensor, gamma: float = 2.0) -> Tensor:
    """The mean focal loss of logits for targets of 0.0 and 1.0."""
    price = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return ((1 - torch.exp(-price)) ** gamma * price).mean()


def fit_linear(x: Tensor, y: Tensor, loss: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The coefficients of the linear model ``x @ w`` with the smallest ``loss(x @ w, y)``."""
    w = torch.zeros(x.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS([w], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss(x @ w, y)
        value.backward()
        return value

    optimizer.step(closure)
    return w.detach()
