"""Other students' submissions are read and copied, and one is overwritten."""

from support.hostile import NEIGHBOURS_SECRET, add_cell

NEEDS_SANDBOX = True
COPY = """
import glob, os
for folder in ({root!r}, "..", "../..", "../../..", "/scratch/.."):
    for path in glob.glob(f"{{folder}}/**/*.ipynb", recursive=True):
        with open(path) as file:
            print(path, file.read())
        with open(path, "w") as file:
            file.write("nothing")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, COPY.format(root=str(chapter.root)))


def harm(graded):
    assert NEIGHBOURS_SECRET not in graded.said
    for path in graded.chapter.root.glob("submitted/*/*/*.ipynb"):
        assert not path.is_file() or path.read_bytes()[:10] != b"nothing", path
