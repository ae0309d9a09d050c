"""One call in other states: gradients off, gaps in memory, the tensors of another call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext, suppress
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from course_utils.learner.changes import ASKED, CHANGED, NOTED, layout_of, notes_on, same_values
from course_utils.learner.checks import TOLERANCES
from course_utils.learner.tracebacks import ends_in_notebook, what_was_raised

# What a state is called, and what an answer may have done that goes wrong in it.
STATES = {
    # First: the judge can only tell what becomes of the result of the call before.
    "result_overwritten": (
        "a second time, after the first result was set to zero",
        "what is kept between two calls is the caller's to change: make the result anew",
    ),
    "no_grad": (
        "inside torch.no_grad()",
        "the values don't depend on whether gradients are wanted",
    ),
    "inference_mode": (
        "inside torch.inference_mode()",
        "the values don't depend on whether gradients are wanted",
    ),
    "gaps": (
        "with tensors that have gaps in memory (views, x.is_contiguous() is False)",
        "strides are none of its business; .view() and the storage go by them",
    ),
    "old_gradient": (
        "with tensors that require grad and have an old .grad",
        "the values are the same, and x.requires_grad and x.grad are the caller's",
    ),
    "inside_a_graph": (
        "with tensors that an operator made from others that require grad",
        "the values are the same",
    ),
    "other_numbers": (
        "a second time with the same tensors, which had other numbers the first time",
        "a tensor's numbers can change between two calls: make each result anew",
    ),
}


@ends_in_notebook
def check_states(
    function: Callable[..., Any], *arguments: Any, what: str, but: Collection[str] = ()
) -> Any:
    """Check that a function of tensors gives the same in states that a slip doesn't count on.

    The arguments are copied; their values are the same in each state. Shapes, dtypes and, within
    ten times the tolerances of ``check_close``, values are compared with those of a plain call:
    whether that one is right, another check says. Not for a function that draws random numbers,
    works in place, or whose result depends on gradients, strides or the process.

    Args:
        function: the learner's.
        arguments: tensors, plain values, and lists, tuples or dicts of them.
        what: the call, as the message will call it: ``"softmax(x)"``.
        but: states to leave out, of ``STATES``.

    Returns:
        What the plain call gave.

    Raises:
        AssertionError: another result, an exception, or a changed argument; it names the state.
    """
    __tracebackhide__ = True
    given = tree_map(_copy, arguments)
    layouts = [layout_of(one) for one in _tensors(given)]
    plain = function(*given)
    # The layout first: a storage that was cut short has no values that could be read.
    if [layout_of(one) for one in _tensors(given)] != layouts:
        raise AssertionError(f"{what} is wrong: {CHANGED.format('shape, stride or storage')}")
    kept = tree_map(_copy, plain)
    for name in STATES:
        if name in but:
            continue
        where, because = STATES[name]
        given, before = _arguments(name, arguments), tree_map(_copy, arguments)
        earlier = _called_with_others(function, given) if name == "other_numbers" else []
        if earlier is None:
            continue
        layouts = [layout_of(one) for one in _tensors(given)]
        if name == "result_overwritten":
            for leaf in _tensors(plain):
                # An expanded tensor can't be written to as a whole.
                leaf.untyped_storage().fill_(0)  # ty: ignore[missing-attribute]
        try:
            with _inside(name):
                recording = torch.is_grad_enabled()
                result = function(*given)
                switched = torch.is_grad_enabled() != recording
        except Exception as error:
            words = f"{what} {where} {what_was_raised(error)}"
            raise AssertionError(f"{words} ({because})") from error
        wrong = "changes the caller's grad mode" if switched else ""
        wrong = wrong or _changed(name, given, before, layouts) or _difference(result, kept)
        if not all(same_values(one.detach(), copy) for one, copy in earlier):
            wrong = wrong or "changes the result of the first time"
        if wrong:
            raise AssertionError(f"{what} {where} {wrong} ({because})")
    return kept


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def _inside(name: str) -> Any:
    if name == "no_grad":
        return torch.no_grad()
    if name == "inference_mode":
        return torch.inference_mode()
    return nullcontext()


def _arguments(name: str, arguments: tuple) -> tuple:
    """Copies of the arguments in a state."""

    def change(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        value = value.detach().clone()
        if name == "gaps":
            return _with_gaps(value)
        if name in ("old_gradient", "inside_a_graph") and value.is_floating_point():
            value.requires_grad_()
            if name == "inside_a_graph":
                return value * 1
            value.grad = torch.ones_like(value)
        return value

    return tree_map(change, arguments)


def _called_with_others(function: Callable[..., Any], given: tuple) -> list | None:
    """Call a function with these tensors while they hold other numbers.

    It may refuse them, and what it gives for them is not compared.

    Returns:
        Tensors of the result that are no views of the arguments, each with a copy; ``None``, and no
        call, where the other numbers are the same.
    """
    held = [(one.detach(), one.detach().clone()) for one in _tensors(given)]
    for one, numbers in held:
        one.copy_(_other_numbers(numbers))
    if all(same_values(one, numbers) for one, numbers in held):
        return None
    result = None
    with suppress(Exception):
        result = function(*given)
    for one, numbers in held:
        one.copy_(numbers)
    mine = {one.untyped_storage().data_ptr() for one, _ in held}
    own = (one for one in _tensors(result) if one.untyped_storage().data_ptr() not in mine)
    return [(one, _copy(one)) for one in own]


def _other_numbers(numbers: Tensor) -> Tensor:
    """Floats in another order and smaller; of integers and booleans, which may index, the first."""
    if numbers.is_floating_point() or numbers.is_complex():
        return numbers.flatten().roll(1).view_as(numbers) * 0.75
    return numbers.flatten()[0].expand_as(numbers) if numbers.numel() else numbers


def _with_gaps(value: Tensor) -> Tensor:
    """A view of the same values, no two of whose dimensions can be merged: no view(-1, …)."""
    wider = [size + 1 for size in value.shape]
    filled = float("nan") if value.is_floating_point() or value.is_complex() else 1
    around = torch.full((*wider, 2), filled, dtype=value.dtype, device=value.device)
    view = around[(*(slice(size) for size in value.shape), 0)]
    return view.copy_(value)


def _tensors(value: Any) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor))


def _changed(name: str, given: tuple, before: tuple, layouts: list[tuple]) -> str:
    """Words for an argument that is not as it was."""
    asks = name in ("old_gradient", "inside_a_graph")
    for now, old, layout in zip(_tensors(given), _tensors(before), layouts, strict=True):
        if layout_of(now) != layout:
            return "is wrong: " + CHANGED.format("shape, stride or storage")
        if not same_values(now.detach(), old):
            return "is wrong: " + CHANGED.format("values")
        if now.requires_grad != (asks and now.is_floating_point()):
            return "is wrong: " + ASKED
        kept = now.grad if name == "old_gradient" else torch.ones_like(old)
        if now.requires_grad and (kept is None or not same_values(kept, torch.ones_like(old))):
            return "changed the .grad that was there"
        if notes := notes_on(now):
            return "is wrong: " + NOTED.format(min(notes))
    return ""


def _difference(result: Any, kept: Any) -> str:
    """Words for how a result differs from that of the plain call."""
    mine, right = tree_leaves(result), tree_leaves(kept)
    if len(mine) != len(right):
        return f"gives {len(mine)} values, and {len(right)} without"
    for x, y in zip(mine, right, strict=True):
        if not isinstance(x, Tensor) or not isinstance(y, Tensor):
            if type(x) is not type(y) or not (x == y or (x != x and y != y)):
                return f"gives {x!r}, and {y!r} without"
        elif (x.shape, x.dtype) != (y.shape, y.dtype):
            kinds = [f"{one.dtype} of shape {tuple(one.shape)}" for one in (x, y)]
            return f"gives a {kinds[0]}, and a {kinds[1]} without"
        else:
            rtol, atol = (10 * bound for bound in TOLERANCES.get(y.dtype, (0.0, 0.0)))
            if not torch.isclose(x.detach(), y, rtol, atol, equal_nan=True).all():
                return "gives other values than without"
    return ""
