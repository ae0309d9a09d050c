"""Processes beside the notebook's, on systems that fork and on those that start Python afresh.

A forked process has all that this one had. One that was started afresh (Windows, macOS) gets its
work by pickle, and imports what that names. A notebook's cells can't be imported, so pickle fails
for what they define; cloudpickle sends it whole.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler
from types import FunctionType
from typing import Any, NoReturn

import cloudpickle

# As shells say of a process that the ninth signal ended.
KILLED = 128 + 9


def forks() -> bool:
    """Whether a process may be a copy of this one. macOS could, but its libraries break in it."""
    return sys.platform == "linux" and hasattr(os, "fork")


def process_context() -> Any:
    """What starts a process: as a copy of this one, or afresh, sent what cells define."""
    if forks():
        return multiprocessing.get_context("fork")
    send_cells_to_workers()
    return multiprocessing.get_context("spawn")


def run_in_process(work: Callable[..., None], *args: Any, **options: Any) -> Any:
    """Do ``work(*args)`` in another process, and wait for its end.

    Args:
        work: a function; where Python doesn't fork, it may be a cell's, or a local one.
        args: what it is given; a generator can't travel and has to be made in ``work``.
        options: those of ``multiprocessing.Process``.

    Returns:
        The process, which has ended; ``exit_status`` says how.
    """
    process = process_context().Process(target=work, args=args, **options)
    process.start()
    process.join()
    return process


def end_at_once() -> NoReturn:
    """End this process without a goodbye, as ``kill -9`` does: nothing is flushed or cleaned up."""
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(KILLED)


def exit_status(process: Any) -> int:
    """How a process ended; -9 for ``end_at_once`` on every system."""
    return -9 if process.exitcode == KILLED else process.exitcode


def send_cells_to_workers() -> None:
    """Let a DataLoader's workers have the classes and functions of cells where Python doesn't fork.

    Lambdas and local functions go too, both ways. Where processes are forked, nothing changes. It
    holds for this process and those that it starts.
    """
    if not forks():
        vars(reduction)["ForkingPickler"].reducer_override = _reduce


class _Pickler(cloudpickle.Pickler):
    """cloudpickle, with multiprocessing's and PyTorch's ways for connections, locks and tensors."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        own = vars(ForkingPickler)["_extra_reducers"]
        self.dispatch_table = {**cloudpickle.Pickler.dispatch_table, **own}


def _reduce(pickler: ForkingPickler, part: Any) -> Any:
    """pickle's ``reducer_override``: by cloudpickle what the other process can't import."""
    if not isinstance(part, (type, FunctionType)) or _is_importable(part):
        return NotImplemented
    buffer = io.BytesIO()
    _Pickler(buffer).dump(part)
    return _receive, (buffer.getvalue(),)


def _is_importable(part: type | FunctionType) -> bool:
    found = sys.modules.get(part.__module__ or "")
    if found is None or part.__module__ == "__main__":
        return False
    for name in part.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is part


def _receive(data: bytes) -> Any:
    send_cells_to_workers()  # what this process sends back may be of a cell's class
    return cloudpickle.loads(data)
