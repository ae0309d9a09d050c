"""How the exercise on a tensor with units is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from course_utils.chapters.internals.scenarios import Scenario, error_of, given
from course_utils.chapters.internals.small_torch import plain


class Measured:
    """A tensor with a unit, which is written like a number: the operators call PyTorch's functions.

    Attributes:
        value: a tensor.
        unit: from names to powers that aren't 0.
    """

    def __init__(self, value: torch.Tensor, unit: dict[str, int]) -> None:
        self.value, self.unit = value, unit

    def __repr__(self) -> str:
        powers = " ".join(f"{name}^{power}" for name, power in self.unit.items())
        return f"{self.value.tolist()} {powers or 'no unit'}"

    def __add__(self: Any, other):
        return torch.add(self, other)

    def __sub__(self: Any, other):
        return torch.sub(self, other)

    def __mul__(self: Any, other):
        return torch.mul(self, other)

    def __truediv__(self: Any, other):
        return torch.div(self, other)

    __radd__, __rmul__ = __add__, __mul__


def _facts(result: Any, Quantity: type) -> tuple:
    given(result, "the result")
    name = type(result).__name__
    assert isinstance(result, Quantity), f"the result is a {name}: it has lost its unit"
    assert isinstance(result.value, torch.Tensor), f"value is a {type(result.value).__name__}"
    whole = all(type(power) is int for power in result.unit.values())
    assert whole, f"the unit is {result.unit}: powers stay whole numbers, and / gives a float"
    return plain(result.value.detach()), dict(sorted(result.unit.items()))


def _metres(Quantity: type, values: Any = (3.0, 4.0), **unit: int) -> Any:
    return Quantity(torch.tensor(values), unit or {"m": 1})


def _case(program: Callable, right: Any, because: str) -> Scenario:
    def run(Quantity):
        try:
            return _facts(program(Quantity), Quantity)
        except TypeError as error:
            if "mapping, not NoneType" in str(error):
                raise AssertionError("kwargs is None where no keyword was given") from None
            raise

    return Scenario(run, right, because)


def _error(program: Callable, right: str, because: str) -> Scenario:
    return Scenario(lambda Quantity: error_of(lambda: program(Quantity), right), right, because)


def _its(result: Any, name: str) -> Any:
    """An attribute of a result that PyTorch's hints take for a tensor."""
    return getattr(given(result, "the result"), name)


def _grad(Quantity):
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    q = Quantity(x, {"m": 1})
    result = torch.sum(torch.mul(q, q))
    _facts(result, Quantity)
    _its(result, "value").backward()
    return plain(x.grad)


def _grad_of_a_plain_one(Quantity):
    """The gradients of plain tensors on the left and on the right of a quantity."""
    found = []
    for way in (lambda x: torch.mul(x, _metres(Quantity)), lambda x: _metres(Quantity) / x):
        x = torch.tensor([1.0, 1.0], requires_grad=True)
        result = way(x)
        _facts(result, Quantity)
        value = _its(result, "value")
        assert value.requires_grad, "the gradient of the plain tensor is lost: no detach"
        value.sum().backward()
        found.append(plain(x.grad))
    return tuple(found)


def _more_grads(Quantity):
    x = torch.tensor([4.0, 16.0], requires_grad=True)
    area = Quantity(x, {"m": 2})
    result = torch.mean(torch.sub(torch.sqrt(area), torch.div(area, _metres(Quantity, 2.0))))
    _facts(result, Quantity)
    _its(result, "value").backward()
    return plain(x.grad)


def _arguments(Quantity):
    q, r = _metres(Quantity), _metres(Quantity, (2.0, 4.0), s=1)
    _its(torch.add(q, q), "unit")["kg"] = 5
    torch.div(q, r)
    torch.mul(q, r)
    _its(torch.sqrt(torch.mul(q, q)), "unit")["A"] = 1
    _its(torch.sum(q), "unit")["K"] = 1
    others = [torch.sub(q, q), torch.mul(q, 2), torch.div(q, 2), torch.mean(q), 2 * r]
    for result in others:
        _its(result, "unit")["mol"] = 1
    return [(plain(x.value), dict(x.unit)) for x in (q, r)]


