"""Events of a profile: what they cost themselves, and what known slips make of them."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import torch

from course_utils.learner.cases import every_case
from course_utils.learner.tracebacks import ends_in_notebook

# A name, a thread, and when it began and ended, in microseconds.
Event = tuple[str, int, int, int]


def self_times(
    events: Sequence[Event],
    *,
    deep=False,
    mixed=False,
    open_still=False,
    turned=False,
    named=False,
    rising=False,
    by_start=False,
    by_time=False,
    shorter=False,
    touching=False,
    listed=False,
) -> dict:
    """``{name: (calls, time in the event itself)}``.

    Args:
        events: of two with the same start and end, the one listed first encloses the other.
        deep: a slip: what is inside what is inside is taken off again.
        mixed: a slip: events of another thread count as enclosed.
        open_still: a slip: at a new thread the events of the last one are still open.
        turned: a slip: of two equal events, the one listed last encloses the other.
        named: a slip: of two equal events, the one whose name is later encloses the other.
        rising: a slip: of events that begin together, the shortest comes first.
        by_start: a slip: events that begin together stay in the list's order.
        by_time: a slip: sorted by time alone, so that another thread's event closes what is open.
        shorter: an event closes those that are open and end before it does.
        touching: a slip: an event that begins where another ends is inside it.
        listed: a slip: the list's order is taken for that of time.
    """

    def place(n: int) -> tuple:
        _, thread, start, end = events[n]
        if listed:
            return (n,)
        if by_start:
            return thread, start
        if rising:
            return thread, start, end, n
        if named:
            return thread, start, -end, [-ord(letter) for letter in events[n][0]]
        return 0 if mixed or by_time else thread, start, -end, -n if turned else n

    order = sorted(range(len(events)), key=place)
    inside, own = [], [end - start for _, _, start, end in events]
    for n in order:
        _, thread, start, end = events[n]
        while inside and (
            events[inside[-1]][3] < start + (not touching)
            or (shorter and events[inside[-1]][3] < end)
            or (not mixed and not open_still and events[inside[-1]][1] != thread)
        ):
            inside.pop()
        for parent in inside if deep else inside[-1:]:
            own[parent] -= end - start
        inside.append(n)
    found: dict[str, tuple[int, int]] = {}
    for (name, *_), time in zip(events, own, strict=True):
        calls, total = found.get(name, (0, 0))
        found[name] = calls + 1, total + time
    return found


def total_times(events: Sequence[Event]) -> dict:
    """A slip: what is inside an event is left in it."""
    found: dict[str, tuple[int, int]] = {}
    for name, _, start, end in events:
        calls, total = found.get(name, (0, 0))
        found[name] = calls + 1, total + end - start
    return found


def _all_inside(events: Sequence[Event]) -> dict:
    """A slip: all that lies within an event is taken off, of two equal ones each of the other."""
    found: dict[str, tuple[int, int]] = {}
    for n, (name, thread, start, end) in enumerate(events):
        inside = sum(
            last - first
            for m, (_, other, first, last) in enumerate(events)
            if m != n and other == thread and start <= first and last <= end
        )
        calls, total = found.get(name, (0, 0))
        found[name] = calls + 1, total + end - start - inside
    return found


def _last_times(events: Sequence[Event]) -> dict:
    """A slip: of several events with one name, the time of the last replaces the others'."""
    names: dict[str, list[int]] = {}
    for n, (name, *_) in enumerate(events):
        names.setdefault(name, []).append(n)
    single = [(n, thread, start, end) for n, (_, thread, start, end) in enumerate(events)]
    times = self_times(single)  # ty: ignore[invalid-argument-type]
    return {
        name: (len(ns), times[max(ns, key=lambda n: events[n][2])][1]) for name, ns in names.items()
    }


def _slips(events: Sequence[Event]) -> list[tuple[str, dict]]:
    """What known slips make of the events, with words for each."""
    longest = (
        "of events that begin together, the longest encloses the others, wherever it is listed"
    )
    return [
        (
            "that is the total time: take off what the events inside it took",
            total_times(events),
        ),
        (
            "an event inside an event inside was taken off twice: only direct children count",
            self_times(events, deep=True),
        ),
        (
            "an event inside an event inside was taken off twice: only direct children count ",
            _all_inside(events),
        ),
        (
            "an event of another thread is not inside, whenever it ran",
            self_times(events, mixed=True),
        ),
        (
            "when another thread begins, no event of the last one is open",
            self_times(events, open_still=True),
        ),
        (
            "of two with equal begin and end, the first in the list encloses the second",
            self_times(events, turned=True),
        ),
        (
            "of two with equal begin and end, the first in the list encloses the second, whatever "
            "their names",
            self_times(events, named=True),
        ),
        (
            "an event that begins where another ends isn't inside it",
            self_times(events, touching=True),
        ),
        ("the list is in any order: sort it", self_times(events, listed=True)),
        (longest, self_times(events, by_start=True)),
        (longest + " ", self_times(events, by_start=True, shorter=True)),
        ("the list is in any order: sort it ", self_times(events, listed=True, shorter=True)),
        ("of events that begin together, the longest comes first", self_times(events, rising=True)),
        (
            "of events that begin together, the longest comes first ",
            self_times(events, rising=True, shorter=True),
        ),
        (
            "an event of another thread closes nothing: sort by thread first",
            self_times(events, by_time=True),
        ),
        ("several events have this name: add their times up", _last_times(events)),
        (
            "times are whole numbers: as floating-point numbers large ones lose digits",
            self_times([(n, t, float(a), float(b)) for n, t, a, b in events]),  # ty: ignore[invalid-argument-type]
        ),
        ("a time needn't fit into 32 bits", _in_32_bits(events)),
        (
            "times may be below 0",
            self_times([(n, t, max(a, 0), max(b, 0)) for n, t, a, b in events]),
        ),
    ]


