"""Notebook files of the current format."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_utils.errors import CourseError, one_line
from course_utils.files import write_whole


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook so that the file is the old one or the new one, never a part."""
    write_whole(path, nbformat.writes(notebook) + "\n")


def read_notebook(path: Path) -> NotebookNode:
    """A notebook of the current format.

    Raises:
        CourseError: the file is not a notebook; the message gives its name and the reason.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except FileNotFoundError as error:
        raise CourseError(f"{path}: no such notebook; build it with: course build") from error
    except Exception as error:  # nbformat raises many kinds, all of which mean the same here
        raise CourseError(f"{path}: not a notebook ({one_line(error)})") from error
    return notebook


def as_json(notebook: NotebookNode) -> str:
    """A notebook as JSON for programs; nbformat lays it out for people, which takes longer."""
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True)
