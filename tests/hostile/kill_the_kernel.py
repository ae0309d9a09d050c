"""The kernel kills itself with the signal that nothing can catch."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["it ended in root-mean-square-error"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "import os\nos.kill(os.getpid(), 9)")
