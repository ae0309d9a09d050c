"""A notebook of another language's kernel, whose cells would run in a shell."""

from support.hostile import SHAPES, answer, forbidden_file

ARRIVED = ["another kernel"]


def hand_in(chapter, notebook, folder):
    notebook.metadata["kernelspec"] = {"name": "bash", "language": "bash", "display_name": "Bash"}
    notebook.metadata["language_info"] = {"name": "bash"}
    answer(notebook, SHAPES, f"touch {forbidden_file(chapter)}")


def harm(graded):
    assert "another kernel" in graded.marks.problem
    assert not forbidden_file(graded.chapter).exists()
