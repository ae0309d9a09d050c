"""The instructor's loop on real files: a class of made-up students, graded to the point."""

import csv
import pwd
import subprocess
import sys
from io import StringIO
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from rich.console import Console

from course_utils.authoring.build import build_into_place
from course_utils.command.grade import grade, show
from course_utils.gradebook.grader import open_grader
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from support.answers import ROOT, checks_of, exercises, grader_of, model_answer, read_answers
from support.classroom import DEMO_CHAPTER, expected_points, fill_in, run_class

FLAGSHIP = Chapter(DEMO_CHAPTER, ROOT)


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """The course, its students and their marks, after one run of the whole loop."""
    folder = tmp_path_factory.mktemp("course")
    course, students, marks = run_class(
        FLAGSHIP, read_answers(FLAGSHIP), folder, Console(file=StringIO())
    )
    return course, {student.name: student for student in students}, {m.student: m for m in marks}


STUDENTS = [
    "all-right",
    "all-wrong",
    "half-right",
    "nothing-done",
    "syntax-error",
    "endless-loop",
    "deleted-check",
    "edited-check",
    "unreadable",
]


def test_the_whole_class_is_there(loop):
    _, students, marks = loop
    assert sorted(students) == sorted(marks) == sorted(STUDENTS)


@pytest.mark.parametrize("name", STUDENTS)
def test_each_student_gets_each_exercise_s_points(loop, name):
    _, students, marks = loop
    expected = expected_points(FLAGSHIP, students[name])
    assert marks[name].points == expected
    assert marks[name].score == sum(expected.values())


def test_the_class_is_worth_grading(loop):
    """The expectations themselves: all, nothing, half of the exercises, all but one."""
    _, students, _ = loop
    names = exercises(FLAGSHIP)
    possible = sum(
        grader_of(check)["points"] for name in names for check in checks_of(FLAGSHIP, name)
    )
    totals = {
        name: sum(expected_points(FLAGSHIP, student).values()) for name, student in students.items()
    }
    assert totals["all-right"] == totals["deleted-check"] == possible > 0
    assert totals["all-wrong"] == totals["nothing-done"] == totals["unreadable"] == 0
    assert 0 < totals["half-right"] < possible
    assert totals["syntax-error"] == totals["endless-loop"] == totals["edited-check"] < possible
    assert len(students["all-wrong"].answers) == len(names)


def test_the_deleted_and_the_edited_check_come_from_the_source(loop):
    course, _, _ = loop
    changed = {}
    for name in ("deleted-check", "edited-check"):
        parts = (name, course.name, f"{course.name}.ipynb")
        before = read_notebook(course.root.joinpath("submitted", *parts))
        after = read_notebook(course.root.joinpath("autograded", *parts))
        checks = {
            grader_of(cell)["grade_id"]: cell.source
            for cell in read_notebook(course.solution).cells
            if grader_of(cell).get("grade")
        }
        old = {grader_of(cell).get("grade_id"): cell.source for cell in before.cells}
        graded = {grader_of(cell).get("grade_id"): cell.source for cell in after.cells}
        for grade_id, source in checks.items():
            assert graded[grade_id].endswith(source), grade_id
        changed[name] = [i for i in checks if i not in old or old[i] == "pass"]
    assert [len(ids) for ids in changed.values()] == [1, 1]


def test_the_endless_loop_ended_by_the_clock(loop):
    course, _, _ = loop
    path = course.root / "autograded" / "endless-loop" / course.name / f"{course.name}.ipynb"
    words = [
        output.get("text", "")
        for cell in read_notebook(path).cells
        if cell.get("source", "").startswith("while True")
        for output in cell.outputs
    ]
    assert "[interrupted after 20 s]\n" in words


