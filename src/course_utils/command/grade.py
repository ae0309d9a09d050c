"""Grade what students handed in, with nbgrader, and show the marks.

The work is nbgrader's: its directories, its gradebook, its autograde, feedback and export. What is
ours is that one command does all of it, that one bad submission does not stop the rest, and the
table at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from course_utils.command.build import read_notebook
from course_utils.command.grader import open_grader, reason_of
from course_utils.command.progress import progress_bar
from course_utils.command.project import Chapter, CourseError


@dataclass(frozen=True)
class Marks:
    """One student's marks for one chapter.

    ``points`` and ``possible`` are per exercise. ``problem`` says why the submission could not be
    graded; it is empty where it could.
    """

    student: str
    score: float
    max_score: float
    points: dict[str, float] = field(default_factory=dict)
    possible: dict[str, float] = field(default_factory=dict)
    problem: str = ""


def grade(chapter: Chapter, students: tuple[str, ...] = (), *, console: Console) -> list[Marks]:
    """Autograde, write feedback, export ``grades.csv``, and return the marks in the gradebook.

    Submissions that were graded before are graded again. Marks and comments that a person gave in
    formgrader stay, as nbgrader has it. A submission that cannot be graded scores nothing, in the
    gradebook too, and the others go on.

    Args:
        chapter: the chapter; its solution notebook has to be built.
        students: whose submissions; everybody's when empty.
        console: where the progress bar is drawn.

    Raises:
        CourseError: nobody, or not everybody named, handed in; the solution notebook is missing or
            broken; or nbgrader refuses it.
    """
    grade_ids = checks_in(chapter)
    grader = open_grader(chapter.root)
    students = pick_students(grader, chapter, students)
    enter_chapter(grader, chapter)
    problems = {}
    with warnings.catch_warnings(), progress_bar(console) as progress:
        # nbgrader's own use of its database; nothing that an instructor could put right.
        warnings.filterwarnings("ignore", module="nbgrader")
        task = progress.add_task("grading", total=len(students))
        for student in students:
            progress.update(task, description=f"grading {escape(student)}")
            problems[student] = grade_submission(grader, chapter, student)
            progress.advance(task)
    export(grader, chapter.root / "grades.csv")
    return [
        read_marks(grader, chapter, grade_ids, student, problems[student]) for student in students
    ]


def pick_students(grader, chapter: Chapter, names: tuple[str, ...]) -> list[str]:
    """The named students, or everybody who handed in the chapter when none is named."""
    submitted = sorted(grader.get_submitted_students(chapter.name))
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
        raise CourseError(
            f"{chapter.name}: nbgrader does not take its solution notebook ({reason_of(outcome)})"
        )


def grade_submission(grader, chapter: Chapter, student: str) -> str:
    """Autograde one submission and write its feedback.

    Returns:
        Why it could not be graded; empty when it was.
    """
    problem = unreadable(grader, chapter, student)
    if not problem:
        outcome = grader.autograde(chapter.name, student, force=True, create=True)
        problem = "" if outcome["success"] else reason_of(outcome)
    if problem:
        score_nothing(grader, chapter, student)
        return problem
    outcome = grader.generate_feedback(chapter.name, student, force=True)
    return "" if outcome["success"] else f"graded, but without feedback: {reason_of(outcome)}"


def unreadable(grader, chapter: Chapter, student: str) -> str:
    """Why the submitted file is no notebook that can be graded; empty when it is one."""
    folder = Path(
        grader.coursedir.format_path(grader.coursedir.submitted_directory, student, chapter.name)
    )
    path = folder / f"{chapter.name}.ipynb"
    if not path.exists():
        return f"{path.name} is missing from {folder.relative_to(chapter.root)}"
    try:
        read_notebook(path)
    except CourseError as error:
        return str(error.message).replace(f"{path}: ", "")
    return ""


def score_nothing(grader, chapter: Chapter, student: str) -> None:
    """Enter zero points, as nbgrader does for a missing notebook; drop what was graded before."""
    with grader.gradebook as gradebook:
        gradebook.update_or_create_student(student)
        gradebook.update_or_create_submission(chapter.name, student)
        notebook = gradebook.find_submission_notebook(chapter.name, chapter.name, student)
        for cell in notebook.grades:
            cell.auto_score = 0
            cell.manual_score = cell.extra_credit = None
            cell.needs_manual_grade = False
        gradebook.db.commit()
    directories = grader.coursedir
    for step in (directories.autograded_directory, directories.feedback_directory):
        shutil.rmtree(directories.format_path(step, student, chapter.name), ignore_errors=True)


def export(grader, path: Path) -> None:
    """Write nbgrader's own table of every chapter's marks, as ``nbgrader export`` does."""
    from nbgrader.plugins import CsvExportPlugin

    unfinished = path.with_name(path.name + ".new")
    with grader.gradebook as gradebook:
        CsvExportPlugin(parent=grader, to=str(unfinished)).export(gradebook)
    os.replace(unfinished, path)


def checks_in(chapter: Chapter) -> list[str]:
    """The grade ids of the chapter's checks, in the notebook's order."""
    return [
        cell.metadata["nbgrader"]["grade_id"]
        for cell in read_notebook(chapter.solution).cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]


def read_marks(grader, chapter: Chapter, grade_ids: list[str], student: str, problem: str) -> Marks:
    """A student's marks out of the gradebook, a check's points counted for its exercise."""
    points: dict[str, float] = {}
    possible: dict[str, float] = {}
    with grader.gradebook as gradebook:
        submission = gradebook.find_submission(chapter.name, student)
        notebook = gradebook.find_submission_notebook(chapter.name, chapter.name, student)
        grades = {cell.name: cell for cell in notebook.grades}
        for grade_id in grade_ids:
            exercise = re.sub(r"-check(-\d+)?$", "", grade_id)
            points[exercise] = points.get(exercise, 0) + grades[grade_id].score
            possible[exercise] = possible.get(exercise, 0) + grades[grade_id].max_score
        return Marks(student, submission.score, submission.max_score, points, possible, problem)


def show(marks: list[Marks], chapter: Chapter, console: Console) -> None:
    """Print the table of marks, the submissions that could not be graded, and where things lie."""
    exercises = list(marks[0].possible)
    table = marks_table(marks, exercises)
    # Names as headings make a wide table: where they don't fit, numbers stand for them.
    fits = (
        console.measure(table, options=console.options.update(width=1000)).maximum <= console.width
    )
    if not fits:
        table = marks_table(marks, [str(number + 1) for number in range(len(exercises))])
    console.print(table)
    if not fits:
        for number, exercise in enumerate(exercises, start=1):
            console.print(f"{number:>3} {exercise}", highlight=False)
    for row in marks:
        if row.problem:
            # Text, for here and in the table a name or a reason may hold square brackets.
            line = Text.assemble((row.student, "red"), ": ", row.problem)
            console.print(line, soft_wrap=True)
    console.print(f"feedback: feedback/STUDENT/{chapter.name}/{chapter.name}.html", highlight=False)
    console.print("marks: grades.csv (every chapter), gradebook.db", highlight=False)


def marks_table(marks: list[Marks], headings: list[str]) -> Table:
    table = Table()
    table.add_column("student", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    for heading in headings:
        table.add_column(heading.replace("-", "-\n"), justify="right", no_wrap=True)
    for row in marks:
        cells = [
            coloured(points, row.possible[exercise]) for exercise, points in row.points.items()
        ]
        table.add_row(Text(row.student), f"{row.score:g} / {row.max_score:g}", *cells)
    return table


def coloured(points: float, possible: float) -> Text:
    colour = "green" if points >= possible else "yellow" if points > 0 else "red"
    return Text(f"{points:g}", style=colour)
