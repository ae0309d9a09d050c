"""A chapter's cells on a system that doesn't fork, as Windows: ``support/elsewhere`` says how."""

from __future__ import annotations

import ast
import os
import re
import tempfile
from pathlib import Path
from unittest import mock

from nbclient import NotebookClient
from nbformat import NotebookNode

from course_utils.authoring.source import read_source
from course_utils.cells import exercise_of, gives_points, grade_id, is_exercise
from course_utils.copies.copying import add_other_files
from course_utils.copies.review import given_by, names_in
from course_utils.grading.solution import statements_of
from course_utils.project import Chapter
from support.answers import ROOT

ELSEWHERE = ROOT / "tests" / "support" / "elsewhere"
CELL_SECONDS = 900


def needed_for(cells: list[NotebookNode], wanted: re.Pattern[str]) -> list[NotebookNode]:
    """The code cells that hold ``wanted``, an exercise's checks with its answer, and those above
    that bind a name which they use."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    exercises = [exercise_of(grade_id(cell)) for cell in code]
    asked = {
        name
        for name, cell in zip(exercises, code, strict=True)
        if name and wanted.search(cell.source) and (is_exercise(cell) or gives_points(cell))
    }
    kept = {
        number
        for number, cell in enumerate(code)
        if wanted.search(cell.source) or number == 0 or exercises[number] in asked
    }
    for number in range(len(code) - 1, -1, -1):
        if number in kept:
            tree = statements_of(code[number])
            for name in names_in(code[number].source) if tree else ():
                # A check binds what it looks at, and no cell below leans on that.
                above = [n for n in range(number) if not gives_points(code[n])]
                kept.update([n for n in above if name in given_by(code[n])][-1:])
                kept.update(n for n in above if name in _added_to(code[n]))
    return [code[number] for number in sorted(kept)]


def _added_to(cell: NotebookNode) -> set[str]:
    """The names whose attributes or items a cell sets: ``Run.step = step``."""
    return {
        node.value.id
        for statement in statements_of(cell)
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute | ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
    }


def failures(chapter: Chapter, wanted: re.Pattern[str] | None = None) -> tuple[list[str], int]:
    """What fails, a line a cell, when a chapter's source is run there; and how many cells ran.

    Args:
        wanted: only the cells that hold it and those that they need; by default all.
    """
    notebook = read_source(chapter.source)
    if wanted:
        notebook.cells = needed_for(notebook.cells, wanted)
    with tempfile.TemporaryDirectory() as folder:
        add_other_files(chapter, Path(folder))
        found = {"PYTHONPATH": str(ELSEWHERE), "OMP_NUM_THREADS": "1"}
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            allow_errors=True,
            resources={"metadata": {"path": folder}},
        )
        with mock.patch.dict(os.environ, found):
            client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    told = [
        f"{grade_id(cell) or cell.source[:60]!r}: {output.ename}: {output.evalue}"
        for cell in code
        for output in cell.outputs
        if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", [])
    ]
    return told, len(code)
