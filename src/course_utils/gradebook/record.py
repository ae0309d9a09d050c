"""Record what came of a submission, with nbgrader's own steps: one writer, whole or not at all."""

from __future__ import annotations

import copy
import errno
import logging
import os
import shutil
from pathlib import Path
from typing import Any

from nbconvert.exporters import Exporter
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.writers import FilesWriter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import chdir, compute_checksum, setenv, temp_attrs
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError
from traitlets import Type

from course_utils.cells import grade_id
from course_utils.errors import CourseError, one_line
from course_utils.gradebook.database import one_transaction
from course_utils.gradebook.exporters import CheckedNotebookExporter, WithoutChecks
from course_utils.gradebook.feedback import shared_renderer
from course_utils.gradebook.preprocessors import OUTCOME, HideTests
from course_utils.grading.cache import FOLDER
from course_utils.grading.intake import NBGRADER_FILES, HandedIn
from course_utils.grading.submission import Outcome
from course_utils.notebooks import as_json
from course_utils.project import Chapter

LOG = logging.getLogger(__name__)
STAGING = f"{FOLDER}/staging"
# How a problem begins where the marks are recorded and only the page for the student is missing.
NO_FEEDBACK = "graded, but without feedback"
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}


def machines_fault(error: BaseException | None) -> BaseException | None:
    """What ended a step and would end it for every submission: a full disk, a locked database.

    nbgrader raises exceptions of its own in place of the database's, which are their causes then.

    Returns:
        The exception that says so; None where there is none.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return error
        if isinstance(error, DatabaseError) and not isinstance(error, (DataError, IntegrityError)):
            return error
        error = error.__cause__ or error.__context__
    return None


class KeptExporter(BaseConverter):
    """One of nbgrader's converters, for one submission after the other, with one exporter.

    What goes wrong is raised. nbgrader's own loop catches all of it, the end of this process
    included.
    """

    ready = False

    def start(self) -> None:
        """Convert the notebook of the one student that ``coursedir`` names."""
        if not self.ready:
            self.writer = FilesWriter(parent=self, config=self.config)
            self.exporter = self.exporter_class(parent=self, config=self.config)
            for step in self.preprocessors:
                self.exporter.register_preprocessor(step)
            self.ready = True
        courses = self.coursedir
        assert courses is not None
        names = courses.assignment_id, courses.student_id
        self.notebooks = [str(Path(self._format_source(*names), f"{names[0]}.ipynb"))]
        try:
            with chdir(courses.root):
                if not self.init_destination(*names):
                    raise CourseError("CourseDirectory.student_id_exclude names this student")
                self.run_pre_convert_hook()
                self.init_assignment(*names)
                for notebook in self.notebooks:
                    self.convert_single_notebook(notebook)
                self.set_permissions(*names)
                self.run_post_convert_hook()
        except BaseException:
            remove(Path(self._format_dest(*names)))
            raise


class RecordMarks(KeptExporter, Autograde):
    """nbgrader's ``autograde``, without its first half: what it reads is sanitised already."""

    # As traitlets gives a trait another default.
    exporter_class = Type(  # ty: ignore[incompatible-attribute-override]
        CheckedNotebookExporter, klass=Exporter
    )

    outcome: Outcome | None = None

    def init_single_notebook_resources(self, notebook_filename: str) -> dict[str, Any]:
        assert self.outcome is not None, "nothing is executed here"
        resources = super().init_single_notebook_resources(notebook_filename)
        return resources | {OUTCOME: self.outcome}

    def convert_single_notebook(self, notebook_filename: str) -> None:
        courses = self.coursedir
        assert courses is not None
        folder = Path(self._format_dest(courses.assignment_id, courses.student_id))
        folder.mkdir(parents=True, exist_ok=True)
        sanitised = str(shutil.copy(notebook_filename, folder))
        self._sanitizing = False
        self._init_preprocessors()
        try:
            with setenv(NBGRADER_EXECUTION="autograde"):
                BaseConverter.convert_single_notebook(self, sanitised)
        finally:
            self._sanitizing = True


