"""From a percent source to the executed solution notebook and the released one.

The steps are other people's: Jupytext reads the source, nbclient runs it, nbgrader's own
``generate_assignment`` makes the release. What is ours is that two builds give the same bytes.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from configparser import ConfigParser
from contextlib import ExitStack
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_utils.cells import exercise_of, gives_points, grade_id, is_check, is_exercise, marks_of
from course_utils.errors import CourseError, one_line
from course_utils.exercises import exercises_of
from course_utils.files import replacing
from course_utils.gradebook.grader import load_settings, open_grader, reason_of
from course_utils.project import Chapter

NBGRADER_DEFAULTS = {
    "grade": False,
    "locked": False,
    "schema_version": 3,
    "solution": False,
    "task": False,
}
NOTEBOOK_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
CELL_TIMEOUT_SECONDS = 120
IGNORE_OUTPUT_TAG = "nbval-ignore-output"
PROGRESS_ID = "progress"
# How large an image is shown.
SIZE = ("width", "height")
# What name_checks adds to a check.
CHECK_LINES = 3


def read_source(path: Path) -> NotebookNode:
    """A percent source as a notebook without outputs, its cell ids and metadata made complete.

    A cell's id is its nbgrader grade id, or its position where it has none, so that the same
    source always gives the same ids.

    Raises:
        CourseError: the file is not a percent source, a cell's metadata cannot be read, or two
            cells share a grade id.
    """
    import jupytext

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: cannot be read ({error})") from error
    if not re.search(r"^# %%", text, re.MULTILINE):
        raise CourseError(f"{path}: not a percent source: no line starts with '# %%'")
    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except Exception as error:  # a header's YAML or a cell's metadata fails in many ways
        reason = " ".join(str(error).split())[:200]
        raise CourseError(f"{path}: not a percent source ({reason})") from error
    course = notebook.metadata.get("course", {})
    if not isinstance(course, dict):
        raise CourseError(f"{path}: the header's course needs a title and minutes")
    notebook.metadata = nbformat.from_dict({**NOTEBOOK_METADATA, "course": course})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: set[str] = set()
    for position, cell in enumerate(notebook.cells):
        cell.metadata.pop("lines_to_next_cell", None)  # Jupytext's note on blank lines
        if "incorrectly_encoded_metadata" in cell.metadata:
            # Jupytext would carry on, and a solution without its mark would reach the learners.
            unread = cell.metadata["incorrectly_encoded_metadata"]
            raise CourseError(f"{path}: cell {position} has metadata that is not JSON: {unread}")
        grader = cell.metadata.get("nbgrader")
        if grader is None:
            cell.id = f"cell-{position:03d}"
            continue
        if "grade_id" not in grader:
            raise CourseError(f"{path}: cell {position} has nbgrader metadata without a grade_id")
        name = grader["grade_id"]
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise CourseError(f"{path}: the grade id {name!r} may hold letters, digits, - and _")
        if name in seen:
            raise CourseError(f"{path}: two cells have the grade id {name!r}")
        seen.add(name)
        # A check is always locked: nbgrader then restores an edited one from the source.
        locked = grader.get("locked", grader.get("grade", False))
        complete = {**NBGRADER_DEFAULTS, **grader, "locked": locked}
        if locked:
            cell.metadata.update(deletable=False, editable=False)
        cell.metadata["nbgrader"] = nbformat.from_dict(dict(sorted(complete.items())))
        cell.id = name
    name_checks(notebook)
    end_with_progress(notebook, path.stem)
    return notebook


def name_checks(notebook: NotebookNode) -> None:
    """Let each check begin with its exercise's name, and end by saying that all was right.

    A folded cell, a traceback and nbgrader's Validate show a check's first line; and a check that
    passed looks like one that did not run unless it says so.
    """
    labels = {exercise.name: exercise.label for exercise in exercises_of(notebook.cells)}
    parts: dict[str, list[NotebookNode]] = {name: [] for name in labels}
    for cell in notebook.cells:
        exercise = exercise_of(grade_id(cell))
        if is_check(cell) and exercise in parts:
            parts[exercise].append(cell)
    for name, checks in parts.items():
        for part, cell in enumerate(checks, 1):
            which = f" ({part} of {len(checks)})" if len(checks) > 1 else ""
            points = marks_of(cell).get("points")
            what = json.dumps(labels[name] + which, ensure_ascii=False)
            cell.source = "\n".join(
                [
                    f"# {labels[name]}{which}",
                    cell.source,
                    # Just before it is used: a check, or a learner, may have a name like that.
                    "from course_utils import passed",
                    f"passed({what}, points={points})",
                ]
            )


def end_with_progress(notebook: NotebookNode, chapter: str) -> None:
    """Put behind the last check, and its hints, a cell that shows what is solved and what open."""
    checks = [place for place, cell in enumerate(notebook.cells) if gives_points(cell)]
    if not checks:
        return
    place = checks[-1] + 1
    while place < len(notebook.cells) and "<details>" in notebook.cells[place].source:
        place += 1
    source = f'from course_utils import show_progress\n\nshow_progress("{chapter}")'
    cell = nbformat.v4.new_code_cell(source, id=PROGRESS_ID)
    cell.metadata["tags"] = [IGNORE_OUTPUT_TAG]
    notebook.cells.insert(place, cell)


def execute(notebook: NotebookNode, chapter: Chapter) -> NotebookNode:
    """Run every cell in a fresh kernel, in the chapter's folder, and keep the outputs.

    Raises:
        CourseError: a cell that is not tagged ``raises-exception`` fails; the message names it.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

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
        raise CourseError(f"{chapter.name}: cell {started[-1].id} failed\n{error}") from error
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


