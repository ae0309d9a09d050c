"""What the checks of the chapter on losses compare with: right values, and those of known slips.

A loss is one number. When it is wrong, the number often tells which mistake was made: so a check
computes what each well-known slip would give, and :func:`check_number` says the words for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.overrides import TorchFunctionMode

from course_utils.learner.checks import MISSING, check_close
from course_utils.learner.tracebacks import ends_in_notebook

Sequences = list[tuple[Tensor, Tensor]]


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
    if actual is None or actual is ...:
        raise AssertionError(MISSING.format(what))
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


# Sequences


def priced(*prices: float, device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """A sequence of two classes (logits, targets) whose positions cost ``prices``."""
    price = torch.tensor(prices, device=device)
    logits = torch.stack([-price, torch.log(-torch.expm1(-price))], dim=1)
    return logits, torch.zeros(len(prices), dtype=torch.long, device=device)


def padded_batch(sequences: Sequences, fill: float = 0.0, wrong: int = 0) -> tuple[Tensor, ...]:
    """Sequences as one batch (logits, targets, lengths), with ``fill`` and ``wrong`` as padding."""
    logits, targets = zip(*sequences, strict=True)
    lengths = torch.tensor([len(part) for part in targets], device=targets[0].device)
    padded = pad_sequence(list(logits), batch_first=True, padding_value=fill)
    numbers = pad_sequence(list(targets), batch_first=True, padding_value=wrong)
    return padded, numbers, lengths


def sequence_truths(groups: list[Sequences]) -> Iterator[tuple]:
    """For "token" and "sequence": the mean loss, its gradients by the padded logits, slips."""
    leaves = [[logits.detach().clone().requires_grad_() for logits, _ in group] for group in groups]
    every, own, batch_means, places = [], [], [], 0
    for group, group_leaves in zip(groups, leaves, strict=True):
        prices = [
            F.cross_entropy(leaf, targets, reduction="none")
            for leaf, (_, targets) in zip(group_leaves, group, strict=True)
        ]
        every += prices
        own += [price.mean() for price in prices if len(price)]
        batch_means.append(torch.cat(prices).mean())
        places += len(group) * max(map(len, prices))
    total = torch.cat(every).sum()
    means = {"token": torch.cat(every).mean(), "sequence": torch.stack(own).mean()}
    flat = [leaf for group in leaves for leaf in group]
    for per, right in means.items():
        found = torch.autograd.grad(right, flat, retain_graph=True, materialize_grads=True)
        rest = iter(found)
        gradients = [pad_sequence([next(rest) for _ in part], batch_first=True) for part in groups]
        slips = {
            "a mean of the batches' means depends on the split": sum(batch_means) / len(groups),
            "that is the other one of the two means": means[
                "token" if per != "token" else "sequence"
            ],
            "divided by all positions, padded ones too": total / places,
            "empty sequences are counted": sum(own) / len(every),
            "that is a sum, not yet a mean": total if per == "token" else sum(own),
        }
        yield per, right.detach(), gradients, slips


# Cross-entropy


@ends_in_notebook
def check_cross_entropy(found: tuple, logits: Tensor, target: Tensor, options: dict) -> None:
    """Compare a loss, its gradient and the library's losses that it called with PyTorch's."""
    __tracebackhide__ = True
    value, gradient, used = found
    leaf = logits.clone().requires_grad_()
    right = F.cross_entropy(leaf, target, **_taken(options, target))
    (slope,) = torch.autograd.grad(right, leaf)
    assert not used, f"it calls the library's {used[0]}: build it from logsumexp or log_softmax"
    right, finite = right.detach(), bool(value.isfinite().all())
    words = "" if finite or right.isnan() else " (exp of a large score, or log of a tiny number?)"
    slips = _cross_entropy_slips(logits, target, options, right)
    nothing = "no row counts, and a mean over nothing is 0 / 0: nan" if right.isnan() else ""
    check_number(value, right, f"the loss{words}", {} if nothing else slips, otherwise=nothing)
    if not right.isnan():
        check_close(gradient, slope, "the gradient by the logits", rtol=1e-4, atol=1e-6)


def _taken(options: dict, target: Tensor) -> dict:
    """The options that count for this target: the library refuses to ignore probabilities."""
    soft = target.is_floating_point()
    return {name: part for name, part in options.items() if not (soft and name == "ignore_index")}


def _cross_entropy_slips(logits: Tensor, target: Tensor, options: dict, right: Tensor) -> dict:
    def loss(logits: Tensor = logits, target: Tensor = target, **other: Any) -> Tensor:
        return F.cross_entropy(logits, target, **_taken({**options, **other}, target))

    smooth, weight = options.get("label_smoothing", 0.0), options.get("weight")
    (rows, classes), total = logits.shape, loss(reduction="sum")
    slips = {
        "softmax was applied twice": loss(logits.softmax(dim=1)),
        "that is the sum; the mean is asked for": total,
        "that has the wrong sign": -right,
    }
    if smooth and classes > 1:
        old = min(1.0, smooth * classes / (classes - 1))
        words = "every class gets smoothing / C, the right one too; not smoothing / (C - 1)"
        slips[words] = loss(label_smoothing=old)
        slips["the smoothing is missing"] = loss(label_smoothing=0.0)
    if weight is not None:
        slips["the weights are missing"] = loss(weight=None)
    if target.is_floating_point():
        if weight is not None:
            share = (target * weight).sum()
            slips["with soft targets, divide by the number of rows"] = right * rows / share
        if "ignore_index" in options:
            kept = target.argmax(dim=1) != options["ignore_index"]
            words = "probabilities are no class numbers: ignore_index leaves no row of them out"
            slips[words] = loss(logits[kept], target[kept])
            slips[words + ". "] = loss(logits[kept], target[kept]) * kept.sum() / rows
        return slips
    kept = target != options.get("ignore_index", -100)
    slips["divided by all rows: what belongs below the fraction bar?"] = total / rows
    slips["divided by how many rows count, not by their weights"] = total / kept.sum()
    if weight is not None:
        slips["divided by the sum of all weights, not of the targets' weights"] = (
            total / weight.sum()
        )
        everyone = weight[target.clamp(min=0)].sum()
        slips["the weights of ignored rows are below the fraction bar"] = total / everyone
        spread = (1 - smooth) * F.one_hot(target[kept], classes) + smooth / classes
        words = "below the fraction bar stand the weights of the targets, not smoothed"
        slips[words] = total / (spread * weight).sum()
    slips["ignored rows don't count"] = loss(target=target.clamp(min=0), ignore_index=-1)
    return slips


# Rare classes


def imbalance_truth(
    logits: Tensor, target: Tensor, weight: float, gamma: float
) -> tuple[Tensor, Tensor, dict]:
    """The weighted focal loss, its gradient by the logits, and slips."""
    leaf = logits.detach().clone().requires_grad_()
    sign, weights = 2 * target - 1, 1 + (weight - 1) * target
    log_p, wrong = F.logsigmoid(sign * leaf), (-sign * leaf).sigmoid()
    right = -(wrong**gamma * log_p * weights).mean()
    one_sided = -((1 - leaf.sigmoid()) ** gamma * log_p * weights).mean()
    slips = {
        "the mean is over all elements, not over weights": right * target.numel() / weights.sum(),
        "the weight belongs only where the target is 1": -(wrong**gamma * log_p).mean() * weight,
        "p is the right answer's probability, 1 - sigmoid where the target is 0": one_sided,
        "the factor is 1 - p, not p": -((1 - wrong) ** gamma * log_p * weights).mean(),
        "gamma has no effect": -(log_p * weights).mean(),
        "pos_weight has no effect": -(wrong**gamma * log_p).mean(),
        "the log of a probability of 0, or inf times 0: stay with logits": math.nan,
        "p comes from the weighted price: p has no weight in it": (
            -((1 - (weights * log_p).exp()) ** gamma) * log_p * weights
        ).mean(),
        "that has the wrong sign": -right,
        "that is the sum": right * target.numel(),
        "sigmoid was applied twice": F.binary_cross_entropy_with_logits(leaf.sigmoid(), target),
    }
    return right.detach(), torch.autograd.grad(right, leaf)[0], slips


@ends_in_notebook
def check_imbalance(
    found: tuple, logits: Tensor, target: Tensor, weight: float, gamma: float
) -> None:
    """Compare a weighted focal loss and its gradient by the logits with the right ones."""
    __tracebackhide__ = True
    loss, gradient = found
    right, slope, slips = imbalance_truth(logits, target, weight, gamma)
    what = f"imbalance(…, pos_weight={weight}, gamma={gamma})"
    large = bool((logits.abs() > 100).any())
    words = "is a probability clamped, or the argument of its log? stay with logits"
    check_number(loss, right, what, slips, otherwise=words if large else "")
    leaf, sign = logits.detach().clone().requires_grad_(), 2 * target - 1
    factor = (-sign * logits).sigmoid() ** gamma * (1 + (weight - 1) * target)
    (cut,) = torch.autograd.grad(-(factor * F.logsigmoid(sign * leaf)).mean(), leaf)
    if not torch.allclose(slope, cut, rtol=1e-3, atol=1e-6):
        off = torch.allclose(gradient, cut, rtol=1e-3, atol=1e-6)
        assert not off, f"{what}: (1 - p) ** gamma has a gradient, too: is it detached?"
    check_close(gradient, slope, f"the gradient of {what}", rtol=1e-3, atol=1e-6)


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


# Distributions, regression


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


# Embeddings


def _hardest(embeddings, labels, margin, far=max, near=min, itself=False, power=1) -> Tensor:
    """The price of each anchor that has a positive and a negative; switches for what goes wrong."""
    names, prices = labels.tolist(), []
    for n, row in enumerate(embeddings):
        distance = [torch.linalg.vector_norm(row - other) ** power for other in embeddings]
        same = [k for k, name in enumerate(names) if name == names[n] and (itself or k != n)]
        others = [k for k, name in enumerate(names) if name != names[n]]
        if same and others:
            gap = far(distance[k] for k in same) - near(distance[k] for k in others)
            prices.append((gap + margin).clamp(min=0))
    return torch.stack(prices) if prices else embeddings.new_zeros(1)


def triplet_truth(embeddings: Tensor, labels: Tensor, margin: float) -> tuple[Tensor, dict]:
    """The triplet loss with the hardest positive and negative of each anchor, and slips."""

    def mean(**switches: Any) -> Tensor:
        return _hardest(embeddings, labels, margin, **switches).mean()

    prices = _hardest(embeddings, labels, margin)
    costly = (prices > 0).sum().clamp(min=1)
    slips = {
        "squared distances; Euclidean ones are asked for": mean(power=2),
        "the nearest of the own class; the hardest is the farthest": mean(far=min),
        "the farthest of the others; the hardest is the nearest": mean(near=max),
        "both the wrong way round: that is the easiest triplet": mean(far=min, near=max),
        "an anchor is not its own positive": mean(itself=True),
        "anchors without positive or negative are left out of the mean": prices.sum() / len(labels),
        "the mean is over all such anchors, also those that cost 0": prices.sum() / costly,
        "that is the sum": prices.sum(),
        "a mean over no anchor is nan; it should be 0 here": math.nan,
    }
    return prices.mean(), slips


def _slope(embeddings: Tensor, labels: Tensor, margin: float, held: str = "") -> Tensor | None:
    """The triplet loss's gradient, with what is ``held`` taken as constant; None on a kink or tie.

    ``held`` is "", "others" or "negatives".
    """
    names, leaf = labels.tolist(), embeddings.detach().clone().requires_grad_()
    total, kept = leaf.new_zeros(()), 0
    for n in range(len(names)):
        rows = leaf if held != "others" else leaf.detach()
        away = torch.linalg.vector_norm(leaf[n] - rows, dim=1)
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
    check_number(loss, right, "the loss", slips)
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
    check_number(loss, right.detach(), "info_nce", slips, otherwise=otherwise)
    slopes = torch.autograd.grad(right, leaves)
    for name, mine, slope in zip(("first", "second"), gradients, slopes, strict=True):
        what = f"info_nce's gradient by {name}"
        lost = slope.abs().max() > 1e-3 and not mine.any()
        assert not lost, f"{what} is 0: is {name} detached?"
        check_close(mine, slope, what, rtol=1e-3, atol=1e-4)


def info_nce_truth(first: Tensor, second: Tensor, temperature: float) -> tuple[Tensor, dict]:
    """The price of finding each row's partner by cosines, and slips."""
    partner = torch.arange(len(first), device=first.device)
    a, b = F.normalize(first, dim=1), F.normalize(second, dim=1)
    right = F.cross_entropy(a @ b.T / temperature, partner)
    other = F.cross_entropy(b @ a.T / temperature, partner)
    raw = F.cross_entropy(first @ second.T / temperature, partner)
    inner = (a @ a.T).masked_fill(partner[:, None] == partner, -torch.inf)
    both = F.cross_entropy(torch.cat([a @ b.T, inner], dim=1) / temperature, partner)
    slips = {
        "cosines are asked for: divide each row by its length": raw,
        "divide by the temperature, don't multiply": F.cross_entropy(
            a @ b.T * temperature, partner
        ),
        "the temperature has no effect": F.cross_entropy(a @ b.T, partner),
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


# Penalties and a loss of one's own


def penalty_truth(
    model: torch.nn.Module, l1: float, l2: float
) -> tuple[Tensor | float, dict, dict]:
    """The penalty, its gradients by name, and slips."""
    every = {name: p.detach() for name, p in model.named_parameters()}
    free = {name for name, p in model.named_parameters() if p.requires_grad}
    chosen = {name: w for name, w in every.items() if w.dim() > 1 and name in free}
    known = (torch.nn.Linear, torch.nn.Conv2d)
    layers = {name for name, part in model.named_modules() if isinstance(part, known)}

    def total(names, one=lambda w: w.abs().sum(), two=lambda w: w.square().sum(), l1=l1, l2=l2):
        return sum(l1 * one(every[name]) + l2 * two(every[name]) for name in names)

    right = total(chosen)
    slips = {
        "biases and other vectors are counted, too": total(free),
        "scales of normalisation layers are counted; they have one dimension": total(
            name for name in free if "bias" not in name
        ),
        "a frozen parameter is counted": total(name for name in every if every[name].dim() > 1),
        "a parameter that is used twice counts once": 2 * right,
        "no coefficient": total(chosen, l1=1, l2=1),
        "there is no factor of one half": total(chosen, two=lambda w: w.square().sum() / 2),
        "a sum of squares, without a root, is asked for": total(chosen, two=lambda w: w.norm()),
        "means; sums are asked for": total(
            chosen, lambda w: w.abs().mean(), lambda w: w.square().mean()
        ),
        "l1 and l2 are swapped": total(chosen, l1=l2, l2=l1),
        "a sum of w, not of |w|: positive and negative cancel": total(
            chosen, one=lambda w: w.sum()
        ),
        "other layers than linear and convolutional ones have weights, too": total(
            name for name in chosen if name.rpartition(".")[0] in layers
        ),
        "only the outermost modules are counted": total(
            name for name in chosen if name.count(".") < 2
        ),
    }
    slopes = {name: l1 * w.sign() + 2 * l2 * w for name, w in chosen.items() if l1 or l2}
    return right, slopes, slips


def generalised_truth(
    logits: Tensor, target: Tensor, weight: Tensor | None, q: float
) -> tuple[Tensor, Tensor, dict]:
    """Generalised cross-entropy, its gradient by the logits, and slips."""
    leaf, rows = logits.clone().requires_grad_(), torch.arange(len(target), device=target.device)
    log_p = leaf.log_softmax(dim=1)[rows, target]
    price = -torch.expm1(q * log_p) / q
    share = torch.ones_like(price) if weight is None else weight.to(price)[target]
    twice = -torch.expm1(q * leaf.softmax(dim=1).log_softmax(dim=1)[rows, target]) / q

    def mean(price: Tensor) -> Tensor:
        return ((share * price).sum() / share.sum()).detach()

    right = (share * price).sum() / share.sum()
    slips = {
        "divided by the number of rows, not by the weights of the targets": (share * price).mean(),
        "the weights are missing": price.mean(),
        "that is the sum": (share * price).sum(),
        "the division by q is missing": right * q,
        "softmax was applied twice": mean(twice),
        "q has no effect": mean(1 - log_p.exp()),
        "q = 0.7 was taken, not the q that was asked for": mean(-torch.expm1(0.7 * log_p) / 0.7),
        "the weight belongs before the price, not into p": (
            -torch.expm1(q * share * log_p) / q
        ).mean(),
        "that is cross-entropy": mean(-log_p),
        "that has the wrong sign": -right,
    }
    return right.detach(), torch.autograd.grad(right, leaf, retain_graph=True)[0], slips


@ends_in_notebook
def check_generalised(
    found: dict, logits: Tensor, target: Tensor, weight: Tensor | None, q: float
) -> None:
    """Check what a generalised cross-entropy gave as a function and as a module.

    ``found`` holds for "function" and "module" the value, the gradient and gradcheck's word, and
    the module's tensors that are "left" behind by a move and how many are "trained".
    """
    __tracebackhide__ = True
    right, slope, slips = generalised_truth(logits, target, weight, q)
    large = bool((logits.abs() > 99).any())
    otherwise = "was p clamped, or something added to it? stay with log p" if large else ""
    for name in ("function", "module"):
        value, gradient, passes = found[name]
        check_number(value, right, f"q={q}, the {name}'s loss", slips, otherwise=otherwise)
        words = f"the {name}'s gradient is nan or inf: p is 0 there, and p ** q has no slope at 0"
        assert gradient.isfinite().all(), words
        check_close(gradient, slope, f"the gradient through the {name}", rtol=1e-3, atol=1e-5)
        assert passes, f"the {name} fails gradcheck: is something detached, or made float32?"
    left, trained = found["left"], found["trained"]
    assert not left, f"after .to(device) these stay behind: {left}; register them as buffers"
    assert trained == 0, f"{trained} parameters would be trained: use a buffer"


def spoilt_digits(share: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """1200 handwritten digits and labels, a share of which is wrong; others with true labels."""
    from sklearn.datasets import load_digits

    digits, generator = load_digits(), torch.Generator().manual_seed(0)
    order = torch.randperm(len(digits.target), generator=generator)
    pictures = torch.tensor(digits["data"], dtype=torch.float32)[order] / 16
    labels = torch.tensor(digits.target)[order]
    wrong = torch.rand(1200, generator=generator) < share
    shifted = (labels[:1200] + torch.randint(1, 10, (1200,), generator=generator)) % 10
    given = torch.where(wrong, shifted, labels[:1200])
    return pictures[:1200], given, pictures[1200:], labels[1200:]