class WriteFeedback(KeptExporter, GenerateFeedback):
    """nbgrader's ``generate_feedback``, except that no file of the student's own goes along.

    A page of theirs would open beside ours, under the instructor's name.
    """

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        names = assignment_id, student_id
        source, place = Path(self._format_source(*names)), Path(self._format_dest(*names))
        place.mkdir(parents=True, exist_ok=True)
        # release_feedback reads them there.
        for name in NBGRADER_FILES:
            if (source / name).is_file():
                shutil.copy(source / name, place)


class Recorder:
    """Sanitises submissions and records their outcomes.

    nbgrader's steps work in a staging folder of their own; what they made is renamed into
    ``autograded/`` and ``feedback/`` when it is whole.

    Args:
        grader: nbgrader's interface, as :func:`course_utils.gradebook.grader.open_grader` gives it.
        chapter: the chapter that is graded.
    """

    def __init__(self, grader, chapter: Chapter) -> None:
        self.chapter = chapter
        self.courses = grader.coursedir
        self.staged = CourseDirectory(parent=grader)
        for step in ("submitted", "autograded", "feedback"):
            self.staged.set_trait(f"{step}_directory", f"{STAGING}/{step}")
        remove(chapter.root / STAGING)
        self.marks = RecordMarks(coursedir=self.staged, parent=grader)
        self.feedback = WriteFeedback(coursedir=self.staged, parent=grader)
        # It gets ready while the first submission is executed.
        shared_renderer().start()
        for converter in (self.marks, self.feedback):
            converter.force = True
        self.sanitising = WithoutChecks(parent=self.marks, config=self.marks.config)
        for step in self.marks.sanitize_preprocessors:
            self.sanitising.register_preprocessor(step)
        # Sanitising ends with the same check, and nothing changes the marks afterwards.
        self.marks.autograde_preprocessors = [
            step for step in self.marks.autograde_preprocessors if "CheckMarks" not in step
        ]

    def sanitise(self, student: str, handed_in: HandedIn) -> tuple[NotebookNode, str]:
        """Make a submission fit for grading, and lay it out for nbgrader in the staging folder.

        Returns:
            The sanitised notebook, and itself as JSON text.

        Raises:
            CourseError: nbgrader's steps refuse the notebook.
        """
        name = self.chapter.name
        resources = {
            "nbgrader": {
                "student": student,
                "assignment": name,
                "notebook": name,
                "db_url": self.staged.db_url,
            }
        }
        try:
            notebook = copy.deepcopy(handed_in.notebook)
            notebook, _ = self.sanitising.from_notebook_node(notebook, resources)
        except Exception as error:  # a notebook's metadata can be wrong in any way
            if fault := machines_fault(error):
                raise fault from None
            # Expected of what students hand in; yet a slip of our own would look the same.
            words = "%s: its cells' marks are broken"
            LOG.info(words, student, exc_info=error, extra={"student": student})
            raise CourseError(f"its cells' marks are broken ({one_line(error)})") from error
        folder = Path(self.staged.format_path(self.staged.submitted_directory, student, name))
        remove(folder)
        for path, data in (handed_in.files | handed_in.notes).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        folder.mkdir(parents=True, exist_ok=True)
        text = as_json(notebook)
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
        return notebook, text

    def record(self, student: str, outcome: Outcome) -> str:
        """Enter the marks into the gradebook and publish the graded notebook and the feedback.

        Doing it again changes nothing.

        Args:
            student: whose submission; it was sanitised and lies in the staging folder.
            outcome: what came of it.

        Returns:
            Why there is no feedback; empty when there is.

        Raises:
            Exception: the marks could not be entered, or something is wrong with this machine.
        """
        problem = ""
        with temp_attrs(self.staged, assignment_id=self.chapter.name, student_id=student):
            self.marks.outcome = outcome
            with one_transaction(self.courses.db_url, self.courses.course_id):
                self.marks.start()
            try:
                self.feedback.start()
            except Exception as error:  # a page of what a student wrote can fail in any way
                if fault := machines_fault(error):
                    raise fault from None
                words = "%s: feedback could not be made"
                LOG.error(words, student, exc_info=error, extra={"student": student})
                problem = f"{NO_FEEDBACK}: {one_line(error)}"
        self.publish(student)
        return problem

    def publish(self, student: str) -> None:
        """Rename what is staged into place."""
        name = self.chapter.name
        for step in ("autograded_directory", "feedback_directory"):
            fresh = Path(self.staged.format_path(getattr(self.staged, step), student, name))
            place = Path(self.courses.format_path(getattr(self.courses, step), student, name))
            place.parent.mkdir(parents=True, exist_ok=True)
            old = fresh.with_name(fresh.name + ".old")
            remove(old)
            if place.exists():
                old.parent.mkdir(parents=True, exist_ok=True)
                os.rename(place, old)
            if fresh.exists():
                os.rename(fresh, place)
            remove(old)
        remove(Path(self.staged.format_path(self.staged.submitted_directory, student, name)))

    def leave_ungraded(self, student: str) -> None:
        """Enter that nothing is known yet, as nbgrader has it for cells that wait for a person.

        What a person gave stays; what was graded before is dropped.
        """
        self.enter(student, auto_score=None, needs_manual_grade=True)
        self.withdraw(student)

    def enter(self, student: str, **marks: float | bool | None) -> None:
        """Give every check of a submission the same marks."""
        name = self.chapter.name
        with Gradebook(self.courses.db_url, self.courses.course_id) as gradebook:
            gradebook.update_or_create_student(student)
            gradebook.update_or_create_submission(name, student)
            notebook = gradebook.find_submission_notebook(name, name, student)
            for cell in notebook.grades:
                for mark, value in marks.items():
                    setattr(cell, mark, value)
            gradebook.db.commit()

    def score_nothing(self, student: str) -> None:
        """Enter zero points, as nbgrader does for a missing notebook; drop what was graded before.

        A person's own points are taken back. Doing it again changes nothing.
        """
        self.enter(
            student, auto_score=0, manual_score=None, extra_credit=None, needs_manual_grade=False
        )
        self.withdraw(student)

    def withdraw(self, student: str) -> None:
        """Drop the graded notebook and the feedback of a submission, if there are any."""
        name = self.chapter.name
        for step in (self.staged.autograded_directory, self.staged.feedback_directory):
            remove(Path(self.staged.format_path(step, student, name)))
        self.publish(student)


