"""From a percent source to the executed solution notebook and the released one.

The steps are other people's: Jupytext reads the source, nbclient runs it, nbgrader's own
``generate_assignment`` makes the release. What is ours is that two builds give the same bytes.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_utils.authoring.difference import first_difference, read_sanitizers, varies
from course_utils.authoring.source import (
    NOTEBOOK_METADATA,
    PROGRESS_ID,
    read_source,
)
from course_utils.cells import grade_id, is_answered, is_exercise
from course_utils.errors import CourseError
from course_utils.files import replacing
from course_utils.gradebook.beforehand import nearest_folder
from course_utils.gradebook.database import (
    blaming_the_gradebook,
    make_gradebook,
    one_connection,
    one_transaction,
)
from course_utils.gradebook.grader import load_settings, open_grader, reason_of
from course_utils.notebooks import read_notebook, write_notebook
from course_utils.project import Chapter

CELL_TIMEOUT_SECONDS = 120
# A picture's size and its bytes, in a page.
DOTS = re.compile(r'width="\d+" height="\d+" src="data:image/png;base64,[^"]*"')


def execute(notebook: NotebookNode, chapter: Chapter) -> NotebookNode:
    """Run every cell in a fresh kernel, in the chapter's folder, and keep the outputs.

    Raises:
        CourseError: a cell that is not tagged ``raises-exception`` fails; the message names it,
            and its traceback stands below.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbconvert.filters import strip_ansi

    from course_utils.kernels.provisioner import WarmManager

    started: list[NotebookNode] = []
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_SECONDS,
        kernel_name="python3",
        kernel_manager_class=WarmManager,
        record_timing=False,
        on_cell_execute=lambda cell, cell_index: started.append(cell),
        coalesce_streams=True,
        resources={"metadata": {"path": str(chapter.source.parent)}},
        config=load_settings(chapter.root),
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        cell = started[-1]
        first = next((line for line in cell.source.splitlines() if line.strip()), "")[:50]
        traceback = [line for output in cell.outputs for line in output.get("traceback", [])]
        raise CourseError(
            f"{chapter.name}: cell {cell.id} failed ({first})",
            strip_ansi("\n".join(traceback)) or str(error),
        ) from error
    notebook.metadata["language_info"] = NOTEBOOK_METADATA["language_info"]
    return notebook


def keep_varying_outputs(notebook: NotebookNode, stored: Path) -> None:
    """Give cells tagged ``nbval-ignore-output`` the outputs that are stored for the same source.

    Timings and the like would otherwise differ after every build. A picture that the course draws
    in another way by now is not kept. Delete the stored notebook to renew the rest.
    """
    try:
        cells = read_notebook(stored).cells
    except CourseError:
        return
    outputs = {cell.source: cell.outputs for cell in cells if varies(cell)}
    for cell in notebook.cells:
        kept = outputs.get(cell.source) if varies(cell) else None
        if kept is not None and drawn_as(kept) == drawn_as(cell.outputs):
            cell.outputs = kept
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = cell.execution_count


def drawn_as(outputs: list[NotebookNode]) -> list[list[str] | str]:
    """How each picture among some outputs was drawn: what stands beside it, its size or not."""
    notes: list[list[str] | str] = [
        sorted(about)
        for output in outputs
        for kind, about in output.get("metadata", {}).items()
        if kind.startswith("image/")
    ]
    pages = [
        output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})
    ]
    return [*notes, *([DOTS.sub("", page)] for page in pages if DOTS.search(page))]


def release(chapter: Chapter, solution: Path, course: Path) -> Path:
    """Let nbgrader make the learner's notebook, in the throw-away course folder ``course``.

    The throw-away folder has its own gradebook: building never touches the instructor's.
    Files beside the notebook (worker modules) come along as nbgrader's settings say.

    Returns:
        The folder of the released assignment inside ``course``.

    Raises:
        CourseError: nbgrader refuses; the message ends with nbgrader's reason.
    """
    shutil.copytree(
        chapter.source.parent,
        course / "solutions" / chapter.name,
        ignore=shutil.ignore_patterns("*.ipynb", "*.py[cod]", "__pycache__", ".ipynb_checkpoints"),
    )
    shutil.copy(solution, course / "solutions" / chapter.name / f"{chapter.name}.ipynb")
    grader = open_grader(chapter.root, course)
    gradebook = grader.coursedir.db_url, grader.coursedir.course_id
    with ExitStack() as stack:
        stack.enter_context(blaming_the_gradebook(grader.coursedir.db_url))
        make_gradebook(*gradebook)
        stack.enter_context(one_connection())
        stack.enter_context(one_transaction(*gradebook))
        outcome = grader.generate_assignment(chapter.name, force=True, create=True)
        if not outcome["success"]:
            reason = reason_of(outcome)
            raise CourseError(f"{chapter.name}: nbgrader could not make the release ({reason})")
    return course / "notebooks" / chapter.name


