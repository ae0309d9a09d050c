"""Workers: what each of them draws, and which part each of them reads."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from course_utils.learner.awkward import other_hashes
from course_utils.learner.tracebacks import what_was_raised


def check_draws(NoiseSet, drawn, which, what):
    rows = {
        f"worker {worker} in epoch {epoch}": tuple(numbers[which])
        for epoch, workers in enumerate(drawn)
        for worker, numbers in enumerate(workers)
    }
    names = list(rows)
    pairs = [(a, b) for n, a in enumerate(names) for b in names[:n] if set(rows[a]) & set(rows[b])]
    between = [(a, b) for a, b in pairs if a.split(" in ")[1] == b.split(" in ")[1]]
    worker_only = all(a.split(" in ")[0] == b.split(" in ")[0] for a, b in pairs)
    words = "two numbers that differ gave one seed: use all of get_worker_info().seed"
    if between:
        words = "in an epoch, seed from what differs by worker: get_worker_info().seed, as it is"
    elif worker_only:
        words = "seed from what differs by epoch: get_worker_info().seed does, worker_id doesn't"
    several = len({name.split(" in ")[0] for name in names}) > 1  # worker 0's number is a seed, too
    if several and all(numbers[0] == NoiseSet()[0][which] for numbers in rows.values()):
        words = "is there an answer yet? It still draws what the one from __init__ drew: put a new "
        words += "one into the copy"
    for a, b in (between or pairs)[:1]:
        raise AssertionError(f"{what}: {b} and {a} drew the same numbers: {words}")


KINDS = {"rng": np.random.Generator, "generator": torch.Generator}


def run_worker_rng(
    worker_rng, NoiseSet, workers: int, epochs: int, seed: int, salted: bool = False
) -> list:
    """For each epoch, what each worker drew from rng and from generator, and its seed.

    With ``salted``, strings hash as they may in another process.
    """

    def start(worker_id: int) -> None:
        with other_hashes() if salted else nullcontext():
            worker_rng(worker_id)
        dataset: Any = getattr(get_worker_info(), "dataset", None)
        for name, kind in KINDS.items():
            mine = type(getattr(dataset, name))
            words = f"dataset.{name} is a {mine.__name__}, expected a {kind.__name__}"
            if mine.__name__ == kind.__name__:
                ours, theirs = (each.__module__.partition(".")[0] for each in (mine, kind))
                words = f"dataset.{name} is a Generator of {ours}, expected one of {theirs}"
            assert issubclass(mine, kind), words
        words = "dataset.generator is PyTorch's global generator: give the copy a new one"
        assert getattr(dataset, "generator", None) is not torch.default_generator, words

    def described(item: Any) -> tuple:
        info: Any = get_worker_info()
        return info.id, *item, info.seed

    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")  # for few cores
        loader = DataLoader(
            NoiseSet(),
            batch_size=None,
            num_workers=workers,
            worker_init_fn=start,
            collate_fn=described,
            generator=torch.Generator().manual_seed(seed),
        )
        for _ in range(epochs):
            drawn = [([], [], []) for _ in range(workers)]
            for worker, *numbers in _told(loader):
                for row, number in zip(drawn[worker], numbers, strict=True):
                    row.append(number)
            found.append(drawn)
    return found


def _told(loader: DataLoader) -> Iterator:
    """What a loader gives; what a worker raises, in its last line."""
    try:
        yield from loader
    except Exception as error:
        last = str(error).strip().splitlines()[-1]
        raise AssertionError(f"in a worker: {last}") from error


def check_seeds(drawn, seed):
    """Whether each worker reported the seed that a loader with this generator gives it."""
    generator = torch.Generator().manual_seed(seed)
    for epoch, workers in enumerate(drawn):
        first = int(torch.empty((), dtype=torch.int64).random_(generator=generator))
        for worker, numbers in enumerate(workers):
            words = f"epoch {epoch}, worker {worker}: this isn't the seed that the loader gives it"
            assert set(numbers[2]) == {first + worker}, words
            words = f"epoch {epoch}, worker {worker}: not three items of two numbers"
            assert [len(row) for row in numbers] == [3, 3, 3], words


def run_shard(shard_iterable, source: list, world: int, workers: int, before: bool = False) -> list:
    """For each rank, two epochs of (worker, item); ``before``: after a loop in this process."""
    found, given = [], list(source)
    streams = [shard_iterable(given, rank, world) for rank in range(world)]
    shard_iterable(["an item of another stream"] * 20, 0, 1)
    for stream in streams:
        kind = type(stream).__name__
        assert stream is not None, "shard_iterable returned None: is there an answer yet?"
        assert isinstance(stream, IterableDataset), (
            f"shard_iterable returned {kind}: expected an IterableDataset"
        )
        if before:
            next(iter(stream), None)
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message="This DataLoader will create"
            )  # for few cores
            loader = DataLoader(
                stream,
                batch_size=None,
                num_workers=workers,
                collate_fn=lambda item: (getattr(get_worker_info(), "id", 0), item),
            )
            told = _told if workers else iter
            found.append([[*told(loader)], [*told(loader)]])
    assert given == list(source), "the list was changed: a stream only reads it"
    items = [item for epochs in found for pairs in epochs for _, item in pairs]
    arrays = [item for item in items if isinstance(item, (list, np.ndarray, torch.Tensor))]
    words = f"an item came as a {type(arrays[0]).__name__}, " if arrays else ""
    assert not arrays, f"{words}and is a {type(source[0]).__name__}: give it as it is in the list"
    return found


class Uncopied:
    """An item that is handed on and nothing else, as a lock or an open file is."""

    def __hash__(self) -> int:
        raise TypeError("unhashable type: an item that can't be copied")

    def __repr__(self) -> str:
        return "an item that can't be copied"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("this item can't be copied or pickled, as a lock can't")


def run_unhashable(shard_iterable) -> str:
    """Words where a stream can't hand out what has no hash or no copy, or drops an equal item."""
    source = [[0, 1], [0, 1], {"a": torch.zeros(2)}, Uncopied()]
    try:
        found = [*shard_iterable(list(source), 0, 1)]
    except Exception as error:
        return f"it {what_was_raised(error)}"
    same = sorted(map(repr, found)) == sorted(map(repr, source))
    return "" if same else f"of {source} it gave {found}"


