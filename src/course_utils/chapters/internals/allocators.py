"""A caching allocator in small: what a trace does to it, drawn and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt

from course_utils import every_case, show
from course_utils.chapters.internals.allocator_traces import (
    AGAIN,
    HUGE,
    MIB,
    NAMES,
    RANDOM_TRACES,
    TRACES,
    Step,
)
from course_utils.chapters.internals.replays import SLIPS, Replay, replayed
from course_utils.chapters.internals.scenarios import given, refused
from course_utils.learner.tracebacks import ends_in_notebook

_OF_NAMES = {
    NAMES: 'a name may be "free", or empty: tell a free block by something else',
    HUGE: "a float holds 53 bits: round up by whole numbers, with //, and each byte counts",
    AGAIN: "a name may be used again once it was freed: free the block that has it now",
}


def run_trace(answer: Callable, name: str) -> Any:
    """What the answer makes of a trace, without the allocator of this file."""
    words = "the answer asks the allocator that draws the picture: write your own"
    mine = list((TRACES | RANDOM_TRACES)[name])
    with refused(Replay, "step", words):
        found = given(answer(mine), "what allocator returned")
        assert mine == (TRACES | RANDOM_TRACES)[name], "the trace has changed: it stays as it is"
        if isinstance(found, (list, tuple)):
            again = answer(list(mine))
            words = "the same trace gave something else the second time: each call begins anew"
            assert _pairs(("gave", again)) == _pairs(("gave", found)), words
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
    words = "bytes are whole numbers, and here is a float: / gives one, // does not"
    assert not any(isinstance(number, float) for pair in found for number in pair), words
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
        f"{names[0]} is {shown:,} bytes, too {way} ({_rule(trace[number][0], names[0])})"
    )


def _rule(kind: str, name: str) -> str:
    """Which rules say what a step does to one of the two numbers."""
    if kind == "empty_cache":
        return "rule 6 says what is given back; what is in use stays"
    if kind == "free":
        freed = "all of the block is free again, what rule 4 let it keep included"
        return freed if name == "allocated" else "free gives nothing back: rule 6"
    counts = "rules 1 and 4 say how much of a block counts for a request"
    new = "rules 2 and 3 say when there is a new segment, and how large it is"
    return counts if name == "allocated" else new


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
    if not slips:
        slips = [words for name, words in _OF_NAMES.items() if failing == [name]]
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
