"""What the chapter on custom gradients draws with, and how its exercises are tried and checked.

A ``run_…`` function takes a learner's function or class and returns plain values. In the notebook a
locked function that runs with the answer calls it. A ``check_…`` function takes that locked
function, tries one case and compares, with words for the slips that are known.
"""

from __future__ import annotations

import random
import weakref
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.checks import check_close, check_equal, every_case, forbid_changes
from course_utils.devices import device
from course_utils.layers import agrees, check_value, python_calls
from course_utils.operators import OperatorMode, count_operators, forbid_operators
from course_utils.tracebacks import ends_in_notebook

OVERWRITTEN = "a second call overwrites what the first one's backward needs: keep it on ctx"


def require_written(function):
    """Refuse a Function without a rule of its own, wherever it may have it from."""
    base = torch.autograd.Function
    words = f"{function.__name__} is no Function: derive it from torch.autograd.Function"
    kind = function if isinstance(function, type) else object
    assert issubclass(kind, base), words
    written = function.backward is not base.backward or function.vjp is not base.vjp
    assert written, f"{function.__name__} has no backward: is there an answer yet?"


def gradient_words(call, lost="was the result made with detach, item or NumPy?", rule=False):
    """``call()``; an error of PyTorch's about the gradients that a rule returned, in words."""
    try:
        return call()
    except RuntimeError as error:
        text = str(error)
        if "invalid gradient" in text or "number of gradients" in text:
            text += ": backward returns one gradient for each input, of that input's shape"
        elif "does not require grad" in text or "not have been used in the graph" in text:
            text = f"no gradient comes back: {lost}"
        elif "backward through the graph a second time" in text:
            text = "the graph was freed by the first pass: retain_graph=True keeps it for the next"
        elif "must match the size" in text:
            text += ": in backward the shapes don't fit; a dimension is missing (unsqueeze)"
        elif "modified by an inplace operation" in text:
            text = "a tensor that backward needs was changed in place after it was saved"
        elif rule and "used in an in-place operation" in text:
            text = "backward writes into the gradient that arrives, which others use too: "
            text += "multiply by a mask, or clone"
        else:
            raise
        raise AssertionError(text) from None
    except TypeError as error:
        if rule and "positional argument" in str(error):
            text = f"{error}: besides ctx, backward gets one gradient for each output"
            raise AssertionError(text) from None
        raise


def left_behind(*tensors):
    """What a call left on tensors that required no gradient and had none."""
    marks = ["requires_grad"] if any(t.requires_grad for t in tensors) else []
    return marks + [".grad"] * any(t.is_leaf and t.grad is not None for t in tensors)


class Largest(OperatorMode):
    """A ``with`` block that notes the bytes of the largest storage made inside it."""

    most = 0

    def after(self, name, new_storages):
        self.most = max([self.most, *new_storages])