ITEMS = {
    "of nine kinds, nearly": [None, "b", 0, (1, 2), "", "b", 2.5, b"x", -1],
    "pairs": [(0, "a"), (1, "b"), (0, "a"), (2, "c"), (1, "d")],
}


def check_shares(run, count, world, workers, before=False, kinds=""):
    source = ITEMS[kinds] if kinds else [n * n % 5 for n in range(count)]
    found = run(source, world, workers, before)
    first, second = ([[tuple(pair) for pair in epochs[e]] for epochs in found] for e in (0, 1))
    items, there = Counter(item for rank in first for _, item in rank), Counter(source)
    foreign = sorted(set(items) - set(source), key=repr)
    why = ": each stream keeps the list that it was made with" if "an item" in str(foreign) else ""
    assert not foreign, f"{foreign[:3]} aren't items of the list{why}"
    wrong = {"lost": there - items, "more than once": items - there}
    words = [
        f"{name} {sorted(part.elements(), key=repr)[:6]}" for name, part in wrong.items() if part
    ]
    same = len(there) > 1 and any(a and a == b for a, b in itertools.pairwise(first))
    why = ": two ranks read the same part; each stream keeps its own rank" if same else ""
    parts = [[[x for w, x in rank if w == worker] for worker in range(workers)] for rank in first]
    if any(part[1:] and part[0] and part.count(part[0]) == workers for part in parts):
        why = ": a rank's workers read the same; ask get_worker_info() in __iter__, at each loop"
    assert not words, f"of the items {source}: {', '.join(words)}{why}"
    shares = [
        [item for w, item in rank if w == worker]
        for rank in first
        for worker in range(max(workers, 1))
    ]
    sizes = [len(share) for share in shares]
    repeated = len(source) - len(there) > 1  # a single pair may meet in a block by chance
    together = repeated and sum(len(set(share)) for share in shares) == len(there)
    value = ": an item goes by its place in the list, not by its value" if together else ""
    uneven = f"the shares hold {sizes} items: no two may differ by more than one{value}"
    assert max(sizes) - min(sizes) <= 1, uneven
    assert first == second, "the second loop over the same stream gave something else"
