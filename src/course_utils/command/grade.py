"""Grade what students handed in, with nbgrader, and show the marks.

The gradebook, the folders, the feedback and the export are nbgrader's. What is ours: submissions
are executed several at once, apart from the instructor's files; one bad submission does not stop
the rest; and a run that was killed goes on where it ended.
"""

from __future__ import annotations

import csv
import gc
import json
import os
import re
import secrets
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

import nbformat
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_utils.command.build import read_notebook
from course_utils.command.grader import make_gradebook, one_connection, open_grader, reason_of
from course_utils.command.live import LiveTable
from course_utils.command.project import Chapter, CourseError
from course_utils.command.verify import cores
from course_utils.grading.cache import (
    FOLDER,
    Journal,
    Outcomes,
    key_of,
    read_json,
    remove_unfinished,
    write_whole,
)
from course_utils.grading.execution import NOT_GRADED, Outcome, Submission, execute
from course_utils.kernels.template import shared_address, supported

# What the journal keeps of an outcome, and the report takes from the marks.
SEEN = ("cells", "messages", "died", "flags", "memory_bytes")
MARKS = ("student", "score", "max_score", "points", "possible", "problem")


@dataclass(frozen=True)
class Marks:
    """One student's marks for one chapter.

    ``points`` and ``possible`` are per exercise. ``problem`` says why the submission could not be
    graded; it is empty where it could. ``repairs`` says, in words, which cells were put right.
    """

    student: str
    score: float
    max_score: float
    points: dict[str, float] = field(default_factory=dict)
    possible: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """One call of ``course grade``, as it is noted down so that a later call can go on with it.

    Attributes:
        name: tells runs apart.
        students: whose submissions.
        settings: of the execution, where they are not those of ``nbgrader_config.py``.
        again: whether outcomes of earlier runs are left aside.
        finished: whether all of it is recorded.
    """

    name: str
    students: list[str]
    settings: dict
    again: bool = False
    finished: bool = False


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
            broken; or nbgrader refuses it.
    """
    if not sys.platform.startswith("linux"):
        raise CourseError(
            "grading needs Linux: on Windows use WSL 2, on macOS a virtual machine; "
            "docs/instructors.md says how"
        )
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
            return Grading(chapter, run, grade_ids, workers, scheduler, console).go()


@contextmanager
def only_run(root: Path) -> Iterator[None]:
    """Hold the lock that one run at a time holds; the system frees it when the process ends.

    Raises:
        CourseError: another run holds it.
    """
    import fcntl

    path = root / FOLDER / "lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CourseError("another course grade is under way here: wait for its end") from error
        remove_unfinished(path.parent)
        yield


@contextmanager
def leaving_at_once(chapter: Chapter, console: Console) -> Iterator[None]:
    """Let Ctrl-C end the process on the spot.

    A run can be killed at any moment and goes on later, so there is nothing to tidy up; and what
    this process started ends with it.
    """

    def leave(*_: object) -> None:
        console.show_cursor()
        console.print(f"\ninterrupted; to go on: course grade {chapter.name} --resume")
        os._exit(128 + signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_path(chapter: Chapter) -> Path:
    return chapter.root / FOLDER / "runs" / f"{chapter.name}.json"


def unfinished_run(chapter: Chapter) -> Run | None:
    """The last run of the chapter, if it was cut off."""
    content = read_json(run_path(chapter))
    return Run(**content) if content and not content["finished"] else None


def note_down(chapter: Chapter, run: Run) -> None:
    write_whole(run_path(chapter), json.dumps(asdict(run)))


class Grading:
    """One run over one chapter's submissions."""

    # What a worker does with a submission.
    execute = staticmethod(execute)

    def __init__(
        self,
        chapter: Chapter,
        run: Run,
        grade_ids: list[str],
        workers: int | None,
        scheduler: str,
        console: Console,
    ) -> None:
        from course_utils.command.preprocessors import ExecuteSandboxed

        self.chapter = chapter
        self.grade_ids = grade_ids
        self.console = console
        self.workers = workers or cores()
        self.scheduler = scheduler
        only_of = run.name if run.again else ""
        threads = max(1, cores() // self.workers)
        settings = run.settings | {"threads": threads, "run": only_of}
        self.grader = open_grader(chapter.root, execution=settings)
        self.settings = ExecuteSandboxed(config=self.grader.config).settings()
        self.outcomes = Outcomes(chapter.root, only_of)
        self.journal = Journal(chapter.root, chapter.name)
        self.run = replace(run, students=pick_students(self.grader, chapter, run.students))

    def go(self) -> list[Marks]:
        """Do all of it.

        Raises:
            CourseError: as :func:`grade` says.
        """
        from course_utils.command.record import Recorder

        start = time.monotonic()
        courses = self.grader.coursedir
        with warnings.catch_warnings(), one_connection():
            # nbgrader's own use of its database; nothing that an instructor could put right.
            warnings.filterwarnings("ignore", module="nbgrader")
            make_gradebook(courses.db_url, courses.course_id)
            enter_chapter(self.grader, self.chapter)
            note_down(self.chapter, self.run)
            self.recorder = Recorder(self.grader, self.chapter)
            self.execute_and_record()
            export(self.grader, self.chapter.root / "grades.csv")
            marks = [self.read_marks(student) for student in self.run.students]
            self.report(marks, time.monotonic() - start)
            note_down(self.chapter, replace(self.run, finished=True))
        return marks

    def execute_and_record(self) -> None:
        from course_utils.grading.pool import Pool

        # The collector would go through everything that was imported, again and again.
        gc.freeze()
        # Students whose submissions have the same content, waiting for its outcome.
        self.waiting: dict[str, list[str]] = {}
        self.notes: dict[str, dict] = {}
        with (
            Pool(
                self.workers, self.scheduler, self.execute, self.tell_started, self.outcomes.put
            ) as pool,
            LiveTable(self.console, len(self.run.students)) as self.live,
        ):
            for key, result in pool.run(self.to_execute(), self.settings):
                problem = result if isinstance(result, str) else ""
                for student in self.waiting.pop(key):
                    self.record(student, key, None if problem else result, problem)

    def tell_started(self, key: str) -> None:
        for student in list(self.waiting[key]):
            self.live.started(student)

    def to_execute(self) -> Iterator[tuple]:
        """Sanitise each submission, and give those whose outcome is not known yet.

        The others are recorded on the way.
        """
        for student in self.run.students:
            if self.journal.read(student).get("run") == self.run.name:
                self.live.finished(student, "recorded before")
                continue
            start = time.monotonic()
            try:
                submission = self.sanitise(student)
            except CourseError as error:
                self.record(student, "", None, error.message)
                continue
            key = key_of(submission, self.settings)
            self.notes[student]["phases"] = {"sanitise": time.monotonic() - start}
            if key in self.waiting:
                self.waiting[key].append(student)
                continue
            outcome = self.outcomes.get(key)
            if outcome is None:
                self.waiting[key] = [student]
                yield key, submission
            else:
                self.notes[student]["cached"] = True
                self.record(student, key, outcome)

    def sanitise(self, student: str) -> Submission:
        """A student's submission, ready for execution.

        Raises:
            CourseError: it cannot be graded; the message says why.
        """
        from course_utils.command.preprocessors import make_submission
        from course_utils.command.record import answers, repairs
        from course_utils.grading.intake import check_student, take_in

        check_student(student)
        courses, name = self.grader.coursedir, self.chapter.name
        folder = Path(courses.format_path(courses.submitted_directory, student, name))
        handed_in = take_in(folder, name, courses.ignore)
        text = self.recorder.sanitise(student, handed_in)
        self.notes[student] = {
            "repairs": repairs(handed_in.notebook, text),
            "answers": answers(nbformat.v4.reads(text)),
        }
        return make_submission(self.recorder.staged, student, name, text)

    def record(self, student: str, key: str, outcome: Outcome | None, problem: str = "") -> None:
        """Record one student's outcome, or why there is none, and note that it is done."""
        notes = self.notes.pop(student, {})
        start = time.monotonic()
        problem = problem or self.recorder.record(student)
        if problem.startswith(NOT_GRADED):
            self.recorder.leave_ungraded(student)
        elif problem and not problem.startswith("graded"):
            self.recorder.score_nothing(student)
        phases = notes.get("phases", {}) | {"record": time.monotonic() - start}
        seen = {}
        if outcome is not None:
            seen = {name: getattr(outcome, name) for name in SEEN}
            phases = outcome.phases | phases
        entry = {"run": self.run.name, "key": key, "problem": problem, "repairs": []}
        self.journal.write(student, entry | notes | seen | {"phases": phases})
        self.live.finished(student, problem)

    def read_marks(self, student: str) -> Marks:
        entry = self.journal.read(student)
        marks = read_marks(self.grader, self.chapter, self.grade_ids, student, entry["problem"])
        return replace(marks, repairs=tuple(entry["repairs"]))

    def report(self, marks: list[Marks], seconds: float) -> None:
        """Write what the class made of the chapter, for people to read."""
        from course_utils.command.record import answers
        from course_utils.grading import report
        from course_utils.grading.similar import similar_answers

        students, texts = [], {}
        for row in marks:
            entry = self.journal.read(row.student)
            seen = {name: entry[name] for name in (*SEEN, "phases", "cached") if name in entry}
            seen["flags"] = [*seen.get("flags", []), *(f"repaired: {r}" for r in row.repairs)]
            row_marks = {name: getattr(row, name) for name in MARKS}
            seen["answers"] = entry.get("answers", {})
            students.append(report.Graded(**row_marks | seen))
            for exercise, text in entry.get("answers", {}).items():
                texts.setdefault(exercise, {})[row.student] = text
        source = read_notebook(self.chapter.solution)
        solutions = answers(source)
        ordered = {exercise: texts[exercise] for exercise in solutions if exercise in texts}
        finished = datetime.now().astimezone().isoformat(timespec="seconds")
        run = report.Run(finished, seconds, self.workers, self.settings.isolation)
        similar = similar_answers(ordered, solutions)
        content = report.class_report(self.chapter.name, source, students, similar, run)
        report.write_report(content, self.chapter.root / "reports" / self.chapter.name)


def pick_students(grader, chapter: Chapter, names: list[str]) -> list[str]:
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


def export(grader, path: Path) -> None:
    """Write nbgrader's own table of every chapter's marks, as ``nbgrader export`` does."""
    from nbgrader.plugins import CsvExportPlugin

    unfinished = path.with_name(path.name + ".new")
    with grader.gradebook as gradebook:
        CsvExportPlugin(parent=grader, to=str(unfinished)).export(gradebook)
    with unfinished.open(encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    # nbgrader's order is the order in which the database happens to hold them.
    order = [heading.index("assignment"), heading.index("student_id")]
    rows.sort(key=lambda row: [row[place] for place in order])
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([heading, *rows])
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
        from course_utils.grading.report import exercise_numbers

        numbers = {exercise: str(place) for place, exercise in enumerate(exercises, start=1)}
        if chapter.solution.exists():
            numbers |= exercise_numbers(read_notebook(chapter.solution))
        table = marks_table(marks, [numbers[exercise] for exercise in exercises])
    console.print(table)
    if not fits:
        for exercise in exercises:
            console.print(f"{numbers[exercise]:>5} {exercise}", highlight=False)
    for row in marks:
        # Text, for here and in the table a name or a reason may hold square brackets.
        for words, colour in [(row.problem, "red"), ("; ".join(row.repairs), "yellow")]:
            if words:
                console.print(Text.assemble((row.student, colour), ": ", words), soft_wrap=True)
    console.print(f"feedback: feedback/STUDENT/{chapter.name}/{chapter.name}.html", highlight=False)
    console.print(f"report: reports/{chapter.name}/report.html", highlight=False)
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
