"""A stream of records that can be resumed."""

from __future__ import annotations

import gc
import json
import multiprocessing
import time
import warnings
from contextlib import nullcontext
from typing import Any

import torch
from torch.utils.data import Dataset, get_worker_info

from course_utils.chapters.data_pipelines.files import words_of
from course_utils.learner.awkward import another_process, other_hashes
from course_utils.learner.checks import check_equal
from course_utils.learner.garbage import what_is_new_alone


class Records(Dataset):
    """The numbers 0 to n − 1; notes which were read in this process."""

    def __init__(self, n):
        self.n, self.read = n, []

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        self.read.append(int(index))
        return int(index)


def take(loader, count: int, leave: bool = False) -> list[list[int]]:
    """The next ``count`` batches; with ``leave``, each ``for`` is left after a batch."""
    batches = []
    for _ in range(2 * count + 2):
        for batch in loader if len(batches) < count else []:
            words = (
                f"a batch is a {type(batch).__name__}, not what default_collate makes of numbers"
            )
            assert isinstance(batch, torch.Tensor), words
            batches.append(batch.tolist())
            if leave or len(batches) == count:
                break
    return batches


def run_stream(
    resumable,
    n: int,
    batch_size: int,
    seed: int,
    workers: int,
    count: int,
    leave: bool = False,
    salted: bool = False,
) -> list:
    """The first ``count`` batches of a new loader; where ``salted``, strings hash otherwise, and
    the process has another number."""
    elsewhere = other_hashes if workers else another_process
    with elsewhere() if salted else nullcontext():
        loader = resumable(Records(n), batch_size, seed, workers)
        assert loader is not None, "resumable returned None: is there an answer yet?"
        return take(loader, count, leave)


class Failing(Records):
    """The numbers 0 to n − 1; the tenth that is read can't be, once."""

    def __getitem__(self, index):
        self.read.append(int(index))
        if len(self.read) == 10:
            raise OSError("not there for a moment")
        return int(index)


def run_disturbed(resumable, raises: bool) -> list[list[int]]:
    """Eight batches of a loader whose dataset raises on the way, or beside which another one is
    made and read."""
    loader, batches = resumable((Failing if raises else Records)(17), 4, 0, 0), []
    assert loader is not None, "resumable returned None: is there an answer yet?"
    if not raises:
        batches = take(loader, 6)
        take(resumable(Records(17), 4, 0, 0), 1)
        return batches + take(loader, 2)
    try:
        for batch in loader:
            batches.append(batch.tolist())
    except OSError:
        return batches + take(loader, 8 - len(batches))
    return batches


def check_disturbed(stream, disturbed, raises: bool):
    whole, found = stream(17, 4, 0, 0, 8), disturbed(raises)
    words = "another loader was made and read in between: each keeps a place of its own"
    if raises:
        words = "an item of the third batch raised, and the next for begins with that batch: count "
        words += "a batch when it has come"
    check_equal(found, whole, "eight batches", words)


class Pairs(Dataset):
    """Five pairs of a number and a dict, which says where it was made: -1 is the main process."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        worker = getattr(get_worker_info(), "id", -1)
        return int(index), {"square": torch.tensor([index**2, 0.5]), "worker": worker}


def run_pairs(resumable, workers: int) -> tuple:
    """Words about a batch that isn't what default_collate makes, and which workers made items; the
    numbers that a whole epoch gives, and those that two loaders give, with one state in between."""
    made = set()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")  # on few cores
        loader = resumable(Pairs(), 2, 0, workers)
        assert loader is not None, "resumable returned None: is there an answer yet?"
        try:
            batches = [*loader]
        except Exception as error:
            return words_of(error), [], [], []
    try:
        for batch in batches:
            numbers, parts = batch
            squares = torch.stack([torch.tensor([n**2, 0.5]) for n in numbers.tolist()])
            assert torch.equal(parts["square"], squares), "its squares belong to other numbers"
            made |= set(parts["worker"].tolist())
        loader, first, second = (resumable(Pairs(), 1, 0, 0) for _ in range(3))
        begun = [next(iter(first))]
        second.load_state_dict(first.state_dict())
        whole, resumed = ([int(b[0]) for b in some] for some in (loader, [*begun, *second]))
    except Exception as error:
        return words_of(error), [], [], []
    return "", sorted(made), whole, resumed


def _running(before: list) -> int:
    """How many processes run that are not among those before.

    A worker that was told to end may need a moment on a busy machine.
    """
    if any(child not in before for child in multiprocessing.active_children()):
        gc.collect()
    new = [child for child in multiprocessing.active_children() if child not in before]
    until = time.monotonic() + 5
    for child in new:
        child.join(max(0.0, until - time.monotonic()))
    return sum(child.is_alive() for child in new)


def check_pairs(run, workers: int):
    error, made, whole, resumed = run(workers)
    words = f"over items of a number and a dict it raised {error}: let default_collate make a batch"
    assert not error, words
    right = [*range(workers)] or [-1]
    words = f"num_workers={workers}: items were made by workers {made}, expected {right}"
    assert made == right, words + " (-1 is the main process)"
    why = "a batch counts once, whatever it holds: here it is a pair, and its len is 2"
    why = why if len(resumed) < len(whole) else ""
    check_equal(resumed, whole, "stopped after a batch and resumed, the numbers that came", why)


def check_left(run):
    """Whether a loader that is left by break after each batch gives what it gives otherwise."""
    whole, broken = (run(17, 4, 1, 0, 12, leave) for leave in (False, True))
    for n, (batch, right) in enumerate(zip(broken, whole, strict=False)):
        why = "the next for continues after the last batch that came out"
        why = "that batch came before, too: it was not counted" if batch in whole[:n] else why
        why = "an epoch goes on until its last batch" if batch in whole[n + 1 :] else why
        check_equal(batch, right, f"batch {n}, after {n} for loops that were left by break", why)
    check_equal(len(broken), len(whole), "how many batches came")


def _has_other_keys(state: object) -> bool:
    """Whether a dict in what json can write has keys that aren't texts."""
    if isinstance(state, dict):
        return any(not isinstance(key, str) or _has_other_keys(state[key]) for key in state)
    return isinstance(state, (list, tuple)) and any(map(_has_other_keys, state))


