"""The notebook itself is a link to the solution."""

ARRIVED = ["symbolic link"]


def hand_in(chapter, notebook, folder):
    (folder / f"{chapter.name}.ipynb").symlink_to(chapter.solution)


def harm(graded):
    assert "symbolic link" in graded.marks.problem
