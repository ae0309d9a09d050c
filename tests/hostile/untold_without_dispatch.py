"""Operators run below the place where modes are told of them."""

from support.hostile import UNTOLD, answer

ARRIVED = ["operators ran that were hidden from this check"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    import torch
    with torch._C._DisableTorchDispatch():
        return work()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
