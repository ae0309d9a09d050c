"""Loss scales for float16."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_parts

HIGHEST = 2.0**24


def _fits(gradients: Sequence[Tensor], scale: float) -> bool:
    return all((g.double() * scale).to(torch.float16).isfinite().all() for g in gradients)


def _lost(gradients: Sequence[Tensor], scale: float) -> int:
    """How many entries that are not 0 become 0 in float16."""
    return sum(
        int(((g != 0) & ((g.double() * scale).to(torch.float16) == 0)).sum()) for g in gradients
    )


def loss_scale(gradients: Sequence[Tensor]) -> tuple[float, int, int]:
    """The largest power of two up to ``HIGHEST`` that fits; what is lost without and with it."""
    scale = HIGHEST
    while not _fits(gradients, scale):
        scale /= 2
    return scale, _lost(gradients, 1.0), _lost(gradients, scale)


def _slips(gradients: Sequence[Tensor], scale: float) -> dict[str, int]:
    """Words for what else is counted, each with the number that it gives."""
    flat = [g.detach().double().flatten().cpu() for g in gradients]
    values = torch.cat([torch.zeros(0, dtype=torch.float64), *flat])
    some, scaled = values != 0, (values * scale).abs()
    gone, before = scaled.half() == 0, values.half()
    slips = {
        "count each by itself: an entry may be lost without a scale, with it, or both": (
            gone & (before != 0)
        ),
        "entries that were 0 before are not lost": gone,
        "also entries that float16 held may be lost by a scale below 1": (
            some & (before == 0) & gone
        ),
        "multiply first, then round: what has become 0 in float16 stays 0": (
            some & ((before.double() * scale).half() == 0)
        ),
        "float16 has numbers below 6.1e-5, only less precise ones; what rounds to 0 is lost": (
            some & (scaled < torch.finfo(torch.float16).tiny)
        ),
        "what is more than half of float16's smallest number rounds up to it": (
            some & (scaled < 2.0**-24)
        ),
        "half of float16's smallest number rounds to 0": some & (scaled < 2.0**-25),
    }
    return {words: int(lost.sum()) for words, lost in slips.items()}


@ends_in_notebook
def check_scale(found: Any, gradients: Sequence[Tensor]) -> None:
    """Compare ``(scale, lost, lost_scaled)`` with what is right."""
    __tracebackhide__ = True
    names = ("scale", "lost", "lost_scaled")
    parts = check_parts(found, *names)
    for name, value in zip(names, parts, strict=True):
        assert value is not None, f"{name} is None: is there an answer yet?"
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        assert number, f"{name} is of type {type(value).__name__}, expected a plain number"
    right, (scale, lost, after) = loss_scale(gradients), parts
    if scale != right[0]:
        power = scale > 0 and math.isfinite(scale) and math.frexp(scale)[0] == 0.5
        assert power, "scale is not a power of two: then scaling rounds each gradient"
        assert scale <= HIGHEST, "scale is above 2**24"
        fits = _fits(gradients, scale)
        below = right[0] < 1 and scale == 1
        assert not below, "with a scale of 1 an entry becomes inf in float16: it may be below 1"
        several = "; look at all the tensors" if len(gradients) > 1 else ""
        assert fits, f"with this scale an entry becomes inf in float16{several}"
        raise AssertionError("this scale fits, but a larger power of two would fit as well")
    for name, mine, truth, factor in (
        ("lost", lost, right[1], 1.0),
        ("lost_scaled", after, right[2], scale),
    ):
        told = [words for words, slip in _slips(gradients, factor).items() if slip == mine]
        told.append("how many entries that are not 0 become 0 in float16, in all tensors together")
        assert mine == truth, f"{name} is wrong: {told[0]}"
