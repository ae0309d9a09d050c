"""Check cells are emptied, copied, renamed, moved to the top and turned into text."""

import nbformat

from support.hostile import ERROR_CHECK, SHAPES_CHECK, cell_of

ARRIVED = ["copied, the last one counts", "an ordinary cell now"]


def hand_in(chapter, notebook, folder):
    cell_of(notebook, SHAPES_CHECK).source = "pass"
    cell = cell_of(notebook, ERROR_CHECK)
    cell.source = "pass"
    for number in range(3):
        copy = nbformat.from_dict({**cell, "id": f"copy-{number}"})
        notebook.cells.insert(number, copy)
    last = cell_of(notebook, ERROR_CHECK + "-2")
    last.cell_type, last.source = "markdown", "passed"
    last.pop("outputs"), last.pop("execution_count")
    unknown = nbformat.from_dict({**cell, "id": "unknown"})
    unknown.metadata.nbgrader.grade_id = "<b>bonus</b>"
    unknown.metadata.nbgrader.points = 50
    notebook.cells.append(unknown)


def harm(graded):
    assert graded.marks.max_score == 3
    assert "<b>bonus</b>" not in graded.feedback
