"""What steps in where an exercise of the chapter on internals is not solved yet.

None of it answers an exercise: there are two floors where the exercise wants any number of keys,
and NumPy computes where it wants a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from course_utils.chapters.internals.small_torch import NUMPY_KERNELS, MyTensor, wrapped


class TwoFloors:
    """Autograd upstairs, a backend downstairs; no priority, and nothing falls through.

    Args:
        priority: not looked at; it is there so that the learner's dispatcher fits in its place.
    """

    def __init__(self, priority: tuple[str, ...] = ()) -> None:
        self.kernels, self.depth = {}, 0

    def register(self, operator: str, key: str, kernel: Callable) -> None:
        self.kernels[operator, key] = kernel

    @contextmanager
    def below(self, key: str):
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def call(self, operator: str, *values: Any) -> Any:
        keys = {key for value in values for key in getattr(value, "keys", ())}
        upstairs = "Autograd" in keys and self.depth == 0
        key = "Autograd" if upstairs else min(keys - {"Autograd"}, default="no key")
        if (operator, key) not in self.kernels:
            raise NotImplementedError(f"{operator} has no kernel for {key}")
        return self.kernels[operator, key](*values)


def kernels_by_numpy() -> dict[str, Callable]:
    """Kernels on :class:`MyTensor` that compute with NumPy."""

    def by_numpy(kernel):
        def run(*tensors):
            result = np.asarray(kernel(*(np.asarray(x.tolist()) for x in tensors)))
            return MyTensor(result.flatten().tolist(), result.shape)

        return run

    return {name: by_numpy(kernel) for name, kernel in NUMPY_KERNELS.items()}


def numpy_dispatcher() -> TwoFloors:
    """A dispatcher with the NumPy backend and nothing in front of it."""
    dispatcher = TwoFloors()
    for name, kernel in NUMPY_KERNELS.items():
        dispatcher.register(name, "NumPy", wrapped(kernel, "NumPy"))
    return dispatcher
