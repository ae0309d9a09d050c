"""What every check of the chapter needs: an attempt that may raise, values on the CPU, slips."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value

FAILED = object()


def tried(case, name: str, attempt: Callable, *arguments):
    """What an attempt gives; ``FAILED`` if it raised, which is then a failure of the case."""
    try:
        return attempt(*arguments)
    except Exception as error:
        with case(name):
            raise error
    return FAILED


def on_cpu(value):
    """Tensors, alone or in lists, tuples and dicts, without a graph and on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: on_cpu(entry) for key, entry in value.items()}
    return type(value)(map(on_cpu, value)) if type(value) in (list, tuple) else value


@ends_in_notebook
def check_seen(actual, truth, what, slips, rtol=1e-4, atol=1e-5) -> None:
    """``check_value`` for what came from a figure, a file or a server: a list, or of any dtype."""
    __tracebackhide__ = True
    if isinstance(actual, (np.ndarray, list, tuple)):
        actual = torch.as_tensor(np.asarray(actual))
    if isinstance(actual, torch.Tensor):
        actual = actual.detach().to(truth)
    check_value(actual, truth, what, slips, rtol, atol)
