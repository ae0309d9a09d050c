"""What known slips with sizes, strides and offsets lead to, so that a check can name them.

Most functions return, by the words for a misconception, the tensor that it leads to. A slip that
would leave the storage leads nowhere and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import (
    check_close,
    check_equal,
    check_shares_storage,
    refuse_missing,
)
from course_utils.learner.operators import count_operators, forbid_copies
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value

OFFSET = "it starts at box 0 of the storage: the offset counts from there, so add storage_offset()"
CONTIGUOUS = "the strides of a contiguous tensor were assumed: ask the tensor for its own"
PRODUCTS = "mul", "mul_", "addcmul", "addcmul_", "mv", "addmv", "mm", "addmm", "bmm", "dot"


def note(
    x: Tensor,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int | torch.SymInt | None = None,
) -> Tensor | None:
    """What a note reads in the storage of ``x``; None where it would leave the storage."""
    try:
        return x.as_strided(size, stride, offset)
    except RuntimeError:
        return None


def _somewhere(slips: dict[str, Tensor | None]) -> dict[str, Tensor]:
    return {words: result for words, result in slips.items() if result is not None}


def traces(matrix: Tensor, anti: bool) -> dict[str, Tensor]:
    """Sums that are not the one over the diagonal (or the anti-diagonal) of a square matrix."""
    n, (down, right) = len(matrix), matrix.stride()
    last, start = max(n - 1, 0), matrix.storage_offset()
    step, first = down + right, 0
    if anti:
        step, first = abs(down - right), last * min(down, right)
    plain = n - 1 if anti else n + 1
    lines = {
        OFFSET: note(matrix, (n,), (step,), first),
        CONTIGUOUS: note(matrix, (n,), (plain,), start + (last if anti else 0)),
        f"{OFFSET}; and {CONTIGUOUS}": note(matrix, (n,), (plain,), last if anti else 0),
        "it starts at the top left corner: an anti-diagonal starts at another one": note(
            matrix, (n,), (step,), start
        )
        if anti
        else None,
        "it starts at the top right corner, but this step leads away from it": note(
            matrix, (n,), (step,), start + last * right
        )
        if anti and down < right
        else None,
        "this is the other diagonal": (matrix if anti else matrix.flip(1)).diagonal(),
        "the last element is missing": note(matrix, (last,), (step,), start + first),
    }
    slips = _somewhere(lines)
    return {words: line.sum() for words, line in slips.items()}


def windows(x: Tensor, k: int, step: int) -> dict[str, Tensor]:
    """Notes that do not read the windows of length ``k``, ``step`` apart, of a tensor (n,)."""
    (own,), size, start = x.stride(), ((len(x) - k) // step + 1, k), x.storage_offset()
    return _somewhere(
        {
            OFFSET: note(x, size, (step * own, own), 0),
            "a stride of 1 was assumed: from one element to the next it is x.stride(0)": note(
                x, size, (step, 1), start
            ),
            "inside a window a stride of 1 was assumed: there it is x.stride(0)": note(
                x, size, (step * own, 1), start
            ),
            "from window to window it is step elements of x: step times x.stride(0)": note(
                x, size, (step, own), start
            ),
            "step stands in the wrong place: it is between windows, not inside them": note(
                x, size, (own, step * own), start
            ),
            "the windows do not move on as step says": note(x, size, (own, own), start),
        }
    )


def convolutions(x: Tensor, weight: Tensor, stride: int = 1, padding: int = 0) -> dict[str, Tensor]:
    """What is not the convolution of images (batch, in, h, w) with ``weight`` (out, in, kh, kw)."""
    slips, before = {}, x.stride()
    if padding:
        slips["the padding is missing"] = F.conv2d(x, weight, stride=stride)
        words = "two numbers pad the width alone: F.pad(x, (left, right, top, bottom))"
        slips[words] = F.conv2d(F.pad(x, [padding] * 2), weight, stride=stride)
        x = F.pad(x, [padding] * 4)
    (batch, channels, height, width), (kh, kw) = x.shape, weight.shape[2:]
    size = (batch, channels, (height - kh) // stride + 1, (width - kw) // stride + 1, kh, kw)
    b, c, down, right = x.stride()
    area, start = height * width, x.storage_offset()
    inside = (b, c, down, right, down * stride, right * stride)
    plain = (channels * area, area, width * stride, stride, width, 1)
    notes = {
        "the windows do not move on as stride says": (b, c, down, right, down, right),
        "stride stands in the wrong place: it is between windows, not inside them": inside,
        "from window to window stride counts in both directions": (
            b, c, down * stride, right, down, right,
        ),
        CONTIGUOUS: plain,
        "rows and columns are exchanged inside the window": (
            b, c, down * stride, right * stride, right, down,
        ),
    }  # fmt: skip
    if padding:
        words = "these are the strides from before the padding: ask the padded tensor"
        notes[words] = (*before[:2], before[2] * stride, before[3] * stride, *before[2:])
    views = {words: note(x, size, steps, start) for words, steps in notes.items()}
    views[OFFSET] = note(x, size, (b, c, down * stride, right * stride, down, right), 0)
    for words, view in _somewhere(views).items():
        slips[words] = torch.einsum("bchwij,ocij->bohw", view, weight)
    turned = weight.flip(2, 3)
    slips["the kernel is upside down: a convolution in a network does not mirror it"] = F.conv2d(
        x, turned, stride=stride
    )
    return slips


def plain_convolutions(image: Tensor, kernel: Tensor) -> dict[str, Tensor]:
    """The same for one channel: an image (h, w) and a kernel (kh, kw), without padding."""
    x, weight = image[None, None], kernel[None, None]
    slips = {words: result[0, 0] for words, result in convolutions(x, weight).items()}
    lies = note(kernel, kernel.shape, (kernel.shape[1], 1))
    if lies is not None:
        words = "the kernel's numbers were read as they lie: it may be a view, too"
        slips[words] = F.conv2d(x, lies[None, None])[0, 0]
    size = (*(h - k + 1 for h, k in zip(image.shape, kernel.shape, strict=True)), *kernel.shape)
    view = note(image, size, image.stride() + kernel.stride(), image.storage_offset())
    if view is not None:
        words = "inside a window the kernel's strides were taken: step there like the image"
        slips[words] = (view * kernel).sum(dim=(2, 3))
    whole = F.conv2d(x, weight)
    if whole.numel() > 1:
        slips["the sum is over all windows at once"] = whole.sum()
    return slips


def repeats(x: Tensor, size: tuple[int, ...], down: bool) -> dict[str, Tensor]:
    """Notes that do not repeat a tensor (n,) down the rows, or along them, in a matrix."""
    start, notes = x.storage_offset(), {}
    for words, step, first in (
        (OFFSET, x.stride(0), 0),
        (CONTIGUOUS, 1, start),
        (f"{OFFSET}; and {CONTIGUOUS}", 1, 0),
    ):
        notes[words] = note(x, size, (step, 0) if down else (0, step), first)
    return _somewhere(notes)


def bytes_kept(x: Tensor) -> dict[int, str]:
    """Words for numbers that are not the bytes of storage that ``x`` keeps alive."""
    storage = x.untyped_storage().nbytes()
    return {
        x.numel(): "this is the number of its elements: measure the storage, in bytes",
        storage // x.itemsize: "this counts elements: the storage is asked for in bytes",
        x.numel() * x.itemsize: "these are the bytes of its elements: measure the storage",
    }


@ends_in_notebook
def check_position(position: Any, right: int, because: str) -> None:
    """Check a position in a storage, an int.

    Raises:
        AssertionError: it is another, or no int.
    """
    __tracebackhide__ = True
    check_equal(position, right, "the position, in elements", because)
    assert isinstance(position, int), "the position is right: return it as an int"


@ends_in_notebook
def check_pair(pair: Any, what: str) -> None:
    """Check that an answer is a pair.

    Raises:
        AssertionError: it is missing, or no pair.
    """
    __tracebackhide__ = True
    refuse_missing(pair, "the result")
    both = isinstance(pair, (tuple, list)) and len(pair) == 2
    assert both, f"return the pair {what}, not a {type(pair).__name__}"


@ends_in_notebook
def check_outer(answer: Callable[..., Any], a: Tensor, b: Tensor) -> None:
    """Check the operands of an outer sum of tensors (n,) and (m,), and that neither is a copy.

    Raises:
        AssertionError: one of them is another, or no view; the words say which.
    """
    __tracebackhide__ = True
    with forbid_changes(a, b), forbid_copies():
        pair = answer(a, b)
    check_pair(pair, "(p, q)")
    expected = a[:, None].repeat(1, len(b)), b[None].repeat(len(a), 1)
    first = pair[0]
    if isinstance(first, Tensor) and not torch.equal(*expected):
        words = "this is q: p varies down the rows, with a, and q along them, with b"
        assert not torch.equal(first, expected[1]), words
    for part, operand, right, source in zip("pq", pair, expected, (a, b), strict=True):
        known = partial(repeats, source, right.shape, part == "p")
        check_value(operand, right, part, known, rtol=0, atol=0)
        check_shares_storage(operand, source, part)


@ends_in_notebook
def check_row_major(
    answer: Callable[..., Sequence[int]],
    size: tuple[int, ...],
    right: tuple[int, ...],
    because: str = "",
) -> None:
    """Check the strides of a contiguous tensor: a tuple or a list of ints.

    Raises:
        AssertionError: they are others, or no ints; the words say of what.
    """
    __tracebackhide__ = True
    strides = answer(size)
    check_equal(strides, right, f"row_major_strides({tuple(size)})", because)
    whole = all(type(stride) is int for stride in strides)
    assert whole, "the numbers are right: give each as an int (/ gives a float, NumPy its own)"


@ends_in_notebook
def check_format(
    answer: Callable[..., str],
    size: tuple[int, ...],
    stride: tuple[int, ...],
    name: str,
    because: str = "",
) -> None:
    """Check the name of a memory format.

    Raises:
        AssertionError: it is another; the words say of what.
    """
    __tracebackhide__ = True
    check_equal(answer(size, stride), name, f"memory_format({size}, {stride})", because)


@ends_in_notebook
def check_bytes_kept(pair: Any, x: Tensor) -> None:
    """Check that an answer is a pair, whose first is the bytes of storage that ``x`` keeps alive.

    Raises:
        AssertionError: it is no pair, or another number; the words say of what.
    """
    __tracebackhide__ = True
    check_pair(pair, "(bytes, tensor)")
    number = pair[0]
    words = bytes_kept(x).get(number) if isinstance(number, int) else None
    check_equal(number, x.untyped_storage().nbytes(), "the bytes", words or "of the storage")


def is_view(name: str) -> bool:
    """Whether an operator, by its name in ``count_operators``, returns views of its argument."""
    operator = getattr(torch.ops.aten, name, None)
    overloads = [getattr(operator, each) for each in operator.overloads()] if operator else []
    aliases = [one.alias_info for each in overloads for one in each._schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)


@ends_in_notebook
def check_view_of_windows(counts: Mapping[str, int], *, needed: bool = True) -> None:
    """Check that what ran took all windows as one view.

    Args:
        counts: of :class:`course_utils.count_operators`.
        needed: False where there is no image, so that no view need be made.

    Raises:
        AssertionError: a library's convolution or a copy of the windows ran, or a loop.
    """
    __tracebackhide__ = True
    banned = ", ".join(sorted({"convolution", "im2col", "stack", "cat"} & set(counts)))
    assert not banned, f"{banned} ran: take the windows as a view instead"
    views = counts["as_strided"] or counts["unfold"]
    assert views or not needed, (
        "no view of the windows was made: one as_strided, or two calls of Tensor.unfold"
    )
    assert views <= 2, f"make all windows by one as_strided, not by {views}: no loop"


@ends_in_notebook
def check_windows(answer: Callable[..., Tensor], x: Tensor, k: int, step: int) -> None:
    """Check the windows of length ``k``, ``step`` apart, of a tensor (n,), and that none is a copy.

    Raises:
        AssertionError: they are others, or not views; the words say of what.
    """
    __tracebackhide__ = True
    with forbid_changes(x), forbid_copies():
        result = answer(x, k, step) if step > 1 else answer(x, k)
    expected = torch.stack([x[s : s + k] for s in range(0, len(x) - k + 1, step)])
    known = partial(windows, x, k, step)
    check_value(result, expected, "the result", known, rtol=0, atol=0)
    check_shares_storage(result, x)


@ends_in_notebook
def check_one_channel(answer: Callable[..., Tensor], image: Tensor, kernel: Tensor) -> None:
    """Check a convolution of one channel, and that its windows are one view.

    Raises:
        AssertionError: it is another, or made in a way that is forbidden.
    """
    __tracebackhide__ = True
    with forbid_changes(image, kernel), count_operators() as counts:
        result = answer(image, kernel)
    expected = F.conv2d(image[None, None], kernel[None, None])[0, 0]
    known = partial(plain_convolutions, image, kernel)
    check_value(result, expected, "the result", known, rtol=1e-5, atol=1e-5)
    check_view_of_windows(counts)
    products = sum(counts[name] for name in PRODUCTS)
    words = "products ran: multiply all windows by the kernel at once, without a loop"
    assert products <= 1, f"{products} {words}"


@ends_in_notebook
def check_released(answer: Callable[..., Any], x: Tensor) -> None:
    """Check the bytes that ``x`` keeps alive, and an equal tensor that keeps only its own.

    Raises:
        AssertionError: a number or the tensor is another; the words say which.
    """
    __tracebackhide__ = True
    with forbid_changes(x):
        pair = answer(x)
    check_bytes_kept(pair, x)
    check_close(pair[1], x, "the tensor")
    left = pair[1].untyped_storage().nbytes()
    check_equal(left, x.nbytes, "bytes that the tensor keeps", "is it a copy?")
    y, boxes = pair[1], torch.arange(x.numel())
    read = boxes.as_strided(y.shape, y.stride(), y.storage_offset()).unique()
    words = "its storage holds boxes that are no element of it: copy the elements into a new one"
    assert len(read) == x.numel(), words


def format_of(image: Tensor) -> str:
    """PyTorch's name for the memory format of a tensor (batch, channel, height, width)."""
    pixels = image.is_contiguous(memory_format=torch.channels_last)
    if image.is_contiguous():
        return "both" if pixels else "contiguous"
    return "channels_last" if pixels else "neither"
