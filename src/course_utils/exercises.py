"""A chapter's exercises, read off its notebook, and how far a learner has come with them.

Notebooks are read as plain JSON and nothing is executed: an exercise is solved when each of its
checks ran and none failed.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course_utils.cells import (
    STUB,
    exercise_of,
    gives_points,
    grade_id,
    headings,
    is_exercise,
    marks_of,
    stub_digest,
    text_of,
)
from course_utils.outline import part_of

FOLDER_VARIABLE = "COURSE_FOLDER"
STATES = ("solved", "tried", "untouched")
CHAPTER = re.compile(r"\d\d_\w+")

# The checks that passed in this kernel: a notebook that was not saved yet does not show them.
_passed: set[str] = set()
# What has to hold before a check may pass: each raises an AssertionError where it does not.
before_passing: list[Callable[[], None]] = []


def passed(what: str, points: int) -> None:
    """Say that a check found everything right: the last line of every check.

    Args:
        what: the exercise's number and title, e.g. ``"2.7 Every window, no copy"``; behind it
            ``"(1 of 2)"`` where an exercise has several checks.
        points: what the check is worth.

    Raises:
        AssertionError: the answer left something behind in the process.
    """
    for has_to_hold in before_passing:
        has_to_hold()
    _passed.add(what)
    print(f"✓ {what}: right, {points} point{'' if points == 1 else 's'}")


@dataclass
class Exercise:
    """One exercise, and how a learner stands with it.

    Attributes:
        name: its grade id.
        number: as its heading has it, e.g. ``"2.7"``; empty where there is no heading.
        title: likewise.
        core: whether later chapters lean on it.
        minutes: as its heading has them.
        points: of all its checks together.
        earned: of those of its checks that passed.
        state: ``"solved"``, ``"tried"`` or ``"untouched"``.
    """

    name: str
    number: str = ""
    title: str = ""
    core: bool = False
    minutes: int = 0
    points: float = 0
    earned: float = 0
    state: str = "untouched"

    @property
    def label(self) -> str:
        """Number and title, or the grade id where there is no heading."""
        return f"{self.number} {self.title}".strip() or self.name


@dataclass
class ChapterProgress:
    """How far a learner is with one chapter.

    Attributes:
        minutes: for all of it, its exercises among them; ``core_minutes`` for the core path alone.
        exercises: in order.
        read: the share of its other code cells that were run, from 0 to 1.
        problem: why it could not be read; empty where it could.
    """

    name: str
    title: str = ""
    minutes: int = 0
    core_minutes: int = 0
    exercises: list[Exercise] = field(default_factory=list)
    read: float = 0.0
    problem: str = ""

    def count(self, state: str) -> int:
        return sum(exercise.state == state for exercise in self.exercises)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)

    @property
    def earned(self) -> float:
        return sum(exercise.earned for exercise in self.exercises)

    @property
    def core_minutes_left(self) -> int:
        """What is left of the core path: unsolved exercises, and cells that were not run."""
        core = [one for one in self.exercises if one.core]
        reading = max(0, self.core_minutes - sum(one.minutes for one in core))
        unsolved = sum(one.minutes for one in core if one.state != "solved")
        return round(reading * (1 - self.read)) + unsolved

    @property
    def next(self) -> Exercise | None:
        """The first exercise that is not solved."""
        return next((one for one in self.exercises if one.state != "solved"), None)

    def as_data(self) -> dict[str, Any]:
        """Plain values, for ``course progress --json``."""
        upcoming = self.next.name if self.next else None
        computed = {"points": self.points, "earned": self.earned, "next": upcoming}
        return {**asdict(self), **computed, "core_minutes_left": self.core_minutes_left}


def exercises_of(cells: Iterable[Mapping]) -> list[Exercise]:
    """A notebook's exercises in order, with what the cells' saved outputs say of them."""
    cells = list(cells)
    found: dict[str, Exercise] = {}
    checks, passed_checks, touched = {}, {}, {}
    heading_of = headings(cells)
    for cell in cells:
        if cell.get("cell_type") == "markdown":
            continue
        name = grade_id(cell)
        if is_exercise(cell):
            exercise = found[name] = Exercise(name)
            heading = heading_of[name]
            if heading is not None:
                exercise.number, exercise.title = heading["number"], heading["title"]
                exercise.core, exercise.minutes = bool(heading["core"]), int(heading["minutes"])
            stub = cell.get("metadata", {}).get(STUB)
            touched[name] = stub is not None and stub != stub_digest(text_of(cell))
        elif gives_points(cell) and exercise_of(name) != name:
            exercise = found.get(exercise_of(name))
            if exercise is None:
                continue
            points = marks_of(cell).get("points") or 0
            exercise.points += points
            checks[exercise.name] = checks.get(exercise.name, 0) + 1
            if _ran_well(cell):
                exercise.earned += points
                passed_checks[exercise.name] = passed_checks.get(exercise.name, 0) + 1
    for exercise in found.values():
        mine = passed_checks.get(exercise.name, 0)
        if mine and mine == checks[exercise.name]:
            exercise.state = "solved"
        elif mine or touched[exercise.name]:
            exercise.state = "tried"
    return list(found.values())


def share_run(cells: Iterable[Mapping]) -> float:
    """The share of the code cells that were run, exercises and checks aside; 0 without any."""
    shown = [
        cell.get("execution_count") is not None
        for cell in cells
        if cell.get("cell_type") == "code" and not is_exercise(cell) and not gives_points(cell)
    ]
    return sum(shown) / len(shown) if shown else 0.0


def _ran_well(cell: Mapping) -> bool:
    failed = any(output.get("output_type") == "error" for output in cell.get("outputs", []))
    return cell.get("execution_count") is not None and not failed


def read_progress(path: Path) -> ChapterProgress:
    """How far a learner is with the chapter whose notebook is ``path``.

    A file that can't be read gives a :class:`ChapterProgress` whose ``problem`` says so.
    """
    progress = ChapterProgress(path.stem)
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        course = notebook["metadata"].get("course", {})
        progress.title = str(course.get("title", ""))
        progress.minutes = int(course.get("minutes", 0))
        progress.core_minutes = int(course.get("core", 0))
        progress.exercises = exercises_of(notebook["cells"])
        progress.read = share_run(notebook["cells"])
    except FileNotFoundError:
        progress.problem = "there is no such notebook"
    except OSError as error:
        progress.problem = f"it can't be read ({error.strerror})"
    except (ValueError, TypeError, KeyError, AttributeError):
        progress.problem = "it is not a notebook"
    return progress


def copies_in(folder: Path) -> list[Path]:
    """The chapters' notebooks in a learner's folder, in order."""
    paths = sorted(folder.glob("*/*.ipynb"))
    return [p for p in paths if p.stem == p.parent.name and CHAPTER.fullmatch(p.stem)]


def read_folder(folder: Path) -> list[ChapterProgress]:
    """The progress in every chapter of a learner's folder, in order."""
    return [read_progress(path) for path in copies_in(folder)]


