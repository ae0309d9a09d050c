"""Grade what students handed in, with nbgrader, and show the marks.

The gradebook, the folders, the feedback and the export are nbgrader's. What is ours: submissions
are executed several at once, apart from the instructor's files; one bad submission does not stop
the rest; and a run that was killed goes on where it ended.
"""

from __future__ import annotations

import csv
import gc
import glob
import json
import logging
import os
import re
import secrets
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

import nbformat
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_utils.command.build import read_notebook
from course_utils.command.grader import (
    blaming_the_settings,
    one_connection,
    open_grader,
    prepare_gradebook,
    reason_of,
)
from course_utils.command.live import LiveTable
from course_utils.command.log import rotating
from course_utils.command.project import Chapter, CourseError, visible
from course_utils.command.verify import cores
from course_utils.grading.cache import (
    FOLDER,
    Entry,
    Journal,
    Outcomes,
    key_of,
    read_json,
    remove_unfinished,
    write_whole,
)
from course_utils.grading.execution import NOT_GRADED, Outcome, Submission, execute
from course_utils.grading.intake import check_student, one_line
from course_utils.kernels.template import shared_address, supported

LOG = logging.getLogger(__name__)
# What the journal keeps of an outcome, and the report takes from the marks.
SEEN = ("cells", "messages", "died", "flags", "memory_bytes")
MARKS = ("score", "max_score", "points", "possible", "problem")
# nbgrader's columns of marks, as its own export names them.
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
# Of a name in the table of marks: a longer one would take the room of everybody's points.
LONGEST_NAME = 40
# What a spreadsheet takes for a formula when a cell begins with it.
FORMULA_SIGNS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
# Of a run's settings, what kind each is.
KINDS = {"isolation": str, "seed": int, "pictures": bool}


@dataclass(frozen=True)
class Marks:
    """One student's marks for one chapter.

    ``points`` and ``possible`` are per exercise. ``problem`` says why the submission could not be
    graded, or why there is no feedback; it is empty where all is well. ``repairs`` says, in words,
    which cells were put right.
    """

    student: str
    score: float
    max_score: float
    points: dict[str, float] = field(default_factory=dict)
    possible: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    repairs: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        """Whether the points are what the answers earned."""
        return is_graded(self.problem)

    @property
    def known(self) -> bool:
        """Whether anything is known of the submission's worth; zero for what can't be read is."""
        return not self.problem.startswith(NOT_GRADED)


def is_graded(problem: str) -> bool:
    """Whether a submission with this problem was graded all the same."""
    return problem.startswith("graded") or not problem


def is_undone(problem: str) -> bool:
    """Whether something is left to do that may succeed another time."""
    return problem.startswith(NOT_GRADED) or (is_graded(problem) and bool(problem))


@dataclass(frozen=True)
class Run:
    """One call of ``course grade``, as it is noted down so that a later call can go on with it.

    Attributes:
        name: tells runs apart.
        students: whose submissions.
        settings: of the execution, where they are not those of ``nbgrader_config.py``.
        again: whether outcomes of earlier runs are left aside.
        finished: whether all of it is done: recorded, with feedback and report.
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
            broken, or nbgrader refuses it; something cannot be read or written.
    """
    if not sys.platform.startswith("linux"):
        raise CourseError(
            "grading needs Linux: on Windows use WSL 2, on macOS a virtual machine; "
            "docs/instructors.md says how"
        )
    from course_utils.grading.pool import check_address

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
                return Grading(chapter, run, grade_ids, workers, scheduler, console).go()


@contextmanager
def in_one_line(after: str = "") -> Generator[None]:
    """Say in one line what cannot be read or written.

    Args:
        after: what to do when that is mended.

    Raises:
        CourseError: instead of what the system or the database raised.
    """
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except OSError as error:
        LOG.exception("the run ended")
        where = f"{error.filename!s}: " if error.filename is not None else ""
        raise CourseError(f"{where}{error.strerror or one_line(error)}{after}") from error
    except SQLAlchemyError as error:
        LOG.exception("the run ended")
        reason = one_line(getattr(error, "orig", None) or error)
        raise CourseError(f"the gradebook: {reason}{after}") from error


@contextmanager
def only_run(root: Path) -> Generator[None]:
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
        with rotating():
            remove_unfinished(path.parent)
            yield


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


def run_path(chapter: Chapter) -> Path:
    return chapter.root / FOLDER / "runs" / f"{chapter.name}.json"


