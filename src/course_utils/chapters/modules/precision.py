"""Results in float64 that went through float32 on their way."""

from __future__ import annotations

import torch


def check_digits(got: object, right: torch.Tensor, what: str) -> None:
    """Refuse a result in float64 that is right to seven digits or so, and no further.

    What is wrong by more than that is left to the check that follows.

    Args:
        got: the learner's result, of any type.
        right: what it should be; in another dtype nothing is looked at.
        what: what was asked, as the message will call it.

    Raises:
        AssertionError: it is right in float32 alone.
    """
    if right.dtype != torch.float64 or not right.numel():
        return
    if not isinstance(got, torch.Tensor) or (got.shape, got.dtype) != (right.shape, right.dtype):
        return
    scale = right.abs().max().item()
    if torch.allclose(got, right, rtol=0, atol=1e-5 * scale):
        words = f"{what}: right to seven digits or so, in float64: what goes through float32?"
        assert torch.allclose(got, right, rtol=0, atol=1e-10 * scale), words
