"""Exercise 5.7: the bytes that a graph keeps."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import course_utils
from course_utils.learner.byte_counts import bytes_of
from course_utils.learner.checks import check_equal
from course_utils.learner.graphs import draw_graph
from course_utils.learner.tracebacks import ends_in_notebook

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
}


def large() -> Tensor:
    """A tensor of 10 kB, whose storage a later one is likely to get."""
    return torch.full((40, 64), -9.0, requires_grad=True)


def kept(result: Tensor) -> list[Tensor]:
    """The tensors that the graph of ``result`` saves."""
    nodes = draw_graph(result).nodes if result.requires_grad else []
    return [x for node in nodes for x in node.saved]


@ends_in_notebook
def check_bytes(try_saved_bytes: Callable, name: str, *inputs: Tensor, because: str = "") -> None:
    """Compare an answer's count of kept bytes with what the graph says.

    Args:
        try_saved_bytes: from a name and inputs to the count, the number of calls, and whether an
            input was changed.
        name: a key of ``FUNCTIONS``.
        inputs: of that function.
        because: words for who counts wrong.
    """
    inputs = tuple(x.to(course_utils.device) for x in inputs)
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
    answer, calls, changed = try_saved_bytes(name, *inputs)
    blank = answer is None and calls == 0
    assert not blank, "the function was not called: is there an answer yet?"
    assert calls == 1, f"the function was called {calls} times, not once"
    assert not changed, (
        "an input was changed: its values, requires_grad or grad (no backward is needed to count)"
    )
    known = slips.get(answer) if isinstance(answer, int) and not isinstance(answer, bool) else None
    # How many addresses are used again depends on the machine: no number is said there.
    again = name == "exp, fifty times" and known is None and isinstance(answer, int)
    assert not (again and 0 < answer < truth), f"fewer bytes than are kept: {because}"
    words = "; ".join(part for part in (known, because) if part)
    check_equal(answer, truth, "the number of bytes", words if answer is not None else "")


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
