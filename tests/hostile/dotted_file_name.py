"""A file's name leads up and out of the submission, for who takes it for a path."""

from support.hostile import forbidden_file

ARRIVED = ["name is not allowed"]


def hand_in(chapter, notebook, folder):
    (folder / "..\\..\\..\\was-here").write_text("out")


def harm(graded):
    assert "name is not allowed" in graded.marks.problem
    assert not forbidden_file(graded.chapter).exists()
