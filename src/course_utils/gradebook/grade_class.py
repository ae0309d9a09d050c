"""One run over one chapter's submissions: executed, recorded, exported, reported."""

from __future__ import annotations

import gc
import logging
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from course_utils.cells import exercise_texts
from course_utils.errors import CourseError, kind_and_words, one_line, visible
from course_utils.gradebook.beforehand import check_folders, enter_chapter, pick_students
from course_utils.gradebook.database import (
    blaming_the_gradebook,
    one_connection,
    one_transaction,
    prepare_gradebook,
)
from course_utils.gradebook.export import export
from course_utils.gradebook.grader import blaming_the_settings, open_grader
from course_utils.gradebook.marks import Marks, is_graded, is_undone, read_marks
from course_utils.gradebook.run import Run, note_down
from course_utils.grading.cache import (
    Entry,
    Journal,
    Outcomes,
    key_of,
)
from course_utils.grading.execution import execute
from course_utils.grading.intake import check_student
from course_utils.grading.submission import NOT_GRADED, Outcome, Submission
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from course_utils.system import cores

LOG = logging.getLogger(__name__)
# What the journal keeps of an outcome, and the report takes from the marks.
SEEN = ("cells", "messages", "died", "flags", "memory_bytes")
MARKS = ("score", "max_score", "points", "possible", "problem")


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


class Onlooker(Protocol):
    """Who is told how the submissions of a run get on, from any thread."""

    def started(self, student: str) -> None: ...

    def finished(self, student: str, words: str = "", *, graded: bool = True) -> None: ...


