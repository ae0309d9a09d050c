"""Other students' submissions are read and copied, and one is overwritten."""

from support.hostile import NEIGHBOURS_SECRET, add_cell

ARRIVED = ["looked everywhere"]
NEEDS_SANDBOX = True
COPY = """
import glob, os
# To the depth of a submission; nobody has all the time to look through the whole system.
places = [{root!r}, "..", "/home", "/root", "/tmp"]
for pattern in (place + "/*" * depth + ".ipynb" for place in places for depth in range(1, 5)):
    for path in glob.glob(pattern):
        try:
            with open(path) as file:
                print(path, file.read())
            with open(path, "w") as file:
                file.write("nothing")
        except OSError as error:
            print(error)
print("looked everywhere")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, COPY.format(root=str(chapter.root)))


def harm(graded):
    assert NEIGHBOURS_SECRET not in graded.said
    for path in graded.chapter.root.glob("submitted/*/*/*.ipynb"):
        assert not path.is_file() or path.read_bytes()[:10] != b"nothing", path
