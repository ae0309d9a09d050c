"""Exercise 6.4: ReLU and friends."""

from __future__ import annotations

from typing import Any

import torch

from course_utils.chapters.custom_gradients.watching import (
    AGAIN,
    ANEW,
    OVERWRITTEN,
    WRITES,
    grad_again,
    gradient_words,
    require_digits,
    require_written,
    same_gradients,
)
from course_utils.learner.calls import python_calls
from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.operators import count_operators, forbid_operators
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def _run_twice(function, g, *inputs):
    """Run a function forward, backward and backward again; what came of it, as plain values."""
    inputs = [x.detach().requires_grad_(need) for x, need in inputs]
    results = function(*inputs)
    results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    for y in results:
        assert isinstance(y, torch.Tensor), f"a result is {type(y).__name__}, not a tensor"
    kind = f"the result has dtype {results[0].dtype}, and x {inputs[0].dtype}"
    assert results[0].is_floating_point(), f"{kind}: whole numbers carry no gradient"
    facts: dict[str, Any] = {"results": [y.detach() for y in results]}
    made, given = ([t.untyped_storage().data_ptr() for t in some] for some in (results, inputs))
    facts["shared"] = bool(set(made) & set(given)) and results[0].numel() > 0
    facts["require grad"] = [y.requires_grad for y in results]
    arrived, g, wanted = g, g.clone().requires_grad_(), [x for x in inputs if x.requires_grad]
    with count_operators() as counts:
        gradients = gradient_words(
            lambda: torch.autograd.grad(
                results[0], wanted, g, create_graph=True, allow_unused=True, retain_graph=True
            ),
            rule=True,
        )
    assert torch.equal(g, arrived), WRITES
    facts["operations"] = counts.total() - counts["detach"]
    facts["gradients"] = [None if x is None else x.detach() for x in gradients]
    facts["recorded"] = all(x is not None and x.requires_grad for x in gradients)
    facts["second"], found = None, [x for x in gradients if x is not None]
    try:
        total = sum((x**2).sum() for x in found)
        facts["second"] = torch.autograd.grad(total, g)[0] if found else None
    except RuntimeError:
        pass  # refused
    first, (x, *bounds) = function(*inputs), inputs
    function(1 - x.detach(), *(bound.detach() - 1 for bound in bounds))
    first = first[0] if isinstance(first, (tuple, list)) else first
    late, last = grad_again(first, wanted, g.detach().clone())
    facts["kept"] = same_gradients(late, facts["gradients"])
    facts["anew"] = same_gradients(late, last)  # if not, it may forget what arrives
    raw = [None if x is None else 2 * x for x in last]
    facts["stays"] = facts["anew"] or same_gradients(late, raw)
    return facts


def _spied(function):
    """The Function, and a list that notes which gradients its backward gives, call by call."""
    given: list[list[bool]] = []
    name = "vjp" if function.backward is torch.autograd.Function.backward else "backward"

    def rule(ctx, *arrives):
        parts = getattr(function, name)(ctx, *arrives)
        given.append([x is not None for x in (parts if isinstance(parts, tuple) else (parts,))])
        return parts

    return type(function.__name__, (function,), {name: staticmethod(rule)}), given


def run_function(function, g, *inputs):
    """Facts of a Function; each input comes as (tensor, needs grad)."""
    require_written(function)
    spied, given = _spied(function)
    with forbid_operators("threshold_backward", "hardtanh_backward", because="write the rule"):
        facts, names = python_calls(_run_twice, spied.apply, g, *inputs)
    facts["given"] = given[0] if given else []
    finished = names["torch.autograd.grad"] > 4 or names["torch.autograd.backward"]
    finished = finished or names["torch._functorch.eager_transforms.vjp"]
    assert not finished, "PyTorch differentiates inside your Function: write the rule itself"
    return facts


def _arrives(x):
    """The gradient that arrives: different numbers, laid out in memory as x is."""
    g = torch.linspace(1.1, 2.3, x.numel(), dtype=x.dtype, device=device).view(x.shape)
    return torch.empty_like(x).copy_(g)


