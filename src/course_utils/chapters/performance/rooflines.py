"""Flops and bytes of operators, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_parts


def work(kind: str, sizes: Sequence[int]) -> tuple[int, int, int]:
    """Flops, elements read and elements written, each operand and result once."""
    if kind == "linear":
        batch, inputs, outputs = sizes
        return 2 * batch * inputs * outputs, batch * inputs + inputs * outputs, batch * outputs
    if kind == "bias":
        rows, columns = sizes
        return rows * columns, rows * columns + columns, rows * columns
    if kind == "conv":
        batch, inputs, outputs, height, width, kernel = sizes
        places, weights = batch * height * width, inputs * outputs * kernel**2
        return 2 * places * weights, places * inputs + weights, places * outputs
    if kind == "depthwise":
        batch, channels, height, width, kernel = sizes
        places, weights = batch * height * width, channels * kernel**2
        return 2 * places * weights, places * channels + weights, places * channels
    (n,) = sizes
    flops = {"copy": 0, "add": n, "add_": n, "axpy": 2 * n}[kind]
    return flops, n if kind == "copy" else 2 * n, n


def _unpadded(kind: str, sizes: Sequence[int]) -> int:
    """How many places the result of a convolution would have without padding."""
    height, width, kernel = sizes[-3:]
    return sizes[0] * max(height - kernel + 1, 0) * max(width - kernel + 1, 0)


def _byte_slips(kind: str, sizes: Sequence[int], itemsize: int) -> dict[str, int]:
    """Words for known mistakes in bytes, each with the number that it gives."""
    _, read, written = work(kind, sizes)
    slips = {}
    if kind == "add_":
        slips["in place, x is read and written, and y is read"] = 2 * written * itemsize
    slips |= {
        "each element has itemsize bytes": read + written,
        "each element has itemsize bytes, which aren't always 4": 4 * (read + written),
        "the result is written, too": read * itemsize,
        "only the result is counted; operands are read": written * itemsize,
    }
    if kind == "linear":
        batch, inputs, outputs = sizes
        slips["the weight is read, too"] = batch * (inputs + outputs) * itemsize
        slips["each operand is read once, also a weight that many rows use"] = (
            batch * (inputs + inputs * outputs + outputs) * itemsize
        )
    if kind in ("conv", "depthwise"):
        weights = read - sizes[0] * sizes[1] * sizes[-3] * sizes[-2]
        slips["the weight is read, too"] = (read + written - weights) * itemsize
        smaller = _unpadded(kind, sizes)
        slips["it is padded: the result is as high and wide as the image"] = (
            read + smaller * sizes[2 if kind == "conv" else 1]
        ) * itemsize
        margin = (sizes[-3] + sizes[-1] - 1) * (sizes[-2] + sizes[-1] - 1) - sizes[-3] * sizes[-2]
        slips["the image is read, not the zeros around it"] = (
            read + written + sizes[0] * sizes[1] * margin
        ) * itemsize
    if kind == "conv":
        slips["the result has outputs channels, not inputs"] = (2 * read - weights) * itemsize
    if kind == "depthwise":
        full = sizes[1] ** 2 * sizes[-1] ** 2
        slips["the weight has a kernel for each channel, not for each pair of them"] = (
            read + written - weights + full
        ) * itemsize
    if kind == "axpy":
        slips["one kernel: x and y are read once, the result is written once"] = (
            5 * written * itemsize
        )
    if kind == "bias":
        slips["b has a row of elements, and is read once"] = 3 * written * itemsize
        slips["b is read, too"] = 2 * written * itemsize
    return slips


def _flop_slips(kind: str, sizes: Sequence[int]) -> dict[str, int]:
    flops, *_ = work(kind, sizes)
    slips = {}
    if not flops:
        return {"copying computes nothing": sizes[0]} if kind == "copy" else {}
    if kind in ("linear", "conv", "depthwise", "axpy"):
        slips["those are multiply-adds; each is two flops"] = flops // 2
    terms = {"linear": lambda: sizes[1], "depthwise": lambda: sizes[-1] ** 2}
    terms["conv"] = lambda: sizes[1] * sizes[-1] ** 2
    if kind in terms:
        slips["a sum of n products counts n additions here, the first one too"] = flops - flops // (
            2 * terms[kind]()
        )
    if kind in ("conv", "depthwise"):
        places = sizes[0] * sizes[-3] * sizes[-2]
        slips["it is padded: the result is as high and wide as the image"] = (
            flops // places * _unpadded(kind, sizes)
        )
        height, width = sizes[-3:-1]
        slips["an image has height · width places"] = flops // width * height
        slips["the window has kernel · kernel places"] = flops // sizes[-1]
    if kind == "depthwise":
        slips["each output channel reads its own input channel alone"] = flops * sizes[1]
    if kind == "copy":
        slips["copying computes nothing"] = sizes[0]
    return slips


# Sizes for `check_roofline`: of 0 or 1, some whose flops no float64 or int64 holds, even kernels.
MORE_SIZES: list[tuple[str, tuple[int, ...], int]] = [
    ("linear", (4, 0, 3), 4),
    ("linear", (0, 3, 4), 2),
    ("conv", (0, 3, 8, 5, 7, 3), 4),
    ("conv", (2, 0, 8, 5, 7, 3), 4),
    ("depthwise", (0, 6, 5, 7, 3), 2),
    ("depthwise", (2, 0, 5, 7, 3), 4),
    ("conv", (2, 3, 0, 5, 7, 3), 2),
    ("bias", (5, 0), 4),
    *((kind, (0,), 4) for kind in ("copy", "add_", "axpy")),
    *((kind, (1,), 8) for kind in ("copy", "add", "add_", "axpy")),
    ("linear", (1, 1, 1), 4),
    ("linear", (3_000_001, 2_999_999, 3_000_003), 2),
    ("axpy", (300_000_000_000_000_001,), 8),
    ("conv", (1, 2, 3, 4, 5, 2), 4),
    ("depthwise", (2, 3, 5, 4, 2), 2),
]


@ends_in_notebook
def check_roofline(
    found: Any, kind: str, sizes: Sequence[int], itemsize: int, peak: float, bandwidth: float
) -> None:
    """Compare ``(flops, bytes, bound)`` with what is right."""
    __tracebackhide__ = True
    flops, nbytes, bound = check_parts(found, "flops", "bytes", "bound")
    right, read, written = work(kind, sizes)
    for name, mine, truth, slips in (
        ("flops", flops, right, _flop_slips(kind, sizes)),
        ("bytes", nbytes, (read + written) * itemsize, _byte_slips(kind, sizes, itemsize)),
    ):
        assert mine is not None, f"{name} is None: is there an answer yet?"
        number = isinstance(mine, Integral) and not isinstance(mine, bool)
        assert number, f"{name} is of type {type(mine).__name__}, expected an int: a whole number"
        for words, slip in () if 0 in sizes else slips.items():  # with a 0 many give the same
            assert mine == truth or mine != slip or slip == truth, f"{name}: {words}"
        more = ": what isn't empty is still read or written" if 0 in sizes else ""
        if mine != truth and (mine - truth) % 2**64 == 0:
            more = (
                ": that went round at 2**63, as numbers of 64 bits do; Python's own have no limit"
            )
        if kind in ("conv", "depthwise") and sizes[-1] % 2 == 0:
            more = "; with an even kernel, too, the result is as high and wide as the image"
        assert mine == truth, f"{name} are wrong: {mine} is not what {kind} of {sizes} takes{more}"
    compute, memory = right / peak, (read + written) * itemsize / bandwidth
    expected = "compute" if compute > memory else "memory"
    choice = bound in ("compute", "memory")
    assert choice, 'bound is "compute" or "memory"'
    tie = ", memory where both take as long" if compute == memory else ""
    if peak % 1 or bandwidth % 1:
        tie = "; peak and bandwidth needn't be whole numbers"
    assert bound == expected, (
        f"not {bound}-bound: compare flops / peak, {compute:.3g} s, with bytes / bandwidth, "
        f"{memory:.3g} s; the longer one is waited for{tie}"
    )
