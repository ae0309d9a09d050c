"""The answer ends its process when a check calls it, hoping that no verdict counts as one."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["the process of the answer ended while a check asked it"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "import os\nroot_mean_square_error = lambda *_: os._exit(0)")
