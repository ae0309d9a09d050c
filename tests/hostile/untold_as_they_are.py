"""The forbidden operators run and are counted: the other files of this name hide them."""

from support.hostile import UNTOLD, answer

ARRIVED = ["without making a tensor: empty ran"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    return work()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
