"""Metadata of kinds that no program expects: numbers as names, lists as marks, no end."""

import json

ARRIVED = ["marks are broken"]


def hand_in(chapter, notebook, folder):
    notebook = json.loads(json.dumps(notebook))
    odd = [
        5,
        None,
        [],
        {"a": 1},
        "x" * 10_000,
        {"grade_id": [1]},
        {"grade_id": None, "grade": "yes"},
    ]
    cells = [cell for cell in notebook["cells"] if "nbgrader" in cell["metadata"]]
    for cell, marks in zip(cells, odd, strict=False):
        cell["metadata"]["nbgrader"] = marks
    text = json.dumps(notebook)
    (folder / f"{chapter.name}.ipynb").write_text(text)
