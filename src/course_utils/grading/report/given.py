"""What a report is made of: the marks, what was seen meanwhile, and how the class was graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_utils.grading.submission import NOT_GRADED


@dataclass(frozen=True)
class ReportedStudent:
    """One student's marks, and what was seen while the submission ran.

    Attributes:
        student: whose submission it is.
        score: points reached.
        max_score: points possible.
        points: points reached, by exercise, in the chapter's order.
        possible: points possible, by exercise.
        problem: why the submission could not be graded; empty where it could.
        cells: the code cells that ran: ``id``, ``grade_id`` and ``seconds``.
        phases: seconds by phase.
        messages: for each failed check's grade id, what it said first.
        answers: by exercise, what the student's cell holds.
        died: where and why the kernel ended; empty where it did not.
        flags: what a person should read; see ``scan``.
        memory_bytes: the most memory that the student's kernel had, or what answered its checks.
        cached: whether the outcome was there already, so that nothing was executed.
    """

    student: str
    score: float
    max_score: float
    points: Mapping[str, float] = field(default_factory=dict)
    possible: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""
    cells: Sequence[Mapping[str, Any]] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    died: str = ""
    flags: Sequence[str] = ()
    memory_bytes: int = 0
    cached: bool = False

    @property
    def known(self) -> bool:
        """Whether there are marks; zero for what can't be read is one."""
        return not self.problem.startswith(NOT_GRADED)


@dataclass(frozen=True)
class ReportedRun:
    """How the class was graded.

    Attributes:
        finished: when, as an ISO 8601 time with its offset.
        seconds: how long the whole run took.
        workers: how many submissions ran at a time.
        isolation: ``bwrap`` or ``none``.
    """

    finished: str
    seconds: float
    workers: int
    isolation: str
