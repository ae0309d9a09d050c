"""Each process stays below the limit for one; together they do not."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer

ARRIVED = ["ended by 9"]
EARNS = {SHAPES: 1}
NEEDS_SANDBOX = True
# One after the other: many busy processes are put last, and would take long to fill their memory.
MANY = """
import mmap, os, signal, time
filling = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
signal.signal(signal.SIGINT, signal.SIG_IGN)  # a slow machine needs longer
for number in range(6):
    filled, not_yet = os.pipe()
    if os.fork() == 0:
        kept = mmap.mmap(-1, 300 * 2**20, flags=filling)  # the system fills it: the quickest way
        os.close(not_yet)
        time.sleep(600)
        os._exit(0)
    os.close(not_yet)
    os.read(filled, 1)
print("ended by", os.WTERMSIG(os.wait()[1]))
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, MANY)