def drawn_as(outputs: list[NotebookNode]) -> list[list[str]]:
    """How each picture among some outputs was drawn: what stands beside it, its size or not."""
    return [
        sorted(about)
        for output in outputs
        for kind, about in output.get("metadata", {}).items()
        if kind.startswith("image/")
    ]


def varies(cell: NotebookNode) -> bool:
    """Whether a code cell's output may differ from run to run."""
    return cell.cell_type == "code" and IGNORE_OUTPUT_TAG in cell.metadata.get("tags", [])


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
    write_notebook(notebook, solution)
    released = release(chapter, solution, workspace / "course")
    pairs = [(solution, chapter.solution)]
    for path in sorted(released.rglob("*")):
        if path.is_file():
            pairs.append((path, chapter.release.parent / path.relative_to(released)))
    return pairs


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    nbformat.validate(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def build_into_place(chapter: Chapter) -> None:
    """Build one chapter and put the files where they belong, all of them or none.

    Raises:
        CourseError: the released notebook holds somebody's answers, or the build fails.
    """
    refuse_to_lose_answers(chapter)
    with tempfile.TemporaryDirectory(prefix="course-build-") as folder, ExitStack() as stack:
        for built, target in build(chapter, Path(folder)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(built, stack.enter_context(replacing(target)))


def refuse_to_lose_answers(chapter: Chapter) -> None:
    """Leave alone a released notebook in which somebody answered.

    Raises:
        CourseError: there are answers; the message says what to do with them.
    """
    from course_utils.command.lab import is_answered

    try:
        cells = read_notebook(chapter.release).cells
    except CourseError:
        return  # there is none yet, or it can't be read by anybody
    answered = [grade_id(cell) for cell in cells if is_exercise(cell) and is_answered(cell, None)]
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


def read_sanitizers(root: Path) -> list[tuple[re.Pattern, str]]:
    """The project's nbval sanitising rules: what may vary from run to run inside a text output."""
    parser = ConfigParser(interpolation=None)
    parser.read(root / "nbval_sanitize.cfg", encoding="utf-8")
    return [
        (re.compile(parser[name]["regex"]), parser[name]["replace"]) for name in parser.sections()
    ]


def first_difference(
    old: NotebookNode, new: NotebookNode, sanitizers: list[tuple[re.Pattern, str]]
) -> str | None:
    """Say where two notebooks first differ, leaving aside what may vary.

    What may vary: image bytes (they change with the drawing library's version), outputs of cells
    tagged ``nbval-ignore-output``, and what the sanitising rules replace.

    Returns:
        None, or words such as ``cell view-strides: its source differs``.
    """

    def stable(text: str | list[str]) -> str:
        text = "".join(text)
        for pattern, replacement in sanitizers:
            text = pattern.sub(replacement, text)
        return text

    def outputs(cell: NotebookNode) -> list:
        kept = []
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts = {
                kind: stable(str(value)) for kind, value in data.items() if "image/" not in kind
            }
            images = sorted(kind for kind in data if "image/" in kind)
            error = (output.get("ename"), stable(output.get("evalue", "")))
            # Alt texts stand in the metadata; an image's size changes with its bytes.
            metadata = {
                kind: {name: value for name, value in about.items() if name not in SIZE}
                if isinstance(about, dict)
                else about
                for kind, about in output.get("metadata", {}).items()
            }
            metadata = stable(str(metadata))
            printed = stable(output.get("text", ""))
            kept.append((output.output_type, texts, images, metadata, printed, error))
        return kept

    for position, (before, after) in enumerate(zip(old.cells, new.cells, strict=False)):
        name = f"cell {after.get('id', position)}"
        if before.get("id") != after.get("id"):
            return f"{name}: another cell ({before.get('id')}) stands in its place"
        for part in ("cell_type", "source", "metadata"):
            if before[part] != after[part]:
                return f"{name}: its {part.replace('_', ' ')} differs"
        if not varies(after) and outputs(before) != outputs(after):
            return f"{name}: its output differs"
    if len(old.cells) != len(new.cells):
        longer, shorter = (old, new) if len(old.cells) > len(new.cells) else (new, old)
        extra = longer.cells[len(shorter.cells)].get("id")
        return f"cell {extra}: it is in the {'committed' if longer is old else 'built'} file alone"
    if old.metadata != new.metadata:
        return "the notebook's metadata differs"
    return None
