"""The light chapter's released notebook: answered, executed and judged as by ``course grade``."""

import json

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import determine_grade

from course_utils.grading.execution import execute
from course_utils.grading.submission import Outcome, Settings, Submission
from course_utils.kernels.sandbox import why_not
from course_utils.notebooks import read_notebook
from course_utils.project import pick_chapters
from support.answers import ROOT, grader_of
from support.hostile import (
    ERROR,
    ERROR_CHECK,
    LIGHT_CHAPTER,
    RIGHT_ERROR,
    RIGHT_SHAPES,
    SHAPES,
    SHAPES_CHECK,
    answer,
)

ALL = {SHAPES_CHECK: 1.0, ERROR_CHECK: 1.0, f"{ERROR_CHECK}-2": 1.0}
NONE = dict.fromkeys(ALL, 0.0)
NOTHING_OF_THE_ERROR = {**ALL, ERROR_CHECK: 0.0, f"{ERROR_CHECK}-2": 0.0}


def released() -> NotebookNode:
    """The released notebook's marked cells, unsolved."""
    (chapter,) = pick_chapters(ROOT, [LIGHT_CHAPTER])
    notebook = read_notebook(chapter.release)
    notebook.cells = [cell for cell in notebook.cells if grader_of(cell)]
    return notebook


def solved() -> NotebookNode:
    notebook = released()
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)
    return notebook


def run(notebook: NotebookNode, source: str | None = None, **settings) -> Outcome:
    (chapter,) = pick_chapters(ROOT, [LIGHT_CHAPTER])
    source = source or chapter.solution.read_text(encoding="utf-8")
    submission = Submission("kind", LIGHT_CHAPTER, nbformat.writes(notebook), source)
    isolation = "none" if why_not() else "bwrap"
    return execute(submission, Settings(**{"isolation": isolation, "cell_seconds": 10} | settings))


def points(outcome: Outcome) -> dict[str, float]:
    """The points of the checks above, as nbgrader reads them off their outputs.

    Of these alone: the chapter may get further exercises, which nobody solves here.
    """
    cells = nbformat.reads(outcome.notebook, as_version=4).cells
    checks = {grader_of(cell)["grade_id"]: cell for cell in cells if grader_of(cell).get("grade")}
    return {name: float(determine_grade(checks[name])[0]) for name in ALL if name in checks}


def outputs_of(outcome: Outcome, grade_id: str) -> str:
    cells = nbformat.reads(outcome.notebook, as_version=4).cells
    (cell,) = (cell for cell in cells if grader_of(cell).get("grade_id") == grade_id)
    return json.dumps(cell.outputs)
