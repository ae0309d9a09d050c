"""What the chapter on numerics checks and draws with: cases whose failures name the slip.

Each ``check_…`` tries one or a few cases, under ``with case(name):`` of :class:`every_case`. Where
a graph or a count is needed that cannot travel from the judge, it takes a function of a locked
cell that runs with the answer (``gradient``, ``calls``, ``operators``), called with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.checks import check_close, every_case, forbid_changes
from course_utils.drawings import show
from course_utils.gradients import gradient_of
from course_utils.layers import agrees, check_rules, check_value
from course_utils.operators import count_operators

Answer = Callable[..., Any]
OWN_LOGSUMEXP = (
    "*logsumexp*", "logaddexp*", "*softmax*", "*softmin*", "logcumsumexp", "*_loss*",
    "*cross_entropy*", "log_prob",
)  # fmt: skip
BANNED_SUMS = ("sum", "nansum", "cumsum", "mean", "mm", "mv", "bmm", "dot", "addmm", "addmv")
SYSTEMS = "_linalg_solve_ex", "linalg_cholesky_ex", "linalg_ldl_factor_ex", "linalg_lu_factor_ex"
FITS = {"normal": SYSTEMS, "qr": ("linalg_qr", "geqrf"), "lstsq": ("linalg_lstsq",)}
FIT_NAMES = {"normal": "a solve or Cholesky", "qr": "linalg.qr", "lstsq": "linalg.lstsq"}


class _Notes(TorchDispatchMode):
    """Notes of every operator: its name, its arguments' sizes, its result's size, new bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        places = [x.untyped_storage().data_ptr() for x in given]
        for made in tree_leaves(result):
            if isinstance(made, torch.Tensor):
                storage = made.untyped_storage()
                new = 0 if storage.data_ptr() in places else storage.nbytes()
                sizes = [list(x.shape) for x in given]
                self.lines.append([func.overloadpacket.__name__, sizes, list(made.shape), new])
        return result


def operators_of(function: Answer, *args: Any) -> tuple[list[list], str, Any]:
    """What runs inside a call, below autograd.

    Returns:
        For each operator's result ``[name, sizes of the arguments, size of the result, bytes]``,
        where bytes counts a storage that no argument lies in (the first 4000 of them); the name
        of the exception that ended the call, or ``""``; and what the call returned.
    """
    raised, result = "", None
    with _Notes() as notes:
        try:
            result = function(*args)
        except Exception as error:
            raised = type(error).__name__
    return notes.lines[:4000], raised, result


def check_form(actual: Any, like: torch.Tensor, what: str) -> None:
    """Check type, shape, dtype and device of a result, not its values."""
    given = torch.zeros_like(actual) if isinstance(actual, torch.Tensor) else actual
    check_close(given, torch.zeros_like(like), what)


def check_root(
    answer: Answer, gradient: Answer, case: every_case, x: torch.Tensor, name: str
) -> None:
    """A root that is 0, with the slope 0, where x is not above 0."""
    truth = x.double().clamp_min(0).sqrt().to(x.dtype)
    slope = torch.where(x > 0, 0.5 / truth, 0)
    with case(f"the values of {name}"):
        with forbid_changes(x):
            result = answer(x)
        check_form(result, truth, "the root")
        assert not result.isnan().any(), "there is NaN: the root of a negative number"
        assert (result[x <= 0] == 0).all(), "exactly 0 is asked for where x is 0 or negative"
        check_close(result, truth, "the root")
    with case(f"the gradient of {name}"):
        found = gradient("safe_root", x)
        words = "NaN: the mask came after the root alone, and 0 · ∞ is NaN"
        assert not found.isnan().any(), words
        assert not found.isinf().any(), "infinite: the root must not see a 0"
        steep = (found[x <= 0].abs() > 0).any()
        assert not steep, "it is not 0 where x is 0 or negative: is a root still taken there?"
        words = "it is 0 for a tiny number above zero: is there a threshold?"
        assert not ((x > 0) & (found == 0)).any(), words
        check_close(found, slope, "the gradient", rtol=1e-5)


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
            assert not lost.numel(), f"the distance {lost[0]:.1e} {words}"
            check_value(result, truth, "the matrix of distances", slips, rtol=1e-5, atol=1e-5)
            slopes = gradient("pairwise_three_ways", x, y, how)
            rights, wrongs = (unit.sum(1), -unit.sum(0)), (shifted.sum(1), -shifted.sum(0))
            for slope, right, wrong, letter in zip(slopes, rights, wrongs, "xy", strict=True):
                what = f"the gradient by {letter}"
                words = "is NaN or infinite: what is the slope of the root at 0?"
                if not truth.numel():
                    words = "is NaN, though there is no distance: the mean of no points is NaN"
                assert slope.isfinite().all(), f"{what} {words}"
                check_value(slope, right, what, {moved: wrong}, rtol=1e-4, atol=1e-4)


