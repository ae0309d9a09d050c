"""A pretend device with a clock that always tells the same, and what timers make of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from course_utils.learner.checks import refuse_missing
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_parts


class PretendDevice:
    """A host that launches kernels and a device that works them off, on one made-up clock.

    Times are in microseconds and always the same, whatever machine this runs on.

    Args:
        kernels: how long each kernel takes on the device; the last one repeats for ever.
        launch: what a launch costs the host.
        pending: work that is in the device's queue before anything is launched.
        start: what the clock says at first; a whole number where it tells whole numbers.

    Attributes:
        now: the host's time.
        runs: how many kernels were launched.
        log: ``(lane, what, start, end)`` for a picture; a lane is "host" or "device".
    """

    def __init__(
        self, kernels: Sequence[float], launch: float = 5, pending: float = 0, start: float = 0.0
    ) -> None:
        self.kernels, self.launch = list(kernels), launch
        self.now, self.idle_from, self.runs = start, start + pending, 0
        self.log: list[tuple[str, str, float, float]] = []
        if pending:
            self.log.append(("device", "earlier", start, self.idle_from))

    def run(self) -> None:
        """Launch the next kernel: the host goes on at once, the device begins when it is free."""
        length = self.kernels[min(self.runs, len(self.kernels) - 1)]
        self.log.append(("host", "launch", self.now, self.now + self.launch))
        self.now += self.launch
        begin = max(self.now, self.idle_from)
        self.idle_from = begin + length
        self.log.append(("device", f"kernel {self.runs}", begin, self.idle_from))
        self.runs += 1

    def synchronise(self) -> None:
        """The host waits until the device's queue is empty."""
        if self.idle_from > self.now:
            self.log.append(("host", "wait", self.now, self.idle_from))
            self.now = self.idle_from

    def clock(self) -> float:
        """The host's time, in microseconds."""
        return self.now


def _device(case: dict) -> PretendDevice:
    return PretendDevice(
        case["kernels"], case.get("launch", 5), case.get("pending", 0), case.get("start", 0.0)
    )


# How often a timer calls, where it is not said.
COUNTS = {"warmup": 3, "repeats": 7}


def run_measure(measure: Callable[..., Any], case: dict) -> dict:
    """What a learner's timer makes of a pretend device, as plain values.

    Args:
        measure: takes ``run, synchronise, clock, warmup, repeats``.
        case: PretendDevice's arguments, with ``warmup`` and ``repeats`` where they are given.
    """

    def timed(pretend: PretendDevice, *counts: int, **named: int) -> Any:
        return measure(pretend.run, pretend.synchronise, pretend.clock, *counts, **named)

    pretend, again = _device(case), _device(case)
    counts = {name: case[name] for name in COUNTS if name in case}
    try:
        found = timed(pretend, *counts.values())
    except statistics.StatisticsError as error:  # a kind that the judge doesn't know
        words = f"{error}; repeats may be 1, and the one time is the median"
        raise ValueError(words).with_traceback(error.__traceback__) from error
    timed(PretendDevice([10_000]), 0, 2)  # what is kept of this one shows in the next
    second = timed(again, **counts)
    left = pretend.idle_from > pretend.now
    same = repr(found) == repr(second)
    return {"found": found, "runs": pretend.runs, "left": left, "same": same}


def _timed(
    case: dict,
    *,
    before=True,
    after=True,
    warm=True,
    once=False,
    early=False,
    all_calls=False,
    late=False,
    inside=False,
    coarse=False,
) -> list[float]:
    """The single measurements; switches for what goes wrong."""
    device = _device(case)

    def clock() -> float:
        return float(device.clock()) if coarse else device.clock()

    if early:
        device.synchronise()
    for _ in range(case["warmup"] if warm and not all_calls else 0):
        device.run()
    if before and not early:
        device.synchronise()
    times, begin = [], clock()
    for _ in range(case["repeats"] + (case["warmup"] if all_calls else 0)):
        begin = begin if once else clock()
        if inside:
            device.synchronise()
        device.run()
        begin = clock() if late else begin
        if after and not once:
            device.synchronise()
        times.append(clock() - begin)
    if once:
        device.synchronise()
        return [(clock() - begin) / case["repeats"]] * case["repeats"]
    return times


def _summary(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), max(times) - min(times)


