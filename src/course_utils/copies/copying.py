"""A learner's folder: filled from the releases, never written over.

Each copy remembers, in its notebook metadata, which release it was made from; that release is kept
in the folder's ``.course``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from course_utils.cells import STUB, grade_id, is_answered, is_exercise, stub_digest
from course_utils.errors import CourseError
from course_utils.exercises import FOLDER_VARIABLE
from course_utils.notebooks import read_notebook, write_notebook
from course_utils.project import Chapter, all_chapters, has_sources

DEFAULT_FOLDER = "my-notebooks"
KEPT = ".course"
RELEASE = "course_release"


def learner_folder(root: Path) -> Path:
    """Where a learner's copies are: ``COURSE_FOLDER``, else ``my-notebooks``.

    That is in the checkout; without one, in the working folder or above it, wherever it is already.

    Raises:
        CourseError: ``COURSE_FOLDER`` names a folder that the course itself writes to.
    """
    default = root / DEFAULT_FOLDER if has_sources(root) else folder_without_checkout(Path.cwd())
    folder = Path(os.environ.get(FOLDER_VARIABLE) or default).expanduser().absolute()
    for taken in ("notebooks", "solutions", "submitted", "autograded", "feedback", ".git"):
        if folder.resolve().is_relative_to((root / taken).resolve()):
            raise CourseError(
                f"{FOLDER_VARIABLE} is {folder}, inside the course's own {taken}/: choose another"
            )
    return folder


def folder_without_checkout(start: Path) -> Path:
    """The nearest learner's folder from ``start`` upwards, else ``my-notebooks`` in ``start``."""
    for above in (start, *start.parents):
        for folder in (above, above / DEFAULT_FOLDER):
            if (folder / KEPT).is_dir():
                return folder
    return start / DEFAULT_FOLDER


def copy_of(folder: Path, chapter: Chapter) -> Path:
    """Where a chapter's copy is, or will be."""
    return folder / chapter.name / f"{chapter.name}.ipynb"


def with_a_copy(chapters: list[Chapter], folder: Path, all_of_them: bool) -> list[Chapter]:
    """The chapters that a learner's folder holds.

    Raises:
        CourseError: it holds none of them, or ``all_of_them`` are asked for and one is missing.
    """
    there = [chapter for chapter in chapters if copy_of(folder, chapter).exists()]
    missing = [chapter.name for chapter in chapters if chapter not in there]
    if not there or (all_of_them and missing):
        raise CourseError(f"no copy of {', '.join(missing)} in {folder} yet; run: course lab")
    return there


@dataclass
class Filled:
    """What filling a learner's folder found: chapters by name."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def fill(root: Path, folder: Path) -> Filled:
    """Copy every release that the folder lacks; leave alone what is there.

    Raises:
        CourseError: the folder can't be written.
    """
    filled = Filled()
    for chapter in all_chapters(root):
        if not chapter.release.is_file():
            continue
        target = copy_of(folder, chapter)
        try:
            if not target.exists():
                copy_release(chapter, folder)
                filled.added.append(chapter.name)
            elif is_behind(chapter, target):
                filled.changed.append(chapter.name)
            add_other_files(chapter, target.parent)
        except CourseError:
            filled.damaged.append(chapter.name)
        except OSError as error:
            raise CourseError(f"{folder} can't be written ({error.strerror})") from error
    return filled


def release_digest(chapter: Chapter) -> str:
    """What identifies a release: sixteen hexadecimal digits of its bytes' SHA-256."""
    return hashlib.sha256(chapter.release.read_bytes()).hexdigest()[:16]


def copy_release(chapter: Chapter, folder: Path) -> None:
    """Make a learner's copy of a release, marked with where it came from."""
    notebook = read_notebook(chapter.release)
    notebook.metadata[RELEASE] = keep_release(chapter, folder)
    target = copy_of(folder, chapter)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_notebook(notebook, target)


def keep_release(chapter: Chapter, folder: Path) -> str:
    """Keep a release under its digest, for a later renewal; returns the digest."""
    name = release_digest(chapter)
    kept = folder / KEPT / f"{name}.ipynb"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_notebook(read_notebook(chapter.release), kept)
    return name


def add_other_files(chapter: Chapter, folder: Path) -> None:
    """Copy a chapter's files beside the notebook that the learner's folder lacks."""
    source = chapter.release.parent
    for path in sorted(source.rglob("*")):
        target = folder / path.relative_to(source)
        if path.is_file() and path != chapter.release and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def is_behind(chapter: Chapter, target: Path) -> bool:
    """Whether a copy was made from another release than today's.

    Raises:
        CourseError: the copy is not a notebook.
    """
    made_from = read_notebook(target).metadata.get(RELEASE)
    return made_from is not None and made_from != release_digest(chapter)


def answered_releases(root: Path) -> list[Chapter]:
    """The chapters in whose released notebook there are answers.

    None where the releases are the installed package's, in which nobody writes.
    """
    found = []
    for chapter in all_chapters(root) if has_sources(root) else []:
        try:
            cells = read_notebook(chapter.release).cells
        except CourseError:
            continue
        if any(is_exercise(cell) and is_answered_release(cell, chapter) for cell in cells):
            found.append(chapter)
    return found


def is_answered_release(cell: NotebookNode, chapter: Chapter) -> bool:
    """Whether an exercise's cell in ``notebooks/`` is not what its source builds."""
    if STUB in cell.metadata:
        return cell.metadata[STUB] != stub_digest(cell.source)
    return stubs_of(chapter).get(grade_id(cell), cell.source) != cell.source


def stubs_of(chapter: Chapter) -> dict[str, str]:
    """For each exercise of a chapter its cell as learners get it, made from the source."""
    from nbconvert.exporters.exporter import ResourcesDict
    from nbgrader.preprocessors import ClearSolutions

    from course_utils.authoring.source import read_source
    from course_utils.gradebook.grader import load_settings

    notebook = read_source(chapter.source)
    resources = ResourcesDict(nbgrader={"assignment": chapter.name})
    notebook.metadata.setdefault("kernelspec", {"language": "python"})
    ClearSolutions(config=load_settings(chapter.root)).preprocess(notebook, resources)
    return {grade_id(cell): cell.source for cell in notebook.cells if is_exercise(cell)}


def is_free(chapter: Chapter, folder: Path) -> bool:
    """Whether the learner's folder has no answer of this chapter yet."""
    target = copy_of(folder, chapter)
    if not target.exists():
        return True
    return not any(is_exercise(cell) and is_answered(cell) for cell in read_notebook(target).cells)


def carry_over(chapter: Chapter, folder: Path) -> Path:
    """Copy an answered notebook of ``notebooks/`` into the learner's folder.

    It is not marked as a copy of that release, which may be an old one with answers in it.

    Raises:
        CourseError: the folder can't be written.
    """
    target = copy_of(folder, chapter)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_notebook(read_notebook(chapter.release), target)
    except OSError as error:
        raise CourseError(f"{folder} can't be written ({error.strerror})") from error
    return target
