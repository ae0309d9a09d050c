"""Steps of nbgrader's with a gap closed, or quicker, and one of our own.

``nbgrader_config.py`` names them, so every nbgrader command and formgrader use them too.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import SourceCell
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor, OverwriteCells
from nbgrader.utils import compute_checksum, is_grade, is_locked, is_solution
from traitlets import Bool, Enum, Float, Integer, Unicode

from course_utils.cells import STUB, marks_of, stub_digest
from course_utils.errors import CourseError
from course_utils.grading.cache import Outcomes, key_of
from course_utils.grading.execution import execute
from course_utils.grading.intake import NBGRADER_FILES, check_folder, read_files
from course_utils.grading.submission import Outcome, Settings, Submission
from course_utils.notebooks import as_json

# The key of nbconvert's resources under which an outcome is given.
OUTCOME = "course_outcome"


class ExecuteSandboxed(NbGraderPreprocessor):
    """Where nbgrader executes a notebook: ours runs it in a sandbox and judges it outside of it.

    What came of the same submission before is taken from the course's ``.course-grade`` folder, so
    ``nbgrader autograde`` and formgrader's button are as safe as ``course grade``, and record what
    it found. ``course grade`` itself has the outcome, and gives it with the resources: where it
    records, nothing is executed.

    nbgrader gives nothing to a check that wrote to stderr, and a right answer may warn or log. Here
    what a check wrote to stderr stays in the feedback as ordinary output; errors alone cost points.
    """

    isolation = Enum(
        ["auto", "bwrap", "none"],
        "auto",
        help='`"bwrap"`, `"none"`; `"auto"` refuses where bubblewrap does not work',
    ).tag(config=True)
    seed = Integer(Settings.seed, help="The seed of every random generator.").tag(config=True)
    pictures = Bool(Settings.pictures, help="Whether the course's pictures are drawn.").tag(
        config=True
    )
    cell_seconds = Float(Settings.cell_seconds, help="one cell, in seconds").tag(config=True)
    notebook_seconds = Float(Settings.notebook_seconds, help="all cells together, in seconds").tag(
        config=True
    )
    checks_seconds = Float(Settings.checks_seconds, help="all checks together, in seconds").tag(
        config=True
    )
    memory_bytes = Integer(Settings.memory_bytes, help="a notebook's processes together").tag(
        config=True
    )
    processes = Integer(Settings.processes, help="processes and threads").tag(config=True)
    file_bytes = Integer(
        Settings.file_bytes,
        help="one file, and all files of its working folder; these lie in memory",
    ).tag(config=True)
    output_bytes = Integer(
        Settings.output_bytes, help="what one cell prints and shows, in bytes"
    ).tag(config=True)
    grace_seconds = Float(
        Settings.grace_seconds, help="How long an interrupted cell may go on."
    ).tag(config=True)
    first_seconds = Float(
        120,
        min=1,
        help="as those two, at the first go of `course grade`; who needs longer is run again after "
        "all others",
    ).tag(config=True)
    slow_seconds = Float(
        3600, min=0, help="all that are run again, in a run of `course grade`; `--resume` goes on"
    ).tag(config=True)
    threads = Integer(Settings.threads, help="The threads that a notebook computes with.").tag(
        config=True
    )
    hold_back = Bool(
        Settings.hold_back,
        help="Points of answers that may have read what a check's trial knows wait for a person.",
    ).tag(config=True)
    run = Unicode("", help="Take stored outcomes of this run alone.").tag(config=True)

    def settings(self) -> Settings:
        """The settings as execution takes them.

        Raises:
            CourseError: a setting makes no sense, or the isolation is to be found out, and none
                works here.
        """
        # An instructor sets no patience: what is executed on demand is executed to its end.
        names = [f.name for f in fields(Settings) if f.name != "patience_seconds"]
        chosen: dict[str, Any] = {name: getattr(self, name) for name in names}
        try:
            chosen["isolation"] = working_isolation(self.isolation)
            return Settings(**chosen)
        except ValueError as error:
            raise CourseError(f"the settings of ExecuteSandboxed: {error}") from error

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        outcome = resources.get(OUTCOME) or self.outcome(nb, resources)
        show_outcome(nb, outcome)
        return nb, resources

    def outcome(self, nb: NotebookNode, resources: ResourcesDict) -> Outcome:
        """What came of the submission: as it is stored, else executed here and now."""
        assert self.parent is not None, "an exporter of nbgrader's"
        courses = self.parent.parent.coursedir
        names = resources["nbgrader"]
        submission = make_submission(courses, names["student"], names["assignment"], as_json(nb))
        settings = self.settings()
        outcomes = Outcomes(Path(courses.root), self.run)
        key = key_of(submission, settings)
        outcome = outcomes.get(key)
        if outcome is None:
            outcome = execute(submission, settings)
            outcomes.put(key, outcome)
        return outcome


def working_isolation(wanted: str) -> str:
    """The isolation that ``auto`` stands for on this machine; any other stands for itself.

    Raises:
        CourseError: students' code can't be kept apart here; the message says why.
    """
    if wanted == "none":
        return wanted
    from course_utils.kernels.sandbox import why_not

    reason = why_not()
    if reason:
        raise CourseError(
            f"{reason}; or say --isolation none, which runs students' code as you, "
            "with all your files in its reach"
        )
    return "bwrap"


def make_submission(courses, student: str, chapter: str, notebook: str) -> Submission:
    """What execution needs of one student: a sanitised notebook and the files beside it.

    Args:
        courses: nbgrader's ``CourseDirectory``.
        student: whose submission.
        chapter: of which chapter.
        notebook: the sanitised notebook, as JSON text.

    Raises:
        CourseError: what was handed in cannot be graded.
    """
    folder = Path(courses.format_path(courses.submitted_directory, student, chapter))
    source = Path(courses.format_path(courses.source_directory, ".", chapter))
    check_folder(folder)
    handed_in = read_files(folder, courses.ignore)
    files = {name: data for name, data in handed_in.items() if name not in NBGRADER_FILES}
    # nbgrader lays the course's own files over a student's.
    files |= read_files(source, courses.ignore)
    solution = (source / f"{chapter}.ipynb").read_text(encoding="utf-8")
    return Submission(student, chapter, notebook, solution, files)


def show_outcome(nb: NotebookNode, outcome: Outcome) -> None:
    """Put an outcome's outputs below the notebook's cells."""
    executed = nbformat.v4.reads(outcome.notebook).cells
    for cell, done in zip(nb.cells, executed, strict=True):
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = done.outputs, done.execution_count
        for output in cell.outputs:
            if is_grade(cell) and output.output_type == "stream":
                output.name = "stdout"


class RestoreCells(OverwriteCells):
    """nbgrader's ``OverwriteCells``, except that no change of a cell's marks costs the rest.

    nbgrader brings deleted checks back, and fails where the cell before one was deleted too, where
    a cell was copied, or where somebody changed what a cell is (a check, an exercise). Here every
    deleted cell of the source comes back, a copy counts as an ordinary cell, and what a cell is
    and how many points it gives is what the source says.
    """

    source: tuple[str, str, str] | None = None
    marks: tuple[dict[str, SourceCell], dict[str, float], set[str]] | None = None
    has_tasks = True

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        names = resources["nbgrader"]
        source = names["db_url"], names["assignment"], names["notebook"]
        # A class's submissions all have the same.
        if source != self.source:
            self.source, self.marks = source, None
        return super().preprocess(nb, resources)

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        marks = marks_of(cell)
        if "grade_id" in marks:
            sources, points, solutions = self.source_marks()
            name = marks["grade_id"]
            if name in sources:
                marks.update(grade=name in points, solution=name in solutions)
                if name in points:
                    marks["points"] = points[name]
                if unchanged(cell, sources[name]):
                    marks["checksum"] = sources[name].checksum
                    return cell, resources
        return super().preprocess_cell(cell, resources, cell_index)

    def source_marks(self) -> tuple[dict[str, SourceCell], dict[str, float], set[str]]:
        """The source's marked cells in order, the checks' points, the names of the exercises."""
        if self.marks is None:
            notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
            sources = {cell.name: cell for cell in notebook.source_cells}
            points = {cell.name: cell.max_score for cell in notebook.grade_cells}
            solutions = {cell.name for cell in notebook.solution_cells}
            self.has_tasks = bool(notebook.task_cells)
            self.marks = sources, points, solutions
        return self.marks

    def add_missing_grade_cells(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        for cell in nb.cells:
            # What nbgrader leaves of a copy, or of a cell that the source does not have.
            if "grade_id" not in marks_of(cell):
                cell.metadata.pop("nbgrader", None)
        sources, points, solutions = self.source_marks()
        previous = -1
        names = [marks_of(cell).get("grade_id") for cell in nb.cells]
        for source in sources.values():
            if source.name in names:
                previous = names.index(source.name)
                continue
            cell = self.missing_cell_transform(
                source, points.get(source.name, 0), is_solution=source.name in solutions
            )
            cell = nbformat.from_dict({**cell, "id": source.name})
            cell.metadata.nbgrader["grade"] = source.name in points
            previous += 1
            nb.cells.insert(previous, cell)
            names.insert(previous, source.name)
        return nb, resources

    def add_missing_task_cells(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        # nbgrader reads the whole source again to find that there are none.
        return super().add_missing_task_cells(nb, resources) if self.has_tasks else (nb, resources)


def unchanged(cell: NotebookNode, source: SourceCell) -> bool:
    """Whether a cell is what the source says, as far as a student may not change it."""
    return (
        cell.cell_type == source.cell_type
        and is_locked(cell) == source.locked
        and (not source.locked or compute_checksum(cell) == source.checksum)
    )


class CheckMarks(NbGraderPreprocessor):
    """nbgrader's ``CheckCellMetadata``, with the same check of the same marks done once.

    Each cell costs a check of nbgrader's own schema, and most marks are the same for a whole class.
    """

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        MarksValidator().validate_nb(nb)
        return nb, resources


class MarksValidator(MetadataValidator):
    """nbgrader's validator, which remembers the marks that it found right."""

    right: ClassVar[set[str]] = set()

    def validate_cell(self, cell: NotebookNode) -> None:
        marks = json.dumps([cell.cell_type, cell.metadata.get("nbgrader")], sort_keys=True)
        if marks not in self.right:
            super().validate_cell(cell)
            self.right.add(marks)


class HideTests(ClearHiddenTests):
    """Cut the hidden tests out of the checks, for feedback; what a student wrote stays as it is."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        return (
            super().preprocess_cell(cell, resources, cell_index)
            if is_grade(cell)
            else (cell, resources)
        )


class LetRunAllGoOn(NbGraderPreprocessor):
    """Tag each check of a release, so that *Run All Cells* shows every unsolved exercise.

    JupyterLab stops at the first cell that fails, unless the cell says that it may. And note what
    each exercise's cell looks like before there is an answer, for who reads a learner's progress.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        if is_grade(cell) and cell.cell_type == "code":
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
        elif is_solution(cell) and cell.cell_type == "code":
            cell.metadata[STUB] = stub_digest(cell.source)
        return cell, resources
