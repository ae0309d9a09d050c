"""The notebook is JSON nested a hundred thousand times."""

ARRIVED = ["not a notebook"]


def hand_in(chapter, notebook, folder):
    tower = "[" * 100_000 + "]" * 100_000
    (folder / f"{chapter.name}.ipynb").write_text(f'{{"cells": {tower}}}')


def harm(graded):
    assert "not a notebook" in graded.marks.problem
