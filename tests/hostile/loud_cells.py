"""Many cells, each just as loud as a cell may be."""

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["the rest is left out"]
EARNS = EVERYTHING


def hand_in(chapter, notebook, folder):
    for _ in range(40):
        add_cell(notebook, "print('x' * 98_000)")
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)


def harm(graded):
    assert len(graded.notebook) < 2_000_000
    assert len(graded.feedback) < 4_000_000
