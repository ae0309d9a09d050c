"""Exercises 15.3 and 15.4: functions that were repaired, and a guard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn

from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


def repaired(functions: dict, name: str, *args: Any, place: str | torch.device = device) -> tuple:
    """What a repaired function returns, and the dtype of the layer that it was handed, if any."""
    function = functions.get(name) if isinstance(functions, dict) else None
    assert function is not None, f"{name}: there is no function: is there an answer yet?"
    assert callable(function), f"{name} holds {function!r}, which can't be called"
    if name not in ("photo", "rows"):
        return function(*args), "float32"
    layer = nn.Linear(3, 1, device=place)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2, 3]]))
        layer.bias.fill_(0.5)
    result = function(layer, *args)
    result = result.detach() if isinstance(result, torch.Tensor) else result
    return result, str(layer.weight.dtype)[6:]


def number_on_meta(functions: dict, shape: tuple[int, ...]) -> str:
    """The device of ``number(x)`` for an x on the device meta, or what it raises."""
    try:
        result, _ = repaired(functions, "number", torch.empty(shape, device="meta"))
    except (RuntimeError, NotImplementedError) as error:
        return str(error).splitlines()[0]
    return str(getattr(result, "device", result))


def rows_on_meta(functions: dict, array: Any) -> str:
    """The device of ``rows(layer, array)`` for a layer on the device meta, or what it raises."""
    try:
        result, _ = repaired(functions, "rows", array, place="meta")
    except (RuntimeError, NotImplementedError) as error:
        return str(error).splitlines()[0]
    return str(getattr(result, "device", result))


# Exercise 15.4: a guard.


@ends_in_notebook
def check_guard(
    guard: Callable, shape: tuple, labels: torch.Tensor, *parts: str, **options: int
) -> None:
    """Check a guard of labels: no ``parts``, no refusal; else a ValueError that holds each part.

    Raises:
        AssertionError: it does otherwise.
    """
    __tracebackhide__ = True
    scores, refused = torch.zeros(shape, device=labels.device), None
    with forbid_changes(scores, labels):
        try:
            result = guard(scores, labels, **options)
        except ValueError as error:
            refused = str(error)
        except Exception as error:
            words = "expected a ValueError of your own" if parts else "but these labels are fine"
            raise AssertionError(f"raised {type(error).__name__} ({error}), {words}") from error
    if refused is None:
        assert result is None, f"returned {result!r}, expected None or a ValueError"
        assert not parts, (
            "no ValueError, although the loss can't take these labels; or is there no answer yet?"
        )
        return
    assert parts, f"these labels are fine, but they were refused with {refused!r}"
    for part in parts:
        found = re.search(rf"(?<![\d-]){re.escape(part)}(?!\d)", refused)
        assert found, f"the message {refused!r} does not contain {part}"
