"""A failure whose message no program can write down: half a character, a zero, no end."""

from support.hostile import ERROR, SHAPES, answer

ARRIVED = ["were refused (E"]
HALF = """
predict_warm_up = {"a + b\\ud800\\x00": "\\udfff"}
class Odd(ValueError):
    pass
Odd.__qualname__ = "E\\x00"
def root_mean_square_error(outputs, targets):
    raise Odd("\\ud800\\x00\\x1b[2J")
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, HALF)
    answer(notebook, ERROR, HALF)
