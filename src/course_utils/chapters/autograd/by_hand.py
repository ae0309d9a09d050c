"""Exercise 5.3: a walk by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from course_utils.learner.cases import every_case
from course_utils.learner.tracebacks import ends_in_notebook

WALK = {"y": 1, "q": 6, "p": 15, "a": 45, "b": 36}
USED_BY = {"q": "y", "p": "yq", "a": "p", "b": "pq"}
WALK_SLIPS = {
    ("q", 9): "9 is q itself; the slope of y = p * q in q is the other factor",
    ("p", 9): "that is what y pays; q was made from p as well, and pays in too",
    ("p", 6): "that is what q pays; y was made from p as well, and pays in too",
    ("a", 27): "p handed on before q had paid it",
    ("a", 18): "p handed on only what q had paid it",
    ("b", 24): "p handed on before q had paid it",
    ("b", 30): "b was used twice: p pays it, and q does too",
    ("b", 6): "b was used twice: q pays it, and p does too",
}


def check_walk_order(order: Any) -> None:
    order = [name for name in order if name.isalpha()] if isinstance(order, str) else order
    assert isinstance(order, (list, tuple)), 'write a list of names: ["y", …]'
    names = [str(name) for name in order]
    assert sorted(names) == list("abpqy"), "it has to hold a, b, p, q and y, each once"
    for name, users in USED_BY.items():
        for user in users:
            words = f"{user} was made from {name}, so {name} has to wait until {user} has paid in"
            assert names.index(user) < names.index(name), words


def check_walk_slope(name: str, guess: Any) -> None:
    number = isinstance(guess, (int, float, Tensor)) and not isinstance(guess, bool)
    assert number, f"{guess!r} is no number"
    general = "multiply the slope of each step by what its payer has, and add up what arrives"
    words = "the walk starts with 1 at y" if name == "y" else general
    words = WALK_SLIPS.get((name, round(float(guess), 3)), words)
    assert abs(float(guess) - WALK[name]) < 1e-3, f"not {guess}: {words}"


@ends_in_notebook
def check_walk(answer: Mapping[str, Any]) -> None:
    """Compare a walk by hand, order and slopes, with the right one; blanks are listed first."""
    assert isinstance(answer, Mapping), f"a {type(answer).__name__}, not the dict"
    blank = [name for name in ("order", *WALK) if answer.get(name) is None]
    assert not blank, f"still blank: {', '.join(blank)}"
    with every_case() as case:
        with case("the order"):
            check_walk_order(answer["order"])
        for name in WALK:
            with case(f"the slope in {name}"):
                check_walk_slope(name, answer[name])
