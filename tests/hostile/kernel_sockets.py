"""The kernel's own sockets are replaced by links that lead the grader elsewhere."""

from support.hostile import ERROR, RIGHT_SHAPES, SHAPES, answer, listening_at

ARRIVED = ["it ended in root-mean-square-error"]
EARNS = {SHAPES: 1}
NEEDS_SANDBOX = True
REPLACE = """
import glob, os, time
for path in glob.glob("/scratch/.*") + glob.glob(".*"):
    try:
        os.unlink(path)
        os.symlink({target!r}, path)
    except OSError as error:
        print(error)
for number in range(3, 100):
    if number not in range(20, 40):
        try:
            os.close(number)
        except OSError:
            pass
time.sleep(600)
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, REPLACE.format(target=listening_at(chapter)["path"]))
