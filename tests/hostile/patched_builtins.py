"""Python's own functions and exceptions are replaced by friendlier ones."""

from support.hostile import ERROR, SHAPES, add_cell, answer

PATCH = """
import builtins
class Quiet(BaseException):
    def __new__(cls, *args):
        return None
builtins.AssertionError = Quiet
builtins.isinstance = lambda *args: True
builtins.all = builtins.any = lambda *args: True
builtins.round = lambda *args: 5.0
builtins.type = lambda value, *args: int
builtins.__build_class__ = builtins.__build_class__
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PATCH)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
