"""Exercise 12.11: what a loader seeds, and what it reads."""

from __future__ import annotations

import itertools
import json
import os
import random
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_utils.chapters.data_pipelines.streams import Records, take
from course_utils.learner.awkward import replaced

SEEDERS = {
    "torch.manual_seed": (torch, "manual_seed"),
    "torch.random.manual_seed": (torch.random, "manual_seed"),
    "torch.seed": (torch, "seed"),
    "np.random.seed": (np.random, "seed"),
    "random.seed": (random, "seed"),
}


def run_global_seeds(resumable) -> list[str]:
    """Which functions that seed a global generator were called by a loader that reads one epoch,
    gives its place and is put there."""
    called: list[str] = []

    def noting(name: str, seed: Any):
        def call(*given: Any, **options: Any) -> Any:
            called.append(name)
            return seed(*given, **options)

        return call

    with ExitStack() as stack:
        for name, (owner, attribute) in SEEDERS.items():
            seed = noting(name, getattr(owner, attribute))
            stack.enter_context(replaced(owner, attribute, seed))
        loader = resumable(Records(17), 4, 0, 0)
        assert loader is not None, "resumable returned None: is there an answer yet?"
        list(loader)
        loader.load_state_dict(loader.state_dict())
        list(loader)
    return sorted(set(called))


def check_global_seeds(run) -> None:
    called = run()
    words = (
        f"it called {' and '.join(called)}, which seeds what all code draws from, also where the"
    )
    assert not called, f"{words} state is put back afterwards: make a generator of its own"


class Noted(Records):
    """The numbers 0 to n − 1; notes in a file which were read, in whatever process."""

    def __init__(self, n: int, path: str) -> None:
        super().__init__(n)
        self.path = path

    def __getitem__(self, index):
        with open(self.path, "ab", buffering=0) as file:
            file.write(bytes([int(index)]))
        return int(index)


def run_read(resumable, workers: int) -> tuple:
    """The items of the first two batches of an epoch, and which items a second loader read that
    was put behind them and gave the other three."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("first", "second")]
        loader, other = (resumable(Noted(17, path), 4, 0, workers) for path in paths)
        assert loader is not None, "resumable returned None: is there an answer yet?"
        given = [*itertools.chain.from_iterable(take(loader, 2))]
        state = json.loads(json.dumps(loader.state_dict()))
        try:
            other.load_state_dict(state)
        except KeyError as error:
            words = f"load_state_dict asks for {error}, and json gave back {state}: use texts for"
            raise AssertionError(f"{words} keys") from error
        take(other, 3)
        second = Path(paths[1])
        return given, sorted(second.read_bytes()) if second.exists() else []


def check_read(run, workers: int):
    given, read = run(workers)
    assert read, "after two of five batches the second loader read nothing: three are left"
    # Which ones, besides, depends on how far workers have got.
    words = "items that were handed out before were read again: leave them to the sampler"
    assert not set(given) & set(read), words
