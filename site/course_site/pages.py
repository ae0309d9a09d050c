"""Sphinx's sources of the chapters: a notebook for each section, and links between them."""

from __future__ import annotations

import re
from collections.abc import Callable

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_site import prose
from course_site.chapters import Cell, Section, WrittenChapter
from course_utils.cells import HEADING

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# What a cell shows of its outputs, best first, is myst-nb's to choose: see conf.py.
# How a picture comes: graphs as a PNG, all others as HTML with a rendering for each theme.
PICTURES = ("image/png", "text/html")
COMMAND = "make lab LAB_ARGS={chapter}/{chapter}.ipynb"


def chapter_pages(chapter: WrittenChapter, all_chapters: list[WrittenChapter]) -> dict[str, str]:
    """The sources of a chapter's pages by their names: notebooks as text, the same each time."""
    place = _places(chapter, all_chapters)
    return {
        f"{section.page}.ipynb": _as_text(_notebook(chapter, section, place))
        for section in chapter.sections
    }


def _as_text(notebook: NotebookNode) -> str:
    for position, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{position:03d}"
    return nbformat.writes(notebook) + "\n"


def _places(
    chapter: WrittenChapter, chapters: list[WrittenChapter]
) -> Callable[[str, str], str | None]:
    """What says where a link from a page of this chapter leads."""
    openings = {other.name[:2]: f"../{other.name}/index.ipynb" for other in chapters}
    sections = {section.number: section for section in chapter.sections if section.number}
    exercises = {}
    for other in chapters:
        for section in other.sections:
            for heading in HEADING.finditer(section.prose()):
                target = f"exercise-{heading['number'].replace('.', '-')}"
                exercises[heading["number"]] = f"#{target}"

    def place(kind: str, number: str) -> str | None:
        if kind == "chapter":
            return None if number == chapter.name[:2] else openings.get(number)
        if kind == "exercise":
            return exercises.get(number)
        section = sections.get(number)
        return f"{section.slug}.ipynb" if section else None

    return place


def _notebook(
    chapter: WrittenChapter, section: Section, place: Callable[[str, str], str | None]
) -> NotebookNode:
    opening = section is chapter.opening
    cells = [] if opening else [new_markdown_cell(_head(section))]
    for cell in section.cells:
        if cell.errata or cell.topics:
            cells.append(new_markdown_cell(f'<div class="anchor" id="{cell.anchor}"></div>'))
        if cell.kind == "markdown":
            cells.append(new_markdown_cell(_text(cell.source, opening, place)))
        else:
            cells.append(_code(cell))
        if cell.kind == "exercise":
            cells.append(new_markdown_cell(_open_it(chapter)))
    if opening:
        cells.append(new_markdown_cell(_contents(chapter)))
    return new_notebook(cells=cells, metadata=METADATA)


def _text(source: str, opening: bool, place: Callable[[str, str], str | None]) -> str:
    text = prose.exercise_headings(source)
    text = text if opening else prose.raise_headings(text)
    text = re.sub(r"^(#+ .*?) · core$", r"\1", text, flags=re.MULTILINE)
    return prose.callouts(prose.linked(text, place))


def _head(section: Section) -> str:
    number = f"{section.number}. " if section.number else ""
    facts = ['<span class="core-mark">core</span>'] if section.core else []
    exercises = list(HEADING.finditer(section.prose()))
    if exercises:
        minutes = sum(int(found["minutes"]) for found in exercises)
        many = "exercise" if len(exercises) == 1 else "exercises"
        facts.append(f"{len(exercises)} {many}, {minutes} min")
    below = f'\n\n<div class="section-facts">{" · ".join(facts)}</div>' if facts else ""
    return f"# {number}{section.title}{below}"


def _code(cell: Cell) -> NotebookNode:
    tags = []
    if cell.folded:
        tags.append("hide-input")
    if cell.foretold:
        tags.append("hide-output")
    if cell.kind == "exercise":
        tags.append("exercise-stub")
    alts = [
        data.get("image/png", {}).get("alt", "")
        for data in (output.get("metadata", {}) for output in cell.outputs)
        if "image/png" in data
    ]
    metadata: dict[str, object] = {"tags": tags} if tags else {}
    if alts:
        metadata["mystnb"] = {"image": {"alt": " ".join(" ".join(alts).split())}}
    if cell.foretold:
        metadata.setdefault("mystnb", {})["code_prompt_show"] = "Predicted? See what it prints"
    return new_code_cell(cell.source, outputs=_shown(cell.outputs), metadata=metadata)


def _shown(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs; of a picture that also comes as words or as Mermaid, the picture alone."""
    shown = []
    for output in outputs:
        data = output.get("data", {})
        picture = next((kind for kind in PICTURES if kind in data), None)
        if picture == "image/png" or "course-picture" in data.get("text/html", ""):
            output = NotebookNode({**output, "data": NotebookNode({picture: data[picture]})})
        shown.append(output)
    return shown


def _open_it(chapter: WrittenChapter) -> str:
    command = COMMAND.format(chapter=chapter.name)
    return (
        ":::{admonition} Your turn\n:class: your-turn\n\n"
        "Open it in JupyterLab, where a check says at once what is right, and what is wrong in "
        f"words that help:\n\n```sh\n{command}\n```\n:::"
    )


def _contents(chapter: WrittenChapter) -> str:
    """What the opening ends with: the sections, as a list for readers and as Sphinx's tree."""
    rows = []
    for section in chapter.sections[1:]:
        minutes = [int(found["minutes"]) for found in HEADING.finditer(section.prose())]
        facts = ["core"] if section.core else []
        if minutes:
            many = "exercise" if len(minutes) == 1 else "exercises"
            facts.append(f"{len(minutes)} {many}")
        number = f"{section.number}. " if section.number else ""
        mark = f" <small>{' · '.join(facts)}</small>" if facts else ""
        rows.append(f"- [{number}{section.title}]({section.slug}.ipynb){mark}")
    tree = "\n".join(section.slug for section in chapter.sections[1:])
    return "## Sections\n\n" + "\n".join(rows) + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```"
