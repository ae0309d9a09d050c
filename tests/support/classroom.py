"""A class of made-up students: their notebooks, what each must score, and the whole loop as a demo.

Run it with ``make demo``, or ``PYTHONPATH=tests python -m support.classroom``. Every submission is
made from the released notebook by filling in exercise cells; the answers are those under
``tests/answers/``. What a student must score follows from how the submission was made: a right
answer gives its exercise's points, everything else nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import nbformat
from nbformat import NotebookNode
from rich.console import Console

from course_utils.command.grade import grade, show
from course_utils.gradebook.grader import open_grader
from course_utils.gradebook.marks import Marks
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter, pick_chapters
from support.answers import (
    ROOT,
    Answer,
    checks_of,
    exercises,
    grader_of,
    model_answer,
    read_answers,
)

DEMO_CHAPTER = "02_storage_and_strides"
# Short, so that the endless loop ends soon; yet enough to import torch on a busy machine.
DEMO_TIMEOUT_SECONDS = 20

Edit = Callable[[NotebookNode], None]


@dataclass(frozen=True)
class Student:
    """Answers per exercise, as text, and which of them are right.

    ``edit`` changes the notebook once the answers are in; None for ``answers`` is a file that is
    no notebook at all.
    """

    name: str
    answers: dict[str, str] | None
    right: frozenset[str]
    edit: Edit = lambda notebook: None


def make_course(chapter: Chapter, folder: Path) -> Chapter:
    """A throw-away course in ``folder`` with this one chapter, released by nbgrader."""
    for name in ("nbgrader_config.py", "nbval_sanitize.cfg"):
        shutil.copy(chapter.root / name, folder / name)
    with (folder / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
        settings.write(f"\nc.ExecuteSandboxed.cell_seconds = {DEMO_TIMEOUT_SECONDS}\n")
    shutil.copytree(chapter.source.parent, folder / "solutions" / chapter.name)
    copy = Chapter(chapter.name, folder)
    outcome = open_grader(folder).generate_assignment(chapter.name)
    assert outcome["success"], outcome
    return copy


def make_class(chapter: Chapter, answers: list[Answer]) -> list[Student]:
    """Nine students, the last of whom hands in a file that is no notebook.

    Args:
        chapter: the chapter that they solve.
        answers: named answers, right and wrong; an exercise without a right one is solved with the
            chapter's own solution.
    """
    names = exercises(chapter)
    right = {
        name: first(answers, name, right=True) or model_answer(chapter, name).source
        for name in names
    }
    wrong = {name: first(answers, name, right=False) for name in names}
    everything = frozenset(names)
    half = frozenset(names[::2])
    victim = names[len(names) // 2]
    rest = everything - {victim}
    check = grader_of(checks_of(chapter, victim)[0])["grade_id"]
    return [
        Student("all-right", right, everything),
        Student("all-wrong", wrong, frozenset()),
        Student("half-right", {name: right[name] for name in half}, half),
        Student("nothing-done", {}, frozenset()),
        Student("syntax-error", right | {victim: "def answer(:\n    return 1"}, rest),
        Student("endless-loop", right | {victim: "while True:\n    pass"}, rest),
        Student("deleted-check", right, everything, delete(check)),
        Student("edited-check", right | {victim: wrong[victim]}, rest, rewrite(check, "pass")),
        Student("unreadable", None, frozenset()),
    ]


def first(answers: list[Answer], exercise: str, *, right: bool) -> str | None:
    """The text of an exercise's first right or wrong answer; None where there is none."""
    fitting = (a.source for a in answers if a.exercise == exercise and a.right == right)
    return next(fitting, None)


def delete(grade_id: str) -> Edit:
    def edit(notebook: NotebookNode) -> None:
        notebook.cells = [c for c in notebook.cells if grader_of(c).get("grade_id") != grade_id]

    return edit


def rewrite(grade_id: str, source: str) -> Edit:
    def edit(notebook: NotebookNode) -> None:
        next(c for c in notebook.cells if grader_of(c).get("grade_id") == grade_id).source = source

    return edit


def hand_in(chapter: Chapter, student: Student) -> Path:
    """Write the student's submission where nbgrader expects it, and return its path."""
    path = chapter.root / "submitted" / student.name / chapter.name / f"{chapter.name}.ipynb"
    path.parent.mkdir(parents=True)
    if student.answers is None:
        path.write_text('{"cells": [', encoding="utf-8")
        return path
    notebook = read_notebook(chapter.release)
    fill_in(notebook, student.answers)
    student.edit(notebook)
    nbformat.write(notebook, path)
    return path


def fill_in(notebook: NotebookNode, answers: dict[str, str]) -> None:
    """Put each answer into the cell of its exercise."""
    cells = {grader_of(cell).get("grade_id"): cell for cell in notebook.cells}
    for exercise, source in answers.items():
        cells[exercise].source = source


def expected_points(chapter: Chapter, student: Student) -> dict[str, float]:
    """What each exercise must be worth for this student, from how the submission was made."""
    return {
        exercise: sum(grader_of(check)["points"] for check in checks_of(chapter, exercise))
        * (exercise in student.right)
        for exercise in exercises(chapter)
    }


def run_class(
    chapter: Chapter, answers: list[Answer], folder: Path, console: Console
) -> tuple[Chapter, list[Student], list[Marks]]:
    """The whole loop in ``folder``: release, a class's submissions, ``course grade``."""
    course = make_course(chapter, folder)
    students = make_class(chapter, answers)
    for student in students:
        hand_in(course, student)
    return course, students, grade(course, console=console)


@click.command()
@click.option("--chapter", default=DEMO_CHAPTER, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), help="Keep the made-up course here.")
def main(chapter: str, folder: Path | None) -> None:
    """Grade a class of made-up students, from the released notebook to feedback and grades.csv."""
    (source,) = pick_chapters(ROOT, [chapter])
    console = Console()
    with tempfile.TemporaryDirectory(prefix="course-demo-") as temporary:
        place = folder.resolve() if folder else Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise click.ClickException(f"{place} is not empty: name a new folder")
        course, _, marks = run_class(source, read_answers(source), place, console)
        show(marks, course, console)
        for path in sorted(place.glob("feedback/*/*/*.html")):
            console.print(path.relative_to(place), highlight=False)
        console.print((place / "grades.csv").read_text(), highlight=False, soft_wrap=True)
        if folder is None:
            console.print(
                "That course was temporary. To keep it: make demo DEMO_ARGS='--folder DIR'"
            )


if __name__ == "__main__":
    main()
