"""Exercises 7.3 and 7.4: a gradient that is reversed, and one that is zero in some rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction

from course_utils.chapters.hooks import slips as known_slips
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.checks import check_close
from course_utils.learner.gradients import grad_of
from course_utils.learner.tracebacks import ends_in_notebook, what_was_raised
from course_utils.learner.values import check_value


def run_reversal(
    reverse: Callable, x: Tensor, strength: float, weight: float, by_hook: bool, grad: bool | None
) -> tuple:
    """The layer's output y, and the gradient of sum((y + weight * x) ** 2) / 2 at x.

    ``by_hook`` refuses a Function in the graph of y. ``grad`` is False for a call under
    ``no_grad``, None for an x that needs no gradient.
    """
    x = x.detach().requires_grad_(grad is not None)
    x.grad = old = torch.full_like(x, 0.25)
    with torch.set_grad_enabled(grad is not False):
        y = reverse(x, strength)
    same = x.requires_grad == (grad is not None)
    assert same, "x.requires_grad was changed: nothing else about x is to change"
    kept = x.grad is old and bool((old == 0.25).all())
    assert kept, "x.grad was changed: the gradient that x had before is the caller's"
    if by_hook and isinstance(y, Tensor):
        instead = "gradient_reversal goes through a Function: here a tensor hook is to do it"
        assert not any(isinstance(node, BackwardCFunction) for node in _nodes(y.grad_fn)), instead
    if not isinstance(y, Tensor) or not grad:
        graph = "under no_grad y has a graph: the values alone are asked for, whatever the mode"
        assert grad is None or getattr(y, "grad_fn", None) is None, graph
        needs = grad is None and getattr(y, "requires_grad", False)
        assert not needs, "x needs no gradient, and y does: the values alone are asked for"
        return y, None
    loss = (y + weight * x if weight != 1 else y + x).square().sum() / 2
    gradient = None
    if loss.requires_grad:
        (gradient,) = torch.autograd.grad(loss, x, allow_unused=True)
    return y.detach(), torch.zeros_like(x) if gradient is None else gradient


def _nodes(node: Any) -> list:
    """This node of a graph and all that its gradient goes on to."""
    nodes = [] if node is None else [node]
    for node in nodes:
        nodes += [after for after, _ in node.next_functions if after not in (None, *nodes)]
    return nodes


@ends_in_notebook
def check_reversal(
    trial: Callable,
    x: Tensor,
    strength: float,
    weight: float,
    by_function: bool,
    grad: bool | None = True,
) -> None:
    """Check the values and the gradient of a reversing layer."""
    __tracebackhide__ = True
    y, gradient = trial(x, strength, weight, by_function, grad)
    check_close(y, x, "y", rtol=1e-2, atol=1e-2)
    assert torch.equal(y, x), "the values of y are not exactly those of x: was it computed anew?"
    if grad:
        truth, slips = known_slips.reversal(x, strength, weight)
        beside = f", where {weight:g} times x is used beside y" if weight else ""
        what = f"the gradient at x for strength {strength:g}{beside}"
        check_value(gradient, truth, what, slips)


# Frozen rows


def run_freezing(freeze_rows: Callable, table: Tensor, rows: list[int]) -> dict[str, Tensor | None]:
    """The gradients of an embedding with frozen rows, and of a tensor without a hook."""
    embedding = nn.Embedding.from_pretrained(table.clone(), freeze=False)
    weight, other = embedding.weight, torch.ones_like(table, requires_grad=True)
    weight.sum().backward()
    embedding.train(len(rows) % 2 == 0)
    given = [*rows]
    try:
        with forbid_side_effects(embedding, but=("hooks", "requires_grad", "names", "values")):
            handle = freeze_rows(embedding, rows)
    except IndexError as error:
        hint = "" if rows else " (an empty list makes a float tensor: say dtype=torch.long)"
        raise AssertionError(f"freeze_rows raised IndexError: {error}{hint}") from error
    assert rows == given, f"the caller's list of rows was changed, from {given} to {rows}"
    blank = f"freeze_rows returned {handle!r}, not the handle of a hook: is there an answer yet?"
    assert hasattr(handle, "remove"), blank
    same = embedding.weight is weight and weight.requires_grad
    assert same, "weight was replaced, or needs no gradient any more"
    try:
        weight.sum().backward()
    except (IndexError, RuntimeError) as error:
        wide = " (a mask of the rows alone goes along the columns: give it the shape (rows, 1))"
        hint = wide * ("must match the size" in str(error))
        if isinstance(error, IndexError) and not rows:
            hint = " (an empty list makes a float tensor: say dtype=torch.long)"
        raise AssertionError(f"{what_was_raised(error)}{hint}") from error
    found, weight.grad = {"before": weight.grad}, None
    (weight + other).square().sum().backward()
    found["weight"], found["other"], weight.grad = weight.grad, other.grad, None
    weight.sum().backward()
    found["sum"] = grad_of(weight).clone()
    (2 * weight).sum().backward()
    found["accumulated"], weight.grad = weight.grad, None
    handle.remove()
    weight.sum().backward()
    return {**found, "removed": weight.grad, "values": weight.detach()}


@ends_in_notebook
def check_freezing(trial: Callable, table: Tensor, rows: list[int]) -> None:
    """Check the gradients of a table with frozen rows."""
    __tracebackhide__ = True
    ones, plain = torch.ones_like(table), 2 * (table + 1)
    found = trial(table, rows)
    check_close(found["values"], table, "the table itself, which is not to be changed")
    names = {
        "sum": ("weight.grad after weight.sum().backward(), an expanded number", ones),
        "weight": ("weight.grad after (weight + other).square().sum().backward()", plain),
        "accumulated": ("weight.grad after two backwards", 3 * ones),
    }
    for name, (what, gradient) in names.items():
        truth, slips = known_slips.frozen_rows(gradient, rows)
        check_value(found[name], truth, what, slips)
    erased = "a gradient from before was erased: what a backward() adds is to be zero"
    what = "weight.grad after a backward() without the hook and one with it"
    wiped = known_slips.frozen_rows(2 * ones, rows)[0]
    truth = ones + known_slips.frozen_rows(ones, rows)[0]
    check_value(found["before"], truth, what, {erased: wiped})
    shared = "other.grad, which shared its gradient with weight (a hook never writes to it)"
    check_close(found["other"], plain, shared)
    words = "weight.grad after handle.remove(), which is to free all rows (is a hook left?),"
    check_close(found["removed"], ones, words)


def frozen_row_moves(name: str) -> bool:
    """Whether a row without a gradient moves, for an optimizer and a case by name."""
    kind, *options = name.removesuffix(", after a step").split(", ")
    options = {key: float(value) for key, _, value in (part.partition("=") for part in options)}
    weight, mask = torch.ones(3, 2, requires_grad=True), torch.tensor([[0.0], [1.0], [1.0]])
    optimizer = getattr(torch.optim, kind)([weight], lr=0.1, **options)
    if name.endswith("after a step"):
        weight.grad = torch.ones(3, 2)
        optimizer.step()
    before = weight[0].tolist()
    for _ in range(3):
        weight.grad = mask * torch.ones(3, 2)
        optimizer.step()
    return weight[0].tolist() != before
