"""Read the named answers under ``tests/answers/CHAPTER/GRADE_ID.py``.

Each file is in the percent format: a cell for each answer, whose options say what it is, and first
a text cell that lists the statement's rules (:mod:`course_utils.authoring.rules`)::

    # %% wrong="counts bytes" says=["in elements, not bytes"]
    def element_offset(...): ...

Jupytext reads such files as well; it takes forty times as long, and there are thousands of answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

START = re.compile(r"^# %%(?P<text> \[markdown\])?(?P<options>(?: .*)?)(?:\n|\Z)", re.MULTILINE)
COMMENT = re.compile(r"^# ?", re.MULTILINE)


@dataclass(frozen=True)
class AnswerCell:
    """A cell of a file of answers.

    Attributes:
        options: what stands behind the percent signs: ``right``, ``wrong``, ``says``, ``breaks``.
        source: an answer, or where ``is_text`` the text without its comment signs.
    """

    options: dict
    source: str
    is_text: bool


def read_cells(path: Path) -> list[AnswerCell]:
    """The cells of a file of answers, in order; what stands above the first is none of them."""
    from jupytext.cell_metadata import parse_key_equal_value

    text = path.read_text(encoding="utf-8")
    starts = list(START.finditer(text))
    cells = []
    for start, following in zip_longest(starts, starts[1:]):
        source = text[start.end() : following.start() if following else None].strip("\n")
        is_text = bool(start["text"])
        cells.append(
            AnswerCell(
                parse_key_equal_value(start["options"]),
                COMMENT.sub("", source) if is_text else source,
                is_text,
            )
        )
    return cells