@ends_in_notebook
def check_measure(outcome: dict, case: dict) -> None:
    """Compare what a timer made of a case with what is right."""
    __tracebackhide__ = True
    case = COUNTS | case
    median, spread = check_parts(outcome["found"], "median", "spread")
    for name, value in (("the median", median), ("the spread", spread)):
        refuse_missing(value, name)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        assert number, f"{name} is of type {type(value).__name__}, expected a number"
    expected = case["warmup"] + case["repeats"]
    if outcome["runs"] != expected:
        raise AssertionError(
            f"run was called {outcome['runs']} times: warmup calls that nobody times, then "
            f"repeats calls, each timed alone, make {expected}"
        )
    words = "called again, it gives other numbers: begin each call without times of an earlier one"
    assert outcome["same"], words
    times = _timed(case)
    right = _summary(times)
    if _same((median, spread), right):
        return
    for words, slip in _slips(case, times).items():
        if _same((median, spread), slip) and not _same(slip, right):
            raise AssertionError(words)
    lower, upper = sorted(times)[(len(times) - 1) // 2], sorted(times)[len(times) // 2]
    near = (lower, upper, math.floor((lower + upper) / 2), math.ceil((lower + upper) / 2))
    middle = any(math.isclose(median, value) for value in near)
    if not math.isclose(median, right[0], rel_tol=1e-6) and lower != upper and middle:
        raise AssertionError("with an even number of times, the median is half-way between two")
    pairs = zip((median, spread), right, strict=True)
    assert not all(math.isclose(a, b, rel_tol=1e-5) for a, b in pairs), (
        "median and spread are right to seven digits only: the times went through float32"
    )
    if not math.isclose(median, right[0], rel_tol=1e-6):
        raise AssertionError(f"the median of the times isn't {median:g}")
    raise AssertionError(f"the longest less the shortest time isn't {spread:g}")


def _slips(case: dict, times: list[float]) -> dict[str, tuple[float, float]]:
    """Words for known mistakes, each with the pair that it gives."""
    launches = "only the launches were timed: synchronise before the clock is read again"
    pending = "earlier work was timed, too: synchronise before the first clock starts"
    middle, whole = statistics.median(times), [float(round(time)) for time in times]
    several = times if len(times) > 1 else times * 2
    quarters = statistics.quantiles(several, n=4)
    fourths = statistics.quantiles(several, n=4, method="inclusive")
    quarter = "the spread is the longest less the shortest time, not between quartiles"
    instant = case.get("launch", 5) == 0  # then "only the launches" is as good as several slips
    return {
        "a clock may tell large whole numbers: as floating-point numbers they lose digits; take "
        "the difference first": _summary(_timed(case, coarse=True)),
        launches: _summary(times if instant else _timed(case, after=False)),
        f"{launches}; and {pending}": _summary(
            times if instant else _timed(case, after=False, before=False)
        ),
        pending: _summary(_timed(case, before=False)),
        "earlier work was timed, too: synchronise before the clock starts, not behind it": _summary(
            _timed(case, before=False, inside=True)
        ),
        "the launch is part of the work: read the clock before run is called": _summary(
            _timed(case, late=True)
        ),
        "the warm-up's kernels are timed, too: synchronise after it": _summary(
            _timed(case, early=True)
        ),
        "the first calls are timed: they are the warm-up": _summary(_timed(case, warm=False)),
        "the warm-up's calls are among the times: throw them away": _summary(
            _timed(case, all_calls=True)
        ),
        "one pair of clocks around all calls gives a mean; time each call alone": _summary(
            _timed(case, once=True)
        ),
        "a mean is pulled up by one slow call: take the median": (
            statistics.fmean(times),
            max(times) - min(times),
        ),
        "the shortest time says how lucky a run can be; the median is asked for": (
            min(times) if len(times) > 2 else math.nan,
            max(times) - min(times),
        ),
        "a time may be 0: it counts like any other": _summary([time or 1 for time in times]),
        "a time may be 0: leave it in": _summary([time for time in times if time] or times),
        "the times were rounded: a clock tells fractions as well": _summary(whole),
        quarter: (middle, quarters[2] - quarters[0]),
        f"{quarter}, whichever way they are taken": (middle, fourths[2] - fourths[0]),
        "the spread is the longest less the shortest time, not a standard deviation": (
            statistics.median(times),
            statistics.pstdev(times),
        ),
        "the spread is the longest less the shortest time, not a deviation": (
            statistics.median(times),
            statistics.stdev(times) if len(times) > 1 else 0.0,
        ),
        "the longest time counts in the spread, however far from the others it is": (
            middle,
            (sorted(times)[-2] if len(times) > 2 else math.nan) - min(times),
        ),
        "the spread is the longest less the shortest time, wherever in the list they are": (
            middle,
            abs(times[-1] - times[0]),
        ),
    }


def _same(one: tuple, other: tuple) -> bool:
    pairs = zip(one, other, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-10, abs_tol=1e-10) for a, b in pairs)
