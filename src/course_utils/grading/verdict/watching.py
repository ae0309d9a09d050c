"""The Python code that watches operators: the answer's process and the judge compare theirs."""

from __future__ import annotations

import functools
import hashlib
import sys
from types import FunctionType
from typing import Any

import torch
from torch.utils import _python_dispatch

from course_utils.grading.verdict import (
    at_once,
    encoding,
    genuine,
    memory,
    messages,
    wire,
    witness,
)
from course_utils.learner import operators


class Collected(bytearray):
    """What would go into a digest, kept."""

    update = bytearray.extend


def salted(salt: str, code: bytes) -> str:
    """The digest of code as :func:`code` gives it."""
    return hashlib.sha256(salt.encode() + code).hexdigest()


def code(*answering: Any) -> bytes:
    """The watching functions and methods, as they are in this process.

    Args:
        answering: the module of the answer's side, and its classes.
    """
    collected = Collected()
    owners = (
        _python_dispatch,
        operators,
        at_once,
        encoding,
        genuine,
        memory,
        messages,
        wire,
        witness,
        witness.Profile,
        sys.modules[__name__],
        _python_dispatch.TorchDispatchMode,
        operators.OperatorMode,
        *answering,
    )
    for owner in owners:
        for name, value in sorted(vars(owner).items()):
            _add(collected, name, value)
    for name in ("_push_on_torch_dispatch_stack", "_pop_torch_dispatch_stack"):
        _add(collected, name, getattr(torch._C, name, None))
    for name in ("_enable_profiler_legacy", "_disable_profiler_legacy"):
        legacy = torch._C._autograd  # ty: ignore[possibly-missing-submodule]  torch imports it
        _add(collected, name, getattr(legacy, name, None))
    return bytes(collected)


@functools.cache
def judges_own(*answering: Any) -> bytes:
    """As :func:`code`, once for a process that runs no student's code."""
    return code(*answering)


def _add(collected: Collected, name: str, value: Any) -> None:
    """Put the code of a function, and of every function that it wraps, to what is collected."""
    value = getattr(value, "__func__", value)
    while value is not None:
        if callable(value):
            collected.update(f"{name} {type(value).__qualname__}".encode())
        if isinstance(value, FunctionType):
            genuine.add_code(collected, value.__code__)
        value = getattr(value, "__wrapped__", None)