def check_distance_cost(
    operators: Answer, case: every_case, x: torch.Tensor, y: torch.Tensor, name: str
) -> None:
    """Distances: how many products and calls of cdist ran, and how large their tensors are."""
    truth = (x.double()[:, None] - y.double()).square().sum(-1).sqrt().to(x)
    most = max(len(x) * len(y), x.numel(), y.numel()) * x.itemsize
    for how in ("broadcast", "gram", "cdist"):
        with case(f'"{how}", {name}'):
            notes, raised, result = operators("pairwise_three_ways", x, y, how)
            assert not raised, f"{raised} was raised"
            ran = [line[0] for line in notes]
            assert len(ran) < 50, f"{len(ran)} operators ran: is there a loop?"
            assert ran, "no operator ran: is there an answer yet, and is it made with PyTorch?"
            heavy = [
                line for line in notes if line[3] > most * (x.shape[1] ** (how == "broadcast"))
            ]
            for op, _, size, _ in heavy[:1]:
                raise AssertionError(f"{op} makes a tensor of shape {size}, larger than allowed")
            # A matrix product: its result has two sizes above 1. Sums of squares by einsum don't.
            kinds = ("mm", "addmm", "bmm", "baddbmm")
            products = sum(op in kinds and min(size[-2:]) > 1 for op, _, size, _ in notes)
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


def check_sum_error(answer: Answer, case: every_case, x: torch.Tensor, name: str) -> None:
    """The error of a sum in each way, in units of rounding."""
    exact, size, n = x.double().sum(0), x.double().abs().sum(0), len(x)
    depth, unit = max(n - 1, 1).bit_length(), 2.0**-24
    bounds = {"naive": n, "pairwise": depth + 1, "compensated": 2.01}  # in units
    hints = {
        "naive": "are all rows added?",
        "pairwise": "is a row lost where their number is odd?",
        "compensated": "is what was lost taken from the next row, and with the right sign?",
    }
    for how, bound in bounds.items():
        with case(f'"{how}", x {name}'):
            with forbid_changes(x):
                result = answer(x, how)
            check_form(result, exact.float(), "the sum")
            assert not result.isnan().any(), "a sum is NaN"
            error = ((result.double() - exact).abs() / size.clamp_min(1e-30) / unit).max().item()
            assert error <= bound, f"error {error:.4g} u, at most {bound:.4g} u: {hints[how]}"


def check_sum_way(answer: Answer, case: every_case, x: torch.Tensor, name: str) -> None:
    """A sum in each way: how many additions ran, and nothing else."""
    n, depth = len(x), max(len(x) - 1, 1).bit_length()
    loop, back = (sum(rows, x.new_zeros(x.shape[1])) for rows in (x, x.flip(0)))  # Python's sum
    few, many = {"pairwise": 3 * depth + 3}, {"pairwise": len(x).bit_length() - 1}
    for how in ("naive", "pairwise", "compensated"):
        with case(f'"{how}", x {name}'):
            with count_operators() as counts:
                result = answer(x, how)
            check_close(result, loop, "the sum", rtol=1e-4, atol=1e-3)
            assert not counts["_to_copy"], "a dtype was converted; stay in float32"
            found = [name for name in BANNED_SUMS if counts[name]]
            assert not found, f"{', '.join(found)} ran; add up in float32 by yourself"
            words = "that is the sum from the last row to the first"
            turned = torch.equal(result, back) and not torch.equal(loop, back)
            assert how != "naive" or not turned, words
            same = how != "naive" or torch.equal(result, loop)
            assert same, "not what a loop over the rows gives to the last digit: is it more exact?"
            adds = sum(counts[op] for op in ("add", "add_", "sub", "sub_", "rsub"))
            words = f"{adds} additions for {n} rows; add halves to halves"
            assert adds <= few.get(how, 10 * n + 10), words
            words = f"{adds} of PyTorch's additions for {n} rows: is the sum made elsewhere?"
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
    shape, given = (*batch, d, d), (x,) if weights is None else (x, weights)
    slips = {words: wrong.reshape(shape).to(x.dtype) for words, wrong in slips.items()}
    with case(name):
        with forbid_changes(*given), count_operators() as counts:
            result = answer(*given)
        if n != d and isinstance(result, torch.Tensor) and result.shape[-2:] == (n, n):
            raise AssertionError("the observations lie in the rows, the variables in the columns")
        right = truth.reshape(shape).to(x.dtype)
        check_value(result, right, "the covariance", slips, rtol=rtol, atol=atol)
        ran = counts.total()
        assert ran < 60, f"{ran} operators ran: is there a loop?"


