"""The table of a chapter's mutants, and its survivors as differences."""

from __future__ import annotations

from collections.abc import Iterable

from course_utils.authoring.mutants import words
from course_utils.authoring.mutants.known import Key, Known, key_of
from course_utils.authoring.mutants.running import HIDDEN, SURVIVED, VISIBLE, Result

COLUMNS = ("exercise", "mutants", "visibly", "hidden only", "survived", "equivalent", "named")


def rows(results: Iterable[Result], known: dict[Key, Known]) -> list[tuple]:
    """A row of ``COLUMNS`` for each exercise, and one for all.

    ``survived`` counts what is open or new; ``named`` is the share of the refused ones whose
    message says more than two numbers.
    """
    results = list(results)
    names = list(dict.fromkeys(result.exercise for result in results))
    made = [_row(name, [r for r in results if r.exercise == name], known) for name in names]
    return [*made, _row("all", results, known)]


def _row(name: str, results: list[Result], known: dict[Key, Known]) -> tuple:
    survivors = [result for result in results if result.verdict == SURVIVED]
    equivalent = [one for one in survivors if is_equivalent(one, known)]
    return (
        name,
        len(results),
        sum(result.verdict == VISIBLE for result in results),
        sum(result.verdict == HIDDEN for result in results),
        len(survivors) - len(equivalent),
        len(equivalent),
        f"{words.share_named(results):.0%}",
    )


def is_equivalent(result: Result, known: dict[Key, Known]) -> bool:
    """Whether a line says why this mutant is right."""
    entry = known.get(key_of(result.exercise, result.mutant))
    return entry is not None and bool(entry.why)


def difference(result: Result) -> str:
    """A mutant in a few lines: what kind, of which answer, what was there and what is."""
    head = f"{result.exercise}, {result.answer}: {result.mutant.operator}"
    was = [f"  - {line}" for line in result.mutant.was.splitlines()]
    now = [f"  + {line}" for line in result.mutant.now.splitlines()]
    return "\n".join([head, *was, *now])
