"""Little programs that try an answer; what they give travels as plain values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from course_utils import every_case
from course_utils.learner.cases import BLANK
from course_utils.learner.tracebacks import ends_in_notebook


class Scenario(NamedTuple):
    """A program that tries an answer.

    Attributes:
        run: takes the learner's objects, returns plain values.
        right: what it has to return.
        because: why, in words that don't tell the value.
        slips: what known mistakes return, and the words for each.
    """

    run: Callable[..., Any]
    right: Any
    because: str = ""
    slips: tuple[tuple[Any, str], ...] = ()


def given(value: Any, what: str) -> Any:
    """``value``, unless it is ``None``: then there is no answer yet."""
    if value is None:
        raise AssertionError(f"{what} is None: is there an answer yet?")
    return value


@contextmanager
def refused(owner: Any, name: str, words: str) -> Generator[None]:
    """Inside the block, who calls ``owner.name`` gets an AssertionError with these words."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError(words)

    there = getattr(owner, name)
    setattr(owner, name, refuse)
    try:
        yield
    finally:
        setattr(owner, name, there)


@contextmanager
def watched(function: Any, words: str) -> Generator[None]:
    """After the block, an AssertionError with these words if this function of C was called in it.

    It is noticed under each name, also one that was imported before.
    """
    called = []

    def note(frame: Any, event: str, what: Any) -> None:
        if event == "c_call" and what is function:
            called.append(what)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
    assert not called, words


def error_of(call: Callable[[], Any], asked: str = "") -> str:
    """The name of the exception that a call raises, or ``"no error"``.

    One that is ``asked`` for is told by that name, if a subclass of it was raised as well.
    """
    try:
        call()
    except Exception as error:
        names = [k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins"]
        return asked if asked in names else names[0]
    return "no error"


def play(scenario: Scenario, *answers: Any) -> tuple[str, Any]:
    """``("gave", value)``, or ``("raised", words)``; for functions that run with the answer."""
    try:
        return "gave", scenario.run(*answers)
    except AssertionError as error:
        return "refused", str(error)
    except Exception as error:
        return "raised", f"{type(error).__name__}: {str(error)[:300]}"


@ends_in_notebook
def check_scenarios(try_it: Callable[[str], Any], scenarios: Mapping[str, Scenario]) -> None:
    """Try each scenario by its name and list all that fail; where nothing is answered, the first.

    Raises:
        AssertionError: naming each scenario that gave something else, and why it matters.
    """
    __tracebackhide__ = True
    failed: dict[str, Exception] = {}
    for name, scenario in scenarios.items():
        try:
            check_scenario(try_it(name), scenario)
        except Exception as error:
            failed[name] = error
    # Without any answer the rest only says in other words that there is none.
    first = str(failed.get(next(iter(scenarios)), ""))
    if BLANK in first and len(failed) >= len(scenarios) - 1:
        failed = {name: AssertionError(first) for name in failed}
    with every_case() as case:
        for name in scenarios:
            with case(name):
                if name in failed:
                    raise failed[name]


@ends_in_notebook
def check_scenario(outcome: Any, scenario: Scenario) -> None:
    """Check what :func:`play` returned for one scenario.

    Raises:
        AssertionError: with the words of a known slip, or the scenario's reason.
    """
    __tracebackhide__ = True
    kind, found = outcome
    assert kind != "refused", found
    reason = f" ({scenario.because})" if scenario.because else ""
    assert kind == "gave", f"the call raised {found}{reason}"
    if _same(found, scenario.right):
        return
    for wrong, words in scenario.slips:
        if _same(found, wrong):
            raise AssertionError(words)
    raise AssertionError(f"it gave {found!r}: {scenario.because}")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-6 * max(1, abs(other)) or (one != one and other != other)
    return one == other
