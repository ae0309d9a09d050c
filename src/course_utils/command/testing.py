"""Run the tests that concern one chapter: pytest, with what ``make test`` gives it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from course_utils.command.project import Chapter, CourseError


def run(root: Path, chapter: Chapter, arguments: tuple[str, ...]) -> int:
    """Test one chapter in two processes.

    Args:
        root: the course's folder.
        chapter: which one.
        arguments: further arguments for pytest.

    Returns:
        pytest's exit status.

    Raises:
        CourseError: the tests are not here, as in an installed package.
    """
    if not (root / "tests" / "conftest.py").is_file():
        raise CourseError(f"no tests in {root}: run this in a clone of the course")
    command = [sys.executable, "-m", "pytest", "--chapter", chapter.name, "-q"]
    command += ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", *arguments]
    return subprocess.run(command, cwd=root, env={"OMP_NUM_THREADS": "1", **os.environ}).returncode
