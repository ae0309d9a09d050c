"""Operators run where PyTorch's own switch has turned the modes off."""

from support.hostile import UNTOLD, answer

ARRIVED = ["operators ran that were hidden from this check"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    from torch.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes():
        return work()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
