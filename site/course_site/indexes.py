"""The pages that lead into the chapters: by name, by term, by what an older tutorial says.

Search leaves these pages out: who looks for a name wants the sections that teach it. Those it shows
first, by what ``names.js`` says.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from course_site import prose
from course_site.chapters import Cell, Section, WrittenChapter
from course_site.names import Name, index_of_names
from course_site.terms import index_of_terms
from course_utils.errors import CourseError

CLAIM = re.compile(
    r"\s*(?:\*Claim:\*)?\s*\*?[\"“](?P<claim>.*?)[\"”]\*?\s*(?:\*Truth:\*)?(?P<truth>.*)",
    re.DOTALL,
)
TREE = ("names", "terms", "then-and-now", "errata")


def index_pages(root: Path, chapters: list[WrittenChapter]) -> dict[str, str]:
    """The sources of the index's pages by their names."""
    sections = [section for chapter in chapters for section in chapter.sections]
    names, terms = index_of_names(sections), index_of_terms(sections)
    rows = list(then_and_now(sections))
    errata = meanings(root, "errata")
    shown = cells_of(sections, "errata")
    wrong = [name for name in errata if name in shown]
    pages = {
        "names": _page(
            "Names of PyTorch",
            f"{len(names)} names, and the sections that teach them: the first is the one to read. "
            "Made from the course's cells.",
            _letters((name.name, _homes(name), name.sections) for name in names),
        ),
        "terms": _page(
            "Terms",
            f"{len(terms)} terms, and the sections that explain or use them most.",
            _letters((term, "", where) for term, where in terms),
        ),
        "then-and-now": _page(
            "Then and now",
            f"{len(rows)} recipes that were once right, or were often said, and what holds today. "
            "Each has a cell in its section that shows it.",
            _table(("what is said", "what holds", "where"), rows),
        ),
        "errata": _page(
            "Errata of older tutorials",
            f"{len(wrong)} statements of widely read tutorials that are wrong, or wrong by now. "
            "Each is corrected by a cell that runs: follow the link to it.",
            _table(
                ("what is said", "what holds", "the cell"),
                [(*_claim_and_truth(errata[name]), shown[name]) for name in wrong],
            ),
        ),
    }
    first, last = names[0].name, names[-1].name
    counts = (
        f"- [Names of PyTorch](names.md): {len(names)}, from `{first}` to `{last}`\n"
        f"- [Terms](terms.md): {len(terms)}\n"
        f"- [Then and now](then-and-now.md): {len(rows)} old recipes in one table\n"
        f"- [Errata of older tutorials](errata.md): {len(wrong)}, each with its cell\n"
    )
    tree = "\n".join(TREE)
    pages["index"] = f"# Index\n\n{counts}\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    sources = {f"indexes/{name}.md": text for name, text in pages.items()}
    return {**sources, "_made/names.js": _for_search(names)}


def _for_search(names: Iterable[Name]) -> str:
    """What the search page knows of names: for each the pages that teach it, with their labels."""
    known = {
        name.name.lower(): [[f"{one.page}.html", prose.one_line_html(one.label)] for one in where]
        for name in names
        for where in [name.sections]
    }
    return f"const TAUGHT = {json.dumps(known, ensure_ascii=False, indent=0)};\n"


def meanings(root: Path, kind: str) -> dict[str, str]:
    """What each name in a cell's ``topics`` or ``errata`` means, in the curriculum's words.

    Raises:
        CourseError: a line has no name or no meaning.
    """
    path = root / "tests" / "curriculum" / f"{kind}.txt"
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, colon, meaning = line.partition(": ")
        if not colon or not meaning.strip():
            raise CourseError(f"{path.name}: not 'name: what it means': {line!r}")
        found[name] = meaning.strip()
    return found


def cells_of(sections: Iterable[Section], kind: str) -> dict[str, str]:
    """For each name in the cells' ``topics`` or ``errata`` the links to those cells, as HTML."""
    found: dict[str, list[tuple[Section, Cell]]] = {}
    for section in sections:
        for cell in section.cells:
            for name in getattr(cell, kind):
                found.setdefault(name, []).append((section, cell))
    links = {}
    for name, cells in found.items():
        # Of several cells in a section the first is where to begin reading.
        first = {section.page: (section, cell) for section, cell in reversed(cells)}
        links[name] = ", ".join(
            link(section, cell.anchor) for section, cell in reversed(list(first.values()))
        )
    return links


def then_and_now(sections: Iterable[Section]) -> Iterable[tuple[str, str, str]]:
    """Claim, truth and place of each call-out, as HTML."""
    for section in sections:
        for cell in section.cells:
            if cell.kind != "markdown":
                continue
            for quoted in prose.QUOTED.finditer(cell.source):
                found = prose.CALLOUT.match(quoted[0])
                if not found:
                    continue
                body = re.sub(r"^> ?", "", found["rest"], flags=re.MULTILINE)
                said = CLAIM.match(body)
                claim, truth = (said["claim"], said["truth"]) if said else ("", body)
                yield prose.one_line_html(claim), prose.one_line_html(truth), link(section)


def link(section: Section, anchor: str = "") -> str:
    """A link from a page of the index to a section, or to a cell in it."""
    place = f"#{anchor}" if anchor else ""
    return f'<a href="../{section.page}.html{place}">{prose.one_line_html(section.label)}</a>'


def _claim_and_truth(meaning: str) -> tuple[str, str]:
    claim, _, truth = meaning.partition(" — ")
    return prose.one_line_html(claim), prose.one_line_html(truth)


def _homes(name: Name) -> str:
    kept = sorted(name.homes, key=lambda home: (len(home), home))[:2]
    return ", ".join(home.removeprefix("torch.").replace("Tensor", "tensor") for home in kept)


def _page(title: str, words: str, body: str) -> str:
    return f"---\nnosearch: true\n---\n\n# {title}\n\n{words}\n\n```{{raw}} html\n{body}\n```\n"


def _letters(entries: Iterable[tuple[str, str, list[Section]]]) -> str:
    """Entries by their first letters, with a bar of letters on top."""
    groups = [
        (letter, list(members))
        for letter, members in groupby(
            entries, lambda entry: next((c for c in entry[0].upper() if c.isalnum()), "_")
        )
    ]
    bar = " ".join(f'<a href="#letter-{letter}">{letter}</a>' for letter, _ in groups)
    parts = [f'<nav class="letters" aria-label="Letters">{bar}</nav>']
    for letter, members in groups:
        parts.append(f'<h2 id="letter-{letter}" class="letter">{letter}</h2><dl class="entries">')
        for name, homes, sections in members:
            home = f" <small>{html.escape(homes)}</small>" if homes else ""
            shown = f"<code>{html.escape(name)}</code>" if homes else html.escape(name)
            where = "".join(f"<dd>{link(section)}</dd>" for section in sections)
            parts.append(f"<dt>{shown}{home}</dt>{where}")
        parts.append("</dl>")
    return "\n".join(parts)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        '<div class="wide" tabindex="0"><table class="table claims">'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )
