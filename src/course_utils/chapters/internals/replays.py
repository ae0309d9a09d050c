"""The allocator of the chapter on internals, with a switch for each known mistake."""

from __future__ import annotations

from collections.abc import Sequence

from course_utils.chapters.internals.allocator_traces import MIB, Step

_LOST = "a rest that nobody has"


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
            self.segments = [
                (k, [b for b in blocks if b[1] is not None]) for k, blocks in self.segments
            ]
        elif self.slip == "empties all":
            self.segments = []
        else:
            self.segments = [s for s in self.segments if self._stays(*s)]
            self.segments = self.segments[:: -1 if self.slip == "turned by empty_cache" else 1]
        numbers = self.numbers()
        return numbers[::-1] if self.slip == "reserved first" else numbers

    def _stays(self, small: bool, blocks: list[list]) -> bool:
        """Whether empty_cache leaves a segment."""
        kept = {"never empty": True, "small ones stay": small, "large ones stay": not small}
        looked = {"by the first block": slice(1), "by the last block": slice(-1, None)}
        if self.slip == "by a large one's first block" and not small:
            blocks = blocks[:1]
        blocks = blocks[looked.get(self.slip, slice(None))]
        used = any(owner not in (None, _LOST) for _, owner in blocks)
        return used or kept.get(self.slip, False)

    def numbers(self) -> tuple[int, int]:
        blocks = [block for _, blocks in self.segments for block in blocks]
        used = sum(size for size, owner in blocks if owner not in (None, _LOST))
        if self.slip in ("as asked", "as rounded"):
            used = sum(self.asked[owner] for _, owner in blocks if owner is not None)
        return used, sum(size for size, _ in blocks)

    def _malloc(self, name: str, size: int) -> None:
        if self.slip == "a name's first size":
            size = self.first.setdefault(name, size)
        self.asked[name] = size
        units = {"no rounding": 1, "multiples of 1024": 1024, "multiples of 256": 256}
        unit = units.get(self.slip, 512)
        down = self.slip == "rounded down"
        size = max(size // unit, 1) * unit if down else -(-size // unit) * unit
        size += 512 * (self.slip == "512 more" and size == self.asked[name])
        if self.slip != "as asked":
            self.asked[name] = size
        small = size < MIB if self.slip == "1 MiB is large" else size <= MIB
        free = [
            (block[0], place, number)
            for place, (kind, blocks) in enumerate(self.segments)
            for number, block in enumerate(blocks)
            if block[1] is None
            and block[0] >= size + (self.slip == "larger alone")
            and (kind == small or self.slip == "one pool")
        ]
        if free:
            pick = min(free, key=lambda f: f[1:]) if self.slip == "first fit" else min(free)
            if self.slip == "last of the oldest":
                pick = min(free, key=lambda f: (*f[:2], -f[2]))
            if self.slip == "newest first":
                pick = min(free, key=lambda f: (f[0], -f[1], f[2]))
            if self.slip.startswith("worst fit"):
                way = -1 if self.slip.endswith("newest") else 1
                pick = min(free, key=lambda f: (-f[0], way * f[1], way * f[2]))
            _, place, number = pick
        else:
            self.segments.append((small, [[self._whole(size, small), None]]))
            place, number = len(self.segments) - 1, 0
        blocks = self.segments[place][1]
        rest = blocks[number][0] - size
        least = 512 if self.segments[place][0] else MIB + 1
        switched = {"always split": 1, "split at 1 MiB": min(least, MIB)}
        switched |= {"small like large": MIB + 1, "keeps 512": max(least, 513)}
        switched |= {"multiples of 256": 256} if small else {}
        least = switched.get(self.slip, least)
        if rest >= least and self.slip == "rest at the end":
            blocks[number] = [size, name]
            blocks.append([rest, None])
        elif rest >= least and self.slip != "never split":
            blocks[number : number + 1] = [[size, name], [rest, None]]
        elif rest and self.slip == "rest lost":
            blocks[number : number + 1] = [[size, name], [rest, _LOST]]
        else:
            blocks[number][1] = name

    def _whole(self, size: int, small: bool) -> int:
        """The size of a new segment."""
        if small:
            changed = {"small segments of 1 MiB": MIB, "small segments as asked": size}
            return changed.get(self.slip, 2 * MIB)
        if self.slip == "whole as asked":
            return size
        unit = {"large ones to 1 MiB": MIB, "20 MiB": 20 * MIB}.get(self.slip, 2 * MIB)
        if self.slip == "2 MiB more":
            return (size // unit + 1) * unit
        return -(-size // unit) * unit

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


_LARGE = "a segment for a large request is rounded up to a multiple of 2 MiB"
_SMALL = "a segment for small requests has 2 MiB"
_EMPTY = "empty_cache gives back segments that are wholly free"
_USED = "a segment is given back if all of its blocks are free"
_REST = "a rest that isn't split off belongs to the block: all of it counts as allocated"
_BOTH = "a freed block merges with the free neighbours on both sides"
SLIPS = {
    "no rounding": "a size is rounded up to a multiple of 512",
    "one pool": "small and large requests have segments apart",
    "first fit": "of the free blocks that are large enough the smallest is taken",
    "worst fit": "of the free blocks that are large enough the smallest is taken",
    "newest first": "of several that are equal the one in the oldest segment is taken",
    "last of the oldest": "of several that are equal in a segment the first is taken",
    "turned by empty_cache": "empty_cache leaves the segments in order, the oldest first",
    "worst fit, newest": "of the free blocks that are large enough the smallest is taken",
    "never split": "what is left of a block stays free, if it is large enough",
    "always split": "in a large segment a rest of 1 MiB or less isn't split off",
    "split at 1 MiB": "in a large segment a rest of 1 MiB or less isn't split off",
    "small like large": "in a small segment what is left over is always split off",
    "as rounded": _REST,
    "rest lost": f"{_REST}, and is free again with it",
    "as asked": "allocated is the size of the blocks in use, rounding and rest included",
    "1 MiB is large": "a request of 1 MiB, after rounding, is still small",
    "whole as asked": _LARGE,
    "large ones to 1 MiB": f"{_LARGE}, not of 1",
    "20 MiB": "the six rules know no segments of 20 MiB: a size is rounded up to 2 MiB's multiple",
    "2 MiB more": "a large request that is a multiple of 2 MiB already fills its segment",
    "empty blocks": "empty_cache gives back whole segments: a free block beside a used one stays",
    "multiples of 256": "a size is rounded up to a multiple of 512, not of 256",
    "512 more": "a size that is a multiple of 512 already stays as it is",
    "keeps 512": "in a small segment what is left over is always split off, also if it is 512",
    "free gives back": "free leaves a segment where it is: empty_cache alone gives it back",
    "multiples of 1024": "a size is rounded up to a multiple of 512, not of 1,024",
    "small segments of 1 MiB": f"{_SMALL}, not 1",
    "small segments as asked": f"{_SMALL}, whatever was asked for",
    "rounded down": "a size is rounded up to a multiple of 512, not down",
    "a name's first size": "a name that is used again may have another size",
    "reserved first": "a pair has the bytes allocated first, then those reserved",
    "rest at the end": "what is left over is split off right behind its block, and can merge there",
    "no merging": "free neighbours within a segment become a single block",
    "merges with the next alone": _BOTH,
    "merges with the one before alone": _BOTH,
    "empties all": "empty_cache leaves a segment alone in which a block is in use",
    "merges segments": "blocks merge within their segment: two segments stay two pieces",
    "never empty": _EMPTY,
    "small ones stay": f"{_EMPTY}, the small ones too",
    "large ones stay": f"{_EMPTY}, the large ones too",
    "by the first block": f"{_USED}, not the first alone",
    "by the last block": f"{_USED}, not the last alone",
    "by a large one's first block": f"{_USED}, not the first alone",
    "larger alone": "a free block that is exactly as large as the request is large enough",
}


def replayed(trace: Sequence[Step], slip: str = "") -> list[tuple[int, int]]:
    """Bytes allocated and reserved after each step of a trace."""
    replay = Replay(slip)
    return [replay.step(step) for step in trace]
