"""What there is to say about a class and a chapter, as plain data for JSON."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

from nbformat import NotebookNode

from course_utils.cells import headings
from course_utils.grading.report.given import ReportedRun, ReportedStudent
from course_utils.grading.report.misunderstandings import (
    misunderstandings,
    solution_marks,
    stubs,
)
from course_utils.grading.report.similar import SimilarAnswers

ALL_CHECKS = "all checks"
MOST_BARS = 12
SLOWEST_CELLS = 10


def class_report(
    chapter: str,
    source: NotebookNode,
    students: Sequence[ReportedStudent],
    similar: Sequence[SimilarAnswers],
    run: ReportedRun,
) -> dict[str, Any]:
    """Put together what there is to say about a class.

    Args:
        chapter: the chapter's name, as its folder has it.
        source: the chapter's solution notebook, for its title and its exercises' headings.
        students: everybody who handed in.
        similar: near-identical answers.
        run: how the class was graded.

    Returns:
        Plain data for JSON, with these keys:

        ``chapter``, ``title``
            the chapter's name and its heading.
        ``run``
            ``finished``, ``seconds``, ``workers``, ``isolation``; ``executed`` and ``cached``, how
            many submissions; ``phases``, median seconds of an executed submission.
        ``marks``
            ``students``, ``not_graded``, how many of them have no marks and are left out here and
            in ``exercises``; ``max_score``, ``mean``, ``median``, ``least``, ``most``, and
            ``bars``: ``label``, ``from`` and ``below`` points, ``students``.
        ``exercises``
            ``exercise``, ``number``, ``title``, ``possible``, ``mean``, and how many students got
            ``all``, ``some`` and ``none`` of its points.
        ``misunderstandings``
            per exercise, most students first: ``exercise``, ``students`` who answered and failed,
            ``not_attempted``, how many left it as it was, and ``messages`` that differ only in
            values: ``count``, ``example``, ``students``, and ``wordings``, each with ``message``
            and ``students``.
        ``slow_cells``
            ``cell``, ``students``, ``median_seconds``, ``most_seconds``, ``slowest``; ``all
            checks`` is the time spent on judging.
        ``ungraded``, ``crashes``
            ``student`` and ``why``.
        ``flags``
            ``student`` and ``flags``.
        ``similar``
            as :class:`~course_utils.grading.report.similar.SimilarAnswers` has it, tuples as lists.
        ``alike``
            pairs of students alike in several exercises, most first: ``students``, ``exercises``.
        ``students``
            ``student``, ``score`` (None for who has no marks), ``max_score``, ``points``,
            ``problem``, ``died``, ``flags`` (how many), ``seconds`` of its cells and checks,
            ``memory_bytes``, ``cached``.
    """
    students = [replace(row, flags=[*row.flags, *solution_marks(row)]) for row in students]
    executed = [row for row in students if row.phases and not row.cached]
    return {
        "chapter": chapter,
        "title": _title(source) or chapter,
        "run": {
            **asdict(run),
            "executed": len(executed),
            "cached": sum(row.cached for row in students),
            "phases": _median_phases(executed),
        },
        "marks": _marks(students),
        "exercises": _exercises([row for row in students if row.known], exercise_names(source)),
        "misunderstandings": misunderstandings(students, stubs(source)),
        "slow_cells": _slow_cells(students),
        "ungraded": [
            {"student": row.student, "why": row.problem} for row in students if row.problem
        ],
        "crashes": [{"student": row.student, "why": row.died} for row in students if row.died],
        "flags": [
            {"student": row.student, "flags": list(row.flags)} for row in students if row.flags
        ],
        "similar": [
            {
                **asdict(pair),
                "students": list(pair.students),
                "sources": [list(source) for source in pair.sources],
            }
            for pair in similar
        ],
        "alike": _alike(similar),
        "students": [
            {
                "student": row.student,
                "score": row.score if row.known else None,
                "max_score": row.max_score,
                "points": dict(row.points),
                "problem": row.problem,
                "died": row.died,
                "flags": len(row.flags),
                "seconds": round(sum(seconds for _, seconds in _timed(row)), 3),
                "memory_bytes": row.memory_bytes,
                "cached": row.cached,
            }
            for row in students
        ],
    }


def exercise_names(source: NotebookNode) -> dict[str, tuple[str, str]]:
    """For each exercise's grade id its number and title, as its heading has them.

    Where there is no heading, its place and its grade id stand for them.
    """
    return {
        exercise: (heading["number"], heading["title"]) if heading else (str(place), exercise)
        for place, (exercise, heading) in enumerate(headings(source.cells).items(), start=1)
    }


def _timed(row: ReportedStudent) -> list[tuple[str, float]]:
    """The student's cells and what each took, in seconds, and then the checks together."""
    times = [(cell.get("grade_id") or cell["id"], cell["seconds"]) for cell in row.cells]
    judge = row.phases.get("judge", 0)
    return [*times, (ALL_CHECKS, judge)] if judge else times


