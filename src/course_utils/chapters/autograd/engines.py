"""Exercise 5.4: an engine for single numbers."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from course_utils.learner.tracebacks import ends_in_notebook, what_was_raised

NO_RULE = "a rule returns None: is there an answer yet?"


EARLY = "s may hand on only when all who used it have paid in, t among them"
# Programs for the order, of sums alone, at a = 1 and b = 2.
ORDERS = ["y = a + b", "y = a + a", "s = a + b; t = s + s; y = s + t"]
ORDERS += ["s = a + b; t = s + s; y = t + s", "p = a + b; q = p + b; r = q + q; y = r + a"]
ORDERS += ["s = a + b; t = s + a; y = s + b", "p = a + a; q = p + p; r = q + q; y = r + p"]
ORDERS += ["s = a + b; t = s + s; r = s + a; y = r + t", "p = a + b; q = b + a; y = p + q"]
ORDERS += ["s = a + b; t = s + s; r = t + s; y = s + a", "p = a + b; q = a + b; y = p + q"]
# Programs for backward, at a = 2 and b = 0.5, each with words for who gets it wrong.
ENGINES = {
    "y = a + b": "",
    "y = a + a": "a is used twice, and both payments count",
    "s = a * b; y = s + s": "s is one value, with two ways to it",
    "p = a + a; q = p + p; y = q + q": "each way to a counts",
    "s = a * b; t = s.exp(); y = s * t": EARLY,
    "s = a * b; t = s.exp(); y = t * s": EARLY,
    "p = a * b; q = p + b; y = p * q": "p was used by q and by y",
    "s = a * b; t = s * s; r = s.exp(); y = r * t": EARLY.replace("t among", "t and r among"),
    "t = a ** 2; y = t * a": "b is not used: its gradient stays 0",
    "s = a * b; t = s * s; y = s * a": "t isn't behind y: s doesn't wait for a payment from it",
    "p = a + b; q = b + a; y = p * q": "p and q are two values, whose numbers are equal",
    "p = a + b; q = a + b; y = p * q": "p and q are two values, though made alike",
    "y = a": "y is a itself",
}


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


# Single steps for `check_rule`, with a and b: factors of 0, negative bases, exponents of each kind.
MORE_RULES: list[tuple[str, float, float]] = [
    *(("y = a * b", a, b) for a, b in ((0, 3), (3, 0), (0, 0), (-2, -0.5))),
    ("y = b * a", 0, 3),
    *(("y = a * a", a, 3) for a in (0, -3)),
    *(("y = a ** 2", a, 3) for a in (-3, 0, 0.01)),
    *((f"y = a ** {n}", -2, 3) for n in (-1, -2, 1, 2.0, 4)),
    *((f"y = a ** {n}", 4, 3) for n in (1.5, -0.5, 1, 10)),
    ("y = a ** 3", 0, 3),
    *(("y = a.exp()", a, 3) for a in (0, 20, 700, -30)),
]
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
    try:
        number, found = try_rule(program, **inputs)
    except (ZeroDivisionError, ValueError) as error:
        words = "a number may be 0 or negative: no division by it, and no logarithm of it"
        raise AssertionError(f"{what_was_raised(error)}; {words}") from error
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
    alike = any(parents[one] and parents[one] == parents[name] for one in missing for name in order)
    words = "; two values that were made alike are two" * alike
    assert not missing, f"{', '.join(missing)} missing (yours: {shown or 'an empty list'}{words})"
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
    raised = "the limit of nested calls was raised: keep a list of your own, in place of recursion"
    assert found != "setrecursionlimit", raised
    often = (
        "the same values are walked again and again, once for each way to them: note who was seen"
    )
    assert found != "TooManyLines", often
    assert found is not None, f"{what}: None; is there an answer yet?"
    assert found == right, f"{what}: {right}, not {found}"
