"""The course as a picture: what is done, what is passed, and what to review."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Mapping

from course_utils.exercises import COLOURS, ChapterProgress, page_of
from course_utils.outline import part_of

LABEL, WIDTH, HEIGHT, GAP = 166, 168, 62, 26  # of a part's name and a chapter's tile, in pixels
TOP = 34  # above the first row, for the key
# White letters keep their contrast on both.
DONE, DUE = "#1d7a45", "#b4530a"
STATES = {
    "done": "every exercise solved",
    "passed": "the core path solved",
    "begun": "some exercise tried",
    "open": "not begun",
}


def state_of(chapter: ChapterProgress) -> str:
    """One of ``STATES``."""
    core = [one for one in chapter.exercises if one.core]
    if chapter.exercises and chapter.count("solved") == len(chapter.exercises):
        return "done"
    if core and all(one.state == "solved" for one in core):
        return "passed"
    return "begun" if chapter.count("untouched") < len(chapter.exercises) else "open"


def page_with_map(chapters: list[ChapterProgress], due: Mapping[str, int]) -> str:
    """The page of ``course progress --html``: the map, and below it a bar a chapter.

    Args:
        due: how many questions are due for review, by chapter.
    """
    return page_of(chapters, draw_map(chapters, due))


def draw_map(chapters: list[ChapterProgress], due: Mapping[str, int]) -> str:
    """An SVG: a row for each part of the course, a tile for each chapter."""
    rows = [
        (part, list(tiles))
        for part, tiles in itertools.groupby(chapters, lambda chapter: part_of(chapter.name))
    ]
    wide = max((len(tiles) for _, tiles in rows), default=0)
    width, height = LABEL + wide * (WIDTH + GAP), TOP + len(rows) * (HEIGHT + GAP)
    parts = [*_key()]
    for row, (part, tiles) in enumerate(rows):
        top = TOP + row * (HEIGHT + GAP)
        middle = top + HEIGHT / 2
        parts.append(f"<text x='0' y='{middle + 5}' font-weight='600'>{html.escape(part)}</text>")
        end = LABEL + (len(tiles) - 1) * (WIDTH + GAP)
        parts.append(f"<path d='M{LABEL} {middle}H{end}' stroke='currentColor' opacity='0.4'/>")
        for place, chapter in enumerate(tiles):
            left = LABEL + place * (WIDTH + GAP)
            parts += _tile(chapter, left, top, due.get(chapter.name, 0))
    inside = "".join(parts)
    return (
        f"<svg viewBox='0 0 {max(width, 640)} {height}' role='img' fill='currentColor' "
        f"font-size='13' aria-label='The course, chapter by chapter'>{inside}</svg>"
    )


def _key() -> Iterator[str]:
    left = LABEL
    for state, words in STATES.items():
        yield _box(left, 2, 18, 14, state)
        yield f"<text x='{left + 24}' y='14'>{words}</text>"
        left += 44 + 7 * len(words)
    yield _badge(left + 8, 9, 1)
    yield f"<text x='{left + 24}' y='14'>due for review</text>"


def _box(left: float, top: float, width: float, height: float, state: str) -> str:
    colours = {"done": DONE, "passed": COLOURS["solved"], "begun": COLOURS["tried"]}
    stroke = colours.get(state, "currentColor")
    fill = DONE if state == "done" else "Canvas"
    line = 1 if state == "open" else 3
    return (
        f"<rect x='{left}' y='{top}' width='{width}' height='{height}' rx='6' fill='{fill}' "
        f"stroke='{stroke}' stroke-width='{line}'/>"
    )


def _badge(x: float, y: float, count: int) -> str:
    return (
        f"<circle cx='{x}' cy='{y}' r='10' fill='{DUE}'/>"
        f"<text x='{x}' y='{y + 4}' text-anchor='middle' font-size='11' fill='#fff'>{count}</text>"
    )


def _tile(chapter: ChapterProgress, left: float, top: float, due: int) -> Iterator[str]:
    state = state_of(chapter)
    solved, total = chapter.count("solved"), len(chapter.exercises)
    words = chapter.problem or f"{STATES[state]}; {solved} of {total} solved; {due} due for review"
    title = f"{chapter.name[:2]} {chapter.title or chapter.name[3:]}"
    yield f"<g><title>{html.escape(f'{title}: {words}')}</title>"
    yield _box(left, top, WIDTH, HEIGHT, state)
    ink = " fill='#fff'" if state == "done" else ""
    short = title if len(title) <= 22 else f"{title[:20]}…"
    yield f"<text x='{left + 10}' y='{top + 24}'{ink}>{html.escape(short)}</text>"
    below = "can't be read" if chapter.problem else f"{solved} of {total} solved"
    yield f"<text x='{left + 10}' y='{top + 41}' font-size='11'{ink}>{below}</text>"
    if solved and state != "done":
        share = (WIDTH - 20) * solved / total
        yield f"<rect x='{left + 10}' y='{top + 48}' width='{share:.0f}' height='5' "
        yield f"fill='{COLOURS['solved']}'/>"
    if due:
        yield _badge(left + WIDTH - 4, top + 4, due)
    yield "</g>"
