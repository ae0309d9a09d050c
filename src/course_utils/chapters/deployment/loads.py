"""Exercise 19.9: load on a server: made, measured, drawn."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from course_utils.learner.drawings import FAINT, LINES, show
from course_utils.learner.other_states import check_states
from course_utils.learner.tracebacks import ends_in_notebook


def arrivals(rate: float, count: int, seed: int = 19) -> torch.Tensor:
    """When ``count`` requests come that know nothing of each other: (count,), float64, seconds."""
    generator = torch.Generator().manual_seed(seed)
    gaps = -torch.log1p(-torch.rand(count, generator=generator, dtype=torch.float64)) / rate
    return gaps.cumsum(0)


def served_singly(due: torch.Tensor, service: float) -> torch.Tensor:
    """When each request is done by a server that does one after the other."""
    done, free = [], 0.0
    for moment in due.tolist():
        free = max(free, moment) + service
        done.append(free)
    return torch.tensor(done, dtype=torch.float64)


def served_in_batches(
    due: torch.Tensor, fixed: float, each: float, most: int, wait: float
) -> torch.Tensor:
    """When each request is done by a server that batches: n together take ``fixed + n · each``."""
    times, done, free, start = due.tolist(), [], 0.0, 0
    while start < len(times):
        ready = max(free, times[start])
        full = times[start + most - 1] if start + most <= len(times) else float("inf")
        begin = max(ready, min(full, times[start] + wait))
        count = sum(moment <= begin for moment in times[start : start + most])
        free = begin + fixed + count * each
        done += [free] * count
        start += count
    return torch.tensor(done, dtype=torch.float64)


def open_load(url: str, content: bytes, due: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """Send a request at each of these moments, whether or not others were answered.

    Returns:
        When each was answered, in seconds after the start; the statuses, 0 where none came.

    Raises:
        TimeoutError: there is no end after a minute.
    """
    import httpx

    found: list = []

    async def work() -> tuple:
        start = time.perf_counter()
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(
            base_url=url, trust_env=False, verify=False, timeout=20, limits=limits
        ) as client:

            async def one(moment: float) -> tuple[float, int]:
                await asyncio.sleep(max(0.0, moment - (time.perf_counter() - start)))
                try:
                    status = (await client.post("/detect", content=content)).status_code
                except httpx.HTTPError:  # a busy machine: given up, which took its time as well
                    status = 0
                return time.perf_counter() - start, status

            ends = await asyncio.gather(*(one(moment) for moment in due.tolist()))
        return torch.tensor([t for t, _ in ends], dtype=torch.float64), [s for _, s in ends]

    thread = threading.Thread(target=lambda: found.append(asyncio.run(work())), daemon=True)
    thread.start()
    thread.join(60)
    if not found:
        raise TimeoutError("the load wasn't answered within a minute")
    return found[0]


def draw_load(curves: dict[str, list[tuple[float, float]]], knees: dict[str, float]) -> None:
    """Draw mean latency over load for some servers, and where each one's knee was predicted."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 3.2))
    for (name, points), colour in zip(curves.items(), LINES, strict=False):
        ax.plot(*zip(*points, strict=True), "o-", ms=4, color=colour, label=name)
        ax.axvline(knees[name], color=colour, ls=":")
        side = "left" if colour == LINES[0] else "right"
        ax.text(knees[name], 290, " most it can bear ", color=colour, fontsize=8, va="top", ha=side)
    ax.axhline(0, color=FAINT, lw=0.5)
    ax.set(xlabel="requests per second that come", ylabel="mean latency, ms", ylim=(0, 300))
    ax.legend(loc="center", fontsize=8)
    show(figure, "Mean latency over load: flat at first, then it turns up steeply just before the "
         "predicted limit, which is further right for the server that batches.")  # fmt: skip


