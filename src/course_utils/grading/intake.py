"""Read what a student handed in, without trusting any of it."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course_utils.cells import exercise_of, grade_id
from course_utils.errors import CourseError, one_line

MEGABYTE = 2**20
NOTEBOOK_BYTES = 50 * MEGABYTE
# Of the notebook without its outputs, which grading makes anew.
SOURCES_BYTES = 5 * MEGABYTE
CELLS = 2000
FILES_BYTES = 20 * MEGABYTE
FILES = 200
# Of lists and objects within each other. Some readers of JSON take a call of Python's for each.
DEPTH = 50
# What nbgrader's database holds of a student's name.
NAME_LETTERS = 128
TIME_LETTERS = 100
# The sockets of the kernel that runs a submission lie in its working folder.
KERNELS_SOCKETS = ".kernel-"
# nbgrader's own notes on a submission: nothing that a notebook reads.
NBGRADER_FILES = {"timestamp.txt", "submission_secret.txt"}


@dataclass(frozen=True)
class HandedIn:
    """A submission as it lies in its folder.

    Attributes:
        notebook: the notebook, without its outputs.
        files: the other files, by relative POSIX path; nbgrader's own notes are not among them.
        notes: nbgrader's own notes, such as ``timestamp.txt``, by name.
    """

    notebook: NotebookNode
    files: dict[str, bytes]
    notes: dict[str, bytes]


def check_student(name: str) -> None:
    """Refuse a folder's name that the gradebook cannot hold, or nbgrader takes for a pattern.

    Raises:
        CourseError: it is too long, or holds signs that are not allowed.
    """
    if len(name) > NAME_LETTERS:
        raise CourseError(f"the folder's name is longer than {NAME_LETTERS} letters: rename it")
    wrong = [f"it holds {sign}" for sign in "*?[]{},+\\" if sign in name]
    # A blank of no width, a mark that turns the direction, a line break: a person doesn't see them.
    unseen = dict.fromkeys(sign for sign in name if not sign.isprintable())
    wrong += [f"it holds {sign!a}, which can't be seen" for sign in unseen]
    if name != name.strip():
        wrong.append("it begins or ends with a blank")
    if name.startswith("."):
        wrong.append("it begins with a dot, so it is hidden")
    if wrong:
        raise CourseError(f"the folder's name is not allowed: {', '.join(wrong)}; rename it")


def check_chapter(notebook: NotebookNode, chapter: str, checks: list[str]) -> None:
    """Refuse another chapter's notebook under this chapter's name.

    Args:
        notebook: what was handed in.
        chapter: the chapter's name.
        checks: the grade ids of its checks.

    Raises:
        CourseError: it has exercises or checks, and none is this chapter's.
    """
    # Of any cell, whatever its marks say it is: they may have been changed.
    theirs = {grade_id(cell) for cell in notebook.cells} - {"", "setup"}
    if theirs and not theirs.intersection({*checks, *map(exercise_of, checks)}):
        texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        heading = next((text.splitlines()[0] for text in texts if text.startswith("# ")), "")
        named = f" ({heading.removeprefix('# ')[:80]!r})" if heading else ""
        raise CourseError(
            f"{chapter}.ipynb is another chapter's notebook{named}: hand in {chapter}"
        )


def take_in(folder: Path, chapter: str, ignore: list[str]) -> HandedIn:
    """Read a submission.

    Args:
        folder: ``submitted/STUDENT/CHAPTER``.
        chapter: the chapter's name, which is the notebook's.
        ignore: patterns of file and folder names that are no part of a submission.

    Raises:
        CourseError: it cannot be graded; the message says why, in one line.
    """
    check_folder(folder)
    name = f"{chapter}.ipynb"
    if not os.path.lexists(folder / name):
        others = sorted(path.name for path in folder.glob("*.ipynb"))
        raise CourseError(
            f"{name} is missing from submitted/{folder.parent.name}/{folder.name}"
            + (f"; there is {', '.join(others)[:200]}, which has to be named so" if others else "")
        )
    notebook = parse(read_file(folder / name, name, NOTEBOOK_BYTES))
    files = read_files(folder, ignore)
    notes = {name: files.pop(name) for name in NBGRADER_FILES & files.keys()}
    check_timestamp(notes.get("timestamp.txt", b""))
    return HandedIn(notebook, files, notes)


def check_folder(folder: Path) -> None:
    """Refuse a submission that lies elsewhere, such as in another student's folder."""
    for part in (folder.parent, folder):
        if part.is_symlink():
            raise CourseError(f"{part.name} is a symbolic link, not a folder")


