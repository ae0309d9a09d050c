"""No message about a hidden test tells what it handed to an answer."""

from __future__ import annotations

import ast
import random

import pytest

from course_utils.grading.verdict.wording import explain, hidden_lines
from support import answers
from support.answers import (
    Answer,
    as_in_grading,
    checks_of,
    model_answer,
    settle,
)
from support.judged import after_locked_cells, names_answered
from support.promises import EXERCISES, label

# An answer may warn, as in test_answers.
pytestmark = pytest.mark.filterwarnings("default")

# What an answer tells of what it was handed, and how.
TELLS = """
def _telling(kind):
    def told(*args, **kwargs):
        words = "LEA" + "KED " + str((args, kwargs))[:300].replace(chr(10), " ")
        if kind == "raises":
            raise ValueError(words)
        return words
    return told
"""
KINDS = ("raises", "returns")


def telling(answer: str, kind: str) -> str:
    """The answer's text, whose functions and classes then tell what they are handed."""
    lines = [answer, TELLS]
    for part in ast.parse(answer).body:
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            lines.append(f"{part.name} = _telling({kind!r})")
    return "\n".join(lines)


def with_hidden_tests(exercise) -> list:
    return [check for check in checks_of(*exercise) if hidden_lines(check.source)]


# Slow ones are left to the weekly run and `course test`.
HIDING = [
    exercise
    for exercise in EXERCISES
    if with_hidden_tests(exercise) and not answers.is_slow(*exercise)
]


@as_in_grading
def said_of_hidden_tests(chapter, answer: Answer, check) -> list[str]:
    """What is said of each statement of a check that is hidden, or stands below what is."""
    settle()
    namespace, said = after_locked_cells(chapter, answer, check), []
    first = min(hidden_lines(check.source))
    with names_answered(namespace, chapter, answer, check) as snapshot:
        for statement in ast.parse(check.source).body:
            part = ast.Module([statement], [])
            try:
                exec(compile(part, "<check>", "exec", dont_inherit=True), namespace)
            except Exception as error:
                if statement.end_lineno >= first:
                    name, words, lines = explain(error, check.source, snapshot.chosen)
                    said.append("\n".join([name, words, *lines]))
    return said


def kinds_of(exercise: str) -> tuple[str, ...]:
    """Both ways of telling, or one of them where answers are sampled."""
    return KINDS if answers.every else (random.Random(exercise).choice(KINDS),)


@pytest.mark.parametrize(("chapter", "exercise"), HIDING, ids=label)
def test_no_hidden_input_is_told(chapter, exercise):
    for kind in kinds_of(exercise):
        text = telling(model_answer(chapter, exercise).source, kind)
        answer = Answer(chapter.name, exercise, kind, False, (), text)
        for check in with_hidden_tests((chapter, exercise)):
            for words in said_of_hidden_tests(chapter, answer, check):
                assert "LEAKED" not in words, words
