"""Copying a list from top to bottom is no answer: no key is in the order of its statement."""

import re
from collections.abc import Iterator

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from nbformat import NotebookNode

from course_utils.authoring.source import read_source
from support.answers import chapters, grader_of, notebook_of


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_no_key_is_in_the_order_of_its_statement(chapter):
    found = [
        f"{name} asks for {', '.join(values)} in the order in which its statement lists them: "
        "shuffle what is asked for"
        for name, values, statement in keys(notebook_of(chapter))
        if in_order(values, statement)
    ]
    assert not found, "\n".join(found)


def keys(notebook: NotebookNode) -> Iterator[tuple[str, list[str], str]]:
    """Of each dict of texts that an exercise asks for: its name, the key, all above it."""
    statement = ""
    for cell in notebook.cells:
        heading = cell.cell_type == "markdown" and re.search(r"(?m)^#{2,3} ", cell.source)
        statement = cell.source if heading else f"{statement}\n{cell.source}"
        if not grader_of(cell).get("solution") or re.search(r"(?m)^(def|class) ", cell.source):
            continue
        names = {"torch": torch, "nn": nn, "F": F}
        exec(cell.source, names)
        above = statement.removesuffix(cell.source)
        for name, value in names.items():
            if isinstance(value, dict) and name != "__builtins__":
                texts = [text for text in value.values() if isinstance(text, str)]
                if len(texts) == len(value) > 3:
                    yield name, texts, above


def in_order(values: list[str], statement: str) -> bool:
    """Whether the statement lists them in this order, downwards or upwards."""
    quoted = [re.search(rf'["`]{re.escape(text)}["`]', statement) for text in values]
    places = [
        found.start() if found else statement.find(text)
        for found, text in zip(quoted, values, strict=True)
    ]
    return (
        -1 not in places
        and len(set(places)) == len(places)
        and places in (sorted(places), sorted(places, reverse=True))
    )


CLINIC = """
# %% [markdown]
# ### Exercise 17.8 — The clinic ★★ · 10 min · 3 points
#
# | cause | meaning |
# | --- | --- |
# | `"order"` | other order |
# | `"skip"` | one rank leaves |
# | `"exception"` | bad data |
# | `"uneven"` | more batches |

# %% nbgrader={"grade_id": "clinic", "solution": true}
clinic = {"1": None, "2": None, "3": None, "4": None}
### BEGIN SOLUTION
clinic = dict(zip("1234", KEY))
### END SOLUTION
"""


@pytest.mark.parametrize(
    ("key", "refused"),
    [
        (["order", "skip", "exception", "uneven"], True),
        (["uneven", "exception", "skip", "order"], True),
        (["uneven", "order", "skip", "exception"], False),
        (["order", "order", "skip", "uneven"], False),
    ],
)
def test_a_key_in_the_order_of_its_statement_is_seen(tmp_path, key, refused):
    path = tmp_path / "17_clinic.py"
    path.write_text(CLINIC.replace("KEY", repr(key)), encoding="utf-8")
    ((name, values, statement),) = keys(read_source(path))
    assert (name, values) == ("clinic", key)
    assert in_order(values, statement) == refused