def show_progress(chapter: str | None = None) -> None:
    """Show in a notebook how far you are: with one chapter, or one bar for each.

    It reads the saved notebooks: save yours first (Ctrl+S). Nothing is executed.

    Args:
        chapter: a chapter's name, to see each of its exercises; every chapter if not given.
    """
    from IPython.display import HTML, display

    here = Path.cwd()
    inside = (here / f"{here.name}.ipynb").exists()
    folder = here.parent if inside else Path(os.environ.get(FOLDER_VARIABLE, here))
    if chapter is None:
        chapters = read_folder(folder)
        if not chapters:
            print(f"no chapter is saved in {folder.name}")
            return
        display(_Shown(HTML(_bars(chapters)), "\n".join(map(line_of, chapters))))
        return
    path = folder / chapter / f"{chapter}.ipynb"
    progress = read_progress(path)
    _add_what_passed_here(progress)
    if progress.problem:
        print(f"{chapter}: {progress.problem}")
        return
    display(_Shown(HTML(_exercise_list(progress)), "\n".join(lines_of(progress))))


def _add_what_passed_here(progress: ChapterProgress) -> None:
    for exercise in progress.exercises:
        parts = re.compile(re.escape(exercise.label) + r" \(\d+ of (\d+)\)")
        mine = [found for found in map(parts.fullmatch, _passed) if found]
        if exercise.label in _passed or (mine and len(mine) == int(mine[0][1])):
            exercise.state, exercise.earned = "solved", exercise.points


def line_of(progress: ChapterProgress) -> str:
    """One line about a chapter."""
    if progress.problem:
        return f"{progress.name}: {progress.problem}"
    if not progress.exercises:
        return f"{progress.name}: no exercises"
    counts = ", ".join(f"{progress.count(state)} {state}" for state in STATES)
    upcoming = f"; next {progress.next.label}" if progress.next else ""
    return f"{progress.name}: {counts}; {progress.earned:g} of {progress.points:g} points{upcoming}"


