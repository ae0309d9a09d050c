"""Exercises 4.2 and 4.3: a root that is kind to zero, and distances, three ways."""

from __future__ import annotations

import torch

from course_utils.chapters.numerics.notes import Answer, check_form, check_left
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.values import check_value


def check_root(
    answer: Answer, gradient: Answer, case: every_case, x: torch.Tensor, name: str
) -> None:
    """A root that is 0, with the slope 0, where x is not above 0."""
    truth = x.double().clamp_min(0).sqrt().to(x.dtype)
    weights = torch.arange(1.0, x.numel() + 1).view(x.shape).to(x)
    plain = torch.where(x > 0, 0.5 / truth, 0)
    slope = plain * weights
    with case(f"the values of {name}"):
        with forbid_changes(x):
            result = answer(x)
        check_form(result, truth, "the root")
        words = "there is NaN: the root of a negative number, or 0 · ∞"
        assert not result.isnan().any(), words
        assert (result[x <= 0] == 0).all(), "exactly 0 is asked for where x is 0 or negative"
        assert (result[x == torch.inf] == torch.inf).all(), "the root of +∞ is +∞"
        check_close(result, truth, "the root")
    with case(f"the gradient of {name}"):
        found = gradient("safe_root", x, weights=weights)
        words = "NaN: the mask came after the root alone, and 0 · ∞ is NaN"
        assert not found.isnan().any(), words
        assert not found.isinf().any(), "infinite: the root must not see a 0"
        steep = (found[x <= 0].abs() > 0).any()
        assert not steep, "it is not 0 where x is 0 or negative: is a root still taken there?"
        words = "it is 0 for a tiny number above zero: is there a threshold?"
        assert not ((slope > 0) & (found == 0)).any(), words
        words = "the gradient that arrives is left out: multiply it by the slope"
        slips = {words: plain}
        check_value(found, slope, "the gradient of a weighted sum", slips, rtol=1e-5, atol=1e-8)


def check_root_in_use(gradient: Answer, in_use: Answer, case: every_case, x: torch.Tensor) -> None:
    """A root whose gradient meets ∞ and NaN; and what is left behind."""
    weights, slope = torch.ones_like(x), torch.where(x > 0, 0.5 / x.clamp_min(0).sqrt(), 0)
    for kind in (torch.inf, -torch.inf, torch.nan):
        with case(f"the gradient where {kind} arrives at each 0"):
            found = gradient("safe_root", x, weights=weights.masked_fill(x <= 0, kind))
            words = "0 · ∞ is NaN: a product with a mask doesn't leave out what arrives; where does"
            assert not found.isnan().any(), words
            check_value(found, slope, "the gradient", rtol=1e-5, atol=1e-8)
        with case(f"the gradient where {kind} arrives everywhere"):
            found = gradient("safe_root", x, weights=torch.full_like(x, kind))
            assert not found[x <= 0].any(), "it is not 0 where x is 0 or negative"
            words = f"above 0 the slope times {kind} is {kind}: is the gradient cleaned there, too?"
            check_close(found[x > 0], torch.full_like(x[x > 0], kind), "it", because=words)
    check_left(in_use, case, "safe_root", x)


def check_distances(
    answer: Answer,
    gradient: Answer,
    case: every_case,
    x: torch.Tensor,
    y: torch.Tensor,
    name: str,
    ways: tuple[str, ...] = ("broadcast", "gram", "cdist"),
) -> None:
    """Distances and their gradients, in each way."""
    gap = x[:, None] - y
    truth = gap.square().sum(-1).sqrt()
    unit = gap / truth.masked_fill(truth == 0, 1)[..., None]
    shifted = torch.where(truth[..., None] == 0, max(gap.shape[-1], 1) ** -0.5, unit)
    moved = "where two points coincide it is not 0: is a small number added to each difference?"
    slips = {
        "these are squared distances: the root is missing": truth**2,
        "these are sums of |difference|: Euclid adds up squares": gap.abs().sum(-1),
    }
    if truth.numel():
        apart = (x - x.mean(0))[:, None] - (y - y.mean(0))
        words = "each set has a centre of its own: subtract the same vector from both"
        slips[words] = apart.square().sum(-1).sqrt()
    for how in ways:
        with case(f'"{how}", {name}'):
            with forbid_changes(x, y):
                result = answer(x, y, how)
            nan = isinstance(result, torch.Tensor) and result.isnan().any()
            assert not nan, "a distance is NaN: is there a root of a negative number, or 0 / 0?"
            known = isinstance(result, torch.Tensor) and result.shape == truth.shape
            lost = truth[(result == 0) & (truth > 0)] if known else truth[:0]
            words = "became 0: does a threshold call points equal that are only near?"
            far = lost.numel() and x.abs().max() > 1e4 and how != "broadcast"
            if far and (answer(x - y[0], y - y[0], how) > 0).any():
                words = "became 0: so far out |x|² has no digit left for it; move both sets first"
            assert not lost.numel(), f"the distance {lost[0]:.1e} {words}"
            check_value(result, truth, "the matrix of distances", slips, rtol=1e-5, atol=1e-5)
            same, most = result[truth == 0], 3e-7 if truth.dtype == torch.float64 else 1e-5
            words = "is a small number added, a bound set, or a part made in another dtype?"
            assert not (same > most).any(), (
                f"where two points coincide the distance is {same.max():.1e}: {words}"
            )
            slopes = gradient("pairwise_three_ways", x, y, how)
            rights, wrongs = (unit.sum(1), -unit.sum(0)), (shifted.sum(1), -shifted.sum(0))
            for slope, right, wrong, letter in zip(slopes, rights, wrongs, "xy", strict=True):
                what = f"the gradient by {letter}"
                words = "is NaN or infinite: what is the slope of the root at 0?"
                if not truth.numel():
                    words = "is NaN, though there is no distance: the mean of no points is NaN"
                assert slope.isfinite().all(), f"{what} {words}"
                check_value(slope, right, what, {moved: wrong}, rtol=1e-4, atol=1e-4)


