"""Files are written until nothing is left of the disk."""

import shutil

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["written "]
EARNS = EVERYTHING
NEEDS_SANDBOX = True
FILL = """
import os, tempfile
written = 0
for folder in (".", "/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), tempfile.gettempdir()):
    for number in range(1000):
        try:
            with open(f"{folder}/fill-{number}", "wb") as file:
                written += file.write(bytes(2**24))
        except OSError:
            break
print("written", written)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, FILL)
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)


def harm(graded):
    for folder in (graded.chapter.root, "/tmp", "/var/tmp", "/dev/shm"):
        assert shutil.disk_usage(folder).free > 0
