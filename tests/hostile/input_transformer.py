"""Two lines of an IPython input hook turn every later cell, checks too, into nothing."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["kernel had ended before this check"]
HOOK = """
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])
get_ipython().input_transformers_post.append(lambda lines: ["pass\\n"])
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, HOOK)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
