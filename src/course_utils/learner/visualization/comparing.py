"""What every check of the chapter needs: an attempt that may raise, values on the CPU, slips."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook

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
def check_named(actual, truth, what, slips, rtol=1e-4, atol=1e-5) -> None:
    """Compare tensors; a known slip gets words of its own. ``slips``: words -> what it gives."""
    if isinstance(actual, (np.ndarray, list, tuple)):
        actual = torch.as_tensor(np.asarray(actual))
    if isinstance(actual, torch.Tensor):
        actual = actual.detach().to(truth)
        if actual.shape != truth.shape or not torch.allclose(actual, truth, rtol, atol):
            for words, slip in slips.items():
                if slip.shape == actual.shape and torch.allclose(
                    actual, slip.to(truth), rtol, atol
                ):
                    raise AssertionError(f"{what}: {words}")
    check_close(actual, truth, what, rtol=rtol, atol=atol)
