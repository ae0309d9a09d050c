"""What every check of the chapter needs: an attempt that may raise, values on the CPU, slips.

And a model that was somebody's before, with words for what an answer left behind in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn as nn

from course_utils.learner.awkward import HOOKS, forbid_side_effects
from course_utils.learner.other_states import STATES, check_states
from course_utils.learner.tracebacks import add_words, ends_in_notebook
from course_utils.learner.values import check_value

FAILED = object()
AGAIN = {"result_overwritten", "other_numbers"}  # states of a second call


def tried(case, name: str, attempt: Callable, *arguments, why: Callable | None = None):
    """What an attempt gives; ``FAILED`` if it raised, which is then a failure of the case.

    ``why(error)`` gives words that follow the error's own, or none.
    """
    try:
        return attempt(*arguments)
    except Exception as error:
        if more := why(error) if why else "":
            add_words(error, more)
        with case(name):
            raise error
    return FAILED


def kept_from_before(function: Callable, *tensors: torch.Tensor) -> list[str]:
    """Words for a second call that gives what the first one left, or changes its result."""
    try:
        check_states(function, *tensors, what="the call", but=STATES.keys() - AGAIN)
    except AssertionError as error:
        return [str(error)]
    return []


def on_cpu(value):
    """Tensors, alone or in lists, tuples and dicts, without a graph and on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: on_cpu(entry) for key, entry in value.items()}
    return type(value)(map(on_cpu, value)) if type(value) in (list, tuple) else value


def somebody_elses(module: nn.Module, arguments: tuple, output: torch.Tensor) -> None:
    """A forward hook that was there before: it looks, and changes nothing."""


def as_somebody_left_it(model: nn.Module) -> nn.Module:
    """The model with what a caller's may have: a hook on each part, an old gradient here and there.

    The first parameter has a gradient whether it is frozen or not, and so has the last.
    """
    for module in model.modules():
        module.register_forward_hook(somebody_elses)
    for parameter in list(model.parameters())[:: max(1, len(list(model.parameters())) - 1)]:
        parameter.grad = torch.full_like(parameter, 0.25)
    return model


def _hooks(model: nn.Module) -> int:
    everywhere = vars(nn.modules.module)
    ours = [len(getattr(module, name)) for module in model.modules() for name in HOOKS]
    every = [len(hooks) for name, hooks in everywhere.items() if name.startswith("_global_") and
             name.endswith("_hooks")]  # fmt: skip
    kinds = "_backward_hooks", "_post_accumulate_grad_hooks"
    tensors = [len(getattr(p, kind, None) or ()) for p in model.parameters() for kind in kinds]
    return sum(ours) + sum(every) + sum(tensors)


class Before:
    """A model as it was when this was made; ``changes()`` has words for what is different now."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.watch = model, forbid_side_effects(model)
        self.watch.__enter__()
        self.hooks, self.recording = _hooks(model), torch.is_grad_enabled()

    def changes(self) -> list[str]:
        """Words for each thing that is not as it was; none if all is."""
        told, hooks = [], _hooks(self.model)
        if torch.is_grad_enabled() != self.recording:
            word = "off" if self.recording else "on, and the caller had switched it off"
            told.append(f"recording is {word}: `with torch.no_grad():` puts back what it was")
            torch.set_grad_enabled(self.recording)
        if hooks > self.hooks:
            told.append("a hook is left: remove it by its handle")
        if hooks < self.hooks:
            told.append("a hook of somebody else's is gone: remove your own, by its handle")
        for words in self.watch.changes():
            if words.startswith("the hooks of"):
                words = "" if told else words
            if "num_batches_tracked" in words:
                words += ": BatchNorm saw the batch in training mode"
            told += [words] * bool(words)
        return told


@ends_in_notebook
def check_left(left: list[str], raised: bool = False) -> None:
    """Refuse that something is not as it was; ``left`` has words for each such thing."""
    told = ": put it back in a `finally`, which runs also where the model raises" * raised
    assert not left, "; ".join(left) + told


@ends_in_notebook
def check_seen(actual, truth, what, slips, rtol=1e-4, atol=1e-5) -> None:
    """``check_value`` for what came from a figure, a file or a server: a list, or of any dtype."""
    __tracebackhide__ = True
    if isinstance(actual, (np.ndarray, list, tuple)):
        actual = torch.as_tensor(np.asarray(actual))
    if isinstance(actual, torch.Tensor):
        actual = actual.detach().to(truth)
    check_value(actual, truth, what, slips, rtol, atol)
