"""A percent source as a notebook: ids, marks, and how every check begins and ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_utils.cells import exercise_of, gives_points, grade_id, is_check, marks_of
from course_utils.errors import CourseError
from course_utils.exercises import exercises_of

NBGRADER_DEFAULTS = {
    "grade": False,
    "locked": False,
    "schema_version": 3,
    "solution": False,
    "task": False,
}
NOTEBOOK_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
IGNORE_OUTPUT_TAG = "nbval-ignore-output"
PROGRESS_ID = "progress"
# What name_checks adds to a check.
CHECK_LINES = 3


def read_source(path: Path) -> NotebookNode:
    """A percent source as a notebook without outputs, its cell ids and metadata made complete.

    A cell's id is its nbgrader grade id, or its position where it has none, so that the same
    source always gives the same ids.

    Raises:
        CourseError: the file is not a percent source, a cell's metadata cannot be read, or two
            cells share a grade id.
    """
    import jupytext

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: cannot be read ({error})") from error
    if not re.search(r"^# %%", text, re.MULTILINE):
        raise CourseError(f"{path}: not a percent source: no line starts with '# %%'")
    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except Exception as error:  # a header's YAML or a cell's metadata fails in many ways
        reason = " ".join(str(error).split())[:200]
        raise CourseError(f"{path}: not a percent source ({reason})") from error
    course = notebook.metadata.get("course", {})
    if not isinstance(course, dict):
        raise CourseError(f"{path}: the header's course needs a title and minutes")
    notebook.metadata = nbformat.from_dict({**NOTEBOOK_METADATA, "course": course})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: set[str] = set()
    for position, cell in enumerate(notebook.cells):
        cell.metadata.pop("lines_to_next_cell", None)  # Jupytext's note on blank lines
        if "incorrectly_encoded_metadata" in cell.metadata:
            # Jupytext would carry on, and a solution without its mark would reach the learners.
            unread = cell.metadata["incorrectly_encoded_metadata"]
            raise CourseError(f"{path}: cell {position} has metadata that is not JSON: {unread}")
        grader = cell.metadata.get("nbgrader")
        if grader is None:
            cell.id = f"cell-{position:03d}"
            continue
        if "grade_id" not in grader:
            raise CourseError(f"{path}: cell {position} has nbgrader metadata without a grade_id")
        name = grader["grade_id"]
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise CourseError(f"{path}: the grade id {name!r} may hold letters, digits, - and _")
        if name in seen:
            raise CourseError(f"{path}: two cells have the grade id {name!r}")
        seen.add(name)
        # A check is always locked: nbgrader then restores an edited one from the source.
        locked = grader.get("locked", grader.get("grade", False))
        complete = {**NBGRADER_DEFAULTS, **grader, "locked": locked}
        if locked:
            cell.metadata.update(deletable=False, editable=False)
        cell.metadata["nbgrader"] = nbformat.from_dict(dict(sorted(complete.items())))
        cell.id = name
    name_checks(notebook)
    end_with_progress(notebook, path.stem)
    return notebook


def name_checks(notebook: NotebookNode) -> None:
    """Let each check begin with its exercise's name, and end by saying that all was right.

    A folded cell, a traceback and nbgrader's Validate show a check's first line; and a check that
    passed looks like one that did not run unless it says so.
    """
    labels = {exercise.name: exercise.label for exercise in exercises_of(notebook.cells)}
    parts: dict[str, list[NotebookNode]] = {name: [] for name in labels}
    for cell in notebook.cells:
        exercise = exercise_of(grade_id(cell))
        if is_check(cell) and exercise in parts:
            parts[exercise].append(cell)
    for name, checks in parts.items():
        for part, cell in enumerate(checks, 1):
            which = f" ({part} of {len(checks)})" if len(checks) > 1 else ""
            points = marks_of(cell).get("points")
            what = json.dumps(labels[name] + which, ensure_ascii=False)
            cell.source = "\n".join(
                [
                    f"# {labels[name]}{which}",
                    cell.source,
                    # Just before it is used: a check, or a learner, may have a name like that.
                    "from course_utils import passed",
                    f"passed({what}, points={points})",
                ]
            )


def end_with_progress(notebook: NotebookNode, chapter: str) -> None:
    """Put behind the last check, and its hints, a cell that shows what is solved and what open."""
    checks = [place for place, cell in enumerate(notebook.cells) if gives_points(cell)]
    if not checks:
        return
    place = checks[-1] + 1
    while place < len(notebook.cells) and "<details>" in notebook.cells[place].source:
        place += 1
    source = f'from course_utils import show_progress\n\nshow_progress("{chapter}")'
    cell = nbformat.v4.new_code_cell(source, id=PROGRESS_ID)
    cell.metadata["tags"] = [IGNORE_OUTPUT_TAG]
    notebook.cells.insert(place, cell)
