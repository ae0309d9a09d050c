"""The kernel stops itself, alive but frozen, and waits for the grader to give up."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["would not be interrupted"]
EARNS = {SHAPES: 1}
NEEDS_SANDBOX = True


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)")
