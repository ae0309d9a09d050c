"""The operators that run inside a call, and the form of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.other_states import check_states

Answer = Callable[..., Any]
GRAPHS = "old_gradient", "inside_a_graph"


class _Notes(TorchDispatchMode):
    """Notes of every operator: its name, its arguments' sizes, its result's size, new bytes.

    Before the name of what draws from PyTorch's global generator stands ``"global "``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs))
        given = [x for x in leaves if isinstance(x, torch.Tensor)]
        own = any(isinstance(x, torch.Generator) for x in leaves)
        drawn = torch.Tag.nondeterministic_seeded in func.tags and not own
        name = "global " * drawn + func.overloadpacket.__name__
        places = [x.untyped_storage().data_ptr() for x in given]
        for made in tree_leaves(result):
            if isinstance(made, torch.Tensor):
                storage = made.untyped_storage()
                new = 0 if storage.data_ptr() in places else storage.nbytes()
                sizes = [list(x.shape) for x in given]
                self.lines.append([name, sizes, list(made.shape), new])
        return result


def operators_of(function: Answer, *args: Any) -> tuple[list[list], str, Any]:
    """What runs inside a call, below autograd.

    Returns:
        For each operator's result ``[name, sizes of the arguments, size of the result, bytes]``,
        where bytes counts a storage that no argument lies in (the first 4000 of them); the name
        of the exception that ended the call, the nearest of Python's own, or ``""``; and what the
        call returned.
    """
    raised, result = "", None
    with _Notes() as notes:
        try:
            result = function(*args)
        except Exception as error:
            kinds = type(error).__mro__  # torch.linalg's LinAlgError is a RuntimeError
            raised = next(kind.__name__ for kind in kinds if kind.__module__ == "builtins")
    return notes.lines[:4000], raised, result


def left_on(function: Answer, *args: Any, leaves: bool = True) -> str:
    """What a call leaves on arguments that want a gradient, and what it makes of other states.

    A gradient and a hook do not travel to the judge, so a locked function calls this.

    Args:
        function: from tensors and other values to anything.
        args: its arguments; in place of a floating-point tensor it gets a leaf of the same values.
        leaves: whether gradients are asked of the function; else it is only called twice.

    Returns:
        Words for the first thing that is other than before: the values, ``requires_grad``, the
        old ``grad``, or a hook; that without a graph, or where one argument alone wants a
        gradient, it does something else; or that a second call changes what the first gave.
        Empty where all is well.
    """
    if not leaves:
        return _given_twice(function, *args) or _in_states(function, *args, but=GRAPHS)
    given = _leaves(args)
    for leaf in given:
        if _is_float(leaf):
            leaf.grad = torch.full_like(leaf, 0.25)
    function(*given)
    kept = "; the argument stays as it is"
    for leaf, arg in zip(given, args, strict=True):
        if not _is_float(leaf):
            continue
        if not torch.equal(leaf.detach(), arg.detach()):
            return f"its values were changed{kept}"
        if not leaf.requires_grad:
            return f"its requires_grad was changed{kept}"
        if leaf.grad is None or not bool((leaf.grad == 0.25).all()):
            return f"its old gradient (.grad) was cleared or changed: it is the caller's{kept}"
        if leaf._backward_hooks or leaf._post_accumulate_grad_hooks:
            return f"a hook stays on it, and changes every gradient that it gets from now on{kept}"
    return (
        _without_graph(function, *args)
        or _given_twice(function, *args)
        or _one_alone(function, *args)
        or _in_states(function, *args)
    )


def _in_states(function: Answer, *args: Any, but: tuple[str, ...] = ()) -> str:
    """Words where a call gives something else inside a graph, for views, or with gradients off."""
    try:
        check_states(function, *args, what="a call", but=but)
    except AssertionError as error:
        return str(error)
    return ""


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _leaves(args: tuple, alone: int | None = None) -> list:
    """Copies of the arguments, as leaves; where ``alone`` is given, that one wants a gradient."""
    return [
        arg.detach().clone().requires_grad_(alone in (None, place)) if _is_float(arg) else arg
        for place, arg in enumerate(args)
    ]


def _tensors(result: Any) -> list[torch.Tensor]:
    return [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]


def _same(x: Any, y: Any) -> bool:
    ours, theirs = _tensors(x), _tensors(y)
    pairs = zip(ours, theirs, strict=False)
    alike = all(a.shape == b.shape and torch.allclose(a, b, 1e-3, 1e-6, True) for a, b in pairs)
    return alike and len(ours) == len(theirs)


def _without_graph(function: Answer, *args: Any) -> str:
    """Words where the function does something else under ``no_grad`` or ``inference_mode``."""
    truth = function(*_leaves(args, -1))
    if any(x.requires_grad for x in _tensors(truth)):
        return "the result wants a gradient, though no argument does"
    for mode in (torch.no_grad, torch.inference_mode):
        given = _leaves(args)
        try:
            with mode():
                found = function(*given)
        except Exception as error:
            return f"under torch.{mode.__name__}() it raises {type(error).__name__}: {error}"
        if not _same(found, truth):
            return f"under torch.{mode.__name__}() it gives other values"
        if any(x.requires_grad for x in _tensors(found)):
            return f"under torch.{mode.__name__}() the result should have no graph"
    return ""


def _one_alone(function: Answer, *args: Any) -> str:
    """Words where an argument's gradient is another one if no other argument wants one."""
    places = [place for place, arg in enumerate(args) if _is_float(arg)]
    if len(places) < 2:
        return ""
    every = _leaves(args)
    truths = torch.autograd.grad(function(*every).sum(), [every[place] for place in places])
    for place, truth in zip(places, truths, strict=True):
        given = _leaves(args, place)
        result = function(*given)
        words = f"where argument {place + 1} alone wants a gradient, "
        if not result.requires_grad:
            return f"{words}none flows"
        if not _same(torch.autograd.grad(result.sum(), given[place]), (truth,)):
            return f"{words}it gets another one"
    return ""


def _given_twice(function: Answer, *args: Any) -> str:
    """Words where a second call, with other numbers, changes what the first one gave."""
    plain = [arg.detach() if isinstance(arg, torch.Tensor) else arg for arg in args]
    others = [arg / 2 + 1 if _is_float(arg) else arg for arg in plain]
    first = function(*plain)
    kept = [x.detach().clone() for x in _tensors(first)]
    function(*others)
    if not _same(first, kept):
        return "the next call changed what this one gave: make a new tensor in each call"
    if not _same(function(*plain), kept):
        return "the third call, equal to the first, gives something else: what was kept between?"
    return ""


def check_left(
    in_use: Answer, case: every_case, name: str, *args: Any, leaves: bool = True
) -> None:
    """That arguments stay as they are, and a call does not hang on its state: ``in_use`` tries."""
    what = "an argument that has a gradient already" if leaves else "a second call"
    with case(what):
        left = in_use(name, *args, leaves=leaves)
        assert not left, left


def few_digits(x: torch.Tensor) -> bool:
    """Whether numbers of float64 carry the digits of float32 alone, as after ``x.float()``."""
    known = x.dtype == torch.float64 and x.numel() > 0
    return known and torch.equal(x.float().double(), x)


def check_form(actual: Any, like: torch.Tensor, what: str) -> None:
    """Check type, shape, dtype and device of a result, not its values."""
    given = torch.zeros_like(actual) if isinstance(actual, torch.Tensor) else actual
    check_close(given, torch.zeros_like(like), what)
