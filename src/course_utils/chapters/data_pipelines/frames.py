"""Frames of a video, one from each segment."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import torch

from course_utils.learner.checks import check_equal


def run_tsn(tsn_segments, seconds: float, rate: float, segments: int, seed: int | None) -> tuple:
    """The frames, and whether the global generators were left alone."""
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    numbers: Any = np.random.get_state
    before = torch.get_rng_state(), numbers()[1].copy(), random.getstate()
    frames = tsn_segments(seconds, rate, segments, generator)
    same = torch.equal(before[0], torch.get_rng_state()) and before[2] == random.getstate()
    return frames, bool(same and (before[1] == numbers()[1]).all())


def run_twice(tsn_segments, seconds: float, rate: float, segments: int) -> tuple:
    """Two calls with one generator: both lists of frames, and how many bytes of its state the
    first one changed."""
    generator = torch.Generator().manual_seed(7)
    torch.rand((), generator=generator)  # from now on a draw moves its place alone, for 623 draws
    state = generator.get_state()
    first = tsn_segments(seconds, rate, segments, generator)
    moved = int((state != generator.get_state()).sum())
    return first, tsn_segments(seconds, rate, segments, generator), moved


def run_calls(tsn_segments, frames: int, segments: int, calls: int) -> list:
    """The frames of many calls with one generator."""
    generator = torch.Generator().manual_seed(11)
    return [list(tsn_segments(frames, 1, segments, generator) or []) for _ in range(calls)]


def check_ints(frames, what):
    """Whether these are a list of plain numbers: a tensor prints and compares like one."""
    assert frames is not None, f"{what} it returned None: is there an answer yet?"
    kind = type(frames).__name__
    assert isinstance(frames, (list, tuple)), (
        f"{what} it returned a {kind}, expected a list of ints"
    )
    for frame in frames:
        words = f"{what} {frame!r} is a {type(frame).__name__}, expected an int"
        assert isinstance(frame, (int, np.integer)), words


def middles(frames, segments):
    return [part[(len(part) - 1) // 2] for part in ranges(frames, segments)]


def ranges(frames, segments):
    edges = [k * frames // segments for k in range(segments + 1)]
    return [range(a, max(b, a + 1)) for a, b in itertools.pairwise(edges)]


def check_frames(run, seconds, rate, frames, segments):
    wanted, empty = ranges(frames, segments), frames < segments
    middle, _ = run(seconds, rate, segments, None)
    check_ints(middle, "for testing,")
    right, cut = middles(frames, segments), int(seconds * rate)
    slips = {
        "the rate was cut to an int": middles(max(1, round(seconds * int(rate))), segments),
        "the seconds were rounded before": middles(max(1, round(round(seconds) * rate)), segments),
        "the seconds were rounded to tenths": middles(
            max(1, round(round(seconds, 1) * rate)), segments
        ),
        "the seconds were cut to thousandths": middles(
            max(1, round(int(seconds * 1000) * rate / 1000)), segments
        ),
        "the rate was rounded": middles(max(1, round(seconds * round(rate))), segments),
        "the rate was rounded to two places": middles(
            max(1, round(seconds * round(rate, 2))), segments
        ),
        "seconds * rate was cut, not rounded": middles(max(1, cut), segments),
        "seconds * rate was rounded up": middles(max(1, cut + (cut < seconds * rate)), segments),
    }
    hints = [words for words, slip in slips.items() if list(middle) == slip]
    later = [part[len(part) // 2] for part in wanted]
    hint = "segment k begins at ⌊kF/K⌋, in whole numbers; the middle frames, of two the earlier"
    hint = "the middle frames, of two the earlier" if list(middle) == later else hint
    hint = "an empty segment holds the frame at which it begins, ⌊kF/K⌋" if empty else hint
    hint = hints[0] if len(hints) == 1 else hint
    below = any(frame < 0 for frame in middle)
    hint = "frames count from 0, and a clip has at least 1" if below else hint
    check_equal(middle, right, f"for testing, {frames} frames in {segments}", hint)
    seen = [set() for _ in wanted]
    for seed in range(40):
        drawn, alone = run(seconds, rate, segments, seed)
        assert alone, "it drew from a global generator, not from the one that it was given"
        check_ints(drawn, "for training,")
        check_equal(len(drawn), segments, "for training, how many frames")
        for frame, part, found in zip(drawn, wanted, seen, strict=True):
            words = f"for training, frame {frame!r} is not in its segment, {part[0]} to {part[-1]}"
            assert frame in part, words
            found.add(int(frame))
    again = run(seconds, rate, segments, 39)[0]
    check_equal(again, drawn, "for training, with an equal generator again")
    for found, part in zip(seen, wanted, strict=True):
        if 1 < len(part) <= 4:
            never = sorted(set(part) - found)
            assert not never, (
                f"for training, of frames {part[0]} to {part[-1]}, {never} never came in 40 tries"
            )


# Segments, of which a draw is looked at. No more: an answer that calls itself for the next segment
# is right, and Python ends it at a depth of 1000.
MANY = 700


def check_drawn(run):
    """Whether the frames come from the generator itself, from where it is."""
    first, second, moved = run(3 * MANY, 1, MANY)
    check_ints(first, "for training,")
    assert moved, "the generator that it was given was not drawn from: a seed is not a generator"
    words = (
        f"for {MANY} frames the generator that it was given was drawn from only a few times: draw "
    )
    assert moved > 100, words + "each frame from it, and no seed for another one"
    words = "called twice with one generator, it gave the same frames: don't start it anew"
    assert list(first) != list(second), words


def check_middles(run, below):
    """The middle frames of every number of frames in every number of segments up to one."""
    for frames in range(1, below + 1):
        for segments in range(1, below + 1):
            found, _ = run(frames, 1, segments, None)
            because = "begin at ⌊kF/K⌋, in whole numbers: k / K * F may fall short of one"
            if frames < segments:
                because += "; an empty segment holds the frame at which it begins"
            right = middles(frames, segments)
            assert list(found) == right, (
                f"{frames} frames in {segments} segments: expected {right}, got {found} ({because})"
            )


def check_long(run):
    """``MANY`` segments of 100 000 frames: each sixth of a segment is as likely as the others,
    and so is each frame in it, near the clip's end, too."""
    size = 100_000
    drawn = run(size * MANY, 1, MANY, 0)[0]
    places = [int(frame) - size * k for k, frame in enumerate(drawn)]
    outside = [place for place in places if not 0 <= place < size]
    assert not outside, "a frame is outside its segment"
    counts = [sum(place * 6 // size == n for place in places) for n in range(6)]
    words = f"the six parts of a segment came up {counts} times, expected about {MANY / 6:.0f} each"
    assert 70 < min(counts) <= max(counts) < 166, f"not equally likely: {words}"
    kinds = len(set(places))
    words = f"at only {kinds} of a segment's {size} places; the others never come"
    assert kinds > 600, f"not equally likely: {MANY} segments' frames are {words}"
    odd = sum(frame % 2 for frame in drawn[-500:])
    words = f"of the last 500 frames {odd} are odd: float32 doesn't hold each number of a frame"
    assert 180 < odd < 320, f"not equally likely: {words}; draw whole numbers, or add them later"


def check_likely(run):
    """``MANY`` segments of three frames; then half of them of two."""
    for frames in (3 * MANY, 5 * MANY // 2):
        drawn, parts = run(frames, 1, MANY, 0)[0] or [], ranges(frames, MANY)
        places = [(len(part), frame - part[0]) for part, frame in zip(parts, drawn, strict=False)]
        for size in sorted({len(part) for part in parts}):
            counts = [places.count((size, place)) for place in range(size)]
            segments = sum(len(part) == size for part in parts)
            words = f"in {segments} segments of {size} frames each came {counts} times"
            one = ": each segment needs its own draw" if max(counts) == MANY else ""
            even = 0.7 * segments < min(counts) * size <= max(counts) * size < 1.32 * segments
            assert even, f"not equally likely: {words}, expected about as often as the others{one}"


def check_calls(run):
    """2000 calls for segments of three frames and of four: a number that was drawn below 7, or
    below some other number, and divided, has remainders that aren't equally likely."""
    calls, parts = 2000, ranges(7, 2)
    drawn = run(7, 2, calls)
    assert all(len(frames) == 2 for frames in drawn), "a call gave no frame for each segment"
    for k, part in enumerate(parts):
        counts = [sum(frames[k] == frame for frames in drawn) for frame in part]
        words = f"of frames {part[0]} to {part[-1]} each came {counts} times in {calls} calls"
        even = all(abs(count / calls - 1 / len(part)) < 0.05 for count in counts)
        assert even, (
            f"not equally likely: {words}, expected about as often as the others: draw among as "
            "many as the segment holds; the remainders of a number below 7 come unevenly"
        )
    pairs = [sum(tuple(frames) == pair for frames in drawn) for pair in itertools.product(*parts)]
    words = f"the twelve pairs of a frame of each came from {min(pairs)} to {max(pairs)} times"
    even = 0.6 * calls < 12 * min(pairs) <= 12 * max(pairs) < 1.4 * calls
    assert even, f"{words}, expected about {calls // 12}: each segment needs its own draw"