class Grading:
    """One run over one chapter's submissions.

    Args:
        chapter: the chapter.
        run: whose submissions, and how they are executed.
        grade_ids: of the chapter's checks, in the notebook's order.
        workers: how many at once on this machine; None for one per core.
        scheduler: the address of a Dask scheduler whose workers execute instead.
        watch: makes an onlooker of the number of submissions.
        say: tells a person what went wrong, in a line.
    """

    # What a worker does with a submission.
    execute = staticmethod(execute)

    def __init__(
        self,
        chapter: Chapter,
        run: Run,
        grade_ids: list[str],
        workers: int | None,
        scheduler: str,
        watch: Callable[[int], AbstractContextManager[Onlooker]],
        say: Callable[[str], None],
    ) -> None:
        from course_utils.gradebook.preprocessors import ExecuteSandboxed

        self.chapter = chapter
        self.grade_ids = grade_ids
        self.watch, self.say = watch, say
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
            configured = ExecuteSandboxed(config=self.grader.config)
            self.settings = configured.settings()
            # Most have far less to do than they may: who doesn't is run again after all others.
            self.first_settings = replace(self.settings, patience_seconds=configured.first_seconds)
            self.slow_seconds = configured.slow_seconds
        self.outcomes = Outcomes(chapter.root, only_of)
        self.journal = Journal(chapter.root, chapter.name)
        self.run = replace(run, students=pick_students(self.grader, chapter, run.students))

    def go(self) -> list[Marks]:
        """Do all of it.

        Raises:
            CourseError: as :func:`grade` says.
        """
        from course_utils.gradebook.record import Recorder

        start = time.monotonic()
        courses = self.grader.coursedir
        with warnings.catch_warnings(), one_connection():
            # nbgrader's own use of its database; nothing that an instructor could put right.
            warnings.filterwarnings("ignore", module="nbgrader")
            check_folders(self.chapter, courses, self.run.students)
            gradebook = courses.db_url, courses.course_id
            prepare_gradebook(*gradebook)
            with blaming_the_gradebook(courses.db_url), one_transaction(*gradebook):
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
        # What has no outcome of its own yet, by the same keys.
        self.unfinished: dict[str, Submission] = {}
        self.limits = self.first_settings
        with (
            Pool(self.workers, self.scheduler, self.execute, self.tell_started, self.keep) as pool,
            self.watch(len(self.run.students)) as self.onlooker,
        ):
            for key, result in pool.run(self.to_execute(), self.limits):
                if not self.is_cut_short(result):
                    del self.unfinished[key]
                    self.record_all(key, result)
            self.limits = self.settings
            # None waits in the pool: the time may be over when its turn would come.
            for key, result in pool.run(self.slow_ones(), self.limits, ahead=1):
                self.record_all(key, result)

    def is_cut_short(self, result: Outcome | str) -> bool:
        """Whether all that an outcome says is that the time of the first go did not do."""
        return isinstance(result, Outcome) and result.cut_short(self.limits)

    def keep(self, key: str, outcome: Outcome) -> None:
        if not self.is_cut_short(outcome):
            self.outcomes.put(key, outcome)

    def slow_ones(self) -> Iterator[tuple[str, Submission]]:
        """The submissions for which the first go did not do, while there is time for such."""
        began = time.monotonic()
        for key, submission in self.unfinished.items():
            if time.monotonic() - began < self.slow_seconds:
                yield key, submission
            else:
                self.record_all(
                    key,
                    f"{NOT_GRADED}: slower than most, and the {self.slow_seconds:g} s for such "
                    f"are over; go on with: course grade {self.chapter.name} --resume",
                )

    def record_all(self, key: str, result: Outcome | str) -> None:
        """Record what came of a submission for every student who handed in the same."""
        outcome, problem = (None, result) if isinstance(result, str) else (result, "")
        for student in self.waiting.pop(key):
            self.record(student, key, outcome, problem)

    def tell_started(self, key: str) -> None:
        for student in list(self.waiting[key]):
            self.onlooker.started(student)

    def to_execute(self) -> Iterator[tuple]:
        """Sanitise each submission, and give those whose outcome is not known yet.

        The others are recorded on the way.
        """
        for student in self.run.students:
            entry = self.journal.read(student)
            if entry.run == self.run.name and not is_undone(entry.problem):
                self.onlooker.finished(student, "recorded before", graded=is_graded(entry.problem))
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
                self.unfinished[key] = submission
                yield key, submission
            else:
                self.notes[student] = replace(self.notes[student], cached=True)
                self.record(student, key, outcome)

    def sanitise(self, student: str) -> Submission:
        """A student's submission, ready for execution.

        Raises:
            CourseError: it cannot be graded; the message says why.
        """
        from course_utils.gradebook.preprocessors import make_submission
        from course_utils.gradebook.record import repairs
        from course_utils.grading.intake import check_chapter, take_in

        check_student(student)
        courses, name = self.grader.coursedir, self.chapter.name
        folder = Path(courses.format_path(courses.submitted_directory, student, name))
        handed_in = take_in(folder, name, courses.ignore)
        check_chapter(handed_in.notebook, name, self.grade_ids)
        sanitised, text = self.recorder.sanitise(student, handed_in)
        self.notes[student] = Entry(
            self.run.name,
            answers=exercise_texts(sanitised.cells),
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
        self.onlooker.finished(student, problem, graded=is_graded(problem))

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
            self.say(f"the report could not be written ({kind_and_words(error)})")
            return False
        return True

    def write_report(self, marks: list[Marks], seconds: float) -> None:
        from course_utils.grading.report.contents import class_report
        from course_utils.grading.report.given import ReportedRun, ReportedStudent
        from course_utils.grading.report.page import write_report
        from course_utils.grading.report.similar import similar_answers

        students, texts = [], {}
        for row in marks:
            entry = self.journal.read(row.student)
            seen = {name: getattr(entry, name) for name in (*SEEN, "phases", "cached", "answers")}
            seen["flags"] = [*entry.flags, *(f"repaired: {r}" for r in row.repairs)]
            row_marks = {name: getattr(row, name) for name in MARKS}
            name = visible(row.student)
            students.append(ReportedStudent(name, **row_marks | seen))
            for exercise, text in entry.answers.items():
                texts.setdefault(exercise, {})[name] = text
        source = read_notebook(self.chapter.solution)
        solutions = exercise_texts(source.cells)
        ordered = {exercise: texts[exercise] for exercise in solutions if exercise in texts}
        finished = datetime.now().astimezone().isoformat(timespec="seconds")
        run = ReportedRun(finished, seconds, self.workers, self.settings.isolation)
        similar = similar_answers(ordered, solutions)
        content = class_report(self.chapter.name, source, students, similar, run)
        write_report(content, self.chapter.root / "reports" / self.chapter.name)


def own_fault(error: Exception, student: str) -> str:
    """In words, what went wrong with one submission, through no fault that we know of.

    Raises:
        BaseException: what would go wrong with every submission.
    """
    from course_utils.gradebook.record import machines_fault

    if fault := machines_fault(error):
        raise fault from None
    LOG.error("%s: a step failed", student, exc_info=error, extra={"student": student})
    return f"{NOT_GRADED}: {kind_and_words(error)}"
