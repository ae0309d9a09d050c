"""What a class made of a chapter: a JSON report, and the same as a page to read.

The page is one file that needs no network. Everything that students wrote is escaped, signs that
cannot be seen are spelled out, and the page's own policy lets no other script run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import SequenceMatcher
from itertools import combinations, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nbformat import NotebookNode

from course_utils.cells import SOLUTION, exercise_of, exercises, headings
from course_utils.files import replacing
from course_utils.grading.execution import NOT_GRADED
from course_utils.grading.report.similar import SimilarAnswers

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE = Path(__file__).with_name("templates")
ALL_CHECKS = "all checks"
MOST_BARS = 12
SLOWEST_CELLS = 10
LONGEST_MESSAGE = 600  # characters
# What the page shows at most, so that it stays readable; report.json has everything.
SHOWN_PAIRS = 40
SHOWN_ALIKE = 20
SHOWN_LINES = 80
SHOWN_COLUMNS = 160
SHOWN_FLAGS = 10
SHOWN_WORDINGS = 6

COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
# Control signs, half characters, and signs that turn or hide the text around them.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


@dataclass(frozen=True)
class Graded:
    """One student's marks, and what was seen while the submission ran.

    Attributes:
        student: whose submission it is.
        score: points reached.
        max_score: points possible.
        points: points reached, by exercise, in the chapter's order.
        possible: points possible, by exercise.
        problem: why the submission could not be graded; empty where it could.
        cells: the code cells that ran: ``id``, ``grade_id`` and ``seconds``.
        phases: seconds by phase.
        messages: for each failed check's grade id, what it said first.
        answers: by exercise, what the student's cell holds.
        died: where and why the kernel ended; empty where it did not.
        flags: what a person should read; see ``scan``.
        memory_bytes: the most memory that the student's kernel had.
        cached: whether the outcome was there already, so that nothing was executed.
    """

    student: str
    score: float
    max_score: float
    points: Mapping[str, float] = field(default_factory=dict)
    possible: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""
    cells: Sequence[Mapping[str, Any]] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    died: str = ""
    flags: Sequence[str] = ()
    memory_bytes: int = 0
    cached: bool = False

    @property
    def known(self) -> bool:
        """Whether there are marks; zero for what can't be read is one."""
        return not self.problem.startswith(NOT_GRADED)


@dataclass(frozen=True)
class Run:
    """How the class was graded.

    Attributes:
        finished: when, as an ISO 8601 time with its offset.
        seconds: how long the whole run took.
        workers: how many submissions ran at a time.
        isolation: ``bwrap`` or ``none``.
    """

    finished: str
    seconds: float
    workers: int
    isolation: str


