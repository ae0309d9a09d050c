"""Exercise 15.8: a dataset with a trouble, and the processes that read it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch.utils.data import Dataset, get_worker_info


class Patchy(Dataset):
    """Ten items, and one trouble."""

    def __init__(self, trouble: str) -> None:
        self.trouble = trouble
        self.opened = (lambda: 0) if "unpicklable" in trouble else None

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        index = range(10)[index]  # 10 is an IndexError
        away = get_worker_info() is not None
        if self.trouble == "a bad item" and index in (7, 8):
            raise ValueError(f"no label for item {index}")
        if away and index == 5 and "hangs" in self.trouble:
            threading.Event().wait()
        if away and index == 0 and self.trouble == "dies":
            os._exit(1)
        if away and self.trouble == "raises in the worker":
            raise RuntimeError("the file was opened by another process")
        return torch.zeros(3 if self.trouble == "a long item" and index == 6 else 2)


@contextmanager
def short_farewell() -> Generator[None]:
    """Inside, a loader waits half a second for a worker that doesn't end, instead of five."""
    import torch.utils.data._utils as settings

    usual = settings.MP_STATUS_CHECK_INTERVAL
    settings.MP_STATUS_CHECK_INTERVAL = 0.5
    try:
        yield
    finally:
        settings.MP_STATUS_CHECK_INTERVAL = usual


def end_new_processes(known: list) -> int:
    """End this process's children that are not in ``known``; how many there were."""
    left = [child for child in multiprocessing.active_children() if child not in known]
    for child in left:
        child.terminate()
        child.join()
    gc.collect()  # a loader that failed is let go here, not in the next worker
    return len(left)