def _no_unit_twice(Quantity):
    """The units of two quotients that have none, after something was put into the first."""
    q = _metres(Quantity)
    first, second = (_its(torch.div(q, q), "unit") for _ in range(2))
    first["kg"] = 5
    return second, _its(torch.div(q, q), "unit")


def _others(Quantity):
    """What functions with other names raise."""
    functions = [torch.prod, torch.cumsum, torch.abs, torch.square, torch.amax, torch.std]
    pairs = [torch.multiply, torch.subtract, torch.true_divide, torch.maximum]
    q = _metres(Quantity)
    calls = [lambda f=f: f(q, *([0] if f is torch.cumsum else [])) for f in functions]
    calls += [lambda f=f: f(q, q) for f in pairs]
    names = [f.__name__ for f in functions + pairs]
    return {n: e for n, e in zip(names, map(error_of, calls), strict=True) if e != "TypeError"}


class _Other:
    """Another class behind the same door, which has an answer to every function."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "answered by the other class"


_plain = "a plain tensor or number has no unit"
_method = "here func is the method of Tensor, another object with the same name: go by its name"
UNITS = {
    "metres + metres": _case(
        lambda Q: torch.add(_metres(Q), _metres(Q)), ([6.0, 8.0], {"m": 1}), "the unit stays"
    ),
    "m/s + m/s, the names in another order": _case(
        lambda Q: torch.add(_metres(Q, m=1, s=-1), _metres(Q, s=-1, m=1)),
        ([6.0, 8.0], {"m": 1, "s": -1}),
        "units are equal in whatever order their names stand",
    ),
    "metres - metres, written with -": _case(
        lambda Q: _metres(Q) - _metres(Q, (1.0, 1.0)), ([2.0, 3.0], {"m": 1}), "the unit stays"
    ),
    "add with alpha=2": _case(
        lambda Q: torch.add(_metres(Q), _metres(Q), alpha=2),
        ([9.0, 12.0], {"m": 1}),
        "keywords are handed on",
    ),
    "metres * metres": _case(
        lambda Q: _metres(Q) * _metres(Q), ([9.0, 16.0], {"m": 2}), "powers are added"
    ),
    "metres / seconds": _case(
        lambda Q: _metres(Q) / _metres(Q, (2.0, 4.0), s=1),
        ([1.5, 1.0], {"m": 1, "s": -1}),
        "powers are subtracted",
    ),
    "metres / metres": _case(
        lambda Q: torch.div(_metres(Q), _metres(Q)), ([1.0, 1.0], {}), "a power of 0 is left out"
    ),
    "m/s * s": _case(
        lambda Q: _metres(Q, m=1, s=-1) * _metres(Q, s=1),
        ([9.0, 16.0], {"m": 1}),
        "a power of 0 is left out",
    ),
    "m/s² * kg·s": _case(
        lambda Q: _metres(Q, m=1, s=-2) * _metres(Q, kg=1, s=1),
        ([9.0, 16.0], {"kg": 1, "m": 1, "s": -1}),
        "every name of both units counts",
    ),
    "div with rounding_mode": _case(
        lambda Q: torch.div(_metres(Q), _metres(Q, (2.0, 3.0), s=1), rounding_mode="floor"),
        ([1.0, 1.0], {"m": 1, "s": -1}),
        "keywords are handed on",
    ),
    "metres * 2": _case(lambda Q: _metres(Q) * 2, ([6.0, 8.0], {"m": 1}), _plain),
    "2 * metres": _case(lambda Q: 2 * _metres(Q), ([6.0, 8.0], {"m": 1}), _plain),
    "a plain tensor * metres": _case(
        lambda Q: torch.tensor([2.0, 3.0]) * _metres(Q),
        ([6.0, 12.0], {"m": 1}),
        _plain,
    ),
    "a plain tensor / metres, written with /": _case(
        lambda Q: torch.tensor([6.0, 8.0]) / _metres(Q),
        ([2.0, 2.0], {"m": -1}),
        f"{_plain}; and here func is the method of Tensor, not torch.div: go by its name",
    ),
    "a plain tensor / metres": _case(
        lambda Q: torch.div(torch.tensor([6.0, 8.0]), _metres(Q)),
        ([2.0, 2.0], {"m": -1}),
        _plain,
    ),
    "add, as a method of a plain tensor": _case(
        lambda Q: torch.ones(2).add(Q(torch.tensor([3.0, 1.0]), {})), ([4.0, 2.0], {}), _method
    ),
    "sub, as a method of a plain tensor": _case(
        lambda Q: torch.ones(2).sub(Q(torch.tensor([3.0, 1.0]), {})), ([-2.0, 0.0], {}), _method
    ),
    "no unit + a plain tensor": _case(
        lambda Q: torch.add(Q(torch.ones(2), {}), torch.ones(2)), ([2.0, 2.0], {}), _plain
    ),
    "the root of m²": _case(
        lambda Q: torch.sqrt(_metres(Q, (9.0, 16.0), m=2, s=-4)),
        ([3.0, 4.0], {"m": 1, "s": -2}),
        "powers are halved, and are whole numbers",
    ),
    "the root of no unit": _case(
        lambda Q: torch.sqrt(Q(torch.tensor([9.0, 16.0]), {})),
        ([3.0, 4.0], {}),
        "no power, so none that is odd",
    ),
    "a float32 number of metres * a plain float64 tensor": _case(
        lambda Q: torch.mul(_metres(Q), torch.tensor([1e300, 2e300], dtype=torch.float64)),
        ([3e300, 8e300], {"m": 1}),
        "func gets the plain values as they are: another dtype may lose them",
    ),
    "the sum": _case(lambda Q: torch.sum(_metres(Q)), (7.0, {"m": 1}), "the unit stays"),
    "the mean of m/s": _case(
        lambda Q: torch.mean(_metres(Q, m=1, s=-1)), (3.5, {"m": 1, "s": -1}), "the unit stays"
    ),
    "the mean along dim=0": _case(
        lambda Q: torch.mean(_metres(Q, [[1.0, 2.0], [3.0, 4.0]]), dim=0),
        ([2.0, 3.0], {"m": 1}),
        "the unit stays, and dim is handed on",
    ),
    "the sum along 0, by position": _case(
        lambda Q: torch.sum(_metres(Q, [[1.0, 2.0], [3.0, 4.0]]), 0),
        ([4.0, 6.0], {"m": 1}),
        "every argument is handed on, here the dimension: it is a number without a unit",
    ),
    "the mean along 1, by position": _case(
        lambda Q: torch.mean(_metres(Q, [[1.0, 2.0], [3.0, 5.0]]), 1),
        ([1.5, 4.0], {"m": 1}),
        "every argument is handed on, here the dimension: it is a number without a unit",
    ),
    "the sum, with keepdim and dtype": _case(
        lambda Q: torch.sum(_metres(Q, (2.0**127,) * 4), dim=0, keepdim=True, dtype=torch.float64),
        ([2.0**129], {"m": 1}),
        "all keywords are handed on, whatever their names",
    ),
    "float64 values": _case(
        lambda Q: torch.add(*(Q(torch.tensor([1e300], dtype=torch.float64), {"m": 1}),) * 2),
        ([2e300], {"m": 1}),
        "any dtype will do, and stays",
    ),
    "int64 values": _case(
        lambda Q: torch.mul(_metres(Q, (2**60 + 1, 4)), 2),
        ([2**61 + 2, 8], {"m": 1}),
        "any dtype will do; a number is handed on as it is",
    ),
    "a bfloat16 value of no dimension * 0.1": _case(
        lambda Q: torch.mul(Q(torch.tensor(3.0, dtype=torch.bfloat16), {"m": 1}), 0.1),
        (0.30078125, {"m": 1}),
        "a number is handed on as it is: made a tensor, it would turn the result to float32",
    ),
    "metres + seconds": _error(
        lambda Q: torch.add(_metres(Q), _metres(Q, s=1)), "ValueError", "unequal units don't add"
    ),
    "metres - m²": _error(
        lambda Q: torch.sub(_metres(Q), _metres(Q, m=2)), "ValueError", "unequal units don't add"
    ),
    "metres + 1": _error(lambda Q: _metres(Q) + 1, "ValueError", _plain),
    "a plain tensor + metres": _error(
        lambda Q: torch.ones(2) + _metres(Q), "ValueError", f"{_plain}; and {_method}"
    ),
    "the root of metres": _error(
        lambda Q: torch.sqrt(_metres(Q)), "ValueError", "an odd power can't be halved"
    ),
    "the root of m/s": _error(
        lambda Q: torch.sqrt(_metres(Q, m=1, s=-1)),
        "ValueError",
        "an odd power can't be halved; each is looked at by itself",
    ),
    "the root of 1/s": _error(
        lambda Q: torch.sqrt(_metres(Q, m=2, s=-1)),
        "ValueError",
        "an odd power can't be halved, a negative one no more than a positive one",
    ),
    "the root of m²·s": _error(
        lambda Q: torch.sqrt(_metres(Q, m=2, s=1)),
        "ValueError",
        "an odd power can't be halved; each is looked at by itself",
    ),
    "the root of 1/s³": _error(
        lambda Q: torch.sqrt(_metres(Q, s=-3)),
        "ValueError",
        "an odd power can't be halved, -3 no more than -1",
    ),
    "sub with alpha=2": _case(
        lambda Q: torch.sub(_metres(Q), _metres(Q, (1.0, 1.0)), alpha=2),
        ([1.0, 2.0], {"m": 1}),
        "keywords are handed on, and the function is the one that was called",
    ),
    "m²·kg/s / (m²·kg)": _case(
        lambda Q: torch.div(_metres(Q, m=2, kg=1, s=-1), _metres(Q, (1.0, 2.0), kg=1, m=2)),
        ([3.0, 2.0], {"s": -1}),
        "each power of 0 is left out, not one of them alone",
    ),
    "nansum of metres": _error(
        lambda Q: torch.nansum(_metres(Q)),
        "TypeError",
        "nansum is another name than sum: for all other functions return NotImplemented",
    ),
    "addcmul of metres": _error(
        lambda Q: torch.addcmul(_metres(Q), _metres(Q), _metres(Q)),
        "TypeError",
        "addcmul is another name than add: for all other functions return NotImplemented",
    ),
    "exp of metres": _error(
        lambda Q: torch.exp(_metres(Q)),
        "TypeError",
        "for all other functions return NotImplemented; PyTorch raises the error",
    ),
    "the negative of metres": _error(
        lambda Q: torch.neg(_metres(Q)),
        "TypeError",
        "for all other functions return NotImplemented; PyTorch raises the error",
    ),
    "add_, in place": _error(
        lambda Q: torch.ones(2).add_(Q(torch.ones(2), {})),
        "TypeError",
        "add_ is another name than add: for all other functions return NotImplemented",
    ),
    "ten other names": Scenario(
        _others, {}, "another name than the seven: for all other functions return NotImplemented"
    ),
    "stack": _error(
        lambda Q: torch.stack([_metres(Q), _metres(Q)]),
        "TypeError",
        "for all other functions return NotImplemented; PyTorch raises the error",
    ),
    "another class that has an answer": Scenario(
        lambda Q: torch.atan2(_metres(Q), _Other()),  # ty: ignore[invalid-argument-type]
        "answered by the other class",
        "for all other functions return NotImplemented, so that another class may answer",
    ),
    "the gradient of the sum of squares": Scenario(
        _grad, [6.0, 8.0], "value is computed by PyTorch, from the value as it is: no detach"
    ),
    "the gradient of a mean, a root, a difference and a quotient": Scenario(
        _more_grads,
        [-0.125, -0.1875],
        "value is computed by PyTorch, from the value as it is: no detach",
    ),
    "two quotients without a unit": Scenario(
        _no_unit_twice,
        ({}, {}),
        "the unit of a result is a new dict, always: here two results share an empty one",
    ),
    "the gradient of a plain tensor * metres": Scenario(
        _grad_of_a_plain_one,
        ([3.0, 4.0], [-3.0, -4.0]),
        "a plain tensor is handed to func as it is: its gradient flows, too, so no detach",
    ),
    "the arguments afterwards": Scenario(
        _arguments,
        [([3.0, 4.0], {"m": 1}), ([2.0, 4.0], {"s": 1})],
        "an argument has changed: the unit of a result is a new dict, always",
    ),
}
