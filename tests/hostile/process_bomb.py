"""Processes that make processes, and never end."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

# "would not be interrupted", or "interrupted after 6 s": as busy as the machine is.
ARRIVED = ["interrupted"]
EARNS = {SHAPES: 1}
NEEDS_SANDBOX = True
BOMB = """
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, BOMB)