def lines_of(progress: ChapterProgress) -> list[str]:
    """A line about a chapter, and one for each of its exercises."""
    signs = {"solved": "✓", "tried": "…", "untouched": " "}
    return [
        line_of(progress),
        *(
            f"  {signs[one.state]} {one.label} ({one.earned:g} of {one.points:g} points)"
            for one in progress.exercises
        ),
    ]


class _Shown:
    """HTML for a notebook, words for everything else."""

    def __init__(self, page: Any, words: str) -> None:
        self.page, self.words = page, words

    def _repr_html_(self) -> str:
        return self.page.data

    def __repr__(self) -> str:
        return self.words


# Colours that keep their contrast on a light and on a dark page, and for the colour-blind.
COLOURS = {"solved": "#2a9d5c", "tried": "#e0a020", "untouched": "#8885"}


def _bars(chapters: list[ChapterProgress]) -> str:
    rows, part = [], ""
    for progress in chapters:
        if part_of(progress.name) != part:
            part = part_of(progress.name)
            rows.append(f"<tr><td colspan=6 style='text-align:left'><b>{part}</b></td></tr>")
        title = html.escape(f"{progress.name[:2]} {progress.title or progress.name}")
        if progress.problem:
            rows.append(
                f"<tr><td>{title}</td><td colspan=5>{html.escape(progress.problem)}</td></tr>"
            )
            continue
        upcoming = html.escape(progress.next.label) if progress.next else "all solved"
        rows.append(
            f"<tr><td style='text-align:left'>{title}</td><td>{_bar(progress)}</td>"
            f"<td>{progress.earned:g} of {progress.points:g}</td>"
            f"<td style='text-align:left'>{upcoming}</td>"
            f"<td>{progress.core_minutes_left} of {progress.core_minutes}</td>"
            f"<td>{progress.minutes}</td></tr>"
        )
    columns = (
        *("chapter", "solved, tried, open", "points", "next"),
        *("core minutes left", "all minutes"),
    )
    head = "<tr>" + "".join(f"<th>{column}</th>" for column in columns) + "</tr>"
    return f"<table>{head}{''.join(rows)}</table>"


# What a browser needs beyond the table that a notebook shows.
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>How far you are</title>
<style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5; }}
body {{ margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ padding: 0.2rem 0.7rem; text-align: right; }}
th {{ border-bottom: 1px solid; font-weight: 600; }}
svg {{ width: 100%; height: auto; margin: 1rem 0; }}
th:nth-child(1), th:nth-child(2), th:nth-child(4) {{ text-align: left; }}
</style>
<h1>How far you are</h1>
<p>{left}</p>
{picture}
{table}
</html>
"""


def page_of(chapters: list[ChapterProgress], picture: str) -> str:
    """A page of its own: what is left, a picture of the course, a bar a chapter."""
    left = html.escape(what_is_left(chapters))
    return PAGE.format(left=left, picture=picture, table=_bars(chapters))


def what_is_left(chapters: Iterable[ChapterProgress]) -> str:
    """One sentence on the core path of all chapters."""
    minutes = sum(chapter.core_minutes_left for chapter in chapters)
    if not minutes:
        return "The core path is done."
    time = f"{minutes / 60:.0f} hours" if minutes >= 90 else f"{minutes} minutes"
    return f"The core path takes some {time} more."


def _bar(progress: ChapterProgress) -> str:
    total = max(1, len(progress.exercises))
    words = ", ".join(f"{progress.count(state)} {state}" for state in STATES)
    parts = "".join(
        f"<span style='display:inline-block;height:0.8em;background:{COLOURS[state]};"
        f"width:{10 * progress.count(state) / total:.2f}em'></span>"
        for state in STATES
    )
    return f"<span role='img' aria-label='{words}' title='{words}'>{parts}</span>"


def _sign(state: str) -> str:
    """A coloured sign; the word beside it has the page's own colour, which can always be read."""
    signs = {"solved": "✓", "tried": "…", "untouched": "○"}
    colour = "" if state == "untouched" else f" style='color:{COLOURS[state]}'"
    return f"<span{colour}>{signs[state]}</span>"


def _exercise_list(progress: ChapterProgress) -> str:
    rows = "".join(
        f"<tr><td style='text-align:left'>{_sign(one.state)} {one.state}</td>"
        f"<td style='text-align:left'>{html.escape(one.label)}</td>"
        f"<td>{one.earned:g} of {one.points:g}</td></tr>"
        for one in progress.exercises
    )
    points = f"{progress.earned:g} of {progress.points:g} points"
    return f"<p>{_bar(progress)} {points}</p><table>{rows}</table>"
