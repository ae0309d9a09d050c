"""What a call of an answer does: the functions that it uses, an argument it changed, a loop."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.as_it_was import same
from course_utils.learner.changes import same_values
from course_utils.learner.tracebacks import ends_in_notebook

# What a name alone doesn't say: torch.func.vjp ends in a call that the learner never typed.
SPOKEN = {"grad": "autograd.grad (torch.func goes through it, too)"}


class Calls(TorchFunctionMode):
    """A ``with`` block that notes the name of each PyTorch function called inside it.

    Unlike operators, these are the names that a caller writes: ``linear``, ``gru_cell``.

    Attributes:
        names: the names so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.add(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def watched(function: Callable, *args: Any) -> tuple[Any, list[str], str]:
    """Call a function and watch it; for a locked function that :func:`runs_with_the_answer`.

    Returns:
        What ``function(*args)`` returned; the names of the PyTorch functions that it called;
        what a tensor among its arguments has other than before: ``"its values"``,
        ``"its requires_grad"`` or ``"its grad"``; empty where all are as they were.
    """
    tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    before = [(t.detach().clone(), t.requires_grad, _grad_of(t)) for t in tensors]
    with Calls() as calls:
        result = function(*args)
    changed = [
        name
        for tensor, (values, flag, grad) in zip(tensors, before, strict=True)
        for name, was_left in (
            ("its values", same_values(tensor.detach(), values)),
            ("its requires_grad", tensor.requires_grad == flag),
            ("its grad", same(_grad_of(tensor), grad)),
        )
        if not was_left
    ]
    return result, sorted(calls.names), changed[0] if changed else ""


def _grad_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy of a leaf's gradient, if it has one."""
    return tensor.grad.clone() if tensor.is_leaf and tensor.grad is not None else None


@ends_in_notebook
def check_rules(names: Sequence[str], changed: str | bool, *patterns: str) -> None:
    """Check what :func:`watched` says of a call: nothing forbidden, no argument changed.

    Args:
        names: the names of what was called.
        changed: what of an argument is no longer as it was, or whether something is.
        patterns: what is forbidden, by name or pattern, such as ``"*gru*"``.

    Raises:
        AssertionError: one of the two happened; both are listed.
    """
    __tracebackhide__ = True
    found = [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]
    wrong = []
    if found:
        spoken = [SPOKEN.get(name, name) for name in found]
        wrong.append(f"the answer calls {', '.join(spoken)}: write it without the library's own")
    if changed:
        what = changed if isinstance(changed, str) else "values, requires_grad or grad"
        wrong.append(f"an argument was changed ({what}): leave it as it is")
    if wrong:
        raise AssertionError("; ".join(wrong))


@ends_in_notebook
def check_no_loop(few: int, many: int, taken: Sequence[str] = ()) -> None:
    """Check that a function's work is not done row by row.

    Args:
        few: how many operators ran for a few rows.
        many: how many ran for many rows; without a loop they are as many.
        taken: what took the numbers out of the tensors, by name, of what :func:`watched` lists.

    Raises:
        AssertionError: the two differ, or something was taken out.
    """
    __tracebackhide__ = True
    words = f"{few} operations for a few rows, {many} for many: that is a loop over the rows"
    assert many == few, words
    names = ", ".join(taken)
    assert not names, f"{names} takes the numbers out of the tensors: that is a loop in disguise"


def python_calls(function: Callable, *args: Any) -> tuple[Any, Counter]:
    """What ``function(*args)`` gives, and how often each Python function ran meanwhile.

    The names are those of the modules and functions: ``"torch.func.vmap"``.
    """
    names, before = Counter(), sys.getprofile()

    def note(frame, event, _):
        if event == "call":
            names[f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"] += 1

    sys.setprofile(note)
    try:
        return function(*args), names
    finally:
        sys.setprofile(before)
