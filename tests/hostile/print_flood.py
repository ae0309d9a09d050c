"""Prints without end that no interrupt stops."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["would not be interrupted"]
EARNS = {SHAPES: 1}
FLOOD = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    print("x" * 100, flush=True)
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, FLOOD)