def _passed_on(other: Any, third: Any, given: dict, how: str) -> list[list[int]]:
    """The batches that a third loader gives, which gets the state of another one that was put to a
    place, and once more when that has given a batch. The other one is put there again."""
    if how != "used":
        return []
    third.load_state_dict(other.state_dict())
    take(other, 1)
    first = take(third, 1)
    third.load_state_dict(other.state_dict())
    take(other, 1)
    other.load_state_dict(given)
    return first + take(third, 1)


@what_is_new_alone()
def run_resumable(
    resumable,
    n: int,
    batch_size: int,
    seed: int,
    workers: int,
    stop: int,
    count: int,
    how: str = "",
) -> dict:
    """What a second loader gives after the state of a first, and what that read and left behind.

    Args:
        how: ``"inside"`` asks for the state in the loop, before the break; ``"used"`` lets the
            second loader give two epochs and three batches before it is put there, twice.
    """
    before = multiprocessing.active_children()
    loader = resumable(Records(n), batch_size, seed, workers)
    for name in ("__iter__", "state_dict", "load_state_dict"):
        assert hasattr(loader, name), f"resumable returned {type(loader).__name__}, without {name}"
    state, head = None, take(loader, stop - (how == "inside"))
    if how == "inside":
        for batch in loader:
            state = loader.state_dict()
            head.append(batch.tolist())
            break
    running = _running(before)
    state = loader.state_dict() if state is None else state
    try:
        text = json.dumps(state)
    except TypeError as error:
        raise AssertionError(f"json can't write what state_dict() returned: {error}") from error
    words = f"json makes texts of keys, so that {state} comes back as {text}: use texts for keys"
    assert not _has_other_keys(state), words
    take(loader, 2)
    loader.state_dict()
    moved = json.dumps(state) != text
    records = Records(n)
    other = resumable(records, batch_size, seed, workers)
    take(other, 2 * -(-n // batch_size) + 3 if how == "used" else 0)
    given = json.loads(text)
    other.load_state_dict(given)
    passed = _passed_on(other, resumable(Records(n), batch_size, seed, workers), given, how)
    before_read = len(records.read)
    rest, read = take(other, count), len(records.read) - before_read
    loaded = json.dumps(given) != text
    del loader, other
    gc.collect()
    left = _running(before)
    counts = {"read": read, "workers left": left, "running": running, "passed": passed}
    return {"head": head, "rest": rest, "moved": moved, "loaded": loaded, **counts}


def check_stream(run, n, batch_size, seed, workers, epochs=3):
    per_epoch = -(-n // batch_size)
    whole = run(n, batch_size, seed, workers, epochs * per_epoch)
    check_equal(len(whole), epochs * per_epoch, f"batches in {epochs} epochs")
    orders, together = [], []
    for epoch in range(epochs):
        batches = whole[epoch * per_epoch : (epoch + 1) * per_epoch]
        orders.append([item for batch in batches for item in batch])
        together.append({frozenset(batch) for batch in batches[:-1]})
        why = "every item once: the last batch may be short, and is handed out as well"
        check_equal(sorted(orders[-1]), [*range(n)], f"the items of epoch {epoch}, sorted", why)
        sizes = [len(batch) for batch in batches]
        full = [batch_size] * (n // batch_size) + [n % batch_size] * (n % batch_size > 0)
        why = "shuffle items, then cut: the short batch comes last" * (sorted(sizes)[::-1] == full)
        check_equal(sizes, full, f"the sizes of the batches of epoch {epoch}", why)
    words = "each epoch has the order of the first: shuffle anew, from the seed and the epoch"
    assert any(order != orders[0] for order in orders), words
    apart = any(batches != together[0] for batches in together)
    assert apart or per_epoch == 1, (
        "the same items share a batch in each epoch: whole batches are shuffled, not items"
    )
    assert [*range(n)] not in orders, "an epoch is not shuffled"
    assert len({str(order) for order in orders}) == epochs, "two epochs have the same order"
    longer = [batch for batch in whole if len(batch) > 1]
    words = "inside of each batch the items come sorted: hand them out as the shuffle left them"
    assert not longer or any(batch != sorted(batch) for batch in longer), words
    torch.manual_seed(99)
    same = "another loader with equal arguments gave another order: does it draw globally, or do "
    same += "all loaders share one place?"
    assert run(n, batch_size, seed, workers, len(whole)) == whole, same
    salted = run(n, batch_size, seed, workers, len(whole), False, True)
    same = "in another process, where strings have other hashes, it gave another order: no hash()"
    same += ", and no number of a process"
    assert salted == whole, same
    for step in (1,) if workers else (1, 8, 256, 2**16, 2**31):
        other = run(n, batch_size, seed + step, workers, per_epoch)
        words = f"seed {seed + step} gave the same order as seed {seed}"
        assert other != whole[:per_epoch], words


def check_orders(run, n: int, epochs: int):
    """Whether the order of items knows nothing of the size of a batch, and each is a new one."""
    first = [item for batch in run(n, n, 0, 0, 2) for item in batch]
    for size in (4, 5, 1):
        batches = run(n, size, 0, 0, 2 * -(-n // size))
        found = [item for batch in batches for item in batch]
        words = f"in batches of {size} the items come in another order than in one of {n}"
        assert found == first, f"{words}: it follows from the seed and the epoch alone"
    orders = [tuple(batch) for batch in run(n, n, 0, 0, epochs)]
    check_equal(len(orders), epochs, f"batches in {epochs} epochs of one batch")
    seen, begun = {}, {}
    for epoch, order in enumerate(orders):
        check_equal(sorted(order), [*range(n)], f"the items of epoch {epoch}, sorted")
        zero = order.index(0)
        turned = order[zero:] + order[:zero]
        for kept, key, how in (
            (seen, order, ""),
            (seen, order[::-1], ", backwards"),
            (begun, turned, ", begun elsewhere"),
        ):
            words = f"the order of epoch {epoch} is that of epoch {kept.get(key)}{how}"
            assert key not in kept, f"{words}: shuffle each epoch anew"
        seen[order] = begun[turned] = epoch
    for place in range(n):
        came = len({order[place] for order in orders})
        words = f"in {epochs} epochs only {came} of {n} items came at place {place} of an epoch"
        assert came > n - 4, f"{words}: shuffle all of them"


def check_resumed(stream, resumed, n, batch_size, seed, workers, stop, count, how=""):
    whole = stream(n, batch_size, seed, 0, stop + count)
    found = resumed(n, batch_size, seed, workers, stop, count, how)
    words = "the dict of state_dict() changed when the loader continued, or was asked again"
    assert not found["moved"], words
    assert not found["loaded"], "the dict that was loaded was changed when the loader continued"
    words = "state_dict(), asked between load_state_dict and the next for, isn't the place that was"
    assert found["passed"][:1] in ([], whole[stop : stop + 1]), f"{words} loaded"
    words = (
        "state_dict(), asked when a batch has come since load_state_dict, isn't behind that batch"
    )
    assert found["passed"] in ([], whole[stop : stop + 2]), words
    right, rest, per_epoch = whole[stop:], found["rest"], -(-n // batch_size)
    if workers and found["head"] != whole[:stop]:
        own = stream(n, batch_size, seed, workers, stop)
        words = f"with num_workers={workers} the items come in another order than without workers"
        assert own != found["head"], f"{words}: it follows from the seed and the epoch alone"
    check_equal(found["head"], whole[:stop], f"the {stop} batches before the stop")
    if rest != right and rest:
        begin = stop // per_epoch * per_epoch
        where = {whole.index(rest[0]) - stop} if rest[0] in whole else set()
        assert whole[begin] != rest[0] or begin == stop, "it began the epoch again"
        for ahead in where:
            why = "count what came out, not what workers had fetched"
            why = why if workers else "count each batch that came out; a break ends no epoch"
            assert ahead <= 0, f"batches are lost ({ahead}): {why}"
            why = ": is the order of an epoch drawn from its number?" * (ahead == -per_epoch)
            assert ahead >= 0, f"batches come twice ({-ahead}){why}"
        assert where, "it continues in another order than the loader that was stopped"
    check_equal(rest, right, f"the {count} batches after the stop")
    items = sum(len(batch) for batch in right)
    read = found["read"]
    words = f"{read} items were read for {items}: don't read what is skipped"
    assert workers or read <= items, words
    check_equal(found["running"], 0, "workers that still run after a for was left by break")
    check_equal(found["workers left"], 0, "workers that outlive their loader")