def remove(path: Path) -> None:
    """Delete a folder, if it is there."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except OSError:
        # What is in the way of something needed makes that fail, which is told then.
        LOG.warning("%s cannot be removed", path, exc_info=True)
        shutil.rmtree(path, ignore_errors=True)


def repairs(before: NotebookNode, after: NotebookNode) -> list[str]:
    """In words, what sanitising changed in a notebook.

    Args:
        before: the notebook as it was handed in.
        after: the sanitised notebook; its hidden tests are cut out here.
    """
    handed_in = marked_cells(before.cells)
    # Learners never had the hidden tests.
    restored, _ = HideTests().preprocess(after, ResourcesDict())
    words = []
    known = set()
    for cell in restored.cells:
        name = grade_id(cell)
        if not name:
            continue
        known.add(name)
        found = handed_in.get(name, [])
        if not found:
            words.append(f"{name}: deleted, put back")
            continue
        if len(found) > 1:
            words.append(f"{name}: copied, the last one counts")
        last = found[-1]
        if cell.metadata.nbgrader.get("locked") and last.source != cell.source:
            if is_as_released(last):
                continue
            words.append(f"{name}: edited, as it was again")
        elif any(
            last.metadata.nbgrader.get(mark) != cell.metadata.nbgrader.get(mark)
            for mark in ("grade", "solution", "locked", "points")
        ):
            words.append(f"{name}: its marks changed, as they were again")
    words += [f"{name}: unknown, an ordinary cell now" for name in handed_in if name not in known]
    return words


def is_as_released(cell: NotebookNode) -> bool:
    """Whether a cell has the text that it was released with, in whichever release that was.

    nbgrader notes a checksum with each cell that it releases. Who edits both is not told apart; the
    cell is today's in any case.
    """
    try:
        return cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
    except (KeyError, TypeError, ValueError):  # the marks are the student's, and may be anything
        return False


def marked_cells(cells: list[NotebookNode]) -> dict[str, list[NotebookNode]]:
    """The cells that nbgrader marks, by grade id."""
    found: dict[str, list[NotebookNode]] = {}
    for cell in cells:
        if grade_id(cell):
            found.setdefault(grade_id(cell), []).append(cell)
    return found
