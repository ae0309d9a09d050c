"""The traces on which an allocator is tried: some for its rules, and random ones."""

from __future__ import annotations

import random

KIB, MIB = 1024, 1024**2
Step = tuple
NAMES, AGAIN, HUGE = "names like any other", "a name used again", "more bytes than a float counts"

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
    "a large segment of 2 MiB, a small request": [
        ("malloc", "a", 2 * MIB),
        ("free", "a"),
        ("malloc", "b", 100),
        ("malloc", "c", 2 * MIB),
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
    "two that are equal in one segment": [
        ("malloc", "x", 12 * MIB),
        ("free", "x"),
        ("malloc", "a", 4 * MIB),
        ("malloc", "b", 2 * MIB),
        ("malloc", "c", 4 * MIB),
        ("malloc", "d", 2 * MIB),
        ("free", "a"),
        ("free", "c"),
        ("malloc", "e", 4 * MIB),
        ("free", "d"),
        ("malloc", "f", 6 * MIB),
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
    "two that are equal, behind empty_cache": [
        ("malloc", "a", 8 * MIB),
        ("malloc", "b", 8 * MIB),
        ("free", "a"),
        ("free", "b"),
        ("malloc", "c", 5 * MIB),
        ("malloc", "d", 5 * MIB),
        ("empty_cache",),
        ("malloc", "e", 3 * MIB),
        ("free", "d"),
        ("empty_cache",),
    ],
    "all is given back": [
        ("malloc", "a", 4 * MIB),
        ("free", "a"),
        ("empty_cache",),
        ("malloc", "b", 4 * MIB),
        ("malloc", "c", 100),
        ("free", "b"),
        ("free", "c"),
        ("empty_cache",),
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
    "the older of two, freed last": [
        ("malloc", "b", 4 * MIB),
        ("malloc", "x", 8 * MIB),
        ("free", "x"),
        ("malloc", "a", 4 * MIB),
        ("free", "b"),
        ("malloc", "d", 4 * MIB),
        ("empty_cache",),
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
    HUGE: [("malloc", "a", 2**60 + 1), ("malloc", "b", 2**60 + 513), ("free", "a")],
    AGAIN: [
        ("malloc", "a", 512),
        ("malloc", "x", 512),
        ("free", "a"),
        ("malloc", "a", 3 * MIB),
        ("free", "a"),
        ("malloc", "b", 512),
    ],
    NAMES: [
        ("malloc", "free", MIB),
        ("malloc", "", MIB),
        ("malloc", "c", 512),
        ("free", "free"),
        ("empty_cache",),
    ],
    "nothing at all": [],
    "nothing to give back": [
        ("empty_cache",),
        ("malloc", "a", 512),
        ("free", "a"),
        ("empty_cache",),
        ("empty_cache",),
    ],
    "two segments are two pieces": [
        ("malloc", "a", 4 * MIB),
        ("malloc", "b", 4 * MIB),
        ("free", "a"),
        ("free", "b"),
        ("malloc", "c", 8 * MIB),
        ("empty_cache",),
    ],
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
