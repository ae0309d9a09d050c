"""What a class misunderstood: the messages of failed checks, by what they say but for values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from nbformat import NotebookNode

from course_utils.cells import SOLUTION, exercise_of, exercise_texts
from course_utils.grading.report.given import ReportedStudent

LONGEST_MESSAGE = 600  # characters
COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")


def stubs(source: NotebookNode) -> dict[str, str]:
    """For each exercise's grade id the code that its cell holds before there is an answer."""
    return {
        exercise: _code(SOLUTION.sub("", text))
        for exercise, text in exercise_texts(source.cells).items()
    }


def _code(text: str) -> str:
    """A text without its comments and empty lines."""
    return re.sub(r"^\s*(#.*)?\n?", "", text, flags=re.MULTILINE).rstrip()


def solution_marks(row: ReportedStudent) -> list[str]:
    """The answers that hold what only the course's own solutions do."""
    return [
        f"{exercise}: it holds the marks of a solution (### BEGIN SOLUTION)"
        for exercise, answer in row.answers.items()
        if re.search(r"### (BEGIN|END) SOLUTION", answer)
    ]


def misunderstandings(
    students: Sequence[ReportedStudent], stubs: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The failed checks' messages by exercise, those that differ only in values together."""
    said: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
    untouched: dict[str, set[str]] = defaultdict(set)
    for row in students:
        for check, message in row.messages.items():
            exercise = exercise_of(check)
            if exercise in row.answers and _code(row.answers[exercise]) == stubs.get(exercise):
                untouched[exercise].add(row.student)
                continue
            for words in statements(message):
                wordings = said[exercise][without_values(words)]
                wordings.setdefault(words, []).append(row.student)
    found = []
    for exercise in [*said, *(untouched.keys() - said.keys())]:
        messages = [_group(wordings) for wordings in said[exercise].values()]
        messages.sort(key=lambda group: -group["count"])
        names = {student for group in messages for student in group["students"]}
        found.append(
            {
                "exercise": exercise,
                "students": len(names),
                "not_attempted": len(untouched[exercise]),
                "messages": messages,
            }
        )
    order = list(stubs)
    return sorted(
        found,
        key=lambda entry: (
            -entry["students"],
            -entry["not_attempted"],
            order.index(entry["exercise"]) if entry["exercise"] in order else len(order),
        ),
    )


def statements(message: str) -> list[str]:
    """What a check said, a list of indented lines one by one: each is a mistake of its own."""
    message = re.sub(
        r"^(AssertionError|NotRun|HeldBack): ", "", COLOUR_CODES.sub("", message).strip()
    )
    first, *rest = message.split("\n")
    listed = first.endswith(":") and rest and all(line.startswith("  ") for line in rest)
    parts = [line.strip() for line in rest] if listed else [message]
    return [
        part if len(part) <= LONGEST_MESSAGE else part[:LONGEST_MESSAGE] + " …" for part in parts
    ]


def _group(wordings: Mapping[str, list[str]]) -> dict[str, Any]:
    ordered = sorted(wordings.items(), key=lambda entry: (-len(entry[1]), len(entry[0]), entry[0]))
    students = sorted({student for _, names in ordered for student in names})
    return {
        "count": len(students),
        "example": ordered[0][0],
        "students": students,
        "wordings": [{"message": message, "students": names} for message, names in ordered],
    }


def without_values(message: str) -> str:
    """A message with every number, quoted text, list and tuple of them as one sign.

    ``True``, ``False`` and ``None`` stay: to get one for the other is another mistake.
    """
    plain = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "#", message)
    plain = re.sub(r"(?<![\w.])[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\b", "#", plain)
    before = ""
    while before != plain:
        before = plain
        plain = re.sub(r"(?<!\w)[(\[] *(#?(, *#)*,?) *[)\]]", "#", plain)
    # The arguments of a call: which case it was, not what went wrong.
    return re.sub(r"\( *#(, *#)* *\)", "(#)", plain)
