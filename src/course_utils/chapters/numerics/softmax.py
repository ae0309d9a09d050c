"""Exercises 4.6 and 4.7: logsumexp that never breaks, and softmax under a mask."""

from __future__ import annotations

import torch

from course_utils.chapters.numerics.notes import Answer, few_digits
from course_utils.learner.calls import check_rules
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.values import check_value

OWN_LOGSUMEXP = (
    "*logsumexp*", "logaddexp*", "*softmax*", "*softmin*", "logcumsumexp", "*_loss*",
    "*cross_entropy*", "log_prob",
)  # fmt: skip


def check_logsumexp(calls: Answer, case: every_case, x: torch.Tensor, dim: int, name: str) -> None:
    """The value of a logsumexp, and that it is not the library's."""
    truth = torch.logsumexp(x.double(), dim)
    with case(f"x {name}, dim={dim}"):
        with forbid_changes(x):
            result, names, changed, _ = calls("stable_logsumexp", x, dim)
        check_rules(names, changed, *OWN_LOGSUMEXP)
        top = x.double().amax(dim)
        half = torch.logsumexp(x.half().double(), dim)
        words = "beyond 65504, where float16 ends and bfloat16 does not"
        slips = {
            **({words: half} if x.dtype == torch.bfloat16 else {}),
            "overflow or underflow: subtract the largest before the power": x.exp().sum(dim).log(),
            "the maximum was subtracted, but is not added again": truth - top,
            "this is the maximum alone; what lies far below it counts, too": top,
            "one maximum for all rows: rows far below it vanish": (
                (x - x.max()).exp().sum(dim).log() + x.max() if x.numel() else truth
            ),
            "this is the sum of the powers, without the logarithm": x.double().exp().sum(dim),
        }
        for limit in (10, 15, 20, 25):
            above = (x.double() - top.unsqueeze(dim)).clamp(min=-limit).exp().nan_to_num().sum(dim)
            words = f"numbers more than {limit} below the largest count as they are: no limit"
            slips[words] = above.log() + top
        nan = isinstance(result, torch.Tensor) and result.isnan().any()
        assert not nan, "there is NaN: is there ∞ − ∞ somewhere?"
        loose = {2: 1e-2, 4: 1e-5, 8: 1e-9}[x.itemsize]
        slips = {words: wrong.to(x.dtype) for words, wrong in slips.items()}
        right = truth.to(x.dtype)
        if _rounded(result, right):
            slips["right to float32's digits alone: stay in float64"] = result
        check_value(result, right, "the sum", slips, rtol=loose, atol=loose)


def check_logsumexp_corners(
    calls: Answer, case: every_case, rows: torch.Tensor, empty: torch.Tensor, far: torch.Tensor
) -> None:
    """Rows of all kinds together, and numbers at the ends of a dtype."""
    kinds = torch.cat([empty, rows, -empty])
    check_logsumexp(calls, case, kinds, 1, "with rows of all kinds")
    large = (rows * 1e30).bfloat16()
    check_logsumexp(calls, case, large, 1, "in bfloat16, beyond half precision")
    check_logsumexp(calls, case, rows.new_tensor([3e38, -3e38]), 0, "near the largest float32")
    check_logsumexp(calls, case, rows.mT, 0, "transposed")
    deep = torch.arange(16.0).to(rows).view(2, 2, 1, 2, 2) * 100
    check_logsumexp(calls, case, deep, 1, "of five dimensions")
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        few = kinds / 10 if dtype == torch.float16 else kinds
        check_logsumexp(calls, case, few.to(dtype), -1, f"with rows of all kinds, in {dtype}")
    many = torch.full((2, 1000), 100.0).to(rows.device, torch.float16)
    check_logsumexp(calls, case, many, 1, "of 1000 equal numbers, in float16")
    check_logsumexp(calls, case, kinds[:, :1], 1, "of one column, of all kinds")
    for end in (-1e6, -3e38):
        check_logsumexp(calls, case, rows[:1] + end, 1, f"of numbers near {end:g} alone")
    below = "numbers 21 below the largest"
    check_logsumexp(calls, case, far * 0.7, 0, f"in float64, 99 {below}")


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
        loose = {2: 1e-2, 4: 1e-3, 8: 1e-8}[x.itemsize]
        cut = (slope == 0) & (right > 1e-30) if x.dtype == torch.float64 else slope != slope
        words = "0 where softmax is small but not 0: is what lies far below the largest cut off?"
        assert not cut.any() or not (slope != 0).any(), words
        words = "0 everywhere: is the graph cut, as by a clamp, or the maximum not added again?"
        slips = {words: torch.zeros_like(x)}
        check_value(slope, right.to(x), "the gradient", slips, rtol=loose, atol=loose)


def check_logsumexp_slope_corners(gradient: Answer, case: every_case, like: torch.Tensor) -> None:
    """The gradient beside −∞, and where all is −∞, in several dtypes."""
    low, inf = torch.finfo(torch.float32).min, torch.inf
    lowest = like.new_tensor([[low, -inf], [-inf, low]], dtype=torch.float32)
    check_logsumexp_slope(gradient, case, lowest, 1, "of the lowest number beside −∞")
    rows = like.new_tensor([[1.0, 0.0], [-inf, -inf], [0, -inf]])
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        name = f"of three rows, one all −∞, in {dtype}"
        check_logsumexp_slope(gradient, case, rows.to(dtype), 1, name)