def _no_nan(x, *tensors):
    """The tensors with 0 where x is NaN: nothing is asked of the gradient there."""
    return [torch.where(x.isnan(), 0.0, t) if t.shape == x.shape else t for t in tensors]


SHARED = "a result shares its memory with an input: return a new tensor"


@ends_in_notebook
def _facts_of(try_function, name, x, count, expected):
    """x on the device, the gradient that arrives, and the facts of a Function of x alone."""
    __tracebackhide__ = True
    x = x.to(device)
    g = _arrives(x)
    with forbid_changes(x):
        facts = try_function(name, g, (x, True))
    found = len(facts["results"])
    assert found == count, f"{found} result{'s' * (found != 1)}, expected {expected}"
    assert facts["gradients"][0] is not None, "backward returns None for x"
    assert facts["kept"], OVERWRITTEN
    assert facts["stays"], AGAIN
    assert not facts["shared"], SHARED
    return x, g, facts


@ends_in_notebook
def check_relu(try_function, x):
    """Check one case of MyReLU."""
    __tracebackhide__ = True
    x, g, facts = _facts_of(try_function, "MyReLU", x, 1, "one tensor")
    slips = {
        "NaN has to stay NaN, as in F.relu: put 0 only where x <= 0": x.relu().nan_to_num(0.0),
        "infinity times 0 is NaN: choose, don't multiply": torch.where(x > 0, x, x * 0),
        "an infinite x gives NaN: choose by a comparison, don't compute": (x + x.abs()) / 2,
    }
    check_value(facts["results"][0], x.relu(), "the value", slips)
    require_digits(facts["results"][0], x.relu(), "the value")
    mask, (gradient,) = (x > 0).to(x.dtype), _no_nan(x, *facts["gradients"])
    slips = {
        "it forgets the gradient that arrives: multiply by it": mask,
        "at 0 the slope is 0, and here it lets the gradient through": g * (x >= 0),
        "it lets the gradient through everywhere": g,
        "it lets through what was negative": g * (x < 0),
        "a positive x counts as 0, because it is small: x > 0, without a tolerance": g * (x > 0.01),
    }
    check_value(gradient, g * mask, "the gradient", slips, 1e-6, 1e-6)
    require_digits(gradient, g * mask, "the gradient")
    recorded = facts["recorded"] and facts["second"] is not None
    assert recorded, "a second derivative has to be possible: backward gives something not recorded"
    (second,) = _no_nan(x, facts["second"])
    check_value(second, 2 * g * mask, "the second derivative", None, 1e-6, 1e-6)
    assert facts["anew"], ANEW


