"""The operators that run inside a call, and the form of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.checks import check_close

Answer = Callable[..., Any]


class _Notes(TorchDispatchMode):
    """Notes of every operator: its name, its arguments' sizes, its result's size, new bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        places = [x.untyped_storage().data_ptr() for x in given]
        for made in tree_leaves(result):
            if isinstance(made, torch.Tensor):
                storage = made.untyped_storage()
                new = 0 if storage.data_ptr() in places else storage.nbytes()
                sizes = [list(x.shape) for x in given]
                self.lines.append([func.overloadpacket.__name__, sizes, list(made.shape), new])
        return result


def operators_of(function: Answer, *args: Any) -> tuple[list[list], str, Any]:
    """What runs inside a call, below autograd.

    Returns:
        For each operator's result ``[name, sizes of the arguments, size of the result, bytes]``,
        where bytes counts a storage that no argument lies in (the first 4000 of them); the name
        of the exception that ended the call, or ``""``; and what the call returned.
    """
    raised, result = "", None
    with _Notes() as notes:
        try:
            result = function(*args)
        except Exception as error:
            raised = type(error).__name__
    return notes.lines[:4000], raised, result


def check_form(actual: Any, like: torch.Tensor, what: str) -> None:
    """Check type, shape, dtype and device of a result, not its values."""
    given = torch.zeros_like(actual) if isinstance(actual, torch.Tensor) else actual
    check_close(given, torch.zeros_like(like), what)
