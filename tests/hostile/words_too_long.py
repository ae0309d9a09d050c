"""A failure whose message is longer than a cell may say, so that nobody hears of it."""

from support.hostile import ERROR, SHAPES, answer

ARRIVED = ["characters more"]
LONG = """
predict_warm_up = {"a + b": "x" * 5_000_000}
def root_mean_square_error(outputs, targets):
    raise RuntimeError("x" * 5_000_000)
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, LONG)
    answer(notebook, ERROR, LONG)


def harm(graded):
    assert len(graded.notebook) < 2_000_000
    assert len(graded.feedback) < 4_000_000
