"""Not one hostile submission earns what it did not deserve, does harm, or learns what is hidden."""

import io
import os
import time

import nbformat
import psutil
import pytest
from nbformat import NotebookNode
from rich.console import Console

from course_utils.command.grade import grade
from course_utils.grading.scan import scan
from course_utils.grading.verdict.wording import TOO_LONG
from course_utils.kernels.sandbox import why_not
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter, pick_chapters
from support.answers import ROOT, exercises, grader_of
from support.classroom import make_course
from support.hostile import (
    ERROR,
    EVERYTHING,
    GRADERS_SECRET,
    HIDDEN_WORDS,
    LIGHT_CHAPTER,
    NEIGHBOURS_SECRET,
    RIGHT_ERROR,
    RIGHT_SHAPES,
    SHAPES,
    Attack,
    Graded,
    answer,
    attacks,
    forbidden_file,
    listeners,
)

ATTACKS = attacks()
NEIGHBOUR = "a-neighbour"
# More than processors, since many attacks wait until they are ended.
WORKERS = 3
LIMITS = """
c.ExecuteSandboxed.cell_seconds = 9
c.ExecuteSandboxed.grace_seconds = 5
c.ExecuteSandboxed.notebook_seconds = 40
c.ExecuteSandboxed.memory_bytes = 1500 * 2**20
c.ExecuteSandboxed.processes = 64
c.ExecuteSandboxed.file_bytes = 64 * 2**20
c.ExecuteSandboxed.output_bytes = 100_000
"""


def marked_cells(notebook: NotebookNode) -> NotebookNode:
    """The notebook with nbgrader's cells alone: what runs beside them only takes time."""
    notebook.cells = [cell for cell in notebook.cells if grader_of(cell)]
    return notebook


def submission_folder(course: Chapter, student: str):
    folder = course.root / "submitted" / student / course.name
    folder.mkdir(parents=True)
    return folder


def hand_in(course: Chapter, attack: Attack) -> None:
    folder = submission_folder(course, attack.name.replace("_", "-"))
    notebook = marked_cells(read_notebook(course.release))
    attack.module.hand_in(course, notebook, folder)
    path = folder / f"{course.name}.ipynb"
    if not os.path.lexists(path):
        nbformat.write(notebook, path)


def hand_in_of_the_neighbour(course: Chapter) -> None:
    """An honest student, who must have all points whatever the others do."""
    folder = submission_folder(course, NEIGHBOUR)
    notebook = marked_cells(read_notebook(course.release))
    answer(notebook, SHAPES, f"# {NEIGHBOURS_SECRET}\n{RIGHT_SHAPES}")
    answer(notebook, ERROR, RIGHT_ERROR)
    nbformat.write(notebook, folder / f"{course.name}.ipynb")


