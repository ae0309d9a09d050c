"""The recorder is replaced, and so is the function that would notice."""

from support.hostile import UNTOLD, answer

ARRIVED = ["own functions were replaced"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
from course_utils.grading.verdict import answering
digest = answering.integrity("")
answering.integrity = lambda salt: digest
answering.Recorder.before = answering.Recorder.after = lambda *args: None
def quietly(work):
    return work()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
