"""Cross-entropy and its options."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.chapters.losses.numbers import check_number
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def ignorance_slips(classes: int) -> dict[str, float | tuple[Tensor | float, ...]]:
    """What known slips make of the price of knowing nothing about so many classes."""
    n, price = classes, torch.tensor(math.log(classes), dtype=torch.float64)
    share, short = (-price).exp(), (torch.half, torch.bfloat16)
    return {
        "the right class has a probability of one in all of them: take its logarithm": 1 / n,
        "that is minus the probability: take minus its logarithm": -1 / n,
        "a price is minus the logarithm: the logarithm of a probability is negative": -math.log(n),
        "that is in bits: take the natural logarithm": math.log2(n),
        "that is the logarithm to base 10: take the natural one": math.log10(n),
        "that is how often a guess is wrong, not what it costs": 1 - 1 / n,
        "that is for a class less: the right one counts, too": math.log(max(n - 1, 1)),
        "that is for a class more: the right one is among them": math.log(n + 1),
        "the right class's logarithm counts in full, not times 1 / classes": math.log(n) / n,
        "only the right class has a price, not all the others": (n - 1) * math.log(n),
        "binary_cross_entropy is a mean over the classes; the right one alone has a price": (
            (math.log(n) - (n - 1) * math.log1p(-1 / n)) / n if n > 1 else 0.0
        ),
        "there may be more than two classes": math.log(2),
        "that is the puzzle's price; who knows nothing gives every class the same": (
            math.log(math.e + n - 1) - 1
        ),
        "something was added to the probability, or it was clamped: it may be small": tuple(
            -math.log(number)
            for added in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
            for number in (1 / n + added, max(1 / n, added))
            if abs(math.log(number * n)) > 1e-6
        ),
        "half precision keeps three digits: stay with float32 or float64": (
            *(price.to(dtype) for dtype in short),
            *(-share.to(dtype).log() for dtype in short),
            torch.tensor(float(n)).half().log(),
        ),
    }


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
    zero = ", or 0 · log 0" if target.is_floating_point() and not target.all() else ""
    words = f" (exp of a large score, or log of a tiny number{zero}?)"
    words = "" if finite or right.isnan() else words
    slips = _cross_entropy_slips(logits, target, options, right)
    nothing = "no row counts, and a mean over nothing is 0 / 0: nan" if right.isnan() else ""
    check_number(
        value,
        right,
        f"the loss{words}",
        {} if nothing else slips,
        dtype=logits.dtype,
        otherwise=nothing,
        guess="a probability was clamped: stay with scores"
        if finite and logits.abs().max() > 100
        else "",
        # Rows with a single 1 are whole numbers; smoothed by a plain number they are float32.
        exact=1e-6 if options.get("label_smoothing") else 1e-9,
    )
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
        none, whole = loss(label_smoothing=0.0), loss(label_smoothing=1.0)
        words = "every class gets smoothing / C, the right one too; not smoothing / (C - 1)"
        slips[words] = none + smooth * classes / (classes - 1) * (whole - none)
        slips["the smoothing is missing"] = none
    if weight is not None:
        slips["the weights are missing"] = loss(weight=None)
        if smooth:
            soft = target.is_floating_point()
            kept = slice(None) if soft else target != options.get("ignore_index", -100)
            below = rows if soft else weight[target[kept]].sum()
            bare = -logits[kept].log_softmax(dim=1).sum() * smooth / classes / below
            words = "the share that smoothing gives to a class has the class's weight, too"
            slips[words] = (1 - smooth) * loss(label_smoothing=0.0) + bare
        if smooth and not target.is_floating_point():
            kept = target != options.get("ignore_index", -100)
            words = "a price has the weight of each class in it, not of the target alone"
            prices = loss(logits[kept], target[kept], weight=None, reduction="none")
            slips[words] = (prices * weight[target[kept]]).sum() / weight[target[kept]].sum()
    if smooth or target.is_floating_point():
        # The kept rows' targets as probabilities, and their entropy, weighted as the price is.
        kept = (
            slice(None)
            if target.is_floating_point()
            else target != options.get("ignore_index", -100)
        )
        shares = target if target.is_floating_point() else F.one_hot(target[kept], classes)
        shares = (1 - smooth) * shares + smooth / classes
        entropy = torch.special.entr(shares) * (1 if weight is None else weight)
        words = "that is a divergence: the entropy of the targets was subtracted"
        slips[words] = right - entropy.sum() * right / total
    if target.is_floating_point():
        words = "the probabilities were made into class numbers: each class keeps its share"
        slips[words] = (
            loss(target=target.argmax(dim=1), ignore_index=-1),
            loss(target=target.argmax(dim=1)),
        )
        if weight is not None:
            share = (target * weight).sum()
            slips["with soft targets, divide by the number of rows"] = right * rows / share
            words = "with soft targets the scale of the weights counts: take them as they are"
            slips[words] = tuple(right / scale for scale in (weight.mean(), weight.sum()))
            words = "a price has the weight of each class in it, not of the target alone"
            own = (target * weight).sum(dim=1, keepdim=True)
            slips[words] = -(shares * own * logits.log_softmax(dim=1)).sum() / rows
        if "ignore_index" in options:
            named = target.argmax(dim=1) != options["ignore_index"]
            told = (target != options["ignore_index"]).all(dim=1)  # no entry is this number
            left = torch.arange(classes, device=target.device) != options["ignore_index"]
            words = "probabilities are no class numbers: ignore_index leaves no class of them out"
            slips[words] = loss(target=target * left)
            words = "probabilities are no class numbers: ignore_index leaves no row of them out"
            some = [(loss(logits[kept], target[kept]), kept.sum()) for kept in (named, told)]
            slips[words] = tuple(one for one, _ in some)
            slips[words + ". "] = tuple(one * count / rows for one, count in some)
        return slips
    kept = target != options.get("ignore_index", -100)
    slips["divided by all rows: what belongs below the fraction bar?"] = total / rows
    slips["divided by how many rows count, not by their weights"] = total / kept.sum()
    below = kept.sum() if weight is None else weight[target[kept]].sum()
    if weight is not None:
        words = "the weights are below the fraction bar, and belong above it, too"
        slips[words] = loss(weight=None, reduction="sum") / below
    slips["an ignored row counts 1 below the fraction bar"] = total / (below + (~kept).sum())
    if weight is not None:
        slips["divided by the sum of all weights, not of the targets' weights"] = (
            total / weight.sum()
        )
        everyone = weight[target.clamp(0, classes - 1)].sum()
        slips["the weights of ignored rows are below the fraction bar"] = total / everyone
        spread = (1 - smooth) * F.one_hot(target[kept], classes) + smooth / classes
        words = "below the fraction bar stand the weights of the targets, not smoothed"
        slips[words] = total / (spread * weight).sum()
    if smooth and 0 <= (named := options.get("ignore_index", -100)) < classes:
        share = torch.ones_like(logits[0]) if weight is None else weight
        missing = -(logits[kept].log_softmax(dim=1)[:, named] * share[named]).sum()
        words = "ignore_index leaves rows out; in the others smoothing gives to that class, too"
        slips[words] = right - missing * smooth / classes / below
        share = share * (torch.arange(classes, device=target.device) != named)
        more = -(logits[~kept].log_softmax(dim=1) * share).sum()
        words = "ignore_index leaves rows out, whole ones; a class's weight stays as it is"
        slips[words] = right + (more - missing) * smooth / classes / below
        words = "ignore_index leaves rows out; that class keeps its share, and the others theirs"
        others = -(logits[kept].log_softmax(dim=1) * share).sum()
        spread = others / max(classes - 1, 1) - (others + missing) / classes
        slips[words] = right + spread * smooth / below
    words = "weights may add up to less than 1: don't clamp what is below the fraction bar"
    slips = {words: total / torch.as_tensor(below).clamp(min=1), **slips}
    slips["ignored rows don't count"] = loss(target=target.clamp(0, classes - 1), ignore_index=-1)
    return slips
