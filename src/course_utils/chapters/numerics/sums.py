"""Exercises 4.4 and 4.5: sums that keep their digits, and the covariance."""

from __future__ import annotations

from functools import partial
from math import prod

import torch

from course_utils.chapters.numerics.notes import Answer, check_form
from course_utils.learner.calls import check_rules
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.gradients import gradient_of
from course_utils.learner.operators import count_operators
from course_utils.learner.values import check_value

BANNED_SUMS = ("sum", "nansum", "cumsum", "mean", "mm", "mv", "bmm", "dot", "addmm", "addmv")


def check_sum_error(answer: Answer, case: every_case, x: torch.Tensor, name: str) -> None:
    """The error of a sum in each way, in units of rounding."""
    exact, size, n = x.double().sum(0), x.double().abs().sum(0), len(x)
    depth, unit = max(n - 1, 1).bit_length(), 2.0**-24
    bounds = {"naive": n, "pairwise": depth + 1, "compensated": 2.01}  # in units
    hints = {
        "naive": "are all rows added?",
        "pairwise": "is a row lost where their number is odd?",
        "compensated": "is what was lost taken from the next row, in each column, and with the "
        "right sign?",
    }
    for how, bound in bounds.items():
        with case(f'"{how}", x {name}'):
            with forbid_changes(x):
                result = answer(x, how)
            check_form(result, exact.float(), "the sum")
            assert not result.isnan().any(), "a sum is NaN"
            error = ((result.double() - exact).abs() / size.clamp_min(1e-30) / unit).max().item()
            assert error <= bound, f"error {error:.4g} u, at most {bound:.4g} u: {hints[how]}"


def check_sum_corners(answer: Answer, case: every_case, column: torch.Tensor) -> None:
    """Sums of columns that have little in common, and of many small numbers beside a large one."""
    ups = torch.arange(1.0, 3001).to(column) * torch.tensor([1.0, -1.0]).to(column).repeat(1500)
    apart = torch.stack([ups, ups * 0 + 0.1, -ups], 1)
    check_sum_error(answer, case, apart, "of columns that have little in common")
    many = 64 * torch.cat([column[:1], column[1:].repeat(600, 1)])
    check_sum_error(answer, case, many, "= [64e8, 64, 64, …], of 3001 rows")
    deep = -torch.cat([column[:1], column[1:2].expand(199, 1)])
    check_sum_error(answer, case, deep, "of -1e8 and 199 times -1")
    with case("small numbers, right after a large sum"):
        for how in ("naive", "pairwise", "compensated"):
            answer(column, how)
            result = answer(column[1:] / 8, how)
            words = f"the {how} sum, after another one: is something kept between two calls?"
            check_close(result, column[1] * 0.625, words)


def check_sum_way(
    answer: Answer,
    case: every_case,
    x: torch.Tensor,
    name: str,
    ways: tuple[str, ...] = ("naive", "pairwise", "compensated"),
) -> None:
    """A sum in each way: how many additions ran, and nothing else."""
    n, depth = len(x), max(len(x) - 1, 1).bit_length()
    loop, back = (sum(rows, x.new_zeros(x.shape[1])) for rows in (x, x.flip(0)))  # Python's sum
    few, many = {"pairwise": 3 * depth + 3}, {"pairwise": len(x).bit_length() - 1}
    for how in ways:
        with case(f'"{how}", x {name}'):
            with count_operators() as counts:
                result = answer(x, how)
            check_close(result, loop, "the sum", rtol=1e-4, atol=1e-3)
            assert not counts["_to_copy"], "a dtype was converted; stay in float32"
            found = [name for name in BANNED_SUMS if counts[name]]
            assert not found, f"{', '.join(found)} ran; add up in float32 by yourself"
            words = "the rows were sorted: add row after row, from the first to the last"
            assert how == "pairwise" or not counts["sort"], words
            words = "that is the sum from the last row to the first"
            turned = torch.equal(result, back) and not torch.equal(loop, back)
            assert how != "naive" or not turned, words
            same = how != "naive" or torch.equal(result, loop)
            assert same, "not what a loop over the rows gives to the last digit: is it more exact?"
            adds = sum(counts[op] for op in ("add", "add_", "sub", "sub_", "rsub"))
            words = f"{adds} additions for {n} rows; add halves to halves"
            assert adds <= few.get(how, 10 * n + 10), words
            words = f"{adds} of PyTorch's additions for {n} rows: is the sum made elsewhere?"
            words += " Add row after row, not in a tree" * (how != "pairwise" and adds > 0)
            assert adds >= many.get(how, n - 1), words


