"""A student's marks for a chapter, as the gradebook has them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from course_utils.cells import exercise_of, gives_points, grade_id
from course_utils.grading.submission import NOT_GRADED
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter


@dataclass(frozen=True)
class Marks:
    """One student's marks for one chapter.

    ``points`` and ``possible`` are per exercise. ``problem`` says why the submission could not be
    graded, or why there is no feedback; it is empty where all is well. ``repairs`` says, in words,
    which cells were put right.
    """

    student: str
    score: float
    max_score: float
    points: dict[str, float] = field(default_factory=dict)
    possible: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    repairs: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        """Whether the points are what the answers earned."""
        return is_graded(self.problem)

    @property
    def known(self) -> bool:
        """Whether anything is known of the submission's worth; zero for what can't be read is."""
        return not self.problem.startswith(NOT_GRADED)


def is_graded(problem: str) -> bool:
    """Whether a submission with this problem was graded all the same."""
    return problem.startswith("graded") or not problem


def is_undone(problem: str) -> bool:
    """Whether something is left to do that may succeed another time."""
    return problem.startswith(NOT_GRADED) or (is_graded(problem) and bool(problem))


def checks_in(chapter: Chapter) -> list[str]:
    """The grade ids of the chapter's checks, in the notebook's order."""
    cells = read_notebook(chapter.solution).cells
    return [grade_id(cell) for cell in cells if gives_points(cell)]


def read_marks(grader, chapter: Chapter, grade_ids: list[str], student: str, problem: str) -> Marks:
    """A student's marks out of the gradebook, a check's points counted for its exercise."""
    from nbgrader.api import MissingEntry

    points: dict[str, float] = {}
    possible: dict[str, float] = {}
    with grader.gradebook as gradebook:
        source = gradebook.find_notebook(chapter.name, chapter.name)
        score, max_score, scores = 0.0, source.max_score, {}
        # Who could not be entered, for the name of the folder, has no marks.
        with suppress(MissingEntry, UnicodeError):
            submission = gradebook.find_submission(chapter.name, student)
            notebook = gradebook.find_submission_notebook(chapter.name, chapter.name, student)
            score, max_score = submission.score, submission.max_score
            scores = {cell.name: cell.score for cell in notebook.grades}
        most = {cell.name: cell.max_score for cell in source.grade_cells}
        for check in grade_ids:
            exercise = exercise_of(check)
            points[exercise] = points.get(exercise, 0) + scores.get(check, 0)
            possible[exercise] = possible.get(exercise, 0) + most[check]
        return Marks(student, score, max_score, points, possible, problem)
