"""Pooling, and what goes back through it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from course_utils.learner.calls import check_rules
from course_utils.learner.checks import check_equal
from course_utils.learner.values import check_parts, check_value


def check_pooling_and_back_1(try_pooling, x, k):
    result, names, spoilt = try_pooling("pool", x, k)
    check_rules(names, spoilt, "*pool*")
    largest, where, mean = check_parts(result, "largest", "where", "mean")
    right, places = F.max_pool2d(x, k, return_indices=True)
    check_value(largest, right, "largest")
    check_equal(str(getattr(where, "dtype", type(where))), "torch.int64", "the dtype of where")
    check_equal(tuple(where.shape), tuple(places.shape), "the shape of where")
    inside = ((where >= 0) & (where < x.shape[2] * x.shape[3])).all()
    assert inside, "where points outside the image"
    found = x.flatten(2).gather(2, where.flatten(2)).view_as(right)
    words = "where: the pixels it points at are not the largest (rows of the image are W long)"
    assert torch.equal(found, right), words
    rows, columns = (torch.arange(n, device=x.device) for n in right.shape[2:])
    at_home = (where // x.shape[3] // k == rows.view(-1, 1)) & (where % x.shape[3] // k == columns)
    assert at_home.all(), "where points into another window"
    check_value(mean, F.avg_pool2d(x, k), "mean")


def check_pooling_and_back_2(try_pooling, x, k):
    largest, where = F.max_pool2d(x, k, return_indices=True)
    y, names, spoilt = try_pooling("unpool", largest, where, *x.shape[2:])
    check_rules(names, spoilt, "*pool*")
    right = F.max_unpool2d(largest, where, k, output_size=x.shape[2:])
    shared = where[:1, :1].expand_as(where)
    slips = {
        "each channel of each image has places of its own": F.max_unpool2d(
            largest, shared, k, output_size=x.shape[2:]
        ),
        "a value stands in one place, with zeros around it; here it is repeated": F.interpolate(
            largest, x.shape[2:]
        ),
    }
    check_value(y, right, "unpool", slips)


def check_pooling_and_back_3(try_pooling, x, m):
    y, names, spoilt = try_pooling("mean", x, m)
    check_rules(names, spoilt, "*pool*")
    right = F.adaptive_avg_pool1d(x.reshape(1, -1, x.shape[-1]), m).view(*x.shape[:-1], m)
    n, slips = x.shape[-1], {}
    begins = [i * n // m for i in range(m)]
    words = "a window ends at (i + 1) n / m rounded up; here it is rounded down"
    ends = [max(a + 1, (i + 1) * n // m) for i, a in enumerate(begins)]
    slips[words] = torch.stack(
        [x[..., a:b].mean(-1) for a, b in zip(begins, ends, strict=True)], -1
    )
    if n >= m:
        words = "the windows are not n // m long, side by side: see the two formulas"
        slips[words] = x.unfold(-1, n // m, n // m)[..., :m, :].mean(-1)
    check_value(y, right, f"adaptive_mean of {n} to {m}", slips)
