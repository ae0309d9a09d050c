"""Losses of embeddings: triplets and InfoNCE."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.chapters.losses.numbers import check_number
from course_utils.learner.checks import check_close
from course_utils.learner.operators import count_operators
from course_utils.learner.tracebacks import ends_in_notebook


def _pairs(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Distances (batch, batch), and which pairs are of one class and of two."""
    same = labels[:, None] == labels
    own = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    return (embeddings[:, None] - embeddings).norm(dim=2), own, ~same


def _extremes(embeddings: Tensor, labels: Tensor, margin: float) -> Tensor:
    """The price of the farthest pair of one class and the nearest of two."""
    distance, own, other = _pairs(embeddings.detach(), labels)
    if not own.any() or not other.any():
        return distance.new_zeros(())
    return (distance[own].max() - distance[other].min() + margin).clamp(min=0)


def _triplets(embeddings: Tensor, labels: Tensor, margin: float) -> Tensor:
    """The mean price of all triplets."""
    distance, own, other = _pairs(embeddings.detach(), labels)
    prices = (distance[:, :, None] - distance[:, None] + margin).clamp(min=0)
    return prices[own[:, :, None] & other[:, None]].sum() / max(
        1, int((own[:, :, None] & other[:, None]).sum())
    )


def _hardest(
    embeddings,
    labels,
    margin,
    far=max,
    near=min,
    itself=False,
    power=1,
    order=2,
    apart=False,
    floor=0.0,
    added=0.0,
) -> Tensor:
    """The price of each anchor that has a positive and a negative; switches for what goes wrong."""
    names, prices = labels.tolist(), []
    for n, row in enumerate(embeddings):
        distance = [torch.linalg.vector_norm(row - other, order) ** power for other in embeddings]
        distance = [(one.square() + added).sqrt() for one in distance] if added else distance
        same = [k for k, name in enumerate(names) if name == names[n] and (itself or k != n)]
        same = [k for k in same if not apart or distance[k] > 0]
        others = [k for k, name in enumerate(names) if name != names[n]]
        if same and others:
            gap = far(distance[k] for k in same) - near(distance[k] for k in others)
            prices.append((gap + margin).clamp(min=floor))
    return torch.stack(prices) if prices else embeddings.new_zeros(1)


def _average(distances: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(distances)).mean()


def triplet_truth(embeddings: Tensor, labels: Tensor, margin: float) -> tuple[Tensor, dict]:
    """The triplet loss with the hardest positive and negative of each anchor, and slips."""

    def mean(**switches: Any) -> Tensor:
        return _hardest(embeddings, labels, margin, **switches).mean()

    prices = _hardest(embeddings, labels, margin)
    costly = (prices > 0).sum().clamp(min=1)
    slips = {
        "squared distances; Euclidean ones are asked for": mean(power=2),
        "sums of absolute differences; Euclidean distances are asked for": mean(order=1),
        "the nearest of the own class; the hardest is the farthest": mean(far=min),
        "the farthest of the others; the hardest is the nearest": mean(near=max),
        "both the wrong way round: that is the easiest triplet": mean(far=min, near=max),
        "the hardest of each kind counts, not the mean of all": (
            mean(near=_average),
            mean(far=_average),
            mean(far=_average, near=_average),
        ),
        "an anchor is not its own positive": mean(itself=True),
        "anchors without positive or negative are left out of the mean": prices.sum() / len(labels),
        "the mean is over all such anchors, also those that cost 0": prices.sum() / costly,
        "that is the sum": prices.sum(),
        "the embeddings were scaled to length 1; take the distances as they are": _hardest(
            F.normalize(embeddings.detach(), dim=1), labels, margin
        ).mean(),
        "the margin is the argument's, not 1": _hardest(embeddings, labels, 1.0).mean(),
        "each anchor has its own hardest; those of the whole batch are something else": _extremes(
            embeddings, labels, margin
        ),
        "the mean is over the anchors, each with its hardest, not over all triplets": _triplets(
            embeddings, labels, margin
        ),
        "two equal embeddings of one class are a pair, too: a distance of 0 tells no anchor": (
            _hardest(embeddings, labels, margin, apart=True).mean()
        ),
        "a price is never negative: cut each at 0, before the mean": tuple(
            cut(_hardest(embeddings, labels, margin, floor=-math.inf).mean())
            for cut in (lambda mean: mean, lambda mean: mean.clamp(min=0))
        ),
        "a mean over no anchor is nan; it should be 0 here": math.nan,
        "a 0 is the smallest: fill what doesn't count with inf": mean(
            near=lambda distances: 0 * min(distances)
        ),
        "something is added under the root: equal embeddings are 0 apart": tuple(
            mean(added=added) for added in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
        ),
        "fill what doesn't count with inf: distances may be larger than any number": tuple(
            mean(near=lambda distances, most=most: min(distances).clamp(max=most))
            for most in (10.0, 100.0, 999.0, 1e3, 9999.0, 1e4, 1e5)
        ),
    }
    return prices.mean(), slips


