"""Operators run in a process of their own, forked when a check asks."""

from support.hostile import UNTOLD, answer

ARRIVED = ["Resource temporarily unavailable"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    import os, pickle
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, pickle.dumps(work()))
        os._exit(0)
    return pickle.loads(os.read(reader, 10_000))
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
