"""Samplers: buckets of similar lengths, and balanced classes."""

from __future__ import annotations

import itertools
import random
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from course_utils.learner.awkward import another_process
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import what_was_raised


def run_sampler(bucket_sampler, weighted_sampling, name: str, *arguments) -> tuple:
    """What a sampler returns, and what it changed that is not its own.

    In a run named ``"bucket, other hashes"`` strings hash as they may in another process, whose
    number is another one; in one named ``"…, emptied"`` an earlier result was emptied.
    """
    numbers: Any = np.random.get_state
    before = torch.get_rng_state(), numbers()[1].copy(), random.getstate()
    kept = list(arguments[0])
    kind, _, how = name.partition(", ")
    sampler = {"bucket": bucket_sampler, "weighted": weighted_sampling}[kind]
    if how == "emptied":
        _empty(sampler(*arguments))
    with another_process() if how == "other hashes" else nullcontext():
        result = sampler(*arguments)
    same = torch.equal(before[0], torch.get_rng_state()) and before[2] == random.getstate()
    changed = [] if same and (before[1] == numbers()[1]).all() else ["a global generator"]
    changed += [] if kept == list(arguments[0]) else ["its first argument"]
    if result is not None and not isinstance(result, list):
        result = type(result).__name__
    if isinstance(result, list):
        odd = [x for x in result if hasattr(x, "__len__") and not isinstance(x, (list, tuple))]
        assert not odd, f"a batch is of type {type(odd[0]).__name__}, expected a list of indices"
        result = [[int(i) for i in x] if hasattr(x, "__len__") else int(x) for x in result]
    return result, changed


def _empty(result: Any) -> None:
    """A list belongs to who asked for it, and so do the lists in it."""
    for part in (*result, result):
        if isinstance(part, list):
            part.clear()


def check_buckets(run, lengths, batch_size, seed, epoch, what):
    batches, changed = run("bucket", list(lengths), batch_size, seed, epoch)
    assert batches is not None, f"{what}: it returned None: is there an answer yet?"
    assert isinstance(batches, list), f"{what}: it returned a {batches}, expected a list of lists"
    assert all(isinstance(b, list) and b for b in batches), f"{what}: an empty batch, or not a list"
    flat = sorted(i for batch in batches for i in batch)
    lost = [i for i in range(len(lengths)) if i not in flat]
    twice = sorted({i for i in flat if flat.count(i) > 1})
    words = {"lost": lost[:5], "more than once": twice[:5]}
    why = ", ".join(f"{name}: {some}" for name, some in words.items() if some)
    check_equal(flat, [*range(len(lengths))], f"{what}: the indices in all batches, sorted", why)
    sizes = [len(batch) for batch in batches]
    short = sum(size < batch_size for size in sizes)
    assert max(sizes, default=0) <= batch_size, f"{what}: a batch holds more than {batch_size}"
    assert short <= 1, f"{what}: {short} batches are not full, at most one may be"
    spans = sorted((min(lengths[i] for i in b), max(lengths[i] for i in b)) for b in batches)
    for (_, longest), (shortest, _) in itertools.pairwise(spans):
        words = f"a batch goes up to length {longest}, and another begins at {shortest}"
        why = "sort by length before cutting"
        why += ", by whole numbers: a float or a short int can't hold them" * (longest > 2**24)
        assert longest <= shortest, f"{what}: {words}: {why}"
    assert not changed, f"{what}: it changed {' and '.join(changed)}"
    return [sorted(batch) for batch in batches]


