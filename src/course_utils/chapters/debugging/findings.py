"""What an answer found, and what became of a model: what several exercises ask."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn as nn
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _pop_mode

from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook


@ends_in_notebook
def check_finding(answer: Any, right: tuple | None, what: str, because: str = "") -> None:
    """Check what a search found: a pair, or ``None`` where there was nothing to find.

    Raises:
        AssertionError: it found something else; the message says why.
    """
    __tracebackhide__ = True
    why = f": {because}" if because else ""
    if right is None:
        assert answer is None, f"{what}: found {answer!r}, but there is nothing to find{why}"
        return
    assert answer is not None, (
        f"{what}: None, but there is something to find{why}; or is there no answer yet?"
    )
    pair = isinstance(answer, (tuple, list)) and len(answer) == 2
    assert pair, f"{what}: {answer!r}, expected a pair such as {('name', 'other')!r}"
    check_equal(answer, right, what, because)


class Lambda(nn.Module):
    """A module whose forward is ``function(module, x)``."""

    def __init__(self, function: Callable, **modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self, x)


def state_of(*models: nn.Module) -> dict[str, Any]:
    """What an onlooker can see of models and of the random state, under plain names."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    modules = [module for model in models for module in model.modules()]
    parameters = [parameter for model in models for parameter in model.parameters()]
    buffers = [buffer for model in models for buffer in model.buffers()]  # all, saved or not
    states = [value.detach() for value in [*parameters, *buffers]]
    gone = any(value.device.type == "meta" for value in states)
    assert not gone, "the model itself is on the device meta now, without its numbers: move a copy"
    return {
        "parameters or buffers": [(str(value.device), value.tolist()) for value in states],
        "modes": [module.training for module in modules],
        "hooks": [[*map(id, getattr(m, hook).values())] for m in modules for hook in hooks],
        ".grad": [None if p.grad is None else p.grad.tolist() for p in parameters],
        "requires_grad": [parameter.requires_grad for parameter in parameters],
        "random state": torch.get_rng_state().tolist(),
    }


def was_used_before(model: nn.Module) -> nn.Module:
    """The model with what a used one has: a frozen parameter, old gradients, hooks of its owner."""
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    for parameter in [*model.parameters()][:1]:
        parameter.requires_grad_(False)
    for module in [*model.modules()][-1:]:
        module.register_forward_pre_hook(lambda *_: None)
        module.register_forward_hook(lambda *_: None)
    return model


@contextmanager
def no_mode_left() -> Generator[None]:
    """Refuse that a dispatch mode is still switched on when the block ends, and switch it off.

    Raises:
        AssertionError: there is one. An exception that leaves the block goes first.
    """
    known, left = len(_get_current_dispatch_mode_stack()), 0
    try:
        yield
    finally:
        while len(_get_current_dispatch_mode_stack()) > known:
            _pop_mode()
            left += 1
    assert not left, "a mode is still switched on, and hears all that follows: use with"


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The names of what differs between two states."""
    return [what for what in before if before[what] != after[what]]
