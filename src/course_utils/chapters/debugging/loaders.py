"""Exercise 15.8: a dataset with a trouble, and the processes that read it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
import torch.utils.data._utils as settings
from torch.utils.data import DataLoader, Dataset, RandomSampler, get_worker_info
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from course_utils.chapters.debugging.findings import check_finding
from course_utils.learner.checks import check_equal
from course_utils.learner.garbage import what_is_new_alone
from course_utils.learner.processes import process_context
from course_utils.learner.tracebacks import ends_in_notebook


class Unreadable(Exception):
    """An exception whose name doesn't say that it is an error."""


class Patchy(Dataset):
    """Ten items, and one trouble."""

    def __init__(self, trouble: str) -> None:
        self.trouble = trouble
        lambdas = "unpicklable" in trouble or trouble == "all three"
        self.opened = (lambda: 0) if lambdas else None
        if trouble == "holds a lock":
            self.opened = threading.Lock()
        if trouble == "holds a socket":
            self.opened = socket.socket()

    def __len__(self) -> int:
        return 0 if self.trouble == "no item" else 10

    def __getstate__(self) -> dict:
        if self.trouble == "a state that nobody tells":
            raise Unreadable("ask me later")
        return vars(self)

    def __getitem__(self, index: int) -> Any:
        index, trouble = range(10)[index], self.trouble  # 10 is an IndexError
        away = get_worker_info() is not None
        if trouble in ("a bad item", "all three") and index in (7, 8):
            raise ValueError(f"no label for item {index}")
        if trouble == "an item with an exception of its own" and index == 7:
            raise Unreadable("no words for item 7")
        if trouble == "an item with an IndexError" and index == 7:
            raise IndexError("no row 7 in the table")
        if trouble == "an item without a file" and index == 7:
            raise FileNotFoundError("no picture for item 7")
        if away and index == 5 and "hangs" in trouble:
            threading.Event().wait()
        if away and index == 0 and trouble == "dies":
            os._exit(1)
        if away and trouble in ("raises in the worker", "unpicklable, and raises in the worker"):
            raise RuntimeError("the file was opened by another process")
        if away and trouble.startswith("a KeyError in the worker"):
            raise KeyError("label")
        if away and trouble == "a server's time-out":
            raise RuntimeError("the server timed out after 3 attempts: it exited unexpectedly")
        if away and index == 9 and trouble == "raises in the worker, at the last item":
            raise Unreadable("the file has one row less here")
        if trouble == "items that are None" or (trouble == "an item that is None" and index == 6):
            return None
        if trouble == "an item without its label":
            return {"image": 0} | ({"label": 1} if index != 6 else {})
        odd = 9 if trouble == "a long item at the end" else 6 if "a long item" in trouble else None
        odd = 2 if trouble == "all three" else odd
        return torch.zeros(3 if index == odd else 2)


@what_is_new_alone()
def autopsy_with(autopsy: Callable, trouble: str, batch_size: int, seconds: float) -> tuple:
    """The verdict of an autopsy, and how many of its processes it left; they are ended here.

    Raises:
        AssertionError: the answer raised an exception.
    """
    beside = _start_a_child() if "the caller's" in trouble else None
    known, left, dataset = multiprocessing.active_children(), [], Patchy(trouble)
    with _kept_loaders() as kept:
        try:
            verdict = autopsy(dataset, batch_size, seconds)
        except Exception as error:
            told = str(error).partition("\n")[0][:90]
            words = f"{type(error).__name__} came out of the answer, expected a verdict: {told}"
            raise AssertionError(words) from error
        finally:
            workers = [getattr(iterator, "_num_workers", 0) for iterator in kept]
            asked = [one for one in kept if getattr(one, "_num_workers", 0)]
            waits = [one._timeout for one in asked]
            sizes = [getattr(one._index_sampler, "batch_size", batch_size) for one in asked]
            samplers = [getattr(one._index_sampler, "sampler", None) for one in asked]
            left += [child for child in multiprocessing.active_children() if child not in known]
            _let_go(kept)
            if isinstance(dataset.opened, socket.socket):
                dataset.opened.close()
            ended = beside is not None and not beside.is_alive()
            for child in filter(None, [*left, beside]):
                child.terminate()
                child.join()
    assert not ended, "a process of the caller's was ended, which ran before: end your own alone"
    odd = [number for number in workers if number > 1]
    assert not odd, f"a DataLoader with {odd[0]} workers ran, expected num_workers=1"
    late = [wait for wait in waits if wait != seconds]
    assert not late, f"a DataLoader waited for {late[0]} seconds, expected timeout={seconds}"
    shuffled = any(isinstance(sampler, RandomSampler) for sampler in samplers)
    assert not shuffled, "a DataLoader ran shuffled: then its batches are not those of the table"
    odd = [size for size in sizes if size != batch_size]
    assert not odd, f"a DataLoader with batch_size={odd[0]} ran, expected {batch_size}"
    gc.collect()  # what failed is let go here, not in the next worker
    return verdict, len(left)


