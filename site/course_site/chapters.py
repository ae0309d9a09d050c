"""The committed notebooks as sections: a release's cells, with what its solution printed below.

No cell that gives points is taken, and no output of a cell in which learners answer: so neither a
solution nor a check comes near the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from nbformat import NotebookNode

from course_utils.cells import gives_points, grade_id, headings, is_code, is_exercise, text_of
from course_utils.notebooks import read_notebook
from course_utils.outline import part_of
from course_utils.project import Chapter, all_chapters

HEADING = re.compile(r"^## (?P<text>.+)$", re.MULTILINE)
NUMBER = re.compile(r"(?P<number>\d+)\. ")
CORE = " · core"
PREDICT = re.compile(r"\*\*predict", re.IGNORECASE)
LEANS = re.compile(r"It leans on\*\*(?P<on>.*?)\*\*", re.DOTALL)
RANGE = re.compile(r"\b(\d\d) to (\d\d)\b")
WORDS_IN_A_SLUG = 8
# What the build adds to show how far a learner is: on a page everybody is as far.
PROGRESS = "progress"
# A fence: what looks like a heading inside is none.
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass
class Cell:
    """What is shown of a cell.

    Attributes:
        id: the cell's id, the same in the release and in the solution.
        kind: ``"markdown"``, ``"code"`` or ``"exercise"``.
        source: as released.
        outputs: what the solution's cell printed and drew; empty for an exercise.
        folded: whether its source opens folded in JupyterLab.
        foretold: whether the reader is asked to predict what it prints.
        exercise: of an exercise, its grade id.
        topics, errata: what the cell says that it teaches, and corrects.
    """

    id: str
    kind: str
    source: str
    outputs: list[NotebookNode] = field(default_factory=list)
    folded: bool = False
    foretold: bool = False
    exercise: str = ""
    topics: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """What a link to the cell ends with."""
        return f"at-{self.id}"


@dataclass
class Section:
    """One page: what stands below a ``##``, or a chapter's opening.

    Attributes:
        chapter: the folder's name of its chapter.
        title: the heading without its number and its mark; the chapter's title for the opening.
        number: as in the heading; empty where it has none.
        core: whether later chapters lean on it.
        slug: the page's file name without an ending.
    """

    chapter: str
    title: str
    number: str = ""
    core: bool = False
    slug: str = "index"
    cells: list[Cell] = field(default_factory=list)

    @property
    def page(self) -> str:
        """The page below the site's root, without an ending."""
        return f"chapters/{self.chapter}/{self.slug}"

    @property
    def label(self) -> str:
        """How a link to it reads: ``"05.3 What is kept"``; the opening by its chapter's number."""
        number = f".{self.number}" if self.number else ""
        return f"{self.chapter[:2]}{number} {self.title}"

    @property
    def weight(self) -> float:
        """How much what is said here counts as taught: half where a chapter sums itself up."""
        return 1.0 if self.number or self.slug == "index" else 0.5

    @property
    def exercises(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.kind == "exercise"]

    def prose(self) -> str:
        return "\n\n".join(cell.source for cell in self.cells if cell.kind == "markdown")


@dataclass
class WrittenChapter:
    """A chapter that is written, as the site shows it."""

    name: str
    title: str
    minutes: int
    core_minutes: int
    points: float
    exercises: int
    sections: list[Section]

    @property
    def part(self) -> str:
        return part_of(self.name)

    @property
    def opening(self) -> Section:
        return self.sections[0]

    @cached_property
    def leans_on(self) -> list[str]:
        """The numbers of the chapters that its opening names, in order."""
        found = LEANS.search(self.opening.prose())
        text = found["on"] if found else ""
        # What a chapter borrows and explains itself is in a further sentence.
        text = re.split(r"\.\s", text)[0]
        numbers = set(re.findall(r"\b\d\d\b", re.sub(r"\d+\.\d+", "", text)))
        for first, last in RANGE.findall(text):
            numbers |= {f"{number:02d}" for number in range(int(first), int(last) + 1)}
        return sorted(numbers - {self.name[:2]})


