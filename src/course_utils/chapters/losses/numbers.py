"""One number that is a loss: compared, with its gradient; and the names of what ran for it."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_utils.learner import cases
from course_utils.learner.changes import CHANGED
from course_utils.learner.checks import refuse_missing
from course_utils.learner.tracebacks import ends_in_notebook

NEAR = 2e-4  # how far apart two numbers may be and still count as one
ROUNDED = "it is near, but rounded on the way: keep all digits"


class WrongNumber(AssertionError):
    """A number that isn't the right one, and which known slips would give it."""

    def __init__(self, said: str, slips: dict[str, bool], otherwise: str, guess: str) -> None:
        self.said, self.slips, self.otherwise, self.guess = said, slips, otherwise, guess
        super().__init__(self.words())

    def words(self, refuted: frozenset[str] = frozenset()) -> str:
        """The message, with the first slip that gives this number and isn't ``refuted``."""
        fitting = [slip for slip, fits in self.slips.items() if fits and slip not in refuted]
        guess = "" if self.guess in refuted else self.guess
        reason = fitting[0] if fitting else self.otherwise or guess
        return f"{self.said} ({reason})" if reason else self.said


class every_case(cases.every_case):
    """As the course's own, but a slip is named only if it gives the number of every failing case.

    By chance a slip's number may lie near a wrong one of another origin: in one case, not in all
    of them.
    """

    def __init__(self, at_most: int = 8) -> None:
        super().__init__(at_most)
        self.wrong: dict[int, WrongNumber] = {}

    @contextmanager
    def __call__(self, name: str) -> Generator[None]:
        with super().__call__(name):
            try:
                yield
            except WrongNumber as error:
                self.wrong[len(self.failures)] = error
                raise

    @ends_in_notebook
    def __exit__(self, kind, error, traceback) -> None:
        __tracebackhide__ = True
        wrong = self.wrong.values()
        refuted = {slip for one in wrong for slip, fits in one.slips.items() if not fits}
        guesses = {one.guess for one in wrong}
        refuted |= guesses if len(guesses) > 1 or len(wrong) < len(self.failures) else set()
        for index, one in self.wrong.items():
            self.failures[index] = self.failures[index][0], one.words(frozenset(refuted))
        if all(cases.BLANK in words for _, words in self.failures):
            # Each names its own call; without an answer the first is enough.
            self.failures = [(name, self.failures[0][1]) for name, _ in self.failures]
        super().__exit__(kind, error, traceback)


