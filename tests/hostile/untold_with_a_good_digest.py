"""The recorder is replaced, and so is the function that would notice."""

from support.hostile import UNTOLD, answer

KNOWN_LIMIT = (
    "operators are watched in the student's own process, and who rewrites the watcher is not seen"
)

CHAPTER = "02_storage_and_strides"
QUIETLY = """
from course_utils.grading import answering
digest = answering.integrity()
answering.integrity = lambda: digest
answering.Recorder.before = answering.Recorder.after = lambda *args: None
def quietly(work):
    return work()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
