"""Schedules: what a scheduler answers, step by step."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn

from course_utils.learner.tracebacks import what_was_raised


def check_rates(schedules, arguments, right, slips=()):
    """A list of plain numbers, near the right ones; known slips have words."""
    what = f"schedules{arguments}"
    try:
        found = schedules(*arguments)
    except RecursionError:
        words = "a run may have thousands of steps: a loop has no limit"
        raise AssertionError(f"{what} raised RecursionError: {words}") from None
    except ZeroDivisionError:
        words = "either part may be empty: divide by its length only inside of it"
        raise AssertionError(f"{what} raised ZeroDivisionError: {words}") from None
    except (ValueError, IndexError) as error:
        words = "0 ≤ warmup ≤ total: either part may be empty, and the run as well"
        raise AssertionError(f"{what} {what_was_raised(error)}; {words}") from None
    assert found is not None, f"{what} is None: is there an answer yet?"
    assert isinstance(found, (list, tuple)), f"{what} is {found!r}, expected a list of rates"
    assert all(isinstance(rate, (int, float)) for rate in found), f"{what} holds no plain numbers"
    shown = [round(rate, 3) for rate in found]
    words = [said for slip, said in slips if shown == slip]
    words += [f": {len(found)} rates, expected {len(right)}"] if len(found) != len(right) else []
    fits = [said for said, rates in _spoilt_rates(*arguments) if _alike(found, rates)]
    words += fits[:1] if len(set(fits)) == 1 and not _alike(found, _rates(*arguments)) else []
    close = len(found) == len(right) and all(
        abs(a - b) < 6e-4 for a, b in zip(found, right, strict=True)
    )
    wanted, got = _shown(right), _shown(found)
    assert close, f"{what}: expected {wanted}, got {got}{''.join(words[:1])}"
    exact = _alike(found, _rates(*arguments))
    assert exact, f"{what}: the rates are near, but rounded: leave them as they are"
    if isinstance(found, list):
        found.clear()
        words = "once its first list was emptied: the list is the caller's, so make it anew"
        assert _alike(schedules(*arguments), _rates(*arguments)), (
            f"{what} gives something else {words}"
        )


def rounded(predictions):
    """Predictions in which lists of numbers have six digits behind the point, as the machine's."""
    if not isinstance(predictions, dict):
        return predictions
    return {name: _six_digits(value) for name, value in predictions.items()}


def _six_digits(value):
    if isinstance(value, (list, tuple)) and all(isinstance(n, (int, float)) for n in value):
        return type(value)(round(n, 6) for n in value)
    return value


def _shown(rates):
    """The rates to three digits, of a long run the first."""
    first = ", ".join(str(round(rate, 3)) for rate in rates[:8])
    return f"[{first}, …]" if len(rates) > 8 else f"[{first}]"


def _alike(rates, others):
    """Whether two lists agree, to a millionth of the largest of the others."""
    near = 1e-6 * max(map(abs, others), default=1)
    pairs = zip(rates, others, strict=False)
    return len(rates) == len(others) and all(abs(a - b) <= near for a, b in pairs)


def _rates(base, warmup, total, floor=0.0, first=1, start=0, less=0, whole=False, turn=torch.pi):
    """The rates of a run, to all digits; or with a slip.

    The warm-up counts from ``first``, the cosine from k = ``start``, over n - ``less`` steps, or
    over the ``whole`` run. Half a ``turn`` is pi.
    """
    steps = torch.arange(total, dtype=torch.float64)
    share = (steps - warmup + start) / max(total - warmup - less, 1)
    share = steps / max(total, 1) if whole else share
    cosine = floor + (base - floor) * (1 + torch.cos(turn * share)) / 2
    return torch.where(steps < warmup, base * (steps + first) / max(warmup, 1), cosine).tolist()


def _spoilt_rates(base, warmup, total, floor=0.0):
    """What known slips make of the rates, behind the words for them."""
    given = base, warmup, total, floor
    yield ": the first step is wasted at rate 0", _rates(*given, first=0)
    yield ": k counts from 0: the first rate of the cosine is base itself", _rates(*given, start=1)
    yield ": the cosine of k = n is not part of the run", _rates(*given, less=1)
    yield ": k counts from the end of the warm-up, up to n - 1", _rates(*given, whole=True)
    yield ": the divisor is n, the length of the cosine alone", _rates(*given, less=-warmup)
    yield ": k begins at 0 again behind the warm-up", _rates(*given, start=warmup)
    yield ": the cosine is of radians: half a turn is pi", _rates(*given, turn=180)
    cut = [max(floor, rate) for rate in _rates(base, warmup, total)]
    yield (
        ": floor is where the cosine ends",
        cut[:0] if floor == 0 else (_rates(*given)[:warmup] + cut[warmup:]),
    )


