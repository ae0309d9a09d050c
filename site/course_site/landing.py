"""The first page, and the list of the chapters."""

from __future__ import annotations

from pathlib import Path

from course_site import chapter_map
from course_site.chapters import WrittenChapter
from course_utils.outline import COURSE

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"


def landing_pages(chapters: list[WrittenChapter]) -> dict[str, str]:
    """The sources of the first page and of the chapters' list by their names."""
    pages = {"index.md": _landing(chapters), "chapters/index.md": _chapters(chapters)}
    return pages


def hours(minutes: int) -> str:
    """Minutes as hours, to the half: ``"2½"``."""
    halves = round(minutes / 30)
    return f"{halves // 2 or ''}{'½' if halves % 2 else ''}" or "0"


def _landing(chapters: list[WrittenChapter]) -> str:
    marks = {
        "IDEA": (TEMPLATES / "idea.svg").read_text(encoding="utf-8").strip(),
        "MAP": chapter_map.drawn(chapters),
        "CORE_TABLE": _core_table(chapters),
        "CHAPTERS": str(len(chapters)),
        "EXERCISES": str(sum(chapter.exercises for chapter in chapters)),
        "CORE_HOURS": str(round(sum(chapter.core_minutes for chapter in chapters) / 60)),
        "ALL_HOURS": str(round(sum(chapter.minutes for chapter in chapters) / 60)),
    }
    text = (TEMPLATES / "index.md").read_text(encoding="utf-8")
    for name, value in marks.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def _core_table(chapters: list[WrittenChapter]) -> str:
    """The core path by parts: its hours, and those of everything."""
    rows = []
    parts = {chapter.part or "Start" for chapter in chapters}
    for part in [*(name or "Start" for name in COURSE), "More"]:
        mine = [chapter for chapter in chapters if (chapter.part or "Start") == part]
        if part not in parts or not mine:
            continue
        links = ", ".join(
            f'<a href="chapters/{one.name}/index.html">{one.name[:2]} {one.title}</a>'
            for one in mine
        )
        core = sum(one.core_minutes for one in mine)
        every = sum(one.minutes for one in mine)
        rows.append(
            f'<tr><th scope="row">{part}</th><td>{links}</td>'
            f"<td>{hours(core)} h</td><td>{hours(every)} h</td></tr>"
        )
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("part", "chapters", "core path", "everything")
    )
    return (
        '<div class="wide" tabindex="0"><table class="table core-path"><thead><tr>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _chapters(chapters: list[WrittenChapter]) -> str:
    """A list by parts: what a chapter asks, and what it takes."""
    written = {chapter.name: chapter for chapter in chapters}
    planned = {name for names in COURSE.values() for name in names}
    more = {name: "" for name in written if name not in planned}
    lines, tree = ["# Chapters", ""], []
    for part, names in {**COURSE, **({"More": more} if more else {})}.items():
        if part:
            lines += [f"## {part}", ""]
        for name, title in names.items():
            chapter = written.get(name)
            if not chapter:
                lines += [f"**{name[:2]} {title}** is to come.", ""]
                continue
            tree.append(f"{name[:2]} {chapter.title} <{name}/index>")
            # The heading asks the chapter's question behind a colon.
            heading = chapter.opening.cells[0].source.partition("\n")[0].removeprefix("# ")
            asked = heading.partition(": ")[2] or heading
            lines += [
                f"**[{name[:2]} {chapter.title}]({name}/index.ipynb)** · "
                f"{asked[:1].upper()}{asked[1:]}  ",
                f"{chapter.exercises} exercises, {chapter.points:g} points; "
                f"{chapter.core_minutes} minutes core, {chapter.minutes} in all.",
                "",
            ]
    entries = "\n".join(tree)
    return "\n".join(lines) + f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
