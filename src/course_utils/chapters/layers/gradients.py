"""Whether a result stays in the graph: gradients by each argument, beside the library's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from course_utils.chapters.layers.parts import library_heads, library_norm
from course_utils.chapters.layers.slips import torch_attention
from course_utils.learner import other_states
from course_utils.learner.tracebacks import ends_in_notebook

NAN = (
    "0/0 arose on the way and was mended in the result alone, or a root of 0 has no slope; keep it "
    "from arising (chapter 06)"
)
LEFT = "it left the graph on the way: detach, no_grad, .data, .item() and numpy do that"
ALONE = " (which alone requires one)"
OTHERS = "is the graph made only if another argument requires a gradient (x.requires_grad)?"


@ends_in_notebook
def check_states(
    try_gradients: Callable[..., Any],
    function: Callable[..., Any],
    *arguments: Any,
    what: str,
    but: Collection[str] = (),
) -> None:
    """As ``course_utils.check_states``, and gradients flow back from the result.

    Args:
        try_gradients: a locked function that runs ``gradients_of`` with the answer.
        function: the learner's.
        arguments: tensors, plain values, and tuples or dicts of them.
        what: the call, as the message will call it; it begins with the exercise's function. One
            that this module knows is compared with the library's.
        but: states to leave out.

    Raises:
        AssertionError: another result in a state; or a gradient that is missing, or another one.
    """
    __tracebackhide__ = True
    other_states.check_states(function, *arguments, what=what, but=but)
    name = what.partition("(")[0]
    if name in LIBRARY:
        check_gradients(try_gradients, name, arguments, what)
        for which, more in _with_zeros(name, arguments):
            check_gradients(try_gradients, name, more, f"{what}, where {which} is all zeros")
        if name == "linear_by_hand":
            none = arguments[0].new_empty(0, arguments[0].shape[-1])
            check_gradients(
                try_gradients, name, (none, *arguments[1:]), f"{what}, where x has no row"
            )
        for more in _blind(*arguments) if name == "attention" else ():
            check_gradients(try_gradients, name, more, f"{what}, where a query sees nothing")


@ends_in_notebook
def check_gradients(
    try_gradients: Callable[..., Any], exercise: str, arguments: tuple, what: str
) -> None:
    """Check the gradients of a function whose values are right."""
    __tracebackhide__ = True
    truths = gradients_of(LIBRARY[exercise], exercise, arguments) or {}
    try:
        found = try_gradients(exercise, arguments)
    except RuntimeError as error:
        told = str(error).partition(". ")[0]
        words = f"{what} in a graph raised RuntimeError: {told}"
        raise AssertionError(f"{words} (does it write in place, into a view?)") from None
    assert found is not None, f"no gradient flows back from the result of {what}: {LEFT}"
    for name, truth in truths.items():
        if truth is None:
            continue
        mine, where = found[name], f"{what}: the gradient of {name}"
        nothing = truth.count_nonzero() > 0 and (mine is None or mine.count_nonzero() == 0)
        why = OTHERS if name.endswith(ALONE) else LEFT
        assert not nothing, f"{what}: no gradient reaches {name}: {why}"
        nan = mine is not None and mine.isnan().any() and not truth.isnan().any()
        assert not nan, f"{where} has a NaN where the values have none: {NAN}"
        mine = torch.zeros_like(truth) if mine is None else mine
        if _near(mine, truth):
            continue
        if slip := FIXED.get(exercise):
            wrong = (gradients_of(slip, exercise, arguments) or {})[name]
            fixed = "that of a fixed mean and variance: they are made of x, and pass gradients on"
            assert not _near(mine, wrong), f"{where} is {fixed}"
        lost = "the values are right, so a part of the way back is missing or leads elsewhere"
        raise AssertionError(f"{where} is not the library's: {lost} (detach, .data, no_grad?)")


def _near(x: Tensor | None, y: Tensor | None) -> bool:
    tensors = x is not None and y is not None
    return tensors and torch.allclose(x, y, rtol=1e-3, atol=1e-4)


def gradients_of(
    function: Callable[..., Any], exercise: str, arguments: tuple
) -> dict[str, Tensor | None] | None:
    """By name the gradient of each tensor; None where no result is in a graph.

    Of several tensors each comes once more, by its name and ``ALONE``, from a call in which no
    other requires a gradient. A graph doesn't travel to the judge: this runs beside the answer.
    """
    found = _gradients(function, exercise, arguments)
    if found is None or len(found) < 2:
        return found
    for name in list(found):
        found[name + ALONE] = (_gradients(function, exercise, arguments, name) or {}).get(name)
    return found


def _gradients(
    function: Callable[..., Any], exercise: str, arguments: tuple, alone: str = ""
) -> dict[str, Tensor | None] | None:
    """The gradients of one call, in which all tensors require one, or that of this name alone.

    Of the results as many floating tensors count as the library gives.
    """
    right = LIBRARY[exercise]

    def leaf(value: Any) -> Any:
        tensor = isinstance(value, Tensor)
        value = value.detach().clone() if tensor else value
        return value.requires_grad_() if tensor and value.is_floating_point() else value

    names, wanted = [*signature(right).parameters], {}
    given = [
        tree_map(leaf, value) if name not in KEPT else value.clone()
        for name, value in zip(names, arguments, strict=False)
    ]
    for name, value in zip(names, given, strict=False):
        wanted |= dict(_leaves(name, value))
    for name in [name for name in wanted if alone not in ("", name)]:
        wanted.pop(name).requires_grad_(False)
    count = len(_floating(right(*given)))
    results = _floating(function(*given))[:count]
    parts = [y for y in results if y.requires_grad]
    if not parts:
        return None
    total = torch.stack([(_weights(y) * y).sum() for y in parts]).sum()
    gradients = torch.autograd.grad(total, [*wanted.values()], allow_unused=True)
    return dict(zip(wanted, gradients, strict=True))


def _with_zeros(exercise: str, arguments: tuple) -> Iterator[tuple[str, tuple]]:
    """The arguments with zeros in one that often holds them: zeros get gradients as well."""
    names = [*signature(LIBRARY[exercise]).parameters]
    for n, (name, value) in enumerate(zip(names, arguments, strict=False)):
        if name in OFTEN_ZEROS.get(exercise, ()):
            zeros = tree_map(torch.zeros_like, value)
            yield name, (*arguments[:n], zeros, *arguments[n + 1 :])


def _blind(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, causal: bool) -> Iterator[tuple]:
    """The arguments of attention with masks, boolean and floating, that leave a query nothing."""
    mask = mask.expand(*q.shape[:-1], k.shape[-2]).clone()
    mask[..., 1, :] = False
    for one in (mask, torch.where(mask, 0.0, -torch.inf)):
        yield q, k, v, one, causal


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors of an argument that ask for a gradient, by a name that a learner reads."""
    if isinstance(value, dict):
        yield from ((f'{name}["{key}"]', one) for key, one in value.items())
    elif isinstance(value, tuple):
        yield from ((f"{name}[{n}]", one) for n, one in enumerate(value))
    elif isinstance(value, Tensor) and value.requires_grad:
        yield name, value


