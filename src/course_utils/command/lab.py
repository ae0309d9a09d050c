"""A learner's own folder: filled from the releases, never written over, renewed when asked.

``course lab`` copies what is missing and opens JupyterLab there. Each copy remembers, in its
notebook metadata, which release it was made from; that release is kept in the folder's ``.course``.
So ``course renew`` can tell a learner's work from what came with the chapter.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_utils.cells import STUB, grade_id, is_exercise, stub_digest
from course_utils.command.build import read_notebook
from course_utils.errors import CourseError
from course_utils.exercises import FOLDER_VARIABLE, STATES, ChapterProgress
from course_utils.files import write_whole
from course_utils.project import Chapter, all_chapters

DEFAULT_FOLDER = "my-notebooks"
KEPT = ".course"
RELEASE = "course_release"
FIRST = "00_start_here"
# How an exercise's cell ends before there is an answer.
BLANK = "# YOUR CODE HERE"
# One sign an exercise: solved, tried, untouched.
BAR = "█▒·"


def learner_folder(root: Path) -> Path:
    """Where a learner's copies are: ``COURSE_FOLDER``, else ``my-notebooks`` in the course.

    Raises:
        CourseError: ``COURSE_FOLDER`` names a folder that the course itself writes to.
    """
    folder = Path(os.environ.get(FOLDER_VARIABLE) or root / DEFAULT_FOLDER).expanduser().absolute()
    for taken in ("notebooks", "solutions", "submitted", "autograded", "feedback", ".git"):
        if folder.resolve().is_relative_to((root / taken).resolve()):
            raise CourseError(
                f"{FOLDER_VARIABLE} is {folder}, inside the course's own {taken}/: choose another"
            )
    return folder


def copy_of(folder: Path, chapter: Chapter) -> Path:
    """Where a chapter's copy is, or will be."""
    return folder / chapter.name / f"{chapter.name}.ipynb"


# Copying what is missing


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


def write_notebook(notebook: NotebookNode, target: Path) -> None:
    """Write a notebook so that the file is the old one or the new one, never a part."""
    write_whole(target, nbformat.writes(notebook) + "\n")


# Renewing a copy


@dataclass
class Renewed:
    """What a renewal did: counts, what had no place, and where the old file is."""

    answers: int = 0
    added_cells: int = 0
    outputs: int = 0
    homeless: list[str] = field(default_factory=list)
    kept: Path | None = None

    def tell(self, chapter: Chapter) -> str:
        """One line for the learner."""
        words = f"{self.answers} answers and {self.added_cells} cells of yours are in the new one"
        if self.homeless:
            words += f"; these exercises are gone: {', '.join(self.homeless)}"
        return f"{chapter.name}: renewed: {words}; the old file is {self.kept}"


def renew(chapter: Chapter, folder: Path) -> Renewed | None:
    """Bring a learner's work into today's release, and keep the old file beside it.

    Returns:
        What was done, or None where the copy was made from today's release.

    Raises:
        CourseError: there is no copy, it is damaged, or it can't be written. It is then as it was.
    """
    target = copy_of(folder, chapter)
    if not target.exists():
        raise CourseError(f"{chapter.name}: no copy in {folder} yet; run: course lab")
    mine = read_notebook(target)
    made_from = mine.metadata.get(RELEASE)
    if made_from == release_digest(chapter):
        return None
    kept = folder / KEPT / f"{made_from}.ipynb"
    base = read_notebook(kept) if made_from and kept.exists() else None
    new = read_notebook(chapter.release)
    renewed = merge(base, mine, new)
    try:
        new.metadata[RELEASE] = keep_release(chapter, folder)
        renewed.kept = free_name(target)
        # First the old file under its new name, then the new one in its place: whenever this is
        # cut off, nothing is lost.
        shutil.copy2(target, renewed.kept)
        write_notebook(new, target)
        add_other_files(chapter, target.parent)
    except OSError as error:
        raise CourseError(f"{target} can't be renewed ({error.strerror})") from error
    return renewed


def free_name(path: Path) -> Path:
    """A name beside ``path`` that no file has: ``NN_topic.before-renewal-1.ipynb``, …"""
    number = 1
    while (free := path.with_name(f"{path.stem}.before-renewal-{number}.ipynb")).exists():
        number += 1
    return free


def merge(base: NotebookNode | None, mine: NotebookNode, new: NotebookNode) -> Renewed:
    """Put a learner's answers, cells and outputs into ``new``.

    Args:
        base: the release that the learner's copy was made from; None where it is not known. Then
            answers alone can be told from what came with the chapter.
        mine: the learner's copy.
        new: today's release, which is changed.
    """
    renewed = Renewed()
    fresh = {grade_id(cell): cell for cell in new.cells if is_exercise(cell)}
    for cell in mine.cells:
        if not is_exercise(cell) or not is_answered(cell, base):
            continue
        if grade_id(cell) in fresh:
            fresh[grade_id(cell)].source = cell.source
            renewed.answers += 1
        else:
            renewed.homeless.append(grade_id(cell))
    if base is not None:
        renewed.added_cells = bring_cells(base, mine, new)
    ran = {
        (cell.id, cell.source): cell
        for cell in mine.cells
        if cell.cell_type == "code" and cell.execution_count is not None
    }
    for cell in new.cells:
        old = ran.get((cell.get("id"), cell.source)) if cell.cell_type == "code" else None
        if old is not None:
            cell.outputs, cell.execution_count = old.outputs, old.execution_count
            renewed.outputs += 1
    return renewed


