"""A learner's work into a newer release.

Each copy remembers which release it was made from, and that release is kept beside it; so a
learner's cells can be told from those that came with the chapter.
"""

from __future__ import annotations

import copy
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_utils.cells import grade_id, is_answered, is_exercise
from course_utils.copies.copying import (
    KEPT,
    RELEASE,
    add_other_files,
    copy_of,
    copy_release,
    keep_release,
    release_digest,
)
from course_utils.errors import CourseError
from course_utils.notebooks import read_notebook, write_notebook
from course_utils.project import Chapter


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


@dataclass
class BroughtBack:
    """What stands in for a copy that was no notebook any more, and where that file is."""

    checkpoint: bool
    kept: Path

    def tell(self, chapter: Chapter) -> str:
        """One line for the learner."""
        what = "your last checkpoint" if self.checkpoint else "the release, without your answers"
        return f"{chapter.name}: brought back: {what}; the damaged file is {self.kept}"


def renew(chapter: Chapter, folder: Path) -> Renewed | BroughtBack | None:
    """Bring a learner's work into today's release, and keep the old file beside it.

    A copy that is no notebook any more, as half a file on a full disk, is replaced by JupyterLab's
    last checkpoint of it; where there is none, by the release.

    Returns:
        What was done, or None where the copy was made from today's release.

    Raises:
        CourseError: there is no copy, or it can't be written. It is then as it was.
    """
    target = copy_of(folder, chapter)
    if not target.exists():
        raise CourseError(f"{chapter.name}: no copy in {folder} yet; run: course lab")
    try:
        mine = read_notebook(target)
    except CourseError:
        return bring_back(chapter, folder)
    made_from = mine.metadata.get(RELEASE)
    if made_from == release_digest(chapter):
        return None
    kept = folder / KEPT / f"{made_from}.ipynb"
    base = read_notebook(kept) if made_from and kept.exists() else None
    new = read_notebook(chapter.release)
    renewed = merge(base, mine, new)
    try:
        new.metadata[RELEASE] = keep_release(chapter, folder)
        renewed.kept = free_name(target, "before-renewal")
        # First the old file under its new name, then the new one in its place: whenever this is
        # cut off, nothing is lost.
        shutil.copy2(target, renewed.kept)
        write_notebook(new, target)
        add_other_files(chapter, target.parent)
    except OSError as error:
        raise CourseError(f"{target} can't be renewed ({error.strerror})") from error
    return renewed


def bring_back(chapter: Chapter, folder: Path) -> BroughtBack:
    """Put the last checkpoint, or the release, in the place of a damaged copy, which is kept.

    Raises:
        CourseError: the folder can't be written.
    """
    target = copy_of(folder, chapter)
    checkpoint = target.parent / ".ipynb_checkpoints" / f"{target.stem}-checkpoint.ipynb"
    try:
        earlier = read_notebook(checkpoint)
    except CourseError:
        earlier = None
    try:
        kept = free_name(target, "damaged")
        shutil.copy2(target, kept)
        if earlier is None:
            copy_release(chapter, folder)
        else:
            write_notebook(earlier, target)
    except OSError as error:
        raise CourseError(f"{target} can't be brought back ({error.strerror})") from error
    return BroughtBack(earlier is not None, kept)


def free_name(path: Path, why: str) -> Path:
    """A name beside ``path`` that no file has: ``NN_topic.before-renewal-1.ipynb``, …"""
    number = 1
    while (free := path.with_name(f"{path.stem}.{why}-{number}.ipynb")).exists():
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
        if not is_exercise(cell) or not is_answered(cell, base.cells if base is not None else []):
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
