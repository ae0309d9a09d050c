"""The course's checkers are replaced in every module that holds them."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["patched: True"]
PATCH = """
import sys
import course_utils
import course_utils.learner.checks, course_utils.learner.operators
import course_utils.grading.verdict.judging
patched = 0
names = [name for name in sys.modules if name.startswith("course_utils")]
for module in map(sys.modules.get, names):
    for name in list(vars(module)):
        if name.startswith(("check_", "_value", "_plain", "explain", "raised")):
            setattr(module, name, lambda *args, **keywords: "")
            patched += 1
print("patched:", patched > 5)
for name in ("check_close", "check_predictions", "check_raises", "forbid_changes"):
    globals()[name] = lambda *args, **keywords: ""
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PATCH)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
