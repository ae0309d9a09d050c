"""nbgrader's marks on a notebook's cells, and the headings above the exercises.

A cell is a mapping: nbformat's, or what JSON makes of it. A student's may hold anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

# Above each exercise stands one of these.
HEADING = re.compile(
    r"^### Exercise (?P<number>\d+(?:\.\d+)?) — (?P<title>\S.*?) (?P<stars>★{1,3})"
    r" · (?P<minutes>\d+) min · (?P<points>\d+) (?P<unit>points?)(?P<core> · core)?$",
    re.MULTILINE,
)
CHECK = re.compile(r"(?P<exercise>.+)-check(?:-\d+)?")
SOLUTION = re.compile(
    r"^[ \t]*### BEGIN SOLUTION\b.*?^[ \t]*### END SOLUTION[^\n]*\n?", re.MULTILINE | re.DOTALL
)
HIDDEN_TESTS = re.compile(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS", re.DOTALL)
# Where a release keeps, in a cell's metadata, the digest of an exercise as learners get it.
STUB = "course_stub"
# How an exercise's cell ends before there is an answer.
BLANK = "# YOUR CODE HERE"


def marks_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell's nbgrader metadata; empty for an ordinary cell."""
    marks = cell.get("metadata", {}).get("nbgrader")
    return marks if isinstance(marks, dict) else {}


def grade_id(cell: Mapping[str, Any]) -> str:
    """The name by which nbgrader knows a cell; empty for an ordinary cell."""
    name = marks_of(cell).get("grade_id")
    return name if isinstance(name, str) else ""


def text_of(cell: Mapping[str, Any]) -> str:
    """A cell's source as one string; a notebook file may hold a list of lines."""
    return "".join(cell.get("source", ""))


def is_code(cell: Mapping[str, Any]) -> bool:
    return cell.get("cell_type") == "code"


def is_exercise(cell: Mapping[str, Any]) -> bool:
    """Whether learners answer in this cell."""
    return bool(marks_of(cell).get("solution"))


def gives_points(cell: Mapping[str, Any]) -> bool:
    """Whether this cell has points: a check, or an answer that a person reads."""
    return bool(marks_of(cell).get("grade"))


def is_check(cell: Mapping[str, Any]) -> bool:
    """Whether the judge runs this cell: it gives points, and the learner writes nothing in it."""
    return is_code(cell) and gives_points(cell) and not is_exercise(cell)


def is_locked(cell: Mapping[str, Any]) -> bool:
    """Whether this is a code cell that learners have as it is, neither exercise nor check."""
    marks = marks_of(cell)
    unlike = marks.get("solution") or marks.get("grade")
    return is_code(cell) and bool(marks.get("locked")) and not unlike


def exercise_texts(cells: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The exercises of a notebook by their grade ids, in order: what stands in each one's cell."""
    return {grade_id(cell): text_of(cell) for cell in cells if is_exercise(cell)}


def exercise_of(check: str) -> str:
    """The exercise that a check's grade id belongs to; the name itself where it is no check's."""
    found = CHECK.fullmatch(check)
    return found["exercise"] if found else check


def headings(cells: Iterable[Mapping[str, Any]]) -> dict[str, re.Match[str] | None]:
    """For each exercise's grade id what ``HEADING`` found above it, below the exercise before."""
    found: dict[str, re.Match[str] | None] = {}
    heading = None
    for cell in cells:
        if cell.get("cell_type") == "markdown":
            heading = ([heading, *HEADING.finditer(text_of(cell))])[-1]
        elif is_exercise(cell):
            found[grade_id(cell)], heading = heading, None
    return found


def stub_digest(source: str) -> str:
    """Sixteen hexadecimal digits that stand for the text of an exercise as learners get it."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def is_answered(cell: Mapping[str, Any], released: Iterable[Mapping[str, Any]] = ()) -> bool:
    """Whether an exercise's cell is not as in the release, whose cells are given where known."""
    if STUB in cell["metadata"]:
        return cell["metadata"][STUB] != stub_digest(text_of(cell))
    for old in released:
        if grade_id(old) == grade_id(cell):
            return text_of(old) != text_of(cell)
    return not text_of(cell).rstrip().endswith(BLANK)
