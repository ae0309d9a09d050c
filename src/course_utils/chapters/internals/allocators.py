"""A caching allocator in small: what a trace does to it, drawn and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt

from course_utils import every_case, show
from course_utils.chapters.internals.allocator_traces import MIB, RANDOM_TRACES, TRACES, Step
from course_utils.chapters.internals.scenarios import given, refused
from course_utils.learner.tracebacks import ends_in_notebook


class Replay:
    """The allocator, with switches for the mistakes that are known.

    Args:
        slip: the name of a rule to break, or ``""``.

    Attributes:
        segments: for each its kind and its blocks, lists of ``[size, owner or None]``.
    """

    def __init__(self, slip: str = "") -> None:
        self.slip, self.segments = slip, []
        self.asked: dict[str, int] = {}
        self.first: dict[str, int] = {}

    def step(self, step: Step) -> tuple[int, int]:
        """Do one step; the bytes allocated and reserved afterwards."""
        kind, *rest = step
        if kind == "malloc":
            self._malloc(*rest)
        elif kind == "free":
            self._free(*rest)
        elif self.slip == "empty blocks":
            self.segments = [(k, [b for b in blocks if b[1]]) for k, blocks in self.segments]
        elif self.slip == "empties all":
            self.segments = []
        elif self.slip == "begins free":
            self.segments = [s for s in self.segments if s[1][0][1] is not None]
        elif self.slip != "never empty":
            self.segments = [
                s for s in self.segments if any(owner is not None for _, owner in s[1])
            ]
        pair = self.numbers()
        return pair[::-1] if self.slip == "exchanged" else pair

    def numbers(self) -> tuple[int, int]:
        blocks = [block for _, blocks in self.segments for block in blocks]
        used = sum(size for size, owner in blocks if owner is not None)
        if self.slip in ("as asked", "as rounded"):
            used = sum(self.asked[owner] for _, owner in blocks if owner is not None)
        return used, sum(size for size, _ in blocks)

    def _malloc(self, name: str, size: int) -> None:
        self.asked[name] = size
        units = {"no rounding": 1, "multiples of 1024": 1024, "multiples of 256": 256}
        unit = units.get(self.slip, 512)
        size = -(-size // unit) * unit
        size += 512 * (self.slip == "512 more" and size == self.asked[name])
        if self.slip == "rounds down":
            size = max(self.asked[name] // unit, 1) * unit
        if self.slip == "first size":
            size = self.first.setdefault(name, size)
        if self.slip != "as asked":
            self.asked[name] = size
        small = size < MIB if self.slip == "1 MiB is large" else size <= MIB
        free = [
            (block[0], place, number)
            for place, (kind, blocks) in enumerate(self.segments)
            for number, block in enumerate(blocks)
            if block[1] is None
            and block[0] >= size + (self.slip == "strictly larger")
            and (kind == small or self.slip == "one pool")
        ]
        if free:
            pick = min(free, key=lambda f: f[1:]) if self.slip == "first fit" else min(free)
            if self.slip == "newest first":
                pick = min(free, key=lambda f: (f[0], -f[1], f[2]))
            if self.slip.startswith("worst fit"):
                way = -1 if self.slip.endswith("newest") else 1
                pick = min(free, key=lambda f: (-f[0], way * f[1], way * f[2]))
            _, place, number = pick
        else:
            whole = MIB if self.slip == "small segments of 1 MiB" else 2 * MIB
            whole = whole if small else -(-size // (2 * MIB)) * 2 * MIB
            if self.slip == "20 MiB" and not small and size < 10 * MIB:
                whole = 20 * MIB
            whole = size if self.slip == ("small" if small else "whole") + " as asked" else whole
            self.segments.append((small, [[whole, None]]))
            place, number = len(self.segments) - 1, 0
        blocks = self.segments[place][1]
        rest = blocks[number][0] - size
        least = 512 if self.segments[place][0] else MIB + 1
        switched = {"always split": 1, "split at 1 MiB": min(least, MIB)}
        switched |= {"small like large": MIB + 1, "keeps 512": max(least, 513)}
        switched |= {"multiples of 256": 256} if small else {}
        least = switched.get(self.slip, least)
        if rest >= least and self.slip != "never split":
            blocks[number : number + 1] = [[size, name], [rest, None]]
        else:
            blocks[number][1] = name

    def _free(self, name: str) -> None:
        freed = next((b for _, blocks in self.segments for b in blocks if b[1] == name), None)
        for _, blocks in self.segments:
            for block in blocks:
                if block is freed:
                    block[1] = None
            if self.slip == "free gives back" and not any(owner for _, owner in blocks):
                blocks.clear()
            if self.slip == "no merging":
                continue
            merged: list[list] = []
            for number, block in enumerate(blocks):
                both = merged and merged[-1][1] is None and block[1] is None
                if self.slip == "merges with the next alone":
                    both = both and blocks[number - 1] is freed
                elif self.slip == "merges with the one before alone":
                    both = both and block is freed
                if both:
                    merged[-1][0] += block[0]
                else:
                    merged.append(list(block))
            blocks[:] = merged
        if self.slip == "merges segments":
            self._join_segments()

    def _join_segments(self) -> None:
        """Make one segment of two neighbours of a kind whose touching ends are free."""
        joined: list = []
        for kind, blocks in self.segments:
            ends = [joined[-1][1][-1], blocks[0]] if joined and joined[-1][0] == kind else []
            if ends and all(owner is None for _, owner in ends):
                joined[-1][1][-1:] = [[sum(size for size, _ in ends), None], *blocks[1:]]
            else:
                joined.append((kind, blocks))
        self.segments = joined


_BOTH = "a freed block merges with the free neighbours on both sides"
SLIPS = {
    "no rounding": "a size is rounded up to a multiple of 512",
    "one pool": "small and large requests have segments apart",
    "first fit": "of the free blocks that are large enough the smallest is taken",
    "worst fit": "of the free blocks that are large enough the smallest is taken",
    "newest first": "of several that are equal the one in the oldest segment is taken",
    "worst fit, newest": "of the free blocks that are large enough the smallest is taken",
    "never split": "what is left of a block stays free, if it is large enough",
    "always split": "in a large segment a rest of 1 MiB or less isn't split off",
    "split at 1 MiB": "in a large segment a rest of 1 MiB or less isn't split off",
    "small like large": "in a small segment what is left over is always split off",
    "as rounded": "a rest that isn't split off belongs to the block: all of it counts as allocated",
    "as asked": "allocated is the size of the blocks in use, rounding and rest included",
    "1 MiB is large": "a request of 1 MiB, after rounding, is still small",
    "whole as asked": "a segment for a large request is rounded up to a multiple of 2 MiB",
    "empty blocks": "empty_cache gives back whole segments: a free block beside a used one stays",
    "multiples of 256": "a size is rounded up to a multiple of 512, not of 256",
    "512 more": "a size that is a multiple of 512 already stays as it is",
    "keeps 512": "in a small segment what is left over is always split off, also if it is 512",
    "free gives back": "free leaves a segment where it is: empty_cache alone gives it back",
    "multiples of 1024": "a size is rounded up to a multiple of 512, not of 1,024",
    "small segments of 1 MiB": "a segment for small requests has 2 MiB, not 1",
    "no merging": "free neighbours within a segment become a single block",
    "merges with the next alone": _BOTH,
    "merges with the one before alone": _BOTH,
    "rounds down": "a size is rounded up to a multiple of 512, not down",
    "first size": "a name that is used again may have another size",
    "small as asked": "a segment for small requests has 2 MiB, whatever was asked for",
    "20 MiB": "the six rules know no segments of 20 MiB: a size is rounded up to 2 MiB's multiple",
    "begins free": "a segment is given back if all of its blocks are free, not the first alone",
    "strictly larger": "a free block that is exactly as large as the request is large enough",
    "exchanged": "a pair has the bytes allocated first, then those reserved",
    "empties all": "empty_cache leaves a segment alone in which a block is in use",
    "merges segments": "blocks merge within their segment: two segments stay two pieces",
    "never empty": "empty_cache gives back segments that are wholly free",
}


def replayed(trace: Sequence[Step], slip: str = "") -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    replay = Replay(slip)
    return [replay.step(step) for step in trace]


def run_trace(answer: Callable, name: str) -> Any:
    """What the answer makes of a trace, without the allocator of this file."""
    words = "the answer asks the allocator that draws the picture: write your own"
    mine = list((TRACES | RANDOM_TRACES)[name])
    with refused(Replay, "step", words):
        found = given(answer(mine), "what allocator returned")
    assert mine == (TRACES | RANDOM_TRACES)[name], "the trace has changed: it stays as it is"
    return found


def _pairs(outcome: tuple[str, Any]) -> list | None:
    """The pairs of an outcome, or ``None`` where it has none."""
    try:
        return [tuple(map(int, pair)) for pair in outcome[1]] if outcome[0] == "gave" else None
    except (TypeError, ValueError):
        return None


@ends_in_notebook
def check_replay(outcome: tuple[str, Any], trace: Sequence[Step], words_of_slip: str = "") -> None:
    """Check what :func:`run_trace` gave for one trace; the first step that is off is told.

    Args:
        outcome: what it gave.
        trace: the trace.
        words_of_slip: the words of a slip that explains this trace, and every other that fails.

    Raises:
        AssertionError: it differs.
    """
    __tracebackhide__ = True
    kind, found = outcome
    assert kind != "refused", found
    assert kind == "gave", f"the call raised {found}"
    try:
        pairs = [tuple(map(int, pair)) for pair in found]
    except TypeError:
        raise AssertionError("allocator returns a list of pairs: allocated, reserved") from None
    right = replayed(trace)
    words = f"{len(pairs)} pairs for {len(right)} steps: a pair after each step"
    assert len(pairs) == len(right), words
    if pairs == right:
        return
    assert not words_of_slip, words_of_slip
    number = next(n for n, pair in enumerate(pairs) if pair != right[n])
    kinds = ("allocated", "reserved")
    names = [kinds[n] for n in (0, 1) if pairs[number][n] != right[number][n]]
    place = kinds.index(names[0])
    shown = pairs[number][place]
    way = "many" if shown > right[number][place] else "few"
    raise AssertionError(
        f"after step {number + 1}, {trace[number]}, {' and '.join(names)} "
        f"{'is' if len(names) == 1 else 'are'} off: "
        f"{names[0]} is {shown:,} bytes, too {way}"
    )


@ends_in_notebook
def check_replays(try_trace: Callable[[str], Any], traces: dict[str, list[Step]]) -> None:
    """Check an answer on traces by their names, and list those that fail."""
    __tracebackhide__ = True
    outcomes = {name: try_trace(name) for name in traces}
    found = {name: _pairs(outcome) for name, outcome in outcomes.items()}
    failing = [name for name, trace in traces.items() if found[name] != replayed(trace)]
    slips = [
        words
        for slip, words in SLIPS.items()
        if all(found[name] == replayed(traces[name], slip) for name in failing)
    ]
    with every_case() as case:
        for name, trace in traces.items():
            with case(name):
                check_replay(outcomes[name], trace, slips[0] if slips else "")


def draw_memory(trace: Sequence[Step], alt: str) -> None:
    """A column after each step: the segments above each other, blocks in use filled."""
    replay = Replay()
    figure, axes = plt.subplots(figsize=(9, 3.3))
    colours: dict[str, str] = {}
    palette = ["#0072b2", "#b04500", "#117a5b", "#7b4ea3", "#8a6d00"]
    for x, step in enumerate(trace):
        replay.step(step)
        bottom = 0.0
        for _, blocks in replay.segments:
            start = bottom
            for size, owner in blocks:
                height = size / MIB
                if owner is not None:
                    colours.setdefault(owner, palette[len(colours) % len(palette)])
                colour = "#f1f1f1" if owner is None else colours[owner]
                axes.bar(x, height, 0.7, bottom, color=colour, edgecolor="#777777", linewidth=0.5)
                if owner is not None:
                    middle = bottom + height / 2
                    axes.text(x, middle, owner, ha="center", va="center", color="white", fontsize=8)
                bottom += height
            axes.bar(x, bottom - start, 0.7, start, fill=False, edgecolor="#1a1a1a", linewidth=1.8)
    labels = [
        f"{step[0]}\n{step[1]}" + (f" {step[2] / MIB:g} MiB" if len(step) > 2 else "")
        if len(step) > 1
        else "empty_\ncache"
        for step in trace
    ]
    axes.set_xticks(range(len(trace)), labels, fontsize=7)
    axes.set(ylabel="MiB", title="after each step")
    figure.tight_layout()
    show(figure, alt)
