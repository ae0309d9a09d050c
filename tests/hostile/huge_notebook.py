"""A notebook of 200 MB, nearly all of it blanks."""

import nbformat

ARRIVED = ["larger than"]


def hand_in(chapter, notebook, folder):
    path = folder / f"{chapter.name}.ipynb"
    nbformat.write(notebook, path)
    with path.open("a") as file:
        for _ in range(200):
            file.write(" " * 2**20)


def harm(graded):
    assert "larger than" in graded.marks.problem
