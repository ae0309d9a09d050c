"""Exercise 19.4: what the old tracer kept of small programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch


def old_trace(function: Callable, *inputs: torch.Tensor) -> Callable:
    """``torch.jit.trace`` as it was used, with its warnings kept quiet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(function, inputs, check_trace=False)
