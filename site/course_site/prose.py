"""A notebook's Markdown as MyST: call-outs, exercises' headings, links to what a sentence names."""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it import MarkdownIt

from course_utils.cells import HEADING as EXERCISE

# Each of these opens a quotation that is a call-out.
CALLOUTS = ("Then and now", "Often said")
CALLOUT = re.compile(rf"> \*\*(?P<kind>{'|'.join(CALLOUTS)})\.?\*\*\.?(?P<rest>.*)", re.DOTALL)
QUOTED = re.compile(r"^(?:>.*(?:\n|$))+", re.MULTILINE)
# What is not a sentence: code, mathematics, HTML, links, headings, rows of tables' rules.
KEPT = re.compile(
    r"(^(?P<fence>```|~~~|:::).*?^(?P=fence)[ \t]*$"
    r"|(?P<ticks>`+).+?(?P=ticks)"
    r"|\$\$.+?\$\$|\$[^$\n]+\$"
    r"|<[^>\n]+>"
    r"|\[[^\]\n]*\]\([^)\n]*\)"
    r"|^\#{1,6} .*$)",
    re.MULTILINE | re.DOTALL,
)
CHAPTER_LINK = re.compile(r"\[(?P<words>[^\]]*)\]\(\.\./(?P<name>\d\d_\w+)/(?P=name)\.ipynb\)")
NAMED = re.compile(
    r"(?P<chapter>\b[Cc]hapter (?P<chapter_number>\d\d)\b)"
    r"|(?P<exercise>\b[Ee]xercise (?P<exercise_number>\d\d?\.\d+))"
    r"|(?P<section>\b[Ss]ection (?P<section_number>\d{1,2})\b(?! of\b|\.\d))"
)


def callouts(source: str) -> str:
    """The same text, each quotation that opens as a call-out made an admonition."""

    def made(quoted: re.Match[str]) -> str:
        found = CALLOUT.match(quoted[0])
        if not found:
            return quoted[0]
        body = re.sub(r"^> ?", "", found["rest"], flags=re.MULTILINE).strip()
        style = found["kind"].lower().replace(" ", "-")
        return f":::{{admonition}} {found['kind']}\n:class: {style}\n\n{body}\n:::\n"

    return QUOTED.sub(made, source)


def exercise_headings(source: str) -> str:
    """The same text; stars, minutes and points of an exercise stand below its heading."""

    def made(heading: re.Match[str]) -> str:
        stars = len(heading["stars"])
        facts = [
            f'<span role="img" aria-label="difficulty {stars} of 3">{heading["stars"]}</span>',
            f"{heading['minutes']} min",
            f"{heading['points']} {heading['unit']}",
        ]
        if heading["core"]:
            facts.append('<span class="core-mark">core</span>')
        return (
            f"(exercise-{heading['number'].replace('.', '-')})=\n"
            f"### Exercise {heading['number']} — {heading['title']}\n\n"
            f'<div class="exercise-facts">{" · ".join(facts)}</div>\n'
        )

    return EXERCISE.sub(made, source)


def raise_headings(source: str) -> str:
    """The same text, each heading below the second level a level higher, without its mark."""
    return _outside_fences(
        source, lambda text: re.sub(r"^#(##+ .*?)(?: · core)?$", r"\1", text, flags=re.MULTILINE)
    )


def linked(source: str, place: Callable[[str, str], str | None]) -> str:
    """The same text; chapters, sections and exercises that a sentence names are links.

    Args:
        source: Markdown.
        place: called with ``"chapter"``, ``"section"`` or ``"exercise"`` and the number; gives what
            the link leads to, or None where there is nothing.
    """

    def link(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        kind = kind.removesuffix("_number")
        target = place(kind, found[f"{kind}_number"])
        return f"[{found[0]}]({target})" if target else found[0]

    parts, last = [], 0
    for kept in KEPT.finditer(source):
        parts += [NAMED.sub(link, source[last : kept.start()]), kept[0]]
        last = kept.end()
    parts.append(NAMED.sub(link, source[last:]))

    def chapter(found: re.Match[str]) -> str:
        target = place("chapter", found["name"][:2])
        # A chapter that is not there yet, or not on this site.
        return f"[{found['words']}]({target})" if target else found["words"]

    return CHAPTER_LINK.sub(chapter, "".join(parts))


def _outside_fences(source: str, change: Callable[[str], str]) -> str:
    parts = re.split(r"(^```.*?^```[ \t]*$)", source, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))


def one_line_html(text: str) -> str:
    """A line of Markdown as HTML: code, emphasis and quotation marks; links as their words."""
    unlinked = re.sub(r"\[([^\]\n]+)\]\([^)\n]*\)", r"\1", " ".join(text.split()))
    return _MARKDOWN.renderInline(unlinked)


_MARKDOWN = MarkdownIt("commonmark", {"html": False})