def _slope(embeddings: Tensor, labels: Tensor, margin: float, held: str = "") -> Tensor | None:
    """The triplet loss's gradient, with what is ``held`` taken as constant; None on a kink or tie.

    ``held`` is "", "anchors", "others" or "negatives".
    """
    names, leaf = labels.tolist(), embeddings.detach().clone().requires_grad_()
    total, kept = leaf.new_zeros(()), 0
    for n in range(len(names)):
        rows = leaf if held != "others" else leaf.detach()
        row = leaf[n] if held != "anchors" else leaf[n].detach()
        away = torch.linalg.vector_norm(row - rows, dim=1)
        own = [k for k, name in enumerate(names) if name == names[n] and k != n]
        others = [k for k, name in enumerate(names) if name != names[n]]
        if not own or not others:
            continue
        kept += 1
        far = max(own, key=lambda k: away[k].item())
        near = min(others, key=lambda k: away[k].item())
        ties = sum(abs(away[k].item() - away[far].item()) < 1e-4 for k in own)
        ties += sum(abs(away[k].item() - away[near].item()) < 1e-4 for k in others)
        gap = away[far] - (away[near].detach() if held == "negatives" else away[near]) + margin
        if ties > 2 or abs(gap.item()) < 1e-4 or min(away[far].item(), away[near].item()) < 1e-4:
            return None
        total = total + gap.clamp(min=0)
    if not kept or not total.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(total / kept, leaf)[0]


@ends_in_notebook
def check_triplets(found: tuple, embeddings: Tensor, labels: Tensor, margin: float) -> None:
    """Compare a hard triplet loss and its gradient with the right ones.

    ``found`` holds the loss and its gradient by the embeddings, which may be None where the loss
    is 0. Where two are equally hard, or a price is just 0, the gradient has only to be finite.
    """
    __tracebackhide__ = True
    loss, gradient = found
    right, slips = triplet_truth(embeddings, labels, margin)
    words = "|a|² + |b|² - 2ab loses its digits far from the origin: subtract first, then square"
    away = len(labels) > 0 and bool(embeddings.abs().min() > 10 * embeddings.std())
    guess = words if away else ""
    # F.pairwise_distance adds 1e-6 to each difference.
    check_number(loss, right, "the loss", slips, dtype=embeddings.dtype, guess=guess, exact=1e-6)
    graph = gradient is not None or not right > 0
    assert graph, "no gradient flows back to the embeddings: item, detach, or a new tensor?"
    if gradient is None:
        return
    finite = gradient.isfinite().all()
    assert finite, "the gradient has a nan or inf: the slope of a square root at 0 is infinite"
    slope = _slope(embeddings, labels, margin)
    if slope is None:
        return
    words = {
        "others": "the anchor gets its gradient, its positive and negative don't: detached?",
        "negatives": "no gradient flows to the negatives: detached?",
        "anchors": "positive and negative get their gradient, the anchor doesn't: detached?",
    }
    for held, reason in words.items():
        cut = _slope(embeddings, labels, margin, held)
        assert cut is not None, "kinks and ties are the same, whatever is held"
        same = torch.allclose(gradient, cut, rtol=1e-3, atol=1e-5)
        assert not same or torch.allclose(cut, slope, rtol=1e-3, atol=1e-5), reason
    check_close(gradient, slope, "the gradient by the embeddings", rtol=1e-3, atol=1e-5)


