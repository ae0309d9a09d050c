"""Where things are: the project's root, its chapters and their files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from course_utils.errors import CourseError

# What the installed package brings of the course: releases and settings, no sources. In a checkout
# it isn't there.
BROUGHT = Path(__file__).resolve().parent / "course"
# The folder with the releases, for a learner on a class server, who may not read the sources.
ROOT_VARIABLE = "COURSE_ROOT"


@dataclass(frozen=True)
class Chapter:
    """One folder, one nbgrader assignment, one notebook."""

    name: str
    root: Path

    @property
    def topic(self) -> str:
        """The name without its number, as in ``course_utils.chapters`` and ``tests/chapters``."""
        return self.name.partition("_")[2]

    @property
    def source(self) -> Path:
        """The percent source, written by hand: the only file an author edits."""
        return self.root / "solutions" / self.name / f"{self.name}.py"

    @property
    def solution(self) -> Path:
        """The built and executed notebook, solutions included."""
        return self.source.with_suffix(".ipynb")

    @property
    def release(self) -> Path:
        """The notebook that a learner opens."""
        return self.root / "notebooks" / self.name / f"{self.name}.ipynb"


def has_sources(folder: Path) -> bool:
    """Whether a folder holds the chapters' sources, as a checkout does."""
    return (folder / "nbgrader_config.py").is_file() and (folder / "solutions").is_dir()


def find_root(start: Path | None = None) -> Path:
    """The nearest folder, from ``start`` (the working folder) upwards, that holds the sources.

    Raises:
        CourseError: no folder above has both ``nbgrader_config.py`` and ``solutions/``.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if has_sources(folder):
            return folder
    raise CourseError(
        f"no course in {start} or above it: run this inside the folder that holds "
        "nbgrader_config.py and solutions/; course init FOLDER makes one"
    )


def find_course(start: Path | None = None) -> Path:
    """Where the releases are that a learner takes.

    In the checkout around ``start``; else where ``COURSE_ROOT`` says; else in the package.

    Raises:
        CourseError: no folder above holds the sources, and the package brings no releases.
    """
    try:
        return find_root(start)
    except CourseError:
        if os.environ.get(ROOT_VARIABLE):
            return Path(os.environ[ROOT_VARIABLE])
        if BROUGHT.is_dir():
            return BROUGHT
        raise


def all_chapters(root: Path) -> list[Chapter]:
    """Every chapter that has a percent source, in order; where there are none, every release."""
    sources, releases = root / "solutions", root / "notebooks"
    files = sources.glob("*/*.py") if sources.is_dir() else releases.glob("*/*.ipynb")
    return [Chapter(path.stem, root) for path in sorted(files) if path.stem == path.parent.name]


def pick_chapters(root: Path, names: tuple[str, ...] | list[str]) -> list[Chapter]:
    """The named chapters, or all of them when none is named.

    A name may be cut short where it stays clear: ``02`` for ``02_storage_and_strides``.

    Raises:
        CourseError: a name is no chapter's, or several; the message lists the chapters.
    """
    chapters = {chapter.name: chapter for chapter in all_chapters(root)}
    if not chapters:
        raise CourseError(f"no chapter in {root / 'solutions'}: expected NN_topic/NN_topic.py")
    picked = []
    for name in names:
        fitting = [full for full in chapters if full.startswith(name)] if name else []
        if name in chapters:
            fitting = [name]
        if len(fitting) != 1:
            known = ", ".join(fitting or chapters)
            which = f"{name!r} may be {known}" if fitting else f"the chapters are {known}"
            raise CourseError(f"no chapter named {name!r}; {which}")
        picked += fitting
    return [chapters[name] for name in dict.fromkeys(picked)] or list(chapters.values())
