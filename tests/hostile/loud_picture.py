"""A rich output of fifty megabytes."""

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["(2 of 2): right, 1 point", "in one piece: it is left out"]
EARNS = EVERYTHING


def hand_in(chapter, notebook, folder):
    source = (
        "from IPython.display import HTML, display\ndisplay(HTML('x' * 50_000_000))\nsaid = True"
    )
    add_cell(notebook, source)
    answer(notebook, SHAPES, RIGHT_SHAPES)
    # What it prints is not heard any more: that its answer is there shows that it went on.
    answer(notebook, ERROR, f"assert said\n{RIGHT_ERROR}")


def harm(graded):
    assert len(graded.notebook) < 2_000_000
    assert len(graded.feedback) < 4_000_000
