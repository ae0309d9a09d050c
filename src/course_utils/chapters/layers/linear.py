"""Exercise 9.1: a linear layer by hand."""

from __future__ import annotations

import torch.nn.functional as F

from course_utils.chapters.layers.digits import check_digits
from course_utils.learner.calls import check_rules


def check_linear_by_hand(try_linear_by_hand, x, weight, bias):
    y, names, spoilt = try_linear_by_hand(x, weight, bias)
    check_rules(names, spoilt, "linear", "bilinear")
    slips = {}
    if weight.shape[0] == weight.shape[1]:
        turned = F.linear(x, weight.t(), bias)
        slips["a row of weight belongs to an output: multiply by its transpose"] = turned
    if bias is not None:
        slips["the bias is missing"] = F.linear(x, weight)
    check_digits(y, F.linear(x, weight, bias), "the result", slips)
