"""Which sections teach a term: those that say it oftenest, most of all in a heading or set apart.

The terms are listed in ``site/terms.txt``, one a line. Where a term has several forms, a regular
expression behind a colon says what is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from course_site.chapters import Section
from course_site.names import MOST, SHARE

TERMS = Path(__file__).resolve().parents[1] / "terms.txt"
HEADING_WEIGHT, APART_WEIGHT = 8, 5
# A term that is said so seldom in a section is not explained there.
LEAST = 2


def index_of_terms(
    sections: Iterable[Section], listed: Path = TERMS
) -> list[tuple[str, list[Section]]]:
    """Each term that some section teaches, with these sections, the best first."""
    read = [(section, " ".join(section.prose().split())) for section in sections]
    found = []
    for line in listed.read_text(encoding="utf-8").splitlines():
        term, _, pattern = line.partition(": ")
        teaching = _teaching(pattern or re.escape(term) + "s?", read)
        if teaching:
            found.append((term, teaching))
    return sorted(found, key=lambda entry: entry[0].lower())


def _teaching(pattern: str, read: list[tuple[Section, str]]) -> list[Section]:
    said = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)
    apart = re.compile(rf"\*(?:{pattern})\*", re.IGNORECASE)
    weights = []
    for section, prose in read:
        heading, set_apart = bool(said.search(section.title)), len(apart.findall(prose))
        weight = len(said.findall(prose)) + APART_WEIGHT * set_apart + HEADING_WEIGHT * heading
        weight *= section.weight
        if weight >= LEAST:
            weights.append((weight, heading or set_apart > 0, section))
    weights.sort(key=lambda entry: -entry[0])
    enough = SHARE * weights[0][0] if weights else 0
    taught = [entry for entry in weights[:MOST] if entry[0] >= enough]
    # Where it is set apart it is explained: before those that only say it somewhat oftener.
    taught.sort(key=lambda entry: not (entry[1] and entry[0] >= enough * 2))
    return [section for *_, section in taught]
