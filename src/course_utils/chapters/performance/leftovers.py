"""What an answer leaves behind in its process: told in words, and put back."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _pop_mode


@contextmanager
def put_back() -> Generator[list[str]]:
    """Run a block with grad mode on, and put back what it changed in the process.

    Yields:
        a list that is empty during the block, and afterwards holds what was changed.
    """
    left: list[str] = []
    dtype, modes = torch.get_default_dtype(), len(_get_current_dispatch_mode_stack())
    before, threads = torch.is_grad_enabled(), torch.get_num_threads()
    torch.set_grad_enabled(True)
    try:
        yield left
    finally:
        if not torch.is_grad_enabled():
            left.append("grad mode")
        torch.set_grad_enabled(before)
        if torch.get_default_dtype() != dtype:
            left.append("the default dtype")
            torch.set_default_dtype(dtype)
        if torch.get_num_threads() != threads:
            left.append("the number of threads")
            torch.set_num_threads(threads)
        if len(_get_current_dispatch_mode_stack()) > modes:
            left.append("a dispatch mode that is still switched on")
        while len(_get_current_dispatch_mode_stack()) > modes:
            _pop_mode()


def refuse_leftovers(left: list[str]) -> None:
    """Refuse an answer that changed the process.

    Raises:
        AssertionError: something was changed; the message says what.
    """
    __tracebackhide__ = True
    assert not left, f"{' and '.join(left)}: changed, and not put back afterwards"
