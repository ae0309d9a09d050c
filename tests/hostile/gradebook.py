"""The gradebook is looked for, and 99 points are written into every row."""

from support.hostile import add_cell

ARRIVED = ["tried "]
NEEDS_SANDBOX = True
WRITE = """
import glob, os, sqlite3
found = [{path!r}, *glob.glob("/*/gradebook.db"), *glob.glob("/*/*/gradebook.db")]
for up in range(8):
    found.append("../" * up + "gradebook.db")
for path in found:
    try:
        with sqlite3.connect(f"file:{{path}}?mode=rw", uri=True) as gradebook:
            gradebook.execute("update grade set auto_score = 99, manual_score = 99")
        print("wrote to " + "the gradebook")
    except sqlite3.Error:
        pass
print("tried", len(found))
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, WRITE.format(path=str(chapter.root / "gradebook.db")))


def harm(graded):
    assert "wrote to the gradebook" not in graded.said
