"""The answer never says how it looks: its check ends all the same, and the others are judged."""

from support.hostile import ERROR, RIGHT_ERROR, SHAPES, answer

TIMES_OUT = True
ARRIVED = ["did not return in time"]
EARNS = {ERROR: 2}
ENDLESS = """
class Endless:
    def __repr__(self):
        while True:
            pass

predict_warm_up = Endless()
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, ENDLESS)
    answer(notebook, ERROR, RIGHT_ERROR)