def _covariance(x: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    w = (torch.ones_like(x[..., 0]) if weights is None else weights).unsqueeze(-1)
    total = w.sum(-2, keepdim=True)
    z = x - (w * x).sum(-2, keepdim=True) / total
    return (w * z).mT @ z / (total - w.square().sum(-2, keepdim=True) / total)


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
            pair = gradient("covariance", *given), gradient_of(_covariance, *given)
            found, right = ([a] if isinstance(a, torch.Tensor) else a for a in pair)
            names = "the gradient by x", "the gradient by the weights"
            for what, slope, truth in zip(names, found, right, strict=False):
                words = f"{what} is not finite: is there a root of a weight that is 0?"
                assert slope.isfinite().all(), words
                slips = {"0 everywhere: was it detached?": torch.zeros_like(truth)}
                check_value(slope, truth, what, slips, rtol=1e-3, atol=1e-4)


def check_logsumexp(calls: Answer, case: every_case, x: torch.Tensor, dim: int, name: str) -> None:
    """The value of a logsumexp, and that it is not the library's."""
    truth = torch.logsumexp(x.double(), dim)
    with case(f"x {name}, dim={dim}"):
        with forbid_changes(x):
            result, names, changed, _ = calls("stable_logsumexp", x, dim)
        check_rules(names, changed, *OWN_LOGSUMEXP)
        top = x.double().amax(dim)
        slips = {
            "overflow or underflow: subtract the largest before the power": x.exp().sum(dim).log(),
            "the maximum was subtracted, but is not added again": truth - top,
            "this is the maximum alone": top,
            "one maximum for all rows: rows far below it vanish": (
                (x - x.max()).exp().sum(dim).log() + x.max() if x.numel() else truth
            ),
            "this is the sum of the powers, without the logarithm": x.double().exp().sum(dim),
        }
        nan = isinstance(result, torch.Tensor) and result.isnan().any()
        assert not nan, "there is NaN: is there ∞ − ∞ somewhere?"
        loose = {2: 1e-2, 4: 1e-5, 8: 1e-9}[x.itemsize]
        slips = {words: wrong.to(x.dtype) for words, wrong in slips.items()}
        check_value(result, truth.to(x.dtype), "the sum", slips, rtol=loose, atol=loose)


def check_logsumexp_slope(
    gradient: Answer, case: every_case, x: torch.Tensor, dim: int, name: str
) -> None:
    """The gradient of a logsumexp: softmax, and 0 for a row of minus infinity."""
    size = x.sum(dim).shape
    weights = torch.arange(1.0, size.numel() + 1).view(size).to(x)
    right = x.double().softmax(dim).nan_to_num() * weights.unsqueeze(dim)
    with case(f"the gradient with x {name}, dim={dim}"):
        slope = gradient("stable_logsumexp", x, dim, weights=weights)
        assert not slope.isnan().any(), "it is NaN: 0 · ∞ somewhere?"
        # In float32 PyTorch's own is as far off as x is large: softmax is exp(x - result) there.
        loose = 1e-3 if x.itemsize == 4 else 1e-8
        words = "0 everywhere: is the graph cut, or the maximum not added again?"
        slips = {words: torch.zeros_like(x)}
        check_value(slope, right.to(x), "the gradient", slips, rtol=loose, atol=loose)


def check_masked(
    answer: Answer, case: every_case, scores: torch.Tensor, mask: torch.Tensor, dim: int, name: str
) -> None:
    """The value of a softmax under a mask."""
    scores, mask = scores.clone(), mask.clone()  # an answer that changes them spoils no other case
    x, whole = scores.double(), mask.expand(scores.shape)
    truth = x.masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0)
    slips = {
        "the number put into a masked place is not below all scores; −∞ is": (
            x.masked_fill(~mask, -1e4).softmax(dim) * mask
        ),
        "it is not below all scores, the number put into a masked place; −∞ is": (
            x.masked_fill(~mask, -1e9).softmax(dim) * mask
        ),
        "the masked scores still count in the sum below, or as the largest": x.softmax(dim) * mask,
        "0 everywhere: do all powers underflow?": torch.zeros_like(x),
        "a score of 0 is not hidden: e⁰ is 1": (x * mask).softmax(dim),
        "a score of 0 is not hidden: e⁰ is 1 in the sum": (x * mask).softmax(dim) * mask,
        "the mask is the other way round: True means allowed": (
            x.masked_fill(mask, -torch.inf).softmax(dim).masked_fill(mask, 0)
        ),
        "it adds up to 1 along another dimension than dim": (
            x.masked_fill(~mask, -torch.inf).softmax(-1 if dim != -1 else 0).masked_fill(~mask, 0)
        ),
    }
    if scores.itemsize == 2:
        hidden = scores.masked_fill(~mask, -torch.inf)
        rounded = (hidden - hidden.logsumexp(dim, keepdim=True)).exp().masked_fill(~mask, 0)
        words = (
            "minus a logsumexp in half precision, which rounds too much: take float32 on the way"
        )
        slips = {words: rounded.double(), **slips}
    with case(f"{name}, dim={dim}"):
        try:
            with forbid_changes(scores, mask):
                result = answer(scores, mask, dim)
        except RuntimeError as error:
            if "overflow" not in str(error):
                raise
            words = "a constant such as -1e9 does not fit into half precision, whose largest number"
            raise AssertionError(f"{words} is 65504; −∞ exists in every dtype") from None
        known = isinstance(result, torch.Tensor) and result.shape == scores.shape
        if known:
            none = ~whole.any(dim, keepdim=True).expand(scores.shape)
            words = "a row with everything masked should be zeros"
            assert not result[none].isnan().any(), f"{words}, it is NaN"
            assert (result[none] == 0).all(), f"{words}, not uniform"
            assert not result.isnan().any(), "there is NaN: an overflow, or 0 / 0?"
        loose = {2: 1e-2, 4: 1e-5, 8: 1e-9}[scores.itemsize]
        if scores.itemsize > 2 and scores.numel():  # x - logsumexp is right, too, and rounds x
            size = 8 * torch.finfo(scores.dtype).eps * scores.abs().max().item()
            loose = max(loose, min(size, 0.03))
        right = truth.to(scores.dtype)
        check_value(result, right, "the result", slips, rtol=loose, atol=loose / 10)
        assert (result[~whole] == 0).all(), "a masked place is not exactly 0"


