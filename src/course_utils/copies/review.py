"""Questions that a learner answered once, asked again when they are about to be forgotten.

What is asked are the chapters' predictions: exercises whose answer is a dict of blanks. FSRS says
when each is due (Ye, Su and Cao, *A Stochastic Shortest Path Algorithm for Optimizing Spaced
Repetition Scheduling*, 2022), by the package that its authors keep.
"""

from __future__ import annotations

import ast
import collections
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from fsrs import Card, Rating, Scheduler
from nbformat import NotebookNode

from course_utils.cells import HEADING, exercise_of, gives_points, grade_id, is_exercise
from course_utils.copies.copying import KEPT, copy_of
from course_utils.copies.fresh import freshen
from course_utils.errors import CourseError
from course_utils.exercises import Exercise, exercises_of, read_progress
from course_utils.files import write_whole
from course_utils.grading.solution import bound_names, is_locked, statements_of, used_names
from course_utils.notebooks import read_notebook, write_notebook
from course_utils.project import Chapter

MINUTES = 10
TITLE = """# Review

Questions that you answered in earlier chapters, and that you may soon forget. Answer without
looking them up, run each check, and save. Then type `course review`: it counts what you answered,
and says when to come back."""
# Days, not minutes: a question comes at most once a day. Without chance, so that the same answers
# give the same dates.
SCHEDULER = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)


@dataclass
class Review:
    """What `course review` did.

    Attributes:
        right, wrong: how many answers of the last notebook were counted.
        asked: how many questions the new notebook has; 0 where nothing is due.
        book: where it is.
        next_due: when the next question is due, where nothing is due now.
    """

    right: int = 0
    wrong: int = 0
    asked: int = 0
    book: Path | None = None
    next_due: datetime | None = None

    def tell(self) -> Iterator[str]:
        """A line or two for the learner."""
        if self.right or self.wrong:
            yield f"counted: {self.right} right, {self.wrong} wrong"
        if self.asked:
            questions = "question" if self.asked == 1 else "questions"
            yield f"{self.asked} {questions} to answer in {self.book}; then run: course review"
        elif self.next_due:
            yield f"nothing is due before {self.next_due.astimezone():%d %B %Y}"
        else:
            yield "nothing to review yet: solve a prediction in a chapter first"


def review(chapters: list[Chapter], folder: Path, now: datetime | None = None) -> Review:
    """Count the answers in the last review notebook, and write the next one.

    Args:
        chapters: those whose questions may come.
        folder: the learner's folder, which holds the notebook and the schedule.
        now: the time, with its time zone; by default the clock's.

    Raises:
        CourseError: the folder can't be read or written.
    """
    now = now or datetime.now(UTC)
    schedule_file, book = folder / KEPT / "review.json", folder / "review" / "review.ipynb"
    cards = read_schedule(schedule_file)
    done = Review(book=book)
    for exercise in answered(book):
        if exercise.name in cards and cards[exercise.name].due <= now:
            solved = exercise.state == "solved"
            done.right, done.wrong = done.right + solved, done.wrong + (not solved)
            rating = Rating.Good if solved else Rating.Again
            cards[exercise.name], _ = SCHEDULER.review_card(cards[exercise.name], rating, now)
    questions = with_cards(chapters, folder, cards)
    due = sorted(
        (name for name in questions if cards[name].due <= now), key=lambda name: cards[name].due
    )
    try:
        if due:
            picked = enough([questions[name] for name in due])
            write_notebook(notebook_of(picked, now.toordinal()), book)
            done.asked = len(picked)
        elif questions:
            done.next_due = min(cards[name].due for name in questions)
        write_whole(schedule_file, json.dumps({name: cards[name].to_dict() for name in cards}))
    except OSError as error:
        raise CourseError(f"{folder} can't be written ({error.strerror})") from error
    return done


def with_cards(
    chapters: list[Chapter], folder: Path, cards: dict[str, Card]
) -> dict[str, tuple[Chapter, Exercise]]:
    """The solved predictions of the chapters, by grade id; each of them gets a card."""
    questions = {}
    for chapter in chapters:
        for question, solved_at in solved_predictions(chapter, folder):
            questions[question.name] = (chapter, question)
            if question.name not in cards:
                # To have solved it in the chapter was the first time.
                cards[question.name], _ = SCHEDULER.review_card(Card(), Rating.Good, solved_at)
    return questions


def due_now(
    chapters: list[Chapter], folder: Path, now: datetime | None = None
) -> collections.Counter[str]:
    """How many questions are due, by the chapters' names. Nothing is written.

    Raises:
        CourseError: the schedule is damaged.
    """
    now = now or datetime.now(UTC)
    cards = read_schedule(folder / KEPT / "review.json")
    questions = with_cards(chapters, folder, cards)
    due = [chapter.name for name, (chapter, _) in questions.items() if cards[name].due <= now]
    return collections.Counter(due)


