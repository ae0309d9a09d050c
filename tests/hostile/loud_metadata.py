"""Ten megabytes in an output's metadata and its kind, which no limit on text counts."""

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["the rest is left out"]
EARNS = EVERYTHING
LOUD = """
from IPython.display import display
display({"text/plain": "a"}, metadata={"text/plain": {"x": "y" * 10_000_000}}, raw=True)
display({"text/" + "z" * 5_000_000: "a"}, raw=True)
raise type("E" * 5_000_000, (Exception,), {})("quiet")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, LOUD)
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)


def harm(graded):
    assert len(graded.notebook) < 2_000_000
    assert len(graded.feedback) < 4_000_000