def check_masked_slope(
    gradient: Answer,
    calls: Answer,
    case: every_case,
    scores: torch.Tensor,
    mask: torch.Tensor,
    dim: int,
    name: str,
) -> None:
    """The gradient of a softmax under a mask, and that its arguments stay."""
    truth = scores.masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0)
    weights = torch.arange(1.0, scores.numel() + 1).view(scores.shape).to(truth) % 7
    average = (truth * weights).sum(dim, keepdim=True)
    with case(f"the gradient with {name}, dim={dim}"):
        slope = gradient("masked_softmax", scores, mask, dim, weights=weights)
        words = "it is NaN: mask before the bad place as well as after it"
        assert not slope.isnan().any(), words
        check_close(slope, truth * (weights - average), "it", rtol=1e-5, atol=1e-6)
    with case(f"the arguments after {name}"):
        _, names, changed, _ = calls("masked_softmax", scores, mask, dim)
        check_rules(names, changed)


def _blocks_by_loop(blocks: torch.Tensor) -> torch.Tensor:
    *batch, n, p, q = blocks.shape
    truth = blocks.new_zeros(*batch, n * p, n * q)
    for k in range(n):
        truth[..., k * p : (k + 1) * p, k * q : (k + 1) * q] = blocks[..., k, :, :]
    return truth


def check_blocks(answer: Answer, case: every_case, blocks: torch.Tensor, name: str) -> None:
    """Block-diagonal matrices beside a loop."""
    truth = _blocks_by_loop(blocks)
    with case(name):
        with forbid_changes(blocks):
            result = answer(blocks)
        known = isinstance(result, torch.Tensor) and result.shape == truth.shape
        spread = known and bool((result.isnan() & ~truth.isnan()).any())
        words = "NaN outside of the block: 0 · ∞ is NaN, so place the blocks, don't multiply"
        assert not spread, words
        check_close(result, truth, "the result")