def take_stored_outputs(notebook: NotebookNode, stored: Path) -> NotebookNode:
    """Give every cell the outputs that are stored for the cell of the same id and source.

    Raises:
        CourseError: there is no stored notebook, or it is none.
    """
    known = {cell.get("id"): cell for cell in read_notebook(stored).cells}
    for cell in notebook.cells:
        old = known.get(cell.id)
        if cell.cell_type == "code" and old is not None and old.source == cell.source:
            cell.outputs, cell.execution_count = old.outputs, old.execution_count
    return notebook


def build(chapter: Chapter, workspace: Path, *, run: bool = True) -> list[tuple[Path, Path]]:
    """Build one chapter in ``workspace``: nothing of the project is touched.

    Args:
        chapter: which one.
        workspace: an empty folder.
        run: whether the cells are executed; else they get the outputs that are stored.

    Returns:
        Pairs ``(built file, where it belongs in the project)``.
    """
    notebook = read_source(chapter.source)
    if run:
        execute(notebook, chapter)
        keep_varying_outputs(notebook, chapter.solution)
        for cell in notebook.cells:
            if cell.id == PROGRESS_ID:
                # It would tell of the notebook that this one replaces.
                cell.outputs = []
    else:
        take_stored_outputs(notebook, chapter.solution)
    solution = workspace / f"{chapter.name}.ipynb"
    nbformat.validate(notebook)
    write_notebook(notebook, solution)
    released = release(chapter, solution, workspace / "course")
    pairs = [(solution, chapter.solution)]
    for path in sorted(released.rglob("*")):
        if path.is_file():
            pairs.append((path, chapter.release.parent / path.relative_to(released)))
    return pairs


def build_into_place(chapter: Chapter) -> None:
    """Build one chapter and put the files where they belong, all of them or none.

    Raises:
        CourseError: the released notebook holds somebody's answers, the build fails, or a file
            can't be written.
    """
    refuse_to_lose_answers(chapter)
    for folder in map(nearest_folder, (chapter.solution, chapter.release)):
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CourseError(f"{folder} cannot be written: give yourself the right")
    with tempfile.TemporaryDirectory(prefix="course-build-") as folder:
        pairs = build(chapter, Path(folder))
        try:
            with ExitStack() as stack:
                for built, target in pairs:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(built, stack.enter_context(replacing(target)))
        except OSError as error:
            where = error.filename or chapter.solution.parent
            raise CourseError(f"{where} cannot be written ({error.strerror})") from error


def refuse_to_lose_answers(chapter: Chapter) -> None:
    """Leave alone a released notebook in which somebody answered.

    Raises:
        CourseError: there are answers; the message says what to do with them.
    """
    try:
        cells = read_notebook(chapter.release).cells
    except CourseError:
        return  # there is none yet, or it can't be read by anybody
    answered = [grade_id(cell) for cell in cells if is_exercise(cell) and is_answered(cell)]
    if answered:
        where = chapter.release.relative_to(chapter.root)
        raise CourseError(
            f"{where} holds answers ({', '.join(answered)}), which a build would write over: "
            "move the file away; before that, course lab --carry-over copies the answers into "
            "your own folder"
        )


def check(chapter: Chapter, *, run: bool = True) -> str | None:
    """Build one chapter in a temporary place and compare it with what is committed.

    Args:
        chapter: which one.
        run: whether the cells are executed. Without that their outputs are not compared, which is
            enough where nbval compares them.

    Returns:
        None when they agree, or one line that names the first difference.
    """
    with tempfile.TemporaryDirectory(prefix="course-check-") as folder:
        pairs = build(chapter, Path(folder), run=run)
        for built, target in pairs:
            where = target.relative_to(chapter.root)
            if not target.exists():
                return f"{where} is missing; run: course build {chapter.name}"
            if target.suffix != ".ipynb":
                same = built.read_bytes() == target.read_bytes()
                difference = None if same else "differs"
            else:
                difference = first_difference(
                    read_notebook(target), read_notebook(built), read_sanitizers(chapter.root)
                )
            if difference:
                released = target != chapter.solution
                care = "if these are your answers, keep a copy; then " if released else ""
                return f"{where}: {difference}; {care}run: course build {chapter.name}"
        expected = {target for _, target in pairs}
        for path in sorted(chapter.release.parent.rglob("*")):
            skip = ".ipynb_checkpoints" in path.parts or "__pycache__" in path.parts
            if path.is_file() and not skip and path not in expected:
                return f"{path.relative_to(chapter.root)} is not built from anything: remove it"
    return None
