"""Run the tests that concern one chapter: pytest, with what ``make test`` gives it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from course_utils.authoring.source import read_source
from course_utils.cells import exercise_texts
from course_utils.errors import CourseError
from course_utils.project import Chapter

# The tests that are run once for every chapter.
EVERY_CHAPTER = "tests/every_chapter"


def run(root: Path, chapter: Chapter, arguments: tuple[str, ...]) -> int:
    """Test one chapter in two processes.

    What a glance at the files shows to be missing is said at once, before the tests.

    Args:
        root: the course's folder.
        chapter: which one.
        arguments: further arguments for pytest. Where they name tests, only those are run.

    Returns:
        pytest's exit status; 1 where all tests pass and something is missing.

    Raises:
        CourseError: the tests are not here, as in an installed package, or the chapter's source
            can't be read.
    """
    if not (root / "tests" / "conftest.py").is_file():
        raise CourseError(f"no tests in {root}: run this in a clone of the course")
    missing = at_a_glance(root, chapter)
    for line in missing:
        print(f"{chapter.name}: {line}")
    print(f"{chapter.name}: finding its tests takes some seconds, then each shows a dot")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "--chapter", chapter.name, "-q", "--tb=short"]
    command += ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", *arguments]
    if not any((root / argument.partition("::")[0]).exists() for argument in arguments):
        command += tests_of(root, chapter)
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    return subprocess.run(command, cwd=root, env=environment).returncode or int(bool(missing))


def tests_of(root: Path, chapter: Chapter) -> list[str]:
    """Where a chapter's tests are: those of every chapter, and those of its own package."""
    own = f"tests/chapters/test_{chapter.topic}.py"
    return [EVERY_CHAPTER, own] if (root / own).is_file() else [EVERY_CHAPTER]


def at_a_glance(root: Path, chapter: Chapter) -> list[str]:
    """What a chapter lacks, in lines that say what to do, without running anything.

    Raises:
        CourseError: the source can't be read.
    """
    names = list(exercise_texts(read_source(chapter.source).cells))
    folder = root / "tests" / "answers" / chapter.name
    there = sorted(path.stem for path in folder.glob("*.py"))
    where = folder.relative_to(root).as_posix()
    lines = [
        f"{where}/{name}.py is missing: write three wrong answers and a right one"
        for name in names
        if name not in there
    ]
    lines += [
        f"{where}/{name}.py belongs to no exercise of the chapter: rename or remove it"
        for name in there
        if name not in names
    ]
    if not (chapter.solution.exists() and chapter.release.exists()):
        lines.append(f"it is not built; run: course build {chapter.name}")
    return lines
