"""Awkward states of exercises 7.2 to 7.4: a check tries each by its words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.counting import bystander, hooks_on
from course_utils.learner.gradients import grad_of
from course_utils.learner.other_states import check_states


def small_network() -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 3), nn.Tanh()).to(course_utils.device)


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(*shape, dtype=dtype, device=course_utils.device)


def without_gradients(function: Callable, *arguments: Any) -> Any:
    """What a function gives when it is called under ``no_grad``, which it has to leave as it is."""
    with torch.no_grad():
        result = function(*arguments)
        on = torch.is_grad_enabled()
    told = "a with block, such as `with torch.no_grad():`, puts back what was there"
    assert not on, f"called under no_grad, it switched autograd on: {told}"
    return result


# Capture


def _interrupted(capture: Callable) -> None:
    network = small_network()
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
        network(ones(2, 3))
    dtype = seen["0"][0].dtype
    assert dtype == torch.int64, f"the module returned torch.int64, and {dtype} is kept"
    network = nn.Sequential(nn.Identity())
    for x in (ones(2, 3) > 0, ones(2, 3).to(torch.complex64)):
        with capture(network, ["0"]) as seen:
            network(x)
        dtype = seen["0"][0].dtype
        assert dtype == x.dtype, f"the module returned {x.dtype}, and {dtype} is kept"


class _Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight


def _own_parameter(capture: Callable) -> None:
    network = nn.Sequential(_Table(), nn.Identity())
    with capture(network, ["0"]) as seen:
        network(ones(2))
    with capture(network, ["1"]) as late, torch.inference_mode():
        network(ones(2))
    words = "a module returned its parameter, and what is kept"
    assert not seen["0"][0].requires_grad, f"{words} hangs on the graph: detach it"
    moved = "was changed with the parameter: keep a copy"
    with torch.no_grad():
        network[0].get_parameter("weight").zero_()
    assert seen["0"][0].tolist() == [1, 1], f"{words} {moved}"
    assert len(late["1"]) == 1, "a call under inference_mode is a call, too"


class _Mean(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean()


def _without_dimensions(capture: Callable) -> None:
    network = nn.Sequential(_Mean())
    with capture(network, ["0"]) as seen:
        network(ones(2, 3))
    found = seen["0"][0]
    words = "the module returned 1.0, a tensor without dimensions, and"
    right = found.shape == () and found.item() == 1
    assert right, f"{words} {found} is kept"


def _hook_inside(capture: Callable) -> None:
    network = small_network()
    with capture(network, ["0"]):
        network[0].register_forward_hook(bystander)
    left = [*network[0]._forward_hooks.values()]
    words = "a hook was registered inside the block: at the end it is to stay, and yours to go"
    assert left == [bystander], f"{words}. Remove by your own handle"


def _two_captures(capture: Callable) -> None:
    network = small_network()
    with capture(network, ["0"]) as first:
        network(ones(1, 2))
    with capture(network, ["1"]):
        network(ones(1, 2))
    kept = {name: len(outputs) for name, outputs in first.items()}
    assert kept == {"0": 1}, f"a second capture changed the first one's dict: {kept}"


def _one_in_another(capture: Callable) -> None:
    network = small_network()
    with capture(network, ["0"]) as outer:
        with capture(network, ["1"]) as inner:
            network(ones(1, 2))
        network(ones(1, 2))
    counts, words = (len(outer["0"]), len(inner["1"])), "two calls, one of them in an inner capture"
    assert counts == (2, 1), f"{words}: outer and inner list have {counts} entries, expected (2, 1)"
    # Of one module twice no count is asked: an answer may wrap its forward instead.
    with contextlib.suppress(AttributeError), capture(network, ["0"]), capture(network, ["0"]):
        pass
    left = f"{words}: hooks are left. Keep each capture's handles apart, and not on the module"
    assert not hooks_on(network), left


def _flows(capture: Callable) -> None:
    network, x = nn.Sequential(nn.Identity(), *small_network()), ones(2, 2).requires_grad_()
    with capture(network, ["0", "1", "2", ""]):
        off = "inside the block autograd is switched off: the caller's code runs there"
        assert torch.is_grad_enabled(), off
        y = network(x)
        leaf = "the input, which an Identity hands on, needs no gradient any more: detach a copy"
        assert x.requires_grad, leaf
        grads = torch.autograd.grad(y.sum(), x, allow_unused=True) if y.requires_grad else (None,)
    words = "a Tanh is captured, which has no parameters, and no gradient comes through it"
    assert grads[0] is not None, f"{words}: a hook should return nothing"


def _modes_inside(capture: Callable) -> None:
    network, right = small_network(), [True, True, False]
    network[1].eval()
    with capture(network, ["0", "1"]):
        inside = [one.training for one in network.modules()]
    after = [one.training for one in network.modules()]
    words = "the model and its layer '0' train, '1' is in eval:"
    assert inside == right, f"{words} inside the block .training is {inside}; modes stay"
    assert after == right, f"{words} after the block .training is {after}; modes stay"


def _special_outputs(capture: Callable) -> None:
    network, numbers = nn.Sequential(nn.Identity()), [torch.nan, torch.inf, -torch.inf, -0.0]
    with capture(network, ["0"]) as seen:
        network(torch.tensor(numbers, device=course_utils.device))
    found = seen["0"][0].tolist()
    assert str(found) == str(numbers), f"the module returned {numbers}, and {found} is kept"


# Reversal: the state is tried with both of the learner's layers


def with_both(state: Callable) -> Callable[[Callable, Any], None]:
    def both(by_hook: Callable, function: Any) -> None:
        for name, reverse in (("gradient_reversal", by_hook), ("Reversal.apply", function.apply)):
            state(name, reverse)

    return both


@with_both
def _inside_a_network(name: str, reverse: Callable) -> None:
    x = ones(3).requires_grad_()
    reverse(2 * x, 0.5).sum().backward()
    assert x.grad is not None, f"{name}: no gradient comes through y, where x is computed itself"
    words = f"{name}: where x is itself computed, as 2 * leaf, the leaf's gradient"
    assert x.grad.tolist() == [-1.0] * 3, f"{words} is {x.grad.tolist()}, expected -0.5 times 2"
    x.grad, computed = None, 2 * x
    (reverse(computed, 0.5) + 3 * computed).sum().backward()
    words = f"{words} of y + 3 * x is {grad_of(x).tolist()}, expected 2 * (3 - 0.5)"
    assert grad_of(x).tolist() == [5.0] * 3, f"{words}: an x that was computed is not hooked either"
    kept = "an x that was computed keeps its gradient now: nothing else about x is to change"
    assert not computed.retains_grad, f"{name}: {kept}"
    x.grad = None
    empty = reverse(2 * x[:0], 0.5)
    assert empty.requires_grad, f"{name}: of an x without elements y has no graph"


@with_both
def _inference(name: str, reverse: Callable) -> None:
    x = ones(2).requires_grad_()
    try:
        with torch.inference_mode():
            found = reverse(x, 0.5).tolist()
    except RuntimeError as error:
        found = f"RuntimeError: {error}"
    assert found == [1, 1], f"{name} under inference_mode: of x = [1, 1] y is {found}"


@with_both
def _other_calls(name: str, reverse: Callable) -> None:
    x = torch.tensor([[0.1, 0.2, 0.3]], device=course_utils.device)
    check_states(reverse, x, 0.5, what=f"{name}(x, 0.5)")
    reverse(x, 0.5)
    y = reverse(x.requires_grad_(), 0.5)
    slope = torch.autograd.grad(y.sum(), x, allow_unused=True)[0] if y.requires_grad else None
    words = f"{name}: called before x.requires_grad_() and after it"
    assert slope is not None, f"{words}, no gradient comes through the second y: make each anew"


@with_both
def _same_values(name: str, reverse: Callable) -> None:
    numbers = [torch.inf, -torch.inf, torch.nan, -0.0]
    y = reverse(torch.tensor(numbers, device=course_utils.device).requires_grad_(), 0.5)
    words = f"{name}: of x = {numbers} y is {y.tolist()}"
    same = str(y.tolist()) == str(numbers)
    assert same, f"{words}: take a view or a copy of x, and don't compute"


@with_both
def _second_derivative(name: str, reverse: Callable) -> None:
    x, found = torch.tensor(3.0, device=course_utils.device).requires_grad_(), None
    (first,) = torch.autograd.grad(reverse(x, 0.5) ** 3, x, create_graph=True)
    if first.requires_grad:
        (found,) = torch.autograd.grad(first, x, allow_unused=True)
    words = f"{name}: y ** 3 at x = 3 has the gradient -0.5 * 3 * y ** 2, and that one has"
    told = "none: was the gradient detached in the hook or in backward?"
    assert found is not None, f"{words} {told}"
    assert found.item() == 4.5, f"{words} {found.item()}, expected -0.5 * -0.5 * 6 * y = 4.5"


@with_both
def _back_twice(name: str, reverse: Callable) -> None:
    x, found = ones(1).requires_grad_(), []
    y = reverse(x, 0.5)
    for factor in (1, 2):
        x.grad = None
        (factor * y).sum().backward(retain_graph=True)
        found.append(grad_of(x).item())
    words = f"{name}: two backwards through one y, of y and of 2 * y, give the gradients"
    told = "what is set up in the call holds for each backward"
    assert found == [-0.5, -1.0], f"{words} {found}, expected -0.5 and -1: {told}"


@with_both
def _special_gradients(name: str, reverse: Callable) -> None:
    factors, x = [torch.inf, 1e38, 0.0, torch.nan], ones(4).requires_grad_()
    (reverse(x, 0.5) * torch.tensor(factors, device=x.device)).sum().backward()
    found, right = grad_of(x), -0.5 * torch.tensor(factors, device=x.device)
    words = f"{name}: of gradients {factors} of y those at x are {found.tolist()}"
    same = torch.equal(found.nan_to_num(nan=7), right.nan_to_num(nan=7))
    assert same, f"{words}, expected -0.5 times each: none is replaced"


@with_both
def _two_strengths(name: str, reverse: Callable) -> None:
    x = ones(1).requires_grad_()
    (reverse(x, 0.03125) + reverse(x, 4.0)).sum().backward()
    assert x.grad is not None, f"{name}: no gradient comes through y"
    words = f"{name}: two calls, of strengths 0.03125 and 4, and one backward"
    found = x.grad.item()
    assert found == -4.03125, f"{words}: each keeps its own strength; {found} came, not -4.03125"


@with_both
def _exact(name: str, reverse: Callable) -> None:
    x = ones(2, dtype=torch.float64).requires_grad_()
    signs = torch.tensor([1.0, -1], dtype=torch.float64, device=x.device)
    (reverse(x, 0.1) * signs / 3).sum().backward()
    assert x.grad is not None, f"{name}: no gradient comes through y"
    error = (x.grad + 0.1 / 3 * signs).abs().max().item()
    words = f"{name}, of gradients 1/3 and -1/3 of y in float64 those at x are {x.grad.tolist()}"
    told = "was it in float32?" if error < 1e-6 else "expected -0.1 times each"
    assert error < 1e-12, f"{words}, wrong by {error:.0e}: {told}"


# Frozen rows


def _frozen_twice(freeze_rows: Callable) -> None:
    embedding = nn.Embedding.from_pretrained(ones(4, 1), freeze=False)
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
    numbers = [[torch.inf], [1 / 3], [torch.inf], [torch.nan], [1e300], [-1e-300]]
    factors = torch.tensor(numbers, dtype=torch.float64)
    factors = factors.to(course_utils.device)
    embedding = nn.Embedding.from_pretrained(factors.roll(3, 0), freeze=False)
    freeze_rows(embedding, [0])
    (embedding.weight * factors).sum().backward()
    kept = torch.equal(embedding.weight.detach().nan_to_num(7), factors.roll(3, 0).nan_to_num(7))
    assert kept, "the table itself was changed, where it holds infinity or NaN"
    found, right = embedding.weight.grad, factors.clone()
    right[0] = 0
    same = found is not None and torch.equal(found.nan_to_num(nan=7), right.nan_to_num(nan=7))
    told = None if found is None else found.flatten().tolist()
    words = f"the gradient {factors.flatten().tolist()} with row 0 frozen became {told}"
    hint = " (0 times infinity is NaN: fill in zeros)" * (told is not None and told[0] != told[0])
    assert same, f"{words}: zero in this row, and unchanged in all others{hint}"


def _all_rows(freeze_rows: Callable) -> None:
    for rows in ([0], [0, 1, 2]):
        embedding = nn.Embedding.from_pretrained(ones(len(rows), 2), False, padding_idx=0)
        freeze_rows(embedding, rows)
        embedding.weight.sum().backward()
        found = grad_of(embedding.weight).tolist()
        words = f"all rows of a table are frozen, {rows} of {len(rows)}, and the gradient"
        assert not embedding.weight.grad.any(), f"{words} is {found}, expected zeros"


def _thawed(freeze_rows: Callable) -> None:
    embedding = nn.Embedding.from_pretrained(ones(2, 1), freeze=False)
    freeze_rows(embedding, [0]).remove()
    embedding(torch.tensor([0, 1], device=course_utils.device)).sum().backward()
    found = grad_of(embedding.weight).flatten().tolist()
    words = "row 0 was frozen, the handle removed, and the embedding called: the gradient"
    told = "every row gets its own again. Was more than the hook set up?"
    assert found == [1, 1], f"{words} is {found}, and {told}"


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "capture": {
        "a KeyboardInterrupt inside the block": _interrupted,
        "a module that returns integers": _integers,
        "a module that returns one number": _without_dimensions,
        "a module that returns its parameter, and inference_mode": _own_parameter,
        "a hook registered inside the block": _hook_inside,
        "two captures, one after the other": _two_captures,
        "a capture inside a capture": _one_in_another,
        "gradients through all that is captured": _flows,
        "modes inside the block": _modes_inside,
        "outputs of NaN and infinity": _special_outputs,
    },
    "reversal": {
        "an x that was computed": _inside_a_network,
        "two strengths, one backward": _two_strengths,
        "every digit of torch.float64": _exact,
        "two backwards through one y": _back_twice,
        "gradients of infinity and NaN": _special_gradients,
        "values of infinity and NaN": _same_values,
        "under inference_mode": _inference,
        "a second derivative": _second_derivative,
        "calls in other modes, and again": _other_calls,
    },
    "freezing": {
        "two calls with rows of their own": _frozen_twice,
        "every digit, infinity and NaN": _unchanged,
        "all rows of a table": _all_rows,
        "a call after the handle was removed": _thawed,
    },
}
