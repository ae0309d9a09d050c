"""``kill -9 -1``: every process that the student's user may end, the snapshots too.

What the kernel told the judge before stays told: small values need no snapshot.
"""

from nbformat.v4 import new_code_cell

from support.hostile import ERROR, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["the process of the answer ended while a check asked it"]
NEEDS_SANDBOX = True
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)
    notebook.cells.append(new_code_cell("import os\nos.kill(-1, 9)\nos._exit(0)"))