def read_chapters(root: Path, names: Iterable[str] = ()) -> list[WrittenChapter]:
    """Every chapter that has both notebooks, or those whose number is named."""
    wanted = tuple(names)
    return [
        read_chapter(chapter)
        for chapter in all_chapters(root)
        if chapter.release.is_file()
        and chapter.solution.is_file()
        and (not wanted or chapter.name.startswith(wanted))
    ]


def read_chapter(chapter: Chapter) -> WrittenChapter:
    """A chapter's released cells with its solution's outputs, section by section.

    Raises:
        ValueError: the release holds a cell that its solution lacks: they were built apart.
    """
    release, solution = read_notebook(chapter.release), read_notebook(chapter.solution)
    outputs = {cell.id: cell.get("outputs", []) for cell in solution.cells}
    missing = [cell.id for cell in release.cells if cell.id not in outputs]
    if missing:
        raise ValueError(f"{chapter.name}: the solution lacks {missing}: course build")
    course = release.metadata.course
    return WrittenChapter(
        name=chapter.name,
        title=course.title,
        minutes=course.minutes,
        core_minutes=course.get("core", 0),
        points=sum(cell.metadata.nbgrader.points for cell in release.cells if gives_points(cell)),
        exercises=len(headings(release.cells)),
        sections=_sections(chapter.name, course.title, _cells(release.cells, outputs)),
    )


def _cells(released: list[NotebookNode], outputs: dict[str, list[NotebookNode]]) -> list[Cell]:
    shown, foretold = [], False
    for cell in released:
        if cell.id == PROGRESS:
            continue
        about = {key: tuple(cell.metadata.get(key, ())) for key in ("topics", "errata")}
        if not is_code(cell):
            foretold = bool(PREDICT.search(text_of(cell)))
            shown.append(Cell(cell.id, "markdown", text_of(cell), **about))
        elif is_exercise(cell):
            shown.append(Cell(cell.id, "exercise", text_of(cell), exercise=grade_id(cell), **about))
        elif not gives_points(cell):
            folded = bool(cell.metadata.get("jupyter", {}).get("source_hidden"))
            shown.append(
                Cell(
                    cell.id,
                    "code",
                    text_of(cell),
                    outputs=outputs[cell.id],
                    folded=folded,
                    foretold=foretold and bool(outputs[cell.id]),
                    **about,
                )
            )
    return shown


def _sections(chapter: str, title: str, cells: list[Cell]) -> list[Section]:
    """The opening, which reaches to the first numbered heading, and a section for each heading."""
    numbered = any(
        NUMBER.match(heading["text"]) for cell in cells for heading in _headings_in(cell)
    )
    sections = [Section(chapter, title)]
    for cell in cells:
        place = 0
        for heading in _headings_in(cell):
            number = NUMBER.match(heading["text"])
            if numbered and not number and len(sections) == 1:
                continue
            _add(sections[-1], cell, cell.source[place : heading.start()])
            sections.append(_section(chapter, heading["text"], sections))
            place = heading.end()
        _add(sections[-1], cell, cell.source[place:])
    return sections


def _headings_in(cell: Cell) -> Iterator[re.Match[str]]:
    if cell.kind != "markdown":
        return
    fences = [found.span() for found in FENCE.finditer(cell.source)]
    for heading in HEADING.finditer(cell.source):
        if not any(first <= heading.start() < last for first, last in fences):
            yield heading


def _add(section: Section, cell: Cell, source: str) -> None:
    """Put a cell into a section, or the part of it that belongs there."""
    if cell.kind == "markdown" and not source.strip():
        return
    section.cells.append(Cell(**{**vars(cell), "source": source.strip("\n")}))


def _section(chapter: str, heading: str, before: list[Section]) -> Section:
    number = NUMBER.match(heading)
    title = heading[number.end() :] if number else heading
    core, title = title.endswith(CORE), title.removesuffix(CORE)
    words = re.findall(r"[a-z0-9_]+", title.lower().replace("'", "").replace("’", ""))
    slug = "-".join(([number["number"]] if number else []) + words[:WORDS_IN_A_SLUG])
    taken = {section.slug for section in before}
    while slug in taken:
        slug += "-again"
    return Section(chapter, title, number["number"] if number else "", core, slug)