def _in_32_bits(events: Sequence[Event]) -> dict:
    """What is left of the self times in an int32, which wraps around."""
    return {
        name: (calls, (time + 2**31) % 2**32 - 2**31)
        for name, (calls, time) in self_times(events).items()
    }


def _pairs(found: Any) -> dict:
    """The entries as tuples; none where it is no dict of pairs."""
    fine = isinstance(found, dict) and all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in found.values()
    )
    return {name: tuple(pair) for name, pair in found.items()} if fine else {}


@ends_in_notebook
def check_profiles(read: Callable[..., Any], logs: Mapping[str, Sequence[Event]]) -> None:
    """Compare what a learner reads in each log; a slip is named if it explains all that is wrong.

    Args:
        read: the learner's function.
        logs: the events, by the case's name.
    """
    __tracebackhide__ = True
    given, raised = {}, {}
    for name, log in logs.items():
        mine = list(log)
        try:
            given[name] = read(mine)
        except Exception as error:
            raised[name] = error
        if mine != log:
            words = "the list of events was changed: it is the caller's; sort a copy (sorted)"
            raised[name] = AssertionError(words)
    fits = {
        name: [words.strip() for words, slip in _slips(logs[name]) if _pairs(found) == slip]
        for name, found in given.items()
    }
    wrong = [name for name in given if _pairs(given[name]) != self_times(logs[name])]
    named = (
        [words for words in fits[wrong[0]] if all(words in fits[n] for n in wrong)] if wrong else []
    )
    # First the words that explain the logs that are read right as well.
    named.sort(key=lambda words: not all(words in fit for fit in fits.values()))
    if wrong and all(len({*logs[name]}) < len(logs[name]) for name in wrong):
        named = ["two equal events are two: a dict or set of events has one entry for both"]
    with every_case() as case:
        for name, log in logs.items():
            with case(name):
                if name in raised:
                    raise raised[name]
                check_profile(given[name], log, named[0] if named else "")


@ends_in_notebook
def check_profile(found: Any, events: Sequence[Event], named: str) -> None:
    """Compare what was read in a profile with what is right; ``named`` has words for a slip."""
    __tracebackhide__ = True
    right = self_times(events)
    assert found is not None, "the function returned None: is there an answer yet?"
    assert isinstance(found, dict), f"a {type(found).__name__} came back, expected a dict"
    missing, more = sorted(right.keys() - found.keys()), [n for n in found if n not in right]
    assert not missing, f"{len(missing)} names are missing in the dict: each event counts"
    assert not more, "the dict has a name that no event has"
    for name, pair in found.items():
        fine = isinstance(pair, (tuple, list)) and len(pair) == 2
        assert fine, f"the entry of {name!r} is no pair (calls, self time)"
        whole = all(isinstance(part, Integral) for part in pair)
        words = "begin and end are whole numbers (int), and so are calls and self time"
        assert whole, f"the entry of {name!r} is {pair}: {words}"
    calls = [name for name in right if found[name][0] != right[name][0]]
    assert not calls, f"the calls of {calls[0]!r} are wrong: each event with that name is a call"
    pairs = _pairs(found)
    if pairs == right:
        return
    wrong = [name for name in right if pairs[name] != right[name]]
    assert not named, f"{wrong[0]!r}: {named}"
    mine, truth = pairs[wrong[0]][1], right[wrong[0]][1]
    way = "long" if mine > truth else "short"
    raise AssertionError(
        f"the self time of {wrong[0]!r} is wrong: {mine} is too {way}. It is the event's length "
        f"less the lengths of the events directly inside it ({len(wrong)} of {len(right)} names)"
    )


def events_of(profile: torch.profiler.profile) -> list[Event]:
    """A profile's events on the CPU, in whole nanoseconds, as the exercise has them."""
    spans = [(event.name, event.thread, event.time_range) for event in profile.events()]
    return [
        (name, thread, round(span.start * 1000), round(span.end * 1000))
        for name, thread, span in spans
        if not name.startswith("[") and span.end > span.start
    ]


@contextmanager
def quietly() -> Generator[None]:
    """Keep the lines that PyTorch's profiler and benchmark log from the notebook's page."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    logging.disable(logging.WARNING)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
        logging.disable(logging.NOTSET)
