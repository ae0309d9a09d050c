"""Samplers: buckets of similar lengths, and balanced classes."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import torch

from course_utils.learner.checks import check_equal


def run_sampler(bucket_sampler, weighted_sampling, name: str, *arguments) -> tuple:
    """What a sampler returns, and what it changed that is not its own."""
    numbers: Any = np.random.get_state
    before = torch.get_rng_state(), numbers()[1].copy(), random.getstate()
    kept = list(arguments[0])
    result = {"bucket": bucket_sampler, "weighted": weighted_sampling}[name](*arguments)
    same = torch.equal(before[0], torch.get_rng_state()) and before[2] == random.getstate()
    changed = [] if same and (before[1] == numbers()[1]).all() else ["a global generator"]
    changed += [] if kept == list(arguments[0]) else ["its first argument"]
    if result is not None and not isinstance(result, list):
        result = type(result).__name__
    if isinstance(result, list):
        result = [[int(i) for i in x] if hasattr(x, "__len__") else int(x) for x in result]
    return result, changed


def check_buckets(run, lengths, batch_size, seed, epoch, what):
    batches, changed = run("bucket", list(lengths), batch_size, seed, epoch)
    assert batches is not None, f"{what}: it returned None: is there an answer yet?"
    assert isinstance(batches, list), f"{what}: it returned a {batches}, expected a list of lists"
    assert all(isinstance(b, list) and b for b in batches), f"{what}: a batch is empty or no list"
    flat = sorted(i for batch in batches for i in batch)
    check_equal(flat, [*range(len(lengths))], f"{what}: the indices in all batches, sorted")
    sizes = [len(batch) for batch in batches]
    short = sum(size < batch_size for size in sizes)
    assert max(sizes, default=0) <= batch_size, f"{what}: a batch holds more than {batch_size}"
    assert short <= 1, f"{what}: {short} batches are not full, at most one may be"
    spans = sorted((min(lengths[i] for i in b), max(lengths[i] for i in b)) for b in batches)
    for (_, longest), (shortest, _) in itertools.pairwise(spans):
        words = f"a batch goes up to length {longest}, and another begins at {shortest}"
        assert longest <= shortest, f"{what}: {words}: sort by length before cutting"
    assert not changed, f"{what}: it changed {' and '.join(changed)}"
    return [sorted(batch) for batch in batches]


def check_balance(run, labels, draws, seed, what):
    drawn, changed = run("weighted", list(labels), draws, seed)
    assert drawn is not None, f"{what}: it returned None: is there an answer yet?"
    assert isinstance(drawn, list), f"{what}: it returned a {drawn}, expected a list of indices"
    check_equal(len(drawn), draws, f"{what}: how many indices")
    bad = [i for i in drawn if not isinstance(i, int) or not 0 <= i < len(labels)]
    assert not bad, f"{what}: {bad[:3]} are no indices into labels"
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
    assert not changed, f"{what}: it changed {' and '.join(changed)}"
    return drawn


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
