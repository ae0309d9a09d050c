"""What the checks of the chapter on autograd compare with: right values, and those of known slips.

A function here that needs an answer takes it, or a locked function that tries it, as its first
argument, so that the judge can hand over a stand-in.
"""

from __future__ import annotations

import math
import random
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import course_utils
from course_utils.checks import check_close, check_equal, every_case, forbid_changes
from course_utils.graphs import draw_graph
from course_utils.layers import bytes_of, check_parts, check_rules, check_value
from course_utils.operators import count_operators
from course_utils.tracebacks import ends_in_notebook

FEW_DIGITS = "is right to a few digits alone: was float32 on the way, or a difference quotient?"
NO_RULE = "a rule returns None: is there an answer yet?"
NO_AUTOGRAD = ("grad", "backward", "*_make_dual", "*_backward", "*_backward_data")


# A walk by hand: p = a * b, q = p + b, y = p * q, at a = 2 and b = 3.

WALK = {"y": 1, "q": 6, "p": 15, "a": 45, "b": 36}
USED_BY = {"q": "y", "p": "yq", "a": "p", "b": "pq"}
WALK_SLIPS = {
    ("q", 9): "9 is q itself; the slope of y = p * q in q is the other factor",
    ("p", 9): "that is what y pays; q was made from p as well, and pays in too",
    ("p", 6): "that is what q pays; y was made from p as well, and pays in too",
    ("a", 27): "p handed on before q had paid it",
    ("a", 18): "p handed on only what q had paid it",
    ("b", 24): "p handed on before q had paid it",
    ("b", 30): "b was used twice: p pays it, and q does too",
    ("b", 6): "b was used twice: q pays it, and p does too",
}


def check_walk_order(order: Any) -> None:
    order = order.replace(",", " ").split() if isinstance(order, str) else order
    assert isinstance(order, (list, tuple)), 'write a list of names: ["y", …]'
    names = [str(name) for name in order]
    assert sorted(names) == list("abpqy"), "it has to hold a, b, p, q and y, each once"
    for name, users in USED_BY.items():
        for user in users:
            words = f"{user} was made from {name}, so {name} has to wait until {user} has paid in"
            assert names.index(user) < names.index(name), words


def check_walk_slope(name: str, guess: Any) -> None:
    number = isinstance(guess, (int, float, Tensor)) and not isinstance(guess, bool)
    assert number, f"{guess!r} is no number"
    general = "multiply the slope of each step by what its payer has, and add up what arrives"
    words = "the walk starts with 1 at y" if name == "y" else general
    words = WALK_SLIPS.get((name, round(float(guess), 3)), words)
    assert abs(float(guess) - WALK[name]) < 1e-3, f"not {guess}: {words}"


@ends_in_notebook
def check_walk(answer: Mapping[str, Any]) -> None:
    """Compare a walk by hand, order and slopes, with the right one; blanks are listed first."""
    assert isinstance(answer, Mapping), f"a {type(answer).__name__}, not the dict"
    blank = [name for name in ("order", *WALK) if answer.get(name) is None]
    assert not blank, f"still blank: {', '.join(blank)}"
    with every_case() as case:
        with case("the order"):
            check_walk_order(answer["order"])
        for name in WALK:
            with case(f"the slope in {name}"):
                check_walk_slope(name, answer[name])


# The engine for single numbers.


def torch_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]]:
    """Run a program of single numbers and go backward from ``y``, by PyTorch.

    Args:
        program: lines such as ``s = a * b``.
        inputs: numbers by name.

    Returns:
        The number ``y``, and its slope in each name of the program.
    """
    names = {name: torch.tensor(n).double().requires_grad_() for name, n in inputs.items()}
    exec(program, {}, names)
    slopes = torch.autograd.grad(
        names["y"], list(names.values()), allow_unused=True, materialize_grads=True
    )
    return names["y"].item(), dict(zip(names, [slope.item() for slope in slopes], strict=True))


