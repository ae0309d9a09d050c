"""The answer finds the recorder in its caller's frame and strikes out what it wrote."""

from support.hostile import UNTOLD, answer

ARRIVED = ["operators ran that were hidden from this check"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    import sys
    frame = sys._getframe()
    while "recorder" not in frame.f_locals:
        frame = frame.f_back
    recorder = frame.f_locals["recorder"]
    before = list(recorder.operators)
    result = work()
    recorder.operators[:] = before
    return result
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