def class_report(
    chapter: str,
    source: NotebookNode,
    students: Sequence[Graded],
    similar: Sequence[SimilarAnswers],
    run: Run,
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
    students = [replace(row, flags=[*row.flags, *_solution_marks(row)]) for row in students]
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
        "misunderstandings": _misunderstandings(students, _stubs(source)),
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


def _stubs(source: NotebookNode) -> dict[str, str]:
    """For each exercise's grade id the code that its cell holds before there is an answer."""
    return {
        exercise: _code(SOLUTION.sub("", text))
        for exercise, text in exercises(source.cells).items()
    }


def _code(text: str) -> str:
    """A text without its comments and empty lines."""
    return re.sub(r"^\s*(#.*)?\n?", "", text, flags=re.MULTILINE).rstrip()


def _solution_marks(row: Graded) -> list[str]:
    """The answers that hold what only the course's own solutions do."""
    return [
        f"{exercise}: it holds the marks of a solution (### BEGIN SOLUTION)"
        for exercise, answer in row.answers.items()
        if re.search(r"### (BEGIN|END) SOLUTION", answer)
    ]


def _timed(row: Graded) -> list[tuple[str, float]]:
    """The student's cells and what each took, in seconds, and then the checks together."""
    times = [(cell.get("grade_id") or cell["id"], cell["seconds"]) for cell in row.cells]
    judge = row.phases.get("judge", 0)
    return [*times, (ALL_CHECKS, judge)] if judge else times


def _title(source: NotebookNode) -> str:
    return str(source.metadata.get("course", {}).get("title", ""))


def _median_phases(executed: Sequence[Graded]) -> dict[str, float]:
    seconds = defaultdict(list)
    for row in executed:
        for phase, value in row.phases.items():
            seconds[phase].append(value)
    return {phase: round(statistics.median(values), 3) for phase, values in seconds.items()}


def _marks(students: Sequence[Graded]) -> dict[str, Any]:
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
    students: Sequence[Graded], names: Mapping[str, tuple[str, str]]
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


def _misunderstandings(
    students: Sequence[Graded], stubs: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The failed checks' messages by exercise, those that differ only in values together."""
    said: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
    untouched: dict[str, set[str]] = defaultdict(set)
    for row in students:
        for check, message in row.messages.items():
            exercise = exercise_of(check)
            if exercise in row.answers and _code(row.answers[exercise]) == stubs.get(exercise):
                untouched[exercise].add(row.student)
                continue
            for words in statements(message):
                wordings = said[exercise][without_values(words)]
                wordings.setdefault(words, []).append(row.student)
    found = []
    for exercise in [*said, *(untouched.keys() - said.keys())]:
        messages = [_group(wordings) for wordings in said[exercise].values()]
        messages.sort(key=lambda group: -group["count"])
        names = {student for group in messages for student in group["students"]}
        found.append(
            {
                "exercise": exercise,
                "students": len(names),
                "not_attempted": len(untouched[exercise]),
                "messages": messages,
            }
        )
    order = list(stubs)
    return sorted(
        found,
        key=lambda entry: (
            -entry["students"],
            -entry["not_attempted"],
            order.index(entry["exercise"]) if entry["exercise"] in order else len(order),
        ),
    )


def statements(message: str) -> list[str]:
    """What a check said, a list of indented lines one by one: each is a mistake of its own."""
    message = re.sub(r"^(AssertionError|NotRun): ", "", COLOUR_CODES.sub("", message).strip())
    first, *rest = message.split("\n")
    listed = first.endswith(":") and rest and all(line.startswith("  ") for line in rest)
    parts = [line.strip() for line in rest] if listed else [message]
    return [
        part if len(part) <= LONGEST_MESSAGE else part[:LONGEST_MESSAGE] + " …" for part in parts
    ]


def _group(wordings: Mapping[str, list[str]]) -> dict[str, Any]:
    ordered = sorted(wordings.items(), key=lambda entry: (-len(entry[1]), len(entry[0]), entry[0]))
    students = sorted({student for _, names in ordered for student in names})
    return {
        "count": len(students),
        "example": ordered[0][0],
        "students": students,
        "wordings": [{"message": message, "students": names} for message, names in ordered],
    }


def without_values(message: str) -> str:
    """A message with every number, quoted text, list and tuple of them as one sign.

    ``True``, ``False`` and ``None`` stay: to get one for the other is another mistake.
    """
    plain = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "#", message)
    plain = re.sub(r"(?<![\w.])[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\b", "#", plain)
    before = ""
    while before != plain:
        before = plain
        plain = re.sub(r"(?<!\w)[(\[] *(#?(, *#)*,?) *[)\]]", "#", plain)
    # The arguments of a call: which case it was, not what went wrong.
    return re.sub(r"\( *#(, *#)* *\)", "(#)", plain)


def _slow_cells(students: Sequence[Graded]) -> list[dict[str, Any]]:
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


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    """Write ``report.json`` and ``report.html`` into ``folder``, each of them whole or not at all.

    Args:
        report: what :func:`class_report` returned.
        folder: ``reports/CHAPTER`` in the course's root, made where it is missing. The page links
            to the feedback files from there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"report.json": json.dumps(report, indent=1) + "\n", "report.html": render(report)}
    for name, text in texts.items():
        with replacing(folder / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


@functools.cache
def page_environment(folder: Path) -> Environment:
    """Jinja for a folder's pages: all text is escaped, signs that cannot be seen spelled out."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_style(own: Path) -> str:
    """A page's style sheet: the colours and the ground of all pages, then its own."""
    return "".join(path.read_text(encoding="utf-8") for path in (PAGE / "theme.css", own))


def render(report: Mapping[str, Any]) -> str:
    """The report as one HTML page."""
    from markupsafe import Markup

    environment = page_environment(PAGE)
    environment.filters.update(
        duration=duration,
        link=lambda name: quote(name, safe="", errors="replace"),
        people=people,
        points="{:g}".format,
    )
    style = page_style(PAGE / "report.css")
    script = (PAGE / "report.js").read_text(encoding="utf-8")
    return environment.get_template("report.html").render(
        report=report,
        style=Markup(style),
        style_hash=policy_hash(style),
        script=Markup(script),
        script_hash=policy_hash(script),
        histogram=_histogram(report["marks"]["bars"]),
        numbers={row["exercise"]: row["number"] for row in report["exercises"]},
        titles={row["exercise"]: row["title"] for row in report["exercises"]},
        side_by_side=side_by_side,
        shown_pairs=SHOWN_PAIRS,
        shown_alike=SHOWN_ALIKE,
        shown_flags=SHOWN_FLAGS,
        shown_wordings=SHOWN_WORDINGS,
    )


def policy_hash(text: str) -> str:
    """How a content security policy names a script or a style that it lets through."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def visible(value: Any) -> Any:
    """A text with the signs that cannot be seen, or that turn the text around, spelled out."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", value)


