"""The map on the first page: every chapter by part, and which leans on which, as SVG."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass

from course_site.chapters import WrittenChapter
from course_utils.outline import COURSE


@dataclass(frozen=True)
class Layout:
    """Sizes in pixels: of a chapter's box, of the gaps between boxes, of the parts' names."""

    style: str
    columns: int
    width: int
    height: int
    across: int
    down: int
    margin: int
    characters: int


WIDE = Layout("map-wide", 4, 182, 66, 44, 62, 112, 15)
# Too narrow for arrows: each box says what it leans on.
NARROW = Layout("map-narrow", 2, 170, 84, 8, 10, 2, 15)


def drawn(chapters: list[WrittenChapter]) -> str:
    """Two drawings of the map, for wide and for narrow windows; a style sheet shows one."""
    return f'<figure class="map">{_drawing(chapters, WIDE)}{_drawing(chapters, NARROW)}</figure>'


def arrows(chapters: list[WrittenChapter]) -> list[tuple[str, str]]:
    """Pairs of names: the second leans on the first, and by way of no chapter between them."""
    names = {chapter.name[:2]: chapter.name for chapter in chapters}
    direct = {
        chapter.name: {names[number] for number in chapter.leans_on if number in names}
        for chapter in chapters
    }
    reached: dict[str, set[str]] = {}
    for chapter in chapters:
        below = {name for name in direct[chapter.name] if name < chapter.name}
        reached[chapter.name] = below.union(*(reached[name] for name in below))
    return [
        (one, chapter.name)
        for chapter in chapters
        for one in sorted(direct[chapter.name])
        if not any(one in reached.get(other, ()) for other in direct[chapter.name] - {one})
    ]


def _places(layout: Layout, chapters: list[WrittenChapter]) -> tuple[dict, list, int]:
    """Each chapter's corner; the parts' names with their heights; how high it all is."""
    planned = {name for names in COURSE.values() for name in names}
    more = {chapter.name: "" for chapter in chapters if chapter.name not in planned}
    corners, parts, row = {}, [], 0
    heading = 0 if layout.margin > 60 else 34
    top = 8
    for part, names in {**COURSE, **({"More": more} if more else {})}.items():
        top += heading if part else 0
        parts.append((part, top))
        for position, name in enumerate(names):
            column, row = position % layout.columns, position // layout.columns
            left = layout.margin + column * (layout.width + layout.across)
            corners[name] = (left, top + row * (layout.height + layout.down))
        top += (row + 1) * (layout.height + layout.down)
    return corners, parts, top - layout.down + 8


def _drawing(chapters: list[WrittenChapter], layout: Layout) -> str:
    corners, parts, height = _places(layout, chapters)
    width = layout.margin + layout.columns * (layout.width + layout.across) - layout.across + 20
    written = {chapter.name: chapter for chapter in chapters}
    titles = {name: title for names in COURSE.values() for name, title in names.items()}
    lines = []
    if layout is WIDE:
        lines = [_arrow(corners, layout, one, other) for one, other in arrows(chapters)]
    boxes = [
        _box(name, corner, layout, written.get(name), titles.get(name, ""))
        for name, corner in corners.items()
    ]
    headings = [_part(part, top, layout) for part, top in parts if part]
    marker = (
        f'<defs><marker id="tip-{layout.style}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" '
        'class="map-tip"/></marker></defs>'
    )
    return (
        f'<svg class="{layout.style}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="group" aria-label="The chapters, and which leans on which">'
        f"{marker}{''.join(headings)}{''.join(lines)}{''.join(boxes)}</svg>"
    )


def _part(part: str, top: int, layout: Layout) -> str:
    if layout.margin <= 60:
        return f'<text class="map-part" x="{layout.margin}" y="{top - 9}">{part}</text>'
    rows = textwrap.wrap(part, 11)
    first = top + layout.height / 2 - 9 * (len(rows) - 1) + 5
    spans = "".join(
        f'<tspan x="4" y="{first + 18 * place:g}">{row}</tspan>' for place, row in enumerate(rows)
    )
    return f'<text class="map-part">{spans}</text>'


def _box(
    name: str, corner: tuple[int, int], layout: Layout, chapter: WrittenChapter | None, title: str
) -> str:
    left, top = corner
    shown = chapter.title if chapter else title
    rows = textwrap.wrap(shown, layout.characters)[:2]
    words = "".join(
        f'<tspan x="{left + 40}" y="{top + (27 if len(rows) == 1 else 22) + 17 * place}">'
        f"{html.escape(row)}</tspan>"
        for place, row in enumerate(rows)
    )
    below = "to come"
    if chapter:
        below = f"{chapter.core_minutes} min core, {chapter.minutes} in all"
    rectangle = (
        f'<rect x="{left}" y="{top}" width="{layout.width}" height="{layout.height}" rx="8"/>'
        f'<text class="map-number" x="{left + 10}" y="{top + 27}">{name[:2]}</text>'
        f'<text class="map-title">{words}</text>'
        f'<text class="map-minutes" x="{left + 10}" y="{top + 56}">{below}</text>'
    )
    if layout is NARROW and chapter and chapter.leans_on:
        leans = " ".join(chapter.leans_on)
        rectangle += (
            f'<text class="map-minutes" x="{left + 10}" y="{top + 74}">leans on {leans}</text>'
        )
    if not chapter:
        return f'<g class="map-box map-planned">{rectangle}</g>'
    return (
        f'<a class="map-box" href="chapters/{name}/index.html" data-chapter="{name[:2]}">'
        f"{rectangle}</a>"
    )


def _arrow(corners: dict[str, tuple[int, int]], layout: Layout, name: str, to: str) -> str:
    """A line from a chapter's box to that of one that leans on it.

    Beside each other in a row: straight. From one row to the next: from foot to head. Further: down
    the gap between two columns, so that it passes behind no box.
    """
    one, other = corners[name], corners[to]
    wide, high, step = layout.width, layout.height, layout.height + layout.down
    # Lines from different chapters that share a way keep a little apart.
    shift = (int(name[:2]) * 7 % 5 - 2) * 6
    if one[1] == other[1] and other[0] - one[0] == wide + layout.across:
        path = f"M{one[0] + wide} {one[1] + high / 2:g} H{other[0] - 2}"
    elif other[1] - one[1] <= step:
        start, end = one[0] + wide / 2 + shift, other[0] + wide / 2 + 3 * shift
        foot, head = one[1] + high, other[1] - 2
        if one[1] == other[1]:
            foot, head, end = one[1] + high, other[1] + high + 2, other[0] + wide / 2
        half = layout.down * 0.8 if head >= foot else layout.down * 0.6
        sign = 1 if one[1] == other[1] else -1
        path = (
            f"M{start:g} {foot} C{start:g} {foot + half:g} {end:g} {head + sign * half:g} "
            f"{end:g} {head}"
        )
    else:
        start, end = one[0] + wide / 2 + shift, other[0] + wide / 2 + 3 * shift
        foot, head = one[1] + high, other[1] - 2
        gap = other[0] - layout.across / 2 + shift
        bend = layout.down
        path = (
            f"M{start:g} {foot} C{start:g} {foot + bend * 0.7:g} {gap:g} {foot + bend * 0.3:g} "
            f"{gap:g} {foot + bend:g} V{head - bend:g} "
            f"C{gap:g} {head - bend * 0.3:g} {end:g} {head - bend * 0.7:g} {end:g} {head}"
        )
    return (
        f'<path class="map-line" d="{path}" marker-end="url(#tip-{layout.style})" '
        f'data-from="{name[:2]}" data-to="{to[:2]}"/>'
    )
