"""Convolutions: their arithmetic, what an output sees, and the way back."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.layers.digits import check_digits
from course_utils.chapters.layers.slips import overwritten_stamps
from course_utils.chapters.layers.trials import dry_run
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.calls import check_rules, watched
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import add_words


def run_conv_arithmetic(conv_arithmetic, layers: list[dict], size: int) -> tuple:
    """The sizes, what was called, what it raised, and words for what it did to ``layers``."""
    given, sizes, names, raised = copy.deepcopy(layers), None, [], ""
    try:
        sizes, names, _ = watched(conv_arithmetic, layers, size)
    except ValueError:
        raised = "ValueError"
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    spoilt = []
    for before, after in zip(given, layers, strict=False):
        come, gone = (
            [key for key in after if key not in before],
            [k for k in before if k not in after],
        )
        spoilt += [
            f"{key!r} was written into a dict of layers (setdefault does that)" for key in come
        ]
        spoilt += [f"{key!r} was taken out of a dict of layers (pop does that)" for key in gone]
    if given != layers and not spoilt:
        spoilt = ["layers or one of its dicts was changed"]
    return sizes, names, raised, sorted(set(spoilt))


def _wrong_sizes(
    layers, size, pool="", up=False, pads=2, dilated=True, pools=True, first=False, wide=False
):
    """The sizes that known slips in the arithmetic lead to.

    Args:
        layers: as the learner's function takes them.
        size: before the first.
        pool: whether a pool's default stride is ``one``, or any pool's stride its ``kernel``.
        up: whether half a step counts as a whole.
        pads: how many paddings a layer has.
        dilated: whether a dilation counts.
        pools: whether it counts for pools.
        first: whether each layer sees the first size.
        wide: whether the default stride of a transposed layer is its kernel.
    """
    sizes, given = [], size
    for layer in layers:
        kernel, is_pool = layer["kernel"], layer["kind"] == "pool"
        stride = layer.get("stride", kernel if is_pool and pool != "one" else 1)
        stride = kernel if is_pool and pool == "kernel" else stride
        if wide and layer["kind"] == "transposed":
            stride = layer.get("stride", kernel)
        padding, counts = layer.get("padding", 0), dilated and (pools or not is_pool)
        reach = (layer.get("dilation", 1) if counts else 1) * (kernel - 1) + 1
        if padding != "same" and layer["kind"] == "transposed":
            size = (size - 1) * stride - pads * padding + reach + layer.get("output_padding", 0)
        elif padding != "same":
            room = (given if first else size) + pads * padding - reach
            size = (-(-room // stride) if up else room // stride) + 1
        sizes.append(size)
    return sizes


def _size_slips(layers, size) -> dict:
    """What known slips make of the sizes, by the words for them."""
    bare = [{key: layer[key] for key in layer if key != "output_padding"} for layer in layers]
    return {
        "a pool's stride is its kernel, unless it has a stride": _wrong_sizes(layers, size, "one"),
        "a pool may have a stride other than its kernel": _wrong_sizes(layers, size, "kernel"),
        "a step that does not fit is lost: round down": _wrong_sizes(layers, size, up=True),
        "padding is on both sides": _wrong_sizes(layers, size, pads=1),
        "with a dilation of d, the kernel reaches over d (k - 1) + 1 pixels": _wrong_sizes(
            layers, size, dilated=False
        ),
        "a pool may be dilated, too": _wrong_sizes(layers, size, pools=False),
        "each layer sees what the last one made": _wrong_sizes(layers, size, first=True),
        "the default stride of a transposed layer is 1": _wrong_sizes(layers, size, wide=True),
        "output_padding adds to the size": _wrong_sizes(bare, size),
        "every layer's size is wanted": _wrong_sizes(layers, size)[-1:],
    }


def check_conv_arithmetic(try_conv_arithmetic, layers, size, because=""):
    right = dry_run(layers, size)
    sizes, names, raised, spoilt = try_conv_arithmetic(copy.deepcopy(layers), size)
    assert not spoilt, f"{'; '.join(spoilt)}: leave them as they are"
    if raised:
        hint = ": raise it yourself, an assert raises another" * raised.startswith("AssertionError")
        expected = "expected ValueError" + hint if right == "ValueError" else f"expected {right}"
        expected += f" ({because})" if because else ""
        assert raised == right, f"from {size} it raised {raised.strip(': ')}; {expected}"
        return
    sizes = list(sizes) if isinstance(sizes, (list, tuple)) else sizes
    if right != "ValueError" and not any(layer.get("padding") == "same" for layer in layers):
        slips = _size_slips(layers, size).items()
        because = next((words for words, slip in slips if sizes == slip != right), "")
    if (
        isinstance(sizes, list)
        and len(sizes) > len(right)
        and sizes[len(sizes) - len(right) :] == right
    ):
        because = "sizes of an earlier call come first: is the list a default argument?"
    check_equal(sizes, right, f"the list of sizes from {size}", because)
    assert not names, f"plain numbers, please: {', '.join(names)} was called"
    if isinstance(sizes, list):
        check_whole(sizes, "the sizes")


def check_whole(numbers, what: str) -> None:
    """Refuse a number that is no ``int``, such as 12.0 or NumPy's int64: pixels are counted."""
    odd = [number for number in numbers if not isinstance(number, int)]
    kind = f"type {type(odd[0]).__name__}" if odd else ""
    kind += " of NumPy" if odd and isinstance(odd[0], np.generic) else ""
    assert not odd, f"{what}: {odd[:1]} has the {kind}; pixels are counted by an int (see //)"


