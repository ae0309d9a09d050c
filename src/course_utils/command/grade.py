"""Grade what students handed in, with nbgrader, and show the marks.

The gradebook, the folders, the feedback and the export are nbgrader's. What is ours: submissions
are executed several at once, apart from the instructor's files; one bad submission does not stop
the rest; and a run that was killed goes on where it ended.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_utils.command.live import LiveTable
from course_utils.errors import CourseError, visible
from course_utils.gradebook.grade_class import Grading, in_one_line
from course_utils.gradebook.marks import Marks, checks_in
from course_utils.gradebook.run import Run, only_run, unfinished_run
from course_utils.kernels.template import shared_address, supported
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter

# Of a name in the table of marks: a longer one would take the room of everybody's points.
LONGEST_NAME = 40


def grade(
    chapter: Chapter,
    students: tuple[str, ...] = (),
    *,
    console: Console,
    workers: int | None = None,
    scheduler: str = "",
    isolation: str | None = None,
    seed: int | None = None,
    pictures: bool = False,
    again: bool = False,
    resume: bool = False,
) -> list[Marks]:
    """Execute, record, write feedback, export ``grades.csv``, and return the gradebook's marks.

    Submissions that were recorded before are recorded again; those whose outcome is known, because
    nothing changed since, are not executed again. Marks and comments that a person gave in
    formgrader stay, as nbgrader has it. A submission that cannot be graded scores nothing, in the
    gradebook too, and the others go on.

    Args:
        chapter: the chapter; its solution notebook has to be built.
        students: whose submissions; everybody's when empty.
        console: where the progress bar is drawn.
        workers: how many at once on this machine; by default one per core.
        scheduler: the address of a Dask scheduler whose workers execute instead.
        isolation: ``auto``, ``bwrap`` or ``none``; by default what ``nbgrader_config.py`` says.
        seed: of the random generators; by default what ``nbgrader_config.py`` says.
        pictures: whether the course's pictures are drawn.
        again: execute anew what was executed before.
        resume: go on with the last run of the chapter, its students and its settings.

    Returns:
        The marks; empty when there is nothing to go on with.

    Raises:
        CourseError: this is not Linux; another run is under way; students' code can't be kept
            apart; nobody, or not everybody named, handed in; the solution notebook is missing or
            broken, or nbgrader refuses it; something cannot be read or written.
    """
    if not sys.platform.startswith("linux"):
        raise CourseError(
            "grading needs Linux: on Windows use WSL 2, on macOS a virtual machine; "
            "docs/instructors.md says how"
        )
    from course_utils.grading.scheduler import check_address

    check_address(scheduler)
    with in_one_line():
        grade_ids = checks_in(chapter)
        with only_run(chapter.root):
            if resume:
                run = unfinished_run(chapter)
                if run is None:
                    return []
            else:
                given = {"isolation": isolation, "seed": seed, "pictures": pictures or None}
                settings = {name: value for name, value in given.items() if value is not None}
                run = Run(secrets.token_hex(8), list(students), settings, again)
            with leaving_at_once(chapter, console):
                if not scheduler and supported():
                    # What kernels are forked from takes longest to get ready.
                    shared_address()
                watch, say = partial(LiveTable, console), partial(say_in_line, console)
                return Grading(chapter, run, grade_ids, workers, scheduler, watch, say).go()


def say_in_line(console: Console, words: str) -> None:
    """Print words of which some may be a student's."""
    console.print(Text(visible(words)), soft_wrap=True)


@contextmanager
def leaving_at_once(chapter: Chapter, console: Console) -> Generator[None]:
    """Let Ctrl-C and SIGTERM end the process on the spot.

    A run can be killed at any moment and goes on later, so there is nothing to tidy up; and what
    this process started ends with it. An exception in their place would pass through code of
    nbgrader's, IPython's and others', any of which may take it for a fault of one submission.
    """

    def leave(number: int, frame: object) -> None:
        try:
            console.show_cursor()
            console.print(f"\ninterrupted; to go on: course grade {chapter.name} --resume")
        finally:
            os._exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show(marks: list[Marks], chapter: Chapter, console: Console) -> None:
    """Print the table of marks, the submissions that could not be graded, and where things lie."""
    columns = list(marks[0].possible)
    table = marks_table(marks, columns)
    # Names as headings make a wide table: where they don't fit, numbers stand for them.
    fits = (
        console.measure(table, options=console.options.update(width=1000)).maximum <= console.width
    )
    if not fits:
        from course_utils.grading.report.contents import exercise_names

        numbers = {exercise: str(place) for place, exercise in enumerate(columns, start=1)}
        if chapter.solution.exists():
            names = exercise_names(read_notebook(chapter.solution))
            numbers |= {exercise: number for exercise, (number, _) in names.items()}
        # The chapter's number would not fit twelve times: it stands in the list below.
        table = marks_table(marks, [numbers[exercise].rpartition(".")[2] for exercise in columns])
    console.print(table)
    if not fits:
        for exercise in columns:
            console.print(f"{numbers[exercise]:>5} {exercise}", highlight=False)
    for row in marks:
        # Text, for here and in the table a name or a reason may hold square brackets.
        for words, colour in [(row.problem, "red"), ("; ".join(row.repairs), "yellow")]:
            if words:
                name = (visible(row.student), colour)
                console.print(Text.assemble(name, ": ", visible(words)), soft_wrap=True)
    graded = sum(row.graded for row in marks)
    if graded < len(marks):
        console.print(f"{graded} of {len(marks)} could be graded", highlight=False)
    console.print(f"feedback: feedback/STUDENT/{chapter.name}/{chapter.name}.html", highlight=False)
    console.print(f"report: reports/{chapter.name}/report.html", highlight=False)
    console.print("marks: grades.csv (every chapter), gradebook.db", highlight=False)


def marks_table(marks: list[Marks], headings: list[str]) -> Table:
    table = Table()
    table.add_column("student", no_wrap=True, max_width=LONGEST_NAME)
    table.add_column("points", justify="right", no_wrap=True)
    for heading in headings:
        table.add_column(heading.replace("-", "-\n"), justify="right", no_wrap=True)
    for row in marks:
        cells = [
            coloured(points, row.possible[exercise]) if row.graded else Text("–")
            for exercise, points in row.points.items()
        ]
        score = f"{row.score:g}" if row.known else "–"
        table.add_row(Text(visible(row.student)), f"{score} / {row.max_score:g}", *cells)
    return table


def left_undone(chapter: Chapter, marks: list[Marks]) -> str:
    """What a run that came to its end did not do, and how to go on; empty where it did all."""
    if unfinished_run(chapter) is None:
        return ""
    without = [row.student for row in marks if row.graded and row.problem]
    parts = []
    if ungraded := [row.student for row in marks if not row.known]:
        parts.append(f"not graded, through no fault of theirs: {', '.join(ungraded)}")
    if without:
        parts.append(f"without feedback: {', '.join(without)}")
    words = "; ".join(parts) or "there is no report"
    return f"{words}; to try again: course grade {chapter.name} --resume"


def coloured(points: float, possible: float) -> Text:
    colour = "green" if points >= possible else "yellow" if points > 0 else "red"
    return Text(f"{points:g}", style=colour)