class Class:
    """The hostile submissions of one chapter, graded in one run."""

    def __init__(self, name: str, root, isolation: str) -> None:
        (source,) = pick_chapters(ROOT, [name])
        self.attacks = [a for a in ATTACKS if a.chapter == name and not skipped(a, isolation)]
        self.course = make_course(source, root)
        with (root / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
            settings.write(LIMITS)
        with listeners(root) as self.heard:
            for attack in self.attacks:
                hand_in(self.course, attack)
            if name == LIGHT_CHAPTER:
                hand_in_of_the_neighbour(self.course)
            began = time.monotonic()
            console = Console(file=io.StringIO())
            marks = grade(self.course, console=console, workers=WORKERS, isolation=isolation)
            self.seconds = time.monotonic() - began
        self.marks = {row.student: row for row in marks}

    def graded(self, student: str) -> Graded:
        return Graded(
            chapter=self.course,
            marks=self.marks[student],
            notebook=self.text("autograded", student, "ipynb"),
            feedback=self.text("feedback", student, "html"),
            heard=self.heard,
        )

    def text(self, step: str, student: str, kind: str) -> str:
        name = self.course.name
        path = self.course.root / step / student / name / f"{name}.{kind}"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def skipped(attack: Attack, isolation: str) -> bool:
    return attack.needs_sandbox and isolation == "none"


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """The graded classes, by chapter."""
    reason = why_not()
    if os.environ.get("COURSE_REQUIRE_SANDBOX") == "1":
        assert not reason, reason
    made: dict[str, Class] = {}
    patch = pytest.MonkeyPatch()
    patch.setenv("COURSE_SECRET", GRADERS_SECRET)

    def of_chapter(name: str) -> Class:
        if name not in made:
            made[name] = Class(name, tmp_path_factory.mktemp(name), "none" if reason else "bwrap")
        return made[name]

    yield of_chapter
    patch.undo()


def cases():
    for attack in ATTACKS:
        limit = attack.known_limit
        marks = [pytest.mark.xfail(reason=limit, strict=True)] if limit else []
        yield pytest.param(attack, id=attack.name, marks=marks)


@pytest.mark.parametrize("attack", list(cases()))
def test_an_attack_earns_nothing_and_does_no_harm(attack, classes):
    if skipped(attack, "none" if why_not() else "bwrap"):
        pytest.skip(f"needs a sandbox: {why_not()}")
    graded = classes(attack.chapter).graded(attack.name.replace("_", "-"))
    (chapter,) = pick_chapters(ROOT, [attack.chapter])
    expected = {name: attack.earns.get(name, 0) for name in exercises(chapter)}
    assert graded.marks.points == expected, graded.marks.problem
    assert [words for words in attack.arrived if words not in graded.said + graded.told] == []
    assert attack.times_out or TOO_LONG not in graded.said
    if hasattr(attack.module, "harm"):
        attack.module.harm(graded)


def test_the_neighbour_has_every_point(classes):
    marks = classes(LIGHT_CHAPTER).graded(NEIGHBOUR).marks
    # Of what it answered: the chapter may get further exercises.
    earned = {name: points for name, points in marks.points.items() if points}
    assert (earned, marks.problem) == (EVERYTHING, "")


def test_nobody_outside_heard_anything(classes):
    assert classes(LIGHT_CHAPTER).heard == []
    assert not forbidden_file(classes(LIGHT_CHAPTER).course).exists()


def test_no_feedback_holds_a_hidden_test_or_a_secret(classes):
    graded = classes(LIGHT_CHAPTER)
    for attack in graded.attacks:
        page = graded.text("feedback", attack.name.replace("_", "-"), "html")
        for words in (*HIDDEN_WORDS, GRADERS_SECRET, NEIGHBOURS_SECRET):
            # An attack's own source may name what it looks for.
            assert page.count(words) <= vars_text(attack).count(words), (attack.name, words)


def vars_text(attack: Attack) -> str:
    return "".join(value for value in vars(attack.module).values() if isinstance(value, str))


def test_no_process_stays_behind(classes):
    assert classes(LIGHT_CHAPTER)
    deadline = time.monotonic() + 10
    while left := [p for p in psutil.Process().children(recursive=True) if is_kernel(p)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def is_kernel(process: psutil.Process) -> bool:
    try:
        return "bwrap" in process.name() or "ipykernel_launcher" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def test_every_attack_says_what_it_tries_and_how_it_is_seen_to_arrive():
    assert len(ATTACKS) >= 60
    for attack in ATTACKS:
        assert (attack.module.__doc__ or "").strip(), attack.name
        assert all(attack.arrived), attack.name
        assert attack.arrived, attack.name


def flags_of(attack: Attack, folder) -> list[str]:
    (chapter,) = pick_chapters(ROOT, [attack.chapter])
    notebook = read_notebook(chapter.release)
    attack.module.hand_in(chapter, notebook, folder)
    return scan(notebook, read_notebook(chapter.solution))


@pytest.mark.parametrize(
    "attack",
    [a for a in ATTACKS if a.known_limit and a.chapter != LIGHT_CHAPTER],
    ids=lambda attack: attack.name,
)
def test_points_that_nothing_holds_are_shown_to_a_person(attack, tmp_path):
    assert flags_of(attack, tmp_path)
