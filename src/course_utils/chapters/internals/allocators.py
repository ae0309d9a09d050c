"""A caching allocator in small: what a trace does to it, drawn and checked."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt

from course_utils import every_case, show
from course_utils.chapters.internals.scenarios import given, refused
from course_utils.learner.tracebacks import ends_in_notebook

KIB, MIB = 1024, 1024**2
Step = tuple


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

    def step(self, step: Step) -> tuple[int, int]:
        """Do one step; the bytes allocated and reserved afterwards."""
        kind, *rest = step
        if kind == "malloc":
            self._malloc(*rest)
        elif kind == "free":
            self._free(*rest)
        elif self.slip == "empty blocks":
            self.segments = [(k, [b for b in blocks if b[1]]) for k, blocks in self.segments]
        elif self.slip != "never empty":
            self.segments = [
                s for s in self.segments if any(owner is not None for _, owner in s[1])
            ]
        return self.numbers()

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
        if self.slip != "as asked":
            self.asked[name] = size
        small = size < MIB if self.slip == "1 MiB is large" else size <= MIB
        free = [
            (block[0], place, number)
            for place, (kind, blocks) in enumerate(self.segments)
            for number, block in enumerate(blocks)
            if block[1] is None and block[0] >= size and (kind == small or self.slip == "one pool")
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
            whole = size if self.slip == "whole as asked" and not small else whole
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
    "never empty": "empty_cache gives back segments that are wholly free",
}


def replayed(trace: Sequence[Step], slip: str = "") -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    replay = Replay(slip)
    return [replay.step(step) for step in trace]


TRACES: dict[str, list[Step]] = {
    "the example": [("malloc", "a", 1000), ("malloc", "b", 3 * MIB), ("free", "a")],
    "sizes are rounded": [("malloc", "a", 1), ("malloc", "b", 512), ("malloc", "c", 513)],
    "1 MiB is small": [("malloc", "a", MIB), ("malloc", "b", MIB), ("malloc", "c", 512)],
    "a rest of 512 bytes": [("malloc", "a", MIB), ("malloc", "b", MIB - 512), ("malloc", "c", 512)],
    "a byte more is large": [("malloc", "a", MIB + 1), ("malloc", "b", 1)],
    "rounded, and small still": [("malloc", "a", MIB - 5), ("malloc", "b", MIB - 511)],
    "freed and used again": [
        ("malloc", "a", 6 * MIB),
        ("free", "a"),
        ("malloc", "b", 5 * MIB),
        ("malloc", "c", 4 * MIB),
    ],
    "a rest that is too small": [
        ("malloc", "a", 6 * MIB),
        ("free", "a"),
        ("malloc", "b", 5 * MIB),
        ("free", "b"),
        ("malloc", "c", 5 * MIB - 512),
        ("malloc", "d", MIB + 512),
    ],
    "a small rest beside a free neighbour": [
        ("malloc", "x", 8 * MIB),
        ("free", "x"),
        ("malloc", "a", 3 * MIB),
        ("malloc", "b", 3 * MIB),
        ("malloc", "c", 2 * MIB),
        ("free", "b"),
        ("malloc", "d", 2 * MIB + 512 * KIB),
        ("free", "c"),
        ("malloc", "e", 2 * MIB + 512 * KIB),
    ],
    "a rest keeps its place": [
        ("malloc", "x", 8 * MIB),
        ("free", "x"),
        ("malloc", "a", 5 * MIB),
        ("malloc", "b", 3 * MIB),
        ("free", "a"),
        ("malloc", "c", 2 * MIB),
        ("free", "c"),
        ("malloc", "d", 5 * MIB),
    ],
    "a large segment, a small request": [
        ("malloc", "a", 4 * MIB),
        ("free", "a"),
        ("malloc", "b", 100),
    ],
    "the smallest that is enough": [
        ("malloc", "a", 8 * MIB),
        ("malloc", "b", 4 * MIB),
        ("free", "a"),
        ("free", "b"),
        ("malloc", "c", 4 * MIB),
        ("malloc", "d", 8 * MIB),
    ],
    "two that are equal": [
        ("malloc", "x", 8 * MIB),
        ("free", "x"),
        ("malloc", "a", 4 * MIB),
        ("malloc", "b", 4 * MIB),
        ("malloc", "c", 4 * MIB),
        ("free", "a"),
        ("free", "c"),
        ("malloc", "d", 4 * MIB),
        ("empty_cache",),
        ("free", "b"),
        ("empty_cache",),
    ],
    "neighbours merge": [
        ("malloc", "a", 700 * KIB),
        ("malloc", "b", 700 * KIB),
        ("malloc", "c", 600 * KIB),
        ("free", "a"),
        ("free", "c"),
        ("free", "b"),
        ("malloc", "d", MIB),
        ("malloc", "e", MIB),
    ],
    "holes": [
        ("malloc", "a", 6 * MIB),
        ("free", "a"),
        ("malloc", "b", 2 * MIB),
        ("malloc", "c", 2 * MIB),
        ("malloc", "d", 2 * MIB),
        ("free", "b"),
        ("free", "d"),
        ("malloc", "e", 4 * MIB),
    ],
    "the middle lives": [
        ("malloc", "x", 8 * MIB),
        ("free", "x"),
        ("malloc", "a", 2 * MIB),
        ("malloc", "b", 2 * MIB),
        ("free", "a"),
        ("empty_cache",),
        ("malloc", "c", 2 * MIB),
        ("free", "b"),
        ("empty_cache",),
    ],
    "what can be given back": [
        ("malloc", "a", 6 * MIB),
        ("malloc", "b", 4 * MIB),
        ("malloc", "c", 100),
        ("malloc", "d", 100),
        ("free", "a"),
        ("free", "c"),
        ("empty_cache",),
        ("free", "d"),
        ("empty_cache",),
    ],
    "a name used again": [("malloc", "a", 512), ("free", "a"), ("malloc", "a", 3 * MIB)],
    "nothing at all": [],
}


def random_traces(count: int) -> list[list[Step]]:
    """Seeded traces with requests around all the limits."""
    draw, traces = random.Random(11), []
    sizes = [1, 512, 513, 5000, 300 * KIB, MIB - 1, MIB, MIB + 1]
    sizes += [2 * MIB, 2 * MIB + 1, 3 * MIB, 5 * MIB, 7 * MIB]
    for _ in range(count):
        alive, trace = [], []
        for number in range(draw.randint(5, 40)):
            chance = draw.random()
            if chance < 0.12:
                trace.append(("empty_cache",))
            elif alive and chance < 0.45:
                trace.append(("free", alive.pop(draw.randrange(len(alive)))))
            else:
                alive.append(f"t{number}")
                size = draw.choice(sizes) + draw.choice((0, 0, 0, 700))
                trace.append(("malloc", alive[-1], size))
        traces.append(trace)
    return traces


RANDOM_TRACES = {f"trace {n}": trace for n, trace in enumerate(random_traces(40))}


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
        f"after step {number + 1}, {trace[number]}, {' and '.join(names)} is off: "
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
