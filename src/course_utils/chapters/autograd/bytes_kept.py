"""Exercise 5.7: the bytes that a graph keeps."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, reduce
from numbers import Integral
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._C import _autograd

import course_utils
from course_utils.chapters.autograd.raised import said_in_words
from course_utils.learner.byte_counts import bytes_of
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_equal
from course_utils.learner.graphs import draw_graph
from course_utils.learner.tracebacks import ends_in_notebook


@cache
def _weight(size: int, device: torch.device) -> Tensor:
    return torch.ones(size, 2, device=device, requires_grad=True)


def _slope_of_exp(x: Tensor) -> Tensor:
    return torch.autograd.grad(x.exp().sum(), x, create_graph=True)[0]


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "exp": torch.exp,
    "mul": torch.mul,
    "normalize": F.normalize,
    "linear": F.linear,
    "cross_entropy": F.cross_entropy,
    "sigmoid": torch.sigmoid,
    "softplus": F.softplus,
    "prod": torch.prod,
    "gelu": F.gelu,
    "rows of exp, multiplied": lambda x: (lambda rows: (rows[:1] * rows[1:2]).sum())(x.exp()),
    "x[1:] * x[1:].exp()": lambda x: x[1:] * x[1:].exp(),
    "exp, fifty times": lambda x: reduce(lambda y, _: y.exp(), range(50), x),
    "relu(x + 1) @ ones": lambda x: F.relu(x + 1) @ x.new_ones(x.shape[1], 2).requires_grad_(),
    "flat squares": lambda x: x.reshape(-1).square(),
    "a clone, squared": lambda x: x.clone().square(),
    "relu(x + 1) @ a parameter": lambda x: F.relu(x + 1) @ nn.Parameter(x.new_ones(x.shape[1], 2)),
    "x[[1, 0]]": lambda x: x[torch.tensor([1, 0], device=x.device)],
    "the largest of each row": lambda x: x.max(1).values,
    "where(x > 1, x, 0)": lambda x: torch.where(x > 1, x, 0.0),
    "x * exp(x).detach()": lambda x: x * x.exp().detach(),
    "the input itself": lambda x: x,
    "exp of no input": lambda: torch.ones(3, device=course_utils.device, requires_grad=True).exp(),
    "x * sum(x)": lambda x: x * x.sum(),
    "add and relu in place": lambda x: (x + 1).relu_(),
    "exp of a transposed copy": lambda x: x.t().contiguous().exp(),
    "x * the slope of exp": lambda x: x * _slope_of_exp(x),
    "(x + 1) @ a weight that stays": lambda x: (x + 1) @ _weight(x.shape[1], x.device),
    "one of three": lambda x, y, z: x * y * z,
}
# What a count is asked for inside, with words for who counts then.
MODES: dict[str, tuple[Callable[[], AbstractContextManager], str]] = {
    "": (nullcontext, ""),
    "no_grad": (
        torch.no_grad,
        "who calls it under no_grad has nothing recorded, so nothing is kept",
    ),
    "inference_mode": (torch.inference_mode, "under inference_mode nothing is recorded or kept"),
}


HOOKS_LEFT = (
    "hooks stayed on after the call, or after one in which function raised: a with block takes "
    "them off in any case"
)
NOT_CALLED_AGAIN = (
    "asked again for the same function and inputs, the answer didn't call function: each call of "
    "saved_bytes calls it once, for it may keep something else by then"
)


class Unfinished(RuntimeError, TypeError, ValueError, IndexError):
    """What a function raises that ends halfway: an error of every kind that is caught."""


class Interrupted(KeyboardInterrupt):
    """What a function raises whose cell is interrupted: no ``Exception``."""


def try_counting(saved_bytes: Callable, name: str, *inputs: Tensor, mode: str = "") -> tuple:
    """Count a function's bytes by an answer, and watch it.

    Returns:
        The count; how often the function was called; whether an input was changed; words for hooks
        for saved tensors that stayed on, after this call or after one in which the function raised,
        or for that error, if it was kept back.
    """
    calls = []

    def function(*given: Tensor) -> Tensor:
        calls.append(name)
        return FUNCTIONS[name](*given)

    def state() -> list:
        sums = [x.grad.abs().sum().item() if x.grad is not None else None for x in inputs]
        return [(x.requires_grad, x._version, total) for x, total in zip(inputs, sums, strict=True)]

    inputs = tuple(x.detach().requires_grad_(x.requires_grad) for x in inputs)
    for x in inputs:
        if x.requires_grad:
            x.grad = torch.ones_like(x)  # as of a backward pass before
    before, hooks = state(), _autograd._top_saved_tensors_default_hooks
    with MODES[mode][0]():
        recording = torch.is_grad_enabled()
        answer = saved_bytes(function, *inputs)
        switched = recording != torch.is_grad_enabled()
    left, changed = HOOKS_LEFT * (hooks(True) is not None), before != state()
    called = len(calls)
    for kind in (Unfinished, Interrupted):
        if answer is not None and not left:
            left = _left_by(kind, saved_bytes, inputs)
    if answer is not None and called == 1 and not left:
        saved_bytes(function, *inputs)
        left = NOT_CALLED_AGAIN * (len(calls) == called)
    if switched:
        left = "the caller's grad mode was changed: leave recording on or off, as it was"
    while hooks(True) is not None:
        _autograd._pop_saved_tensors_default_hooks()
    return answer, called, changed, left


def _left_by(kind: type[BaseException], saved_bytes: Callable, inputs: tuple[Tensor, ...]) -> str:
    """Words for a function that raises this: its hooks stayed on, or its error was kept back."""

    def unfinished(*given: Tensor) -> Tensor:
        torch.ones(1, requires_grad=True).exp()
        raise kind

    try:
        saved_bytes(unfinished, *inputs)
        left = "function raised, and its error was kept back: let it through"
    except kind:
        left = ""
    except Exception:
        left = "function raised, and another error came out: let its own through"
    hooks = _autograd._top_saved_tensors_default_hooks
    return HOOKS_LEFT if hooks(True) is not None else left


def large() -> Tensor:
    """A tensor of 10 kB, whose storage a later one is likely to get."""
    return torch.full((40, 64), -9.0, requires_grad=True)


def kept(result: Tensor) -> list[Tensor]:
    """The tensors that the graph of ``result`` saves."""
    nodes = draw_graph(result).nodes if result.requires_grad else []
    return [x for node in nodes for x in node.saved]


@ends_in_notebook
def check_bytes(
    try_saved_bytes: Callable, name: str, *inputs: Tensor, because: str = "", mode: str = ""
) -> None:
    """Compare an answer's count of kept bytes with what the graph says.

    Args:
        try_saved_bytes: from a name and inputs to the count, the number of calls, and whether an
            input was changed.
        name: a key of ``FUNCTIONS``.
        inputs: of that function.
        because: words for who counts wrong.
        mode: a key of ``MODES``.
    """
    inputs = tuple(x.to(course_utils.device) for x in inputs)
    within, why = MODES[mode]
    because = because or why
    with within():
        result = FUNCTIONS[name](*inputs)
    held, there = kept(result), {x.untyped_storage().data_ptr() for x in inputs}
    fresh = [x for x in held if x.untyped_storage().data_ptr() not in there]
    truth = bytes_of(fresh)
    slips = {
        sum(
            x.untyped_storage().nbytes() for x in held
        ): "each storage once, the inputs' not at all",
        sum(x.untyped_storage().nbytes() for x in fresh): "each storage once",
        bytes_of(held): "the storages that the inputs lie in do not count",
        sum(x.numel() * x.itemsize for x in fresh): "count storages, not the elements of a view",
        len(fresh): "count bytes, not tensors",
        result.untyped_storage().nbytes(): "that is the result's own storage",
    }
    with said_in_words(because):
        answer, calls, changed, left = try_saved_bytes(
            name, *inputs, **({"mode": mode} if mode else {})
        )
    blank = answer is None and calls == 0
    assert not blank, "the function was not called: is there an answer yet?"
    assert calls == 1, f"the function was called {calls} times, not once"
    assert not changed, (
        "an input was changed: its values, requires_grad or grad (no backward is needed to count)"
    )
    assert not left, left
    whole = answer is None or (isinstance(answer, Integral) and not isinstance(answer, bool))
    assert whole, f"the number of bytes is a {type(answer).__name__}, not a whole number (int)"
    known = slips.get(answer)
    # How many addresses are used again depends on the machine: no number is said there.
    again = name == "exp, fifty times" and known is None and answer is not None
    assert not (again and 0 < answer < truth), f"fewer bytes than are kept: {because}"
    words = "; ".join(part for part in (None if mode else known, because) if part)
    check_equal(answer, truth, "the number of bytes", words if answer is not None else "")


def more_bytes() -> list[tuple]:
    """Cases for `check_counts`: words, a key of ``FUNCTIONS``, the inputs, maybe a mode."""
    x = torch.tensor([[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]], requires_grad=True)
    of = lambda kind: x.detach().to(kind).requires_grad_()  # noqa: E731
    plain, ones = x.detach(), torch.ones(2, 3, requires_grad=True)
    return [
        ("", "exp", x, "no_grad"),
        ("", "exp", x, "inference_mode"),
        ("", "a clone, squared", x, "no_grad"),
        ("a parameter that the function has is no input", "relu(x + 1) @ a parameter", x),
        ("whole numbers are kept, too: which rows were taken", "x[[1, 0]]", x),
        ("whole numbers are kept, too: where the largest were", "the largest of each row", x),
        ("truth values are kept, too: a byte each", "where(x > 1, x, 0)", x),
        ("a factor is kept, also where it requires no grad", "x * exp(x).detach()", x),
        ("nothing was computed", "the input itself", x),
        ("the function may have no inputs", "exp of no input"),
        ("the sum is kept: one float, of dimension 0", "x * sum(x)", x),
        ("the result is kept, though it was edited before", "add and relu in place", x),
        ("a copy of an input is no input", "exp of a transposed copy", x),
        *[("a weight of its own counts in each call", "(x + 1) @ a weight that stays", x)] * 2,
        ("it goes backward itself: pack returns what unpack needs", "x * the slope of exp", x),
        ("an input with gaps in memory is an input", "mul", ones[:, :2], ones[:, 1:]),
        ("only what isn't an input: the first product", "one of three", x, plain, ones),
        ("an input that requires no grad is an input", "mul", plain.clone(), x),
        ("its numbers have 2 bytes each", "exp", of(torch.float16)),
        ("its numbers have 2 bytes each", "exp", of(torch.bfloat16)),
        ("its numbers have 8 bytes each", "exp", of(torch.complex64)),
        ("one number: 4 bytes", "exp", x.detach()[0, 0].clone().requires_grad_()),
        ("no numbers, no bytes", "exp", x.detach()[:0].clone().requires_grad_()),
    ]


@ends_in_notebook
def check_counts(try_saved_bytes: Callable, *cases: tuple) -> None:
    """:func:`check_bytes` for several cases: words, a function's name, its inputs, maybe a mode."""
    with every_case(at_most=12) as case:
        for why, name, *inputs in cases:
            mode = inputs.pop() if inputs and isinstance(inputs[-1], str) else ""
            shapes = [tuple(x.shape) for x in inputs]
            kind = f", {inputs[0].dtype}" if inputs else ""
            with case(f"{name} of {shapes}{kind}" + f", inside torch.{mode}()" * bool(mode)):
                check_bytes(try_saved_bytes, name, *inputs, because=why, mode=mode)


def bytes_over_time(recording: bool, layers: int = 6) -> list[int]:
    """Kilobytes that the record of some layers keeps, after each layer and each step backward."""
    alive: weakref.WeakSet = weakref.WeakSet()
    course: list[int] = []
    weights = [torch.full((128, 128), 0.01, requires_grad=True) for _ in range(layers)]

    class Kept:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor
            alive.add(self)

    def note(*_: Any) -> None:
        course.append(bytes_of([kept.tensor for kept in alive], weights) // 1024)

    h = torch.ones(64, 128)
    note()
    hooks = torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.tensor)
    with torch.set_grad_enabled(recording), hooks:
        for number, weight in enumerate(weights):
            h = (h @ weight).tanh()
            note()
            if recording and number < layers - 1:
                h.register_hook(note)
        loss = h.sum()
    if recording:
        loss.backward()
        note()
    return course