POWER = "n · a ** (n - 1): the exponent comes down as a factor, and is one less"
RULE_SLIPS = {
    ("y = a * b", 2): "that is the factor itself; the slope in a factor is the other one",
    ("y = a * b", 1): "that is the rule for +",
    ("y = a * b", 5): "the slope in a factor is the other one, not their sum",
    ("y = a * a", 3): "a is both factors, and each of them has a slope",
    ("y = a ** 3", 24): f"the exponent is not lowered; {POWER}",
    ("y = a ** 3", 48): f"the exponent is raised; {POWER}",
    ("y = a ** 3", 4): f"the factor n is missing; {POWER}",
    ("y = a ** 3", 8): f"that is the number itself; {POWER}",
    ("y = a ** 3", 6): f"the exponent is one less, not 1; {POWER}",
    ("y = a ** 3", -12): "(-2) to the 2 is positive",
    ("y = a ** -1", -0.25): f"the exponent is not lowered, from -1 to -2; {POWER}",
    ("y = a ** -1", -1): f"the exponent goes down from -1 to -2, not up to 0; {POWER}",
    ("y = a.exp()", 2 * math.e): "that is the rule for powers; exp is its own slope",
    ("y = a.exp()", 2 * math.exp(2)): "that times a; exp is its own slope",
    ("y = a.exp()", 2): "that is a itself; exp is its own slope",
    ("y = a.exp()", 1): "that is the slope of a sum; exp is its own slope",
}


@ends_in_notebook
def check_rule(try_rule: Callable, program: str, **inputs: float) -> None:
    """Compare one step of an engine, its number and its slopes, with PyTorch's.

    Args:
        try_rule: from a program and inputs to the number and a dict of slopes.
        program: one line.
        inputs: numbers by name.
    """
    number, found = try_rule(program, **inputs)
    y, slopes = torch_engine(program, **inputs)
    assert number is not None, "the new value has no number: is there an answer yet?"
    kind = type(number).__name__
    assert isinstance(number, (int, float)), f"its number is a {kind}, not a plain number: use math"
    wrong = []
    if abs(number - y) > 1e-6 * max(1, abs(y)):
        wrong.append(f"its number is {y:.6g}, not {number:.6g}")
    for name in inputs:
        right, yours = slopes[name], found[name]
        if abs(right - yours) > 1e-6 * max(1, abs(right)):
            known = [
                f" ({words})"
                for (line, slip), words in RULE_SLIPS.items()
                if line == program and abs(slip - yours) < 1e-6 and name == "a"
            ]
            wrong.append(f"its slope in {name} is {right:.6g}, not {yours:.6g}{''.join(known)}")
    assert not wrong, "; ".join(wrong)


