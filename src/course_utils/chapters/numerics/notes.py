"""The operators that run inside a call, and the form of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close

Answer = Callable[..., Any]


class _Notes(TorchDispatchMode):
    """Notes of every operator: its name, its arguments' sizes, its result's size, new bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        places = [x.untyped_storage().data_ptr() for x in given]
        for made in tree_leaves(result):
            if isinstance(made, torch.Tensor):
                storage = made.untyped_storage()
                new = 0 if storage.data_ptr() in places else storage.nbytes()
                sizes = [list(x.shape) for x in given]
                self.lines.append([func.overloadpacket.__name__, sizes, list(made.shape), new])
        return result


def operators_of(function: Answer, *args: Any) -> tuple[list[list], str, Any]:
    """What runs inside a call, below autograd.

    Returns:
        For each operator's result ``[name, sizes of the arguments, size of the result, bytes]``,
        where bytes counts a storage that no argument lies in (the first 4000 of them); the name
        of the exception that ended the call, or ``""``; and what the call returned.
    """
    raised, result = "", None
    with _Notes() as notes:
        try:
            result = function(*args)
        except Exception as error:
            raised = type(error).__name__
    return notes.lines[:4000], raised, result


def left_on(function: Answer, *args: Any) -> str:
    """What a call leaves on arguments that want a gradient and have an old one already.

    A gradient and a hook do not travel to the judge, so a locked function calls this.

    Args:
        function: from tensors and other values to anything.
        args: its arguments; in place of a floating-point tensor it gets a leaf of the same values.

    Returns:
        Words for the first thing that is other than before: the values, ``requires_grad``, the
        old ``grad``, or a hook; or that a second call changes what the first gave. Empty where
        all are as they were.
    """
    leaves = []
    for arg in args:
        if isinstance(arg, torch.Tensor) and arg.is_floating_point():
            arg = arg.detach().clone().requires_grad_()
            arg.grad = torch.full_like(arg, 0.25)
        leaves.append(arg)
    function(*leaves)
    for leaf, arg in zip(leaves, args, strict=True):
        if leaf is arg:
            continue
        if not torch.equal(leaf.detach(), arg.detach()):
            return "its values were changed"
        if not leaf.requires_grad:
            return "its requires_grad was changed"
        if leaf.grad is None or not bool((leaf.grad == 0.25).all()):
            return "its old gradient (.grad) was cleared or changed: it is the caller's"
        if leaf._backward_hooks or leaf._post_accumulate_grad_hooks:
            return "a hook stays on it, and changes every gradient that it gets from now on"
    return _given_twice(function, *args)


def _given_twice(function: Answer, *args: Any) -> str:
    """Words where a second call, with other numbers, changes what the first one gave."""
    plain = [arg.detach() if isinstance(arg, torch.Tensor) else arg for arg in args]
    others = [
        arg / 2 + 1 if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg
        for arg in plain
    ]
    first = function(*plain)
    if not isinstance(first, torch.Tensor):
        return ""
    kept = first.detach().clone()
    function(*others)
    if torch.equal(first.nan_to_num(), kept.nan_to_num()):
        return ""
    return "the next call changed what this one gave: make a new tensor in each call"


def check_left(in_use: Answer, case: every_case, name: str, *args: Any) -> None:
    """That arguments which have a gradient already stay as they are; ``in_use`` is the trial."""
    with case("an argument that has a gradient already"):
        left = in_use(name, *args)
        mine = left.startswith("the next call")
        assert not left, left if mine else f"{left}; the argument stays as it is"


def few_digits(x: torch.Tensor) -> bool:
    """Whether numbers of float64 carry the digits of float32 alone, as after ``x.float()``."""
    known = x.dtype == torch.float64 and x.numel() > 0
    return known and torch.equal(x.float().double(), x)


def check_form(actual: Any, like: torch.Tensor, what: str) -> None:
    """Check type, shape, dtype and device of a result, not its values."""
    given = torch.zeros_like(actual) if isinstance(actual, torch.Tensor) else actual
    check_close(given, torch.zeros_like(like), what)
