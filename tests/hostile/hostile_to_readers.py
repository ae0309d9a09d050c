"""Source text that no parser of Python takes, for whatever reads it outside the sandbox."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["too many nested parentheses", "MemoryError"]
EARNS = {SHAPES: 1}


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    for source in (
        "a" + ".b" * 24_000,
        "-" * 49_000 + "1",
        "(" * 40_000,
        "x = '\x00'",
        "if 1:\n" * 500,
        "lambda:" * 7000 + "1",
        "\u202e" * 1000,
    ):
        add_cell(notebook, source, before=ERROR)