def read_schedule(path: Path) -> dict[str, Card]:
    """When each question is due, by its grade id; empty before the first review.

    Raises:
        CourseError: the file is damaged; the message says what to do.
    """
    try:
        return {
            name: Card.from_dict(card)
            for name, card in json.loads(path.read_text(encoding="utf-8")).items()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CourseError(f"{path} is damaged: remove it, and all dates begin anew") from error


def answered(book: Path) -> list[Exercise]:
    """The questions of the last notebook that were answered, and whose checks were run."""
    if not book.exists():
        return []
    cells = read_notebook(book).cells
    ran = {
        exercise_of(grade_id(cell))
        for cell in cells
        if gives_points(cell) and cell.execution_count is not None
    }
    return [
        exercise
        for exercise in exercises_of(cells)
        if exercise.state != "untouched" and exercise.name in ran
    ]


def solved_predictions(chapter: Chapter, folder: Path) -> Iterator[tuple[Exercise, datetime]]:
    """The predictions that a learner solved in a chapter's copy, and when the copy was saved."""
    copy = copy_of(folder, chapter)
    if not copy.exists():
        return
    blank = {
        grade_id(cell)
        for cell in read_notebook(chapter.release).cells
        if is_exercise(cell) and is_prediction(cell.source)
    }
    saved = datetime.fromtimestamp(copy.stat().st_mtime, UTC)
    for exercise in read_progress(copy).exercises:
        if exercise.state == "solved" and exercise.name in blank:
            yield exercise, saved


def is_prediction(stub: str) -> bool:
    """Whether an exercise, as learners get it, is a dict of blanks and nothing else."""
    match ast.parse(stub).body:
        case [ast.Assign(value=ast.Dict(values=values))] | [
            ast.AnnAssign(value=ast.Dict(values=values))
        ]:
            return all(isinstance(value, ast.Constant) and value.value is None for value in values)
    return False


def enough(questions: list[tuple[Chapter, Exercise]]) -> list[tuple[Chapter, Exercise]]:
    """The first questions that fit into ``MINUTES``; one at least.

    A second time takes about half of what an exercise took in its chapter.
    """
    picked, minutes = [], 0.0
    for chapter, exercise in questions:
        if not picked or minutes + exercise.minutes / 2 <= MINUTES:
            picked.append((chapter, exercise))
            minutes += exercise.minutes / 2
    return picked


def notebook_of(questions: list[tuple[Chapter, Exercise]], turn: int) -> NotebookNode:
    """The questions' cells out of their releases, below what they need of the locked cells.

    Args:
        turn: a number that grows from day to day: which numbers a question has this time.
    """
    cells = [nbformat.v4.new_markdown_cell(TITLE, id="title")]
    for chapter, exercise in questions:
        release = read_notebook(chapter.release)
        own = cells_of(release.cells, exercise.name)
        freshen(own, exercise.name, turn)
        for cell in own:
            # Two chapters' cells may have the same id.
            cell.id = f"{exercise.name}-{len(cells)}"[-64:]
            if is_locked(cell) or gives_points(cell):
                # A check explains the answers.
                cell.metadata["jupyter"] = {"source_hidden": True}
            cells.append(cell)
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": release.metadata.kernelspec}
    )


def cells_of(cells: list[NotebookNode], name: str) -> list[NotebookNode]:
    """One exercise's cells: the locked ones that it needs, its statement, its cell, its checks."""
    place = next(place for place, cell in enumerate(cells) if grade_id(cell) == name)
    start = next(
        start for start in range(place, -1, -1) if HEADING.search(cells[start].source or "")
    )
    statement = [cell for cell in cells[start:place] if cell.cell_type == "markdown"]
    *_, heading = HEADING.finditer(statement[0].source)
    statement[0].source = statement[0].source[heading.start() :]
    checks = [cell for cell in cells if gives_points(cell) and exercise_of(grade_id(cell)) == name]
    wanted = [cells[place], *checks]
    needed = {name for cell in wanted for name in names_in(cell.source)}
    locked = []
    for cell in reversed(cells[: cells.index(checks[-1])]):
        if is_locked(cell) and not gives_points(cell) and given_by(cell) & needed:
            locked.insert(0, cell)
            needed |= names_in(cell.source)
    return [*locked, *statement, *wanted]


def names_in(source: str) -> set[str]:
    """The names that a text uses, also in strings: a question may be an expression to evaluate."""
    tree = ast.parse(source)
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    words = (re.findall(r"[^\W\d]\w*", text) for text in texts if isinstance(text, str))
    return used_names(tree).union(*words)


def given_by(cell: NotebookNode) -> set[str]:
    """The names that a cell binds or imports."""
    names = set()
    for statement in statements_of(cell):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
        names.update(bound_names(statement))
    return names
