"""Results of any floating dtype, compared with as many digits as the dtype has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.learner.values import check_value

# Relative and absolute tolerance; what a caller asks for float32 doesn't count for the others.
DIGITS = {
    torch.float64: (1e-9, 1e-10),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (2e-2, 2e-2),
}
FEW = "{} is right to about seven digits only: was it computed in float32 on the way?"


def check_digits(
    actual: Any,
    expected: torch.Tensor,
    what: str,
    slips: Mapping[str, torch.Tensor] | None = None,
    rtol: float = 2e-4,
    atol: float = 2e-5,
) -> None:
    """Like ``check_value``, and a float64 result has to have the digits of float64.

    Args:
        actual: the learner's result, of any type.
        expected: the right tensor, of a floating dtype; its graph doesn't count.
        what: what was asked, as the message will call it.
        slips: words for a misconception, each with the tensor that it leads to.
        rtol: relative tolerance in float32.
        atol: absolute tolerance in float32.

    Raises:
        AssertionError: the result differs.
    """
    expected = expected.detach()
    strict = DIGITS.get(expected.dtype, (rtol, atol))
    same = isinstance(actual, torch.Tensor) and actual.shape == expected.shape
    if same and actual.dtype == expected.dtype == torch.float64:
        size = expected.abs().max().item() if expected.numel() else 0.0
        far = (actual.detach() - expected).abs().max().item() if expected.numel() else 0.0
        if strict[0] * size + strict[1] < far <= 2e-6 * size:
            for words, slip in (slips or {}).items():
                if slip.shape == actual.shape and torch.allclose(
                    actual.detach(), slip.detach().to(actual), *strict
                ):
                    raise AssertionError(f"{what}: {words}")
            raise AssertionError(FEW.format(what))
    check_value(actual, expected, what, slips, *strict)
