"""Exercise 19.8: a queue that batches, tried on a clock that never waits."""

from __future__ import annotations

import asyncio
import ctypes
import selectors
import threading
from collections.abc import Callable, Sequence
from typing import Any

from course_utils.learner.tracebacks import ends_in_notebook

NEAR = 1e-6


class _Selector(selectors.DefaultSelector):
    """Does not wait: moves the loop's clock on instead."""

    loop: Any = None

    def select(self, timeout=None):
        if timeout is None:  # nothing is planned: only another thread could go on
            events = super().select(1)
            if not events:
                raise RuntimeError("everything waits for something that never comes")
            return events
        self.loop.now += max(timeout, 0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next thing that is planned."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def in_virtual_time(make: Callable[[], Any]) -> Any:
    """Run a coroutine in a loop whose seconds pass at once; works in a notebook too."""
    found: list = []

    def work() -> None:
        loop = VirtualLoop()
        try:
            asyncio.set_event_loop(loop)
            found.append(loop.run_until_complete(make()))
        except BaseException as error:
            found.append(error)
        finally:
            keep_unending(loop)
            asyncio.set_event_loop(None)
            loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    if not found:
        raise TimeoutError("no end after 20 s: a loop without an await?")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def keep_unending(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel a loop's tasks, and keep for good those that don't end by that.

    Python ends a coroutine that nobody holds any more by an exception. One that takes that for a
    reason to try again, in a loop that is closed, would run for ever in whatever code was
    collecting garbage, such as the next answer.
    """
    tasks = asyncio.all_tasks(loop)
    if loop.is_closed() or not tasks:
        return
    for task in tasks:
        task.cancel()
    _, unending = loop.run_until_complete(asyncio.wait(tasks, timeout=1))
    for task in unending:
        # Held by no name: Python clears names as it exits, and would not come to an end.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))


# Each request: when it comes, its number, and when it is cancelled, if it is. Numbers below zero
# are poison. Then most, wait, and the batches that have to run: when, and which numbers.
CASES: dict[str, dict[str, Any]] = {
    "three come in time": {
        "requests": [(0.0, 1), (0.02, 2), (0.07, 3)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, 2, 3])],
    },
    "the third comes too late": {
        "requests": [(0.0, 1), (0.08, 2), (0.16, 3)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, 2]), (0.26, [3])],
    },
    "a full batch starts at once": {
        "requests": [(1.0, 1), (1.01, 2), (1.02, 3), (1.5, 4)], "most": 3, "wait": 0.1,
        "batches": [(1.02, [1, 2, 3]), (1.6, [4])],
    },
    "ten at once": {
        "requests": [(0.0, n) for n in (5, 3, 9, 1, 7, 7, 2, 8, 6, 4)], "most": 4, "wait": 0.1,
        "batches": [(0.0, [5, 3, 9, 1]), (0.0, [7, 7, 2, 8]), (0.1, [6, 4])],
    },
    "most is 1": {
        "requests": [(0.0, 1), (0.3, 2)], "most": 1, "wait": 5.0,
        "batches": [(0.0, [1]), (0.3, [2])],
    },
    "a long wait": {
        "requests": [(0.0, 1), (3.0, 2)], "most": 4, "wait": 5.0,
        "batches": [(5.0, [1, 2])],
    },
    "wait is 0": {
        "requests": [(0.5, 1), (0.6, 2)], "most": 4, "wait": 0.0,
        "batches": [(0.5, [1]), (0.6, [2])],
    },
    "wait is 0, three are there": {
        "requests": [(0.0, 1), (0.0, 2), (0.0, 3), (0.1, 4)], "most": 2, "wait": 0.0,
        "batches": [(0.0, [1, 2]), (0.0, [3]), (0.1, [4])],
        "early": "what is in the queue already joins, whatever `wait` is",
    },
    "two ask for the same": {
        "requests": [(0.0, 7), (0.01, 7), (0.5, 7)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [7, 7]), (0.6, [7])],
    },
    "results that are None, 0 and a list": {
        "requests": [(0.0, 1), (0.01, 2), (0.02, 3)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, 2, 3])], "results": [None, 0, [5]],
    },
    "one is cancelled while it waits": {
        "requests": [(0.0, 1), (0.01, 2, 0.05), (0.02, 3)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, 3])],
    },
    "a cancelled one takes a place until the batch starts": {
        "requests": [(0.0, 1), (0.01, 2, 0.02), (0.03, 3), (0.5, 4)], "most": 3, "wait": 0.1,
        "batches": [(0.03, [1, 3]), (0.6, [4])],
    },
    "four are there, the second is cancelled, most is 2": {
        "requests": [(0.0, 1), (0.0, 2, 0.0), (0.0, 3), (0.0, 4)], "most": 2, "wait": 0.1,
        "batches": [(0.0, [1]), (0.0, [3, 4])],
        "early": "a cancelled request takes a place until its batch starts",
    },
    "all are cancelled": {
        "requests": [(0.0, 1, 0.05), (0.02, 2, 0.06), (0.5, 3)], "most": 8, "wait": 0.1,
        "batches": [(0.6, [3])],
    },
    "all are cancelled, and a batch of others follows": {
        "requests": [(0.0, 1, 0.05), (0.02, 2, 0.06), (0.5, 3), (0.55, 4)], "most": 3, "wait": 0.1,
        "batches": [(0.6, [3, 4])],
        "early": "requests of a batch that came to nothing still take places: begin each anew",
    },
    "the first is cancelled before it is taken": {
        "requests": [(0.0, 1, 0.0), (0.04, 2)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [2])],
        "late": "the batch began with a request that was cancelled already: it counts until the "
        "batch starts",
    },
    "one is poisoned": {
        "requests": [(0.0, 1), (0.01, -2), (0.02, 3), (0.5, 4)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, -2, 3]), (0.6, [4])],
    },
    "two are poisoned, one is cancelled": {
        "requests": [(0.0, -1), (0.01, 2, 0.03), (0.02, 3), (0.04, -4)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [-1, 3, -4])],
    },
    "an error of another kind": {
        "requests": [(0.0, 1), (0.01, -2), (0.02, 3), (0.5, 4)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, -2, 3]), (0.6, [4])], "error": "RuntimeError",
    },
    "two sound ones after a poisoned one": {
        "requests": [(0.0, 1), (0.01, -2), (0.5, 3), (0.55, 4)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, -2]), (0.6, [3, 4])],
        "other": ": one bad batch doesn't end batching: the next is a batch again",
    },
    "too many for predict at once, none is poisoned": {
        "requests": [(0.0, 1), (0.01, 2), (0.02, 3)], "most": 8, "wait": 0.1, "crowd": 2,
        "batches": [(0.1, [1, 2, 3])],
        "sound": "; the batch failed, and each alone is fine: only who fails alone gets an error",
    },
    "predict raises a TimeoutError": {
        "requests": [(0.0, 1), (0.01, -2), (0.5, 3)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [1, -2]), (0.6, [3])], "error": "TimeoutError",
        "unanswered": "; that TimeoutError was predict's, not the clock's: keep `predict` out of "
        "the `try` around `wait_for`",
    },
    "x is 0": {
        "requests": [(0.0, 0), (0.01, 5), (0.02, 0)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [0, 5, 0])], "other": ": a request whose x is 0 is a request",
    },
    "a poisoned one alone": {
        "requests": [(0.0, -1), (0.3, 2)], "most": 8, "wait": 0.1,
        "batches": [(0.1, [-1]), (0.4, [2])],
    },
}  # fmt: skip


SLEPT = (
    "half a minute passed on the loop's clock, and the rest never came to predict: measure time by "
    "`asyncio.get_running_loop().time()`"
)
KINDS = {kind.__name__: kind for kind in (ValueError, RuntimeError, TimeoutError)}


async def _scene(worker: Callable, case: dict[str, Any]) -> dict[str, Any]:
    loop, calls, ends = asyncio.get_running_loop(), [], {}
    queue: asyncio.Queue = asyncio.Queue()
    threads, kinds = {threading.get_ident()}, set()

    def predict(numbers: Sequence[int]) -> list[tuple[int, int]]:
        kinds.add(type(numbers).__name__)
        numbers = list(numbers)
        threads.add(threading.get_ident())
        calls.append((round(loop.time(), 6), numbers))
        if len(numbers) > case.get("crowd", len(numbers)):
            raise MemoryError(f"{len(numbers)} at once")
        for number in numbers:
            if number < 0:
                raise KINDS[case.get("error", "ValueError")](f"poison {number}")
        if "results" in case:
            return list(case["results"][: len(numbers)])
        return [(number, position) for position, number in enumerate(numbers)]

    async def client(index: int, when: float, number: int, cancelled: float | None = None) -> None:
        await asyncio.sleep(when)
        future = loop.create_future()
        if cancelled == when:  # nobody sees it before it is cancelled
            future.cancel()
        await queue.put((number, future))
        if cancelled is not None:
            loop.call_later(cancelled - when, future.cancel)
        try:
            got = await asyncio.wait_for(asyncio.shield(future), 30)
            ends[index] = ("result", list(got) if isinstance(got, tuple) else repr(got))
        except asyncio.CancelledError:
            ends[index] = ("cancelled", "")
        except Exception as error:
            if not future.done():  # the 30 s are over
                ends[index] = ("nothing", "")
                return
            ends[index] = ("error", f"{type(error).__name__}: {error}")

    made = worker(queue, predict, case["most"], case["wait"])
    if not asyncio.iscoroutine(made):
        return {"kind": type(made).__name__}
    task = loop.create_task(made)
    await asyncio.gather(*(client(n, *one) for n, one in enumerate(case["requests"])))
    said: dict[str, Any] = {"calls": calls, "ends": ends, "broke": "", "stops": True}
    said |= {"threads": len(threads), "kinds": sorted(kinds)}
    if task.done():
        error = None if task.cancelled() else task.exception()
        said["broke"] = repr(error) if error else "it returned"
        return said
    said["calls"] = list(calls)
    if case["most"] > 1 and case["wait"]:  # cancelled while a batch waits for its second request
        queue.put_nowait((0, loop.create_future()))
        await asyncio.sleep(case["wait"] / 2)
        said["filling"] = True
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=1)
    said["stops"] = bool(done)
    return said


def try_batching(worker: Callable, name: str) -> dict[str, Any]:
    """Play one of the cases: the calls of ``predict``, and how each request ended."""
    try:
        return in_virtual_time(lambda: _scene(worker, CASES[name]))
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}"}


@ends_in_notebook
def check_batching(name: str, said: dict[str, Any]) -> None:
    """Check what :func:`try_batching` says."""
    __tracebackhide__ = True
    case = CASES[name]
    assert said.get("kind") != "NoneType", "None came back: is there an answer yet?"
    assert "kind" not in said, f"expected a coroutine (async def), got {said.get('kind')}"
    assert "raised" not in said, f"raised {said.get('raised')}"
    requests = case["requests"]
    ends = {int(index): end for index, end in said["ends"].items()}
    if said["broke"] == "it returned":
        raise AssertionError("it returned: serve for ever; is there an answer yet?")
    filled = "InvalidStateError" in said["broke"]
    assert not said["broke"], (
        f"the worker ended by {said['broke']}, and nobody is served any more"
        + ("; a future may be cancelled until its batch starts: look then" if filled else "")
    )
    assert said["threads"] == 1, "predict ran in a thread: call it directly"
    others = [kind for kind in said["kinds"] if kind != "list"]
    assert not others, f"predict was handed a {' and a '.join(others)}; it takes a list"
    calls = [(when, list(numbers)) for when, numbers in said["calls"]]
    assert all(numbers for _, numbers in calls), "predict was called with an empty list"
    gone = [one[1] for one in requests if len(one) > 2]
    ran = [number for _, numbers in calls for number in numbers]
    assert not set(gone) & set(ran), "a cancelled request was still handed to predict"
    poisoned = any(one[1] < 0 for one in requests) or "crowd" in case
    _check_batches(calls, case, poisoned)
    for index, one in enumerate(requests):
        kind, what = ends[index]
        where = f"request {one[1]}"
        if len(one) > 2:
            continue
        assert kind != "nothing", (
            f"{where} never got an answer"
            + ("; one that fails doesn't end the others" if poisoned and one[1] > 0 else "")
            + ("; None and 0 are results as well" if "results" in case else "")
            + case.get("unanswered", "")
        )
        if one[1] < 0:
            assert kind == "error", (
                f"{where} is poisoned, and {f'got {what}' if what else 'was ' + kind}: "
                "predict's error is its answer, by `set_exception`"
            )
            assert f"poison {one[1]}" in what, f"{where} got the error of another request: {what}"
            own = case.get("error", "ValueError")
            assert what.startswith(own), (
                f"{where} got {what}; predict raised a {own}: hand on the error itself"
            )
            continue
        assert kind == "result", f"{where} is sound, and ended by {kind}: {what}" + (
            case.get("sound", "; only the poisoned one may fail" if poisoned else "")
        )
        if "results" in case:
            right = repr(case["results"][index])
            assert what == right, f"{where} got {what}, where predict gave {right}: hand on that"
            continue
        assert isinstance(what, list), (
            f"{where} got {what}; predict gives a list, and each request gets the entry of its own"
        )
        assert what[0] == one[1], f"{where} got the result of request {what[0]}"
        places = [place for _, batch in case["batches"] for place in range(len(batch))]
        assert "same" not in name or what[1] == places[index], (
            f"{where} got what predict gave another one that asks for the same: results belong to "
            "places in a batch; don't look them up by x, nor keep them"
        )
    when = " while a batch waits for its second request" if said.get("filling") else ""
    assert said["stops"], f"cancelled{when}, it doesn't end: is asyncio.CancelledError caught?"


def _check_batches(calls: list, case: dict[str, Any], poisoned: bool) -> None:
    wanted = case["batches"]
    # After a poisoned batch the answer may try its requests again in any way.
    started = calls
    if poisoned:
        started = [call for call in calls if sorted(call[1]) in [sorted(b) for _, b in wanted]]
        started = started[:1] + [c for c in started[1:] if c[1] != started[0][1]]
    numbers = [batch for _, batch in started]
    right = [batch for _, batch in wanted]
    if numbers != right:
        reason = ""
        if [n for b in numbers for n in b] != [n for b in right for n in b]:
            same = sorted(n for b in numbers for n in b) == sorted(n for b in right for n in b)
            lost = numbers == right[: len(numbers)] and not poisoned
            reason = ": the order of arrival isn't kept" if same else case.get("other", "")
            reason = reason or (f": {SLEPT}" if lost else "")
        elif any(len(batch) > case["most"] for batch in numbers):
            reason = ": more than most"
        elif len(numbers) < len(right):
            reason = ": too much was waited for; the wait is counted from the first request"
        else:
            reason = f": {case.get('early', 'it started too early')}"
        raise AssertionError(f"the batches were {numbers}{reason}")
    for (when, batch), (right_time, _) in zip(started, wanted, strict=True):
        assert abs(when - right_time) < NEAR + 1e-4, (
            f"the batch {batch} started at {when:g} s, "
            + ("too late" if when > right_time else "too early")
            + f" (most={case['most']}, wait={case['wait']:g})"
            + _why_late(when, right_time, batch, case)
        )


def _why_late(when: float, right: float, batch: list, case: dict[str, Any]) -> str:
    """What the moment at which a batch started is, where it is known."""
    if when > right and "late" in case:
        return f": {case['late']}"
    came = sorted(one[0] for one in case["requests"] if one[1] in batch and one[0] <= right)
    moments = came[-len(batch) :]  # two requests may ask for the same number
    last, first = moments[-1] + case["wait"], moments[0] + case["wait"]
    if abs(when - last) < 1e-3 and last - first > 1e-3:
        return ": that is `wait` after its last request; the first one's time counts"
    full = when > right and right < first - 1e-3
    return ": it was full before, and a full one starts at once" if full else ""
