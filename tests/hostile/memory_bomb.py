"""A cell takes more memory than there is."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["MemoryError"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, "kept = []\nwhile True:\n    kept.append(bytes(2**24))")
