"""Blocks of branches that fold into one convolution."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.operators import count_operators
from course_utils.learner.tracebacks import about_bfloat16, add_words, ends_in_notebook
from course_utils.learner.values import check_value


class RepBlock(nn.Module):
    """RepVGG's block while it trains: a 3 × 3, a 1 × 1 convolution and the input, each with a norm.

    ``skip`` is a BatchNorm2d, or None where sizes don't allow the input to be added.
    """

    def __init__(self, inputs, outputs, groups=1, stride=1, skip=False, bias=False, affine=True):
        super().__init__()
        options: dict[str, Any] = {"groups": groups, "stride": stride, "bias": bias}
        self.wide = nn.Conv2d(inputs, outputs, 3, padding=1, **options)
        self.wide_norm = nn.BatchNorm2d(outputs, eps=3e-2, affine=affine)
        self.narrow = nn.Conv2d(inputs, outputs, 1, **options)
        self.narrow_norm = nn.BatchNorm2d(outputs, eps=1e-2, affine=affine)
        self.skip = nn.BatchNorm2d(inputs, eps=2e-2, affine=affine) if skip else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.wide_norm(self.wide(x)) + self.narrow_norm(self.narrow(x))
        return y if self.skip is None else y + self.skip(x)


# Further blocks for `check_fold`, by the case's name.
MORE_BLOCKS: dict[str, dict] = {
    "depthwise": dict(inputs=6, outputs=6, skip=True, groups=6, bias=True, seed=8),
    "three groups": dict(inputs=6, outputs=6, skip=True, groups=3, seed=9),
    "float16, norms without weights": dict(inputs=2, outputs=4, affine=False, dtype="float16"),
    "twice as many outputs, in groups": dict(inputs=3, outputs=6, groups=3, bias=True),
}


def _block(case: dict) -> tuple[RepBlock, Tensor]:
    """A block in eval mode that has seen data, and an input for it."""
    generator = torch.Generator().manual_seed(case.get("seed", 5))
    keys = ("inputs", "outputs", "groups", "stride", "skip", "bias", "affine")
    block = RepBlock(**{key: case[key] for key in keys if key in case})
    if case.get("mixed"):
        block.wide.bias = None
        block.skip = nn.BatchNorm2d(case["inputs"], eps=2e-2, affine=False)
    dtype, device = getattr(torch, case.get("dtype", "float32")), case["device"]
    device = case.get("where", device)
    with torch.no_grad():
        for name, value in block.state_dict().items():
            if value.is_floating_point():
                drawn = torch.randn(value.shape, generator=generator)
                value.copy_(0.3 + drawn.abs() if "var" in name else drawn)
    x = torch.randn(2, case["inputs"], 5, 6, generator=generator).to(device, dtype)
    return block.to(device, dtype).eval(), x


class _Readable(TorchDispatchMode):
    """What is on the device meta can be brought to the host, as from any device: as ones."""

    def __torch_dispatch__(self, func, types, args: Any = (), kwargs=None):
        options, aten = kwargs or {}, torch.ops.aten
        to = torch.device(options.get("device") or "meta").type
        if func is aten._to_copy.default and args[0].is_meta and to == "cpu":
            return torch.ones(args[0].shape, dtype=options.get("dtype") or args[0].dtype)
        if func is aten._local_scalar_dense.default and args[0].is_meta:
            return 1.0
        return func(*args, **options)


def run_fold(fold: Callable[..., Any], case: dict) -> dict:
    """What a learner's folding makes of a block, as plain values and tensors."""
    block, x = _block(case)
    if "where" in case:  # nothing is computed there: only the device can be seen
        try:
            with _Readable(), warnings.catch_warnings(action="ignore"):  # no values go there
                conv = fold(block)
        except NotImplementedError as error:
            words = f"{error} The convolution is on another device than the block"
            raise AssertionError(words) from error
        return {"kind": type(conv).__name__, "device": conv.weight.device.type}
    block.narrow.weight.requires_grad_(False)
    before = {name: value.clone() for name, value in block.state_dict().items()}
    block.wide.weight.grad = torch.ones_like(block.wide.weight)
    block.wide_norm.register_forward_hook(lambda *_: None)
    with forbid_side_effects(block, but=("mode", "requires_grad", "values", "names")):
        try:
            with about_bfloat16():
                conv = fold(block)
        except (AttributeError, TypeError) as error:
            if "NoneType" in str(error):
                add_words(error, "skip, a bias, and the weight and bias of a norm may be None")
            raise
    found: dict[str, Any] = {"kind": type(conv).__name__, "conv": isinstance(conv, nn.Conv2d)}
    after = block.state_dict()
    found["same"] = before.keys() == after.keys() and all(
        torch.equal(before[n], v) for n, v in after.items()
    )
    found["eval"] = not any(part.training for part in block.modules())
    found["needs"] = block.wide.weight.requires_grad and not block.narrow.weight.requires_grad
    if found["conv"]:
        found["bias"] = conv.bias is not None
        found["parameters"] = sorted(name for name, _ in conv.named_parameters())
        found["weight"] = tuple(conv.weight.shape)
        found["dtype"] = str(conv.weight.dtype)[6:]
    if found["conv"] and conv.weight.dtype == x.dtype and conv.in_channels == x.shape[1]:
        with torch.no_grad(), count_operators() as counts:
            found["y"] = conv(x)
        found["kernels"] = {k: n for k, n in counts.items() if k not in ("detach", "alias")}
        _change(block)
        found["again"], found["first"] = fold(block)(x).detach(), conv(x).detach()
    return found


