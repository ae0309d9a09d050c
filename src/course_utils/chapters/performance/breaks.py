"""Count the graphs that torch.compile makes, without any compiler behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._dynamo.utils import counters

from course_utils.chapters.performance.syncs import count_syncs
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


class count_graphs:
    """A backend for ``torch.compile`` that runs graphs as they are, and counts them.

    Attributes:
        graphs: how many operators each graph holds that it was handed.
    """

    def __init__(self) -> None:
        torch.compiler.reset()
        self.graphs: list[int] = []

    def __call__(self, module: torch.fx.GraphModule, inputs: list) -> Callable:
        self.graphs.append(sum(node.op.startswith("call") for node in module.graph.nodes))
        return module.forward


@contextmanager
def _hushed() -> Generator[None]:
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def graphs_of(function: Callable, inputs: Sequence[tuple]) -> int:
    """How many graphs ``torch.compile`` makes of a function over several calls."""
    return _compiled(function, inputs)[0]


def _compiled(function: Callable, inputs: Sequence[tuple]) -> tuple[int, int]:
    """Graphs and graph breaks over several calls."""
    backend = count_graphs()
    counters["graph_break"].clear()
    with _hushed():
        compiled = torch.compile(function, backend=backend)
        for args in inputs:
            compiled(*args)
    torch.compiler.reset()
    return len(backend.graphs), sum(counters["graph_break"].values())


BROKEN: dict[str, Callable] = {
    "branch": lambda x: x * 2 if x.sum() > 0 else x - 1,
    "scale": lambda x: x / x.abs().max().item() if x.any() else x,
    "positive": lambda x: x[x > 0].sum(),
}

# What known slips compute in place of it, under the words for them.
SLIPS: dict[str, dict[str, Callable]] = {
    "branch": {
        "one condition for the whole tensor: its sum": lambda x: torch.where(x > 0, x * 2, x - 1),
        "a sum of 0 isn't above 0": lambda x: torch.where(x.sum() >= 0, x * 2, x - 1),
        "the sum decides, not the largest": lambda x: torch.where(x.max() > 0, x * 2, x - 1),
        "the two sides are exchanged": lambda x: torch.where(x.sum() > 0, x - 1, x * 2),
        "where the sum is 0, it is x - 1, not half of each side": lambda x: (
            x * 2 * (1 + x.sum().sign()) / 2 + (x - 1) * (1 - x.sum().sign()) / 2
        ),
    },
    "scale": {
        "where all elements are 0, they stay 0": lambda x: x / x.abs().max(),
        "the largest size counts, also that of a negative element": lambda x: (
            x / torch.where(x.max() == 0, 1.0, x.max())
        ),
        "the largest size counts, also where no element is above 0": lambda x: (
            x / torch.where(x.any(), x.max(), 1.0)
        ),
        "the largest size, not the norm": lambda x: x / torch.where(x.any(), x.norm(), 1.0),
        "one number for the whole tensor, not one for each row": lambda x: (
            x / torch.where(x.any(), x.abs().amax(-1, keepdim=True), 1.0)
        ),
        "one number for the whole tensor, not one for each column": lambda x: (
            x / torch.where(x.abs().max() == 0, 1.0, x.abs().amax(0))
        ),
        "the largest size of an element, not the largest sum of a row": lambda x: (
            x / torch.where(x.any(), x.abs().sum(-1).max(), 1.0)
        ),
        "squares of large numbers are infinite, those of small ones 0": lambda x: (
            x / torch.where((x * x).max() == 0, 1.0, (x * x).max().sqrt())
        ),
    },
    "positive": {
        "elements below 0 count as 0, not with their size": lambda x: x.abs().sum(),
        "what is below 0 isn't cancelled by as much: small numbers are lost": lambda x: (
            (x.sum() + x.abs().sum()) / 2
        ),
        "what is above 0 is added up, not what is below": lambda x: x.clamp(max=0).sum(),
        "what is below 0 is added, too": lambda x: x.sum(),
    },
}


def _same(value: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether both have one shape and nearly the same values, NaN included."""
    size = float(right.nan_to_num(posinf=0.0, neginf=0.0).abs().max())
    return (value.shape, value.dtype) == (right.shape, right.dtype) and torch.allclose(
        value, right, rtol=1e-5, atol=1e-6 * size, equal_nan=True
    )


