"""The notebook is a pipe: who opens it waits for ever."""

import os

ARRIVED = ["not a regular file"]


def hand_in(chapter, notebook, folder):
    os.mkfifo(folder / f"{chapter.name}.ipynb")


def harm(graded):
    assert "not a regular file" in graded.marks.problem
