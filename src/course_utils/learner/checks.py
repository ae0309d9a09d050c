"""Checkers for the check cells: asserts whose messages name the misconception.

Each one returns nothing when all is well and raises ``AssertionError`` otherwise. Their frames are
left out of a notebook's traceback, so that a learner sees the check cell's own line and the words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import torch

from course_utils.learner.tracebacks import ends_in_notebook

# Relative and absolute tolerance for each dtype, as torch.testing.assert_close documents them.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


@ends_in_notebook
def refuse_missing(actual: Any, what: str) -> None:
    """Refuse ``None`` and ``...``: there is no answer yet.

    Raises:
        AssertionError: it is one of the two; the message says which.
    """
    __tracebackhide__ = True
    if actual is None:
        raise AssertionError(f"{what} is None: is there an answer yet, and does it return a value?")
    if actual is ...:
        raise AssertionError(f"{what} is still the placeholder ...: there is no answer yet")


def _require_tensor(actual: Any, what: str) -> None:
    __tracebackhide__ = True
    refuse_missing(actual, what)
    if not isinstance(actual, torch.Tensor):
        raise AssertionError(f"{what} is of type {type(actual).__name__}, expected a torch.Tensor")


@ends_in_notebook
def check_equal(actual: Any, expected: Any, what: str = "the result", because: str = "") -> None:
    """Compare plain values: numbers, strings, tuples, lists, ``None``.

    A ``torch.Size``, a list and a tuple of the same entries count as equal, and so do an ``int``,
    a ``float`` and a NumPy number of the same value; ``True`` and ``1`` do not.

    Args:
        actual: the learner's value.
        expected: the right one.
        what: what was asked, as the message will call it, e.g. ``"element_offset((1, 2), …)"``.
        because: words that explain the right value to who got it wrong.

    Raises:
        AssertionError: they differ; the message shows both.
    """
    __tracebackhide__ = True
    reason = f" ({because})" if because else ""
    if expected is not None and not (actual is None and because):
        refuse_missing(actual, what)
    if isinstance(actual, torch.Tensor):
        raise AssertionError(
            f"{what} is a tensor, expected the plain value {expected!r}: "
            "use .item() or .tolist() if the number is right"
        )
    if _plain(actual) != _plain(expected):
        # Here None may be an answer of its own, and a wrong one.
        blank = "; or is there no answer yet?" if actual is None else ""
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}{reason}{blank}")


def _number(value: Any) -> Any:
    """A tensor without dimensions as the number in it; anything else as it is.

    Of a float32 the six digits that it holds for sure: 0.95, not 0.949999988.
    """
    if not isinstance(value, torch.Tensor) or value.dim():
        return value
    rounded = value.is_floating_point() and value.dtype != torch.float64
    return float(f"{value.item():.6g}") if rounded else value.item()


def _plain(value: Any) -> Any:
    """``value`` with sequences as tuples and each leaf marked as truth value or not."""
    if isinstance(value, (list, tuple)):
        return tuple(_plain(entry) for entry in value)
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return object()  # no plain value: equal to none
    if isinstance(value, np.generic):
        value = value.item()
    return isinstance(value, bool), value


@ends_in_notebook
def check_close(
    actual: Any,
    expected: torch.Tensor,
    what: str = "the result",
    *,
    rtol: float | None = None,
    atol: float | None = None,
    drawn: bool = False,
    because: str = "",
) -> None:
    """Compare a tensor with the expected one: shape, dtype, device, then values.

    Args:
        actual: the learner's result, of any type.
        expected: the right tensor, of any shape and dtype.
        what: what was asked, as the message will call it.
        rtol: relative tolerance, as ``torch.testing.assert_close`` has it; by default that
            function's value for the dtype. Integers must be equal.
        atol: absolute tolerance, likewise.
        drawn: where a small matrix is wrong, a notebook shows it beside the expected one. Not for
            hidden tests. A grader's feedback has the words alone.
        because: words that explain the right value to who got it wrong.

    Raises:
        AssertionError: they differ; the message says in what and, for values, where first.
    """
    __tracebackhide__ = True
    _require_tensor(actual, what)
    wrong = _tensor_difference(actual, expected, rtol, atol)
    if wrong:
        if drawn:
            from course_utils.learner.difference_drawings import show_difference

            show_difference(actual, expected, what)
        raise AssertionError(what + wrong + (f" ({because})" if because else ""))


def _tensor_difference(actual: torch.Tensor, expected: torch.Tensor, rtol, atol) -> str:
    """Words for the first thing in which two tensors differ; none where they are close."""
    if actual.shape != expected.shape:
        hint = _shape_hint(actual.shape, expected.shape)
        return f" has shape {tuple(actual.shape)}, expected {tuple(expected.shape)}{hint}"
    if actual.dtype != expected.dtype:
        return f" has dtype {actual.dtype}, expected {expected.dtype}"
    if actual.device != expected.device:
        return f" is on {actual.device}, expected {expected.device}"
    return _value_difference(actual, expected, rtol, atol)


def _shape_hint(actual: torch.Size, expected: torch.Size) -> str:
    if sorted(actual) == sorted(expected):
        return ": the same sizes in another order"
    if [n for n in actual if n != 1] == [n for n in expected if n != 1]:
        return ": a dimension of size 1 is missing or too many"
    if actual.numel() == expected.numel():
        return ": the same number of elements, arranged in other dimensions"
    return ""


def _value_difference(actual, expected, rtol, atol) -> str:
    """Words for where two tensors of one shape and dtype differ first, in row-major order."""
    actual, expected = actual.detach().cpu(), expected.detach().cpu()
    default_rtol, default_atol = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    differs = ~torch.isclose(
        actual,
        expected,
        rtol=default_rtol if rtol is None else rtol,
        atol=default_atol if atol is None else atol,
        equal_nan=expected.is_floating_point() or expected.is_complex(),
    )
    count, total = int(differs.sum()), differs.numel()
    if count == 0:
        return ""
    first = tuple(differs.nonzero()[0].tolist())
    right, wrong = expected[first].item(), actual[first].item()
    shown = [f"{value:.6g}" for value in (right, wrong)]
    if isinstance(right, int) or shown[0] == shown[1]:
        shown = [repr(right), repr(wrong)]
    where = f" differs in {count} of {total} elements, first at index {first}" if total > 1 else ""
    return f"{where}: expected {shown[0]}, got {shown[1]}"


@ends_in_notebook
def check_shares_storage(actual: Any, base: torch.Tensor, what: str = "the result") -> None:
    """Check that ``actual`` lies in the memory of ``base``: it is a view, not a copy.

    An empty tensor passes: it has no element that could be shared.

    Raises:
        AssertionError: it lies elsewhere.
    """
    __tracebackhide__ = True
    _require_tensor(actual, what)
    if not _shares(actual, base) and actual.numel() > 0:
        raise AssertionError(f"{what} is a copy: the storage differs from the original's")


@ends_in_notebook
def check_copied(actual: Any, base: torch.Tensor, what: str = "the result") -> None:
    """Check that ``actual`` has a storage of its own, apart from that of ``base``.

    Raises:
        AssertionError: it still lies in the memory of ``base``.
    """
    __tracebackhide__ = True
    _require_tensor(actual, what)
    if _shares(actual, base):
        raise AssertionError(f"{what} is still a view: it shares the storage of the original")


def _shares(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether the storages of two tensors overlap in memory.

    Addresses are compared, not objects: a tensor that went through NumPy has another storage
    object over the same bytes.
    """
    if x.device != y.device:
        return False
    first, second = x.untyped_storage(), y.untyped_storage()
    return (
        first.data_ptr() < second.data_ptr() + second.nbytes()
        and second.data_ptr() < first.data_ptr() + first.nbytes()
    )


