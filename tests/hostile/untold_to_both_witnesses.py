"""The recorder is emptied and the profile replaced, after the judge asked whether all is well."""

from support.hostile import UNTOLD, answer

KNOWN_LIMIT = (
    "operators are watched in the student's own process, and who rewrites the watcher is not seen"
)

ARRIVED = [": right, "]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    import sys
    from course_utils.grading.verdict import witness
    frame = sys._getframe()
    while "recorder" not in frame.f_locals:
        frame = frame.f_back
    recorder = frame.f_locals["recorder"]
    before = list(recorder.operators)
    result = work()
    recorder.operators[:] = before
    witness.compact = lambda events: ([witness.CALL], [0, -1])
    return result
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
