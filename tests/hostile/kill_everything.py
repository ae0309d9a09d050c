"""``kill -9 -1``: every process that the student's user may end, the snapshots too.

What the kernel told the judge before stays told: small values need no snapshot.
"""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

NEEDS_SANDBOX = True
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "import os\nos.kill(-1, 9)\nos._exit(0)")
