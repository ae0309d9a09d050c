"""Operators run below the place where modes are told of them."""

from support.hostile import UNTOLD, answer

KNOWN_LIMIT = (
    "operators are watched in the student's own process, and who rewrites the watcher is not seen"
)

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
