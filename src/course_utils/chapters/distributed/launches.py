"""Ranks that are launched for a check, and what is said where they fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import Any

import torch
import torch._dynamo  # or each rank would load it for itself
import torch.distributed as dist

from course_utils.learner.launch_reports import LaunchError, LaunchTimeout
from course_utils.learner.launching import launch
from course_utils.learner.other_states import check_states
from course_utils.learner.ranks import count_traffic

with count_traffic():
    torch.zeros(1).add(1)  # loads what each rank would have to load for itself


def launched(function, world_size, *args, timeout=7, backend="auto"):
    """What each rank returned, or the words of what went wrong.

    On a busy machine a rank may not even have begun when time is up, or all may be through and
    their results still on the way: then they get more.
    """
    try:
        return launch(function, world_size, *args, timeout=timeout, backend=backend, quiet=True)
    except LaunchTimeout as error:
        returned = all(report.status == "returned" for report in error.reports)
        if (error.all_had_begun and not returned) or timeout >= LONGEST:
            return told(error)
        return launched(function, world_size, *args, timeout=LONGEST, backend=backend)
    except LaunchError as error:
        return told(error)


LONGEST = 30


def alone(work: Callable[[], Any], what: str) -> Any:
    """What ``work()`` returns in a process of its own, which ends when it takes too long.

    Raises:
        AssertionError: it raised, or was not through in time; the words say where it was.
    """
    found = launched(lambda rank, world_size: work(), 1, backend=None)
    if isinstance(found, str):
        raise AssertionError(f"{what} gave no result: {found}")
    return found[0]


def left_out(answer, name: str, default) -> list:
    """No argument, where the answer has a default of its own for it; else what is the default."""
    parameter = inspect.signature(answer).parameters.get(name)
    return [] if parameter and parameter.default is not parameter.empty else [default]


def alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Are they equal in every entry, a NaN as well, and in the signs of zeros?"""
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    same = torch.allclose(x, y, 0, 0, equal_nan=True)
    return same and bool((x.isnan() | (x.signbit() == y.signbit())).all())


def with_lasts(found: list[tuple], given: list) -> list[tuple]:
    """Each entry, and whether its result, the first in it, is at the end what it was then."""

    def lasts(y, copy):
        if isinstance(y, (tuple, list)):
            return all(map(lasts, y, copy))
        return not isinstance(y, torch.Tensor) or alike(y.cpu(), copy)

    return [(*each, lasts(y, each[0])) for each, y in zip(found, given, strict=True)]


def try_states(answer, *arguments, what: str) -> None:
    """`check_states` on each rank, for what a rank hands in: it asks for no gradient.

    What it refuses ends the launch, so it comes after all cases.
    """
    print(what)
    check_states(answer, *arguments, what=what, but=("old_gradient", "inside_a_graph"))


@contextmanager
def told_in_place(words: str):
    """Inside the block an error of work in place on an expanded tensor has these words."""
    try:
        yield
    except RuntimeError as error:
        if "written-to tensor" in str(error):
            raise AssertionError(words) from error
        raise


OVERWRITTEN = (
    "a later call with as many numbers changed this result: keep no buffer from call to call"
)


def told(error: LaunchError) -> str:
    """The words of a launch that failed: first the cause, then the ranks that it took along."""
    lines, behind = str(error).splitlines()[:1], []
    lost = "another rank had ended" if len(error.reports) > 1 else "it is the only rank"
    for report in error.reports:
        if report.status == "raised" and "gloo/transport" in report.error:
            followed = replace(report, error=f"a lost connection: {lost}")
            behind.append(followed.tell())
        else:
            lines.append(report.tell_for_a_check())
    return "\n".join(lines + behind)


def stuck(function, world_size, *args, timeout=0.8):
    """The report on ranks that can't go on, whenever they have come to where they stand still.

    On a busy machine a rank may still be on its way when time is up: then it gets more.
    """
    for patience in (timeout, 4 * timeout, 16 * timeout):
        try:
            launch(function, world_size, *args, timeout=patience, quiet=True)
        except LaunchError as error:
            words = str(error)
            waiting = [r for r in error.reports if r.status == "waited"]
            places = [r.stack[-1] for r in waiting if r.stack]
            if len(waiting) == len(set(places) & STANDSTILLS):
                break  # each in a collective, and not all on their way through the same one
        else:
            return "every rank returned"
    return words


STANDSTILLS = {"all_reduce", "broadcast", "barrier", "send", "recv", "wait"}


@contextmanager
def refusing(kind: type, words: str):
    """Inside the block, making one of ``kind`` fails with ``words``."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(words)

    made = kind.__init__
    setattr(kind, "__init__", refuse)  # noqa: B010  a type checker wants a method's own signature
    try:
        yield
    finally:
        setattr(kind, "__init__", made)  # noqa: B010


def check_ran(found, world_size, what, hints=()):
    """Refuse, in words, what did not return on every rank.

    ``hints`` are pairs: where the first is in an error's words, the second is said as well.
    """
    __tracebackhide__ = True
    if isinstance(found, str):
        found = "\n".join([found, *(hint for words, hint in hints if words in found)])
        if any(words in found for words in ("mismatch", "match expected size")):
            found = (
                "the ranks' calls do not fit each other: do all ranks make the same calls, with "
                "the same sizes and dtypes, in the same order?"
            )
        raise AssertionError(f"{what} on {world_size} ranks: {found}")


def check_bytes(calls, rank, world_size, x):
    """Refuse a ring in which a rank sends to another than its right, or too much of its x."""
    peers = {peer for name, nbytes, peer in calls if name == "send" and nbytes}
    right = (rank + 1) % world_size
    assert peers <= {right}, f"it sent to ranks {sorted(peers)}, not only to {right}, on its right"
    sent = [nbytes for name, nbytes, _ in calls if name == "send" and nbytes]
    steps, chunk = 2 * (world_size - 1), -(-x.numel() // world_size)
    most = steps * chunk * x.itemsize
    if sum(sent) <= most:
        return
    why = f"a chunk has at most ⌈{x.numel()} / {world_size}⌉ = {chunk} elements"
    wider = [wide for wide in (4, 8) if wide > x.itemsize and max(sent) == wide * chunk]
    if x.numel() > 1 and set(sent) == {x.nbytes}:
        why = "in each step one chunk, not the whole"
    elif wider and len(sent) <= steps:
        why = f"the elements travelled in {wider[0]} bytes each, and {x.dtype} has {x.itemsize}: "
        why += "send them in the dtype of x"
    elif len(sent) > steps:
        why = f"these are {len(sent)} messages, and a ring has {steps} steps"
    raise AssertionError(f"{sum(sent)} bytes were sent, at most {most} are allowed: {why}")


def seconds(work: Callable[[], object], times: int) -> float:
    """The shortest time of ``work()`` in this rank, in seconds; all ranks begin together."""
    work()
    dist.barrier()
    moments = [perf_counter()]
    for _ in range(times):
        work()
        moments.append(perf_counter())
    return min(end - begin for begin, end in pairwise(moments))
