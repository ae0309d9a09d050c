"""Convolutions: their arithmetic, what an output sees, and the way back."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.layers.slips import overwritten_stamps
from course_utils.chapters.layers.trials import dry_run
from course_utils.learner.calls import check_rules
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.values import check_value


def check_conv_arithmetic(try_conv_arithmetic, layers, size, because=""):
    sizes, names, changed = try_conv_arithmetic(layers, size)
    if isinstance(sizes, (list, tuple)):
        sizes = list(sizes)
    check_equal(sizes, dry_run(layers, size), f"the sizes from {size}", because)
    assert not names, f"plain numbers, please: {', '.join(names)} was called"
    assert not changed, "the dicts in layers were changed: leave them alone"


def make_stack(layers: list[tuple[int, int, int]]) -> nn.Sequential:
    """Convolutions of these (kernel, stride, dilation), with positive weights."""
    generator = torch.Generator().manual_seed(0)
    stack: Any = nn.Sequential()
    for kernel, stride, dilation in layers:
        stack.append(nn.Conv1d(1, 1, kernel, stride, dilation=dilation, bias=False))
        nn.init.uniform_(stack[-1].weight, 0.5, 1.5, generator=generator)
    return stack.to(device)


def run_footprint(footprint, layers: list[tuple[int, int, int]], size: int) -> tuple:
    """The footprint of such a stack, and what about the stack is not as it was."""
    stack, other, runs = make_stack(layers), make_stack(layers), []
    hook = stack[0].register_forward_pre_hook(lambda *_: runs.append(1))
    found, changed = footprint(stack, size), []
    hook.remove()
    assert runs or found is None, "the model never ran: find the footprint by what it does"
    pairs = list(zip(stack.parameters(), other.parameters(), strict=True))
    changed += ["a parameter's .grad"] * any(p.grad is not None for p, _ in pairs)
    changed += ["requires_grad"] * any(not p.requires_grad for p, _ in pairs)
    changed += ["the weights"] * any(not torch.equal(p, q) for p, q in pairs)
    changed += ["train or eval mode"] * (not stack.training)
    changed += ["hooks"] * any(module._forward_hooks for module in stack.modules())
    return found, changed


def check_receptive_field_1(receptive_field, layers, right, because=""):
    check_equal(receptive_field(layers), right, f"receptive_field({layers})", because)


def check_receptive_field_2(try_footprint, layers, size, right, because=""):
    found, changed = try_footprint(layers, size)
    check_equal(found, right, f"the footprint of {layers} on {size} pixels", because)
    assert not changed, (
        f"not as it was afterwards: {', '.join(changed)} (torch.autograd.grad fills no .grad)"
    )


def check_transposed_conv(try_transposed_conv, x, weight, stride, padding):
    x, weight = x.double(), weight.double()
    y, names, spoilt = try_transposed_conv(x, weight, stride, padding)
    check_rules(names, spoilt, "*conv_transpose*", "convolution")
    right = F.conv_transpose2d(x, weight, stride=stride, padding=padding)
    slips = {"padding is cut from the result here": F.conv_transpose2d(x, weight, stride=stride)}
    turned = F.conv_transpose2d(x, weight.flip(2, 3), stride=stride, padding=padding)
    slips["the kernel is upside down: a stamp is not mirrored"] = turned
    if stride > 1:
        close = F.conv_transpose2d(x, weight, stride=1, padding=padding)
        slips["the stamps lie stride pixels apart, not one"] = close
    for n in range(2):
        whole = overwritten_stamps(x, weight, stride, n)
        height, width = (m - padding for m in whole.shape[2:])
        words = "where stamps overlap they add up; here one replaces the other" + " " * n
        slips[words] = whole[:, :, padding:height, padding:width]
    check_value(y, right, "the result", slips)
