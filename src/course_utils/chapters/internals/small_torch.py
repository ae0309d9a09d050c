"""The parts of the small PyTorch that a learner is given: its tensors, two backends, the slopes."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# A kernel that only steps aside: the next key is asked.
FALLTHROUGH = "fall through"


def fresh_strides(size: Sequence[int]) -> tuple[int, ...]:
    """The strides of a new tensor, row by row; a size of 0 counts as 1."""
    return tuple(math.prod(max(n, 1) for n in size[dim + 1 :]) for dim in range(len(size)))


class MyTensor:
    """A note about a list of numbers: where an index is found.

    Args:
        storage: the numbers, a plain list, which tensors may share.
        size: how many entries each dimension has.
        stride: the step in the list for each dimension; those of a new tensor if left out.
        offset: where index 0, 0, … is found.
    """

    def __init__(self, storage: list, size=(), stride=None, offset: int = 0) -> None:
        self.storage, self.size, self.offset = storage, tuple(size), offset
        self.stride = fresh_strides(self.size) if stride is None else tuple(stride)

    def tolist(self) -> Any:
        """Nested lists, or the number itself where there is no dimension."""

        def part(dim: int, place: int) -> Any:
            if dim == len(self.size):
                return self.storage[place]
            return [part(dim + 1, place + i * self.stride[dim]) for i in range(self.size[dim])]

        return part(0, self.offset)

    def view(self, size: Sequence[int], stride: Sequence[int], offset: int = 0) -> MyTensor:
        """Another note about the same list; ``offset`` is added to this one's."""
        return MyTensor(self.storage, size, stride, self.offset + offset)

    def __repr__(self) -> str:
        return f"MyTensor({self.tolist()})"


class Handle:
    """What a dispatcher sees of a tensor: what it stores, its keys, and what autograd keeps on it.

    Args:
        stored: what the backend's kernels compute with.
        keys: the names of its dispatch keys.
        requires_grad: adds the key ``"Autograd"``.

    Attributes:
        node: how it was made, for backward; ``None`` at a leaf.
        grad: its gradient, a handle, after backward.
    """

    def __init__(self, stored: Any, *keys: str, requires_grad: bool = False) -> None:
        self.stored, self.requires_grad = stored, requires_grad
        self.keys = frozenset(keys) | ({"Autograd"} if requires_grad else set())
        self.node: Any = None
        self.grad: Any = None

    def __repr__(self) -> str:
        return f"Handle({self.stored!r}, {', '.join(sorted(self.keys))})"


def _data(values: Sequence[Any]) -> list[Any]:
    return [value.stored if isinstance(value, Handle) else value for value in values]


def wrapped(kernel: Callable, key: str) -> Callable:
    """A kernel on handles from one on their data; the result has the key ``key`` alone."""
    return lambda *values: Handle(kernel(*_data(values)), key)


def _sum_to(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    extra = x.ndim - like.ndim
    ones = tuple(d for d in range(like.ndim) if like.shape[d] == 1 != x.shape[d + extra])
    return x.sum(axis=tuple(range(extra))).sum(axis=ones, keepdims=True)


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _cross_entropy(scores: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return np.asarray(-np.log((_softmax(scores) * chosen).sum(axis=1)).mean())


NUMPY_KERNELS: dict[str, Callable] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "matmul": lambda x, y: x @ y,
    "t": lambda x: x.T,
    "sum_to": _sum_to,
    "relu": lambda x: np.maximum(x, 0),
    "relu_backward": lambda g, y: g * (y > 0),
    "cross_entropy": _cross_entropy,
    "cross_entropy_backward": lambda g, s, c: g * (_softmax(s) - c) / len(s),
}


def list_kernels(elementwise: Callable) -> dict[str, Callable]:
    """Kernels on :class:`MyTensor`, all of whose arithmetic is the learner's ``elementwise``."""

    def t(x):
        return x.view(x.size[::-1], x.stride[::-1])

    def rows(x):
        """The sums over the last dimension, kept with size 1."""
        start = MyTensor([0.0] * x.size[0], (x.size[0], 1))
        for column in range(x.size[1]):
            part = x.view((x.size[0], 1), x.stride, column * x.stride[1])
            start = elementwise(operator.add, start, part)
        return start

    def sum_to(x, like):
        while len(x.size) > len(like.size):
            x = MyTensor(rows(t(x)).storage, x.size[1:])
        return x

    def matmul(x, y):
        total = MyTensor([0.0] * (x.size[0] * y.size[1]), (x.size[0], y.size[1]))
        for k in range(x.size[1]):
            column = x.view((x.size[0], 1), (x.stride[0], 0), k * x.stride[1])
            row = y.view((1, y.size[1]), (0, y.stride[1]), k * y.stride[0])
            total = elementwise(lambda s, a, b: s + a * b, total, column, row)
        return total

    def shares(scores):
        powers = elementwise(math.exp, scores)
        return elementwise(operator.truediv, powers, rows(powers))

    def cross_entropy(scores, chosen):
        right = rows(elementwise(operator.mul, shares(scores), chosen))
        prices = elementwise(lambda p: -math.log(p), right).storage
        return MyTensor([sum(prices) / len(prices)])

    def cross_entropy_backward(g, scores, chosen):
        n = scores.size[0]
        return elementwise(lambda a, p, c: a * (p - c) / n, g, shares(scores), chosen)

    return {
        "add": lambda x, y: elementwise(operator.add, x, y),
        "mul": lambda x, y: elementwise(operator.mul, x, y),
        "matmul": matmul,
        "t": t,
        "sum_to": sum_to,
        "relu": lambda x: elementwise(lambda a: max(a, 0.0), x),
        "relu_backward": lambda g, y: elementwise(lambda a, b: a if b > 0 else 0.0, g, y),
        "cross_entropy": cross_entropy,
        "cross_entropy_backward": cross_entropy_backward,
    }


def _add_slopes(call, g, result, x, y):
    return call("sum_to", g, x), call("sum_to", g, y)


def _mul_slopes(call, g, result, x, y):
    return call("sum_to", call("mul", g, y), x), call("sum_to", call("mul", g, x), y)


def _matmul_slopes(call, g, result, x, y):
    return call("matmul", g, call("t", y)), call("matmul", call("t", x), g)


# For each operator: from the gradient g of its result to those of its inputs, by operators again.
SLOPES: dict[str, Callable] = {
    "add": _add_slopes,
    "mul": _mul_slopes,
    "matmul": _matmul_slopes,
    "relu": lambda call, g, result, x: (call("relu_backward", g, result),),
    "cross_entropy": lambda call, g, result, s, c: (call("cross_entropy_backward", g, s, c), None),
}


def plain(value: Any) -> Any:
    """Nested lists of a handle's or tensor's numbers, rounded to nine digits."""
    if isinstance(value, Handle):
        value = value.stored
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return round(value, 9) if isinstance(value, float) else value


def every_index(size: Sequence[int]) -> itertools.product:
    """All indices of a shape, the last dimension fastest."""
    return itertools.product(*map(range, size))
