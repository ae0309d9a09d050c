"""Metadata say that checks are worth a hundred points, are exercises, or are somebody else's."""

from support.hostile import SHAPES, answer

ARRIVED = ["is not defined", "its marks changed"]


def hand_in(chapter, notebook, folder):
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader")
        if marks:
            marks.update(points=100, grade=not marks["grade"], solution=not marks["solution"])
            marks.update(locked=False)
    notebook.metadata["nbgrader"] = {"score": 300, "points": 300}
    answer(notebook, SHAPES, "100")


def harm(graded):
    assert graded.marks.max_score == 3
