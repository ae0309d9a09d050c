"""The process ends itself in the middle, so that no check after it runs."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["it ended in root-mean-square-error"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "import os\nos._exit(0)")


def harm(graded):
    assert "root-mean-square-error" in graded.feedback
