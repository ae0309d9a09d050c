"""Exercises 7.5 and 7.6: the order of the hooks, and the monitor of gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import course_utils
from course_utils.chapters.hooks import slips as known_slips
from course_utils.chapters.hooks.counting import Network, bystander, hooks_on
from course_utils.chapters.hooks.slips import check_entries, check_near
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.tracebacks import ends_in_notebook


def order_of_hooks(model: Network) -> dict[str, int]:
    """Register the fourteen hooks on the chapter's two layers; the place of each."""
    model.log, places = [], {"model": model, "a": model.a, "b": model.b, "b.weight": model.b.weight}
    for line in known_slips.ORDER_REASONS:
        name, _, kind = line.partition(": ")
        if name != "h":
            kind = kind.replace("-", " ").replace("pre hook", "pre_hook").replace(" ", "_")
            kind = kind.replace("tensor_", "").replace("late_hook", "late_grad_hook")
            getattr(places[name], f"register_{kind}")(lambda *_, line=line: model.log.append(line))
    x = torch.ones(4, 2, requires_grad=True, device=model.b.weight.device)
    model(x).sum().backward()
    return {line: place for place, line in enumerate(model.log, 1)}


@ends_in_notebook
def check_places(order: Any) -> None:
    """Check that places in an order go from 1 to 14 and none is taken twice."""
    __tracebackhide__ = True
    assert isinstance(order, dict), f"hook_order is {order!r}, expected a dict"
    given = {line: place for line, place in order.items() if place is not None}
    for line, place in given.items():
        assert place in range(1, 15), f"{line}: {place!r} is no place from 1 to 14"
    twice = sorted({place for place in given.values() if [*given.values()].count(place) > 1})
    assert not twice, f"each place is taken once; more than one line has the place {twice[0]}"


# The monitor

# A parameter that the check freezes, by its name inside of the two containers.
FROZEN = "0.0.layer1.bias"


def run_monitor(grad_monitor: Callable, network: nn.Module, train: Callable, steps: int) -> tuple:
    """What the monitor noted while a network was trained; weights after it; which lists grew."""
    [*network.modules()][-1].eval()
    frozen, deep = network.get_parameter(FROZEN), network.get_submodule("0.0")
    frozen.requires_grad_(False)
    frozen.grad = torch.ones_like(frozen)
    deep.register_forward_hook(bystander)
    with forbid_side_effects(network, but=("hooks",)):
        found = grad_monitor(network)
    frozen.grad = None
    pair = isinstance(found, tuple | list) and len(found) == 2
    assert pair, f"grad_monitor returned {found!r}, not (norms, handles): is there an answer yet?"
    norms, handles = found
    assert isinstance(norms, dict), f"norms is {norms!r}, not a dict of lists"
    try:
        with torch.no_grad():
            network(torch.ones(1, 2, device=course_utils.device))
    except RuntimeError as error:
        hint = ": ask output.requires_grad before you register on an output"
        raise AssertionError(f"a run under no_grad raised {error}{hint}") from error
    try:
        train(network, steps)
    except TypeError as error:
        hint = ". Does a hook return something? What a backward hook returns replaces grad_input"
        raise AssertionError(f"training raised TypeError: {error}{hint}") from error
    for handle in handles:
        handle.remove()
    noted = {name: list(values) for name, values in norms.items()}
    train(network, 1)
    left = {name for name in noted if len(noted[name]) != len(norms[name])}
    others = "the hooks are not those that were there before, though your handles are removed"
    same = left or hooks_on(network) == {"0.0": 1}
    assert same, f"{others}: {hooks_on(network)}, expected {{'0.0': 1}}"
    return noted, [parameter.detach() for parameter in network.parameters()], sorted(left)


@ends_in_notebook
def check_monitor(
    found: tuple, network: nn.Module, train: Callable, points: Callable, steps: int
) -> None:
    """Check what a monitor noted of a patient in ``Sequential(Sequential(patient, Identity))``."""
    __tracebackhide__ = True
    noted, weights, left = found
    parts = {f"0.0.{name}": module for name, module in network.named_children()}
    parts["0.1"] = nn.Identity()
    why = "every module without children, at any depth, by its full name, and none of another call"
    lengths = {name: len(values) for name, values in noted.items()}
    if {*noted} == {*parts}:
        why = "one for each backward, in its own module's list: what does a lambda look up, when?"
        if [name for name in parts if lengths[name] != steps] == ["0.1"]:
            why = "this module alone is in eval mode, and noted all the same"
    check_entries(lengths, dict.fromkeys(parts, steps), "numbers", why)
    for name in parts:
        for number, value in enumerate(noted[name]):
            kind = type(value)
            assert kind is float, (
                f"norms[{name!r}][{number}] is a {kind.__name__}, not a plain float"
            )
    network.get_parameter(FROZEN.removeprefix("0.0.")).requires_grad_(False)
    trained = copy.deepcopy(network)
    train(trained, steps + 1)
    note = "does a hook return something? What it returns replaces the gradient"
    for weight, right in zip(weights, trained.parameters(), strict=True):
        same = torch.allclose(weight, right.detach(), rtol=1e-3, atol=1e-4)
        assert same, f"the monitor changes the training, its weights are others: {note}"
    for number in range(steps):
        _check_norms(noted, number, parts, points)
        train(network, 1)
    grew = f"{len(left)} lists grew after all handles were removed: which hooks are missing there?"
    assert not left, grew


@ends_in_notebook
def _check_norms(noted: dict, number: int, parts: dict[str, nn.Module], points: Callable) -> None:
    """Check what was noted in one step, in which the parts are as they are now."""
    __tracebackhide__ = True
    out, y = points()
    outputs = {"": out}
    for name, module in parts.items():
        outputs[name] = out = module(out)
    loss = F.binary_cross_entropy_with_logits(out, y)
    grads = dict(zip(outputs, torch.autograd.grad(loss, [*outputs.values()]), strict=True))
    for before, name in zip(outputs, parts, strict=False):
        right, slips = known_slips.norms(grads[name], grads[before])
        if number:
            slips["this is the number of the first backward again"] = noted[name][0]
        what = f"norms[{name!r}][{number}], over all elements of the gradient of its output"
        # Where a tanh is saturated, a slope is the last digit of a rounding: only the first counts.
        if number == 0 or right > 1e-4:
            check_near(noted[name][number], right, what, slips)


@ends_in_notebook
def check_ill_layer(answer: Any, network: nn.Module) -> None:
    """Check the name of the layer whose bias was spoilt."""
    __tracebackhide__ = True
    assert answer is not None, "ill_layer is still None: use your monitor on make_patient(seed=1)"
    names = [name for name, module in network.named_children() if isinstance(module, nn.Linear)]
    ill = max(names, key=lambda name: network.get_parameter(f"{name}.bias").mean().item())
    assert answer in names, f"{answer!r} is no linear layer; these are: {', '.join(names)}"
    told = "its gradient is of ordinary size: go on towards layer1"
    if names.index(answer) < names.index(ill):
        told = "next to no gradient reaches it, but neither does any reach a layer closer to the "
        told += "head: start at the head, and stop sooner"
    assert answer == ill, f"it is not {answer!r}: {told}"
