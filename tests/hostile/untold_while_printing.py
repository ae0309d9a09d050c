"""Operators run with the modes off, under the name that says that a tensor is being printed."""

from support.hostile import UNTOLD, answer

KNOWN_LIMIT = "PyTorch itself prints a tensor with the modes off, and the sign of it can be forged"

ARRIVED = [": right, "]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    from torch._C._profiler import _RecordFunctionFast
    from torch.utils._python_dispatch import _disable_current_modes
    with _RecordFunctionFast("printing a tensor"), _disable_current_modes():
        return work()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
