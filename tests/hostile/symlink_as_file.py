"""A file beside the notebook is a link to the instructor's gradebook."""

from support.hostile import add_cell

ARRIVED = ["symbolic link"]
READ = "print(open('notes.txt', 'rb').read())"


def hand_in(chapter, notebook, folder):
    (folder / "notes.txt").symlink_to(chapter.root / "gradebook.db")
    add_cell(notebook, READ)


def harm(graded):
    assert "SQLite format" not in graded.said
    assert "symbolic link" in graded.marks.problem
