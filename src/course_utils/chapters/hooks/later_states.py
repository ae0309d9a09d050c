"""Awkward states of exercises 7.9 to 7.12: a check tries each by its words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import course_utils
from course_utils.chapters.hooks.counting import hooks_on
from course_utils.chapters.hooks.weight_norm import layer_of
from course_utils.learner.awkward import default_dtype
from course_utils.learner.other_states import check_states
from course_utils.learner.tracebacks import what_was_raised

# Saved tensors


def _back(keep: Callable, back: Callable, tensor: Tensor, rounded: bool, words: str) -> None:
    right = tensor.detach().half().float() if rounded else tensor.detach()
    found = back(keep(tensor))
    assert found.shape == right.shape, f"{words} comes back with shape {tuple(found.shape)}"
    assert found.dtype == right.dtype, f"{words} comes back in {found.dtype}"
    how = "rounded to float16" if rounded else "exactly as it was"
    same = torch.equal(found.detach().nan_to_num(nan=7), right.nan_to_num(nan=7))
    assert same, f"{words} comes back as {found.tolist()}, expected it {how}"


def _leaf(keep: Callable, back: Callable) -> None:
    x = torch.tensor([0.1, 0.2], device=course_utils.device, requires_grad=True)
    _back(keep, back, x, True, "an input that needs a gradient, and is no parameter,")
    _back(keep, back, nn.Buffer(x.detach()), True, "a buffer")


def _frozen_parameter(keep: Callable, back: Callable) -> None:
    start = torch.tensor([0.1, 0.2], device=course_utils.device)
    frozen = nn.Parameter(start, requires_grad=False)
    _back(keep, back, frozen, False, "a parameter that is frozen")
    _back(keep, back, _Tagged(start), False, "a parameter of a subclass of nn.Parameter")


class _Tagged(nn.Parameter):
    pass


def _other_default(keep: Callable, back: Callable) -> None:
    x = torch.tensor([0.1], device=course_utils.device)
    with default_dtype(torch.float64):
        _back(keep, back, x, True, "a float32 tensor, where the default dtype is float64,")


def _empty(keep: Callable, back: Callable) -> None:
    x = torch.ones(0, 3, device=course_utils.device)
    _back(keep, back, x, True, "a tensor of shape (0, 3)")


def _limits(keep: Callable, back: Callable) -> None:
    numbers = [65504.0, -65504.0, torch.nan, 0.1, 1e-6]
    x = torch.tensor(numbers, device=course_utils.device)
    _back(keep, back, x, True, f"{numbers}, the largest of float16 and NaN,")


def _twice(keep: Callable, back: Callable) -> None:
    kept = keep(torch.ones(2, device=course_utils.device))
    back(kept)
    try:
        again = back(kept).tolist()
    except Exception as error:
        again = f"{type(error).__name__}: {error}"
    words = "bring_back is called twice for one saved tensor (backward(retain_graph=True) does so)"
    assert again == [1.0, 1.0], f"{words}: the second time gave {again}"


def _not_copied(keep: Callable, back: Callable) -> None:
    exact = "int64 int32 int16 uint8 bool float64 float16 bfloat16 complex64 complex128"
    kinds = [getattr(torch, kind) for kind in exact.split()]
    ones = torch.ones(2, 3, device=course_utils.device)
    for x in [*(ones.to(kind).t() for kind in kinds), nn.Parameter(ones)]:
        kept = [t for t in tree_leaves(keep(x)) if isinstance(t, Tensor)]
        what = "a parameter" if isinstance(x, nn.Parameter) else f"a transposed tensor of {x.dtype}"
        copied = f"{what} was copied or converted: what is kept exactly needs neither"
        assert x.data_ptr() in [t.data_ptr() for t in kept], copied
        itself = f"{what}: the tensor itself is kept. detach() gives another one, without a copy"
        assert all(t is not x for t in kept), itself


def _view(keep: Callable, back: Callable) -> None:
    x = torch.tensor([[0.1, 0.2], [0.3, 0.4]], device=course_utils.device)
    _back(keep, back, x.t(), True, "a transposed view of a float32 tensor that is no parameter")
    parts = {"a column": x[:, :1], "a row, five times": x[:1].expand(5, 2)}
    for words, part in parts.items():
        kept = [t for t in tree_leaves(keep(part)) if isinstance(t, Tensor)]
        size, most = sum(t.untyped_storage().nbytes() for t in kept), 2 * part.numel()
        told = f"{words} (a view of a float32 matrix): {most} bytes are enough, {size} are kept"
        assert size <= most, told


# Weight norm


def _normed(weight_norm: Callable, kind: type, weight: Tensor) -> dict[str, nn.Module]:
    other = layer_of(weight)
    torch.nn.utils.parametrize.register_parametrization(other, "weight", kind())
    return {"weight_norm": weight_norm(layer_of(weight)), "WeightNorm": other}


def _same_weight(weight_norm: Callable, kind: type, weight: Tensor, rtol: float) -> None:
    for name, layer in _normed(weight_norm, kind, weight).items():
        layer(torch.ones_like(weight))
        found = layer.weight
        assert isinstance(found, Tensor), f"{name}: layer.weight is {found!r}"
        error = ((found - weight).abs() / weight.abs()).max().item()
        told = f"the weight right after differs from the one before by a share of {error:.0e}"
        assert error < rtol, f"{name}: {told}"
    right = weight.norm(dim=1, keepdim=True)
    lengths = {"weight_g": weight_norm(layer_of(weight)).weight_g}
    lengths["right_inverse's g"] = kind().right_inverse(weight.clone())[0]
    for name, length in lengths.items():
        error = ((length - right).abs() / right).max().item()
        told = "nothing is added to a length, and none is cut off"
        assert error < rtol, f"{name} differs from the length by a share of {error:.0e}: {told}"


def _small_weights(weight_norm: Callable, kind: type) -> None:
    weight = torch.tensor([[3e-6, 4e-6], [1e-7, 2e-7]], device=course_utils.device)
    _same_weight(weight_norm, kind, weight, 1e-4)


def _exact_weights(weight_norm: Callable, kind: type) -> None:
    weight = torch.tensor([[0.1, 0.2], [1 / 3, 0.7]], dtype=torch.float64)
    _same_weight(weight_norm, kind, weight.to(course_utils.device), 1e-12)


def _new_length(weight_norm: Callable, kind: type) -> None:
    weight = torch.tensor([[3.0, 4.0]], device=course_utils.device)
    layer, module = weight_norm(layer_of(weight)), kind()
    for length in (10.0, -10.0):
        layer.weight_g = nn.Parameter(torch.full_like(weight[:, :1], length))
        found, right = layer(torch.ones_like(weight)).item(), 1.4 * length
        words = f"weight_g is replaced by a new parameter of {length:g}, and the layer called"
        kept = "; training may make a length negative: it is used as it is" * (length < 0)
        assert abs(found - right) < 1e-4, f"{words}: it gives {found}, expected {right:g}{kept}"
        for outputs, shape in ((1, (1, 2)), (2, (2, 1, 2, 1))):
            v = weight.repeat(outputs, 1).view(shape)
            g = torch.full_like(v.flatten(1)[:, :1], length).view(outputs, *[1] * (v.dim() - 1))
            again = module.forward(g, v).sum().item()
            words = f"forward(g, v) of a new WeightNorm, with g = {length:g}, v = {v.tolist()}"
            told = f"its sum is {again}, expected {outputs * right:g}"
            assert abs(again - outputs * right) < 1e-4, f"{words}: {told}{kept}"


def _without_graph(weight_norm: Callable, kind: type) -> None:
    weight = torch.tensor([[3.0, 4.0]], device=course_utils.device)
    for name, layer in _normed(weight_norm, kind, weight).items():
        layer.eval()
        length = "weight_g" if name == "weight_norm" else "parametrizations.weight.original0"
        g, words = layer.get_parameter(length), f"{length} is doubled to 10, and the layer called"
        words += " under no_grad, in eval"
        with torch.no_grad():
            g.mul_(2)
            found = layer(torch.ones_like(weight)).item()
            assert not torch.is_grad_enabled(), f"{words}: autograd is on after it"
            assert abs(found - 14) < 1e-4, f"{words}: it gives {found}, expected 6 + 8"
            g.div_(2)
            again = layer(torch.ones_like(weight)).item()
        assert abs(again - 7) < 1e-4, f"{words}; then halved and called again: {again}, not 3 + 4"


def _backward_again(weight_norm: Callable, kind: type) -> None:
    weight = torch.tensor([[3.0, 4.0]], device=course_utils.device)
    for name, layer in _normed(weight_norm, kind, weight).items():
        length = "weight_g" if name == "weight_norm" else "parametrizations.weight.original0"
        x, g = torch.ones_like(weight), layer.get_parameter(length)
        with torch.no_grad():
            layer(x)
        for calls, how in ((1, "one with a backward"), (2, "two with a backward each, no step")):
            words = f"{name}: a call under no_grad, then {how}:"
            told = "the weight is computed before each call, and has the graph of that call"
            try:
                layer(x).sum().backward()
            except RuntimeError as error:
                raise AssertionError(f"{words} it {what_was_raised(error)}; {told}") from error
            found = None if g.grad is None else g.grad.item()
            near = found is not None and abs(found - 1.4 * calls) < 1e-4
            right = f"the gradient of {length} is {found}, expected {1.4 * calls:g}"
            assert near, f"{words} {right}; {told}"


def _called_again(weight_norm: Callable, kind: type) -> None:
    v = torch.tensor([[3.0, 4.0], [5.0, 12.0]], device=course_utils.device)
    check_states(kind().forward, v[:, :1].clone(), v, what="WeightNorm().forward(g, v)")
    check_states(kind().right_inverse, v, what="WeightNorm().right_inverse(weight)")


# Loading


def load_renamed(hooks: Callable, model: nn.Module, renamed: dict, keys: dict[str, str]) -> None:
    """Load a state whose keys are the values of ``keys``; check the log."""
    log, own = hooks(model, renamed), model.state_dict()
    state = {keys.get(key, key): value + 1 for key, value in own.items()}
    right = {key: value + 1 for key, value in own.items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        told = " ".join(str(error).split())
        told += "; a name begins right after the prefix and ends at a dot, and is no pattern"
        raise AssertionError(f"{renamed} with the keys {[*state]}: {told}") from error
    told = f"{renamed} with the keys {[*state]}: a value went to a wrong place"
    same = all(torch.equal(right[key], value) for key, value in model.state_dict().items())
    assert same, told
    wanted = sorted(f"{old} -> {new}" for new, old in keys.items())
    assert sorted(log) == wanted, f"{renamed} with the keys {[*state]}: the list is {log}"


def _repeated(hooks: Callable) -> None:
    model = nn.ModuleDict({"head": nn.ModuleDict({"fc": nn.Linear(1, 1, bias=False)})})
    load_renamed(hooks, model, {"fc": "head"}, {"head.fc.weight": "fc.fc.weight"})


def _longer_name(hooks: Callable) -> None:
    model = nn.ModuleDict({"fc": nn.ModuleDict({"0": nn.Linear(1, 1, bias=False)})})
    load_renamed(hooks, model, {"fc": "fc.0"}, {"fc.0.weight": "fc.weight"})


def _without_dot(hooks: Callable) -> None:
    model = nn.Module()
    model.scale, model.head = nn.Parameter(torch.ones(1)), nn.Linear(1, 1, bias=False)
    load_renamed(hooks, model, {"scale": "head"}, {"head.weight": "scale.weight"})


def _alone_then_inside(hooks: Callable) -> None:
    model = nn.ModuleDict({"head": nn.Linear(1, 1, bias=False)})
    log, weight = hooks(model, {"fc": "head"}), torch.ones(1, 1)
    try:
        model.load_state_dict({"fc.weight": weight})
        nn.ModuleDict({"net": model}).load_state_dict({"net.fc.weight": weight})
    except RuntimeError as error:
        words = "loaded by itself, then as the part net of a larger model"
        told = f"{' '.join(str(error).split())}; each load hands the hook its own prefix"
        raise AssertionError(f"{words}: {told}") from error
    right = ["fc.weight -> head.weight", "net.fc.weight -> net.head.weight"]
    assert log == right, f"loaded by itself, then as a part: the list is {log}"


# Intervention


class _Nested(nn.Module):
    def forward(self, x: Tensor) -> tuple:
        return x + 1, (2 * x, (3 * x,)), ()


class _Writes(nn.Module):
    """Adds up what a module returns, and writes to it."""

    def __init__(self) -> None:
        super().__init__()
        self.nested, self.plain = _Nested(), nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        nested = self.nested(x)
        assert len(nested) == 3, f"the module returned three entries, and the patch is {nested}"
        first, (second, (third,)), _ = nested
        words = "the module returned a tuple, and the patch is no tuple, or holds a list"
        assert {type(nested), type(nested[1])} == {tuple}, words
        y = first + second + third + self.plain(x)
        for part in (first, second, third):
            part.zero_()
        return y


def _number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64, device=course_utils.device)


def _nested_tuple(intervention: Callable) -> None:
    model = _Writes()
    found = intervention(model, model, ["nested"], _number(10.0), _number(1.0))["nested"].item()
    words = "a tuple in a tuple, whose tensors the model writes to later"
    assert found == 62, f"{words}: the answer is {found}, expected 61 + 1. Copy the inner ones, too"


def _earlier_hook(intervention: Callable) -> None:
    model = _Writes()
    model.plain.register_forward_hook(lambda module, args, output: 10 * output)
    found = intervention(model, model, ["plain"], _number(10.0), _number(1.0))["plain"].item()
    words = "an earlier hook makes the module return 10 times its value, 100 in run A"
    assert found == 107, f"{words}, which run B adds to 7: the answer is {found}, expected 107"


def _digits(intervention: Callable) -> None:
    model = _Writes()
    found = intervention(model, model, ["plain"], _number(1 / 3), _number(0.1))["plain"].item()
    error = abs(found - (1.6 + 1 / 3))
    assert error < 1e-12, f"in torch.float64 the answer is wrong by {error:.0e}: in float32?"


def _random_state(intervention: Callable) -> None:
    model = _Writes()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1729)
        before = torch.rand(3).tolist()
        torch.manual_seed(1729)
        intervention(model, model, ["plain"], _number(1.0), _number(0.0))
        same = torch.rand(3).tolist() == before
    assert same, "the global generator of random numbers was seeded: leave it as it was"


def _zeros(intervention: Callable) -> None:
    model = _Writes()
    b = _number(1.0)
    found = intervention(model, model, ["plain"], _number(0.0), b)["plain"].item()
    words = "in run A the module returned 0, which run B adds to 7"
    assert found == 7, f"{words}: the answer is {found}. Patch whatever was returned, zeros too"
    told = "an Identity returns what it was handed: return the patch, and write to nothing"
    assert b.item() == 1, f"the input b was 1, and is {b.item()}: {told}"


class _Interrupts(nn.Module):
    def __init__(self, calls: int) -> None:
        super().__init__()
        self.inner, self.calls = nn.Identity(), calls

    def forward(self, x: Tensor) -> Tensor:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return 2 * self.inner(x)


def _interrupted(intervention: Callable) -> None:
    for calls, run in enumerate(("run A", "run B")):
        model = _Interrupts(calls)
        with contextlib.suppress(KeyboardInterrupt):
            intervention(model, model, ["inner"], _number(1.0), _number(0.0))
        assert torch.is_grad_enabled(), f"a KeyboardInterrupt in {run} left autograd off"
        words = f"after a KeyboardInterrupt in {run} hooks are left"
        assert not hooks_on(model), f"{words}: a with block, or a finally, takes them out"


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "offload": {
        "an input that needs a gradient": _leaf,
        "parameters, frozen and of a subclass": _frozen_parameter,
        "another default dtype": _other_default,
        "a tensor without elements": _empty,
        "the largest numbers, and NaN": _limits,
        "brought back twice": _twice,
        "what is kept exactly": _not_copied,
        "a transposed view": _view,
    },
    "weight norm": {
        "weights of a millionth": _small_weights,
        "every digit of torch.float64": _exact_weights,
        "weight_g replaced": _new_length,
        "weight_g changed, and no_grad": _without_graph,
        "a backward after no_grad, and one more": _backward_again,
        "calls in other modes, and again": _called_again,
    },
    "loading": {
        "the old name twice in a key": _repeated,
        "a new name that begins with the old one": _longer_name,
        "a parameter of the old name": _without_dot,
        "by itself, then as a part": _alone_then_inside,
    },
    "intervention": {
        "a tuple in a tuple, written to later": _nested_tuple,
        "an earlier hook that replaces the output": _earlier_hook,
        "every digit of torch.float64": _digits,
        "the generator of random numbers": _random_state,
        "a KeyboardInterrupt in a run": _interrupted,
        "an activation of zero": _zeros,
    },
}
