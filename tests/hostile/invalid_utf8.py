"""The notebook's bytes are no text."""

import nbformat

ARRIVED = ["not a notebook"]


def hand_in(chapter, notebook, folder):
    text = nbformat.writes(notebook).encode()
    (folder / f"{chapter.name}.ipynb").write_bytes(
        text.replace(b"predict_warm_up", b"pr\xff\xfe", 1)
    )


def harm(graded):
    assert "not a notebook" in graded.marks.problem
