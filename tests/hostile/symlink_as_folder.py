"""The submission is a link to the folder with the solutions."""

ARRIVED = ["symbolic link"]


def hand_in(chapter, notebook, folder):
    folder.rmdir()
    folder.symlink_to(chapter.solution.parent, target_is_directory=True)


def harm(graded):
    assert "symbolic link" in graded.marks.problem
