"""The answer never returns when a check calls it: the judge must not wait for ever."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

TIMES_OUT = True
ARRIVED = ["did not return in time"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "def root_mean_square_error(x, y):\n    while True:\n        pass")