def duration(seconds: float) -> str:
    """Seconds as a person says them: ``0.34 s``, ``12 s``, ``3 min 20 s``."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def people(count: int) -> str:
    return "1 student" if count == 1 else f"{count} students"


def _histogram(bars: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Where the bars, the counts and the axis' numbers stand, in the drawing's own units."""
    width, height, left, top = 680, 180, 44, 28
    tallest = max((bar["students"] for bar in bars), default=0) or 1
    # Up to five lines at round numbers of students.
    step = next(s for p in range(7) for s in (10**p, 2 * 10**p, 5 * 10**p) if tallest / s <= 5)
    top_line = math.ceil(tallest / step) * step
    place = width / max(1, len(bars))
    return {
        "bars": [
            {
                "x": round(left + place * (number + 0.06), 1),
                "middle": round(left + place * (number + 0.5), 1),
                "y": round(top + height * (1 - bar["students"] / top_line), 1),
                "width": round(0.88 * place, 1),
                "height": round(height * bar["students"] / top_line, 1),
                "label": bar["label"],
                "students": bar["students"],
            }
            for number, bar in enumerate(bars)
        ],
        "lines": [
            {"y": round(top + height * (1 - value / top_line), 1), "value": value}
            for value in range(0, top_line + 1, step)
        ],
        **{"left": left, "right": left + width, "bottom": top + height},
        **{"width": left + width + 8, "height": top + height + 46},
    }


def side_by_side(sources: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Two texts as rows for a table, so that equal lines stand beside each other.

    Returns:
        ``rows`` of ``(left line, right line, whether they are the same)``, and ``more``, how many
        rows are left out.
    """
    texts = [text.split("\n") for _, text in sources]
    left, right = (text[: 2 * SHOWN_LINES] for text in texts)
    unread = max(0, max(map(len, texts)) - 2 * SHOWN_LINES)
    rows = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d], fillvalue=""):
            rows.append((_short(one), _short(other), kind == "equal"))
    return {"rows": rows[:SHOWN_LINES], "more": max(0, len(rows) - SHOWN_LINES) + unread}


def _short(line: str) -> str:
    return line if len(line) <= SHOWN_COLUMNS else line[:SHOWN_COLUMNS] + " …"
