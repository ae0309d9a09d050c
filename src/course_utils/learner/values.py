"""Results compared with what they should be; a known slip is called by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook

Slips = Mapping[str, torch.Tensor | tuple[torch.Tensor, ...]]


@ends_in_notebook
def check_parts(result: Any, *names: str) -> Sequence:
    """Check that a result is a tuple or list with one part for each name, and return it.

    Raises:
        AssertionError: it is something else; the message says what was expected.
    """
    __tracebackhide__ = True
    expected = f"expected a tuple ({', '.join(names)})"
    if result is None:
        raise AssertionError(f"None came back: is there an answer yet? {expected}")
    if not isinstance(result, (tuple, list)):
        raise AssertionError(f"a {type(result).__name__} came back, {expected}")
    if len(result) != len(names):
        raise AssertionError(f"{len(result)} parts came back, {expected}")
    return result


@ends_in_notebook
def check_value(
    actual: Any,
    expected: torch.Tensor,
    what: str = "the result",
    slips: Slips | Callable[[], Slips] | None = None,
    rtol: float = 2e-4,
    atol: float = 2e-5,
) -> None:
    """Like ``check_close``, and a known slip is called by its name.

    Args:
        actual: the learner's result, of any type.
        expected: the right tensor.
        what: what was asked, as the message will call it.
        slips: words for a misconception, each with the tensor that it leads to, or a tuple of
            several such tensors. One that does not differ from ``expected`` is passed over. A
            function that gives them is called only where the result differs.
        rtol: relative tolerance.
        atol: absolute tolerance.

    Raises:
        AssertionError: the result differs.
    """
    __tracebackhide__ = True
    if isinstance(actual, torch.Tensor) and not _close(actual, expected, rtol, atol):
        known = slips if isinstance(slips, Mapping) or slips is None else slips()
        for words, slip in (known or {}).items():
            for wrong in slip if isinstance(slip, tuple) else (slip,):
                if _close(actual, wrong, rtol, atol) and not _close(wrong, expected, rtol, atol):
                    raise AssertionError(f"{what}: {words}")
    check_close(actual, expected, what, rtol=rtol, atol=atol)


def _close(x: torch.Tensor, y: torch.Tensor, rtol: float, atol: float) -> bool:
    """Whether two tensors have one shape and nearly the same values, whatever their dtypes."""
    if x.shape != y.shape:
        return False
    if rtol == atol == 0 and not any(z.is_floating_point() or z.is_complex() for z in (x, y)):
        return torch.equal(x.cpu().long(), y.cpu().long())  # float64 would round them
    wide = torch.complex128 if x.is_complex() or y.is_complex() else torch.float64
    x, y = (tensor.detach().cpu().to(wide) for tensor in (x, y))
    return torch.allclose(x, y, rtol, atol, equal_nan=True)


def agrees(call: Callable[[], Any], truth: Any, atol: float = 1e-5) -> bool:
    """Whether ``call()`` gives the tensor, or the dict of tensors, that it should.

    Whatever an unfinished answer does or raises, it does not agree.
    """
    try:
        mine = call()
        if isinstance(truth, Mapping):
            return all(torch.allclose(mine[key], truth[key], atol=atol) for key in truth)
        return torch.allclose(mine, truth, atol=atol)
    except Exception:
        return False
