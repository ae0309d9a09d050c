"""Survivors that are known: equivalent, with one line why, or not yet looked at.

``tests/mutants/CHAPTER.toml`` has a table for each: the exercise, the operator, the lines that were
there and those that are now. An entry holds for every right answer of the exercise that has those
lines. Without ``why`` it is open: a check has to refuse it, or a line has to say why not.
``[sampled]`` says of how many mutants of the model solution an exercise was measured, where running
all would take too long.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from course_utils.authoring.mutants.trees import Mutant
from course_utils.errors import CourseError

Key = tuple[str, str, str]
HEAD = """\
# Mutants that the checks of this chapter let pass: `course mutants` makes them.
# `why` says in one line why a mutant is as right as its answer; an entry without it is open.
"""


@dataclass(frozen=True)
class Known:
    """One survivor that is known."""

    exercise: str
    operator: str
    was: str
    now: str
    why: str = ""

    @property
    def key(self) -> Key:
        return self.exercise, self.was, self.now


def key_of(exercise: str, mutant: Mutant) -> Key:
    """What tells a survivor of an exercise from the others."""
    return exercise, mutant.was, mutant.now


def read(path: Path) -> dict[Key, Known]:
    """The known survivors of a chapter; none where there is no file.

    Raises:
        CourseError: the file is not as it should be.
    """
    if not path.exists():
        return {}
    try:
        found = [Known(**entry) for entry in _parsed(path).get("survivor", [])]
    except TypeError as error:
        raise CourseError(f"{path}: {error}") from error
    return {entry.key: entry for entry in found}


def sampled(path: Path) -> dict[str, int]:
    """Of how many mutants those exercises were measured of which not all were run.

    Raises:
        CourseError: the file is not as it should be.
    """
    return _parsed(path).get("sampled", {}) if path.exists() else {}


def _parsed(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: {error}") from error


def write(path: Path, entries: list[Known], sampled: dict[str, int] | None = None) -> None:
    """Write a chapter's list, in the order given."""
    blocks = []
    if sampled:
        blocks.append("\n".join(["[sampled]", *(f"{name} = {n}" for name, n in sampled.items())]))
    for entry in entries:
        fields = ["exercise", "operator", "was", "now"] + (["why"] if entry.why else [])
        lines = [f"{name} = {_text(getattr(entry, name))}" for name in fields]
        blocks.append("\n".join(["[[survivor]]", *lines]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join([HEAD.rstrip(), *blocks]) + "\n", encoding="utf-8")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
