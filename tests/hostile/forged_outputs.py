"""The file that is handed in holds outputs as if every check had passed, and points."""

import nbformat

from support.hostile import ERROR, SHAPES, answer

ARRIVED = ["is not defined"]
FORGED = [
    {
        "output_type": "execute_result",
        "execution_count": 1,
        "metadata": {},
        "data": {"text/plain": "3"},
    },
    {"output_type": "stream", "name": "stdout", "text": "forged: all checks passed"},
]


def hand_in(chapter, notebook, folder):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(output) for output in FORGED]
            cell.execution_count = 1
    answer(notebook, SHAPES, "3")
    answer(notebook, ERROR, "3.0")


def harm(graded):
    assert "forged: all checks passed" not in graded.said
