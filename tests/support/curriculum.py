"""The topics and errata that a cell may name: ``tests/curriculum/*.txt``, one a line.

A line is ``name: what it means``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

CURRICULUM = Path(__file__).resolve().parents[1] / "curriculum"


@cache
def meanings(kind: str) -> dict[str, str]:
    """For each name of a kind, ``"topics"`` or ``"errata"``, what it means, in one line.

    Raises:
        ValueError: a line has no name or no meaning.
    """
    found = {}
    for line in (CURRICULUM / f"{kind}.txt").read_text(encoding="utf-8").splitlines():
        name, colon, meaning = line.partition(": ")
        if not colon or not meaning.strip() or " " in name:
            raise ValueError(f"tests/curriculum/{kind}.txt: not 'name: what it means': {line!r}")
        found[name] = meaning.strip()
    return found
