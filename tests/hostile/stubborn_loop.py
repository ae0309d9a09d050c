"""A loop that swallows the interrupt and every signal it can."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["would not be interrupted"]
EARNS = {SHAPES: 1}
STUBBORN = """
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, STUBBORN)


def harm(graded):
    assert "would not be interrupted" in graded.feedback