def unfinished_run(chapter: Chapter) -> Run | None:
    """The last run of the chapter, if it was cut off or left something undone.

    Raises:
        CourseError: what is noted down of it is broken.
    """
    path = run_path(chapter)
    if not path.exists():
        return None
    try:
        run = Run(**read_json(path))
        kinds = {"name": str, "students": list, "settings": dict, "again": bool, "finished": bool}
        right = all(type(getattr(run, name)) is kind for name, kind in kinds.items())
        right = right and all(type(student) is str for student in run.students)
        right = right and all(type(run.settings[name]) is KINDS[name] for name in run.settings)
    except (TypeError, KeyError):
        right = False
    if not right:
        raise CourseError(
            f"{path} is broken: grade without --resume, which executes nothing again that is done"
        )
    return None if run.finished else run


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
        with blaming_the_settings(chapter.root):
            known = ExecuteSandboxed.class_trait_names(config=True)
            for name in self.grader.config.ExecuteSandboxed:
                if name not in known:
                    raise CourseError(f"c.ExecuteSandboxed.{name}: there is no such setting")
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
            check_folders(self.chapter, courses, self.run.students)
            prepare_gradebook(courses.db_url, courses.course_id)
            enter_chapter(self.grader, self.chapter)
            with blaming_the_settings(self.chapter.root):
                self.recorder = Recorder(self.grader, self.chapter)
            note_down(self.chapter, self.run)
            hint = f"; that mended, go on with: course grade {self.chapter.name} --resume"
            with in_one_line(hint):
                self.execute_and_record()
                export(self.grader, self.chapter.root / "grades.csv")
                marks = [self.read_marks(student) for student in self.run.students]
                reported = self.report(marks, time.monotonic() - start)
                done = reported and not any(is_undone(row.problem) for row in marks)
                note_down(self.chapter, replace(self.run, finished=done))
        return marks

    def execute_and_record(self) -> None:
        from course_utils.grading.pool import Pool

        # The collector would go through everything that was imported, again and again.
        gc.freeze()
        # Students whose submissions have the same content, waiting for its outcome.
        self.waiting: dict[str, list[str]] = {}
        self.notes: dict[str, Entry] = {}
        with (
            Pool(
                self.workers, self.scheduler, self.execute, self.tell_started, self.outcomes.put
            ) as pool,
            LiveTable(self.console, len(self.run.students)) as self.live,
        ):
            for key, result in pool.run(self.to_execute(), self.settings):
                outcome, problem = (None, result) if isinstance(result, str) else (result, "")
                for student in self.waiting.pop(key):
                    self.record(student, key, outcome, problem)

    def tell_started(self, key: str) -> None:
        for student in list(self.waiting[key]):
            self.live.started(student)

    def to_execute(self) -> Iterator[tuple]:
        """Sanitise each submission, and give those whose outcome is not known yet.

        The others are recorded on the way.
        """
        for student in self.run.students:
            entry = self.journal.read(student)
            if entry.run == self.run.name and not is_undone(entry.problem):
                self.live.finished(student, "recorded before", graded=is_graded(entry.problem))
                continue
            start = time.monotonic()
            try:
                submission = self.sanitise(student)
                key = key_of(submission, self.settings)
            except CourseError as error:
                self.record(student, "", None, error.message)
                continue
            except Exception as error:  # whatever one submission does costs that student alone
                self.record(student, "", None, own_fault(error, student))
                continue
            phases = {"sanitise": time.monotonic() - start}
            self.notes[student] = replace(self.notes[student], phases=phases)
            if key in self.waiting:
                self.waiting[key].append(student)
                continue
            outcome = self.outcomes.get(key)
            if outcome is None:
                self.waiting[key] = [student]
                yield key, submission
            else:
                self.notes[student] = replace(self.notes[student], cached=True)
                self.record(student, key, outcome)

    def sanitise(self, student: str) -> Submission:
        """A student's submission, ready for execution.

        Raises:
            CourseError: it cannot be graded; the message says why.
        """
        from course_utils.command.preprocessors import make_submission
        from course_utils.command.record import answers, repairs
        from course_utils.grading.intake import take_in

        check_student(student)
        courses, name = self.grader.coursedir, self.chapter.name
        folder = Path(courses.format_path(courses.submitted_directory, student, name))
        handed_in = take_in(folder, name, courses.ignore)
        text = self.recorder.sanitise(student, handed_in)
        sanitised = nbformat.v4.reads(text)
        self.notes[student] = Entry(
            self.run.name,
            answers=answers(sanitised),
            repairs=repairs(handed_in.notebook, sanitised),
        )
        return make_submission(self.recorder.staged, student, name, text)

    def record(self, student: str, key: str, outcome: Outcome | None, problem: str = "") -> None:
        """Record one student's outcome, or why there is none, and note that it is done."""
        entry = self.notes.pop(student, Entry(self.run.name))
        start = time.monotonic()
        try:
            if outcome is not None:
                problem = self.recorder.record(student, outcome)
        except Exception as error:  # as in to_execute
            problem = own_fault(error, student)
        if is_undone(problem):
            LOG.error("%s: %s", student, problem, extra={"student": student})
        if not is_graded(problem):
            self.record_problem(student, problem)
        phases = entry.phases | {"record": time.monotonic() - start}
        if outcome is not None:
            entry = replace(entry, **{name: getattr(outcome, name) for name in SEEN})
            phases = outcome.phases | phases
        self.journal.write(student, replace(entry, key=key, problem=problem, phases=phases))
        self.live.finished(student, problem, graded=is_graded(problem))

    def record_problem(self, student: str, problem: str) -> None:
        """Enter that a submission was not graded, or that it is worth nothing."""
        try:
            check_student(student)
            if problem.startswith(NOT_GRADED):
                self.recorder.leave_ungraded(student)
            else:
                self.recorder.score_nothing(student)
        except CourseError:
            # A folder whose name is not allowed is nobody's: it will be graded under another.
            return
        except Exception as error:  # the problem itself is said and noted down all the same
            own_fault(error, student)

    def read_marks(self, student: str) -> Marks:
        entry = self.journal.read(student)
        marks = read_marks(self.grader, self.chapter, self.grade_ids, student, entry.problem)
        return replace(marks, repairs=tuple(entry.repairs))

    def report(self, marks: list[Marks], seconds: float) -> bool:
        """Write what the class made of the chapter, for people to read.

        Returns:
            Whether that was possible; the marks stand in any case.
        """
        try:
            self.write_report(marks, seconds)
        except Exception as error:  # it is made of what students wrote
            LOG.exception("the report could not be written")
            words = f"the report could not be written ({type(error).__name__}: {one_line(error)})"
            self.console.print(Text(visible(words)), soft_wrap=True)
            return False
        return True

    def write_report(self, marks: list[Marks], seconds: float) -> None:
        from course_utils.command.record import answers
        from course_utils.grading import report
        from course_utils.grading.similar import similar_answers

        students, texts = [], {}
        for row in marks:
            entry = self.journal.read(row.student)
            seen = {name: getattr(entry, name) for name in (*SEEN, "phases", "cached", "answers")}
            seen["flags"] = [*entry.flags, *(f"repaired: {r}" for r in row.repairs)]
            row_marks = {name: getattr(row, name) for name in MARKS}
            name = visible(row.student)
            students.append(report.Graded(name, **row_marks | seen))
            for exercise, text in entry.answers.items():
                texts.setdefault(exercise, {})[name] = text
        source = read_notebook(self.chapter.solution)
        solutions = answers(source)
        ordered = {exercise: texts[exercise] for exercise in solutions if exercise in texts}
        finished = datetime.now().astimezone().isoformat(timespec="seconds")
        run = report.Run(finished, seconds, self.workers, self.settings.isolation)
        similar = similar_answers(ordered, solutions)
        content = report.class_report(self.chapter.name, source, students, similar, run)
        report.write_report(content, self.chapter.root / "reports" / self.chapter.name)


