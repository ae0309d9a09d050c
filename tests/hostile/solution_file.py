"""The solution notebook is looked for, and its answers are run."""

from support.hostile import ERROR, SHAPES, answer

ARRIVED = ["looked for it"]
NEEDS_SANDBOX = True
SOLVE = """
import glob, json
for path in [{path!r}, *glob.glob("/*/*/*/00_*.ipynb"), *glob.glob("/*/*/*/*/00_*.ipynb")]:
    try:
        with open(path) as file:
            cells = json.load(file)["cells"]
    except (OSError, ValueError, KeyError):
        continue
    for cell in cells:
        if cell["metadata"].get("nbgrader", {{}}).get("solution"):
            print(path, cell)
            exec("".join(cell["source"]))
print("looked for it")
"""


def hand_in(chapter, notebook, folder):
    source = SOLVE.format(path=str(chapter.solution))
    answer(notebook, SHAPES, source)
    answer(notebook, ERROR, source)


def harm(graded):
    assert "BEGIN SOLUTION" not in graded.said
