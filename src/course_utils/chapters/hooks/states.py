"""Awkward states of exercises 7.2 to 7.7: a check tries each by its words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.counting import bystander, hooks_on
from course_utils.learner.gradients import grad_of


def _pair() -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 3), nn.Tanh()).to(course_utils.device)


def _ones(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(*shape, dtype=dtype, device=course_utils.device)


# Capture


def _interrupted(capture: Callable) -> None:
    network = _pair()
    try:
        with capture(network, ["0", "1"]):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    words = "after a KeyboardInterrupt hooks are left: what is in a finally runs in any case"
    assert not hooks_on(network), words


class _Largest(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.argmax(dim=-1)


def _integers(capture: Callable) -> None:
    network = nn.Sequential(_Largest())
    with capture(network, ["0"]) as seen:
        network(_ones(2, 3))
    dtype = seen["0"][0].dtype
    assert dtype == torch.int64, f"the module returned torch.int64, and {dtype} is kept"


class _Mean(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean()


def _without_dimensions(capture: Callable) -> None:
    network = nn.Sequential(_Mean())
    with capture(network, ["0"]) as seen:
        network(_ones(2, 3))
    found = seen["0"][0]
    words = "the module returned 1.0, a tensor without dimensions, and"
    right = found.shape == () and found.item() == 1
    assert right, f"{words} {found} is kept"


def _hook_inside(capture: Callable) -> None:
    network = _pair()
    with capture(network, ["0"]):
        network[0].register_forward_hook(bystander)
    left = [*network[0]._forward_hooks.values()]
    words = "a hook was registered inside the block: at the end it is to stay, and yours to go"
    assert left == [bystander], f"{words}. Remove by your own handle"


def _two_captures(capture: Callable) -> None:
    network = _pair()
    with capture(network, ["0"]) as first:
        network(_ones(1, 2))
    with capture(network, ["1"]):
        network(_ones(1, 2))
    kept = {name: len(outputs) for name, outputs in first.items()}
    assert kept == {"0": 1}, f"a second capture changed the first one's dict: {kept}"


# Reversal: the state is tried with both of the learner's layers


def _with_both(state: Callable) -> Callable[[Callable, Any], None]:
    def both(by_hook: Callable, function: Any) -> None:
        for name, reverse in (("gradient_reversal", by_hook), ("Reversal.apply", function.apply)):
            state(name, reverse)

    return both


@_with_both
def _inside_a_network(name: str, reverse: Callable) -> None:
    x = _ones(3).requires_grad_()
    reverse(2 * x, 0.5).sum().backward()
    assert x.grad is not None, f"{name}: no gradient comes through y, where x is computed itself"
    words = f"{name}: where x is itself computed, as 2 * leaf, the leaf's gradient"
    assert x.grad.tolist() == [-1.0] * 3, f"{words} is {x.grad.tolist()}, expected -0.5 times 2"
    x.grad, computed = None, 2 * x
    (reverse(computed, 0.5) + 3 * computed).sum().backward()
    words = f"{words} of y + 3 * x is {grad_of(x).tolist()}, expected 2 * (3 - 0.5)"
    assert grad_of(x).tolist() == [5.0] * 3, f"{words}: an x that was computed is not hooked either"


@_with_both
def _back_twice(name: str, reverse: Callable) -> None:
    x, found = _ones(1).requires_grad_(), []
    y = reverse(x, 0.5)
    for factor in (1, 2):
        x.grad = None
        (factor * y).sum().backward(retain_graph=True)
        found.append(grad_of(x).item())
    words = f"{name}: two backwards through one y, of y and of 2 * y, give the gradients"
    assert found == [-0.5, -1.0], f"{words} {found}, expected -0.5 and -1"


@_with_both
def _special_gradients(name: str, reverse: Callable) -> None:
    factors, x = [torch.inf, 1e38, 0.0, torch.nan], _ones(4).requires_grad_()
    (reverse(x, 0.5) * torch.tensor(factors, device=x.device)).sum().backward()
    found, right = grad_of(x), -0.5 * torch.tensor(factors, device=x.device)
    words = f"{name}: of gradients {factors} of y those at x are {found.tolist()}"
    same = torch.equal(found.nan_to_num(nan=7), right.nan_to_num(nan=7))
    assert same, f"{words}, expected -0.5 times each: none is replaced"


@_with_both
def _two_strengths(name: str, reverse: Callable) -> None:
    x = _ones(1).requires_grad_()
    (reverse(x, 0.5) + reverse(x, 4.0)).sum().backward()
    assert x.grad is not None, f"{name}: no gradient comes through y"
    words = (
        f"{name}: two calls, of strengths 0.5 and 4, and one backward: each keeps its own strength"
    )
    assert x.grad.item() == -4.5, f"{words}; the gradient is {x.grad.item()}, expected -4.5"


@_with_both
def _exact(name: str, reverse: Callable) -> None:
    x = _ones(2, dtype=torch.float64).requires_grad_()
    (reverse(x, 0.1) / 3).sum().backward()
    assert x.grad is not None, f"{name}: no gradient comes through y"
    error = (x.grad + 0.1 / 3).abs().max().item()
    assert error < 1e-12, f"{name} in float64 is wrong by {error:.0e}: was it in float32?"


# Frozen rows


def _frozen_twice(freeze_rows: Callable) -> None:
    embedding = nn.Embedding.from_pretrained(_ones(4, 1), freeze=False)
    first = freeze_rows(embedding, [0])
    freeze_rows(embedding, [2])
    found = []
    for _ in range(2):
        embedding.weight.grad = None
        embedding.weight.sum().backward()
        gradient = embedding.weight.grad
        found.append(None if gradient is None else gradient.flatten().tolist())
        first.remove()
    words = "row 0 frozen, then row 2 by another call: the gradient"
    assert found[0] == [0, 1, 0, 1], f"{words} is {found[0]}; each call has rows of its own"
    assert found[1] == [1, 1, 0, 1], f"{words} without the first handle is {found[1]}"


def _unchanged(freeze_rows: Callable) -> None:
    numbers = [[torch.inf], [1 / 3], [torch.inf], [torch.nan], [1e300]]
    factors = torch.tensor(numbers, dtype=torch.float64)
    factors = factors.to(course_utils.device)
    embedding = nn.Embedding.from_pretrained(torch.zeros_like(factors), freeze=False)
    freeze_rows(embedding, [0])
    (embedding.weight * factors).sum().backward()
    found, right = embedding.weight.grad, factors.clone()
    right[0] = 0
    same = found is not None and torch.equal(found.nan_to_num(nan=7), right.nan_to_num(nan=7))
    told = None if found is None else found.flatten().tolist()
    words = f"the gradient {factors.flatten().tolist()} with row 0 frozen became {told}"
    hint = " (0 times infinity is NaN: fill in zeros)"
    assert same, f"{words}: zero in this row, and unchanged in all others{hint}"


def _all_rows(freeze_rows: Callable) -> None:
    for rows in ([0], [0, 1, 2]):
        embedding = nn.Embedding.from_pretrained(_ones(len(rows), 2), freeze=False)
        freeze_rows(embedding, rows)
        embedding.weight.sum().backward()
        found = grad_of(embedding.weight).tolist()
        words = f"all rows of a table are frozen, {rows} of {len(rows)}, and the gradient"
        assert not embedding.weight.grad.any(), f"{words} is {found}, expected zeros"


# The monitor


def _as_data(grad_monitor: Callable) -> None:
    for rows in (2, 0):
        network = _pair()
        norms, _ = grad_monitor(network)
        # A full backward hook warns where no input needs a gradient: that is meant here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            network(_ones(rows, 2)).sum().backward()
        found = {name: len(values) for name, values in norms.items()}
        words = f"a batch of {rows} that needs no gradient itself, and one backward"
        hint = "the gradient of each output is noted, whatever there is of the input's"
        assert found == {"0": 1, "1": 1}, f"{words}: the lists have the lengths {found}; {hint}"


def _no_children(grad_monitor: Callable) -> None:
    norms, _ = grad_monitor(nn.Linear(2, 3))
    words = "a model that is a single Linear has no children, and its name is ''"
    assert [*norms] == [""], f"{words}: expected a list under '', and norms has {[*norms]}"


class _Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = _pair()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def _own_container(grad_monitor: Callable) -> None:
    norms, _ = grad_monitor(_Own())
    words = "a class of its own holds a Sequential: the modules without children, and only these"
    assert sorted(norms) == ["inner.0", "inner.1"], f"{words}; norms has {sorted(norms)}"


def _before(grad_monitor: Callable) -> None:
    norms, _ = grad_monitor(_pair())
    found = {name: list(values) for name, values in norms.items()}
    words = "before any backward() norms has a list, still empty, for each name"
    assert found == {"0": [], "1": []}, f"{words}; it is {found}"


def _same_graph(grad_monitor: Callable) -> None:
    network = _pair()
    norms, _ = grad_monitor(network)
    loss = network(_ones(2, 2).requires_grad_()).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    lengths = [len(values) for values in norms.values()]
    words = "two backwards through the graph of one forward pass give two numbers in each list"
    assert lengths == [2, 2], f"{words}, not {lengths}"


def _special(grad_monitor: Callable) -> None:
    network = _pair()
    norms, _ = grad_monitor(network)
    factors = (0.0, torch.inf, torch.nan)
    for factor in factors:
        (network(_ones(2, 2).requires_grad_()) * factor).sum().backward()
    found, words = norms["1"], "gradients of 0, infinity and NaN are noted, too: "
    right = [number != number for number in found] == [False, False, True] and found[0] == 0
    assert right, f"{words}the last module's list is {found}"


def _small(grad_monitor: Callable) -> None:
    network = _pair().double()
    norms, _ = grad_monitor(network)
    x = _ones(1, 2, dtype=torch.float64).requires_grad_()
    (network(x) * 1e-60).sum().backward()
    right, found = 3**0.5 * 1e-60, norms["1"][-1]
    words = f"a gradient of three times 1e-60 in float64: its norm is {right}, and {found} is noted"
    assert abs(found - right) < 1e-12 * right, words


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "capture": {
        "a KeyboardInterrupt inside the block": _interrupted,
        "a module that returns integers": _integers,
        "a module that returns one number": _without_dimensions,
        "a hook registered inside the block": _hook_inside,
        "two captures, one after the other": _two_captures,
    },
    "reversal": {
        "an x that was computed": _inside_a_network,
        "two strengths, one backward": _two_strengths,
        "every digit of torch.float64": _exact,
        "two backwards through one y": _back_twice,
        "gradients of infinity and NaN": _special_gradients,
    },
    "freezing": {
        "two calls with rows of their own": _frozen_twice,
        "every digit, infinity and NaN": _unchanged,
        "all rows of a table": _all_rows,
    },
    "monitor": {
        "a model without children": _no_children,
        "a container of another class": _own_container,
        "before the first backward": _before,
        "two backwards after one forward": _same_graph,
        "gradients of 0, infinity and NaN": _special,
        "a tiny gradient in torch.float64": _small,
        "inputs that need no gradient, and none at all": _as_data,
    },
}
