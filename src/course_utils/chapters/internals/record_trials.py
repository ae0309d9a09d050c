"""How the kernel in front, which records, is tried in the exercise on autograd."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from course_utils.chapters.internals.scenarios import Scenario, given
from course_utils.chapters.internals.small_torch import SLOPES, Handle, plain
from course_utils.chapters.internals.spare_parts import TwoFloors
from course_utils.chapters.internals.tape_programs import numbers, ready


def _record(program: Callable) -> Callable:
    """A scenario that looks at the result of a program."""
    return lambda autograd_kernel, backward: program(ready(autograd_kernel).call)


def _value(call):
    x, y = numbers([1.0, 2.0], True), numbers([10.0, 20.0])
    result = given(call("add", x, y), "what the kernel returned")
    return plain(result), result.requires_grad, sorted(result.keys)


def _unrecorded(call):
    x, y = Handle(np.ones(2), "NumPy", "Autograd"), numbers([3.0, 4.0])
    result = given(call("mul", x, y), "what the kernel returned")
    return plain(result), result.requires_grad, result.node is None, sorted(result.keys)


def _second_argument(call):
    result = call("mul", numbers([1.0]), numbers([2.0], True))
    return given(result, "what the kernel returned").requires_grad


def _arguments(call):
    x, y, z = numbers([1.0], True), numbers([2.0]), numbers([3.0], True)
    call("mul", x, y)
    call("mul", y, z)
    return [(h.requires_grad, h.node is None, h.grad is None, sorted(h.keys)) for h in (x, y, z)]


def _open_again(autograd_kernel, backward):
    """Whether the key Autograd is asked again after a kernel that failed."""
    dispatcher = ready(autograd_kernel)
    x, wrong = numbers(np.ones((2, 3)), True), numbers(np.ones((2, 3)), True)
    with suppress(ValueError):
        dispatcher.call("matmul", x, wrong)
    return dispatcher.call("relu", x).requires_grad


def _in_front(autograd_kernel, made: Handle) -> TwoFloors:
    """A dispatcher whose kernel of ``mul`` on lists gives ``made``, with the answer in front."""
    dispatcher = TwoFloors()
    dispatcher.register("mul", "List", lambda *values: made)
    kernel = given(autograd_kernel(dispatcher, "mul", SLOPES["mul"]), "autograd_kernel's result")
    dispatcher.register("mul", "Autograd", kernel)
    return dispatcher


def _itself(autograd_kernel, backward):
    """Whether the kernel returns the very handle that the operator gave."""
    made, x = Handle([4.0], "List"), Handle([2.0], "List", requires_grad=True)
    return _in_front(autograd_kernel, made).call("mul", x, x) is made


def _own_keys(autograd_kernel, backward):
    """The keys of a result that is on another backend than the values."""
    made, x = Handle([4.0], "Array"), Handle([2.0], "List", requires_grad=True)
    _in_front(autograd_kernel, made).call("mul", x, x)
    return sorted(made.keys)


def _handed(autograd_kernel, backward):
    """Whether the operator's kernel gets the very values, and which key the block is below."""
    keys, got = [], []

    class Told(TwoFloors):
        def below(self, key):
            keys.append(key)
            return super().below(key)

    dispatcher = Told()
    dispatcher.register(
        "mul", "Array", lambda *values: got.extend(values) or Handle([4.0], "Array")
    )
    kernel = given(autograd_kernel(dispatcher, "mul", SLOPES["mul"]), "autograd_kernel's result")
    dispatcher.register("mul", "Autograd", kernel)
    x, y = Handle([2.0], "Array", requires_grad=True), Handle([2.0], "Array")
    dispatcher.call("mul", x, y)
    return keys, [one is other for one, other in zip(got, (x, y), strict=True)]


def _left_alone(autograd_kernel, backward):
    """What becomes of a result with the key Autograd where nothing is recorded."""
    made, x = Handle([4.0], "List", requires_grad=True), Handle([2.0], "List", "Autograd")
    _in_front(autograd_kernel, made).call("mul", x, x)
    return made.requires_grad, made.node is None, sorted(made.keys)


RECORD = {
    "a sum": Scenario(
        _record(_value),
        ([11.0, 22.0], True, ["Autograd", "NumPy"]),
        "the value is the backend's; the result requires grad, and has the key Autograd too",
    ),
    "the second argument requires grad": Scenario(
        _record(_second_argument), True, "any argument will do, not the first alone"
    ),
    "the key Autograd, but nothing requires grad": Scenario(
        _record(_unrecorded),
        ([3.0, 4.0], False, True, ["NumPy"]),
        "the key alone says nothing: where no argument requires grad, leave the result alone",
    ),
    "the arguments afterwards": Scenario(
        _record(_arguments),
        [
            (True, True, True, ["Autograd", "NumPy"]),
            (False, True, True, ["NumPy"]),
            (True, True, True, ["Autograd", "NumPy"]),
        ],
        "the arguments stay as they were; the result is what gets a node",
    ),
    "what the operator gets": Scenario(
        _handed,
        (["Autograd"], [True, True]),
        'in a block below("Autograd") the operator gets the values themselves',
    ),
    "the result itself": Scenario(
        _itself, True, "what the operator gave is returned itself, with a note on it"
    ),
    "a result on another backend": Scenario(
        _own_keys,
        ["Array", "Autograd"],
        "the result has its own keys, whatever those of the values are, and the key Autograd too",
    ),
    "nothing requires grad, the result does": Scenario(
        _left_alone,
        (True, True, ["Autograd", "List"]),
        "where no argument requires grad, the result is left alone, whatever is on it",
    ),
    "after a kernel that failed": Scenario(
        _open_again, True, "the block below(…) has to end also when a kernel raises"
    ),
}
