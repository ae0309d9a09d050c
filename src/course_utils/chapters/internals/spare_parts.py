"""What steps in where an exercise of the chapter on internals is not solved yet."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from course_utils.chapters.internals.small_torch import (
    FALLTHROUGH,
    NUMPY_KERNELS,
    Handle,
    MyTensor,
    every_index,
    fresh_strides,
    wrapped,
)


def elementwise(function: Callable, *tensors: MyTensor) -> MyTensor:
    """A function of numbers on each entry of tensors, sizes lined up at the end."""
    dims = max(len(x.size) for x in tensors)
    sizes = [(1,) * (dims - len(x.size)) + x.size for x in tensors]
    steps = [(0,) * (dims - len(x.stride)) + x.stride for x in tensors]
    shape = []
    for column in zip(*sizes, strict=True):
        wide = {n for n in column if n != 1}
        if len(wide) > 1:
            raise ValueError(f"sizes {sorted(wide)} don't fit")
        shape.append(wide.pop() if wide else 1)
    out = []
    for index in every_index(shape):
        out.append(
            function(
                *(
                    x.storage[
                        x.offset
                        + sum(i * s for i, s, n in zip(index, step, size, strict=True) if n != 1)
                    ]
                    for x, step, size in zip(tensors, steps, sizes, strict=True)
                )
            )
        )
    assert len(out) == math.prod(shape)
    return MyTensor(out, shape, fresh_strides(shape))


class SpareDispatcher:
    """A table of kernels by operator and key."""

    def __init__(self, priority: tuple[str, ...]) -> None:
        self.priority, self.table, self.first = tuple(priority), {}, 0

    def register(self, operator: str, key: str, kernel: Any) -> None:
        self.table[operator, key] = kernel

    @contextmanager
    def below(self, key: str):
        before, self.first = self.first, max(self.first, self.priority.index(key) + 1)
        try:
            yield
        finally:
            self.first = before

    def call(self, operator: str, *values: Any) -> Any:
        keys = frozenset().union(*(value.keys for value in values if hasattr(value, "keys")))
        for key in self.priority[self.first :]:
            if key not in keys:
                continue
            own = (operator, key) in self.table
            kernel = self.table.get((operator if own else "*", key))
            if kernel is None:
                break
            if kernel is not FALLTHROUGH:
                return kernel(*values) if own else kernel(operator, *values)
        raise NotImplementedError(f"{operator} has no kernel for {sorted(keys)}")


def spare_autograd(dispatcher: Any, operator: str, slopes: Callable) -> Callable:
    """A kernel for the key Autograd: calls below, and notes how the result was made."""

    def kernel(*values):
        with dispatcher.below("Autograd"):
            result = dispatcher.call(operator, *values)
        if any(isinstance(value, Handle) and value.requires_grad for value in values):
            result.requires_grad, result.keys = True, result.keys | {"Autograd"}
            result.node = slopes, values
        return result

    return kernel


def spare_backward(dispatcher: Any, result: Handle, g: Handle) -> None:
    """Bring ``g`` back to the leaves, each of which adds it to its ``grad``."""
    order, seen, waiting = [], set(), [(result, False)]
    while waiting:
        handle, done = waiting.pop()
        if done:
            order.append(handle)
        elif id(handle) not in seen:
            seen.add(id(handle))
            waiting.append((handle, True))
            parents = handle.node[1] if handle.node else ()
            waiting += [(p, False) for p in parents if getattr(p, "requires_grad", False)]
    account = {id(result): g}
    with dispatcher.below("Autograd"):
        for handle in reversed(order):
            g = account.get(id(handle))
            if g is None:
                continue
            if handle.node is None:
                handle.grad = g if handle.grad is None else dispatcher.call("add", handle.grad, g)
                continue
            slopes, values = handle.node
            parts = slopes(dispatcher.call, g, handle, *values)
            for value, part in zip(values, parts, strict=True):
                if part is not None and getattr(value, "requires_grad", False):
                    known = account.get(id(value))
                    account[id(value)] = (
                        part if known is None else dispatcher.call("add", known, part)
                    )


def numpy_dispatcher(kind: Callable = SpareDispatcher) -> Any:
    """A dispatcher with the NumPy backend and nothing in front of it."""
    dispatcher = kind(("Autograd", "List", "NumPy"))
    for name, kernel in NUMPY_KERNELS.items():
        dispatcher.register(name, "NumPy", wrapped(kernel, "NumPy"))
    return dispatcher
