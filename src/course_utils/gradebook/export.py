"""Every chapter's marks as one table: ``grades.csv``."""

from __future__ import annotations

import csv
from pathlib import Path

from course_utils.files import replacing

# nbgrader's columns of marks, as its own export names them.
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
# What a spreadsheet takes for a formula when a cell begins with it.
FORMULA_SIGNS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")


def export(grader, path: Path) -> None:
    """Write every chapter's marks, in the columns of ``nbgrader export``.

    nbgrader's own writer puts names into the file as they are: a comma in one moves the marks by a
    column, and a spreadsheet computes what looks like a formula. And it writes a zero for who has a
    submission that was not graded; here the score is empty.
    """
    rows = []
    with grader.gradebook as gradebook:
        students = sorted(gradebook.students, key=lambda one: one.id)
        known = submissions_with_marks(gradebook)
        for assignment in sorted(gradebook.assignments, key=lambda one: one.name):
            submissions = {one.student_id: one for one in assignment.submissions}
            for student in students:
                submission = submissions.get(student.id)
                unknown = submission is not None and submission.id not in known
                rows.append(row_of_marks(assignment, student, submission, unknown))
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([plain_cell(row[column]) for column in COLUMNS] for row in rows)


def submissions_with_marks(gradebook) -> set[str]:
    """The submissions of which a program or a person graded something, by nbgrader's ids."""
    from nbgrader.api import Grade, SubmittedNotebook

    graded = (
        gradebook.db.query(SubmittedNotebook.assignment_id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .filter(Grade.auto_score.is_not(None) | Grade.manual_score.is_not(None))
        .distinct()
    )
    return {name for (name,) in graded}


def row_of_marks(assignment, student, submission, unknown: bool) -> dict[str, object]:
    """What ``grades.csv`` says of a student and a chapter.

    Args:
        assignment: nbgrader's record of the chapter.
        student: of the student.
        submission: of what was handed in; None where nothing was, which scores nothing.
        unknown: whether nobody graded it yet.
    """
    score = submission.score if submission else 0.0
    penalty = submission.late_submission_penalty if submission else 0.0
    return {
        "assignment": assignment.name,
        "duedate": assignment.duedate,
        "timestamp": submission.timestamp if submission else None,
        "student_id": student.id,
        "last_name": student.last_name,
        "first_name": student.first_name,
        "email": student.email,
        "raw_score": None if unknown else score,
        "late_submission_penalty": penalty,
        "score": None if unknown else max(0.0, score - penalty),
        "max_score": assignment.max_score,
    }


def plain_cell(value: object) -> str:
    """What stands in a table's cell, so that no spreadsheet takes it for a formula."""
    text = "" if value is None else str(value)
    formula = isinstance(value, str) and text.startswith(FORMULA_SIGNS)
    return f"'{text}" if formula else text