def check_balance(run, labels, draws, seed, what):
    try:
        drawn, changed = run("weighted", list(labels), draws, seed)
    except (IndexError, MemoryError, OverflowError, RuntimeError, ValueError) as error:
        if min(labels) >= 0 and max(labels) < 2**24:
            raise
        words = "labels may lie below 0, and far apart: count those that are there, not all between"
        raise AssertionError(f"{what_was_raised(error)} ({words})") from None
    assert drawn is not None, f"{what}: it returned None: is there an answer yet?"
    assert isinstance(drawn, list), f"{what}: it returned a {drawn}, expected a list of indices"
    check_equal(len(drawn), draws, f"{what}: how many indices")
    bad = [i for i in drawn if not isinstance(i, int) or not 0 <= i < len(labels)]
    assert not bad, f"{what}: {bad[:3]} aren't indices into labels"
    classes = sorted(set(labels))
    shares = {c: sum(labels[i] == c for i in drawn) / draws for c in classes}
    found = ", ".join(f"{c}: {share:.2f}" for c, share in shares.items())
    few = set(drawn) <= set(range(len(classes))) and len(labels) > 2 * len(classes)
    words = f"only {sorted(set(drawn))} come up: are these classes? Each *item* needs a weight"
    assert not few, f"{what}: {words}"
    for c, share in shares.items():
        raw = labels.count(c) / len(labels)
        slip = abs(share - raw) < 0.03 and abs(raw - 1 / len(classes)) > 0.06
        hint = " (as in the data: the weights do nothing)" if slip else ""
        if max(map(abs, labels)) > 2**24 and not slip:
            hint = " (a label is a class of its own, near another, far off or below 0)"
        if share - 0.06 > raw > 1 / len(classes):
            hint = " (the frequent class got the larger weight: take one over its size)"
        assert abs(share - 1 / len(classes)) < 0.05, f"{what}: the shares are {found}{hint}"
        mine = [i for i, label in enumerate(labels) if label == c]
        counts = [drawn.count(i) * len(classes) * len(mine) / draws for i in mine]
        even = 0.4 < min(counts) <= max(counts) < 1.8
        assert even, f"{what}: in class {c} some items come up more"
    pairs = itertools.pairwise(labels[i] for i in drawn)
    again = sum(a == b for a, b in pairs) / (draws - 1)
    words = f"a class follows itself in {again:.0%} of the draws, expected {1 / len(classes):.0%}"
    assert abs(again - 1 / len(classes)) < 0.05, f"{what}: {words}: draw the class by chance"
    again = sum(a == b for a, b in itertools.pairwise(drawn)) / (draws - 1)
    right = sum((len(classes) * labels.count(label)) ** -2 for label in labels)
    words = f"an item follows itself in {again:.0%} of the draws, expected {right:.0%}"
    assert abs(again - right) < 0.04, f"{what}: {words}: draw the item by chance, too"
    _check_apart_by_any_distance(drawn, right, what)
    assert not changed, f"{what}: it changed {' and '.join(changed)}"
    return drawn


def _check_apart_by_any_distance(drawn: list[int], right: float, what: str) -> None:
    """Whether draws repeat earlier ones, in the same order or in the opposite one."""
    items, half = np.array(drawn), len(drawn) // 2
    mirrored = float((items[:half] == items[::-1][:half]).mean())
    words = f"{what}: the first draw and the last, the second and the last but one and on to the"
    words = f"{words} middle hold the same item in {mirrored:.0%}, expected {right:.0%}"
    assert abs(mirrored - right) < 0.1, f"{words}: no draw depends on another"
    for distance in range(2, half + 1):
        again = float((items[distance:] == items[:-distance]).mean())
        words = f"{what}: an item comes again {distance} draws later in {again:.0%}, expected"
        assert abs(again - right) < 0.1, f"{words} {right:.0%}: no draw depends on another"


def check_rare(run):
    """A class of 70 000 items and one of a single one: each is drawn about as often."""
    labels = [0] * 70_000 + [1]
    share = run("weighted", labels, 400, 0)[0].count(70_000) / 400
    words = f"the single item of class 1 came in {share:.0%} of 400 draws, expected about 50%"
    assert 0.4 < share < 0.6, f"{words}: can the weights hold 1 / 70000?"


def check_one_draw(run, labels):
    """A single draw, with twenty seeds: a list of one index."""
    for seed in range(20):
        drawn, _ = run("weighted", list(labels), 1, seed)
        what = "a number" if drawn in ("int", "float") else drawn
        assert isinstance(drawn, list), f"it returned {what}, expected a list of one index"
        check_equal(len(drawn), 1, "how many indices")
        assert drawn[0] in range(len(labels)), f"{drawn} isn't an index into labels"


def check_seeds_and_epochs(run, lengths):
    """Whether equal seeds and epochs give equal batches, and others give others."""
    keys = [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3)]
    runs = {key: check_buckets(run, lengths, 4, *key, f"(seed, epoch) = {key}") for key in keys}
    again = check_buckets(run, lengths, 4, 0, 0, "again")
    assert again == runs[0, 0], "called twice with equal seed and epoch, it gave another order"
    words = "a caller emptied the lists that it got, and the next call, with equal arguments, gave"
    emptied = run("bucket, emptied", lengths, 4, 0, 0)[0]
    assert all(emptied or [[]]), f"{words} them again: hand out new lists each time"
    orders = len({str(batches) for batches in runs.values()})
    assert orders > 1, "the batches come in one order, whatever seed and epoch: shuffle them"
    assert runs[0, 1] != runs[1, 0], "seed 0, epoch 1 gave the order of seed 1, epoch 0"
    assert runs[0, 0] != runs[1, 0], "seed 1 gave the order of seed 0: is the seed used?"
    assert runs[0, 0] != runs[0, 1], "epoch 1 gave the order of epoch 0: is the epoch used?"
    assert orders == 5, f"five seeds and epochs gave {orders} different orders of batches"
    check_apart(run, lengths, 32)
    for far in (60_000, 2**16, 2**32):  # and so what divides them
        for name, key in {"seed": (far, 0), "epoch": (0, far)}.items():
            later = check_buckets(run, lengths, 4, *key, f"{name} {far}")
            words = f"{name} {far} gave the order of {name} 0"
            assert later != runs[0, 0], f"{words}: use all of the number"
    for epoch in (100, 1000, 10_000):
        later = check_buckets(run, lengths, 4, 0, epoch, f"epoch {epoch}")
        words = f"seed 0, epoch {epoch} gave the order of seed 1, epoch 0"
        assert later != runs[1, 0], f"{words}: hand both numbers to the generator"


