"""Recursion without a limit, until the stack of the process is full."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["it ended in root-mean-square-error"]
EARNS = {SHAPES: 1}
DEEP = """
import sys
sys.setrecursionlimit(10**9)
class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")
Deep().x
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, DEEP)
