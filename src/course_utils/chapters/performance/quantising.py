"""Numbers in eight bits: slips, calibration, and digits to try them on."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_parts, check_value


def _range(x: Tensor, dim: int | None, zero: bool = True) -> tuple[Tensor, Tensor]:
    others = (
        list(range(x.dim())) if dim is None else [d for d in range(x.dim()) if d != dim % x.dim()]
    )
    low, high = x, x
    if others:
        keep = dim is not None
        low, high = x.amin(others, keepdim=keep), x.amax(others, keepdim=keep)
    return (low.clamp(max=0), high.clamp(min=0)) if zero else (low, high)


def affine(x: Tensor, dim: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Affine int8: ``x ≈ (q - zero) * scale``."""
    low, high = _range(x, dim)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round(-128 - low / scale)
    q = (torch.round(x / scale) + zero).clamp(-128, 127).to(torch.int8)
    return q, scale, zero.to(torch.int32)


@ends_in_notebook
def check_quantised(found: Any, x: Tensor, dim: int | None) -> None:
    """Compare ``(q, scale, zero)`` with what is right."""
    __tracebackhide__ = True
    q, scale, zero = check_parts(found, "q", "scale", "zero")
    right = affine(x, dim)
    low, high = _range(x, dim)
    bare_low, bare_high = _range(x, dim, zero=False)
    whole = x.abs().amax() if dim is None else _range(x.abs(), dim)[1]
    plain = (high - low) / 255
    slips = {
        "where it is 0 in float32, it becomes 1, though the values differ": torch.where(
            high == low, 1.0, plain
        ),
        "where all values are 0, the scale is 1": plain,
        "0 must lie in the range: low is at most 0, high at least 0": torch.where(
            bare_high == bare_low, 1.0, (bare_high - bare_low) / 255
        ),
        "256 values have 255 steps between them": torch.where(high == low, 1.0, (high - low) / 256),
        "that is symmetric, from -max to max; here low and high are their own": whole / 127,
        "that is symmetric, from -max to max": 2 * whole / 255,
    }
    if dim is not None and x.dim() > 1 and isinstance(scale, Tensor):
        along = x.amin(dim, keepdim=True).shape
        words = (
            "each index along dim has its own scale: take the extremes over all other dimensions"
        )
        assert scale.shape != along or along == right[1].shape, f"scale: {words}"
    slips["only a scale of 0 becomes 1, not a small one"] = torch.ones_like(right[1])
    if dim is not None:
        same = torch.full_like(right[1], float(_range(x, None)[1] - _range(x, None)[0]) / 255)
        slips["that is one scale for the whole tensor; each index of dim has its own"] = same
    for least in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, torch.finfo(torch.float32).eps, 1e-6, 1e-5):
        more, limited = plain + least, plain.clamp(min=least)
        if bool((plain == 0).any()) and torch.allclose(more, limited, rtol=1e-4, atol=1e-9):
            slips[f"where it is 0, it becomes 1, not {least:g}"] = more
            continue
        slips[f"nothing is added to a scale, be it {least:g}"] = more
        slips[f"a scale has no least value, be it {least:g}"] = limited
    # The smallest float32 are 1.4e-45 apart: any other allowance would hide a wrong small scale.
    check_value(scale, right[1], "scale", slips, rtol=1e-4, atol=1e-44)
    off = right[2] + 128
    shift = {
        "q begins at -128, not at 0": off,
        "round to the nearest whole number": torch.trunc(-128 - low / right[1]).to(torch.int32),
        "the sign of low / scale is turned": torch.round(-128 + low / right[1]).to(torch.int32),
        "divide by the scale; 1 / scale is infinite for one as small as this": (
            torch.round(-128 - low * (1 / right[1])).to(torch.int32)
        ),
    }
    check_value(zero, right[2], "zero", shift, rtol=0, atol=0.5)
    assert isinstance(q, Tensor), f"q is of type {type(q).__name__}, expected a torch.Tensor"
    assert q.dtype == torch.int8, f"q has dtype {q.dtype}, expected torch.int8"
    assert q.shape == x.shape, f"q has shape {tuple(q.shape)}, expected {tuple(x.shape)}"
    error = ((q.float() - right[2]) * right[1] - x).abs() / right[1]
    cut = torch.trunc(x / right[1]) + right[2]
    after = torch.trunc(x / right[1] + right[2])
    floor = torch.floor(x / right[1]) + right[2]
    once = torch.round(x / right[1] - 128 - low / right[1])
    if bool((error > 0.51).any()):
        for words, slip in {"cut off": cut, "cut off ": after, "rounded down": floor}.items():
            assert not torch.equal(q.float(), slip.clamp(-128, 127)), (
                f"q: values are {words.strip()}; round to the nearest"
            )
        together = torch.equal(q.float(), once.clamp(-128, 127))
        assert not together, "q: round x / scale, and add zero, which is rounded by itself"
        narrow = torch.equal(q.float(), right[0].float().clamp(min=-127))
        assert not narrow, "q: int8 begins at -128, not at -127"
        turned = bool((1 / right[1]).isinf().any())
        assert not turned, "q: divide by the scale; 1 / scale is infinite for one as small as this"
        worst, whole = float(error.max()), torch.round(x / right[1])
        bare = torch.equal(q.float(), whole.clamp(-128, 127))
        assert not bare, "q: zero is missing: round x / scale, add zero, then limit the sum"
        wrapped = torch.equal(q, (whole + right[2]).to(torch.int32).to(torch.int8))
        more = ": values left the range of int8 and wrapped around" if wrapped else ""
        raise AssertionError(f"q is up to {worst:.3g} steps away from x{more}")
    if bool((right[1] == 1).all()):  # x / scale is exact: halves are halves in any arithmetic
        separate = [torch.round(x) + right[2], torch.floor(x + 0.5) + right[2]]
        alone = any(torch.equal(q.float(), part.clamp(-128, 127)) for part in separate)
        together = torch.equal(q.float(), torch.round(x + right[2]).clamp(-128, 127))
        assert alone or not together, "q: round x / scale by itself, and add zero afterwards"
    check_close(q.float(), right[0].float(), "q", rtol=0, atol=1.01)


def digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images (n, 64) from 0 to 1 and labels of scikit-learn's digits, to train and to test."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = x[order], y[order]
    return x[:1200], y[:1200], x[1200:], y[1200:]


def trained(x: Tensor, y: Tensor, steps: int = 120) -> nn.Sequential:
    """A small classifier of digits, trained with a fixed seed."""
    with torch.random.fork_rng(), torch.enable_grad():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(x.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model.eval()


def entropy_threshold(x: Tensor, bins: int = 512, levels: int = 64) -> float:
    """The clipping threshold whose quantised histogram is nearest to the histogram of ``|x|``.

    As TensorRT's entropy calibration: what is above the threshold counts for the last bin, the rest
    is merged into ``levels`` steps and spread again over bins that were not empty; the threshold
    with the smallest Kullback-Leibler divergence wins.
    """
    top = float(x.abs().max())
    counts = torch.histc(x.abs().float().cpu(), bins, 0, top).double()
    best, threshold = float("inf"), top
    for end in range(levels, bins + 1):
        reference = counts[:end].clone()
        reference[-1] += counts[end:].sum()
        edges = torch.arange(end) * levels // end
        merged = torch.zeros(levels, dtype=torch.float64).index_add_(0, edges, counts[:end])
        used = (counts[:end] > 0).double()
        share = torch.zeros(levels, dtype=torch.float64).index_add_(0, edges, used)
        spread = (merged / share.clamp(min=1))[edges] * used + 1e-9
        p, q = reference / reference.sum(), spread / spread.sum()
        divergence = float(torch.where(p > 0, p * (p / q).clamp(min=1e-12).log(), 0.0).sum())
        if divergence < best:
            best, threshold = divergence, top * end / bins
    return threshold
