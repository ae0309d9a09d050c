"""The answer is nested so deeply that whoever unpacks it falls over."""

from support.hostile import ERROR, SHAPES, answer

ARRIVED = ["[[<list>]]"]
DEEP = """
predict_warm_up = []
for _ in range(100_000):
    predict_warm_up = [predict_warm_up]
def root_mean_square_error(outputs, targets):
    return predict_warm_up
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, DEEP)
    answer(notebook, ERROR, DEEP)
