"""A loop without end in a cell: it is interrupted and costs that exercise alone."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["KeyboardInterrupt"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "while True:\n    pass")
