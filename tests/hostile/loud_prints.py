"""A hundred megabytes of text."""

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["x" * 1000, "the rest is left out"]
EARNS = EVERYTHING


def hand_in(chapter, notebook, folder):
    add_cell(notebook, "for _ in range(100_000):\n    print('x' * 1000)")
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)


def harm(graded):
    assert len(graded.notebook) < 2_000_000
    assert len(graded.feedback) < 4_000_000
