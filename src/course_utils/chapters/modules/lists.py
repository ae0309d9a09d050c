"""Exercise 8.3: a model whose layers don't train."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import pairwise

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.modules.precision import check_digits
from course_utils.chapters.modules.surroundings import untouched
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.tracebacks import what_was_raised


def _fill(shape: tuple, x: torch.Tensor) -> torch.Tensor:
    """The values that a parameter of this shape is given before the model is tried."""
    n = torch.Size(shape).numel()
    return torch.linspace(-1, 1.3, n, device=x.device, dtype=x.dtype).view(shape)


def run_list_trap(
    list_trap: Callable, sizes: list[int], heads: dict, head: str, x: torch.Tensor
) -> dict:
    """What the model knows, what it gives for known weights, and how many parameters train.

    The function is called twice, and its arguments are looked at afterwards. The model is asked for
    every other head first.
    """
    given, x = (list(sizes), dict(heads)), x.clone()
    model = list_trap(sizes, heads)
    kept, other = (sizes, heads) == given, list_trap(*given)
    kind = f"list_trap returned {type(model).__name__}"
    assert isinstance(model, nn.Module), f"{kind}, not a module: is there an answer yet?"
    model, values = model.to(x), x.clone()
    before = len(list(model.parameters()))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(_fill(tuple(parameter.shape), x))
    for other_head in given[1]:
        if other_head != head:
            model(x, other_head)
    y = model(x, head)
    assert torch.equal(x, values), "model(x, head) changed x: only read it (relu_ works in place)"
    if isinstance(y, torch.Tensor) and y.requires_grad:
        y.sum().backward()
    mine = {id(parameter) for parameter in model.parameters()}
    words = "a call makes layers: an optimizer that was made before it knows nothing of them"
    assert len(mine) == before, words
    return {
        "shapes": sorted(tuple(parameter.shape) for parameter in model.parameters()),
        "y": y,
        "grads": sum(parameter.grad is not None for parameter in model.parameters()),
        "kept": kept,
        "apart": not any(id(parameter) in mine for parameter in other.parameters()),
        "late": _runs_without(sizes, heads, lambda: model(x, head)),
    }


def _runs_without(sizes: list, heads: dict, run: Callable) -> bool:
    """Whether the model still runs once its maker's arguments, the caller's, are empty."""
    sizes.clear()
    heads.clear()
    try:
        run()
    except Exception:
        return False
    return True


def run_set_weight(
    set_weight: Callable, value: torch.Tensor, needs: bool = True, start: str = ""
) -> dict:
    """A layer before and after, and after a step of an optimizer that was made before.

    ``start``: "nan" for a weight that has gone wrong, "turned" for one that isn't contiguous,
    "bare" for a layer without a bias.
    """
    layer = nn.Linear(value.shape[1], value.shape[0], bias=start != "bare")
    layer = layer.to(value.device, value.dtype)
    if start == "turned":
        layer.weight = nn.Parameter(layer.weight.detach().t().contiguous().t())
    elif start == "nan":
        nn.init.constant_(layer.weight, torch.nan)
    layer.weight.requires_grad_(needs)
    layer.train(needs).register_forward_hook(lambda module, args, output: None)
    for tensor in (*layer.parameters(), value):
        if tensor.requires_grad and tensor.is_leaf:
            tensor.grad = torch.ones_like(tensor)
    watch = forbid_side_effects(layer, but=("values", "requires_grad", "names")).__enter__()
    old, waiting = layer.weight, value.grad
    bias = None if layer.bias is None else layer.bias.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    before = old.detach().clone()
    flag = value.requires_grad
    # The first call comes while autograd is off, and has to leave it off.
    with _told_of_bias(layer):
        with torch.no_grad(), untouched():
            set_weight(layer, torch.full_like(before, 1e6 / 7))
        with untouched():
            set_weight(layer, value)
    told = "value.requires_grad was changed: value is only read"
    assert value.requires_grad == flag, told
    assert value.grad is waiting, "value's .grad was changed: value is only read"
    assert layer.bias is None or layer.bias.requires_grad, "the bias was frozen as well"
    found = {"set": layer.weight.detach().clone(), "object": layer.weight is old}
    found |= {"idle": torch.equal(layer.weight, before)}
    found |= {"needs": layer.weight.requires_grad, "leaf": layer.weight.is_leaf}
    found |= {"parameter": isinstance(layer.weight, nn.Parameter)}
    same = (layer.bias is None) == (bias is None)
    found["bias"] = same and (bias is None or torch.equal(layer.bias, bias))
    besides = watch.changes()
    layer.zero_grad()
    layer(torch.ones(1, value.shape[1], device=value.device, dtype=value.dtype)).sum().backward()
    optimizer.step()
    return {**found, "trained": layer.weight.detach().clone(), "besides": besides}


@contextmanager
def _told_of_bias(layer: nn.Linear) -> Generator[None]:
    """Say of an error that the layer has no bias, where it has none."""
    try:
        yield
    except (AttributeError, TypeError, RuntimeError) as error:
        if layer.bias is not None:
            raise
        told = what_was_raised(error)
        raise AssertionError(f"{told} (this layer has no bias: layer.bias is None)") from None


def check_trap(trial, sizes, heads, head, x):
    """Compare a model of known weights with ``F.linear`` and ReLU, for ``x`` (batch, sizes[0])."""
    hidden = [((n, m), (n,)) for m, n in pairwise(sizes)]
    ends = {name: ((n, sizes[-1]), (n,)) for name, n in heads.items()}
    found, y = trial(list(sizes), dict(heads), head, x), x
    shapes = [shape for layer in hidden for shape in layer]
    ends_shapes = [shape for layer in ends.values() for shape in layer]
    right = sorted(shapes + ends_shapes)
    known, why = found["shapes"], "sorted; one for each weight and bias of every layer and head"
    words = "sizes or heads is no longer as it was (pop, append, del?): only read them"
    assert found["kept"], words
    slips = {
        "no parameter: layers in a plain list or dict are unknown to it": [],
        "only the heads: the layers are still in a plain list": sorted(ends_shapes),
        "only the layers: the heads are still in a plain dict": sorted(shapes),
    }
    once = {f"{m} {n}": ((n, m), (n,)) for m, n in pairwise(sizes)}.values()
    words = "one layer for equal sizes: each step from a size to the next has a layer of its own"
    slips[words] = sorted([shape for layer in once for shape in layer] + ends_shapes)
    once = {n: ((n, sizes[-1]), (n,)) for n in heads.values()}.values()
    words = "one head for heads of one size: each name has a layer of its own"
    slips[words] = sorted(shapes + [shape for layer in once for shape in layer])
    slips["no bias: each weight has one beside it"] = [s for s in right if len(s) == 2]
    steps = [layer for layer in hidden if layer[0][0] != layer[0][1]]
    words = "no layer between equal sizes: each step from a size to the next has one"
    slips[words] = sorted([shape for layer in steps for shape in layer] + ends_shapes)
    slips = {words: slip for words, slip in slips.items() if slip != right}
    for words, slip in slips.items():
        assert known != slip, f"the model knows {words}"
    besides = list(known)
    for shape in shapes + ends_shapes:
        if shape in besides:
            besides.remove(shape)
    if len(known) - len(besides) == len(shapes + ends_shapes):
        words = f"the model knows parameters besides its layers': of shapes {besides}"
        assert not besides, words
    check_equal(known, right, "the parameters' shapes", why)
    for weight, bias in hidden:
        deep, y = y, F.linear(y, _fill(weight, x), _fill(bias, x)).relu()
    last = [_fill(shape, x) for shape in ends[head]]
    y = F.linear(y, *last)
    got = found["y"] if isinstance(found["y"], torch.Tensor) else y

    def alike(other):
        return got.shape == other.shape and torch.allclose(got, other, rtol=1e-4, atol=1e-4)

    for name, n in heads.items():
        if isinstance(found["y"], torch.Tensor) and n != heads[head]:
            words = f"model(x, {head!r}) gives what head {name!r} gives: the call says which head"
            assert got.shape != (*x.shape[:-1], n), words
    if not alike(y):
        words = "model(x, head): no hidden layer, and so no ReLU: the head takes x itself"
        assert hidden or not alike(F.linear(x.relu(), *last)), words
        assert not alike(y.relu()), "model(x, head): a ReLU follows the head; none belongs there"
        if hidden:
            bare = F.linear(deep, *(_fill(shape, x) for shape in hidden[-1]))
            words = (
                "model(x, head): the ReLU after the last layer, just before the head, is missing"
            )
            assert not alike(F.linear(bare, *last)), words
    check_digits(found["y"], y, "model(x, head) after model.double()")
    check_close(found["y"], y, "model(x, head)", rtol=1e-4, atol=1e-4)
    what = "how many parameters get a gradient from one head"
    check_equal(found["grads"], len(shapes) + 2, what)
    words = "the model reads sizes or heads when it runs: the caller may have changed them by then"
    assert found["late"], words
    words = "two calls returned models with parameters in common: make new layers for each"
    assert found["apart"], words


def check_weight(trial, value, needs=True, start=""):
    """Check a layer's weight after it was set to ``value``, and after one step of SGD."""
    old = value.detach().clone()
    with forbid_changes(value):
        found = trial(value, needs, start)
        words = "value changed when the layer trained: the weight uses its memory; copy the numbers"
        assert torch.equal(value.detach(), old), words
    assert found["parameter"], "layer.weight isn't an nn.Parameter any more"
    words = "set_weight changed nothing: is there an answer yet?"
    if start == "turned":
        words += " (flatten and reshape give a copy of a weight that isn't contiguous)"
    assert not found["idle"], words
    words = "layer.weight is NaN still: what it held before must not count (0 times NaN is NaN)"
    assert start != "nan" or not found["set"].isnan().any(), words
    check_digits(found["set"], value.detach(), "layer.weight after set_weight")
    check_close(found["set"], value.detach(), "layer.weight after set_weight")
    words = "layer.weight after set_weight is value but for the last digits: write value itself"
    assert torch.equal(found["set"], value.detach()), f"{words}, don't add a difference"
    check_equal(found["needs"], needs, "layer.weight.requires_grad", "it stays as it was")
    assert found["leaf"], "the copy was recorded by autograd: do it under no_grad"
    assert found["bias"], "the bias was changed as well"
    words = "the optimizer's step did not move it: it trains the old parameter object"
    trained = value.detach() - 1 if needs else value.detach()
    assert not needs or not torch.equal(found["trained"], found["set"]), words
    check_close(found["trained"], trained, "layer.weight after a step with gradient 1")
    assert not found["besides"], "; ".join(found["besides"])