@ends_in_notebook
def check_layout(
    actual: Any,
    *,
    size: tuple[int, ...] | None = None,
    stride: tuple[int, ...] | None = None,
    offset: int | None = None,
    what: str = "the result",
) -> None:
    """Check size, stride and storage offset, the three numbers that turn a storage into a tensor.

    Strides and offset are in elements. What is left out is not checked. The stride of a dimension
    of size 1, and every stride of an empty tensor, is never used to reach an element, so any is
    accepted there.

    Raises:
        AssertionError: one differs; the message names it and shows both.
    """
    __tracebackhide__ = True
    _require_tensor(actual, what)
    if size is not None and tuple(actual.shape) != tuple(size):
        raise AssertionError(
            f"{what} has size {tuple(actual.shape)}, expected {tuple(size)}"
            + _shape_hint(actual.shape, torch.Size(size))
        )
    if stride is not None and actual.numel() > 0:
        used = [dim for dim, n in enumerate(actual.shape) if n > 1]
        same_rank = len(stride) == actual.dim()
        if not same_rank or any(actual.stride(dim) != stride[dim] for dim in used):
            raise AssertionError(
                f"{what} has stride {actual.stride()}, expected {tuple(stride)}: "
                "how many elements of the storage is one step along each dimension?"
            )
    if offset is not None and actual.numel() > 0 and actual.storage_offset() != offset:
        raise AssertionError(
            f"{what} starts at storage offset {actual.storage_offset()}, expected {offset}"
        )