def is_answered(cell: NotebookNode, base: NotebookNode | None) -> bool:
    """Whether an exercise's cell is not as it was released."""
    if STUB in cell.metadata:
        return cell.metadata[STUB] != stub_digest(cell.source)
    for old in base.cells if base is not None else []:
        if grade_id(old) == grade_id(cell):
            return old.source != cell.source
    return not cell.source.rstrip().endswith(BLANK)


def bring_cells(base: NotebookNode, mine: NotebookNode, new: NotebookNode) -> int:
    """Put cells that a learner added or changed behind the cell that they stood behind."""
    released = {key_of(cell) for cell in base.cells} | {key_of(cell) for cell in new.cells}
    places = {key_of(cell): place for place, cell in enumerate(new.cells)}
    taken = {cell.get("id") for cell in new.cells}
    behind: dict[int, list[NotebookNode]] = {}
    place = -1
    for cell in mine.cells:
        if key_of(cell) in released:
            place = places.get(key_of(cell), place)
        elif cell.source.strip():
            added = copy.deepcopy(cell)
            added.metadata.pop("nbgrader", None)
            if added.get("id") in taken:
                added.id = nbformat.v4.new_code_cell().id
            taken.add(added.get("id"))
            behind.setdefault(place, []).append(added)
    cells = list(behind.get(-1, []))
    for place, cell in enumerate(new.cells):
        cells += [cell, *behind.get(place, [])]
    new.cells = cells
    return sum(map(len, behind.values()))


def key_of(cell: NotebookNode) -> tuple[str, str]:
    """What a released cell is known by: its grade id, else its text."""
    if grade_id(cell):
        return "grade id", grade_id(cell)
    return cell.cell_type, cell.source


# Answers in notebooks/, where they were saved once


def answered_releases(root: Path) -> list[Chapter]:
    """The chapters in whose released notebook there are answers."""
    found = []
    for chapter in all_chapters(root):
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

    from course_utils.command.build import read_source
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
    return not any(
        is_exercise(cell) and is_answered(cell, None) for cell in read_notebook(target).cells
    )


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


# Progress, on a terminal


def show_bars(chapters: list[ChapterProgress], console: Console) -> None:
    """Draw one bar a chapter: solved, tried, untouched; points; the next exercise."""
    table = Table(box=None, pad_edge=False)
    table.add_column("chapter", no_wrap=True)
    table.add_column(f"solved {BAR[0]}, tried {BAR[1]}, open {BAR[2]}", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("next")
    for chapter in chapters:
        title = f"{chapter.name[:2]} {chapter.title}"
        if chapter.problem:
            table.add_row(chapter.name, Text(chapter.problem, style="red"), "", "")
            continue
        bar = "".join(sign * chapter.count(state) for sign, state in zip(BAR, STATES, strict=True))
        points = f"{chapter.earned:g}/{chapter.points:g}"
        upcoming = chapter.next.label if chapter.next else ("all solved" if bar else "")
        table.add_row(Text(title), bar, points, Text(upcoming))
    console.print(table)


# JupyterLab


def jupyter_environment(root: Path) -> dict[str, str]:
    """The environment in which JupyterLab has the course's settings for learners."""
    settings = root / "etc" / "jupyter"
    paths = [str(settings / "learner"), str(settings)]
    if os.environ.get("JUPYTER_CONFIG_PATH"):
        paths.append(os.environ["JUPYTER_CONFIG_PATH"])
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(paths)}


def first_workspace(folder: Path, workspaces: Path) -> None:
    """Let the first start open the first chapter; later ones open the tabs that were open."""
    if any(workspaces.glob("*")) or not (folder / FIRST).is_dir():
        return
    from jupyterlab_server.workspaces_handler import WorkspacesManager

    path = f"{FIRST}/{FIRST}.ipynb"
    widget = f"notebook:{path}"
    area = {"type": "tab-area", "currentIndex": 0, "widgets": [widget]}
    layout = {"main": {"dock": area, "current": widget}}
    data = {
        "layout-restorer:data": layout,
        widget: {"data": {"path": path, "factory": "Notebook"}},
        "file-browser-filebrowser:cwd": {"path": ""},
    }
    workspaces.mkdir(parents=True, exist_ok=True)
    WorkspacesManager(str(workspaces)).save(
        "default", json.dumps({"data": data, "metadata": {"id": "default"}})
    )


def open_lab(root: Path, folder: Path, arguments: tuple[str, ...]) -> int:
    """Run JupyterLab in the learner's folder until it ends; its exit status."""
    workspaces = folder / KEPT / "workspaces"
    first_workspace(folder, workspaces)
    command = [sys.executable, "-m", "jupyter", "lab", f"--ServerApp.root_dir={folder}"]
    # Which tabs were open belongs to this folder: tabs of another would come back without files.
    command += [f"--LabApp.workspaces_dir={workspaces}", *arguments]
    environment = {**jupyter_environment(root), FOLDER_VARIABLE: str(folder)}
    if hasattr(os, "fork"):
        # In this process's place, so that Ctrl-C reaches JupyterLab with nothing in between.
        os.chdir(folder)
        os.execve(sys.executable, command, environment)
    try:
        return subprocess.run(command, cwd=folder, env=environment).returncode
    except KeyboardInterrupt:
        return 130
