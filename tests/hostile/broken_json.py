"""The notebook is no JSON."""

ARRIVED = ["not a notebook"]


def hand_in(chapter, notebook, folder):
    (folder / f"{chapter.name}.ipynb").write_text('{"cells": [{"cell_type": "code", ')


def harm(graded):
    assert "not a notebook" in graded.marks.problem