CASES: dict[str, tuple[list[float], list[float], list[float]]] = {
    "all were sent in time": ([0, 1, 2, 3], [0, 1, 2, 3], [0.5, 1.5, 2.5, 4.0]),
    "a clock that has run for a month": (
        [2_600_000, 2_600_001.1, 2_600_002.3],
        [2_600_000, 2_600_001.1, 2_600_002.3],
        [2_600_000.4, 2_600_001.2, 2_600_003.7],
    ),
    "the client was held up": ([0, 1, 2, 3, 4], [0, 5, 5.5, 6, 6.5], [5, 5.5, 6, 6.5, 7.5]),
    "answers come in another order": ([0, 1, 2], [0, 1, 2], [9, 3, 2.5]),
    "the slowest was sent late": ([0, 1, 2], [0, 1, 4], [1, 2, 5.5]),
    "the first was sent late": ([0, 1, 2], [0.5, 1, 2], [1.5, 2.25, 4]),
    "requests in another order": ([3, 0, 1], [3, 0, 1], [4, 2, 1.25]),
    "the first is due later than 0": ([100, 101], [100, 101], [100.5, 103]),
    "a clock that begins before 0": ([-3, -1], [-3, -1], [-2.5, 1]),
    "a single request": ([2], [2], [2.5]),
    "microseconds": ([0, 2e-6, 5e-6], [0, 2e-6, 5e-6], [3.4e-6, 4.5e-6, 9.7e-6]),
    "nineteen": (list(range(19)), list(range(19)), [k + 0.1 * (k + 1) for k in range(19)]),
    "twenty": (list(range(20)), list(range(20)), [k + 0.1 * (k + 1) for k in range(20)]),
    "most waited equally long": (
        list(range(20)),
        list(range(20)),
        [k + max(1, k - 15) for k in range(20)],
    ),
    "forty": (list(range(40)), list(range(40)), [k + 0.1 * (k + 1) for k in range(40)]),
}


