"""Pooling, and what goes back through it."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from course_utils.chapters.layers.digits import check_digits
from course_utils.learner.calls import check_rules
from course_utils.learner.checks import check_equal
from course_utils.learner.values import check_parts


def check_pooling_and_back_1(try_pooling, x, k):
    result, names, spoilt = try_pooling("pool", x, k)
    check_rules(names, spoilt, "*pool*", "interpolate")
    largest, where, mean = check_parts(result, "largest", "where", "mean")
    right, places = F.max_pool2d(x, k, return_indices=True)
    check_floor(largest, right)
    check_digits(largest, right, "largest")
    check_equal(str(getattr(where, "dtype", type(where))), "torch.int64", "the dtype of where")
    check_equal(tuple(where.shape), tuple(places.shape), "the shape of where")
    for words, slip in _place_slips(places, x, k).items():
        telling = slip.numel() > 0 and bool((slip != slip.flatten()[0]).any())  # 0s fit many slips
        assert not telling or torch.equal(slip, places) or not torch.equal(where, slip), (
            f"where: {words}"
        )
    inside = ((where >= 0) & (where < x.shape[2] * x.shape[3])).all()
    assert inside, "where points outside the image"
    found = x.flatten(2).gather(2, where.flatten(2)).reshape(right.shape)
    words = "where: the pixels it points at are not the largest (rows of the image are W long)"
    assert torch.equal(found, right), words
    rows, columns = (torch.arange(n, device=x.device) for n in right.shape[2:])
    at_home = (where // x.shape[3] // k == rows.view(-1, 1)) & (where % x.shape[3] // k == columns)
    assert at_home.all(), "where points into another window"
    check_overflow(mean, "mean")
    check_digits(mean, F.avg_pool2d(x, k), "mean", {"this is the largest once more": right})


def check_floor(largest: object, right: torch.Tensor) -> None:
    """Refuse a number from outside of the image where all pixels of a window lie below it."""
    if not isinstance(largest, torch.Tensor) or largest.shape != right.shape:
        return
    off = largest.detach() != right.detach()
    floor = largest.detach()[off].unique()
    if off.sum() > 1 and len(floor) == 1 and (right[off] < floor).all():
        words = "pixels may lie below any number that you pad or begin with, but not below -inf"
        raise AssertionError(f"largest is {floor.item():g} where all pixels are less: {words}")


def _place_slips(places, x, k):
    """What known slips make of ``where``, by the words for them."""
    height, width = x.shape[2:]
    row, column = places // width, places % width
    channel = torch.arange(x.shape[1], device=x.device).view(1, -1, 1, 1)
    return {
        "it counts the pixels of the whole image; these are positions in a window": (
            row % k * k + column % k
        ),
        "a row of the image is W long, also where columns are left over": row * (width // k * k)
        + column,
        "a row of the image is W long, not H": row * height + column,
        "each channel is counted from 0": places + channel * height * width,
        f"positions are whole numbers: in {str(x.dtype)[6:]} they lose digits": places.to(
            x.dtype
        ).long(),
    }


def check_pooling_and_back_2(try_pooling, x, k, turned=False):
    largest, where = F.max_pool2d(x, k, return_indices=True)
    if turned:  # the same values, column by column in memory
        largest, where = (t.transpose(2, 3).contiguous().transpose(2, 3) for t in (largest, where))
    earlier = F.max_pool2d(1 - x, k, return_indices=True)  # other places of this size
    try_pooling("unpool", *earlier, *x.shape[2:])
    y, names, spoilt = try_pooling("unpool", largest, where, *x.shape[2:])
    check_rules(names, spoilt, "*pool*")
    right = F.max_unpool2d(largest, where, k, output_size=x.shape[2:])
    left = F.max_unpool2d(*earlier, k, output_size=x.shape[2:])
    own = "each channel of each image has places of its own"
    by_first = [where[:1, :1].expand_as(where), where[:, :1].expand_as(where)]
    slips = {
        "zeros elsewhere; here values of an earlier call are left": right.where(right != 0, left),
        **{
            own + " " * n: F.max_unpool2d(largest, places, k, output_size=x.shape[2:])
            for n, places in enumerate(by_first)
        },
        "a value is in one place, with zeros around it; here it is repeated": F.interpolate(
            largest, x.shape[2:]
        ),
    }
    check_digits(y, right, "unpool", slips)


def check_pooling_and_back_3(try_pooling, x, m):
    y, names, spoilt = try_pooling("mean", x, m)
    check_rules(names, spoilt, "*pool*", "interpolate")
    right = F.adaptive_avg_pool1d(x.reshape(1, -1, x.shape[-1]), m).view(*x.shape[:-1], m)
    n, slips = x.shape[-1], {}
    begins = [i * n // m for i in range(m)]
    words = "a window ends at (i + 1) n / m rounded up; here it is rounded down"
    ends = [max(a + 1, (i + 1) * n // m) for i, a in enumerate(begins)]
    slips[words] = means(x, begins, ends)
    words = "a window begins at i n / m rounded down; here it is rounded up"
    ends = [-(-(i + 1) * n // m) for i in range(m)]
    late = [min(-(-i * n // m), end - 1) for i, end in enumerate(ends)]
    slips[words] = means(x, late, ends)
    words = "n / m is a float, and i times it misses a whole number: multiply first"
    begins = [math.floor(i * (n / m)) for i in range(m)]
    ends = [math.ceil((i + 1) * (n / m)) for i in range(m)]
    slips[words] = means(x, begins, ends)
    if n >= m:
        words = "the windows are not n // m long, side by side: see the two formulas"
        slips[words] = x.unfold(-1, n // m, n // m)[..., :m, :].mean(-1)
    check_overflow(y, f"adaptive_mean of {n} to {m}")
    if isinstance(y, torch.Tensor) and y.isnan().any():
        words = "a mean of no pixel: a window ends at (i + 1) n / m rounded up"
        raise AssertionError(f"adaptive_mean of {n} to {m} has a nan: {words}")
    check_digits(y, right, f"adaptive_mean of {n} to {m}", slips)


def check_overflow(means: object, what: str) -> None:
    """Refuse infinite means: all the numbers that are pooled here are finite."""
    if isinstance(means, torch.Tensor) and means.isinf().any():
        words = (
            "in float16 numbers and sums overflow above 65504; add up in float32, as `mean` does"
        )
        raise AssertionError(f"{what} is infinite: {words}")


def means(x, begins, ends):
    """The means of these windows of the last dimension."""
    windows = zip(begins, ends, strict=True)
    return torch.stack([x[..., a:b].mean(-1) for a, b in windows], -1)