def check_growth(
    answer: Answer, case: every_case, few: torch.Tensor, many: torch.Tensor, what: str
) -> None:
    """That more blocks take no more operators."""
    with case(what):
        ran = []
        for blocks in (few, many):
            with count_operators() as counts:
                result = answer(blocks)
            given = isinstance(result, torch.Tensor)
            assert given, f"a {type(result).__name__} came back: is there an answer yet?"
            ran.append(counts.total())
        words = f"{ran[0]} operators for {len(few)} and {ran[1]} for {len(many)}: is there a loop?"
        assert ran[1] <= ran[0], words
        check_close(result, _blocks_by_loop(many), "the result")


def check_eigen(
    answer: Answer, case: every_case, a: torch.Tensor, name: str, tol: float = 1e-5
) -> None:
    """The eigenvalue largest in size, with its sign, and its eigenvector."""
    every = torch.linalg.eigvalsh(a.double())
    truth = every[every.abs().argmax()]
    slips = {
        "the sign is lost: a length has none": truth.abs(),
        "the largest eigenvalue, not the largest in absolute value": every.max(),
        "the smallest in absolute value": every[every.abs().argmin()],
    }
    slips = {words: wrong.to(a.dtype) for words, wrong in slips.items()}
    with case(name):
        try:
            with forbid_changes(a):
                pair = answer(a, tol)
        except RuntimeError as error:
            words = f"it gave up (RuntimeError: {error}), though there is an answer: does the rule"
            raise AssertionError(f"{words} hold for a negative eigenvalue, and for 0?") from None
        fits = isinstance(pair, (tuple, list)) and len(pair) == 2
        assert fits, "return the pair (eigenvalue, eigenvector): is there an answer yet?"
        value, v = pair
        if isinstance(value, torch.Tensor) and value.numel() == 1 and truth != 0:
            size, far = abs(truth.item()), abs(value.item() - truth.item())
            near = 3 * tol * size + 1e-12 < far < 1e-3 * size
            words = "the eigenvalue is nearly right: is |Av - λv| compared with tol · |λ|?"
            assert not near, words
        check_value(value, truth.to(a.dtype), "the eigenvalue", slips, rtol=3 * tol, atol=1e-12)
        check_form(v, a[0], "the eigenvector")
        length = v.double().square().sum().sqrt().item()
        assert abs(length - 1) < 1e-4, f"the eigenvector has length {length:.4g}, expected 1"
        left = (a.double() @ v.double() - truth * v.double()).square().sum().sqrt().item()
        assert left <= 3 * tol * abs(truth) + 1e-12, f"|Av - λv| is {left:.1e}, not small"


def check_steps(
    operators: Answer,
    case: every_case,
    a: torch.Tensor,
    name: str,
    steps: int,
    settles: bool,
    at_most: int,
) -> None:
    """How many products with the matrix ran, and whether it gave up where it should."""
    n = len(a)
    with case(f"{name}, max_steps={steps}"):
        notes, raised, pair = operators("power_iteration", a, 1e-5, steps)
        banned = [op for op, *_ in notes if "linalg" in op and "norm" not in op]
        assert not banned, f"{banned[0]} ran: the products are to do it"
        assert not (settles and raised), f"{raised} was raised, though {steps} steps are enough"
        assert raised or pair is not None, "it returned None: is there an answer yet?"
        words = "an answer was returned; where nothing settles, raise RuntimeError"
        assert settles or raised, words
        assert settles or raised == "RuntimeError", f"{raised} was raised, expected RuntimeError"
        # A product: one argument has the matrix's size, the new result a vector's.
        ran = sum(
            bool(new) and prod(size) == n and n * n in map(prod, sizes)
            for _, sizes, size, new in notes
        )
        words = f"{ran} products with the matrix ran, at most {at_most}"
        assert ran <= at_most, f"{words}: one a step, and stop as soon as |Av - λv| is small"
        assert ran, "no product with the matrix ran: is it made by PyTorch?"
        words = f"{ran} products ran before it gave up, expected max_steps, {steps}"
        assert settles or ran == steps, words
        if settles:
            fits = isinstance(pair, (tuple, list)) and len(pair) == 2
            assert fits, "return the pair (eigenvalue, eigenvector): is there an answer yet?"
            every = torch.linalg.eigvalsh(a)
            check_close(pair[0], every[every.abs().argmax()], "the eigenvalue", rtol=1e-3)
            check_form(pair[1], a[0], "the eigenvector")
            check_close(a @ pair[1], pair[0] * pair[1], "A v", rtol=1e-2, atol=1e-3)