def made_from(program: str) -> dict[str, set[str]]:
    """For each name that ``y`` of a program needs, the names that it was made from."""
    lines = dict(line.split(" = ") for line in program.splitlines())
    found: dict[str, set[str]] = {}
    waiting = ["y"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = set(re.findall(r"\b[a-z]\d*\b(?!\()", lines.get(name, "")))
            waiting += found[name]
    return found


@ends_in_notebook
def check_order(order: list[str], program: str) -> None:
    """Check that names of a program are in an order in which backward may take them."""
    parents, shown = made_from(program), ", ".join(order)
    strangers = [name for name in order if name not in parents]
    assert not strangers, f"{strangers[0]} does not lie behind y (yours: {shown})"
    words = "every value belongs there once, however many ways lead to it"
    for name in parents:
        count = order.count(name)
        assert count < 2, f"{name} stands there {count} times: {words} (yours: {shown})"
    missing = [name for name in parents if name not in order]
    assert not missing, f"{', '.join(missing)} missing (yours: {shown or 'an empty list'})"
    wrong = [(n, p) for n in order for p in parents[n] if order.index(p) < order.index(n)]
    upside_down = len(wrong) == sum(map(len, parents.values())) > 0
    assert not upside_down, f"{shown} is upside down: self comes first, the inputs last"
    for name, parent in sorted(wrong, key=lambda pair: order.index(pair[0]))[:1]:
        words = f"{name} was made from {parent}, so {parent} has to wait for {name}"
        raise AssertionError(f"{words} (yours: {shown})")


def random_programs(count: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Programs of single numbers with their inputs, the same ones every time."""
    numbers = random.Random(0)
    for _ in range(count):
        inputs = {name: round(numbers.uniform(0.3, 1.2), 3) for name in "abc"}
        known, lines = list(inputs), []
        for step in range(numbers.randint(2, 9)):
            one, other = numbers.choice(known), numbers.choice(known[-4:])
            power, both = f"{one} ** {numbers.choice((2, -1, 0.5))}", f"({one} + {other})"
            line = numbers.choice((power, both, f"{one} * {other}", f"{both} ** -1"))
            lines.append(f"t{step} = {line}")
            known.append(f"t{step}")
        last = f"y = {known[-1]} * {known[-2]} + (m * a).exp()"
        yield "\n".join([*lines, last]), {"m": -1.0, **inputs}


@ends_in_notebook
def check_engine(engine: Callable, program: str, because: str = "", **inputs: float) -> None:
    """Compare what an engine says of a program with what PyTorch says.

    Args:
        engine: from a program and inputs to the number ``y`` and a dict of slopes.
        program: lines such as ``s = a * b``.
        because: words for who gets a slope wrong.
        inputs: numbers by name.
    """
    try:
        answer = engine(program, **inputs)
    except (AttributeError, TypeError) as error:
        blank = "NoneType" in str(error)
        words = NO_RULE if blank else f"it raised {error}"
        raise AssertionError(words) from None
    assert answer is not None, NO_RULE
    y, slopes = torch_engine(program, **inputs)
    number, found = answer[:2]
    lost = [name for name in slopes if name not in found]
    assert not lost, f"there is no gradient of {', '.join(lost)}"
    assert abs(number - y) <= 1e-6 * max(1, abs(y)), f"y is {y:.6g}, not {number:.6g}"
    if set(found.values()) == {0.0}:
        raise AssertionError(
            "every grad is still 0: is there an answer yet, and does backward do its work?"
        )
    wrong = {
        name: f"the gradient of {name} is {right:.6g}, not {found[name]:.6g}"
        for name, right in slopes.items()
        if not abs(found[name] - right) <= 1e-6 * max(1, abs(right))
    }
    if len(wrong) > 2:
        wrong = {name: words for name, words in wrong.items() if name in inputs} or wrong
    assert not wrong, "; ".join(wrong.values()) + (f" ({because})" if because else "")


@ends_in_notebook
def check_chain(found: Any, right: Any, what: str) -> None:
    """Check what a long chain gave: the words for a recursion that is too deep, or a value."""
    deep = "too many calls inside each other: keep a list of what is waiting, in place of recursion"
    assert found != "RecursionError", deep
    raised = "the limit of nested calls was raised, for the whole process: keep a list of your own"
    assert found != "setrecursionlimit", raised
    assert found is not None, f"{what}: None; is there an answer yet?"
    assert found == right, f"{what}: {right}, not {found}"


# Undoing a broadcast.


@ends_in_notebook
def check_sum(try_unbroadcast: Callable, gradient: Tensor, shape: tuple, because: str) -> None:
    """Compare what undoes a broadcast with what autograd has for ``expand``.

    Args:
        try_unbroadcast: from the gradient and the shape to what ``watched`` says of the call.
        gradient: of the result.
        shape: of the operand.
        because: words that say what was broadcast.
    """
    operand = torch.zeros(shape, dtype=gradient.dtype, device=gradient.device, requires_grad=True)
    (truth,) = torch.autograd.grad(operand.expand(gradient.shape), operand, gradient)
    with forbid_changes(gradient):
        answer, _, changed = try_unbroadcast(gradient, shape)
    check_rules([], changed)
    slips = {}
    if gradient.numel():
        front = (0,) * (gradient.dim() - len(shape))
        first = gradient[front][tuple(slice(0, n) for n in shape)]
        mean = truth * (truth.numel() / gradient.numel())
        slips = {
            "that is the mean; every copy was paid, so the payments are added": mean,
            "that is one of the payments; all that were made to an element are added": first,
        }
    rtol = 2e-3 if gradient.dtype == torch.float16 else 1e-5
    check_value(answer, truth, f"the gradient ({because})", slips, rtol=rtol, atol=1e-5)


@ends_in_notebook
def check_sums(
    try_unbroadcast: Callable, *groups: tuple[Tensor, Mapping[tuple[int, ...], str]]
) -> None:
    """:func:`check_sum` for several gradients, each with shapes and what is said of them."""
    with every_case() as case:
        for gradient, shapes in groups:
            for shape, because in shapes.items():
                kind = str(gradient.dtype).removeprefix("torch.")
                with case(f"{tuple(gradient.shape)} to {shape}, {kind}"):
                    fresh = gradient.to(course_utils.device).detach()
                    check_sum(try_unbroadcast, fresh, shape, because)


# Vector-Jacobian products.

OPERATIONS = {
    "matmul": torch.matmul,
    "softmax": lambda x: x.softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "layer_norm": lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias, eps=1e-5),
}


def _matmul_slips(g: Tensor, a: Tensor, b: Tensor) -> list[dict[str, Tensor]]:
    if not a.shape == b.shape == g.shape:
        turned = "the right numbers, transposed: compare the shapes"
        return [{turned: b @ g.t()}, {turned: g.t() @ a}]
    swapped = "that is the gradient of the other factor: compare the shapes"
    bare = "the other factor has to be transposed"
    return [{swapped: a.t() @ g, bare: g @ b}, {swapped: g @ b.t(), bare: a @ g}]


def _softmax_rule(g: Tensor, y: Tensor) -> Tensor:
    return y * (g - (g * y).sum(-1, keepdim=True))


def _softmax_slips(g: Tensor, y: Tensor) -> list[dict[str, Tensor]]:
    along = (g * y).sum(-1, keepdim=True)
    every = "every entry of y depends on every entry of x in its row"
    return [
        {
            f"{every}; y · (1 - y) is the diagonal alone": g * y * (1 - y),
            f"{every}; subtract what the whole row has in common": g * y,
            "the common part is taken away, but y in front is missing": g - along,
            "sum g · y along the row, not g alone": y * (g - g.sum(-1, keepdim=True)),
            "the sum along the row, not the mean": y * (g - (g * y).mean(-1, keepdim=True)),
            "the sum runs along each row, not over everything": y * (g - (g * y).sum()),
            "y is the result: softmax was taken already": _softmax_rule(g, y.softmax(-1)),
        }
    ]


def _logsumexp_slips(g: Tensor, x: Tensor) -> list[dict[str, Tensor]]:
    g = g.unsqueeze(-1)
    return [
        {
            "the shares are right; the upstream gradient is missing": x.softmax(-1),
            "that is log-softmax; the slope is the share itself": g * x.log_softmax(-1),
            "each entry takes part by its share, not equally": g * torch.ones_like(x),
            "each row has shares of its own; these are taken along the other dimension": (
                g * x.softmax(0)
            ),
            "exp of large numbers is infinite: subtract each row's maximum first": (
                g * x.exp() / x.exp().sum(-1, keepdim=True)
            ),
            "subtract each row's own maximum, not that of all": (
                g * (x - x.max()).exp() / (x - x.max()).exp().sum(-1, keepdim=True)
                if x.numel()
                else x
            ),
        }
    ]


def _layer_norm_slips(g: Tensor, x: Tensor, weight: Tensor) -> list[dict[str, Tensor]]:
    def of_x(g: Tensor, correction=0, eps=1e-5, mean=True, var=True, outside=False) -> Tensor:
        variance = x.var(-1, correction=correction, keepdim=True)
        scale = 1 / (variance.sqrt() + eps) if outside else (variance + eps).rsqrt()
        normal = (x - x.mean(-1, keepdim=True)) * scale
        left = g - g.mean(-1, keepdim=True) if mean else g
        return scale * (left - normal * (g * normal).mean(-1, keepdim=True) if var else left)

    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    normal = (x - x.mean(-1, keepdim=True)) * scale
    first = {
        "mean and variance depend on x as well": of_x(g * weight, mean=False, var=False),
        "the variance depends on x as well": of_x(g * weight, var=False),
        "the mean depends on x as well": of_x(g * weight, mean=False),
        "the weight is missing": of_x(g),
        "eps is missing under the root": of_x(g * weight, eps=0.0),
        "eps is added to the variance, under the root, not to the deviation": of_x(
            g * weight, outside=True
        ),
    }
    if x.shape[-1] > 1:
        sample = of_x(g * weight, correction=1)
        first["divide the variance by d, not by d - 1"] = sample
    added = "the payments of the rows are added, not averaged"
    second = {
        "the weight multiplies the normalised x, not x itself": (g * x).sum(0),
        "that is the gradient of the bias": g.sum(0),
        added: (g * normal).mean(0),
        "the weight is not in its own slope": (g * normal * weight).sum(0),
    }
    third = {
        "that is the gradient of the weight": (g * normal).sum(0),
        added: g.mean(0),
        "the weight plays no part in the slope of the bias": (g * weight).sum(0),
    }
    return [first, second, third]


VJP_SLIPS = {
    "matmul": _matmul_slips,
    "softmax": _softmax_slips,
    "logsumexp": _logsumexp_slips,
    "layer_norm": _layer_norm_slips,
}
VJP_PARTS = {
    "matmul": ("the gradient of a", "the gradient of b"),
    "layer_norm": ("the gradient of x", "the gradient of weight", "the gradient of bias"),
}


def _check_each(names, answers, truths, slips) -> None:
    """Compare several tensors, and say what is wrong with each that is wrong."""
    wrong = []
    for name, yours, right, known in zip(names, answers, truths, slips, strict=True):
        # exp(x - logsumexp(x)) is right, too, and rounds x: near 1000 by 1e-4, in float32.
        rtol, atol = (1e-11, 1e-11) if right.dtype == torch.float64 else (1e-3, 1e-5)
        try:
            check_value(yours, right, name, known, rtol=rtol, atol=atol)
        except AssertionError as error:
            words = str(error)
            alike = isinstance(yours, Tensor) and (yours.shape, yours.dtype) == (
                right.shape,
                right.dtype,
            )
            if alike and torch.allclose(yours, right, rtol=1e-4, atol=1e-5):
                words = f"{name} {FEW_DIGITS}"
            if (
                isinstance(yours, Tensor)
                and yours.shape != right.shape
                and yours.dim() > right.dim()
            ):
                words += "; what was broadcast over the batch gets the sum of all payments"
            wrong.append(words)
    assert not wrong, "; ".join(wrong)


@ends_in_notebook
def check_vjp(try_vjp: Callable, rule: str, g: Tensor, *inputs: Tensor) -> None:
    """Compare an answer's rule with what autograd says of the operation.

    Args:
        try_vjp: from the rule's name and its arguments to what ``watched`` says of the call.
        rule: a key of ``OPERATIONS``.
        g: the gradient of the result.
        inputs: of the operation.
    """
    inputs = tuple(x.detach().to(course_utils.device).requires_grad_() for x in inputs)
    result, g = OPERATIONS[rule](*inputs), g.to(course_utils.device).detach()
    truth = torch.autograd.grad(result, inputs, g)
    given = [result] if rule == "softmax" else inputs[: 2 if rule != "logsumexp" else 1]
    given = [x.detach() for x in given]
    with count_operators() as counts:
        answer, names, changed = try_vjp(rule, g, *given)
    check_rules(names, changed, *NO_AUTOGRAD)
    check_rules(sorted(counts), False, *NO_AUTOGRAD)
    parts = VJP_PARTS.get(rule, ("the gradient of x",))
    answers = check_parts(answer, *parts) if len(truth) > 1 else [answer]
    _check_each(parts, answers, truth, VJP_SLIPS[rule](g, *given))


@ends_in_notebook
def check_vjps(try_vjp: Callable, *cases: tuple) -> None:
    """:func:`check_vjp` for several cases: a name, a rule, the gradient and the inputs."""
    with every_case() as case:
        for name, rule, *tensors in cases:
            with case(f"{rule}, {name}"):
                check_vjp(try_vjp, rule, *tensors)


# Bytes that are kept.

FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "exp": torch.exp,
    "mul": torch.mul,
    "normalize": F.normalize,
    "linear": F.linear,
    "cross_entropy": F.cross_entropy,
    "sigmoid": torch.sigmoid,
    "softplus": F.softplus,
    "prod": torch.prod,
    "gelu": F.gelu,
    "rows of exp, multiplied": lambda x: (lambda rows: (rows[:1] * rows[1:2]).sum())(x.exp()),
    "x[1:] * x[1:].exp()": lambda x: x[1:] * x[1:].exp(),
    "exp, fifty times": lambda x: reduce(lambda y, _: y.exp(), range(50), x),
    "relu(x + 1) @ ones": lambda x: F.relu(x + 1) @ x.new_ones(x.shape[1], 2),
}


def kept(result: Tensor) -> list[Tensor]:
    """The tensors that the graph of ``result`` saves."""
    nodes = draw_graph(result).nodes if result.requires_grad else []
    return [x for node in nodes for x in node.saved]


@ends_in_notebook
def check_bytes(try_saved_bytes: Callable, name: str, *inputs: Tensor, because: str = "") -> None:
    """Compare an answer's count of kept bytes with what the graph says.

    Args:
        try_saved_bytes: from a name and inputs to the count, the number of calls, and whether an
            input was changed.
        name: a key of ``FUNCTIONS``.
        inputs: of that function.
        because: words for who counts wrong.
    """
    inputs = tuple(x.to(course_utils.device) for x in inputs)
    result = FUNCTIONS[name](*inputs)
    held, there = kept(result), {x.untyped_storage().data_ptr() for x in inputs}
    fresh = [x for x in held if x.untyped_storage().data_ptr() not in there]
    truth = bytes_of(fresh)
    slips = {
        sum(
            x.untyped_storage().nbytes() for x in held
        ): "each storage once, the inputs' not at all",
        sum(x.untyped_storage().nbytes() for x in fresh): "each storage once",
        bytes_of(held): "the storages that the inputs lie in do not count",
        sum(x.numel() * x.itemsize for x in fresh): "count storages, not the elements of a view",
        len(fresh): "count bytes, not tensors",
        result.untyped_storage().nbytes(): "that is the result's own storage",
    }
    answer, calls, changed = try_saved_bytes(name, *inputs)
    blank = answer is None and calls == 0
    assert not blank, "the function was not called: is there an answer yet?"
    assert calls == 1, f"the function was called {calls} times, not once"
    assert not changed, (
        "an input was changed: its values, requires_grad or grad (no backward is needed to count)"
    )
    known = slips.get(answer) if isinstance(answer, int) and not isinstance(answer, bool) else None
    # How many addresses are used again depends on the machine: no number is said there.
    again = name == "exp, fifty times" and known is None and isinstance(answer, int)
    assert not (again and 0 < answer < truth), f"fewer bytes than are kept: {because}"
    words = "; ".join(part for part in (known, because) if part)
    check_equal(answer, truth, "the number of bytes", words if answer is not None else "")


def bytes_over_time(recording: bool, layers: int = 6) -> list[int]:
    """Kilobytes that the record of some layers keeps, after each layer and each step backward."""
    alive: weakref.WeakSet = weakref.WeakSet()
    course: list[int] = []
    weights = [torch.full((128, 128), 0.01, requires_grad=True) for _ in range(layers)]

    class Kept:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor
            alive.add(self)

    def note(*_: Any) -> None:
        course.append(bytes_of([kept.tensor for kept in alive], weights) // 1024)

    h = torch.ones(64, 128)
    note()
    hooks = torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.tensor)
    with torch.set_grad_enabled(recording), hooks:
        for number, weight in enumerate(weights):
            h = (h @ weight).tanh()
            note()
            if recording and number < layers - 1:
                h.register_hook(note)
        loss = h.sum()
    if recording:
        loss.backward()
        note()
    return course


# In-place edits.


def gradient_by_backward(function: Callable, upstream: Tensor, x: Tensor) -> Tensor:
    """The gradient of ``x`` as autograd has it."""
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(function(leaf), leaf, upstream)[0]


def numeric_gradient(function: Callable, upstream: Tensor, x: Tensor) -> Tensor:
    """The gradient of ``x`` by nudging each of its entries a little up and down, in float64."""
    nudges, slopes = 1e-5 * torch.eye(len(x), dtype=torch.float64, device=x.device), []
    with torch.no_grad():
        for nudge in nudges:
            high, low = function(x.double() + nudge), function(x.double() - nudge)
            slopes.append(((high - low) * upstream).sum() / 2e-5)
    return torch.stack(slopes).to(x.dtype)


def verdict_on(function: Callable) -> str:
    """Whether a function's gradient is ``"fine"``, ``"wrong"``, or an ``"error"``."""
    x, g = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([1.0, -1.0, 2.0])
    try:
        gradient = gradient_by_backward(function, g, x)
    except RuntimeError:
        return "error"
    right = torch.allclose(gradient, numeric_gradient(function, g, x), atol=1e-4)
    return "fine" if right else "wrong"


@ends_in_notebook
def check_repair(try_repaired: Callable, original: FunctionType, x: Tensor) -> None:
    """Compare a repaired function with the original: values, gradient, and ``x`` left alone.

    Args:
        try_repaired: from a name, ``x`` and the upstream gradient to words, or to the values, the
            gradient and whether ``x`` was changed.
        original: the function that edits in place.
        x: 1-D.
    """
    g = torch.linspace(-1, 2, len(x), dtype=x.dtype, device=x.device)
    with torch.no_grad():
        values = original(x.clone())
    answer = try_repaired(original.__name__, x, g)
    assert not isinstance(answer, str), answer
    assert not answer[2], "it changes its argument x: leave it as it was"
    loose = 1e-12 if x.dtype == torch.float64 else 1e-5
    check_close(answer[0], values, "its result", rtol=loose, atol=loose)
    truth = numeric_gradient(original, g, x)
    try:
        check_close(answer[1], truth, "the gradient of x", rtol=1e-4, atol=1e-4)
    except AssertionError as error:
        words = "is part of its way detached, or written through .data?"
        raise AssertionError(f"{error}; {words}") from None


@ends_in_notebook
def check_repairs(try_repaired: Callable, broken: Iterable[FunctionType], *inputs: Tensor) -> None:
    """:func:`check_repair` for several functions; of each the first input that it fails."""
    with every_case() as case:
        for original in broken:
            for x in inputs:
                failures = len(case.failures)
                kind = str(x.dtype).removeprefix("torch.")
                with case(f"repaired[{original.__name__!r}] with x of {len(x)}, {kind}"):
                    check_repair(try_repaired, original, x.to(course_utils.device))
                if len(case.failures) > failures:
                    break


# A network of two layers.


def network_by_autograd(x: Tensor, target: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
    """The cross entropy of two layers, and its gradients in ``w1``, ``b1``, ``w2``, ``b2``."""
    with torch.inference_mode(False), torch.enable_grad():
        w1, b1, w2, b2 = (w.clone().detach().requires_grad_() for w in weights)
        scores = F.relu(x.clone() @ w1 + b1) @ w2 + b2
        loss = F.cross_entropy(scores, target.clone())
        return loss.detach(), *torch.autograd.grad(loss, [w1, b1, w2, b2])


def network_slips(x, target, w1, b1, w2, b2) -> list[dict[str, Tensor]]:
    """For the loss and each gradient of two layers, what known slips lead to."""
    before, batch = x @ w1 + b1, len(x)
    h = before.relu()
    scores = h @ w2 + b2
    hot = F.one_hot(target, scores.shape[1]).to(x.dtype)

    def walk(g: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        g_h = (g @ w2.t()) * mask
        return x.t() @ g_h, g_h.sum(0), h.t() @ g, g.sum(0)

    right, mask = (scores.softmax(1) - hot) / batch, (before > 0).to(x.dtype)
    variants = {
        "the loss is a mean: divide its slope in the scores by the batch": (right * batch, mask),
        "slopes pass ReLU only where h is positive": (right, torch.ones_like(mask)),
        "subtract 1 at the target: softmax minus one-hot": (scores.softmax(1) / batch, mask),
        "the sign: softmax minus one-hot, not the other way round": (-right, mask),
        "at ReLU the slope is 0 or 1, not h itself": (right, h),
    }
    plain = scores.exp() / scores.exp().sum(1, keepdim=True)
    overflow = "exp of large scores is infinite: take softmax and logsumexp"
    variants[overflow] = ((plain - hot) / batch, mask)
    across = (scores.softmax(0) - hot) / batch
    variants["softmax runs over the classes of each row, not over the batch"] = across, mask
    walks = {words: walk(*variant) for words, variant in variants.items()}
    w1s, b1s, w2s, b2s = walk(right, mask)
    walks["every row pays: the payments are added, not averaged"] = (
        w1s,
        b1s / batch,
        w2s,
        b2s / batch,
    )
    each = scores.logsumexp(1) - scores.gather(1, target[:, None])[:, 0]
    first = {
        "the mean over the batch, not the sum": each.sum(),
        "logsumexp minus the target's score, not the other way round": -each.mean(),
        "the target's score is not subtracted": scores.logsumexp(1).mean(),
        "exp of large scores is infinite: take logsumexp": torch.full_like(each.mean(), torch.inf),
        overflow: -plain.gather(1, target[:, None])[:, 0].log().mean(),
    }
    return [first, *({words: found[n] for words, found in walks.items()} for n in range(4))]


@ends_in_notebook
def check_network(try_network: Callable, *arguments: Tensor) -> None:
    """Compare an answer's loss and gradients of two layers with autograd's.

    Args:
        try_network: from the arguments to what ``watched`` says of the call.
        arguments: ``x``, ``target``, ``w1``, ``b1``, ``w2``, ``b2``.
    """
    arguments = tuple(t.to(course_utils.device).detach() for t in arguments)
    answer, names, changed = try_network(*arguments)
    check_rules(names, changed, *NO_AUTOGRAD)
    what = ("the loss", *(f"the gradient of {name}" for name in ("w1", "b1", "w2", "b2")))
    parts = check_parts(answer, *what)
    _check_each(what, parts, network_by_autograd(*arguments), network_slips(*arguments))


@ends_in_notebook
def check_networks(try_network: Callable, *cases: tuple) -> None:
    """:func:`check_network` for several cases: a name and the arguments."""
    with every_case() as case:
        for name, *arguments in cases:
            with case(name):
                check_network(try_network, *arguments)