def check_ties(run):
    """Whether items of one length share a batch with others in another epoch."""
    for lengths in ([5] * 12, [9] * 3 + [5] * 12):
        rows = [check_buckets(run, lengths, 4, 0, epoch, "equals") for epoch in range(40)]
        members = {str(sorted(batches)) for batches in rows}
        others = " (there are three longer ones as well)" if 9 in lengths else ""
        words = "the same items share a batch in every epoch: shuffle before sorting"
        assert len(members) > 1, words + others
        words = f"in 40 epochs the twelve items were shared out in {len(members)} ways, again and"
        assert len(members) > 20, f"{words} again: shuffle before sorting{others}"


def check_other_process(run, lengths):
    """Whether the batches are the same where strings have other hashes."""
    right = run("bucket", list(lengths), 4, 3, 1)[0]
    found = run("bucket, other hashes", list(lengths), 4, 3, 1)[0]
    assert found == right, (
        "another order: hash() of a text differs from process to process, as its number does"
    )


def check_apart(run, lengths, below):
    """Whether no two pairs of seed and epoch below a number give the same batches."""
    seen = {}
    for pair in itertools.product(range(below), repeat=2):
        batches, _ = run("bucket", list(lengths), 4, *pair)
        text = str([sorted(batch) for batch in batches])
        words = f"(seed, epoch) = {seen.get(text)} and {pair} give the same order of batches"
        assert text not in seen, f"{words}: hand both numbers to the generator"
        seen[text] = pair


def check_shuffled(run, lengths, batch_size, count):
    """Whether any batch may be the first and the last, and any order come."""
    orders = [
        [
            min(lengths[i] for i in batch)
            for batch in run("bucket", list(lengths), batch_size, 2, epoch)[0]
        ]
        for epoch in range(count)
    ]
    starts = sorted(orders[0])
    for place, name in ((0, "first"), (-1, "last")):
        never = [start for start in starts if start not in {order[place] for order in orders}]
        words = f"in {count} epochs the batch of lengths from {never[:1]} on never came {name}"
        assert not never, f"{words}: shuffle the batches, the short one too"
    turned = all(
        order[n:] + order[:n] == orders[0] for order in orders for n in [order.index(orders[0][0])]
    )
    assert not turned, "the batches come in one order, only begun elsewhere: shuffle them"


def check_kept(run):
    """Whether a call is its own: other labels, as many as before, and a list that was emptied."""
    few, many = [0] * 5 + [1], [0] + [1] * 5
    run("weighted", few, 400, 0)
    share = run("weighted", many, 400, 0)[0].count(0) / 400
    words = f"after {few}, of the labels {many} the first item came in {share:.0%}, expected 50%"
    assert 0.35 < share < 0.65, f"{words}: are draws kept for as many labels? These are others"
    large, kinds = [0] + [1] * 100_000, 2000
    far = max(run("weighted", large, kinds, 0)[0])
    assert far > 90_000, (
        f"of a class of 100 000 items {kinds} draws took none beyond {far}: every item of it is as "
        "likely as any other"
    )
    words = "a caller emptied the list that it got, and the next call, with equal arguments, gave"
    emptied = run("weighted, emptied", many, 400, 0)[0]
    assert len(emptied) == 400, f"{words} it again: hand out a new list each time"


def check_few_draws(run, labels):
    """Six draws from six items, with twenty seeds: what must be left to chance."""
    runs = [run("weighted", list(labels), len(labels), seed)[0] for seed in range(20)]
    assert runs[0] is not None, "it returned None: is there an answer yet?"
    kinds = {type(drawn).__name__ if isinstance(drawn, list) else drawn for drawn in runs}
    assert kinds == {"list"}, f"it returned a {', '.join(kinds - {'list'})}, expected a list"
    twice = any(len(set(drawn)) < len(drawn) for drawn in runs)
    assert twice, "in twenty tries no index came twice: draw with replacement, always"
    shares = {tuple(sorted(labels[i] for i in drawn)) for drawn in runs}
    words = (
        "in twenty tries each class came exactly as often as the other: draw the class by chance"
    )
    assert len(shares) > 1, words