def check_qr(answer: Answer, case: every_case, a: torch.Tensor, name: str) -> None:
    """Q and R of both ways."""
    n = a.shape[1]
    for modified in (False, True):
        with case(f"{name}, modified={modified}"):
            with forbid_changes(a), count_operators() as counts:
                pair = answer(a, modified)
            fits = isinstance(pair, (tuple, list)) and len(pair) == 2
            assert fits, "return the pair (Q, R): is there an answer yet?"
            banned = [op for op in counts if "geqrf" in op or ("linalg" in op and "norm" not in op)]
            assert not banned, f"{', '.join(banned)} ran: build it from products and lengths"
            words = f"{counts.total()} operators for {n} columns: is it made elsewhere?"
            assert counts.total() >= 2 * n, words
            q, r = pair
            check_form(q, a, "Q")
            check_form(r, a.new_empty(n, n), "R")
            nan = q.isnan().any() or r.isnan().any()
            assert not nan, "there is NaN: a length of 0?"
            words = "R has entries below the diagonal: r[i, j] belongs to q[:, i] and a[:, j]"
            assert torch.equal(r, r.triu()), words
            lengths = q.square().sum(0)
            words = f"the columns of Q have the squared lengths {lengths.tolist()}, expected 1"
            assert (lengths - 1).abs().max() < 1e-3, words
            off = (q.T @ q - torch.eye(n).to(a)).abs().max().item()
            assert off < 1e-3, f"columns of Q are not orthogonal: a product is {off:.2g}"
            check_close(q @ r, a, "Q @ R", rtol=1e-4, atol=1e-4 * a.abs().max().item())
            assert (r.diagonal() > 0).all(), "the diagonal of R should be positive (lengths)"


def check_lost(answer: Answer, case: every_case, a: torch.Tensor, name: str) -> None:
    """That nearly equal columns stay orthogonal the modified way, and do not the classical way."""
    n = a.shape[1]
    for modified in (False, True):
        with case(f"{name}, modified={modified}"):
            try:
                pair = answer(a, modified)
            except Exception:  # the judge may know another kind, with other words
                raise AssertionError("it stops with an error for nearly equal columns") from None
            fits = isinstance(pair, (tuple, list)) and len(pair) == 2
            assert fits, "return the pair (Q, R): is there an answer yet?"
            q, r = pair
            check_form(q, a, "Q")
            check_form(r, a.new_empty(n, n), "R")
            assert not q.isnan().any(), "there is NaN in Q: a length of 0?"
            check_close(q @ r, a, "Q @ R", rtol=1e-3, atol=1e-4)
            lost = (q.T @ q - torch.eye(n).to(q)).abs().max().item()
            words = f"orthogonality is lost ({lost:.2g}): take each coefficient from what is left"
            assert lost < 1e-3 or not modified, words
            words = "too orthogonal: the classical way takes all coefficients from the given column"
            assert lost > 0.1 or modified, words


