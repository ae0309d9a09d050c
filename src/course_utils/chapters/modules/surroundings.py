"""What an answer must leave in the process as it was."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def untouched() -> Generator[None]:
    """Put back what the block changed of grad mode and default dtype, and say that it did.

    Raises:
        AssertionError: the block ended by itself and left one of the two in another state.
    """
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    try:
        yield
    finally:
        changed = []
        if torch.is_grad_enabled() != grad:
            changed.append("autograd is switched on or off for all that follows (use a with block)")
            torch.set_grad_enabled(grad)
        if torch.get_default_dtype() != dtype:
            changed.append("PyTorch's default dtype is another")
            torch.set_default_dtype(dtype)
    assert not changed, f"after the call, {' and '.join(changed)}"
