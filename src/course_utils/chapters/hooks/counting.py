"""A count of a model's hooks, a hook that is not the answer's, and words about modules' names."""

from __future__ import annotations

from typing import Any

from torch import nn

from course_utils.learner.tracebacks import what_was_raised

# A network that a notebook defines: what its parts are, only the notebook knows.
Network = Any

MODULE_HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
TENSOR_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def hooks_on(model: nn.Module) -> dict[str, int]:
    """How many hooks hang on each module and parameter that has any.

    Hooks on intermediate tensors, and those that are registered for the whole process, are not
    counted.
    """
    pairs: list[tuple[str, Any, tuple[str, ...]]]
    pairs = [(name, module, MODULE_HOOKS) for name, module in model.named_modules()]
    pairs += [(name, tensor, TENSOR_HOOKS) for name, tensor in model.named_parameters()]
    found = {name: _count(owner, kinds) for name, owner, kinds in pairs}
    return {name: count for name, count in found.items() if count}


def _count(owner: Any, kinds: tuple[str, ...]) -> int:
    return sum(len(getattr(owner, kind, None) or ()) for kind in kinds)


def bystander(*_: Any) -> None:
    """A hook that is not the answer's."""


def about_names(error: Exception, model: nn.Module) -> str:
    """What was raised, and the names that the model has."""
    known = ", ".join(repr(name) for name, _ in model.named_modules())
    words = f"it {what_was_raised(error)}"
    if isinstance(error, KeyError) or "has no attribute" in str(error):
        words += f" (the model's modules are {known}; get_submodule finds deep ones)"
    if isinstance(error, IndexError):
        words += " (inputs that are passed by keyword are not in args)"
    return words
