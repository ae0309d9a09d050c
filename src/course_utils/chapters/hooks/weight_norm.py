"""Exercise 7.10: weight norm, by a hook and by a parametrization."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_utils.chapters.hooks import slips as known_slips
from course_utils.chapters.hooks.counting import bystander
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.checks import check_equal
from course_utils.learner.operators import forbid_operators
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def layer_of(weight: Tensor) -> nn.Module:
    """A Linear or a Conv2d of this weight, with a bias of zeros."""
    outs, ins, *window = weight.shape
    layer = nn.Conv2d(ins, outs, (window[0], window[1])) if window else nn.Linear(ins, outs)
    layer.to(weight).weight = nn.Parameter(weight.clone())
    nn.init.zeros_(layer.get_parameter("bias"))
    return layer


def run_layer(layer: nn.Module, x: Tensor) -> tuple:
    """Its parameters by name, their gradients, its output, and that after a step of descent."""
    values = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}
    output = layer(x)
    output.square().sum().backward()
    grads = {name: parameter.grad for name, parameter in layer.named_parameters()}
    torch.optim.SGD(layer.parameters(), lr=0.05).step()
    return values, grads, output.detach(), layer(x).detach()


def run_weight_norm(by_hook: Callable | None, kind: type, weight: Tensor, x: Tensor) -> tuple:
    """A layer with the learner's weight norm: by a hook's function, or by a module of ``kind``."""
    layer = layer_of(weight)
    if by_hook is not None:
        layer.train(weight.dim() == 2)
        bias = layer.get_parameter("bias").requires_grad_(False)
        bias.grad = torch.ones_like(bias)
        layer.register_forward_hook(bystander)
        with forbid_side_effects(layer, but=("names", "hooks", "values")):
            returned = by_hook(layer)
        kept = bystander in layer._forward_hooks.values()
        assert kept, "a hook that was on the layer before is gone"
        bias.requires_grad_().grad = None
        blank = "weight_norm returned None, not the layer: is there an answer yet?"
        assert returned is not None, blank
        assert returned is layer, f"weight_norm returned {returned!r}, not the layer itself"
    else:
        pair = kind().right_inverse(weight.clone())
        blank = f"right_inverse returned {pair!r}, not (g, v): is there an answer yet?"
        two = isinstance(pair, tuple | list) and len(pair) == 2
        assert two, blank
        try:
            again = kind().forward(*pair)
        except AttributeError as error:
            words = (
                "forward(g, v) of a new WeightNorm, which right_inverse was not called on, raised"
            )
            raise AssertionError(f"{words}: {error}") from error
        assert isinstance(again, Tensor), f"forward(g, v) returned {again!r}, no weight"
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", kind())
        layer.train(weight.dim() == 2)
    try:
        return run_layer(layer, x)
    except TypeError as error:
        hint = ". Take the old one out first: del layer.weight" * ("cannot assign" in str(error))
        raise AssertionError(f"calling the layer raised: {error}{hint}") from error


@ends_in_notebook
def check_weight_norm(trial: Callable, weight: Tensor, x: Tensor, by_hook: bool) -> None:
    """Check a layer's parameters, their gradients and its outputs against PyTorch's weight norm."""
    __tracebackhide__ = True
    right = torch.nn.utils.parametrizations.weight_norm(layer_of(weight))
    truth, slopes, output, later = run_layer(right, x)
    plain = run_layer(layer_of(weight), x)[1]["weight"]
    pairs = {f"parametrizations.weight.original{n}": f"weight_{'gv'[n]}" for n in (0, 1)}
    if by_hook:
        truth = {pairs.get(name, name): value for name, value in truth.items()}
        slopes = {pairs.get(name, name): slope for name, slope in slopes.items()}
    with forbid_operators("_weight_norm_interface", because="compute it yourself"):
        values, grads, found, stepped = trial(weight, x, by_hook)
    note = "the old weight is no parameter any more" if by_hook else "right_inverse gives (g, v)"
    check_equal(sorted(values), sorted(truth), "the layer's parameters", note)
    for name, value in truth.items():
        slips = known_slips.lengths(weight) if value.shape != weight.shape else {}
        slips |= known_slips.directions(weight) if value.shape == weight.shape else {}
        check_value(values[name], value, f"{name} at first", slips, rtol=1e-4)
        assert grads[name] is not None, f"no gradient reaches {name}: was it detached?"
    instead = layer_of(weight)(weight).detach()
    replaced = by_hook and found.shape == instead.shape and torch.allclose(found, instead)
    assert not replaced, "what a forward pre-hook returns replaces the input: let it return nothing"
    lengths = weight.flatten(1).norm(dim=1).view(-1, *[1] * (weight.dim() - 1))
    product = layer_of(lengths * weight)(x).detach()
    whole = {"this is g * v: v is to be divided by its length": product}
    check_value(found, output, "the output right after", whole, rtol=1e-4, atol=1e-4)
    fixed = {"the norm of v is taken for a constant: it is part of the graph, too": plain}
    for name, slope in slopes.items():
        lost = not grads[name].any() and bool(slope.any())
        assert not lost, f"the gradient of {name} is 0: what follows from it was detached"
        check_value(grads[name], slope, f"the gradient of {name}", fixed, rtol=1e-3, atol=1e-3)
    moved = found + right.bias.detach().view(-1, *[1] * (x.dim() - 2))
    stuck = {"the weight is computed once, and not again before each call": (moved,)}
    length, below = right.get_parameter("parametrizations.weight.original0"), []
    with torch.no_grad():
        for kept in (length.abs(), length.clamp(min=0)):
            length.copy_(kept)
            below.append(right(x))
    stuck["a length that the step made negative is used as it is"] = tuple(below)
    check_value(stepped, later, "the output after a step", stuck, rtol=1e-3, atol=1e-3)