def check_fit(
    answer: Answer,
    case: every_case,
    a: torch.Tensor,
    b: torch.Tensor,
    truth: torch.Tensor,
    name: str,
    ways: tuple[str, ...] = ("normal", "qr", "lstsq"),
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Least squares: the values, in each way."""
    for how in ways:
        with case(f'"{how}", {name}'):
            with forbid_changes(a, b):
                x = answer(a, b, how)
            check_close(x, truth, "x", rtol=rtol, atol=atol)


def check_fit_way(
    answer: Answer, operators: Answer, case: every_case, a: torch.Tensor, name: str
) -> None:
    """Least squares: which factorisation ran, and how often."""
    square = [a.shape[-1]] * 2
    for how in FITS:
        with case(f'"{how}", {name}'):
            with count_operators() as counts:
                x = answer(a, a.sum(-1), how)
            check_close(x, torch.ones_like(a[:, 0]), "x", rtol=1e-3, atol=1e-3)
            inverses = {"linalg_inv_ex", "linalg_pinv", "cholesky_inverse", "_linalg_svd"}
            inverses = sorted(inverses & set(counts))
            assert not inverses, f"{', '.join(inverses)} ran: solve, don't invert"
            notes, *_ = operators("least_squares", a, a.sum(-1), how)
            # Both arguments are square matrices: the right-hand side is the identity.
            whole = [
                op
                for op, sizes, *_ in notes
                if "solve" in op and len(sizes) > 1 and all(size[-2:] == square for size in sizes)
            ]
            words = "ran on a square right-hand side: that makes an inverse; solve for b"
            assert not whole, f"{', '.join(sorted(set(whole)))} {words}"
            ran = sum(counts[operator] for operator in FITS[how])
            assert ran == 1, f"{FIT_NAMES[how]} ran {ran} times for the whole batch, expected once"
            other = [key for key in FITS if key != how and any(counts[op] for op in FITS[key])]
            what = FIT_NAMES[other[0]] if other else ""
            assert not other, f"{what} ran as well: it belongs to {other[0]!r}" + (
                "; R is triangular, use that" if how == "qr" else ""
            )


def check_white(
    answer: Answer, case: every_case, x: torch.Tensor, name: str, loose: float = 1e-3
) -> None:
    """That a set of points is white, and made from x by one matrix."""
    n, d = x.shape
    with case(name):
        with forbid_changes(x):
            z = answer(x)
        check_form(z, x, "z")
        assert not z.isnan().any(), "there is NaN: a root of a negative number, or 0 / 0?"
        z, centred, one = z.double(), x.double() - x.double().mean(0), torch.eye(d).to(z).double()
        mean = z.mean(0).abs().max().item()
        assert mean < loose, f"a column has the mean {mean:.3g}, not 0: subtract it first"
        cov = z.T @ z / (n - 1)
        off = (cov - one).abs().max().item()
        biased = (cov * (n - 1) / n - one).abs().max() < loose / 10
        words = "the variance is 1 with the divisor n, asked for is n - 1"
        assert off < loose or not biased, words
        twin = (cov.diagonal() - 1).abs().max() < loose
        words = (
            f"each variance is 1, yet two columns have the covariance {off:.3g}: they vary together"
        )
        assert off < loose or not twin, words
        words = "orthonormal columns have the variance 1 / (n - 1): a factor is missing"
        assert off < loose or (cov * (n - 1) - one).abs().max() > loose, words
        squared = 1 / torch.linalg.eigvalsh(centred.T @ centred / (n - 1)).flip(0)
        far = (torch.linalg.eigvalsh(cov) / squared - 1).abs().max()
        assert off < loose or far > loose, "divided by the variance, not by its root"
        slip = centred @ torch.linalg.inv(torch.linalg.cholesky(centred.T @ centred / (n - 1)))
        words = f"the covariance is off the identity by {off:.3g}"
        if z.allclose(slip, rtol=loose, atol=loose):
            words = f"{words}: zᵀ = L⁻¹ (x - m)ᵀ, so it is z = (x - m) L⁻ᵀ, with L⁻¹ transposed"
        assert off < loose, words
        fit = centred @ (torch.linalg.pinv(centred) @ z)
        words = "white, but not (x - m) W: are rows mixed up?"
        assert (fit - z).abs().max() < 10 * loose, words


def _white_by_qr(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.qr(x - x.mean(0))[0] * (len(x) - 1) ** 0.5


def _soft(scores: torch.Tensor, mask: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0)


def _distances(x: torch.Tensor, y: torch.Tensor, how: str = "cdist") -> torch.Tensor:
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


CORNERS = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
MASK = torch.tensor([[True, True, False], [False, True, False]])
# By name: what the library offers, and the value of a small example.
LIBRARY: dict[str, tuple[Answer, Answer]] = {
    "pairwise_three_ways": (_distances, lambda f: f(CORNERS, CORNERS, "gram")),
    "whiten": (_white_by_qr, lambda f: f(CORNERS).T.cov()),
    "masked_softmax": (_soft, lambda f: f(CORNERS[:2, :1].expand(2, 3), MASK)),
}


def solved(names: Mapping[str, Any], name: str) -> Answer:
    """The learner's function of a name where it does a small example right, else the library's.

    Args:
        names: where the learner's functions lie, such as ``globals()``.
        name: one of ``LIBRARY``.
    """
    library, example = LIBRARY[name]
    if agrees(lambda: example(names[name]), example(library), atol=1e-2):
        return names[name]
    print(f"{name} is not solved yet: the library steps in")
    return library


RED, BLUE, GREEN, GREY = "#b04500", "#0072b2", "#00805c", "#8a8a8a"


def draw_gaps(digits: Mapping[str, int], marked: tuple[str, float, float], alt: str) -> None:
    """The gap from a number to the next one, for dtypes with so many binary digits each."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3))
    size = torch.logspace(-2, 9, 2000, dtype=torch.float64)
    for (name, p), colour in zip(digits.items(), (GREEN, RED, BLUE), strict=True):
        fits = size < (65504 if "float16" in name and "b" not in name else torch.inf)
        gap = 2.0 ** (size.log2().floor() + 1 - p)
        axes.loglog(size[fits], gap[fits], color=colour, label=name)
    axes.axhline(1, color=GREY, linewidth=1, linestyle="--")
    name, x, y = marked
    axes.plot(x, y, "o", color="#1a1a1a")
    axes.annotate(name, (x, y), (x / 100, y * 1e-6), arrowprops={"arrowstyle": "-"})
    axes.set(xlabel="a number", ylabel="gap to the next one", title="The marks on three rulers")
    axes.legend()
    show(figure, alt)


def draw_window(scores: torch.Tensor, alt: str) -> None:
    """Scores, and the same minus the largest, beside the numbers whose power of e is a float32."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 1.9))
    axes.axvspan(-104, 88.7, color="#bfe0f5")
    for place, words in ((-8, "eˣ is a float32"), (-210, "eˣ is 0"), (205, "eˣ is ∞")):
        axes.text(place, 0.5, words, ha="center", va="center", color="#1a1a1a")
    axes.plot(scores, torch.ones(len(scores)), "o", color=RED, markersize=8)
    axes.plot(scores - scores.max(), torch.zeros(len(scores)), "o", color=BLUE, markersize=8)
    axes.set(xlim=(-260, 340), ylim=(-0.4, 1.4), xlabel="x")
    axes.set_yticks([0, 1], ["minus the largest", "the scores"])
    axes.set_xticks([-200, -104, 0, 88.7, 200, 300])
    show(figure, alt)


def draw_bands(*matrices: torch.Tensor, alt: str) -> None:
    """For each 2 × 2 matrix, where each of its equations holds up to a rounding of b."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(matrices), figsize=(3.7 * len(matrices), 3), sharey=True)
    side = torch.linspace(-2, 2, 301)
    grid = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1)  # (y, x, 2)
    for panel, a in zip(panels, matrices, strict=True):
        near = ((grid @ a.T).abs() < 0.15).sum(-1)
        panel.imshow(near, extent=(-2, 2, -2, 2), origin="lower", cmap="Blues", vmax=2.4)
        panel.set(xlabel="first unknown", title=f"condition number {torch.linalg.cond(a):.0f}")
    panels[0].set_ylabel("second unknown")
    show(figure, alt)