@ends_in_notebook
def check_binarize(try_function, x):
    """Check one case of Binarize."""
    __tracebackhide__ = True
    x, g, facts = _facts_of(try_function, "Binarize", x, 2, "two tensors: the sign and the mask")
    sign, mask = torch.where(x < 0, -1.0, 1.0).to(x.dtype), (x.abs() <= 1).to(x.dtype)
    slips = {
        "at 0 the sign is +1": x.sign(),
        "that is the mask: the sign comes first": mask,
        "-0.0 is 0 too, and its sign here +1": torch.copysign(torch.ones_like(x), x),
        "infinity by infinity is NaN: compare x with 0": torch.where(x.isinf(), x / x.abs(), sign),
        "a small negative number is negative: x < 0, without a tolerance": torch.where(
            x.abs() < 0.01, 1.0, sign
        ),
    }
    check_value(facts["results"][0], sign, "the sign", slips)
    slips = {
        "-1 and 1 belong to it": (x.abs() < 1).to(x.dtype),
        "beyond 1 by a little is beyond: compare x itself, not a float32 of it": (
            x.float().abs() <= 1
        ).to(x.dtype),
    }
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
    require_digits(gradient, g * mask, "the gradient")
    assert facts["anew"], ANEW
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
    g = _arrives(x)
    with forbid_changes(x, low, high):
        facts = try_function("MyClamp", g, (x, needs[0]), (low, needs[1]), (high, needs[2]))
    assert len(facts["results"]) == 1, f"{len(facts['results'])} results, expected one tensor"
    assert facts["kept"], OVERWRITTEN
    assert facts["stays"], AGAIN
    assert not facts["shared"], SHARED
    truth, (value,) = torch.clamp(x, low, high), facts["results"]
    lost = {
        f"NaN has to stay NaN, as in torch.clamp: not {name}": torch.where(x.isnan(), bound, truth)
        for name, bound in (("low", low), ("high", high))
    }
    check_value(value, truth, "the value", lost)
    require_digits(value, truth, "the value")
    apart = (x - low >= 0).to(x.dtype), (high - x >= 0).to(x.dtype)  # NaN where both are infinite
    under, over = (x < low).to(x.dtype), (x > high).to(x.dtype)
    ends = (x != low) & (x != high)
    rules = {"x": 1 - under - over, "low": under, "high": over}
    at_ends = {
        "x": rules["x"] * ends,
        "low": (x <= low).to(x.dtype),
        "high": (x >= high).to(x.dtype),
    }
    asked = [name for name, need in zip(rules, needs, strict=True) if need]
    for name, need, given in zip(rules, needs, facts["given"], strict=False):
        words = f"{name} needs no gradient: ask ctx.needs_input_grad, and return None for it"
        assert need or not given, words
    for name, gradient in zip(asked, facts["gradients"], strict=True):
        truth = torch.where(x.isnan(), 0.0, g * rules[name])
        words = f"backward returns None for {name}, which requires grad: it is no constant"
        assert gradient is not None, words
        slips = {
            "infinity less infinity is NaN: compare x with the bounds, don't subtract": g
            * {"x": apart[0] * apart[1], "low": 1 - apart[0], "high": 1 - apart[1]}[name],
            "it forgets the gradient that arrives: multiply by it": rules[name],
            "at low and high themselves the gradient belongs to x": g * at_ends[name],
            "it gets everything, also where the result is a bound": g,
            "low and high are swapped": g * {"x": 0 * under, "low": over, "high": under}[name],
            "it gets nothing": 0 * g,
        }
        for end, bound in (("low", low), ("high", high)):
            inner = g * rules[name] * (x != bound)
            slips[f"at {end} itself the gradient belongs to x, which gets nothing there"] = inner
        (gradient,) = _no_nan(x, gradient)
        check_value(gradient, truth, f"the gradient of {name}", slips, 1e-6, 1e-6)
        require_digits(gradient, truth, f"the gradient of {name}")
    recorded = facts["recorded"] and facts["second"] is not None
    assert recorded, "a second derivative has to be possible: backward gives something not recorded"
    found, second = _no_nan(x, facts["second"], 2 * g * sum(rules[name] for name in asked))
    check_value(found, second, "the second derivative", None, 1e-6, 1e-6)
    assert facts["anew"], ANEW
    return facts["operations"]


NEEDS = [(x, low, high) for x in (True, False) for low in (True, False) for high in (True, False)]
NEEDS = NEEDS[:-1]  # where none is needed there is no backward


def clamp_inputs(x):
    """Inputs for MyClamp between -1 and 1, by name."""
    few = torch.tensor([1, -1, 0.3], dtype=torch.float64)
    return {
        "bfloat16": x.bfloat16(),
        "a single number": x[4],
        "none": x[:0],
        "NaN and infinities": torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0]),
        "transposed": torch.linspace(-3, 3, 6).view(2, 3).t(),
        "float64, beyond the bounds by a little": few * (1 + 1e-13),
    }


def check_work(work):
    """Refuse as many operations for two of the three gradients as for all, by needs."""
    if len(work) < len(NEEDS):
        return  # the cases before say what is wrong
    for needs in NEEDS[1:]:
        words = f"as much work for {needs} as for all three: ask ctx.needs_input_grad"
        assert work[needs] < work[NEEDS[0]], words