def _change(block: RepBlock) -> None:
    """Give a block other numbers, as training does."""
    with torch.no_grad():
        block.wide.weight.neg_()
        block.narrow_norm.get_buffer("running_mean").add_(1)


def _part(
    weight, bias, norm: nn.BatchNorm2d, *, eps: float | None = None, root=True, gamma=True,
    mean=1, scaled=True, outside=False, beta=True, whole_mean=False, by_input=False,
):  # fmt: skip
    """Weight and bias of a convolution followed by a norm; switches for what goes wrong."""
    assert norm.running_var is not None, "the norm collects statistics"
    assert norm.running_mean is not None, "the norm collects statistics"
    var = norm.running_var + (norm.eps if eps is None else eps)
    factor = 1 / (var.sqrt() if root else var)
    if outside:
        factor = 1 / (norm.running_var.sqrt() + norm.eps)
    if norm.affine and gamma:
        factor = factor * norm.weight
    shift = norm.bias if norm.affine and beta else torch.zeros_like(factor)
    start = bias if bias is not None else torch.zeros_like(factor)
    centre = mean * norm.running_mean
    rows = 1 if by_input and weight.shape[1] == len(factor) else 0
    folded = weight * (factor.view(1, -1, 1, 1) if rows else factor.view(-1, 1, 1, 1))
    if not scaled:
        return folded, shift + start - centre * factor
    if whole_mean:
        return folded, shift + start * factor - centre
    return folded, shift + (start - centre) * factor


def _fold(
    block: RepBlock, x: Tensor, *, skip: bool | str = True, corner=False, bias=True,
    small_bias=True, diagonal="groups", spread=False, average=1, **w
):  # fmt: skip
    """The output of the folded convolution; switches for what goes wrong."""
    wide, narrow = block.wide, block.narrow
    weight, total = _part(wide.weight, wide.bias if bias else None, block.wide_norm, **w)
    start = narrow.bias if bias and small_bias else None
    small, shift = _part(narrow.weight, start, block.narrow_norm, **w)
    small = F.pad(small, (0, 2, 0, 2) if corner else (1, 1, 1, 1))
    small = small[:, :, 1:2, 1:2].expand_as(weight) if spread == "narrow" else small
    weight, total = (weight + small) / average, (total + shift) / average
    if block.skip is not None and skip:
        one = torch.zeros_like(wide.weight)
        for n in range(len(one)):
            one[n, n % one.shape[1] if diagonal == "groups" else 0, 1, 1] = 1
            if diagonal == "last":
                one[n] = 0
                one[n, min(n, one.shape[1] - 1), 1, 1] = 1
            if spread == "skip":
                one[n, n % one.shape[1]] = 1
            if diagonal == "first group":
                one[n, 0, 1, 1] = 0
                one[n, n : n + 1, 1, 1] = 1
            if diagonal == "all":
                one[n, :, 1, 1] = 1
            if diagonal == "number of groups" and wide.groups > 1:
                one[n, :, 1, 1] = torch.eye(wide.groups, one.shape[1]).to(one)[n % wide.groups]
        added, shift = _part(one, None, block.skip, **w) if skip != "bare" else (one, 0)
        if skip == "eps":
            added, shift = _part(one, None, block.skip, eps=block.wide_norm.eps)
        weight, total = weight + added, total + shift
    return F.conv2d(x, weight, total, stride=wide.stride, padding=1, groups=wide.groups)


