"""Grading with an executor that only runs Python: for tests of all that is around execution."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

import nbformat
import pytest
from nbformat.v4 import new_output
from rich.console import Console

from course_utils.command.grade import grade
from course_utils.errors import CourseError
from course_utils.gradebook.grade_class import Grading
from course_utils.gradebook.marks import Marks
from course_utils.grading.cache import FOLDER
from course_utils.grading.submission import Outcome, Settings, Submission
from course_utils.project import Chapter
from support.warm import eventually

LOG = "EXECUTED"


def execute(submission: Submission, settings: Settings) -> Outcome:
    """Run the cells in this very process.

    The file ``$EXECUTED`` gets two lines: the student's name and this process's number at the
    beginning, the name alone at the end.
    """
    note(f"{submission.student} {os.getpid()}")
    notebook = nbformat.reads(submission.notebook, as_version=4)
    namespace: dict = {}
    messages = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        try:
            exec(cell.source, namespace)
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            cell.outputs = [
                new_output("error", ename="Error", evalue=str(error), traceback=[words])
            ]
            if "nbgrader" in cell.metadata:
                messages[cell.metadata["nbgrader"]["grade_id"]] = words
    time.sleep(0.1)
    note(submission.student)
    return Outcome(nbformat.writes(notebook), [], {"cells": 0.1}, messages, "", [], 0)


def note(line: str) -> None:
    if LOG in os.environ:
        with open(os.environ[LOG], "a") as file:
            file.write(f"{line}\n")


def misbehave(submission: Submission, settings: Settings) -> Outcome:
    """Do what the student's name says."""
    if submission.student == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    if submission.student == "raises":
        raise ValueError("two\nlines")
    if submission.student == "late":
        raise TimeoutError("a kernel")
    if submission.student == "stops":
        raise CourseError("no isolation here")
    return Outcome(submission.student, [], {}, {}, "", [], os.getpid())


def meet(folder: Path, submission: Submission, settings: Settings) -> Outcome:
    """Wait until a second submission is executed as well; the outcome says by which process."""
    (folder / submission.student).touch()
    assert eventually(lambda: len(list(folder.iterdir())) == 2, 60), "nobody came"
    return Outcome(submission.student, [], {}, {}, "", [], os.getpid())


def own_course(built: Chapter, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Chapter:
    """A copy of a built course, as the working folder, in which grading starts no process."""
    shutil.copytree(built.root, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Grading, "execute", staticmethod(execute))
    monkeypatch.setattr("course_utils.grading.pool.Pool", Here)
    monkeypatch.setattr(Here, "ends", {})
    return Chapter(built.name, folder)


class Here:
    """In the place of a pool: executes in this very process, one after the other.

    Attributes:
        ends: by a student's name, what a submission comes to in place of an outcome.
    """

    ends: ClassVar[dict[str, str]] = {}

    def __init__(self, workers, scheduler, execute, started, keep) -> None:
        self.execute, self.started, self.keep = execute, started, keep

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def run(self, submissions, settings, ahead=1) -> Iterator[tuple[str, Outcome | str]]:
        for key, submission in submissions:
            self.started(key)
            result = self.ends.get(submission.student)
            if result is None:
                # What cells print is no output of the command's.
                with contextlib.redirect_stdout(io.StringIO()):
                    result = self.execute(submission, settings)
                self.keep(key, result)
            yield key, result


def quick_grade(root: Path, **options) -> list[Marks]:
    """``course grade`` of the tiny chapter, quick."""
    # For this call alone: the next test of this process grades by the real one.
    with patch.object(Grading, "execute", staticmethod(execute)):
        chapter = Chapter("01_tiny", root)
        return grade(chapter, console=Console(quiet=True), **{"isolation": "none"} | options)


def quick_resume(root: Path, **options) -> list[Marks]:
    """``course grade --resume`` of the tiny chapter, quick."""
    return quick_grade(root, resume=True, isolation=None, **options)


MARKS = """
SELECT student.id, assignment.name, base_cell.name, grade.auto_score, grade.manual_score,
       grade.extra_credit, grade.needs_manual_grade, comment.auto_comment, comment.manual_comment
FROM submitted_assignment AS submission
JOIN student ON student.id = submission.student_id
JOIN assignment ON assignment.id = submission.assignment_id
JOIN submitted_notebook AS notebook ON notebook.assignment_id = submission.id
LEFT JOIN grade ON grade.notebook_id = notebook.id
LEFT JOIN base_cell ON base_cell.id = grade.cell_id
LEFT JOIN comment ON comment.notebook_id = notebook.id
ORDER BY 1, 2, 3, 8
"""


def state_of(root: Path) -> dict[str, object]:
    """All that grading leaves, in an order of its own and without times and random ids."""
    state: dict[str, object] = {}
    with sqlite3.connect(root / "gradebook.db") as book:
        tables = book.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
        for (table,) in tables.fetchall():
            state[f"rows of {table}"] = book.execute(f"SELECT count(*) FROM {table}").fetchone()
        state["version"] = book.execute("SELECT * FROM alembic_version").fetchall()
        state["marks"] = book.execute(MARKS).fetchall()
    for step in ("autograded", "feedback"):
        for path in sorted((root / step).rglob("*")):
            name = path.relative_to(root).as_posix()
            state[name] = path.read_bytes() if path.is_file() else "folder"
    state["grades.csv"] = (root / "grades.csv").read_bytes()
    # A writer that was killed leaves its unfinished file, which is removed after an hour.
    for path in sorted((root / FOLDER / "recorded").rglob("[!.]*")):
        if path.is_file():
            entry = json.loads(path.read_text())
            of_the_run = ("run", "phases", "cached")
            state[f"journal {path.name}"] = [
                item for item in sorted(entry.items()) if item[0] not in of_the_run
            ]
    state["left over"] = [
        path.relative_to(root).as_posix()
        for pattern in ("*.new", "*.old", f"{FOLDER}/staging/**/*.*")
        for path in root.glob(pattern)
    ]
    return state