def _floating(result: Any) -> list[Tensor]:
    leaves = tree_leaves(result)
    return [y for y in leaves if isinstance(y, Tensor) and y.is_floating_point()]


def _weights(y: Tensor) -> Tensor:
    """What arrives at a result: numbers that differ, and don't add up to 0."""
    return torch.arange(1.0, y.numel() + 1, device=y.device, dtype=y.dtype).view(y.shape).cos()


KEPT = ("running_mean", "running_var")  # buffers, which ask for no gradient
OFTEN_ZEROS = {
    "linear_by_hand": ("x", "bias"),
    "batch_norm": ("x", "bias"),
    "norm_family": ("x",),
    "rnn_by_hand": ("x", "state", "b_ih", "b_hh"),
}


def _pooling(x: Tensor, k: int) -> tuple:
    return F.max_pool2d(x, k), F.avg_pool2d(x, k)


def _unpool(values: Tensor, where: Tensor, height: int, width: int) -> Tensor:
    pixels = values.new_zeros(*values.shape[:2], height * width)
    return pixels.scatter(2, where.flatten(2), values.flatten(2)).unflatten(2, (height, width))


def _adaptive_mean(x: Tensor, m: int) -> Tensor:
    return F.adaptive_avg_pool1d(x.reshape(1, -1, x.shape[-1]), m).view(*x.shape[:-1], m)


def _batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
) -> Tensor:
    return library_norm(x, weight, bias, running_mean, running_var, training)[0]


def _norm(x: Tensor, kind: str, groups: int) -> Tensor:
    if kind == "batch":
        return F.batch_norm(x, None, None, training=True)
    if kind == "instance":
        return F.instance_norm(x)
    if kind == "rms":
        return F.rms_norm(x, x.shape[1:], eps=1e-5)
    return F.group_norm(x, groups if kind == "group" else 1)


def _step(
    kind: str, x: Tensor, state: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor
) -> Any:
    cells = {"rnn": torch.rnn_tanh_cell, "gru": torch.gru_cell, "lstm": torch.lstm_cell}
    return cells[kind](x, state, w_ih, w_hh, b_ih, b_hh)


def _fixed_norm(x: Tensor, kind: str, groups: int) -> Tensor:
    """The norm whose mean and variance count as constants."""
    z = x.unflatten(1, (groups, -1)) if kind == "group" else x
    dims = {"batch": (0, 2, 3), "instance": (2, 3), "group": (2, 3, 4)}.get(kind, (1, 2, 3))
    var, mean = torch.var_mean(z.detach(), dims, correction=0, keepdim=True)
    if kind == "rms":
        var, mean = z.detach().square().mean(dims, keepdim=True), torch.zeros_like(mean)
    return ((z - mean) / (var + 1e-5).sqrt()).view_as(x)


def _fixed_batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
) -> Tensor:
    if not training:
        return _batch_norm(x, weight, bias, running_mean, running_var, training)
    return _fixed_norm(x, "batch", 1) * weight.view(-1, 1, 1) + bias.view(-1, 1, 1)


LIBRARY: dict[str, Callable[..., Any]] = {
    "linear_by_hand": lambda x, weight, bias: F.linear(x, weight, bias),
    "pooling_and_back": _pooling,
    "unpool": _unpool,
    "adaptive_mean": _adaptive_mean,
    "batch_norm": _batch_norm,
    "norm_family": _norm,
    "rnn_by_hand": _step,
    "attention": lambda q, k, v, mask, causal: torch_attention(q, k, v, mask, causal),
    "multi_head": lambda x, weights, heads: library_heads(x, weights, heads),
}
FIXED: dict[str, Callable[..., Any]] = {
    "batch_norm": _fixed_batch_norm,
    "norm_family": _fixed_norm,
}
