"""How far a text stands out from what lies behind it, as WCAG counts it."""

from __future__ import annotations

import re


def themes(css: str) -> list[dict[str, str]]:
    """The named colours of a page's style sheet, of its light theme and of its dark one."""
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    # Those of all pages, light and dark, then the page's own.
    assert len(blocks) == 4
    named = [dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in blocks]
    return [named[0] | named[2], named[1] | named[3]]


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, from 1 to 21; 4.5 is enough for a text."""
    first, second = sorted([luminance(one), luminance(other)])
    return (second + 0.05) / (first + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
