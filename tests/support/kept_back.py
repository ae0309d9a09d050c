"""What no reader of the site may find: solutions, hidden tests, named answers; and a search for it.

Spaces don't count, for a page breaks lines and colours words. What some release itself shows
learners, outside of its checks, is not kept back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from course_utils.cells import HIDDEN_TESTS, SOLUTION, gives_points, grade_id, text_of
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter, all_chapters
from support.answers import read_answers

MARKER = re.compile(r"^[ \t]*### (?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS).*$", re.MULTILINE)
# A shorter line may stand in any text.
LONG = 40


def squeezed(text: str) -> str:
    """A text without its white space, and without the marks that a page shows as code."""
    return re.sub(r"[\s`]+", "", text)


@cache
def shown_by_releases(root: Path) -> str:
    """What learners read in all releases before any answer, but for the checks, squeezed."""
    cells = [
        cell for chapter in all_chapters(root) for cell in read_notebook(chapter.release).cells
    ]
    return "\n".join(squeezed(text_of(cell)) for cell in cells if not gives_points(cell))


def kept_back(chapter: Chapter) -> Iterator[tuple[str, str]]:
    """Name and squeezed text of each thing that the site must not hold.

    Solutions and hidden tests, whole and by their long lines; named answers, whole.
    """
    shown = shown_by_releases(chapter.root)
    for cell in read_notebook(chapter.solution).cells:
        for kind, pattern in (("solution", SOLUTION), ("hidden tests", HIDDEN_TESTS)):
            for place, found in enumerate(pattern.findall(text_of(cell))):
                text = MARKER.sub("", found)
                pieces = [text, *(line for line in text.splitlines() if len(line.strip()) >= LONG)]
                for piece in map(squeezed, pieces):
                    if piece and piece not in shown:
                        yield f"{kind} {place} of {grade_id(cell)}", piece
    for answer in read_answers(chapter):
        text = squeezed(answer.source)
        if text and text not in shown:
            yield f"answer {answer.name!r} to {answer.exercise}", text


def found_in(texts: dict[str, str], chapter: Chapter) -> list[str]:
    """What is kept back and yet stands in one of the texts, given squeezed by their names."""
    whole = "\n".join(texts.values())
    return [
        f"{name} in {next(where for where, text in texts.items() if piece in text)}"
        for name, piece in kept_back(chapter)
        if piece in whole
    ]