def _slip(name: str, rows: list, values: list) -> str:
    """The words of the slip that gives all of these values, if there is one."""
    right = [BROKEN[name](x) for x in rows]
    for words, slip in SLIPS[name].items():
        wrong = [slip(x) for x in rows]
        if all(map(_same, values, wrong)) and not all(map(_same, wrong, right)):
            return words
    return ""


def _text(values: list | float) -> str:
    """A nested list of numbers with three digits each."""
    if isinstance(values, list):
        return f"[{', '.join(map(_text, values))}]"
    return repr(float(f"{values:.3g}"))


def run_mended(functions: Any, name: str, rows: list) -> dict:
    """Values, waits and graphs of a learner's function over several inputs."""
    function = functions.get(name) if isinstance(functions, dict) else None
    if not callable(function):
        return {"kind": type(functions).__name__ if function is None else type(function).__name__}
    values, waits, changed = [], {}, False
    for x in rows:
        mine = x.clone()
        try:
            with count_syncs() as counts:
                y = function(mine)
        except NotImplementedError as error:
            if "HigherOrderOperator cond" not in str(error):
                raise
            words = "torch.cond waits for its condition: the host has to know which function to run"
            raise AssertionError(words) from error
        changed = changed or not torch.equal(mine, x)
        values.append(y.detach() if isinstance(y, torch.Tensor) else type(y).__name__)
        waits = waits or dict(counts)
    found = {"values": values, "waits": waits, "changed": changed, "graphs": 0, "breaks": 0}
    if all(isinstance(value, torch.Tensor) for value in values):
        found["graphs"], found["breaks"] = _compiled(function, [(x,) for x in rows])
    return found


@ends_in_notebook
def check_mended(found: dict, name: str, rows: list) -> None:
    """Compare a mended program with the broken one; it has to be one graph."""
    __tracebackhide__ = True
    if "kind" in found:
        blank = ": is there an answer yet?" if found["kind"] in ("NoneType", "dict") else ""
        raise AssertionError(f"there is no function in the dict{blank}")
    words = "its argument was changed: the broken one leaves it as it is"
    assert not found["changed"], words
    slip = ""
    if all(isinstance(value, torch.Tensor) for value in found["values"]):
        slip = _slip(name, rows, found["values"])
    assert not slip, f"the result differs: {slip}"
    for x, value in zip(rows, found["values"], strict=True):
        none = value == "NoneType" if isinstance(value, str) else False
        assert not none, "the function returned None: is there an answer yet?"
        kind = value if isinstance(value, str) else ""
        assert not kind, f"a {kind} came back, expected a tensor"
        label = f"the result for {_text(x.tolist())}"
        right = BROKEN[name](x)
        small = 0 < float(x.abs().max()) < 1e-9
        size = float(right.abs().max())
        if (
            small
            and value.shape == right.shape
            and not torch.allclose(value, right, rtol=1e-5, atol=1e-6 * size)
        ):
            raise AssertionError(f"{label} isn't that of the broken one: small numbers are lost")
        check_close(value, right, label, rtol=1e-5, atol=1e-6)
    waits = ", ".join(found["waits"])
    assert not waits, f"the host waits for a value ({waits}): the graph would break there"
    graphs = found["graphs"]
    assert not found["breaks"], "the graph breaks: part of the function isn't recorded"
    assert graphs, "no graph at all was made: the compiler was switched off"
    assert graphs == 1, f"{graphs} graphs: there is still a break, or it is compiled again"