def own_fault(error: Exception, student: str) -> str:
    """In words, what went wrong with one submission, through no fault that we know of.

    Raises:
        BaseException: what would go wrong with every submission.
    """
    from course_utils.command.record import machines_fault

    if fault := machines_fault(error):
        raise fault from None
    LOG.error("%s: a step failed", student, exc_info=error, extra={"student": student})
    kind, words = type(error).__name__, one_line(error)
    return f"{NOT_GRADED}: {words if words.startswith(kind) else f'{kind}: {words}'}"


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
        for folder in glob.glob(anyone)
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
    unfinished = path.with_name(path.name + ".new")
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([plain_cell(row[column]) for column in COLUMNS] for row in rows)
    os.replace(unfinished, path)


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


def checks_in(chapter: Chapter) -> list[str]:
    """The grade ids of the chapter's checks, in the notebook's order."""
    return [
        cell.metadata["nbgrader"]["grade_id"]
        for cell in read_notebook(chapter.solution).cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]


def read_marks(grader, chapter: Chapter, grade_ids: list[str], student: str, problem: str) -> Marks:
    """A student's marks out of the gradebook, a check's points counted for its exercise."""
    from nbgrader.api import MissingEntry

    points: dict[str, float] = {}
    possible: dict[str, float] = {}
    with grader.gradebook as gradebook:
        source = gradebook.find_notebook(chapter.name, chapter.name)
        score, max_score, scores = 0.0, source.max_score, {}
        # Who could not be entered, for the name of the folder, has no marks.
        with suppress(MissingEntry, UnicodeError):
            submission = gradebook.find_submission(chapter.name, student)
            notebook = gradebook.find_submission_notebook(chapter.name, chapter.name, student)
            score, max_score = submission.score, submission.max_score
            scores = {cell.name: cell.score for cell in notebook.grades}
        most = {cell.name: cell.max_score for cell in source.grade_cells}
        for grade_id in grade_ids:
            exercise = re.sub(r"-check(-\d+)?$", "", grade_id)
            points[exercise] = points.get(exercise, 0) + scores.get(grade_id, 0)
            possible[exercise] = possible.get(exercise, 0) + most[grade_id]
        return Marks(student, score, max_score, points, possible, problem)


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
        # The chapter's number would not fit twelve times: it stands in the list below.
        table = marks_table(marks, [numbers[exercise].rpartition(".")[2] for exercise in exercises])
    console.print(table)
    if not fits:
        for exercise in exercises:
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
