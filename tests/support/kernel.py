"""Run a few cells in a real kernel and read what a learner would see."""

from __future__ import annotations

import re

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode


def run_cells(*sources: str) -> list[NotebookNode]:
    """The cells after they ran one after another in one fresh kernel; errors don't stop them."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True).execute()
    return notebook.cells


def traceback_of(cell: NotebookNode) -> str:
    """The traceback that a cell shows, without its colours; empty where it shows none."""
    lines = [
        line
        for output in cell.outputs
        if output.output_type == "error"
        for line in output.traceback
    ]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))
