"""Metadata say that checks are worth a hundred points, are exercises, or are somebody else's."""

from support.hostile import SHAPES, answer


def hand_in(chapter, notebook, folder):
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader")
        if marks:
            marks.update(points=100, grade=not marks["grade"], solution=not marks["solution"])
            marks.update(locked=False, extra_credit=50, auto_score=100, manual_score=100)
    notebook.metadata["nbgrader"] = {"score": 300, "points": 300}
    answer(notebook, SHAPES, "100")


def harm(graded):
    assert graded.marks.max_score == 3