@ends_in_notebook
def check_fold(found: dict, case: dict) -> None:
    """Compare a folded block with the block."""
    __tracebackhide__ = True
    assert found["kind"] != "NoneType", "the function returned None: is there an answer yet?"
    if "where" in case:
        words = f"the convolution is on the device {found['device']}, the block on {case['where']}"
        assert found["device"] == case["where"], words
        return
    assert found["conv"], f"a {found['kind']} came back, expected an nn.Conv2d"
    assert found["bias"], "the convolution has no bias: norms shift, so it always needs one"
    learns = found["parameters"] == ["bias", "weight"]
    assert learns, "weight and bias are no parameters: copy into those that nn.Conv2d has made"
    block, x = _block(case)
    with torch.no_grad():
        right = block(x)
        slips = {
            "the input's own branch, skip, is missing": _fold(block, x, skip=False),
            "the 1 × 1 kernel belongs in the middle of the 3 × 3 one": _fold(block, x, corner=True),
            "the convolution's own bias is missing: it is shifted and scaled as well": _fold(
                block, x, bias=False
            ),
            "eps is missing under the root; each norm has its own": _fold(block, x, eps=0.0),
            "each norm has its own eps": _fold(block, x, eps=block.wide_norm.eps),
            "each norm has its own eps, skip as well": _fold(block, x, skip="eps"),
            "the 1 × 1 convolution has a bias as well": _fold(block, x, small_bias=False),
            "a convolution's own bias is scaled by its norm as well": _fold(block, x, scaled=False),
            "divide by the root of the variance": _fold(block, x, root=False),
            "the norm's weight is missing": _fold(block, x, gamma=False),
            "the running mean is missing in the bias": _fold(block, x, mean=0),
            "the running mean is subtracted, not added": _fold(block, x, mean=-1),
            "eps belongs under the root, beside the variance": _fold(block, x, outside=True),
            "skip is a norm: it scales and shifts its input": _fold(block, x, skip="bare"),
            "the identity has a single 1 for each output channel": _fold(block, x, diagonal="all"),
            "with groups, input channels are counted anew in each group": tuple(
                _fold(block, x, diagonal=places) for places in ("first", "last", "first group")
            ),
            "the norm's bias is missing": _fold(block, x, beta=False),
            "the running mean is scaled as well: (b - mean) times the factor": _fold(
                block, x, whole_mean=True
            ),
            "the 1 × 1 kernel stands in the middle alone, with zeros around it": _fold(
                block, x, spread="narrow"
            ),
            "the identity's 1 stands in the middle of the kernel alone": _fold(
                block, x, spread="skip"
            ),
            "a filter is scaled by its output channel's factor, not by its input's": _fold(
                block, x, by_input=True
            ),
            "the two convolutions' branches are added; a half of their sum was taken": _fold(
                block, x, average=2
            ),
            "with groups, an input channel's number is n % (inputs / groups), not n % groups": (
                _fold(block, x, diagonal="number of groups")
            ),
        }
    wanted = tuple(block.wide.weight.shape)
    assert found["weight"] == wanted, f"the weight has another shape than the 3 × 3 one's {wanted}"
    assert found["same"], "the block's own weights or statistics were changed: work on copies"
    dtype = case.get("dtype", "float32")
    assert found["dtype"] == dtype, f"the convolution is {found['dtype']}, the block {dtype}"
    shape, stride = tuple(found["y"].shape), block.wide.stride
    words = f"its output has shape {shape}, expected {tuple(right.shape)}: the stride is {stride}"
    assert shape == tuple(right.shape), words
    near = {"rtol": 1e-3, "atol": 1e-4} if right.dtype.itemsize > 2 else {"rtol": 0.1, "atol": 0.5}
    check_value(found["y"], right, "its output", slips, **near)
    exact = right.dtype != torch.float64 or torch.allclose(found["y"], right, 1e-9, 1e-9)
    assert exact, (
        "its output is right to a few digits only: the block is float64, and on the way weights "
        "were rounded to float32"
    )
    check_value(found["first"], right, "its output after a second call of fold_batch_norm", **near)
    _change(block)
    words = "folded again, with other weights in the block: its output"
    check_value(
        found["again"], block(x).detach(), words, {"that is the first one's": right}, **near
    )
    kernels = found["kernels"]
    assert kernels == {"convolution": 1}, f"more than one convolution ran: {kernels}"
    assert found["eval"], "the block is no longer in eval mode"
    assert found["needs"], "requires_grad of the block's parameters was changed"
