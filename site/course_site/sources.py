"""All that Sphinx reads, in one folder. Only what changed is written: so little is built anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from course_site.chapters import read_chapters
from course_site.documents import document_pages
from course_site.indexes import index_pages
from course_site.landing import landing_pages
from course_site.pages import chapter_pages


def made_sources(root: Path, wanted: Iterable[str] = ()) -> dict[str, str | bytes]:
    """Each source by its name below the folder.

    Args:
        root: the project's.
        wanted: numbers of chapters; all that are written if there are none.
    """
    chapters = read_chapters(root, wanted)
    sources: dict[str, str | bytes] = {}
    for chapter in chapters:
        sources |= chapter_pages(chapter, chapters)
    sources |= index_pages(root, chapters)
    sources |= landing_pages(chapters)
    sources |= document_pages(root)
    return sources


def write_sources(root: Path, folder: Path, wanted: Iterable[str] = ()) -> None:
    """Make ``folder`` hold the sources and nothing else; what stays the same is not touched."""
    sources = made_sources(root, wanted)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in sources:
            path.unlink()
    for name, text in sources.items():
        path = folder / name
        content = text.encode() if isinstance(text, str) else text
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
