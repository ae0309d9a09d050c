"""A profile without the lines that PyTorch's CUDA build writes where there is no GPU."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def silent_stderr() -> Generator[None]:
    """Inside the block nothing that this process's libraries write to stderr is shown."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
