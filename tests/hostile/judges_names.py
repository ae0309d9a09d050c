"""Cells take the names that the judge, the checks and the checkers use."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["names are taken"]
NAMES = """
class Yes:
    def __getattr__(self, name):
        return self
    def __call__(self, *args, **keywords):
        return self
    def __eq__(self, other):
        return True
    def __contains__(self, other):
        return True
    def __iter__(self):
        return iter(())
    __hash__ = None
yes = Yes()
for name in ("_judging", "begin", "install", "device", "check_close", "check_raises", "shape_of",
             "check_predictions", "because", "actual", "slips", "torch", "round", "tuple",
             "isinstance", "forbid_changes", "expression", "guess", "form", "got", "eval", "a"):
    globals()[name] = yes
print("names are taken")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, NAMES)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