def check_masked(
    answer: Answer,
    case: every_case,
    scores: torch.Tensor,
    mask: torch.Tensor,
    dim: int | None,
    name: str,
) -> None:
    """The value of a softmax under a mask; where ``dim`` is None it is left out."""
    given, dim = () if dim is None else (dim,), -1 if dim is None else dim
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
    if scores.dim() == 2 and scores.shape[0] == scores.shape[1]:
        words = "the mask lies the other way: sizes are compared from the last dimension on"
        turned = whole.mT
        slips[words] = x.masked_fill(~turned, -torch.inf).softmax(dim).masked_fill(~turned, 0)
    if scores.itemsize == 2:
        hidden = scores.masked_fill(~mask, -torch.inf)
        rounded = (hidden - hidden.logsumexp(dim, keepdim=True)).exp().masked_fill(~mask, 0)
        words = (
            "minus a logsumexp in half precision, which rounds too much: take float32 on the way"
        )
        slips = {words: rounded.double(), **slips}
    with case(f"{name}, dim{f'={dim}' if given else ' left out'}"):
        try:
            with forbid_changes(scores, mask):
                result = answer(scores, mask, *given)
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
        cut = known and _is_cut(result, right)
        words = "a small probability became 0: is there a threshold, or e^(x - x_max) cut off?"
        assert not cut, words
        assert not _rounded(result, right), "right to float32's digits alone: stay in float64"
        check_value(result, right, "the result", slips, rtol=loose, atol=loose / 10)
        assert (result[~whole] == 0).all(), "a masked place is not exactly 0"


def _rounded(result: object, right: torch.Tensor) -> bool:
    """Whether numbers of float64 are right, but carry the digits of float32 alone."""
    if not isinstance(result, torch.Tensor) or result.shape != right.shape:
        return False
    near = few_digits(result) and not few_digits(right)
    return near and torch.allclose(result, right.to(result.dtype), rtol=1e-5, atol=1e-6)


def _is_cut(result: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether small probabilities are 0, and all others are right."""
    lost = (result == 0) & (right > 10 * torch.finfo(right.dtype).tiny)
    small = bool(lost.any()) and bool((right[lost] < 1e-3).all())
    return small and torch.allclose(result, right, rtol=1e-2, atol=1e-3)


def check_masked_corners(
    answer: Answer, case: every_case, scores: torch.Tensor, mask: torch.Tensor
) -> None:
    """Rows with everything masked, masks of few dimensions, and a dim left out."""
    none = mask & mask[:, 2:]
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        check_masked(answer, case, scores.to(dtype), none, -1, f"a row all masked, in {dtype}")
    cube = torch.stack([scores, scores.flip(1), scores / 2])
    check_masked(answer, case, cube, mask, None, "three dimensions")
    square, corner = scores[:1] * scores[1:].T, mask.new_ones(3, 3).tril()
    check_masked(answer, case, square, corner, -1, "square scores and a mask of another order")
    check_masked(answer, case, square, mask[1], -1, "square scores and a mask of one dimension")
    for whole in (True, False):
        one = torch.tensor(whole, device=mask.device)
        check_masked(answer, case, scores, one, -1, f"a mask without dimensions, {whole}")
    check_masked(answer, case, scores - 2, mask, -1, "a score of 0, which counts")
    check_masked(answer, case, scores * 0 - 1e12, mask, -1, "equal scores, far below zero")
    alone = mask & (mask.cumsum(-1) == 1)  # one place in each row
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        lowest = torch.full_like(scores, 0.99 * torch.finfo(dtype).min, dtype=dtype)
        check_masked(answer, case, lowest, alone, -1, f"one score a row, the lowest, in {dtype}")
    large = (scores * 1e30).bfloat16()
    check_masked(answer, case, large, alone, -1, "bfloat16, beyond half precision")
    check_masked(answer, case, scores.mT, mask.mT, 0, "transposed")
    check_masked(answer, case, cube.mT[None], mask.mT, 2, "four dimensions")
    check_masked(answer, case, cube[:, :0], mask[:0], -1, "no row in each of three")
    check_masked(answer, case, scores[:1].expand(2, 3), mask, -1, "expanded scores")
    apart = torch.tensor([[-0.7, -0.7, 0.7], [0.7, -0.7, 0.7]], device=mask.device)
    hidden = torch.tensor([[True, False, False], [False, True, False]], device=mask.device)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        ends = apart.to(dtype) * torch.finfo(dtype).max
        name = f"a large masked score above all others, which are far below zero, in {dtype}"
        check_masked(answer, case, ends, hidden, -1, name)
        check_masked(answer, case, -apart.to(dtype), hidden, 0, f"another dim, in {dtype}")
        name = f"low scores, all masked, in {dtype}"
        check_masked(answer, case, -ends.abs(), hidden & hidden[1:], -1, name)
    low = scores.double() * torch.tensor([-16.0, -16.0, 1.0]).to(scores)
    check_masked(answer, case, low, mask, -1, "scores far apart, in float64")


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
        loose = {2: 3e-2, 4: 1e-5, 8: 1e-9}[scores.itemsize]
        check_close(slope, truth * (weights - average), "it", rtol=loose, atol=loose)
    with case(f"the arguments after {name}"):
        _, names, changed, _ = calls("masked_softmax", scores, mask, dim)
        check_rules(names, changed)