class LiveBytes(TorchDispatchMode):
    """A ``with`` block that notes, after each operation, how many bytes made inside it live."""

    def __init__(self):
        super().__init__()
        self.now, self.curve, self.known = 0, [], set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        old = {t.data_ptr() for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        result = func(*args, **kwargs)
        for t in tree_leaves(result):
            if isinstance(t, torch.Tensor) and t.data_ptr() not in old | self.known:
                storage, place = t.untyped_storage(), t.data_ptr()
                self.known.add(place)
                self.now += storage.nbytes()
                weakref.finalize(storage, self.free, place, storage.nbytes())
        self.curve.append(self.now)
        return result

    def free(self, place, size):
        self.known.discard(place)
        self.now -= size


def memory_of(run, blocks):
    """Live bytes after each operation of a forward and backward pass, and where the turn is."""
    for block in blocks:
        for parameter in block.parameters():
            parameter.grad = torch.zeros_like(parameter)  # there already, so not counted
    h = torch.ones(512, 64, requires_grad=True)
    with LiveBytes() as live:
        y = h
        for block in blocks:
            y = run(block, y)
        turn = len(live.curve)
        y.backward(torch.ones_like(y))
    return live.curve, turn


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


def run_length(function, x, g):
    """Value and gradient of a Length where the gradient g arrives."""
    require_written(function)
    again, arrives = x.detach().clone().requires_grad_(), g.clone()
    x = x.detach().requires_grad_()
    y = function.apply(x)
    assert isinstance(y, torch.Tensor), f"Length.apply gives {type(y).__name__}, not a tensor"
    assert y.shape == g.shape, f"the lengths have shape {tuple(y.shape)}, expected {tuple(g.shape)}"
    value, (gradient,) = y.detach(), gradient_words(lambda: torch.autograd.grad(y, x, g))
    y = function.apply(again)
    function.apply(1 - again.detach())
    (late,) = torch.autograd.grad(y, again, arrives)
    assert torch.equal(late.nan_to_num(), gradient.nan_to_num()), OVERWRITTEN
    return value, gradient


@ends_in_notebook
def check_length(try_length, x):
    """Check one case of the safe length."""
    __tracebackhide__ = True
    x = x.to(device)
    length = x.square().sum(-1).sqrt()
    g = torch.linspace(1, 2, length.numel(), dtype=x.dtype, device=device).view(length.shape)
    unit = torch.where(length == 0, 0.0, 1 / length).nan_to_num(0).unsqueeze(-1) * x
    with forbid_changes(x):
        value, gradient = try_length(x, g)
    if value.shape == length.shape:
        zero = value[length == 0]
        assert not zero.any(), (
            f"a zero vector has the length {zero.max():.3g}: what was added to it?"
        )
    check_value(value, length, "the length", {"this is the square of the length": length**2})
    assert not gradient.isnan().any(), "NaN in the gradient where the length is 0: that is 0 / 0"
    if gradient.shape == x.shape:
        got = gradient.norm(dim=-1)
        short, off = (length > 0) & (length < 1e-3), (got - g).abs() > 0.001 * g
        weak = short & off & (got < g)
        assert not weak.any() or (off & (length >= 1e-3)).any(), (
            "short vectors get too little: was something added to the length, or cut off below?"
        )
    slips = {
        "it forgets the gradient that arrives: multiply by it": unit,
        "that is the slope of the squared length": 2 * x * g.unsqueeze(-1),
        "divided once too often: the slope is x / length": unit * (g / length).unsqueeze(-1),
        "this is x times what arrives: divide by the length": x * g.unsqueeze(-1),
    }
    check_value(gradient, unit * g.unsqueeze(-1), "the gradient", slips)


def run_elu(elu, x, alpha, g):
    """Value and gradient of an elu where the gradient g arrives."""
    x = x.detach().requires_grad_()
    with forbid_operators(
        "elu", "celu", "selu", "elu_backward", because="write it out, by ordinary operations"
    ):
        y = elu(x, alpha)
        assert y is not None, "elu gives None: is there an answer yet?"
        assert isinstance(y, torch.Tensor), f"elu gives {type(y).__name__}, not a tensor"
        assert y.shape == x.shape, f"elu gives shape {tuple(y.shape)} for x {tuple(x.shape)}"
        return y.detach(), gradient_words(lambda: torch.autograd.grad(y, x, g.to(y.dtype)))[0]


@ends_in_notebook
def check_elu(try_elu, x, alpha):
    """Check one case of the repaired ELU."""
    __tracebackhide__ = True
    x = x.to(device)
    g = torch.linspace(1, 2, x.numel(), dtype=x.dtype, device=device).view(x.shape)
    with forbid_changes(x):
        value, gradient = try_elu(x, alpha, g)
    low = x.clamp(max=0).exp()
    slope = torch.where(x > 0, 1.0, alpha * low)
    slips = {"alpha scales the lower branch": torch.where(x > 0, x, low - 1)}
    slips["alpha scales the lower branch alone"] = alpha * torch.where(x > 0, x, low - 1)
    slips["alpha scales the whole of exp(x) - 1"] = torch.where(x > 0, x, alpha * low - 1)
    slips["what goes into exp is cut off too early"] = torch.where(
        x > 0, x, alpha * (x.clamp(-1, 0).exp() - 1)
    )
    nan = x[value.isnan()].tolist()[:4]
    assert not nan, f"the value is NaN at x = {nan}: zero times infinity; choose, don't multiply"
    truth = torch.where(x > 0, x, alpha * (low - 1))
    loose = 1e-12 if x.dtype == torch.float64 else 1e-5
    few = torch.allclose(value, truth, 1e-5, 1e-5) and not torch.allclose(
        value, truth, loose, loose
    )
    assert not few, "the value is right to seven digits alone: was it computed in float32?"
    check_value(value, truth, "the value", slips, loose, loose)
    nan, infinite = x[gradient.isnan()].tolist()[:4], x[gradient.isinf()].tolist()[:4]
    assert not nan, (
        f"the gradient is NaN at x = {nan}: zero times infinity, in the branch not taken"
    )
    assert not infinite, f"the gradient is infinite at x = {infinite}"
    at_zero = torch.where(x == 0, 0.0, slope)
    slips = {
        "0 at the kink: whatever cuts x off there (a clamp, a relu) passes no gradient at its very "
        "end": at_zero * g,
        "0.5 at the kink: a minimum shares its gradient out at a tie": (at_zero + slope) / 2 * g,
        "it forgets alpha": torch.where(x > 0, 1.0, low) * g,
        "1 in the lower branch: was it written without being recorded?": g,
        "none comes out of the lower branch here (was its input cut off?)": (x > 0) * g,
    }
    check_value(gradient, slope * g, "the gradient", slips, 1e-5, 1e-5)


def _run_twice(function, g, *inputs):
    """Run a function forward, backward and backward again; what came of it, as plain values."""
    inputs = [x.detach().requires_grad_(need) for x, need in inputs]
    results = function(*inputs)
    results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    for y in results:
        assert isinstance(y, torch.Tensor), f"a result is {type(y).__name__}, not a tensor"
    facts: dict[str, Any] = {"results": [y.detach() for y in results]}
    facts["require grad"] = [y.requires_grad for y in results]
    g, wanted = g.clone().requires_grad_(), [x for x in inputs if x.requires_grad]
    with count_operators() as counts:
        gradients = gradient_words(
            lambda: torch.autograd.grad(
                results[0], wanted, g, create_graph=True, allow_unused=True, retain_graph=True
            ),
            rule=True,
        )
    facts["operations"] = counts.total() - counts["detach"]
    facts["gradients"] = [None if x is None else x.detach() for x in gradients]
    facts["recorded"] = all(x is not None and x.requires_grad for x in gradients)
    facts["second"], found = None, [x for x in gradients if x is not None]
    try:
        total = sum((x**2).sum() for x in found)
        facts["second"] = torch.autograd.grad(total, g)[0] if found else None
    except RuntimeError:
        pass  # refused
    first = function(*inputs)
    function(*(1 - x.detach() for x in inputs))
    first = first[0] if isinstance(first, (tuple, list)) else first
    late = torch.autograd.grad(first, wanted, g.detach().clone(), allow_unused=True)
    pairs = zip(late, facts["gradients"], strict=True)
    facts["kept"] = all(
        x is None or y is None or torch.equal(x.nan_to_num(), y.nan_to_num()) for x, y in pairs
    )
    return facts


def run_function(function, g, *inputs):
    """Facts of a Function; each input comes as (tensor, needs grad)."""
    require_written(function)
    with forbid_operators("threshold_backward", "hardtanh_backward", because="write the rule"):
        facts, names = python_calls(_run_twice, function.apply, g, *inputs)
    finished = names["torch.autograd.grad"] > 3 or names["torch.autograd.backward"]
    finished = finished or names["torch._functorch.eager_transforms.vjp"]
    assert not finished, "PyTorch differentiates inside your Function: write the rule itself"
    return facts


@ends_in_notebook
def _facts_of(try_function, name, x, count, expected):
    """x on the device, the gradient that arrives, and the facts of a Function of x alone."""
    __tracebackhide__ = True
    x = x.to(device)
    g = torch.linspace(1, 2, x.numel(), dtype=x.dtype, device=device).view(x.shape)
    with forbid_changes(x):
        facts = try_function(name, g, (x, True))
    found = len(facts["results"])
    assert found == count, f"{found} result{'s' * (found != 1)}, expected {expected}"
    assert facts["gradients"][0] is not None, "backward returns None for x"
    assert facts["kept"], OVERWRITTEN
    return x, g, facts


@ends_in_notebook
def check_relu(try_function, x):
    """Check one case of MyReLU."""
    __tracebackhide__ = True
    x, g, facts = _facts_of(try_function, "MyReLU", x, 1, "one tensor")
    check_close(facts["results"][0], x.relu(), "the value")
    mask, (gradient,) = (x > 0).to(x.dtype), facts["gradients"]
    slips = {
        "it forgets the gradient that arrives: multiply by it": mask,
        "at 0 the slope is 0, and here it lets the gradient through": g * (x >= 0),
        "it lets the gradient through everywhere": g,
        "it lets through what was negative": g * (x < 0),
    }
    check_value(gradient, g * mask, "the gradient", slips, 1e-6, 1e-6)
    recorded = facts["recorded"] and facts["second"] is not None
    assert recorded, "a second derivative has to be possible: backward gives something not recorded"
    check_value(facts["second"], 2 * g * mask, "the second derivative", None, 1e-6, 1e-6)


@ends_in_notebook
def check_binarize(try_function, x):
    """Check one case of Binarize."""
    __tracebackhide__ = True
    x, g, facts = _facts_of(try_function, "Binarize", x, 2, "two tensors: the sign and the mask")
    sign, mask = torch.where(x < 0, -1.0, 1.0).to(x.dtype), (x.abs() <= 1).to(x.dtype)
    slips = {"at 0 the sign is +1": x.sign(), "that is the mask: the sign comes first": mask}
    check_value(facts["results"][0], sign, "the sign", slips)
    slips = {"-1 and 1 belong to it": (x.abs() < 1).to(x.dtype)}
    check_value(facts["results"][1], mask, "the mask", slips)
    assert facts["require grad"][0], "the sign has to require grad: do not mark it"
    words = "the mask requires grad: mark it with ctx.mark_non_differentiable"
    assert not facts["require grad"][1], words
    (gradient,) = facts["gradients"]
    slips = {
        "it passes only where the mask is 1": g,
        "it forgets the gradient that arrives: multiply by it": mask,
        "the true slope of the sign: nothing could be learnt": 0 * g,
        "it is multiplied by the sign: straight through means slope 1": g * mask * sign,
    }
    check_value(gradient, g * mask, "the gradient", slips)
    assert facts["second"] is None, (
        "a second derivative goes through: refuse it, once_differentiable"
    )
    words = (
        "a detached gradient makes a second derivative silently 0: once_differentiable refuses it"
    )
    assert facts["recorded"], words


@ends_in_notebook
def check_clamp(try_function, x, low, high, needs=(True, True, True)):
    """Check one case of MyClamp; how many operations its backward took."""
    __tracebackhide__ = True
    x, low, high = (t.to(device) for t in (x, low, high))
    g = torch.linspace(1, 2, len(x), dtype=x.dtype, device=device)
    with forbid_changes(x, low, high):
        facts = try_function("MyClamp", g, (x, needs[0]), (low, needs[1]), (high, needs[2]))
    assert len(facts["results"]) == 1, f"{len(facts['results'])} results, expected one tensor"
    assert facts["kept"], OVERWRITTEN
    check_close(
        facts["results"][0], torch.where(x < low, low, torch.where(x > high, high, x)), "the value"
    )
    under, over = (x < low).to(x.dtype), (x > high).to(x.dtype)
    ends = (x != low) & (x != high)
    rules = {"x": 1 - under - over, "low": under, "high": over}
    at_ends = {
        "x": rules["x"] * ends,
        "low": (x <= low).to(x.dtype),
        "high": (x >= high).to(x.dtype),
    }
    asked = [name for name, need in zip(rules, needs, strict=True) if need]
    for name, gradient in zip(asked, facts["gradients"], strict=True):
        words = f"backward returns None for {name}, which requires grad: it is no constant"
        assert gradient is not None, words
        slips = {
            "it forgets the gradient that arrives: multiply by it": rules[name],
            "at low and high themselves the gradient belongs to x": g * at_ends[name],
            "it gets everything, also where the result is a bound": g,
            "low and high are swapped": g * {"x": 0 * under, "low": over, "high": under}[name],
            "it gets nothing": 0 * g,
        }
        check_value(gradient, g * rules[name], f"the gradient of {name}", slips, 1e-6, 1e-6)
    recorded = facts["recorded"] and facts["second"] is not None
    assert recorded, "a second derivative has to be possible: backward gives something not recorded"
    second = 2 * g * sum(rules[name] for name in asked)
    check_value(facts["second"], second, "the second derivative", None, 1e-6, 1e-6)
    return facts["operations"]


BASES = {
    "sine": (torch.sin, torch.cos),
    "cube": (lambda x: x**3, lambda x: 3 * x**2),
    "bell": (lambda x: (-x * x).exp(), lambda x: -2 * x * (-x * x).exp()),
}


def line_up(base: str, number: int):
    """Suspect ``number`` of the base function: 0 is right, 1 to 6 are broken."""
    f, slope = BASES[base]

    class Suspect(torch.autograd.Function):
        last: torch.Tensor

        @staticmethod
        def forward(ctx, x):
            Suspect.last, ctx.constant = x, slope(x)
            gap = not x.is_contiguous() and number == 4
            ctx.save_for_backward(x.as_strided((x.numel(),), (1,)).view(x.shape) if gap else x)
            y = f(x)
            if number == 5:
                x.neg_()
            return y

        @staticmethod
        def backward(ctx, g):  # ty: ignore[incompatible-method-override]  one result, one gradient
            x = Suspect.last if number == 6 else ctx.saved_tensors[0]
            if number == 1:
                return slope(x)
            if number == 2:
                return g * slope(x) * torch.where(x < 0, 0.5, 1.0)
            return g * (ctx.constant if number == 3 else slope(x))

    return Suspect.apply


def _number_of(ticket: int) -> int:
    """The number of the suspect that a ticket stands for."""
    return random.Random(ticket).randrange(len(SUSPECTS))


def run_the_test(write_the_test, base: str, ticket: int):
    """What a test says of a suspect, whose number it does not get to know."""
    try:
        answer = write_the_test(line_up(base, _number_of(ticket)))
    except Exception as error:
        words = (
            f"your test raised {type(error).__name__}: {str(error)[:70]}… An error is no verdict"
        )
        raise AssertionError(words) from None
    one_truth = (
        isinstance(answer, torch.Tensor) and answer.dtype == torch.bool and answer.dim() == 0
    )
    return bool(answer) if one_truth or isinstance(answer, np.bool_) else answer


SUSPECTS = [
    "which is right (is h or a tolerance too coarse, or does it expect a certain function?)",
    "whose backward forgets the gradient that arrives (give it one that is not all ones)",
    "whose slope is wrong for negative numbers (try some)",
    "whose slope is a constant for the second derivative (gradgradcheck tells)",
    "which is wrong for a tensor that is not contiguous (try a transposed one)",
    "which changes its argument (compare it before and after)",
    "whose second call overwrites what the first one needs (call twice, then go backward)",
]


@ends_in_notebook
def check_verdicts(try_the_test, *suspects):
    """Check what a test says of suspects, each a base and a number.

    The number itself is not sent, and the order is drawn anew each time: what is left to tell
    suspects apart is what they do.
    """
    __tracebackhide__ = True
    chance, said = random.SystemRandom(), {}
    for base, number in chance.sample(suspects, len(suspects)):
        tickets = iter(lambda: chance.getrandbits(40), None)
        ticket = next(ticket for ticket in tickets if _number_of(ticket) == number)
        try:
            said[base, number] = try_the_test(base, ticket)
        except Exception as error:
            said[base, number] = error
    with every_case() as case:
        for base, number in suspects:
            with case(f"{base} {number}"):
                check_verdict(said[base, number], base, number)


def check_verdict(answer, base, number):
    """Check what a test said of one suspect, or what it raised."""
    if isinstance(answer, Exception):
        raise answer
    assert answer is not None, "write_the_test gives None: is there an answer yet?"
    assert isinstance(answer, bool), f"write_the_test gives {answer!r}: return True or False"
    right = "refuses" if number == 0 else "lets through"
    assert answer is (number == 0), f"your test {right} {base} {number}, {SUSPECTS[number]}"


class Block(nn.Module):
    """Two layers with dropout between them; counts its calls."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.calls, wide = 0, 4 * width
        self.layers = nn.Sequential(nn.Linear(width, wide), nn.Tanh(), nn.Dropout(0.5))
        self.last = nn.Linear(wide, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.last(self.layers(x))


def on_ctx(y):
    """Floating-point tensors that lie on the ctx of the Function that made y, as attributes."""
    kept = getattr(y.grad_fn, "__dict__", {}).items()
    tensors = [(name, t) for name, value in kept for t in tree_leaves(value)]
    return [name for name, t in tensors if isinstance(t, torch.Tensor) and t.is_floating_point()]


def run_block(through, x, seed, times=1):
    """Facts of one forward and backward of a block that is called as ``through(block, x)``."""
    torch.manual_seed(seed)
    block, x, storages = Block(x.shape[1]), x.detach().clone().requires_grad_(), {}

    def note(tensor):
        if tensor.is_floating_point():  # the generator's state is none
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    y = 2 * x
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        for _ in range(times):
            y = through(block, y)
            assert isinstance(y, torch.Tensor), f"apply gives {type(y).__name__}, not a tensor"
    own = {parameter.data_ptr() for parameter in block.parameters()}
    facts = {"bytes": sum(size for place, size in storages.items() if place not in own)}
    facts |= {"y": y.detach(), "calls in forward": block.calls, "on ctx": on_ctx(y)}
    torch.rand(2)  # other code draws random numbers before backward comes
    gradient_words((y**2).sum().backward, "does backward record the second run (enable_grad)?")
    facts |= {"calls": block.calls, "x": x.grad, "next random numbers": torch.rand(3)}
    return facts | {name: parameter.grad for name, parameter in block.named_parameters()}


def run_checkpoint(function, x, seed, times):
    """Facts of a block with dropout that is run through a Checkpoint."""
    require_written(function)
    facts, names = python_calls(run_block, function.apply, x, seed, times)
    facts["library"] = any(name.startswith("torch.utils.checkpoint.") for name in names)
    return facts


@ends_in_notebook
def check_checkpoint(try_checkpoint, x, seed, times=1):
    """Check one run of the checkpoint."""
    __tracebackhide__ = True
    yours = try_checkpoint(x, seed, times)
    plain = run_block(lambda block, x: block(x), x, seed, times)
    assert not yours["library"], "torch.utils.checkpoint runs here: write the checkpoint yourself"
    calls = "runs of the block in forward"
    check_equal(yours["calls in forward"], times, calls, "once for each call of apply")
    same = isinstance(yours["y"], torch.Tensor) and torch.equal(yours["y"], plain["y"])
    words = "the result differs from that of block(x): does forward seed the generator, or turn it "
    assert same, f"{words}back? Only backward does"
    words = "once more in backward: it is computed again, not kept"
    check_equal(yours["calls"], 2 * times, "runs of the block in all", words)
    for name in ("x", "last.weight", "last.bias", "layers.0.weight", "layers.0.bias"):
        what, weight = f"the gradient of {name}", name != "x"
        assert yours[name] is not None, (
            f"{what} is None: it never arrived (torch.autograd.backward lets it)"
        )
        if not torch.equal(yours[name], plain[name]) and torch.count_nonzero(yours[name]) == 0:
            raise AssertionError(f"{what} is zero everywhere: it never arrived")
        slip = torch.equal(yours[name], 2 * plain[name])
        assert not slip, f"{what} is twice what it should be: it was added twice"
        same = torch.equal(yours[name], plain[name])
        words = (
            "(does backward draw the same dropout as forward?)"
            if times == 1
            else ("with the block used twice (was .grad overwritten? is the dropout the same?)")
        )
        assert same or not weight, f"{what} differs from that of the plain run {words}"
        assert same, f"{what} differs from that of the plain run {words}"
    words = "random numbers drawn afterwards differ: put the generator back where it was"
    assert torch.equal(yours["next random numbers"], plain["next random numbers"]), words
    words = (
        f"kept on ctx: {', '.join(yours['on ctx'])}; x goes through save_for_backward, nothing else"
    )
    assert not yours["on ctx"], words
    alone = times * x.numel() * x.itemsize
    words = "keep the input alone, by save_for_backward"
    check_equal(yours["bytes"], alone, "bytes saved", words)


MAPS = {
    "two to three": lambda x: torch.stack([x[0] * x[1], x[0] + x[1], x[0] ** 2]),
    "two numbers": lambda x: torch.stack([x.sin().sum(), (x * x).prod()]),
    "square": lambda x: x.cumsum(0).exp(),
    "one number": lambda x: (x**3).sum().reshape(1),
    "partly constant": lambda x: torch.stack([x[0], torch.ones_like(x[0]), 5 * x[0]]),
}


def run_jacobian(function, name, x):
    """A Jacobian; what was called on the way; what is left on x."""
    answer, names = gradient_words(lambda: python_calls(function, MAPS[name], x))
    short = {name.rpartition(".")[2] for name in names if name.startswith("torch")}
    whole = sorted(short & {"jacrev", "jacfwd", "jacobian"})
    needs = isinstance(answer, torch.Tensor) and answer.requires_grad
    left, x.grad = left_behind(x), None
    x.requires_grad_(False)
    answer = answer.detach() if needs else answer
    return {
        "answer": answer,
        "forward": "make_dual" in short,
        "reverse": "_engine_run_backward" in short,
        "whole": whole,
        "left": left,
        "needs": needs,
    }


@ends_in_notebook
def check_jacobian(try_jacobian, way, name, x):
    """Check one Jacobian; whether forward mode made it."""
    __tracebackhide__ = True
    x = x.to(device)
    with forbid_changes(x):
        found = try_jacobian(way, name, x)
    answer, truth = found["answer"], torch.autograd.functional.jacobian(MAPS[name], x.clone())
    assert answer is not None, "it gives None: is there an answer yet?"
    used = ", ".join(found["whole"])
    assert not used, f"{used} runs here: build the Jacobian from single passes"
    transposed = {
        "rows and columns are swapped: a row for each result": truth.t().contiguous(),
        "each row holds the ones before it as well: .grad adds up": truth.cumsum(0),
    }
    check_value(answer, truth, "the Jacobian", transposed, 1e-5, 1e-6)
    assert way != "rows" or not found["forward"], "by_rows uses forward mode: go backward"
    assert way != "rows" or found["reverse"], (
        "by_rows makes no backward pass: no differences, please"
    )
    assert way != "columns" or found["forward"], (
        "by_columns never makes a dual tensor: use torch.func.jvp"
    )
    assert not found["left"], (
        f"x was left with {' and '.join(found['left'])}: work on a leaf of your own"
    )
    assert not found["needs"], "the result still requires grad: detach it"
    return found["forward"]


LANDSCAPES = {
    "saddle": lambda x: x[0] ** 2 * x[1] - x[1] ** 2,
    "valley": lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    "bowl": lambda x: (x.exp() + (x - 2) ** 2).sum() + (x[1:] * x[:-1]).sum() / 4,
}


def solve(product, g):
    """p with ``product(p) == g``, by conjugate gradients; ``product`` is linear and symmetric."""
    p, rest, direction = torch.zeros_like(g), g, g
    for _ in range(20 * len(g)):
        if rest.norm() <= 1e-12 * g.norm():
            break
        turned = product(direction)
        length = (rest @ rest) / (direction @ turned)
        p, new = p + length * direction, rest - length * turned
        rest, direction = new, new + (new @ new) / (rest @ rest) * direction
    return p


def run_curvature(function, name, x, extra, weigh=False):
    """What a product or Newton's method gives, and how it came by it."""
    elsewhere = []

    def f(point):
        try:
            here = torch.func.debug_unwrap(point).detach()
            elsewhere.append(here.shape == x.shape and not torch.equal(here.to(x.dtype), x))
        except RuntimeError:  # f is being traced, as by linearize
            pass
        return LANDSCAPES[name](point)

    largest = Largest()
    with largest if weigh else nullcontext():
        lost = "the gradient has no graph: ask for it with create_graph=True"
        answer, names = gradient_words(lambda: python_calls(function, f, x, extra), lost)
    short = {name.rpartition(".")[2] for name in names if name.startswith("torch")}
    needs = isinstance(answer, torch.Tensor) and answer.requires_grad
    tensors = [x, extra] if isinstance(extra, torch.Tensor) else [x]
    facts = {"answer": answer.detach() if needs else answer, "needs": needs}
    facts |= {"left": left_behind(*tensors), "elsewhere": any(elsewhere), "most": largest.most}
    facts["forward"] = "make_dual" in short
    facts["called"] = sorted(short & {"hvp", "vhp", "hessian", "jacobian", "jacrev", "jacfwd"})
    for tensor in tensors:
        tensor.requires_grad_(False).grad = None
    return facts


@ends_in_notebook
def check_product(try_curvature, way, landscape, x, v, weigh=False):
    """Check one Hessian-vector product."""
    __tracebackhide__ = True
    x, v, f = x.to(device), v.to(device), LANDSCAPES[landscape]
    with forbid_changes(x, v):
        found = try_curvature(way, landscape, x, v, weigh)
    answer, name = found["answer"], f"hvp_{way}"
    assert answer is not None, f"{name} gives None: is there an answer yet?"
    used = ", ".join(found["called"])
    assert not used, f"{used} runs here: {name} makes the product itself"
    limit = 64 * max(x.nbytes, 64)
    words = f"a tensor of {found['most']} bytes was made, and x has {x.nbytes}: is that the matrix?"
    assert found["most"] <= limit, words
    assert not found["elsewhere"], f"{name} calls f at other points than x: no differences"
    leaf = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    (truth,) = torch.autograd.grad(g, leaf, v, retain_graph=True)
    (ones,) = torch.autograd.grad(g.sum(), leaf)
    slips = {
        "this is the gradient times v, entry by entry": (g * v).detach(),
        "a single number, the derivative of f along v: take that of its gradient": (g @ v).detach(),
        "this is the gradient itself: it has to be differentiated once more": g.detach(),
        "this is the product with a vector of ones: where does v come in?": ones,
    }
    check_value(answer, truth, "the product", slips, 1e-4, 1e-4)
    assert way == "forward" or not found["forward"], (
        "hvp_double uses forward mode: go backward twice"
    )
    words = "hvp_forward never makes a dual tensor: take torch.func.jvp of the gradient"
    assert way == "double" or found["forward"], words
    left = " and ".join(found["left"])
    assert not left, f"an argument was left with {left}: work on a leaf of your own"
    assert not found["needs"], "the result still requires grad: detach it"


@ends_in_notebook
def check_newton(try_curvature, landscape, x, steps, weigh=False):
    """Check some of Newton's steps."""
    __tracebackhide__ = True
    x, f = x.double().to(device), LANDSCAPES[landscape]
    with forbid_changes(x):
        found = try_curvature("newton", landscape, x, steps, weigh)
    answer = found["answer"]
    assert answer is not None, "newton gives None: is there an answer yet?"
    used = ", ".join(sorted(set(found["called"]) - {"hvp", "vhp"}))
    assert not used, f"{used} runs here: no matrix, please"
    words = f"a tensor of {found['most']} bytes was made, and x has {x.nbytes}: is that the matrix?"
    assert found["most"] <= 64 * max(x.nbytes, 64), words

    def solved(point, at):
        matrix = torch.autograd.functional.hessian(f, at)
        return torch.linalg.solve(matrix, torch.func.grad(f)(point))

    truth = x.clone()
    for _ in range(steps):
        truth = truth - solved(truth, truth)
    assert isinstance(answer, torch.Tensor), f"newton gives {type(answer).__name__}, not a tensor"
    assert answer.isfinite().all(), (
        f"after {steps} step(s) the point is NaN or infinite: "
        "is the product at the current point right?"
    )
    slips = {"it has not moved": x}
    if 0 < steps < 3 and len(x) < 3:
        up, stale = x.clone(), x.clone()
        for _ in range(steps):
            up, stale = up + solved(up, up), stale - solved(stale, x)
        slips["the steps go uphill: subtract p"] = up
        slips["the curvature of the start is used throughout: take it anew at each point"] = stale
        first = x.clone()
        for _ in range(steps):
            first = first - solved(x, first)
        slips["the gradient of the start is used throughout: take it anew at each point"] = first
    move, g = answer - x, torch.func.grad(f)(x)
    along = steps == 1 and len(x) > 1 and torch.cosine_similarity(move, g, dim=0).abs() > 0.99999
    assert not along, "the step goes along the gradient: find p with H p = g first"
    check_value(answer, truth, f"the point after {steps} step(s)", slips, 1e-6, 1e-6)
    assert not found["left"], f"x was left with {' and '.join(found['left'])}"
    assert not found["needs"], "the result still requires grad: detach it"


def newton_path(newton, start, steps):
    """The points of Newton's method, by the learner's function where it works."""
    f, path = LANDSCAPES["valley"], [start]
    for _ in range(steps):
        g, matrix = torch.func.grad(f)(path[-1]), torch.func.hessian(f)(path[-1])
        path.append(path[-1] - torch.linalg.solve(matrix, g))
    try:
        mine = [start, *(newton(f, start, n).detach() for n in range(1, steps + 1))]
        right = torch.allclose(torch.stack(mine), torch.stack(path), atol=1e-6)
    except Exception:
        right = False
    return torch.stack(mine if right else path)


def descent_path(start, steps, rate):
    """The points of gradient descent."""
    path = [start]
    for _ in range(steps):
        path.append(path[-1] - rate * torch.func.grad(LANDSCAPES["valley"])(path[-1]))
    return torch.stack(path)


def _sample_loss(weights: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss summed over x (batch, in), y (batch,); or of one sample, x (in,), y ()."""
    hidden = torch.tanh(x @ weights["w1"].t() + weights["b1"])
    return F.cross_entropy(hidden @ weights["w2"].t(), y, reduction="sum")


def draw_case(batch: int, sizes: tuple[int, int, int], dtype=torch.float64) -> tuple:
    """Random weights, x and y for a network of these sizes (in, hidden, classes)."""
    generator = torch.Generator().manual_seed(batch)
    shapes = {"w1": (sizes[1], sizes[0]), "b1": sizes[1:2], "w2": (sizes[2], sizes[1])}
    draw = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    x = torch.randn(batch, sizes[0], generator=generator)
    y = torch.randint(sizes[2], (batch,), generator=generator)
    weights = {name: w.to(device, dtype) for name, w in draw.items()}
    return weights, x.to(device, dtype), y.to(device)


def run_samples(function, weights, x, y):
    """The gradients of each sample; how many operations ran; what it left on the arguments."""
    before = dict(weights)
    with count_operators() as counts:
        try:
            answer, names = python_calls(function, weights, x, y)
        except ValueError as error:
            hint = "; in_dims says where the samples lie: None for the weights, 0 for x and y"
            raise AssertionError(f"{error}{hint * str(error).startswith('vmap')}") from None
    short = {name.rpartition(".")[2] for name in names}
    facts = {"left": left_behind(x, *before.values()), "count": counts.total()}
    facts["keys"] = [*map(id, weights.values())] == [*map(id, before.values())]
    facts["vmap"] = bool(short & {"vmap", "_vmap", "vmap_impl", "_flat_vmap"})
    facts["needs"] = False
    if isinstance(answer, dict):
        facts["needs"] = any(getattr(t, "requires_grad", False) for t in answer.values())
        answer = {k: t.detach() if isinstance(t, torch.Tensor) else t for k, t in answer.items()}
    for tensor in before.values():
        tensor.requires_grad_(False).grad = None
    return facts | {"answer": answer}


def _without_tanh_slope(weights, x, y):
    """The gradients of w1 and b1 for each sample, if tanh passed every gradient on as it came."""
    logits = torch.tanh(x @ weights["w1"].t() + weights["b1"]) @ weights["w2"].t()
    hot = F.one_hot(y, logits.shape[1]).to(logits)
    after = (logits.softmax(-1) - hot) @ weights["w2"]
    return {"w1": torch.einsum("bo,bi->boi", after, x), "b1": after}


@ends_in_notebook
def check_samples(try_samples, way, batch, sizes, dtype=torch.float64):
    """Check the gradients of one batch; how many operations they took."""
    __tracebackhide__ = True
    weights, x, y = draw_case(batch, sizes, dtype)
    names = list(weights)
    with forbid_changes(x, y, *weights.values()):
        found = try_samples(way, weights, x, y)
    answer, name = found["answer"], f"by_{way}"
    weights = {key: weights[key] for key in names}
    assert answer is not None, f"{name} gives None: is there an answer yet?"
    assert found["keys"], "the dict of weights was changed: leave it as it is"
    assert isinstance(answer, dict), f"{name} gives {type(answer).__name__}, expected a dict"
    assert sorted(answer) == sorted(names), f"the keys are {sorted(answer)}, expected {names}"
    assert not found["left"], (
        f"an argument was left with {' and '.join(found['left'])}: leaves of your own"
    )
    unbent = _without_tanh_slope(weights, x, y)
    leaves = [w.requires_grad_() for w in weights.values()]
    losses = [_sample_loss(weights, *one) for one in zip(x, y, strict=True)]
    rows = [torch.autograd.grad(loss, leaves) for loss in losses]
    for key, *parts in zip(names, *rows, strict=True):
        truth = torch.stack(parts)
        slips = {
            "of the mean loss: the batch's size divides them, so take the sum": truth / batch,
            "added up over the samples so far: each step needs a fresh gradient": truth.cumsum(0),
            "every row holds the gradient of the whole batch": truth.sum(0).expand_as(truth),
            "one gradient for the whole batch: each sample needs its own": truth.sum(0),
            "the outer product is the other way round": truth.transpose(1, -1),
        }
        if key in unbent:
            bent = "the slope of tanh is missing: catch the gradient of x @ w1.t() + b1, before it"
            slips[bent] = unbent[key]
        check_value(answer[key], truth, f"the gradients of {key}", slips, 1e-4, 1e-5)
    assert not found["needs"], "the gradients still require grad: detach them"
    assert way != "vmap" or found["vmap"], "by_vmap does not call torch.func.vmap"
    assert way != "hooks" or not found["vmap"], "by_hooks calls vmap: catch the layers' gradients"
    return found["count"]


@ends_in_notebook
def check_clip(clip_and_average, gradients, limit):
    """Check one clipped mean."""
    __tracebackhide__ = True
    gradients = {key: g.to(device) for key, g in gradients.items()}
    with forbid_changes(*gradients.values()):
        answer = clip_and_average(gradients, limit)
    assert answer is not None, "clip_and_average gives None: is there an answer yet?"
    assert isinstance(answer, dict), f"it gives {type(answer).__name__}, expected a dict of tensors"
    assert sorted(answer) == sorted(gradients), f"the keys are {sorted(answer)}"

    def mean(key, factors):
        return torch.einsum("b,b...->...", factors.to(gradients[key].dtype), gradients[key]) / len(
            factors
        )

    norms = {key: g.flatten(1).norm(dim=1) for key, g in gradients.items()}
    total = torch.stack(list(norms.values())).norm(dim=0)
    whole = sum((mean(key, torch.ones_like(total)) ** 2).sum() for key in gradients).sqrt()
    for key in gradients:
        factors = torch.where(total > limit, limit / total, 1.0)
        truth, alone = mean(key, factors), torch.where(norms[key] > limit, limit / norms[key], 1.0)
        slips = {
            "clip each sample, then average: this clips the average": mean(
                key, torch.ones_like(total)
            )
            * (limit / whole).clamp(max=1),
            "short gradients are left alone, not stretched": mean(
                key, (limit / total).nan_to_num(0)
            ),
            "a sample's norm is over all its entries together": mean(key, alone),
            "average over the samples: this is their sum": truth * len(total),
            "nothing was clipped": mean(key, torch.ones_like(total)),
            "each number was clipped by itself: scale the whole vector": gradients[key]
            .clamp(-limit, limit)
            .mean(0),
            "long samples are left out, not scaled down": mean(key, (total <= limit).float()),
        }
        assert not torch.isnan(torch.as_tensor(answer[key])).any(), (
            f"{key} is NaN: the norm of a sample may be 0, and 0 / 0 is NaN"
        )
        check_value(answer[key], truth, key, slips, 1e-4, 1e-6)


def rows_of(by_vmap, weights, x, y):
    """The gradient of each sample as one long row (batch, numbers)."""
    rows = torch.func.vmap(torch.func.grad(_sample_loss), in_dims=(None, 0, 0))(weights, x, y)
    if agrees(lambda: by_vmap(weights, x, y), rows):
        rows = by_vmap(weights, x, y)
    return torch.cat([rows[key].flatten(1) for key in weights], dim=1)


def _clip_ours(gradients, limit):
    """The mean of the clipped gradients."""
    flat = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
    factors = (limit / flat.norm(dim=1)).clamp(max=1)
    return {key: torch.einsum("b,b...->...", factors, g) / len(g) for key, g in gradients.items()}


def moons(count, wrong):
    """Points of two moons, their labels, of which some are wrong, and which these are."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(2, (count,), generator=generator)
    angle = torch.pi * torch.rand(count, generator=generator)
    x = torch.stack([angle.cos() + y - 0.5, (angle.sin() - 0.25) * (1 - 2 * y)], dim=1)
    x = x + 0.1 * torch.randn(count, 2, generator=generator)
    bad = torch.randperm(count, generator=generator)[:wrong]
    y[bad] = 1 - y[bad]
    shapes = {"w1": (16, 2), "b1": (16,), "w2": (2, 16)}
    weights = {key: 0.5 * torch.randn(size, generator=generator) for key, size in shapes.items()}
    return x, y, bad, weights


def train(by_vmap, clip_and_average, weights, x, y, steps=300, rate=2.0):
    """The weights after clipped steps, by the learner's functions where they are right."""
    each = torch.func.vmap(torch.func.grad(_sample_loss), in_dims=(None, 0, 0))
    ours, clip = each(weights, x, y), _clip_ours
    if agrees(lambda: by_vmap(weights, x, y), ours):
        each = by_vmap
    if agrees(lambda: clip_and_average(ours, 1.0), _clip_ours(ours, 1.0)):
        clip = clip_and_average
    for _ in range(steps):
        mean = clip(each(weights, x, y), 1.0)
        weights = {key: weights[key] - rate * mean[key] for key in weights}
    return weights
