"""Where to cut a chain of layers for checkpointing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_parts


def peak(saved: Sequence[int], lengths: Sequence[int]) -> int:
    """The most bytes at once: each segment's first input, and the rest of the largest segment."""
    firsts, rest, start = 0, 0, 0
    for length in lengths:
        segment = saved[start : start + length]
        firsts += segment[0]
        rest = max(rest, sum(segment[1:]))
        start += length
    return firsts + rest


def partitions(n: int) -> Iterator[list[int]]:
    """All ways to cut ``n`` layers into segments of one layer or more."""
    if n == 0:
        yield []
    for first in range(1, n + 1):
        for rest in partitions(n - first):
            yield [first, *rest]


def _by_prefixes(saved: Sequence[int]) -> int:
    """The peak of what grows from the best schedule of the first layers, which need not be best."""
    best = [(0, 0)]
    for end in range(1, len(saved) + 1):
        grown = [
            (firsts + saved[start], max(rest, sum(saved[start + 1 : end])))
            for start, (firsts, rest) in enumerate(best)
        ]
        best.append(min(grown, key=lambda pair: (sum(pair), pair)))
    return sum(best[-1])


@ends_in_notebook
def check_schedule(found: Any, saved: Sequence[int], others: Sequence[Sequence[int]] = ()) -> None:
    """Check that a schedule covers the layers, and that no other has a smaller peak.

    Args:
        found: what the learner's function gave.
        saved: the sizes of the layers' inputs.
        others: lists that the function was called with, this one's earlier ones first.
    """
    __tracebackhide__ = True
    lengths, mine = check_parts(found, "lengths", "peak")
    words = "lengths is None: is there an answer yet?"
    if mine is not None:
        words = "lengths is None, peak isn't: no number to begin with is above all sizes"
    assert lengths is not None, words
    assert isinstance(lengths, (list, tuple)), f"lengths is a {type(lengths).__name__}, not a list"
    begin = "no schedule was found. Is the number that you begin with above every peak?"
    assert len(lengths), f"lengths is empty: {begin}"
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in lengths)
    assert whole, "lengths holds whole numbers from 1 on: how many layers each segment has"
    layers = sum(lengths)
    ends = len(lengths) > 1 and lengths[-1] == len(saved) and [*lengths] == sorted({*lengths})
    assert not ends, "those are the places of the cuts; lengths says how many layers a segment has"
    assert layers == len(saved), f"the segments have {layers} layers together, not {len(saved)}"
    right = peak(saved, lengths)
    sums, rests, start = [], [], 0
    for length in lengths:
        sums.append(sum(saved[start : start + length]))
        rests.append(sums[-1] - saved[start])
        start += length
    firsts = sum(saved[sum(lengths[:n])] for n in range(len(lengths)))
    slips = {
        "the largest rest counts, not that of the segment with the most layers": (
            firsts + rests[lengths.index(max(lengths))]
        ),
        "the first input of the segment that is run again is counted twice": firsts + max(sums),
        "the inputs that are kept of all segments are missing": max(sums),
        "only one segment is run again at a time: the largest counts, not all": sum(saved),
    }
    for words, slip in slips.items():
        assert mine == right or mine != slip, f"peak: {words}"
    near = (
        isinstance(mine, (int, float)) and mine != right and math.isclose(mine, right, rel_tol=1e-6)
    )
    assert not near, "peak is right to a few digits only: sizes may be billions, keep them as int"
    before = takewhile(lambda other: other != saved, others)
    earlier = [peak(other, lengths) for other in before if len(other) == layers]
    words = "that is the peak of another list: keep nothing from one call to the next"
    assert mine == right or mine not in earlier, f"peak: {words}"
    kind = type(mine).__name__
    assert isinstance(mine, int), (
        f"peak is of type {kind}, expected an int: sizes are whole numbers"
    )
    more = "; a sum of billions needs more than 32 bits" if right >= 2**31 else ""
    best = min(peak(saved, lengths) for lengths in partitions(len(saved)))
    if more and 0 < mine < best and (mine - right) % 2**32:
        more = "; no schedule has so small a peak: is it the number that you begin with?"
    assert mine == right, (
        f"peak is not that of these lengths: first inputs, and the largest rest{more}"
    )
    more = "; it doesn't begin with the best one of the first layers alone"
    more = more if _by_prefixes(saved) > best else ""
    if (
        not more
        and len(lengths) > 1
        and {*lengths[:-1]} == {lengths[0]}
        and lengths[-1] <= lengths[0]
    ):
        more = "; segments needn't have the same number of layers"
    if right == sum(saved):
        more = "; if all look alike to you: the largest rest counts, not the sum of the rests"
    assert right == best, f"another schedule has a smaller peak than {right}{more}"


@ends_in_notebook
def check_apart(first: Any, second: Any) -> None:
    """Check that the lists of two calls aren't one and the same."""
    __tracebackhide__ = True
    (first, _), (second, _) = (check_parts(one, "lengths", "peak") for one in (first, second))
    same = first is second and isinstance(first, list)
    assert not same, "a second call gives the very list of the first: give each caller its own"