def machine_rates(name):
    """The rates that PyTorch's own schedulers give for a line of the exercise."""
    kinds: Any = torch.optim.lr_scheduler

    def both(o):
        return [kinds.ConstantLR(o, 0.5, total_iters=2), kinds.ExponentialLR(o, 0.5)]

    make = {
        "multistep": lambda o: kinds.MultiStepLR(o, [2, 3], gamma=0.5),
        "multistep, old order": lambda o: kinds.MultiStepLR(o, [2, 3], gamma=0.5),
        "warm-up": lambda o: kinds.LinearLR(o, start_factor=0.25, total_iters=3),
        "cosine": lambda o: kinds.CosineAnnealingLR(o, T_max=2),
        "plateau": lambda o: kinds.ReduceLROnPlateau(o, factor=0.5, patience=1),
        "chained": lambda o: kinds.ChainedScheduler(both(o)),
        "sequential": lambda o: kinds.SequentialLR(o, both(o), milestones=[2]),
    }[name]
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler, used, losses = make(optimizer), [], (5, 4, 4, 4, 4, 3)
    optimizer.step()  # so that the old order warns of nothing
    for step in range(6 if name in ("cosine", "plateau") else 5):
        if "old order" in name:
            scheduler.step()
        used.append(round(float(optimizer.param_groups[0]["lr"]), 6))
        if "old order" not in name:
            scheduler.step(*losses[step : step + 1] if name == "plateau" else ())
    return used


LINE = ": that falls along a line; half a cosine is asked for"


WHOLE = ": that is a whole cosine, down and up again: half of it ends at pi"


RATE_CASES = (  # the arguments, the rates, and known slips
    (
        (1.0, 2, 6, 0.0),
        [0.5, 1, 1, 0.854, 0.5, 0.146],
        (
            ([0, 0.5, 1, 0.854, 0.5, 0.146], ": the first step is wasted at rate 0"),
            (
                [0.5, 1, 0.75, 0.5, 0.25, 0.067],
                ": k counts from the end of the warm-up, up to n - 1",
            ),
            ([0.5, 1, 1, 0.75, 0.5, 0.25], LINE),
            ([0.5, 1, 1, 0.5, 0, 0.5], WHOLE),
            (
                [0.5, 0.933, 0.75, 0.5, 0.25, 0.067],
                ": the cosine begins after the warm-up, with k = 0",
            ),
            ([0.5, 1, 1, 0.75, 0.25, 0], ": the cosine of k = n is not part of the run"),
        ),
    ),
    (
        (2.0, 0, 3, 0.5),
        [2, 1.625, 0.875],
        (
            ([2, 1.5, 1], LINE),
            ([2, 0.875, 0.875], WHOLE),
            ([2, 1.5, 0.5], ": floor is where the cosine ends"),
            ([2.5, 2.0, 1.0], ": the cosine falls by base - floor, and ends at floor"),
        ),
    ),
    (
        (1.0, 3, 3, 0.0),
        [0.333, 0.667, 1.0],
        (([0, 0.333, 0.667], ": the first step is wasted at rate 0"),),
    ),
    (
        (1.0, 2, 4, 0.6),
        [0.5, 1, 1, 0.8],
        (
            ([0.6, 1, 1, 0.8], ": the warm-up has no floor, it begins at base / warmup"),
            ([0.8, 1, 1, 0.8], ": the warm-up begins at base / warmup, not at the floor"),
            ([0.6, 0.8, 1, 0.8], ": the warm-up begins at base / warmup, not at the floor"),
        ),
    ),
    ((0.5, 1, 2, 0.0), [0.5, 0.5], ()),
    (
        (3, 2, 5, -1),
        [1.5, 3, 3, 2, 0],
        (
            ([1, 3, 3, 2, 0], ": // cuts off what is behind the point; divide by /"),
            ([1.5, 3, 3, 2.25, 0.75], ": floor may be below 0"),
        ),
    ),
    ((1.0, 0, 3, -1.0), [1, 0.5, -0.5], (([1, 0.5, 0], ": floor may be below 0"),)),
    ((1.0, 0, 2), [1, 0.5], (([1, 0.55], ": floor is 0 by default"),)),
    ((1.0, 0, 0, 0.0), [], ()),
    ((2e-5, 2, 4, 1e-6), [1e-5, 2e-5, 2e-5, 1.05e-5], ()),
    ((1.0, 100, 3000, 0.0), _rates(1.0, 100, 3000), ()),
)
