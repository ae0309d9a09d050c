"""Operators run in a thread that starts at the fork, before the judge asks."""

from support.hostile import UNTOLD, answer

ARRIVED = ["own functions were replaced"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
import os, queue, threading
asked, answered = queue.SimpleQueue(), queue.SimpleQueue()
def serve():
    while True:
        answered.put(asked.get()())
os.register_at_fork(after_in_child=lambda: threading.Thread(target=serve, daemon=True).start())
def quietly(work):
    asked.put(work)
    return answered.get()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