def draw_errors(
    conditions: Sequence[float],
    errors: Mapping[str, Sequence[float]],
    rules: Mapping[str, torch.Tensor],
    alt: str,
) -> None:
    """Errors over condition numbers, with the rules of thumb as dashed lines."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.1))
    marks = (("o-", RED), ("s-", BLUE), ("^:", GREEN))
    for (name, values), (mark, colour) in zip(errors.items(), marks, strict=True):
        axes.loglog(conditions, values, mark, color=colour, markersize=4, label=name)
    for (name, values), (_, colour) in zip(rules.items(), marks, strict=False):
        axes.loglog(conditions, values, "--", color=colour, label=name)
    axes.set(ylim=(1e-8, 10), xlabel="condition number of A", ylabel="error")
    axes.set_title("Least squares in float32")
    axes.legend(fontsize=8.5)
    show(figure, alt)


def draw_guesses(
    along: torch.Tensor,
    across: torch.Tensor,
    row: torch.Tensor,
    guesses: Mapping[str, torch.Tensor],
    alt: str,
) -> None:
    """A map for each way of guessing a plant's row, with a ring around each wrong guess."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(len(guesses), 1, figsize=(7.6, 4.8), sharex=True)
    for panel, (name, guess) in zip(panels, guesses.items(), strict=True):
        wrong = guess != row
        panel.scatter(along, across, c=row, cmap="viridis", s=12)
        panel.scatter(along[wrong], across[wrong], s=45, facecolors="none", edgecolors="#d00000")
        panel.set(title=f"{name}: {(~wrong).float().mean():.0%} right", ylabel="metres")
    panels[-1].set_xlabel("metres along the valley; a ring marks a plant in the wrong row")
    figure.tight_layout()
    show(figure, alt)