def check_distance_corners(
    answer: Answer, gradient: Answer, in_use: Answer, case: every_case, y: torch.Tensor
) -> None:
    """Distances of points that are near, in float64, and what is left behind."""
    for x, name in (
        (y * 1e-4, "points that are near"),
        (y * 1.5e-6, "points that are nearer"),
        (torch.cat([y, y[:1] + 1e-4]), "two points that are near, and one that is not"),
        (y / 3, "thirds, in float64"),
    ):
        check_distances(answer, gradient, case, x, x, name)
    check_distances(answer, gradient, case, y[:1].expand(3, 2), y, "an expanded x")
    wide = torch.stack([y[0], y[1] + 1, y[0] / 2])
    check_distances(answer, gradient, case, wide.T, wide.T[:1], "transposed, one y")
    for how in ("broadcast", "gram", "cdist"):
        with case(f'"{how}", arguments that have a gradient already'):
            left = in_use("pairwise_three_ways", y, y[:1], how)
            assert not left, left


def check_distance_cost(
    operators: Answer, case: every_case, x: torch.Tensor, y: torch.Tensor, name: str
) -> None:
    """Distances: how many products and calls of cdist ran, and how large their tensors are."""
    truth = (x.double()[:, None] - y.double()).square().sum(-1).sqrt().to(x)
    # The squares of the lengths may stand beside the points.
    most = max(len(x) * len(y), max(len(x), len(y)) * (x.shape[1] + 2)) * x.itemsize
    for how in ("broadcast", "gram", "cdist"):
        with case(f'"{how}", {name}'):
            notes, raised, result = operators("pairwise_three_ways", x, y, how)
            assert not raised, f"{raised} was raised"
            ran = [line[0] for line in notes]
            assert len(ran) < 50, f"{len(ran)} operators ran: is there a loop?"
            assert ran, "no operator ran: is there an answer yet, and is it made with PyTorch?"
            heavy = [line for line in notes if how == "gram" and line[3] > most]
            for op, _, size, _ in heavy[:1]:
                raise AssertionError(f"{op} makes a tensor of shape {size}, larger than allowed")
            # A matrix product: its result has two sizes above 1. Sums of squares by einsum don't.
            kinds = ("mm", "addmm", "bmm", "baddbmm")
            products = sum(op in kinds and min(size[-2:]) > 1 for op, _, size, _ in notes)
            if how == "gram" and min(truth.shape) == 1:  # then the result of a product is a vector
                products = int(any(op in kinds and max(size[-2:]) > 1 for op, _, size, _ in notes))
            wanted = int(how == "gram")
            assert products == wanted, f"{products} products of matrices ran, expected {wanted}"
            words = "cdist took the Gram identity; name its compute_mode"
            assert "_euclidean_dist" not in ran, words
            calls, wanted = ran.count("_cdist_forward"), int(how == "cdist")
            assert calls == wanted, f"cdist ran {calls} times, expected {wanted}"
            check_close(result, truth, "the distances", rtol=1e-2, atol=1e-2)


def check_far_distances(
    answer: Answer, case: every_case, x: torch.Tensor, y: torch.Tensor, name: str
) -> None:
    """Distances in float32, beside those of float64."""
    truth = (x.double()[:, None] - y.double()).square().sum(-1).sqrt().float()
    cures = {
        "broadcast": "subtract before you square",
        "gram": "|x|² has no digit left for them; subtract the same vector from both sets first",
        "cdist": "did it take the Gram identity? Name its compute_mode",
    }
    home = x[:1].round()
    for how, cure in cures.items():
        with case(f'"{how}", {name}, in float32'):
            result = answer(x, y, how)
            check_form(result, truth, "the distances")
            words = "a distance is NaN: is there a number below zero in the root?"
            assert not result.isnan().any(), words
            off = (result - truth).abs().max().item()
            if off >= 1e-2 and (answer(x - home, y - home, how) - truth).abs().max() >= 1e-2:
                cure = "see what the first check says"
            words = f"distances of {truth.max():.2g} and less are off by {off:.2g}: {cure}"
            assert off < 1e-2, words