def _start_a_child() -> Any:
    """A process that waits until it is ended."""
    child = process_context().Process(target=_wait, daemon=True)
    child.start()
    return child


def _wait() -> None:
    threading.Event().wait()


# Items that default_collate refuses, and what raises in other classes: as cases of the check.
UNJOINED = [
    ("a long item", 7, 60, ("collate", 0), "item 6 is the last of batch 0, of items 0 to 6"),
    ("an item that is None", 4, 60, ("collate", 1), "a TypeError: any class counts"),
    ("items that are None", 4, 60, ("collate", 0), "ask default_collate: np.stack takes more"),
    ("an item without its label", 4, 60, ("collate", 1), "a KeyError, in the batch of item 6"),
    ("an item with an exception of its own", 4, 60, ("item", 7), "any class of Exception counts"),
    ("a state that nobody tells", 4, 60, ("pickle", None), "any class of Exception counts"),
    ("no item", 4, 60, ("fine", None), "where there is no item, none fails"),
    ("holds a socket", 4, 60, ("pickle", None), "ask pickle.dumps: other picklers take more"),
]


@ends_in_notebook
def check_autopsy(outcome: tuple, right: tuple, because: str) -> None:
    """Check the verdict of an autopsy, and that it left no process.

    Raises:
        AssertionError: the verdict is another, or a process is left.
    """
    __tracebackhide__ = True
    verdict, left = outcome
    assert verdict is not None, "it returned None: is there an answer yet?"
    check_finding(verdict, right, "the verdict", because)
    check_equal(left, 0, "processes left", "end the worker and wait for its end")


@contextmanager
def _kept_loaders() -> Generator[list]:
    """Inside, loaders' iterators stay alive, as where a debugger keeps the exception's frames."""
    kept: list[Any] = []
    usual, get_iterator = settings.MP_STATUS_CHECK_INTERVAL, DataLoader._get_iterator
    next_data = _MultiProcessingDataLoaderIter._next_data

    def keep(self: DataLoader) -> Any:
        kept.append(get_iterator(self))
        return kept[-1]

    def next_or_forget(self: _MultiProcessingDataLoaderIter) -> Any:
        try:
            return next_data(self)
        except BaseException:
            _forget_workers(self)  # they may be ended from now on
            raise

    settings.MP_STATUS_CHECK_INTERVAL = 0.5  # how long a farewell waits for a worker, instead of 5
    DataLoader._get_iterator, _MultiProcessingDataLoaderIter._next_data = keep, next_or_forget
    try:
        yield kept
    finally:
        settings.MP_STATUS_CHECK_INTERVAL, DataLoader._get_iterator = usual, get_iterator
        _MultiProcessingDataLoaderIter._next_data = next_data


def _let_go(kept: list) -> None:
    """Let iterators go without their own farewell.

    The farewell asks for a lock that all workers share. A worker that was ended while it held the
    lock never gives it back: the farewell would wait for ever, in a ``__del__``, where what an
    alarm raises is thrown away.
    """
    for iterator in kept:
        if isinstance(iterator, _MultiProcessingDataLoaderIter):
            iterator._shutdown = True
            _forget_workers(iterator)
            for queue in iterator._index_queues:
                queue.cancel_join_thread()
                queue.close()
    kept.clear()


def _forget_workers(iterator: Any) -> None:
    """Let PyTorch's handler of SIGCHLD raise nothing about these workers any more."""
    if iterator._worker_pids_set:
        iterator._worker_pids_set = False
        settings.signal_handling._remove_worker_pids(id(iterator))
