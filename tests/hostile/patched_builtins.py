"""Python's own functions and exceptions are replaced by friendlier ones."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["all: True"]
PATCH = """
import builtins, os
class Quiet(BaseException):
    def __new__(cls, *args):
        return None
builtins.AssertionError = Quiet
builtins.all = builtins.any = lambda *args: True
builtins.round = lambda *args: 5.0
def patch_the_rest():
    builtins.isinstance = lambda *args: True
    builtins.type = lambda value, *args: int
# The kernel itself could not go on with these: they are for who answers the judge.
os.register_at_fork(after_in_child=patch_the_rest)
print("all:", all([False]))
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PATCH)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
