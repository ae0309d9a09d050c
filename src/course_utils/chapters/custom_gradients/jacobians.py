"""Exercise 6.7: the Jacobian, by rows and by columns."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import torch

from course_utils.chapters.custom_gradients.watching import (
    gradient_words,
    left_behind,
    require_digits,
    words_of_broken,
    words_of_kept,
    words_of_states,
)
from course_utils.learner.calls import python_calls
from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def draw_jacobian(axes, rows, columns, row=None, column=None, title=""):
    """A grid of slopes, with one row or column filled."""
    import matplotlib.pyplot as plt

    for i in range(rows):
        for j in range(columns):
            colour = "#d55e00" if i == row else "#0072b2" if j == column else "#eeeeee"
            axes.add_patch(plt.Rectangle((j, -i), 0.92, 0.92, color=colour))
    axes.set(xlim=(-0.9, columns + 0.5), ylim=(-rows + 0.6, 1.8), title=title, aspect="equal")
    axes.text(columns / 2, 1.05, "← inputs →", ha="center", color="#595959", fontsize=9)
    axes.text(
        -0.25,
        1 - rows / 2,
        "results",
        va="center",
        ha="center",
        rotation=90,
        color="#595959",
        fontsize=9,
    )
    axes.axis("off")


MAPS = {
    "two to three": lambda x: torch.stack([x[0] * x[1], x[0] + x[1], x[0] ** 2]),
    "two numbers": lambda x: torch.stack([x.sin().sum(), (x * x).prod()]),
    "square": lambda x: x.cumsum(0).exp(),
    "running sum": lambda x: x.cumsum(0),
    "one number": lambda x: (x**3).sum().reshape(1),
    "partly constant": lambda x: torch.stack([x[0], torch.ones_like(x[0]), 5 * x[0]]),
    "pairs": lambda x: torch.stack([a * b for a, b in combinations(x, 2)]),
}


@cache
def _counted(name):
    """A map, the same function each time, and the list of its calls."""
    calls = []

    def counted(at):
        calls.append(name)
        return MAPS[name](at)

    return counted, calls


def run_jacobian(function, name, x, states=False):
    """A Jacobian; what was called on the way; what is left on x, here or in other states."""
    counted, calls = _counted(name)
    calls.clear()
    answer, names = gradient_words(lambda: python_calls(function, counted, x))
    called = len(calls)
    short = {name.rpartition(".")[2] for name in names if name.startswith("torch")}
    whole = sorted(short & {"jacrev", "jacfwd", "jacobian"})
    needs = isinstance(answer, torch.Tensor) and answer.requires_grad
    left, x.grad = left_behind(x), None
    x.requires_grad_(False)
    answer = answer.detach() if needs else answer
    amiss = states and (
        words_of_broken(function, x)
        or words_of_states(function, MAPS[name], x)
        or words_of_kept(function, lambda point: MAPS[name](point), x)
    )
    return {
        "answer": answer,
        "forward": "make_dual" in short,
        "reverse": "_engine_run_backward" in short,
        "whole": whole,
        "left": left,
        "needs": needs,
        "calls": called,
        "amiss": amiss,
    }


@ends_in_notebook
def check_jacobian(try_jacobian, way, name, x, states=False):
    """Check one Jacobian, in other states of x as well if asked; whether forward mode made it."""
    __tracebackhide__ = True
    x = x.to(device)
    with forbid_changes(x):
        found = try_jacobian(way, name, x, states)
    answer, truth = found["answer"], torch.autograd.functional.jacobian(MAPS[name], x.clone())
    assert answer is not None, "it gives None: is there an answer yet?"
    used = ", ".join(found["whole"])
    assert not used, f"{used} runs here: build the Jacobian from single passes"
    assert way != "rows" or not found["forward"], "by_rows uses forward mode: go backward"
    assert way != "rows" or found["reverse"], (
        "by_rows makes no backward pass: no differences, please"
    )
    assert way != "columns" or found["forward"], (
        "by_columns never makes a dual tensor: use torch.func.jvp"
    )
    transposed = {
        "rows and columns are swapped: a row for each result": truth.t().contiguous(),
        "each row holds the ones before it as well: .grad adds up": truth.cumsum(0),
        "it is 0 throughout: .grad was kept, and emptied in place later": 0 * truth,
    }
    check_value(answer, truth, "the Jacobian", transposed, 1e-5, 1e-6)
    require_digits(answer, truth, "the Jacobian")
    assert not found["left"], (
        f"x was left with {' and '.join(found['left'])}: work on a leaf of your own"
    )
    assert not found["needs"], "the result still requires grad: detach it"
    assert not found["amiss"], found["amiss"]
    if way == "cheaper":
        both = found["forward"] and found["reverse"]
        assert not both, "both modes run: decide first, then go one way"
        most = 1 + min(truth.shape)
        if found["calls"] > most:  # unless the way itself calls it more often
            most = 1 + try_jacobian("columns" if found["forward"] else "rows", name, x)["calls"]
        assert found["calls"] <= most, (
            f"f was called {found['calls']} times: {most - 1} for the passes, and once more for m, "
            "are enough"
        )
    return found["forward"]
