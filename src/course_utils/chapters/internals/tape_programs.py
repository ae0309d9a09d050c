"""Programs of a few calls, run by the learner's autograd and by PyTorch's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch

from course_utils.chapters.internals.scenarios import Scenario, given
from course_utils.chapters.internals.small_torch import (
    NUMPY_KERNELS,
    SLOPES,
    Handle,
    plain,
    wrapped,
)
from course_utils.chapters.internals.spare_parts import TwoFloors, numpy_dispatcher
from course_utils.learner.line_limits import TooManyLines, at_most_lines


def numbers(values, grad: bool = False) -> Handle:
    """A handle on a float64 array for the backend ``NumPy``."""
    return Handle(np.asarray(values, dtype=np.float64), "NumPy", requires_grad=grad)


def ready(autograd_kernel: Callable, walked: list | None = None):
    """A dispatcher with the NumPy backend, and the answer's kernels in front of it.

    Args:
        autograd_kernel: the learner's function.
        walked: gets an entry for each call of slopes.
    """
    dispatcher = numpy_dispatcher()
    for name, slopes in SLOPES.items():
        kernel = given(
            autograd_kernel(dispatcher, name, _told(slopes, walked)),
            "what autograd_kernel returned",
        )
        assert callable(kernel), f"autograd_kernel returned a {type(kernel).__name__}: no kernel"
        dispatcher.register(name, "Autograd", partial(_keeps_its_key, kernel))
    for name in NUMPY_KERNELS.keys() - SLOPES.keys():
        dispatcher.register(name, "Autograd", partial(asked_again, name))
    return dispatcher


def _told(slopes: Callable, walked: list | None) -> Callable:
    """The slopes, with words for a result that isn't handed on."""

    def run(call: Callable, g: Handle, result: Any, *values: Handle) -> Any:
        words = "slopes(call, g, result, *values): its third argument is the handle of the result"
        assert isinstance(result, Handle), words
        if walked is not None:
            walked.append(slopes)
        return slopes(call, g, result, *values)

    return run


def _keeps_its_key(kernel: Callable, *values: Any) -> Any:
    try:
        result = kernel(*values)
    except RecursionError:
        words = "the kernel under Autograd is asked again without end: call the operator below it"
        raise AssertionError(words) from None
    except AttributeError as error:
        if "_GeneratorContextManager" not in str(error):
            raise
        words = "a block of below(…) opens once: call dispatcher.below(…) anew in each call"
        raise AssertionError(words) from None
    words = "the result has lost the backend's key: it has the key Autograd too, beside its own"
    assert not isinstance(result, Handle) or "NumPy" in result.keys, words
    return result


def asked_again(name: str, *_: Any) -> None:
    """Stands under Autograd for an operator that backward alone calls, below it."""
    raise AssertionError(f"{name} was asked under Autograd: gradients are computed below it")


def _gradients(program: str, **inputs) -> Callable:
    """A scenario: run a program of calls, go backward from ``y``, give the inputs' gradients."""

    def run(autograd_kernel, backward):
        dispatcher = ready(autograd_kernel)
        names = {n: numbers(v, n.isupper()) for n, v in inputs.items()}
        _run(program, names, dispatcher.call)
        backward(dispatcher, names["y"], numbers(np.ones_like(names["y"].stored)))
        return {n: plain(names[n].grad) for n in inputs}

    return run


def _run(program: str, names: dict, call: Callable) -> None:
    """Lines such as ``y = mul A b``: an operator, and the names of its arguments."""
    for line in program.split("; "):
        target, _, right = line.partition(" = ")
        name, *arguments = right.split()
        names[target] = given(call(name, *(names[a] for a in arguments)), "a result")


def by_torch(program: str, **inputs) -> dict:
    """The gradients of the same program by PyTorch; capital letters require grad."""
    calls = {
        "add": torch.add,
        "mul": torch.mul,
        "matmul": torch.matmul,
        "relu": torch.relu,
        "cross_entropy": torch.nn.functional.cross_entropy,
    }
    names = {
        n: torch.tensor(np.asarray(v, dtype=float), requires_grad=n.isupper())
        for n, v in inputs.items()
    }
    with torch.enable_grad():
        _run(program, names, lambda name, *values: calls[name](*values))
        names["y"].sum().backward()
    return {n: plain(None if names[n].grad is None else names[n].grad) for n in inputs}


