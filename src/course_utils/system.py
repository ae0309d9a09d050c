"""What this machine has to compute with."""

from __future__ import annotations

import os


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gib() -> tuple[float, float]:
    """The memory that is free, and all of it, in GiB."""
    import psutil

    state = psutil.virtual_memory()
    return state.available / 2**30, state.total / 2**30