def _title(source: NotebookNode) -> str:
    return str(source.metadata.get("course", {}).get("title", ""))


def _median_phases(executed: Sequence[ReportedStudent]) -> dict[str, float]:
    seconds = defaultdict(list)
    for row in executed:
        for phase, value in row.phases.items():
            seconds[phase].append(value)
    return {phase: round(statistics.median(values), 3) for phase, values in seconds.items()}


def _marks(students: Sequence[ReportedStudent]) -> dict[str, Any]:
    scores = [row.score for row in students if row.known]
    most = max((row.max_score for row in students), default=0)
    return {
        "students": len(students),
        "not_graded": len(students) - len(scores),
        "max_score": most,
        "mean": round(statistics.fmean(scores), 2) if scores else 0,
        "median": statistics.median(scores) if scores else 0,
        "least": min(scores, default=0),
        "most": max(scores, default=0),
        "bars": _bars(scores, most),
    }


def _bars(scores: Sequence[float], most: float) -> list[dict[str, Any]]:
    """Steps of 1, 2, 5, 10, … points; the last bar is what full marks fall into."""
    if not scores or most <= 0:
        return []
    steps = (factor * 10**power for power in range(9) for factor in (1, 2, 5))
    step = next(step for step in steps if most / step < MOST_BARS)
    count = int(most // step) + 1
    # Extra credit belongs to the last bar.
    places = Counter(min(count - 1, max(0, int(score // step))) for score in scores)
    whole = all(score == int(score) for score in [*scores, most])
    return [
        {
            "label": _label(place * step, step, most, whole),
            "from": place * step,
            "below": (place + 1) * step,
            "students": places[place],
        }
        for place in range(count)
    ]


def _label(start: int, step: int, most: float, whole: bool) -> str:
    end = start + step
    if not whole:
        return f"{start} to <{end}" if end <= most else f"{start} to {most:g}"
    last = min(end - 1, int(most))
    return str(start) if last == start else f"{start}–{last}"


def _exercises(
    students: Sequence[ReportedStudent], names: Mapping[str, tuple[str, str]]
) -> list[dict[str, Any]]:
    possible = {name: points for row in students for name, points in row.possible.items()}
    rows = []
    for place, (exercise, most) in enumerate(possible.items(), start=1):
        number, title = names.get(exercise, (str(place), exercise))
        points = [row.points.get(exercise, 0) for row in students]
        full = sum(reached >= most for reached in points)
        none = sum(reached <= 0 < most for reached in points)
        rows.append(
            {
                "exercise": exercise,
                "number": number,
                "title": title,
                "possible": most,
                "mean": round(statistics.fmean(points), 2),
                "all": full,
                "some": len(points) - full - none,
                "none": none,
            }
        )
    return rows


def _slow_cells(students: Sequence[ReportedStudent]) -> list[dict[str, Any]]:
    seconds: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in students:
        for cell, took in _timed(row):
            seconds[cell].append((took, row.student))
    rows: list[dict[str, Any]] = [
        {
            "cell": cell,
            "students": len(times),
            "median_seconds": round(statistics.median(value for value, _ in times), 3),
            "most_seconds": round(max(times)[0], 3),
            "slowest": max(times)[1],
        }
        for cell, times in seconds.items()
    ]
    return sorted(rows, key=lambda row: -row["most_seconds"])[:SLOWEST_CELLS]


def _alike(similar: Iterable[SimilarAnswers]) -> list[dict[str, Any]]:
    """Who is alike with whom in more than one exercise: once may well be chance."""
    together: dict[tuple[str, str], list[str]] = defaultdict(list)
    for found in similar:
        for pair in combinations(sorted(found.students), 2):
            if found.exercise not in together[pair]:
                together[pair].append(found.exercise)
    pairs = [
        {"students": list(pair), "exercises": exercises}
        for pair, exercises in together.items()
        if len(exercises) > 1
    ]
    return sorted(pairs, key=lambda pair: (-len(pair["exercises"]), pair["students"]))