def check_covariance(
    answer: Answer,
    case: every_case,
    x: torch.Tensor,
    weights: torch.Tensor | None,
    name: str,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> None:
    """Covariance matrices beside torch.cov, one after the other."""
    *batch, n, d = x.shape
    flat, many = x.double().reshape(-1, n, d), torch.ones(n) if weights is None else weights
    many = many.to(flat).expand(*batch, n).reshape(-1, n)
    truth = [torch.cov(one.T, aweights=w).reshape(d, d) for one, w in zip(flat, many, strict=True)]
    truth = torch.stack(truth)
    w, total = many[..., None], many.sum(-1)[:, None, None]
    free = total - many.square().sum(-1)[:, None, None] / total
    z, plain = flat - (w * flat).sum(1, keepdim=True) / total, flat - flat.mean(1, keepdim=True)
    slips = {
        "it is divided by the sum of weights; the formula's divisor is smaller": truth
        * free
        / total,
        "it is divided by n - 1; with weights the divisor is W - V / W": truth * free / (n - 1),
        "it is divided by W - 1, which is for counts (fweights); here it is W - V / W": truth
        * free
        / (total - 1),
        "the weights stand on both sides of the product: once is enough": (w * z).mT
        @ (w * z)
        / free,
        "the mean that is subtracted has no weights": (w * plain).mT @ plain / free,
        "the weights are in the mean alone, not in the product": z.mT @ z / free,
        "it is the sum of products, not divided": truth * free,
    }
    if batch == [n] and weights is not None and weights.dim() == 1:
        words = "a weight belongs to an observation of each matrix, not to a matrix of the batch"
        slips[words] = _covariance(flat, many.mT)
    shape, given = (*batch, d, d), (x,) if weights is None else (x, weights)
    slips = {words: wrong.reshape(shape).to(x.dtype) for words, wrong in slips.items()}
    slips = {words: wrong for words, wrong in slips.items() if wrong.isfinite().all()}
    with case(name):
        with forbid_changes(*given):
            result = answer(*given)
        if n != d and isinstance(result, torch.Tensor) and result.shape[-2:] == (n, n):
            raise AssertionError("the observations lie in the rows, the variables in the columns")
        nan = isinstance(result, torch.Tensor) and result.isnan().any()
        words = "there is NaN: is a square, which overflows, multiplied by a weight of 0? Subtract "
        assert not nan, f"{words}the mean, and weigh one factor before the product"
        right = truth.reshape(shape).to(x.dtype)
        if isinstance(result, torch.Tensor) and result.shape == right.shape:
            factor = (result / right)[right != 0].double().median().item() if right.any() else 1
            factor = 1.0 if abs(factor - 1) < 1e-2 else factor
            words = f"it is {factor:.3g} times what it should be: has the divisor a bound?"
            if 0 < factor < torch.inf:
                slips[words] = right * factor
            wide = x.dtype == torch.float64 == result.dtype
            near = wide and torch.allclose(result, right, 1e-5, 1e-6)
            words = "right to float32's digits alone: is a part of it made in float32?"
            assert not near or torch.allclose(result, right, rtol, atol), words
        check_value(result, right, "the covariance", slips, rtol=rtol, atol=atol)


def check_covariance_corners(
    answer: Answer, case: every_case, x: torch.Tensor, w: torch.Tensor, batch: torch.Tensor
) -> None:
    """Small weights, and a square of them; ``batch`` is (2, 4, 3, 2)."""
    name = "weights that add up to less than 1"
    check_covariance(answer, case, x, w / 1e12, name, atol=1e-20)
    check_covariance(answer, case, x, w * 1e6, "large weights")
    check_covariance(answer, case, batch.mT, w[:2], "more variables than observations")
    thirds = x.double() / 3, w.double() / 3
    check_covariance(answer, case, *thirds, "thirds in float64", 1e-9, 1e-9)
    name = "points far from the origin, with weights: both factors are without the mean"
    check_covariance(answer, case, batch[0] + 3000, batch[1, ..., 0].abs(), name, 1e-3, 2e-3)
    off = torch.cat([x[:1] + 3e19, x]), torch.cat([w[:1] * 0, w])
    check_covariance(answer, case, *off, "a point far from all others, which weighs 0")
    name = "points far from the origin, each column by another number"
    place = x.new_tensor([20_000.0, -3000.0])
    check_covariance(answer, case, x + place, None, name, 1e-3, 2e-3)
    name = "points 1e8 from the origin, in float64: centre first"
    check_covariance(answer, case, x.double() + 1e8, w.double(), name, 1e-5)
    check_covariance(answer, case, batch[:1, :1], w, "a batch of shape (1, 1, 3, 2)")
    other = batch.reshape(4, 4, 3)
    check_covariance(answer, case, other.double(), None, "a batch in float64", 1e-9, 1e-9)
    check_covariance(answer, case, other, None, "the same in float32, after it")
    check_covariance(answer, case, x[:1].expand(2, 3, 2) * x, w, "an x that is a product, 3-D")
    name = "as many matrices as observations, with weights of their own"
    check_covariance(answer, case, batch[0, :3], batch[1, :3, :, 0].abs(), name)
    few, many = (
        torch.arange(float(prod(sizes))).to(x).sin().view(sizes)
        for sizes in ((2, 2, 3, 2), (4, 4, 24, 16))
    )
    for what, weigh in (("with", True), ("without", False)):
        with case(f"a larger batch of larger matrices, {what} weights"):
            ran = []
            for one in (few, many):
                with count_operators() as counts:
                    answer(one, one[..., 0].abs() if weigh else None)
                ran.append(counts.total())
            assert ran[0], "no operator ran: is there an answer yet, and is it made with PyTorch?"
            words = f"{ran[0]} operators for {tuple(few.shape)} and {ran[1]} for "
            assert ran[1] < 1.5 * ran[0], f"{words}{tuple(many.shape)}: is there a loop?"


def _covariance(
    x: torch.Tensor, weights: torch.Tensor | None = None, slip: str = ""
) -> torch.Tensor:
    w = (torch.ones_like(x[..., 0]) if weights is None else weights).unsqueeze(-1)
    total = w.sum(-2, keepdim=True)
    z = x - (w * x).sum(-2, keepdim=True) / total
    z = torch.where(w > 0, z, 0) if slip == "left out" else z
    divisor = total - w.square().sum(-2, keepdim=True) / total
    return (w * z).mT @ z / (divisor.detach() if slip == "fixed" else divisor)


def check_covariance_way(
    calls: Answer,
    gradient: Answer,
    case: every_case,
    x: torch.Tensor,
    weights: torch.Tensor,
    name: str,
) -> None:
    """A covariance: what it calls, and its gradients."""
    for given in ((x, weights), (x,)):
        with case(f"{name}, {'with' if len(given) == 2 else 'without'} weights"):
            _, names, changed, _ = calls("covariance", *given)
            check_rules(names, changed, "cov", "corrcoef")
            kinds = [partial(_covariance, slip=slip) for slip in ("", "fixed", "left out")]
            slopes = gradient("covariance", *given), *(gradient_of(f, *given) for f in kinds)
            every = ([a] if isinstance(a, torch.Tensor) else a for a in slopes)
            names = "the gradient by x", "the gradient by the weights"
            for what, slope, truth, cut, out in zip(names, *every, strict=False):
                words = f"{what} is not finite: is there a root of a weight that is 0?"
                assert slope.isfinite().all(), words
                slips = {
                    "0 everywhere: was it detached?": torch.zeros_like(truth),
                    "is the divisor cut from the graph? The weights are in it": cut,
                    "a point that weighs 0 is left out: it would count with a little weight": out,
                }
                check_value(slope, truth, what, slips, rtol=1e-3, atol=1e-4)