class Told(nn.Conv1d):
    """A convolution whose attributes, once it is made, tell of a kernel of 1 and no stride."""

    def __init__(self, kernel: int, stride: int, dilation: int, bias: bool) -> None:
        super().__init__(1, 1, kernel, stride, dilation=dilation, bias=bias)
        self._run = stride, 0, dilation
        self.kernel_size, self.stride, self.dilation = (1,), (1,), (1,)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.conv1d(input, self.weight, self.bias, *self._run)


def make_stack(
    layers: list[tuple[int, int, int]],
    told: bool = False,
    tiny: bool = False,
    faint: bool = False,
) -> nn.Sequential:
    """Convolutions of these (kernel, stride, dilation), with positive weights, in a used state.

    The first has a bias, is frozen and in eval; the last has an old gradient.

    Args:
        layers: of the convolutions, along one dimension.
        told: whether the layers' attributes tell something else.
        tiny: whether the weights are small, and the bias 0 beside them.
        faint: whether a kernel's first and last weight are 1e-12, the others 1, and the bias 5.
    """
    generator = torch.Generator().manual_seed(0)
    stack: Any = nn.Sequential()
    for number, (kernel, stride, dilation) in enumerate(layers):
        options: Any = {"bias": number == 0}
        if told:
            stack.append(Told(kernel, stride, dilation, **options))
        else:
            stack.append(nn.Conv1d(1, 1, kernel, stride, dilation=dilation, **options))
        nn.init.uniform_(stack[-1].weight, 0.5, 1.5, generator=generator)
    nn.init.constant_(stack[0].bias, 0.0 if tiny else 5.0 if faint else -0.75)
    with torch.no_grad():
        for layer in stack:
            layer.weight.mul_(1e-3 if tiny else 1)
            if faint:
                layer.weight.fill_(1)
                layer.weight[..., [0, -1]] = 1e-12
    stack = stack.to(device)
    stack[0].requires_grad_(False).eval()
    stack[-1].weight.grad = torch.full_like(stack[-1].weight, 0.25)
    stack[-1].register_forward_hook(lambda module, args, output: None)
    return stack


def run_footprint(
    footprint,
    layers: list[tuple[int, int, int]],
    size: int,
    told: bool = False,
    tiny: bool = False,
    faint: bool = False,
) -> tuple:
    """The footprint of such a stack, and what about the stack is not as it was."""
    stack, runs = make_stack(layers, told, tiny, faint), []
    hook = stack[0].register_forward_pre_hook(lambda *_: runs.append(1))
    effects = forbid_side_effects(stack).__enter__()
    found = footprint(stack, size)
    changed = effects.changes()
    hook.remove()
    assert runs or found is None, "the model never ran: find the footprint by what it does"
    return found, changed


def _walk(layers, reach=lambda k, d: d * (k - 1), spread=True, turn=lambda s, d: s, first=False):
    """(field, jump) by a walk in which known slips are made."""
    field, jump = 1, 1
    for kernel, stride, dilation in layers:
        after = jump * turn(stride, dilation)
        field += reach(kernel, dilation) * ((after if first else jump) if spread else 1)
        jump = after
    return field, jump


def _field_slips(layers) -> dict:
    """What known slips make of (field, jump), by the words for them."""
    words = "a kernel of k taps, d apart, covers d (k - 1) + 1 pixels"
    return {
        "a stride multiplies the jump after the layer's kernel has added to the field": _walk(
            layers, first=True
        ),
        "each stride spreads the kernels after it: r - 1 jumps are added, not pixels": _walk(
            layers, spread=False
        ),
        words: _walk(layers, lambda k, d: k - 1),
        words + " ": _walk(layers, lambda k, d: d * k - 1),
        "the stride alone multiplies the jump, not the dilation": _walk(
            layers, turn=lambda s, d: s * d
        ),
        "a kernel of k adds k - 1 neighbours": _walk(layers, lambda k, d: d * k),
    }