@ends_in_notebook
def check_info_nce(found: tuple, first: Tensor, second: Tensor, temperature: float) -> None:
    """Compare an InfoNCE and its gradients by both arguments with the right ones."""
    __tracebackhide__ = True
    loss, *gradients = found
    leaves = [part.detach().clone().requires_grad_() for part in (first, second)]
    right, slips = info_nce_truth(*leaves, temperature)
    words = "exp(1 / temperature) is too large: logsumexp, log_softmax or cross_entropy"
    otherwise = "" if loss.isfinite() else words
    check_number(loss, right.detach(), "info_nce", slips, dtype=first.dtype, otherwise=otherwise)
    slopes = torch.autograd.grad(right, leaves)
    a, b = (leaf / leaf.detach().norm(dim=1, keepdim=True) for leaf in leaves)
    fixed = F.cross_entropy(a @ b.T / temperature, torch.arange(len(a), device=a.device))
    fixed = torch.autograd.grad(fixed, leaves)
    for name, mine, slope, cut in zip(("first", "second"), gradients, slopes, fixed, strict=True):
        what = f"info_nce's gradient by {name}"
        lost = slope.abs().max() > 1e-3 and not mine.any()
        assert not lost, f"{what} is 0: is {name} detached?"
        lost = torch.allclose(mine, cut, 1e-3, 1e-4) and not torch.allclose(slope, cut, 1e-3, 1e-4)
        assert not lost, f"{what}: a row's length has a gradient, too: is it detached?"
        check_close(mine, slope, what, rtol=1e-3, atol=1e-4)


@ends_in_notebook
def check_no_loop(info_nce: Callable, device: torch.device) -> None:
    """Check that about as many operators run for twenty rows as for four."""
    __tracebackhide__ = True
    counted = []
    for rows in (4, 20):
        pair = torch.arange(1.0, 6 * rows + 1, device=device).sin().view(2, rows, 3)
        with count_operators() as counts:
            info_nce(*pair, 0.5)
        counted.append(sum(counts.values()))
    assert counted[1] <= counted[0] + 8, f"operators: {counted}: is there a loop over rows?"


def info_nce_truth(first: Tensor, second: Tensor, temperature: float) -> tuple[Tensor, dict]:
    """The price of finding each row's partner by cosines, and slips."""
    partner = torch.arange(len(first), device=first.device)
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    right = F.cross_entropy(a @ b.T / temperature, partner)
    other = F.cross_entropy(b @ a.T / temperature, partner)
    raw = F.cross_entropy(first @ second.T / temperature, partner)
    own = partner[:, None] == partner
    inner = (a @ a.T).masked_fill(own, -torch.inf)
    first_0, second_0 = F.normalize(first, dim=0), F.normalize(second, dim=0)
    both = F.cross_entropy(torch.cat([a @ b.T, inner], dim=1) / temperature, partner)
    slips = {
        "cosines are asked for: divide each row by its length": raw,
        "a row's length is asked for, over dim=1; that is each column's": tuple(
            F.cross_entropy(one @ two.T / temperature, partner)
            for one, two in ((first_0, second_0), (a, second_0), (first_0, b))
        ),
        "the partner is a candidate, too": (
            (a @ b.T / temperature).masked_fill(own, -torch.inf).logsumexp(dim=1)
            - (a * b).sum(dim=1) / temperature
        ).mean(),
        "cosines are asked for, not distances": F.cross_entropy(
            -torch.linalg.vector_norm(first[:, None] - second, dim=2) / temperature, partner
        ),
        "divide by the temperature, don't multiply": F.cross_entropy(
            a @ b.T * temperature, partner
        ),
        "the temperature has no effect": F.cross_entropy(a @ b.T, partner),
        "the temperature is the argument's, however small it is": tuple(
            F.cross_entropy(a @ b.T / least, partner)
            for least in (0.02, 0.05, 0.07, 0.1)
            if least > temperature
        ),
        "the rows of first look for partners in second; that is the other way round": other,
        "that is the mean of both directions": (right + other) / 2,
        "the candidates are the rows of second alone, not those of first": both,
        "that is the sum": right * len(first),
    }
    return right, slips


def photos_of_persons() -> Tensor:
    """Ten "photos" (6 persons, 10, 8) of each of six persons: points around a centre."""
    generator = torch.Generator().manual_seed(1)
    centres = torch.randn(6, 1, 8, generator=generator)
    return centres + 0.3 * torch.randn(6, 10, 8, generator=generator)