def as_torch(program: str, because: str, **inputs) -> Scenario:
    """A scenario: the program's gradients are those that PyTorch gives."""
    unpaid = (
        dict.fromkeys(inputs),
        "no leaf was paid: is the way back kept on the result, with the values themselves?",
    )
    return Scenario(_gradients(program, **inputs), by_torch(program, **inputs), because, (unpaid,))


@contextmanager
def few_lines(limit: int) -> Generator[None]:
    """Raise an AssertionError once so many lines of Python have run in the block."""
    try:
        with at_most_lines(limit):
            yield
    except TooManyLines:
        raise AssertionError(
            "each step takes twice as long as the last: a value hands on once, when everyone who "
            "used it has paid in"
        ) from None


def on_lists(autograd_kernel: Callable, backward: Callable) -> Any:
    """A backend that stores lists: what is stored can't be added by a plus sign."""
    dispatcher = TwoFloors()
    kernels = {"add": operator.add, "mul": operator.mul, "sum_to": lambda a, b: a}
    for name, kernel in kernels.items():
        each = partial(_entry_by_entry, kernel)
        dispatcher.register(name, "List", wrapped(each, "List"))
        dispatcher.register(name, "Autograd", partial(asked_again, name))
    for name in ("add", "mul"):
        dispatcher.register(name, "Autograd", autograd_kernel(dispatcher, name, SLOPES[name]))
    x = Handle([2.0, 3.0], "List", requires_grad=True)
    y = dispatcher.call("mul", x, x)
    for _ in range(2):
        backward(dispatcher, y, Handle([1.0, 10.0], "List"))
    return plain(x.grad)


def kept_by_a_constant(autograd_kernel: Callable, backward: Callable) -> Any:
    """A leaf that doesn't require grad, and has the gradient of an earlier time."""
    dispatcher = ready(autograd_kernel)
    x, c, old = numbers([2.0], True), numbers([3.0]), numbers([7.0])
    c.grad = old
    backward(dispatcher, dispatcher.call("mul", x, c), numbers([1.0]))
    return plain(x.grad), plain(c.grad), c.grad is old


def three_values(autograd_kernel: Callable, backward: Callable) -> Any:
    """An operator of three values, x * y + z."""
    dispatcher = ready(autograd_kernel)
    slopes = lambda call, g, result, x, y, z: (call("mul", g, y), call("mul", g, x), g)  # noqa: E731
    dispatcher.register("fma", "NumPy", wrapped(lambda x, y, z: x * y + z, "NumPy"))
    dispatcher.register("fma", "Autograd", autograd_kernel(dispatcher, "fma", slopes))
    x, y, z = (numbers([number], True) for number in (2.0, 3.0, 5.0))
    backward(dispatcher, dispatcher.call("fma", x, y, z), numbers([10.0]))
    return [plain(handle.grad) for handle in (x, y, z)]


def _entry_by_entry(kernel: Callable, x: list, y: list) -> list:
    return [kernel(a, b) for a, b in zip(x, y, strict=True)]


EARLY = "a value hands on only when everyone who used it has paid in"
_ab = {"A": [2.0], "B": [0.5]}
# Programs in which a step is used more than once: as cases of the check.
LATER = {
    "squared": as_torch("s = mul A B; t = mul s s; u = mul s B; y = add u t", EARLY, **_ab),
    "squared, then a longer way": as_torch(
        "s = mul A B; t = mul s s; u = mul s B; v = mul u B; y = add t v", EARLY, **_ab
    ),
    "a step that a dead end uses as well": as_torch(
        "s = mul A B; u = mul s A; y = mul s B; v = mul u y",
        "y is reached, u and v aren't: count who uses a value on the way from the result alone",
        **_ab,
    )._replace(slips=()),
    "a late step by another operator": as_torch(
        "r = mul A B; s = mul r B; u = relu s; y = mul s u",
        f"{EARLY}: here s waits for u, the first relu, though s is the second mul",
        **_ab,
    ),
}
