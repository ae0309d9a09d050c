"""Ask for a function's gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from course_utils.learner.checks import refuse_missing
from course_utils.learner.tracebacks import ends_in_notebook

NO_GRAPH = (
    "no gradient flows back to the arguments: was the result made with detach, item, NumPy "
    "or torch.tensor?"
)


@ends_in_notebook
def gradient_of(
    function: Callable[..., torch.Tensor], *args: Any, weights: torch.Tensor | None = None
) -> torch.Tensor | list[torch.Tensor]:
    """The gradient of ``(weights * function(*args)).sum()`` by the floating-point arguments.

    A graph does not travel to the judge. So a check calls this for a learner's function inside a
    locked function that :func:`runs_with_the_answer`.

    Args:
        function: from tensors and other values to one tensor.
        args: its arguments; they are copied first, so their own ``grad`` stays as it is.
        weights: of the result's shape, or of its last dimension's; by default all ones.

    Returns:
        One tensor, or a list of them where several arguments are floating-point tensors. It is
        all zeros for an argument that the result does not depend on.

    Raises:
        AssertionError: the result hangs on none of the arguments, as autograd sees it.
    """
    __tracebackhide__ = True
    args = tuple(_leaf(arg) for arg in args)
    leaves = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.requires_grad]
    with torch.enable_grad():
        result = function(*args)
        refuse_missing(result, "the result")
        if not isinstance(result, torch.Tensor):
            raise AssertionError(f"the result is of type {type(result).__name__}, not a tensor")
        if not result.requires_grad:
            raise AssertionError(NO_GRAPH)
        if weights is not None and weights.shape not in (result.shape, result.shape[-1:]):
            shapes = f"{tuple(result.shape)}, expected {tuple(weights.shape)}"
            raise AssertionError(f"the result whose gradient is asked for has shape {shapes}")
        total = result.sum() if weights is None else (weights * result).sum()
        found = torch.autograd.grad(total, leaves, materialize_grads=True)
    return found[0] if len(found) == 1 else list(found)


def _leaf(value: Any) -> Any:
    """A floating-point tensor as a leaf that wants a gradient; anything else as it is."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().clone().requires_grad_()
    return value


def grad_of(tensor: torch.Tensor) -> torch.Tensor:
    """What backward left in the ``.grad`` of a tensor that it must have reached."""
    assert tensor.grad is not None, "backward left no gradient"
    return tensor.grad
