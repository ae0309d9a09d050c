"""The one place where the course opens nbgrader's Python interface."""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from course_utils.errors import CourseError, one_line

LOG = logging.getLogger(__name__)
SETTINGS_FILE = "nbgrader_config.py"


@contextmanager
def blaming_the_settings(root: Path) -> Generator[None]:
    """Say in one line which slip in ``root/nbgrader_config.py`` an exception comes from.

    Raises:
        CourseError: instead of any other exception.
    """
    path = root / SETTINGS_FILE
    try:
        yield
    except CourseError:
        raise
    except Exception as error:  # the file is Python: anything can be wrong with it
        LOG.info("%s is blamed for this", path, exc_info=error)
        numbers = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(path)
        ]
        words = one_line(error)
        if isinstance(error, SyntaxError):
            numbers, words = [error.lineno], error.msg
        where = f", line {numbers[-1]}" if numbers else ""
        raise CourseError(f"{path}{where}: {words} ({type(error).__name__})") from error


def load_settings(root: Path, course: Path | None = None, execution: dict | None = None):
    """The settings of ``root/nbgrader_config.py``, for the course that lies in ``course``.

    Args:
        root: the project's root, whose settings hold.
        course: the folder that nbgrader reads and writes; by default the root itself.
        execution: settings of ``ExecuteSandboxed`` that come before those of the file.

    Returns:
        A ``traitlets.config.Config``.

    Raises:
        CourseError: there is a slip in the file.
    """
    from traitlets.config.loader import PyFileConfigLoader

    with blaming_the_settings(root):
        settings = PyFileConfigLoader(SETTINGS_FILE, path=str(root)).load_config()
    settings.CourseDirectory.root = str(course or root)
    settings.ExecuteSandboxed.update(execution or {})
    if course is not None:
        # Never the instructor's own gradebook, which the file names.
        settings.CourseDirectory.db_url = f"sqlite:///{course.resolve() / 'gradebook.db'}"
    return settings


def open_grader(root: Path, course: Path | None = None, execution: dict | None = None):
    """nbgrader's own Python interface on the course, for :func:`load_settings`'s arguments.

    Returns:
        An ``nbgrader.apps.NbGraderAPI``.

    Raises:
        CourseError: there is a slip in the settings file.
    """
    # nbgrader calls the alembic command by its bare name: it lies beside this Python, which need
    # not be on the PATH when the course command is called by its full name.
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ.get("PATH", "")
    from nbgrader.apps import NbGraderAPI

    settings = load_settings(root, course, execution)
    with blaming_the_settings(root):
        return NbGraderAPI(config=settings)


def reason_of(outcome: dict) -> str:
    """The exception that ended one of nbgrader's commands, in one line, out of its log."""
    text = outcome.get("log", "") + outcome.get("error", "")
    raised = re.findall(r"^ *[\w.]*(?:Error|Exception)\b.*$", text, re.MULTILINE)
    raised = [line for line in raised if "see the the above traceback" not in line]
    return (raised or ["nbgrader gives no reason"])[0].strip()[:200]