def read_file(path: Path, name: str, limit: int) -> bytes:
    """A regular file's bytes, never through a symbolic link.

    Raises:
        CourseError: it is no regular file, larger than ``limit`` bytes, or not readable.
    """
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if path.is_symlink():
            raise CourseError(f"{name} is a symbolic link, not a file") from error
        raise CourseError(f"{name} cannot be read ({error.strerror})") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CourseError(f"{name} is not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CourseError(f"{name} is larger than {limit // MEGABYTE} MB")
    return data


def read_files(folder: Path, ignore: list[str]) -> dict[str, bytes]:
    """Every file but notebooks, as nbgrader takes them along, by relative POSIX path.

    Raises:
        CourseError: one is no regular file, or they are too many or too large.
    """
    files: dict[str, bytes] = {}
    room = FILES_BYTES
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not ignored(name, ignore)]
        for name in sorted(folders + names):
            path = Path(place, name)
            relative = path.relative_to(folder).as_posix()
            if ignored(name, [*ignore, "*.ipynb"]) and not path.is_dir():
                continue
            check_name(relative)
            if name in folders and not path.is_symlink():
                continue
            if len(files) == FILES:
                raise CourseError(f"more than {FILES} files were handed in")
            files[relative] = read_file(path, relative, room)
            room -= len(files[relative])
    return files


def ignored(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def check_name(name: str) -> None:
    """Refuse a file name that another program could take for a way out of the folder."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or not name.isprintable() or parts[0].startswith(KERNELS_SOCKETS):
        raise CourseError(f"a file's name is not allowed: {name!a}")


def check_timestamp(text: bytes) -> None:
    """nbgrader fails without words on a time of submission that is none."""
    from nbgrader.utils import parse_utc

    try:
        words = text.decode().strip()
        if len(words) > TIME_LETTERS:
            raise ValueError("too long")
        if words:
            parse_utc(words)
    except Exception as error:  # whatever a parser of dates comes across
        raise CourseError("timestamp.txt holds no time") from error


def parse(data: bytes) -> NotebookNode:
    """A notebook of the current format, its outputs dropped.

    Raises:
        CourseError: it is no Python notebook; the message starts with ``not a notebook``, or names
            the kernel's language.
    """
    try:
        content = json.loads(data.decode("utf-8"))
        drop_outputs(content)
        check_format(content)
        text = json.dumps(content, ensure_ascii=False)
        if len(text.encode("utf-8")) > SOURCES_BYTES:
            raise ValueError(f"its cells hold more than {SOURCES_BYTES // MEGABYTE} MB")
        notebook = nbformat.convert(nbformat.reader.reads(text), 4)
        nbformat.validate(notebook)
    except Exception as error:  # nbformat raises many kinds, all of which mean the same here
        raise CourseError(f"not a notebook ({one_line(error)})") from error
    language = language_of(notebook)
    if language != "python":
        raise CourseError(f"a notebook of another kernel's language: {language[:50]!a}")
    return notebook


def drop_outputs(content: object) -> None:
    """Outputs are most of a notebook's bytes, and grading makes its own.

    Raises:
        ValueError: the content has no list of cells, or too many.
    """
    sheets = content.get("worksheets", [content]) if isinstance(content, dict) else []
    cells = [cell for sheet in sheets for cell in sheet["cells"]]
    if not sheets or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError("it has no list of cells")
    if len(cells) > CELLS:
        raise ValueError(f"it has more than {CELLS} cells")
    for cell in cells:
        if "outputs" in cell:
            cell["outputs"] = []


def check_format(content: dict) -> None:
    """Refuse what nbformat would fail on without words, or by running out of Python's stack.

    Raises:
        ValueError: there is no number of a format, or lists and objects are nested too deep.
    """
    numbers = content.get("nbformat"), content.get("nbformat_minor", 0)
    if any(type(number) is not int for number in numbers):
        raise ValueError("it does not say of which format")
    level: list[Any] = [content]
    for _ in range(DEPTH):
        inner = [item.values() if isinstance(item, dict) else item for item in level]
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]
    if level:
        raise ValueError(f"it is nested more than {DEPTH} deep")


def language_of(notebook: NotebookNode) -> str:
    """The language that the notebook's kernel says it speaks; Python where it says nothing."""
    info = notebook.metadata.get("language_info", {}).get("name")
    return str(notebook.metadata.get("kernelspec", {}).get("language") or info or "python").lower()
