"""Operators run in a thread that is started when a check asks."""

from support.hostile import UNTOLD, answer

ARRIVED = ["start new thread"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
