"""Twelve puzzles: what a wrong result may have come from, on lists."""

from __future__ import annotations

import torch


def _rolled_off(x: list, k: int) -> list:
    return [x[i - k] if 0 <= i - k < len(x) else 0 for i in range(len(x))]


def _all_kept(x: list, keep: list) -> list:
    """Entries that go are added to the last that was kept before them."""
    sums = [0] * len(x)
    place = -1
    for a, kept in zip(x, keep, strict=True):
        place += kept
        if place >= 0:
            sums[place] += a
    return sums


def _kept_first(x: list, first: list) -> list:
    kept = [a for a, is_first in zip(x, first, strict=True) if is_first]
    return kept + [0] * (len(x) - len(kept))


def _both(x: list, first: list) -> list:
    """Those that are first, then the others."""
    pairs = list(zip(x, first, strict=True))
    return [a for a, kept in pairs if kept] + [a for a, kept in pairs if not kept]


def _linspace(a: int, b: int, n: int, steps: int) -> list:
    return [a + (b - a) * i // steps for i in range(n)]


more_slips = {
    "total": [
        (lambda x: sum(a * a for a in x), "these are the squares, added up: multiply by ones"),
        (lambda x: sum(a for a in x if a > 0), "entries below zero count, too"),
        (lambda x: sum(map(abs, x)), "entries below zero count as they are"),
    ],
    "running sum": [
        (lambda x: [sum(x[:i]) for i in range(len(x))], "the entry itself counts, too: j <= i"),
        (
            lambda x: [sum(a for a in x if a <= b) for b in x],
            "places are to be compared, not numbers",
        ),
    ],
    "differences": [
        (
            lambda x: [0] + [x[i] - x[i - 1] for i in range(1, len(x))],
            "the first entry has none before it, and stays as it is",
        ),
        (
            lambda x: [x[i] - x[i - 1] for i in range(len(x))],
            "the last entry was taken from the first: there the row does not close",
        ),
        (
            lambda x: [(x[i - 1] if i else 0) - x[i] for i in range(len(x))],
            "the sign: the one before is taken away, not the entry itself",
        ),
        (
            lambda x: [x[i] + (x[i - 1] if i else 0) for i in range(len(x))],
            "the one before was added, not taken away",
        ),
    ],
    "reverse": [
        (lambda x: [0, *x[:0:-1]], "one place too far: i + j is n - 1"),
        (lambda x: [*x[-2::-1], 0], "one place too early: i + j is n - 1"),
        (lambda x: [x[-i] for i in range(len(x))], "entry 0 stayed where it is: i + j is n - 1"),
    ],
    "roll": [
        (_rolled_off, "what falls off at one end comes back at the other: %"),
        (lambda x, k: _rolled_off(x, -k), "it rolls the other way, and nothing comes back"),
        (lambda x, k: x, "nothing has moved"),
        (lambda x, k: [x[(i - abs(k)) % len(x)] for i in range(len(x))], "k may be below zero"),
    ],
    "pad to": [
        (lambda x, n: x + [0] * (n - len(x)), "n numbers: what is more than that is cut off"),
        (lambda x, n: [x[i % len(x)] for i in range(n)], "it starts anew: zeros stand behind"),
        (lambda x, n: (x + x[-1:] * n)[:n], "the last entry is repeated: zeros stand behind"),
    ],
    "linspace": [
        (lambda a, b, n: _linspace(a, b, n, n), "b is missing: n numbers have n - 1 steps"),
        (lambda a, b, n: _linspace(0, b - a, n, n - 1), "it starts at 0, not at a"),
        (lambda a, b, n: _linspace(b, a, n, n - 1), "it runs from b to a"),
        (lambda a, b, n: _linspace(a, a + abs(b - a), n, n - 1), "b may be below a"),
        (
            lambda a, b, n: [a - (a - b) * i // (n - 1) for i in range(n)],
            "it rounds up: // rounds down what you divide, (b - a) * i",
        ),
        (
            lambda a, b, n: [a + round((b - a) * i / (n - 1)) for i in range(n)],
            "it rounds to the nearest: // rounds down",
        ),
    ],
    "bucketize": [
        (
            lambda x, bounds: [sum((a - b + 2**63) % 2**64 >= 2**63 for b in bounds) for a in x],
            "their difference may be beyond int64: compare the two",
        ),
        (
            lambda x, bounds: [sum(b for b in bounds if b <= a) for a in x],
            "the bounds are added up, not counted",
        ),
        (
            lambda x, bounds: [sum(b <= a for a in x) for b in bounds],
            "for each bound the entries are counted; for each entry, the bounds",
        ),
        (
            lambda x, bounds: [sum(b >= a for b in bounds) for a in x],
            "the bounds above are counted, not those below",
        ),
        (
            lambda x, bounds: [sum(b > a for b in bounds) for a in x],
            "the bounds above are counted, not those below",
        ),
    ],
    "histogram": [
        (
            lambda x, n: [sum(a for a in x if a == j) for j in range(n)],
            "the numbers are added up, not counted",
        ),
        (lambda x, n: [int(j in x) for j in range(n)], "how often, not whether"),
        (
            lambda x, n: [sum(a >= j for a in x) for j in range(n)],
            "only what is equal counts, not what is larger",
        ),
        (
            lambda x, n: [sum(a <= j for a in x) for j in range(n)],
            "only what is equal counts, not what is smaller",
        ),
        (lambda x, n: [x.count(j + 1) for j in range(n)], "the first count is that of 0"),
    ],
    "segment sum": [
        (lambda x, s, n: [s.count(j) for j in range(n)], "the entries are counted, not added up"),
        (
            lambda x, s, n: [sum(a for a, k in zip(x, s, strict=True) if k >= j) for j in range(n)],
            "only the label j itself counts, not larger ones",
        ),
        (
            lambda x, s, n: [sum(a for a, k in zip(x, s, strict=True) if k <= j) for j in range(n)],
            "only the label j itself counts, not smaller ones",
        ),
        (
            lambda x, s, n: [sum(k for a, k in zip(x, s, strict=True) if a == j) for j in range(n)],
            "x and s have changed places",
        ),
    ],
    "compress": [
        (_all_kept, "an entry that goes was added to one that stays: & keep"),
        (
            lambda x, keep: [0, *_kept_first(x, keep)][: len(x)],
            "one place too far: the running sum counts the entry itself",
        ),
        (
            lambda x, keep: [a * kept for a, kept in zip(x, keep, strict=True)],
            "what is kept has to move to the front",
        ),
        (
            lambda x, keep: _kept_first(x, [k and a != 0 for a, k in zip(x, keep, strict=True)]),
            "a zero that is kept keeps its place as well",
        ),
        (
            lambda x, keep: _kept_first(x, [k and a > 0 for a, k in zip(x, keep, strict=True)]),
            "only keep decides, not the number itself",
        ),
        (
            lambda x, keep: _both(x, keep),
            "zeros fill the rest, not what has to go",
        ),
        (lambda x, keep: _kept_first(x, keep)[::-1], "it runs backwards"),
    ],
}


def digits(result, expected: torch.Tensor, *args) -> str:
    """Words for a result that went through floats, or of bounds (the last of args) in no order."""
    if not isinstance(result, torch.Tensor) or result.shape != expected.shape:
        return ""
    if result.is_floating_point():
        return "whole numbers stay whole: 1, not 1.0"
    size, off = expected.abs(), (result - expected).abs()
    near = (off == 0) | (size > 2**24) & (off < size // 10**6)
    if near.all():
        return "a float has too few digits, float64 as well: stay among whole numbers (1, not 1.0)"
    bounds = args[-1].tolist() if args and isinstance(args[-1], torch.Tensor) else []
    return "these bounds are in no order" if bounds != sorted(bounds) else ""


def check_growth(name: str, seen: list[tuple[tuple, int]]) -> None:
    """Check that a long input takes no more operators than a short one: there is no loop.

    Args:
        name: the puzzle's.
        seen: arguments, and how many operators ran for them.
    """
    counts: dict[bool, dict[int, int]] = {False: {}, True: {}}
    for args, ran in seen:
        sizes = [len(a) for a in args if isinstance(a, torch.Tensor)]
        size = max(
            sizes if name == "roll" or isinstance(args[-1], torch.Tensor) else [*sizes, args[-1]]
        )
        counts[size >= 64][size] = max(ran, counts[size >= 64].get(size, 0))
    few = max(counts[False].values(), default=50)
    for size, ran in counts[True].items():
        words = f"{ran} operators ran for {size} entries, and {few} for fewer: is there a loop?"
        assert ran <= few, words