@ends_in_notebook
def check_number(
    actual: Any,
    right: Tensor | float,
    what: str,
    slips: Mapping[str, Tensor | float | tuple[Tensor | float, ...]] | None = None,
    *,
    tensor: bool = True,
    dtype: torch.dtype | None = None,
    otherwise: str = "",
    guess: str = "",
    exact: float = 1e-9,
) -> None:
    """Compare one number with the right one.

    Args:
        actual: the learner's number.
        right: the right one; a ``nan`` equals a ``nan``.
        what: what was asked, as the message will call it.
        slips: words for known mistakes, each with the number that it would give, or a tuple of
            several such numbers.
        tensor: whether it has to be a tensor of shape ``()``; otherwise any number will do.
        dtype: the dtype that such a tensor has to have, or a more precise one, if it matters.
        otherwise: words for a wrong number that no slip would give, true in any case.
        guess: a likely reason instead; :class:`every_case` says it only if no other case fails.
        exact: how far off, as a share, a number in float64 may be.

    Raises:
        AssertionError: it is missing, no such number, or another one; with the words of the first
            slip that would give it.
    """
    __tracebackhide__ = True
    refuse_missing(actual, what)
    if tensor:
        kind = type(actual).__name__
        assert isinstance(actual, Tensor), f"{what} is of type {kind}, expected a torch.Tensor"
        shape = tuple(actual.shape)
        assert shape == (), f"{what} has shape {shape}, expected one number, a tensor of shape ()"
        fine = dtype is None or torch.promote_types(actual.dtype, dtype) == actual.dtype
        assert fine, f"{what} has dtype {actual.dtype}, expected {dtype}"
    else:
        shape = getattr(actual, "shape", ())
        assert shape == (), f"{what} has shape {tuple(shape)}, expected one number"
    try:
        value = actual.item() if hasattr(actual, "item") else float(actual)
    except (TypeError, ValueError, RuntimeError):
        raise AssertionError(f"{what} is {actual!r}, expected a number") from None
    right = _plain(right)
    # Plain numbers and float64 are exact to many digits; a float32 on the way there costs some.
    exact = NEAR if tensor and dtype != torch.float64 else exact if tensor else 1e-6
    # In float32 a plain number near 0 may be off by the rounding of a 1.
    if _same(value, right, exact) or (not tensor and abs(value - right) < 5e-7):
        return
    numbers = {
        words: [_plain(number) for number in (slip if isinstance(slip, tuple) else (slip,))]
        for words, slip in (slips or {}).items()
    }
    told = any(_same(value, number, exact) for given in numbers.values() for number in given)
    if _same(value, right) and not told:
        said = f"{what}: expected {right:.10g}, got {value:.10g}"
        words = "it is near, but rounded on the way, or float32, or something small was added"
        raise AssertionError(f"{said} ({words})")
    if not tensor and math.isfinite(right):
        fewer = [round(right, digits) for digits in (1, 2, 3, 4)]
        numbers[ROUNDED] = [number for number in fewer if not _same(number, right, exact)]
    telling = {}
    for words, given in numbers.items():
        # What makes a number larger is no reason for one that is too small.
        fits = any(_same(value, n) and not (value - right) * (n - right) < 0 for n in given)
        # A nan or inf is a trouble of its own: it speaks neither for nor against another slip.
        # A slip that would give the right number here isn't what went wrong here.
        against = math.isfinite(value) and all(map(math.isfinite, given))
        if fits or against:
            telling[words] = fits
    digits = 10 if _same(value, right) else 5
    said = f"{what}: expected {right:.{digits}g}, got {value:.{digits}g}"
    raise WrongNumber(said, telling, otherwise, guess)


def _plain(number: Tensor | float) -> float:
    return float(number.item() if isinstance(number, Tensor) else number)


def _same(one: float, other: float, near: float = NEAR) -> bool:
    if one != one or other != other:
        return one != one and other != other
    return math.isclose(one, other, rel_tol=near, abs_tol=near / 100)


@ends_in_notebook
def value_and_gradient(
    loss: Any,
    leaves: list[Tensor],
    name: str = "it",
    *,
    nan: bool = False,
    copies_of: Sequence[Tensor] = (),
) -> tuple:
    """A learner's loss, without its graph, and its gradients by ``leaves``.

    With ``nan``, a loss that is ``nan`` may come without a graph; its gradients are zeros then.
    The leaves that were handed over were ``copies_of`` these tensors, and have to equal them still.

    Raises:
        AssertionError: ``loss`` is no tensor, or hangs on no graph; a leaf was changed; or three
            times the loss hasn't three times the gradient.
    """
    __tracebackhide__ = True
    pairs = zip(leaves, copies_of, strict=False)
    assert all(torch.equal(leaf, given) for leaf, given in pairs), CHANGED.format("values")
    assert loss is not None, f"{name} returned None: is there an answer yet?"
    kind = type(loss).__name__
    assert isinstance(loss, Tensor), f"{name} returned a value of type {kind}, not a tensor"
    lost = f"no gradient flows through what {name} returned: item, detach, a new tensor?"
    if nan and not loss.requires_grad and loss.isnan().all():
        return loss, *map(torch.zeros_like, leaves)
    assert loss.requires_grad, lost
    total = loss.sum()
    once = torch.autograd.grad(total, leaves, retain_graph=True, materialize_grads=True)
    thrice = torch.autograd.grad(total.mul(3), leaves, materialize_grads=True)
    near = all(
        torch.allclose(three, 3 * one, rtol=1e-3, atol=1e-6, equal_nan=True)
        for one, three in zip(once, thrice, strict=True)
    )
    words = "isn't three times its gradient: does a backward leave out grad_output?"
    assert near, f"the gradient of three times what {name} returned {words}"
    return loss.detach(), *once


class names_of_calls(TorchFunctionMode):
    """A ``with`` block that notes the names of PyTorch's functions that are called in it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))