def truth(due: torch.Tensor, done: torch.Tensor) -> dict[str, float]:
    latency, period = done - due, (done.max() - due.min()).item()
    rank = -(-95 * len(due) // 100)
    return {
        "throughput": len(due) / period,
        "mean latency": latency.mean().item(),
        "p95": latency.sort().values[rank - 1].item(),
        "in flight": latency.sum().item() / period,
    }


def check_other_states(load_test: Callable) -> None:
    """Whether the numbers are right where the times are columns of a table, with gradients off.

    And again with the same tensors that hold other times by then. None of them requires grad.
    """
    times = [torch.tensor(one, dtype=torch.float64) for one in CASES["the client was held up"]]
    with torch.inference_mode():
        columns = torch.stack(times, 1).unbind(1)
        check_load(load_test(*columns), *times)
    without = ("old_gradient", "inside_a_graph")
    check_states(load_test, *times, what="load_test(due, sent, done)", but=without)


@ends_in_notebook
def check_load(result: Any, due: torch.Tensor, sent: torch.Tensor, done: torch.Tensor) -> None:
    """Check the four numbers that the answer gave, all that are wrong at once."""
    __tracebackhide__ = True
    assert result is not None, "None came back: is there an answer yet?"
    assert isinstance(result, dict), f"a {type(result).__name__} came back, not a dict"
    right = truth(due, done)
    missing = [name for name in right if name not in result]
    assert not missing, f"missing in the dict: {', '.join(missing)}"
    late, n = truth(sent, done), len(due)
    period = (done.max() - due.min()).item()
    micro = right
    if period > 1e-6:
        micro = truth(due.round(decimals=6), done.round(decimals=6))
    rounded = {
        name: {round(value, places) for places in range(2, 10)} for name, value in right.items()
    }
    single = due.float(), done.float()
    coarse = truth(*single) if single[1].max() > single[0].min() else right
    different = (done - due).unique()
    moments = torch.arange(0, min(period, 100), 0.001) + 0.0005
    by_moments = ((due[:, None] <= moments) & (moments < done[:, None])).sum(0).double()
    ordered, total = (done - due).sort().values, (done - due).sum().item()
    slips = {
        "throughput": {
            "that divides by the time between the first and the last request; it ends with the "
            "last answer": n / max((due.max() - due.min()).item(), 1e-9),
            "that counts from 0, not from the first request that was due": n / done.max().item(),
            "that is the time for one request, not requests per second": period / n,
            "that leaves a request out: n answers came in that time": (n - 1) / period,
            "that divides by the longest latency, not by the time from first to last":
            n / max(ordered[-1].item(), 1e-9),
            "that counts from the first answer, not from the first request that was due":
            n / max((done.max() - done.min()).item(), 1e-9),
            "that counts from when the first was sent; count from when it was due":
            late["throughput"],
            "that takes the arguments' last and first entries, or the answer to the request that "
            "was due last; they are in no order":
            n / ((done[-1] - due[0]).item() or 1e-9),
        },
        "mean latency": {
            "that counts from when the client got round to sending; count from when it was due":
            late["mean latency"],
            "that is the median": (done - due).median().item(),
            "that is in milliseconds": 1000 * right["mean latency"],
        },
        "p95": {
            "that counts from when the client got round to sending; count from when it was due":
            late["p95"],
            "that is between two measured values; nearest rank picks one of them":
            torch.quantile(done - due, 0.95).item(),
            "that is one rank too high: counted from 1, it is the ceil(0.95 · n)-th":
            ordered[min(n - 1, -(-95 * n // 100))].item(),
            "that is the entry at this place before sorting":
            (done - due)[-(-95 * n // 100) - 1].item(),
            "that is the largest": ordered[-1].item(),
            "latencies that are equal were counted once: each request counts": (
                different[-(-95 * len(different) // 100) - 1].item()
            ),
            "`due` and `done` were sorted each for itself; a latency is of one request":
            (done.sort().values - due.sort().values).sort().values[-(-95 * n // 100) - 1].item(),
            "that is one rank too low: counted from 1, it is the ceil(0.95 · n)-th":
            ordered[max(0, -(-95 * n // 100) - 2)].item(),
        },
        "in flight": {
            "that counts from when the client got round to sending; count from when it was due":
            late["in flight"],
            "these are the latencies from when requests were sent; count from when they were due":
            (done - sent).sum().item() / period,
            "that divides by the time from when the first was sent, not due":
            total / max((done.max() - sent.min()).item(), 1e-9),
            "that divides by the time from the first answer; begin with the first that was due":
            total / max((done.max() - done.min()).item(), 1e-9),
            "that takes the arguments' last and first entries, or the answer to the request that "
            "was due last; they are in no order":
            total / ((done[-1] - due[0]).item() or 1e-9),
            "that is counted only when a request comes in; the time in between counts as well":
            ((due[:, None] >= due) & (due[:, None] < done)).sum(1).double().mean().item(),
            "that divides by the time until the last was due; it ends with the last answer":
            total / max((due.max() - due.min()).item(), 1e-9),
            "that is counted at moments a thousandth apart, from 0 on; requests may be due at any "
            "time, for microseconds: add up how long each one waits": by_moments.mean().item(),
            "that is the most at any moment, not the average": float(
                max(int(((due <= moment) & (moment < done)).sum()) for moment in due)
            ),
            "that is throughput times p95; Little's law takes the mean latency":
            right["throughput"] * right["p95"],
            "that divides by the longest latency, not by the time from first to last":
            total / max(ordered[-1].item(), 1e-9),
            "that is the sum of all latencies, not yet shared out over the period": total,
        },
    }  # fmt: skip
    for name, words in slips.items():
        words["that was computed in float32, which has no hundredths of a second so far from 0"] = (
            coarse[name]
        )
        words["that is made of rounded times: take them as they are"] = micro[name]
    wrong = []
    for name, value in right.items():
        got = result[name]
        if isinstance(got, torch.Tensor) or not isinstance(got, (int, float)):
            wrong.append(f"{name} is a {type(got).__name__}, not a float")
        elif abs(got - value) > 1e-6 * abs(value):
            near = [w for w, bad in slips[name].items() if abs(got - bad) <= 1e-6 * abs(bad)
                    and abs(bad - value) > 1e-6 * abs(value)]  # fmt: skip
            exact = bool(near)
            if not exact and got in rounded[name]:
                near = ["that is rounded: give the number as it is"]
            if not exact and name == "in flight" and abs(got - value) < 0.02 * value:
                near.append("that only comes near: is it counted at single moments? Add up how "
                            "long each one waits, in float64")  # fmt: skip
            wrong.append(f"{name}: {', or '.join(near) or 'another number was expected'}")
        elif abs(got - value) > 1e-8 * abs(value):
            wrong.append(f"{name}: only seven of its digits are right: is it computed in float32?")
    assert not wrong, "; ".join(wrong)
