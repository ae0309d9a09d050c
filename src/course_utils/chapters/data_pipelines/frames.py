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


def ranges(frames, segments):
    edges = [k * frames // segments for k in range(segments + 1)]
    return [range(a, max(b, a + 1)) for a, b in itertools.pairwise(edges)]


def check_frames(run, seconds, rate, frames, segments):
    wanted = ranges(frames, segments)
    middle, _ = run(seconds, rate, segments, None)
    right = [part[(len(part) - 1) // 2] for part in wanted]
    low = [
        part[(len(part) - 1) // 2] for part in ranges(max(1, round(seconds * int(rate))), segments)
    ]
    hint = (
        "the rate was cut to an int" if middle == low else "the middle frames, of two the earlier"
    )
    assert not isinstance(middle, torch.Tensor), "it returned a tensor, expected a list of ints"
    check_equal(middle, right, f"for testing, {frames} frames in {segments}", hint)
    whole = all(isinstance(frame, (int, np.integer)) for frame in middle)
    assert whole, f"{middle}: frame numbers are ints"
    seen = [set() for _ in wanted]
    for seed in range(40):
        drawn, alone = run(seconds, rate, segments, seed)
        assert alone, "it drew from a global generator, not from the one that it was given"
        assert isinstance(drawn, (list, tuple)), f"for training it returned {drawn!r}, no list"
        check_equal(len(drawn), segments, "for training, how many frames")
        for frame, part, found in zip(drawn, wanted, seen, strict=True):
            words = (
                f"for training, frame {frame!r} does not lie in its segment, {part[0]} to "
                f"{part[-1]}"
            )
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


def check_likely(run):
    drawn = run(3000, 1, 1000, 0)[0] or []  # a thousand segments of three frames
    counts = [sum(frame - 3 * k == place for k, frame in enumerate(drawn)) for place in range(3)]
    words = f"first, second and third frame came up {counts} times, expected about 333 each"
    one = ": each segment needs a draw of its own" if max(counts) == 1000 else ""
    assert 260 < min(counts) <= max(counts) < 410, f"not equally likely: {words}{one}"
