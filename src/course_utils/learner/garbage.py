"""Collecting garbage in a process that holds all of PyTorch."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def what_is_new_alone() -> Generator[None]:
    """Inside, ``gc.collect()`` and ``gc.get_objects()`` pass over what was there before.

    A notebook's kernel holds some 700 000 objects that a check has nothing to do with. To look
    through them takes a quarter of a second, and in a fork it also copies the memory they are in.
    What another had frozen is not frozen any more afterwards.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
