"""What a refusal tells: the slip by its name, two numbers alone, or a bare error."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from course_utils.authoring.mutants.running import SURVIVED, Result

NAMED, NUMBERS, BARE = "named", "numbers", "bare"
CASES = re.compile(r"^\d+ of \d+ cases fail:$")
# What is left of a line when a checker compared two values, and had nothing to add.
COMPARED = (
    re.compile(r"differs in \d+ of \d+ elements, first at index .*: expected .*, got [^,;()]*$"),
    re.compile(r"expected .*, got (?!.* \(|\S*[.;] \w).*$"),
    re.compile(r"has (shape|dtype|size|stride) .*, expected [^:]*$"),
    re.compile(r"^\s*[^:]* is not [^:]*$"),
)
RAISED = re.compile(r"raised \w+: ")


def kind_of(result: Result) -> str:
    """Whether a refused mutant's message names the slip, shows numbers alone, or a bare error."""
    if result.kind != "AssertionError":
        return BARE
    lines = [line for line in result.words.splitlines() if line.strip()]
    if lines and CASES.match(lines[0]):
        lines = lines[1:]
    kinds = {_line(line) for line in lines}
    return next((kind for kind in (NAMED, NUMBERS) if kind in kinds), BARE)


def _line(line: str) -> str:
    if RAISED.search(line):
        return BARE
    if any(pattern.search(line) for pattern in COMPARED):
        return NUMBERS
    return NAMED


def share_named(results: Iterable[Result]) -> float:
    """Which part of the refused mutants is told what is wrong, and not only two numbers."""
    refused = [result for result in results if result.verdict != SURVIVED]
    return sum(kind_of(one) == NAMED for one in refused) / len(refused) if refused else 1.0


def candidates(results: Iterable[Result], at_least: int = 3) -> dict[str, list[Result]]:
    """Exercises in which so many different mutants are told two numbers alone.

    Different: of another operator, or in another line.
    """
    found: dict[str, dict[tuple, Result]] = defaultdict(dict)
    for result in results:
        if result.verdict != SURVIVED and kind_of(result) == NUMBERS:
            found[result.exercise].setdefault((result.mutant.operator, result.mutant.was), result)
    return {name: list(some.values()) for name, some in found.items() if len(some) >= at_least}
