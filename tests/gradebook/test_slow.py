"""Submissions that take longer than most: last in line, and for a limited time."""

from dataclasses import replace

import nbformat
import pytest
from rich.console import Console

from course_utils.authoring.build import build_into_place
from course_utils.command.grade import grade
from course_utils.errors import CourseError
from course_utils.gradebook.database import prepare_gradebook
from course_utils.gradebook.grade_class import Grading
from course_utils.gradebook.grader import open_grader
from course_utils.grading.cache import Journal
from course_utils.grading.submission import Outcome, Settings
from course_utils.notebooks import read_notebook
from support import quick
from support.classroom import fill_in
from support.tiny import make_tiny_course

STUDENTS = ["ada", "slow-bob", "cleo", "slow-dan"]
# What a slow one's cells take.
SECONDS = 150.0


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tiny course, built, with a submission of each student, no two the same."""
    chapter = make_tiny_course(tmp_path_factory.mktemp("built"))
    build_into_place(chapter)
    for student in STUDENTS:
        notebook = read_notebook(chapter.release)
        double = f"def double(x):\n    return 2 * x  # {student}"
        fill_in(notebook, {"double": double, "halve": "def halve(x):\n    return x / 2"})
        folder = chapter.root / "submitted" / student / chapter.name
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{chapter.name}.ipynb")
    courses = open_grader(chapter.root).coursedir
    prepare_gradebook(courses.db_url, courses.course_id)
    return chapter


@pytest.fixture
def chapter(built, tmp_path, monkeypatch):
    return quick.own_course(built, tmp_path / "course", monkeypatch)


@pytest.fixture
def executed(monkeypatch):
    """Who was executed, in order, with how many seconds its cells might run."""
    order: list[tuple[str, float]] = []

    def execute(submission, settings):
        order.append((submission.student, settings.for_cells()))
        outcome = quick.execute(submission, settings)
        if not submission.student.startswith("slow"):
            return outcome
        cells = min(SECONDS, settings.for_cells())
        return replace(outcome, phases={"cells": cells, "judge": 0.1})

    monkeypatch.setattr(Grading, "execute", staticmethod(execute))
    return order


def marks_of_the_class(chapter, **options):
    marks = grade(chapter, console=Console(quiet=True), **{"isolation": "none"} | options)
    return {row.student: row for row in marks}


def configure(chapter, **settings):
    with (chapter.root / "nbgrader_config.py").open("a") as file:
        file.writelines(f"\nc.ExecuteSandboxed.{name} = {n}\n" for name, n in settings.items())


def test_who_needs_longer_is_run_again_after_all_others(chapter, executed):
    marks = marks_of_the_class(chapter)
    assert executed == [
        *(("ada", 120), ("cleo", 120), ("slow-bob", 120), ("slow-dan", 120)),
        *(("slow-bob", 600), ("slow-dan", 600)),
    ]
    assert {row.score for row in marks.values()} == {3}
    journal = Journal(chapter.root, chapter.name)
    assert journal.read("slow-bob").phases["cells"] == SECONDS
    assert not journal.read("slow-bob").cached
    # Only what came of the second go was stored: nobody is run a third time.
    executed.clear()
    assert marks_of_the_class(chapter) == marks
    assert executed == []


def test_when_the_time_for_them_is_over_the_rest_waits_for_a_resume(chapter, executed):
    configure(chapter, slow_seconds=0)
    marks = marks_of_the_class(chapter)
    assert ("slow-bob", 600) not in executed
    assert marks["slow-bob"].problem == (
        "not graded: slower than most, and the 0 s for such are over; go on with: "
        "course grade 01_tiny --resume"
    )
    assert marks["ada"].score == 3
    configure(chapter, slow_seconds=60)
    marks = marks_of_the_class(chapter, isolation=None, resume=True)
    assert {row.score for row in marks.values()} == {3}
    assert not any(row.problem for row in marks.values())
    assert [entry for entry in executed if entry[0] == "ada"] == [("ada", 120)]


def test_a_shorter_limit_than_that_of_the_first_go_is_the_only_one(chapter, executed):
    configure(chapter, notebook_seconds=100, checks_seconds=100)
    marks = marks_of_the_class(chapter)
    assert [seconds for _, seconds in executed] == [100] * 4
    assert {row.score for row in marks.values()} == {3}


def test_a_first_go_of_no_time_is_refused(chapter):
    configure(chapter, first_seconds=0)
    with pytest.raises(CourseError, match="first_seconds"):
        marks_of_the_class(chapter)


@pytest.mark.parametrize(
    ("phases", "answer"),
    [
        ({"cells": 119.9, "judge": 119.9}, False),
        ({"cells": 120.0, "judge": 1}, True),
        ({"cells": 1, "judge": 120.1}, True),
        ({}, False),
    ],
)
def test_an_outcome_says_whether_it_had_all_the_time_there_was(phases, answer):
    outcome = Outcome("", [], phases, {}, "", [], 0)
    assert outcome.cut_short(Settings(patience_seconds=120)) is answer
    # Its own limit, and no patience, ended it.
    assert not outcome.cut_short(Settings(notebook_seconds=100, checks_seconds=100))


def test_patience_changes_no_other_limit():
    assert Settings(patience_seconds=1).limits() == Settings().limits()
