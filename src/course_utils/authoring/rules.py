"""A statement's rules, each with a wrong answer that breaks it, each kind of input with a case.

They are listed at the top of ``tests/answers/CHAPTER/GRADE_ID.py``, in a text cell::

    # %% [markdown]
    # Rules:
    #
    # - "Leave `x` as it is"
    # - "No loop"
    #
    # Admits:
    #
    # - "any dtype": torch.int32
    #
    # %% wrong="a loop" breaks="No loop" says=["grows with the rows"]

What is in quotes stands in the statement, word for word; so the two can't drift. Behind the colon
is what the check says of the case, where a learner sees it: in the check's visible part, or in a
text of the chapter's package, from which many checks take their cases. Each rule has a wrong answer
whose ``breaks`` quotes it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

from course_utils.authoring.answer_files import read_cells
from course_utils.authoring.source import read_source
from course_utils.cells import (
    HEADING,
    HIDDEN_TESTS,
    SOLUTION,
    exercise_of,
    grade_id,
    is_check,
    is_exercise,
)
from course_utils.project import Chapter

LINE = re.compile(r'^- "(?P<quote>.+?)"(?:: (?P<case>.+))?$')


@dataclass
class Listed:
    """What a file of answers lists.

    Attributes:
        rules: what the statement forbids, promises, or leaves as it was, in its own words.
        admits: by a kind of input in the statement's words, what the check says of its case.
        breaks: by a wrong answer's name, the rule that it breaks.
        unread: lines that are neither.
    """

    rules: list[str] = field(default_factory=list)
    admits: dict[str, str] = field(default_factory=dict)
    breaks: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def read(path: Path) -> Listed | None:
    """What a file of answers lists; None where it has no list."""
    listed, found = Listed(), False
    for cell in read_cells(path):
        if "breaks" in cell.options:
            listed.breaks[str(cell.options.get("wrong"))] = cell.options["breaks"]
        part = ""
        for line in cell.source.splitlines() if cell.is_text else ():
            if line in ("Rules:", "Admits:"):
                part, found = line, True
            elif found and line.strip():
                _read_line(listed, part, line.strip())
    return listed if found else None


def _read_line(listed: Listed, part: str, line: str) -> None:
    match = LINE.match(line)
    if match and part == "Rules:" and match["case"] is None:
        listed.rules.append(match["quote"])
    elif match and part == "Admits:" and match["case"] is not None:
        listed.admits[match["quote"]] = match["case"]
    else:
        listed.unread.append(line)


def statements(chapter: Chapter) -> dict[str, str]:
    """By an exercise's grade id, its statement: from its heading to its cell, and the docstring."""
    found, text = {}, ""
    for cell in read_source(chapter.source).cells:
        if cell.cell_type == "markdown":
            headings = list(HEADING.finditer(cell.source))
            text = cell.source[headings[-1].start() :] if headings else f"{text}\n{cell.source}"
        elif is_exercise(cell):
            found[grade_id(cell)] = f"{text}\n{SOLUTION.sub('', cell.source)}"
            text = ""
    return found


def _plain(text: str) -> str:
    return " ".join(text.split())


def problems(chapter: Chapter) -> list[str]:
    """What of a chapter's lists doesn't fit its statements, answers and checks; a line each."""
    told = []
    checks: dict[str, str] = {}
    for cell in read_source(chapter.source).cells:
        if is_check(cell):
            name = exercise_of(grade_id(cell))
            checks[name] = checks.get(name, "") + HIDDEN_TESTS.sub("", cell.source)
    package = _texts(chapter)
    for name, statement in statements(chapter).items():
        listed = _listed(chapter, name)
        if listed is None:
            continue
        told += [f"{name}: not a rule of the list: {line}" for line in listed.unread]
        quotes = [*listed.rules, *listed.admits]
        told += [
            f'{name}: the statement doesn\'t say "{quote}"'
            for quote in quotes
            if _plain(quote) not in _plain(statement)
        ]
        told += [
            f'{name}: no wrong answer breaks "{rule}": give one breaks="…"'
            for rule in listed.rules
            if rule not in listed.breaks.values()
        ]
        told += [
            f'{name}, {answer}: it breaks "{rule}", which is not listed'
            for answer, rule in listed.breaks.items()
            if rule not in listed.rules
        ]
        told += [
            f'{name}: no case for "{quote}": the check says nothing of {case}'
            for quote, case in listed.admits.items()
            if case not in checks.get(name, "") and not any(case in text for text in package)
        ]
    return told


def _texts(chapter: Chapter) -> list[str]:
    """What the modules of the chapter's package say: all their texts, but for docstrings."""
    folder = chapter.root / "src" / "course_utils" / "chapters" / chapter.topic
    texts = []
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in told
        ]
    return texts


def unlisted(chapter: Chapter) -> list[str]:
    """The exercises whose answers' file has no list yet."""
    return [name for name in statements(chapter) if _listed(chapter, name) is None]


def _listed(chapter: Chapter, exercise: str) -> Listed | None:
    path = chapter.root / "tests" / "answers" / chapter.name / f"{exercise}.py"
    return read(path) if path.exists() else None