@ends_in_notebook
def check_predictions(
    predicted: Mapping[str, Any],
    actual: Mapping[str, Any],
    because: Mapping[str, str] | None = None,
) -> None:
    """Compare a learner's predictions with what the machine says, without giving the answers away.

    Args:
        predicted: the learner's dict, one entry a question. A tensor without dimensions counts as
            its number.
        actual: the machine's answers, under the same keys.
        because: for some keys, words that explain the answer to who got it wrong.

    Raises:
        AssertionError: an entry is missing, blank (``None`` or ``...``) or wrong; every such entry
            is listed.
    """
    __tracebackhide__ = True
    if not isinstance(predicted, Mapping):
        raise AssertionError(
            f"the predictions are of type {type(predicted).__name__}, expected a dict"
        )
    blank = [key for key in actual if predicted.get(key) is None or predicted.get(key) is ...]
    if blank:
        unknown = [key for key in predicted if key not in actual]
        raise AssertionError(
            f"{len(blank)} of {len(actual)} predictions are still blank: {', '.join(blank)}"
            + (f"; nobody asked for {', '.join(map(repr, unknown))}" if unknown else "")
        )
    wrong = [key for key in actual if _plain(_number(predicted[key])) != _plain(actual[key])]
    if wrong:
        differ = "differs" if len(wrong) == 1 else "differ"
        lines = [f"{len(wrong)} of {len(actual)} predictions {differ} from what the machine does:"]
        for key in wrong:
            reason = _wrong_kind(predicted[key], actual[key], actual.values())
            reason = reason or (because or {}).get(key)
            lines.append(f"  {key} is not {predicted[key]!r}" + (f": {reason}" if reason else ""))
        raise AssertionError("\n".join(lines))


def _wrong_kind(value: Any, answer: Any, answers: Collection[Any]) -> str:
    """Words for a prediction of a kind that none of the answers has, such as 0 among truth values.

    Why the right answer is right would contradict it: ``0`` may be meant for ``False``.
    """
    kinds = {type(answer) for answer in answers}
    written = value.strip().removeprefix("-") if isinstance(value, str) else ""
    digits = written.replace(".", "", 1).isdigit()
    if isinstance(value, str) and (str not in kinds or (digits and not isinstance(answer, str))):
        return "in quotes it is a text; write it without them"
    if not isinstance(value, bool) and kinds == {bool}:
        return "expected True or False"
    if isinstance(value, (list, tuple, set)) and kinds <= {int, float}:
        return "expected a number"
    if isinstance(value, bool) and bool not in kinds and str not in kinds:
        return "expected a number, not True or False" if kinds <= {int, float} else ""
    return ""


@ends_in_notebook
def check_raises(
    kinds: type[BaseException] | tuple[type[BaseException], ...],
    call: Callable[[], Any],
    what: str = "the call",
) -> str:
    """Check that ``call()`` raises one of ``kinds`` and return the message of what it raised.

    Raises:
        AssertionError: it returned, or raised something else; the message says what.
    """
    __tracebackhide__ = True
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    expected = " or ".join(kind.__name__ for kind in kinds)
    try:
        result = call()
    except kinds as error:
        return str(error)
    except Exception as error:
        raise AssertionError(
            f"{what} raised {type(error).__name__} ({error}), expected {expected}"
        ) from error
    blank = "; is there an answer yet?" if result is None else ""
    raise AssertionError(f"{what} returned {result!r}, expected it to raise {expected}{blank}")
