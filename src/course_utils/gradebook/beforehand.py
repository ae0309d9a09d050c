"""What is settled before a run: who handed in, what can be written, what the gradebook knows."""

from __future__ import annotations

import glob
import logging
import os
import re
import tempfile
from pathlib import Path

from course_utils.errors import CourseError
from course_utils.gradebook.grader import (
    reason_of,
)
from course_utils.grading.cache import (
    FOLDER,
)
from course_utils.project import Chapter

LOG = logging.getLogger(__name__)


def check_folders(chapter: Chapter, courses, students: list[str]) -> None:
    """See whether all that a run writes can be written, before anything costs time.

    Raises:
        CourseError: a folder can't be written.
    """
    own = chapter.root / FOLDER
    places = [own / name / "any" for name in ("staging", "outcomes", "recorded", "runs")]
    places += [chapter.root / "grades.csv", chapter.root / "reports" / chapter.name / "any"]
    steps = (courses.autograded_directory, courses.feedback_directory)
    places += [
        Path(courses.format_path(step, student, chapter.name))
        for step in steps
        for student in students
    ]
    for folder in dict.fromkeys(nearest_folder(place) for place in places):
        if not os.path.isdir(folder):
            raise CourseError(f"{folder} is not a folder: grading writes into one of that name")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CourseError(f"{folder} cannot be written: give yourself the right")


def nearest_folder(place: Path) -> Path:
    """What has to be there, and be a folder, before ``place`` can be made anew or replaced."""
    # Not Path.exists, which raises where a name is too long.
    return next(folder for folder in place.parents if os.path.lexists(folder))


def submitted_students(courses, chapter: str) -> list[str]:
    """Who handed in a chapter, by the folders' names, whatever signs these hold."""
    step = courses.submitted_directory
    # nbgrader leaves out, without a word, names that hold a line break.
    anyone = glob.escape(courses.format_path(step, "\0", chapter)).replace("\0", "*")
    name = courses.format_path(step, "(?P<student>.*)", chapter, escape=True)
    return sorted(
        re.fullmatch(name, folder, re.DOTALL)["student"]
        # Hidden folders as well: their names are refused, in words.
        for folder in glob.glob(anyone, include_hidden=True)
        if os.path.isdir(folder)
    )


def pick_students(grader, chapter: Chapter, names: list[str]) -> list[str]:
    """The named students, or everybody who handed in the chapter when none is named."""
    submitted = submitted_students(grader.coursedir, chapter.name)
    if not submitted:
        folder = grader.coursedir.format_path(
            grader.coursedir.submitted_directory, "STUDENT", chapter.name
        )
        raise CourseError(
            f"no submission of {chapter.name}: expected {folder}/{chapter.name}.ipynb"
        )
    for name in names:
        if name not in submitted:
            raise CourseError(
                f"no submission of {chapter.name} by {name!r}; there are {', '.join(submitted)}"
            )
    return sorted(set(names)) or submitted


def enter_chapter(grader, chapter: Chapter) -> None:
    """Bring the gradebook's cells in line with the solution notebook.

    nbgrader does this when it generates the release. That goes to a temporary folder here: what
    learners open is written by ``course build`` alone.
    """
    released = grader.coursedir.release_directory
    with tempfile.TemporaryDirectory(prefix="course-release-") as folder:
        grader.coursedir.release_directory = folder
        try:
            outcome = grader.generate_assignment(chapter.name, force=True, create=True)
        finally:
            grader.coursedir.release_directory = released
    if not outcome["success"]:
        LOG.error("nbgrader's log:\n%s%s", outcome.get("log", ""), outcome.get("error", ""))
        reason = reason_of(outcome)
        if reason.startswith(("sqlalchemy.", "sqlite3.")):
            raise CourseError(f"the gradebook cannot be used: {reason}")
        if reason.startswith(("OSError", "PermissionError")):
            raise CourseError(f"nbgrader cannot enter the chapter: {reason}")
        raise CourseError(
            f"{chapter.name}: nbgrader does not take its solution notebook ({reason})"
        )