def test_the_unreadable_one_is_named_with_the_reason(loop):
    course, _, marks = loop
    problems = {name: row.problem for name, row in marks.items() if row.problem}
    assert list(problems) == ["unreadable"], problems
    console = Console(file=StringIO(), width=200)
    show(list(marks.values()), course, console)
    assert "unreadable: not a notebook (" in console.file.getvalue()


def test_feedback_for_everybody_who_could_be_graded(loop):
    course, _, _ = loop
    pages = course.root.glob(f"feedback/*/{course.name}/{course.name}.html")
    assert sorted(page.parts[-3] for page in pages) == sorted(set(STUDENTS) - {"unreadable"})


def test_the_exported_table(loop):
    course, _, marks = loop
    with (course.root / "grades.csv").open(encoding="utf-8") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert sorted(rows) == sorted(STUDENTS)
    for name, row in rows.items():
        assert row["assignment"] == course.name
        assert float(row["score"]) == marks[name].score
        assert float(row["max_score"]) == marks[name].max_score > 0


def test_nbgrader_s_own_gradebook_has_the_marks(loop):
    course, students, _ = loop
    with Gradebook(f"sqlite:///{course.root}/gradebook.db") as gradebook:
        assert len(gradebook.assignment_submissions(course.name)) == len(STUDENTS)
        for name, student in students.items():
            expected = expected_points(FLAGSHIP, student)
            notebook = gradebook.find_submission_notebook(course.name, course.name, name)
            by_exercise = dict.fromkeys(expected, 0.0)
            for mark in notebook.grades:
                by_exercise[mark.name.split("-check")[0]] += mark.score
                assert not mark.needs_manual_grade
            assert by_exercise == expected


def set_exchange(folder, exchange):
    """Add an exchange to the nbgrader settings in ``folder``; learners have no other settings."""
    with (folder / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
        settings.write(
            "\nc = get_config()\n"
            'c.CourseDirectory.course_id = "pytorch"\n'
            f"c.Exchange.root = {str(exchange / 'root')!r}\n"
            f"c.Exchange.cache = {str(exchange / 'cache')!r}\n"
        )


def nbgrader(folder, *arguments):
    """One of nbgrader's commands, as a learner types it in ``folder``."""
    command = [Path(sys.executable).with_name("nbgrader"), *arguments]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr


def succeeds(outcome):
    assert outcome["success"], outcome.get("log")


# nbgrader's own, of a misspelt argument.
@pytest.mark.filterwarnings("ignore:Passing unrecognized arguments")
def test_the_exchange(tiny_chapter, tmp_path_factory):
    """release_assignment, fetch_assignment, submit, collect, ``course grade``, and the way back."""
    build_into_place(tiny_chapter)
    name = tiny_chapter.name
    exchange, desk = tmp_path_factory.mktemp("exchange"), tmp_path_factory.mktemp("desk")
    (exchange / "root").mkdir()
    (exchange / "root").chmod(0o777)
    set_exchange(tiny_chapter.root, exchange)
    set_exchange(desk, exchange)
    instructor = open_grader(tiny_chapter.root)
    succeeds(instructor.generate_assignment(name))
    succeeds(instructor.release_assignment(name))

    nbgrader(desk, "fetch_assignment", name)
    path = desk / name / f"{name}.ipynb"
    assert path.read_bytes() == tiny_chapter.release.read_bytes()
    notebook = read_notebook(path)
    fill_in(notebook, {"double": model_answer(tiny_chapter, "double").source})
    nbformat.write(notebook, path)
    nbgrader(desk, "submit", name)

    succeeds(instructor.collect(name))
    (row,) = grade(tiny_chapter, console=Console(file=StringIO()))
    assert row.student == pwd.getpwuid(path.stat().st_uid).pw_name
    assert row.points == {"double": 1, "halve": 0}

    succeeds(instructor.release_feedback(name))
    nbgrader(desk, "fetch_feedback", name)
    (page,) = desk.glob(f"{name}/feedback/*/{name}.html")
    assert "double" in page.read_text(encoding="utf-8")
