"""The answer keeps what the hidden tests hand to it, and a later cell prints it."""

import re

from support.hostile import ERROR, answer

ARRIVED = ["told 0 [] False"]
EARNS = {ERROR: 2}
KEEP = """
import torch
kept = []
def root_mean_square_error(outputs, targets):
    kept.append((outputs, targets))
    with open("kept", "a") as file:
        file.write("kept " + repr((outputs.tolist(), targets.tolist())))
    print("kept", kept[-1:])
    display(kept[-1:])
    if outputs.shape != targets.shape:
        raise ValueError("no")
    return (outputs - targets).square().mean().sqrt()
"""
TELL = """
import os, time
time.sleep(0.2)
print("told", len(kept), kept, os.path.exists("kept") and open("kept").read())
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, ERROR, KEEP)
    notebook.cells.append(notebook.cells[0].copy())
    notebook.cells[-1] = type(notebook.cells[0])(
        cell_type="code", id="tell", metadata={}, source=TELL, outputs=[], execution_count=None
    )


def harm(graded):
    assert "told 0 [] False" in graded.said
    assert not re.search(r"kept \\?\(\[\[", graded.said)
