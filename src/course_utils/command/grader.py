"""The one place where the course opens nbgrader's Python interface."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path


def load_settings(root: Path, course: Path | None = None):
    """The settings of ``root/nbgrader_config.py``, for the course that lies in ``course``.

    Args:
        root: the project's root, whose settings hold.
        course: the folder that nbgrader reads and writes; by default the root itself.

    Returns:
        A ``traitlets.config.Config``.
    """
    from traitlets.config.loader import PyFileConfigLoader

    settings = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    settings.CourseDirectory.root = str(course or root)
    return settings


def open_grader(root: Path, course: Path | None = None):
    """nbgrader's own Python interface on the course, for :func:`load_settings`'s arguments.

    Returns:
        An ``nbgrader.apps.NbGraderAPI``.
    """
    # nbgrader calls the alembic command by its bare name: it lies beside this Python, which need
    # not be on the PATH when the course command is called by its full name.
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ.get("PATH", "")
    from nbgrader.apps import NbGraderAPI

    return NbGraderAPI(config=load_settings(root, course))


def reason_of(outcome: dict) -> str:
    """The exception that ended one of nbgrader's commands, in one line, out of its log."""
    text = outcome.get("log", "") + outcome.get("error", "")
    raised = re.findall(r"^ *[\w.]*(?:Error|Exception)\b.*$", text, re.MULTILINE)
    raised = [line for line in raised if "see the the above traceback" not in line]
    return (raised or ["nbgrader gives no reason"])[0].strip()[:200]
