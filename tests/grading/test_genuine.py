"""A trial counts only where it, and all that it goes by, is the chapter's own."""

import pytest

from course_utils.grading.verdict.genuine import REBOUND, fingerprints
from course_utils.grading.verdict.snapshot import Snapshot
from support.judged import answered_by

LOCKED = """
from course_utils.learner.calls import watched
import torch

LIMIT = 3

class Box:
    def size(self):
        return sum([1, 2])

def inner(x):
    return Box().size() + answer(x)

def try_answer(x):
    return [inner(x) for _ in range(2)]
"""
ANSWER = "def answer(x):\n    return x"
TRICKS = {
    "def": "def try_answer(x):\n    return [4, 4]",
    "assigned": "try_answer = lambda x: [4, 4]",
    "globals": "globals()['try_answer'] = lambda x: [4, 4]",
    "global": "def swap():\n    global try_answer\n"
    "    def try_answer(x):\n        return [4, 4]\nswap()",
    "match": "match (lambda x: [4, 4]):\n    case try_answer:\n        pass",
    "its code": "try_answer.__code__ = (lambda x: [4, 4]).__code__",
    "its default": "def other(x, y=0): pass\ntry_answer.__defaults__ = (1,)",
    "its globals": "import types\n"
    "try_answer = types.FunctionType(try_answer.__code__, {'inner': lambda x: 4})",
    "what it calls": "def inner(x):\n    return 4",
    "a method": "Box.size = lambda self: 3",
    "a built-in name": "sum = lambda x: 3",
    "built-ins": "import builtins\nold = sum\n"
    "builtins.sum = lambda x, *start: 3 if x == [1, 2] else old(x, *start)",
    "wrapped": "import functools\ntry_answer = functools.wraps(try_answer)(lambda x: [4, 4])",
}


def ran(*sources):
    namespace = {"__name__": "__main__"}
    for source in sources:
        exec(compile(source, "<cell>", "exec"), namespace)
    return namespace


def tried(*after):
    """What the chapter's check gets of ``try_answer(1)`` in a notebook with these cells."""
    chapter = ran(LOCKED)
    with answered_by(
        lambda: ran(LOCKED, ANSWER, *after), chapter, ["try_answer"], ["answer"]
    ) as names:
        return names["try_answer"](1)


def test_the_chapters_own_trial_counts():
    assert tried() == [4, 4]


@pytest.mark.parametrize(
    "cell", ["x = 5", "def answer(x):\n    return x", "LIMIT = 9", "del watched", "total = sum"]
)
def test_a_name_that_the_trial_does_not_use_may_mean_anything(cell):
    assert tried(cell) == [4, 4]


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_another_meaning_is_refused_in_words(trick):
    with pytest.raises(AssertionError, match=r"gives .* another meaning than the chapter"):
        tried(trick)


def test_the_words_name_what_was_given_another_meaning():
    with pytest.raises(AssertionError) as caught:
        tried("sum = 6")
    assert str(caught.value) == REBOUND.format("sum")


def test_a_trial_is_looked_at_once_for_each_check(monkeypatch):
    asked = []
    look = Snapshot.check_trial
    monkeypatch.setattr(
        Snapshot, "check_trial", lambda self, name: (asked.append(name), look(self, name))
    )
    chapter = ran(LOCKED)
    with answered_by(lambda: ran(LOCKED, ANSWER), chapter, ["try_answer"], ["answer"]) as names:
        names["try_answer"](1)
        names["try_answer"](1)
    assert asked == ["try_answer"]


def test_the_digests_depend_on_the_salt():
    names = ran(LOCKED)
    first, second = (fingerprints("try_answer", names, ["answer"], salt) for salt in "ab")
    assert first.keys() == second.keys() >= {"try_answer", "inner", "Box", "sum"}
    assert all(first[name] != second[name] for name in first)
