"""Chapters and exercises that a sentence names are there, and a chapter doesn't name itself."""

import re
from functools import cache

import pytest
from nbformat import NotebookNode

from course_utils.authoring.source import read_source
from course_utils.cells import HEADING
from course_utils.project import all_chapters
from support.answers import ROOT, chapters, notebook_of

# "chapter 05", "chapters 05 and 07", "chapters 03, 04 or 06", "Exercise 5.3"
AND = r"(?:,\s+|,?\s+(?:and|or|to)\s+)?"
CHAPTERS = re.compile(rf"\b[Cc]hapters?\s+((?:\d\d\b(?!\.\d){AND})+)")
EXERCISES = re.compile(rf"\b[Ee]xercises?\s+((?:\d+\.\d+{AND})+)")


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_what_a_sentence_refers_to_is_there(chapter):
    wrong = gone(notebook_of(chapter), chapter.name, {one.name[:2] for one in all_chapters(ROOT)})
    assert not wrong, "\n".join(wrong)


@cache
def exercises_of(number: str) -> frozenset[str]:
    """The numbers of the exercises of the chapter with this number."""
    found = [one for one in all_chapters(ROOT) if one.name[:2] == number]
    return frozenset(heading["number"] for one in found for heading in headings(notebook_of(one)))


def headings(notebook: NotebookNode) -> list[re.Match]:
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return [heading for text in texts for heading in HEADING.finditer(text)]


def gone(notebook: NotebookNode, chapter: str, there: set[str]) -> list[str]:
    """Chapters and exercises that the sentences of a chapter name, and that can't be meant."""
    own = {heading["number"] for heading in headings(notebook)}
    wrong = []
    for cell in notebook.cells:
        text = cell.source if cell.cell_type == "markdown" else ""
        for number in re.findall(r"\d\d", " ".join(CHAPTERS.findall(text))):
            if number == chapter[:2]:
                wrong.append(f"{chapter} names itself as chapter {number}")
            elif number not in there:
                wrong.append(f"{chapter} names chapter {number}, which isn't there")
        for number in re.findall(r"\d+\.\d+", " ".join(EXERCISES.findall(text))):
            if number not in own | exercises_of(f"{int(number.split('.')[0]):02}"):
                wrong.append(f"{chapter} names exercise {number}, which isn't there")
    return wrong


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("As in chapters 05 and 07 (hooks).", []),
        ("As in chapters 05, 31 and 07.", ["names chapter 31, which isn't there"]),
        ("See chapter 17.", ["names itself as chapter 17"]),
        ("It took 17.10 seconds, as in exercise 5.1.", []),
        ("Exercise 5.99 says so.", ["names exercise 5.99, which isn't there"]),
    ],
)
def test_a_reference_to_what_is_not_there_is_seen(tmp_path, sentence, said):
    path = tmp_path / "17_good.py"
    path.write_text(f"# %% [markdown]\n# {sentence}\n", encoding="utf-8")
    wrong = gone(read_source(path), "17_good", {one.name[:2] for one in all_chapters(ROOT)})
    assert wrong == [f"17_good {words}" for words in said]