def check_receptive_field_1(receptive_field, layers, right):
    given = list(layers)
    slips = _field_slips(given).items()
    found = receptive_field(layers)
    assert layers == given, "layers was changed (pop and clear do that): leave it as it is"
    told = tuple(found) if isinstance(found, (tuple, list)) else found
    because = next((words.strip() for words, slip in slips if told == slip != right), "")
    check_equal(found, right, f"receptive_field({given})", because)
    check_whole(found, "field and jump")


def check_receptive_field_2(try_footprint, layers, size, right, because="", told=False):
    found, changed = try_footprint(layers, size, told)
    if told and found == 1:
        because = "that is what the layers' attributes tell: find it by what the model does"
    if found == size > right:
        because = "is it the bias that you see? What does the output depend on?"
    check_equal(found, right, f"the footprint of {layers} on {size} pixels", because)
    check_whole([found], "the footprint")
    assert not changed, f"the model is not as it was: {'; '.join(changed)}"


def check_tiny_weights(try_footprint, layers, size, right):
    """The footprint of a stack with tiny weights, beside the same stack with larger ones."""
    larger, _ = try_footprint(layers, size)
    why = "a pixel is seen however small its gradient, if it isn't exactly 0"
    check_equal(larger, right, f"the footprint of {layers} on {size} pixels", why)
    changed = []
    try:
        found, changed = try_footprint(layers, size, tiny=True)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    words = f"the footprint of {layers}, {right} pixels with larger weights, is {found} with tiny"
    assert found == right, f"{words} ones: only a gradient of exactly 0 tells of an unseen pixel"
    assert not changed, f"the model is not as it was: {'; '.join(changed)}"


def check_faint_edges(try_footprint, layers, size, right):
    """The footprint of a stack whose pixels at the edge count a million million times less."""
    found, _ = try_footprint(layers, size, faint=True)
    why = (
        "a pixel that counts 1e-36 is seen, too: 5 + 1e-36 is 5 in float32, but a gradient of 1e-36"
        " isn't 0, also beside one of 1"
    )
    check_equal(found, right, f"the footprint of {layers} on {size} pixels", why)


def check_transposed_conv(try_transposed_conv, x, weight, *how):
    """``how``: stride and padding, or nothing, where they were left out."""
    stride, padding = how or (1, 0)
    try:
        y, names, spoilt = try_transposed_conv(x, weight, *how)
    except RuntimeError as error:
        if "negative padding" in str(error):
            add_words(error, "padding may exceed the kernel: then pixels are cut, not added")
        if not x.requires_grad or "in-place" not in str(error):
            raise
        words = "here x and weight require a gradient: add up under torch.no_grad()"
        raise AssertionError(f"raised RuntimeError: {error} {words}") from None
    check_rules(names, spoilt, "*conv_transpose*", "convolution")
    nothing = isinstance(y, torch.Tensor) and y.shape[2:] == (0, 0) and padding == 0
    words = "the result has no pixel: where padding is 0, the slice padding:-padding is empty"
    assert not nothing, words
    x, weight = x.detach(), weight.detach()
    right = F.conv_transpose2d(x, weight, stride=stride, padding=padding)
    (height, width), more = right.shape[2:], weight.shape[2] - weight.shape[3]
    for size in (height, width + more), (height - more, width):
        crossed = more and isinstance(y, torch.Tensor) and y.shape[2:] == size
        assert not crossed, f"{tuple(y.shape[2:])} pixels: the height takes kh, the width takes kw"
    bare = F.conv_transpose2d(x, weight, stride=stride)
    slips = {"padding is cut from the result here": bare}
    if not how:
        words = "by default stride is 1 and padding is 0"
        slips[words] = F.conv_transpose2d(x, weight, stride=2)
        slips[words + " "] = F.conv_transpose2d(x, weight, padding=1)
    words = "padding is cut from each side, not twice from the first"
    slips[words] = bare[:, :, 2 * padding :, 2 * padding :]
    turned = F.conv_transpose2d(x, weight.flip(2, 3), stride=stride, padding=padding)
    slips["the kernel is upside down: a stamp is not mirrored"] = turned
    size = [n - 1 - 2 * padding + k for n, k in zip(x.shape[2:], weight.shape[2:], strict=True)]
    if stride > 1 and min(size) > 0:
        close = F.conv_transpose2d(x, weight, stride=1, padding=padding)
        slips["the stamps are stride pixels apart, not one"] = close
    for n in range(2):
        whole = overwritten_stamps(x, weight, stride, n)
        height, width = (m - padding for m in whole.shape[2:])
        words = "where stamps overlap they add up; here one replaces the other" + " " * n
        slips[words] = whole[:, :, padding:height, padding:width]
    check_digits(y, right, "the result", slips)
