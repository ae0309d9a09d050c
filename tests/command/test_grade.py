"""``course grade`` on the tiny chapter: what it scores, what it leaves alone, how it refuses."""

import json
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook
from rich.console import Console

from course_utils.authoring.build import build_into_place
from course_utils.command.cli import main
from course_utils.command.grade import grade, show
from course_utils.errors import CourseError
from course_utils.gradebook.grader import open_grader
from course_utils.gradebook.marks import Marks
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from support.answers import ROOT, exercises, grader_of
from support.classroom import delete, fill_in
from support.tiny import make_tiny_course

NBGRADER = Path(sys.executable).with_name("nbgrader")
RIGHT = {"double": "def double(x):\n    return x + x", "halve": "def halve(x):\n    return x / 2"}
WARNS = """import warnings
def double(x):
    warnings.warn("doubling is old-fashioned")
    return x + x
"""
STUBBORN = """import time
while True:
    try:
        time.sleep(1)
    except KeyboardInterrupt:
        pass
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tiny course, built: copied for each test that changes it."""
    chapter = make_tiny_course(tmp_path_factory.mktemp("built"))
    build_into_place(chapter)
    return chapter


@pytest.fixture
def chapter(built, tmp_path):
    shutil.copytree(built.root, tmp_path / "course")
    return Chapter(built.name, tmp_path / "course")


def submission_folder(chapter, student):
    return chapter.root / "submitted" / student / chapter.name


def submit(chapter, student, answers, edit=None):
    folder = submission_folder(chapter, student)
    folder.mkdir(parents=True, exist_ok=True)
    notebook = read_notebook(chapter.release)
    fill_in(notebook, answers)
    if edit:
        edit(notebook)
    nbformat.write(notebook, folder / f"{chapter.name}.ipynb")


def submit_text(chapter, student, text):
    folder = submission_folder(chapter, student)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{chapter.name}.ipynb").write_text(text, encoding="utf-8")


def grade_all(chapter, *students, **options):
    """Without a sandbox, which costs time and is not what these tests are about."""
    options = {"isolation": "none", "workers": 1} | options
    marks = grade(chapter, students, console=Console(quiet=True), **options)
    return {row.student: row for row in marks}


def gradebook(chapter):
    return Gradebook(f"sqlite:///{chapter.root}/gradebook.db")


def skip_the_checks(notebook):
    for cell in notebook.cells:
        if grader_of(cell).get("grade"):
            cell.metadata["tags"] = ["skip-execution"]


def copy_cells(notebook):
    """Cells pasted elsewhere, and one that the source does not have."""
    copies = [cell.copy() for cell in notebook.cells if grader_of(cell)]
    stranger = nbformat.from_dict(
        {**copies[-1], "metadata": {"nbgrader": {**grader_of(copies[-1])}}}
    )
    stranger.metadata.nbgrader["grade_id"] = "nobody-knows"
    for number, cell in enumerate([*copies, stranger]):
        cell.id = f"copy-{number}"
    notebook.cells += [*copies, stranger]


def flip_marks(notebook):
    for cell in notebook.cells:
        marks = grader_of(cell)
        if marks.get("grade_id") == "double-check":
            marks.update(grade=False, points=0)
        if marks.get("grade_id") == "double":
            marks.update(grade=True, points=50)


def delete_nearly_all(notebook):
    for name in ("setup", "halve", "halve-check"):
        delete(name)(notebook)


def test_every_kind_of_submission_gets_what_it_earned(chapter):
    with (chapter.root / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
        settings.write("\nc.ExecuteSandboxed.cell_seconds = 8\n")
    exits = "import os\ndef halve(x):\n    os._exit(0)"
    submit(chapter, "works", RIGHT)
    submit(chapter, "copies", RIGHT, copy_cells)
    submit(chapter, "flips", RIGHT, flip_marks)
    submit(chapter, "warns", RIGHT | {"double": WARNS})
    submit(chapter, "exits", RIGHT | {"halve": exits})
    submit(chapter, "exits-first", RIGHT | {"double": exits.replace("halve", "double")})
    submit(chapter, "stubborn", RIGHT | {"halve": STUBBORN})
    submit(chapter, "skips", {}, skip_the_checks)
    submit(chapter, "strips", {"double": RIGHT["double"]}, delete_nearly_all)
    submit_text(chapter, "broken", '{"cells": [')
    submit_text(chapter, "list", "[1, 2]")
    submission_folder(chapter, "empty-handed").mkdir(parents=True)
    release, written = chapter.release.read_bytes(), chapter.release.stat().st_mtime_ns

    marks = grade_all(chapter)

    assert {name: row.points for name, row in marks.items()} == {
        "works": {"double": 1, "halve": 2},
        "copies": {"double": 1, "halve": 2},
        "flips": {"double": 1, "halve": 2},
        "warns": {"double": 1, "halve": 2},
        "exits": {"double": 1, "halve": 0},
        "exits-first": {"double": 0, "halve": 2},
        "stubborn": {"double": 1, "halve": 0},
        "skips": {"double": 0, "halve": 0},
        "strips": {"double": 1, "halve": 0},
        "broken": {"double": 0, "halve": 0},
        "list": {"double": 0, "halve": 0},
        "empty-handed": {"double": 0, "halve": 0},
    }
    problems = {name: row.problem for name, row in marks.items() if row.problem}
    assert problems["broken"].startswith("not a notebook (")
    assert problems["list"].startswith("not a notebook (")
    assert (
        problems["empty-handed"] == "01_tiny.ipynb is missing from submitted/empty-handed/01_tiny"
    )
    assert set(problems) == {"broken", "list", "empty-handed"}
    with gradebook(chapter) as book:
        for name, row in marks.items():
            assert book.find_submission(chapter.name, name).score == row.score
    rows = (chapter.root / "grades.csv").read_text().splitlines()
    assert len(rows) == 1 + len(marks)
    assert chapter.release.read_bytes() == release
    assert chapter.release.stat().st_mtime_ns == written, "learners' files are the build's alone"

    # nbgrader's own command goes on from here, with the same outcome for a check that never ran.
    with (chapter.root / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
        settings.write('\nc.ExecuteSandboxed.isolation = "none"\n')
    finished = subprocess.run(
        [NBGRADER, "autograde", chapter.name, "--student=exits", "--force"],
        cwd=chapter.root,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    with gradebook(chapter) as book:
        assert book.find_submission(chapter.name, "exits").score == 1


def test_grading_again(chapter):
    """New work counts, a person's marks and comments stay, and who is not named is left alone."""
    submit(chapter, "ada", RIGHT | {"halve": "def halve(x):\n    return x // 2"})
    submit(chapter, "bob", {})
    assert {name: row.score for name, row in grade_all(chapter).items()} == {"ada": 1, "bob": 0}
    with gradebook(chapter) as book:
        mark = book.find_grade("halve-check", chapter.name, chapter.name, "ada")
        mark.manual_score = 1.5
        comment = book.find_comment("halve", chapter.name, chapter.name, "ada")
        comment.manual_comment = "nearly"
        book.db.commit()

    submit(chapter, "bob", RIGHT)
    assert {name: row.score for name, row in grade_all(chapter, "ada").items()} == {"ada": 2.5}
    with gradebook(chapter) as book:
        comment = book.find_comment("halve", chapter.name, chapter.name, "ada")
        assert comment.manual_comment == "nearly"
        assert book.find_submission(chapter.name, "bob").score == 0
    assert "nearly" in feedback(chapter, "ada").read_text(encoding="utf-8")

    assert grade_all(chapter)["bob"].score == 3
    with gradebook(chapter) as book:
        book.find_grade("halve-check", chapter.name, chapter.name, "bob").manual_score = 2
        book.db.commit()
    submit_text(chapter, "bob", "nothing")
    row = grade_all(chapter, "bob")["bob"]
    assert row.score == 0
    assert row.problem
    assert not feedback(chapter, "bob").exists(), "feedback on work that was handed in before"


def feedback(chapter, student):
    return chapter.root / "feedback" / student / chapter.name / f"{chapter.name}.html"


def edit_solution(chapter, name, **changes):
    notebook = read_notebook(chapter.solution)
    for cell in notebook.cells:
        if grader_of(cell).get("grade_id") == name:
            cell.metadata["nbgrader"].update(changes)
    nbformat.write(notebook, chapter.solution)


def test_the_gradebook_follows_the_solution_notebook(chapter):
    submit(chapter, "ada", RIGHT)
    assert grade_all(chapter)["ada"].max_score == 3
    edit_solution(chapter, "halve-check", points=5)
    assert grade_all(chapter)["ada"].points == {"double": 1, "halve": 5}

    # A renamed check would orphan the marks that are there: nbgrader refuses, and so do we.
    edit_solution(chapter, "halve-check", grade_id="halve-check-2")
    with pytest.raises(CourseError, match="Cannot add or remove cells"):
        grade_all(chapter)
    with gradebook(chapter) as book:
        assert book.find_submission(chapter.name, "ada").score == 6


def test_nbgrader_makes_the_same_release_as_the_build(chapter):
    release = chapter.release.read_bytes()
    assert open_grader(chapter.root).generate_assignment(chapter.name)["success"]
    assert chapter.release.read_bytes() == release


def run_command(chapter, monkeypatch, *arguments):
    monkeypatch.chdir(chapter.root)
    return CliRunner().invoke(main, ["grade", "--isolation", "none", *arguments])


def test_an_unknown_chapter(chapter, monkeypatch):
    result = run_command(chapter, monkeypatch, "99_nowhere")
    assert result.exit_code == 1
    assert result.output == "Error: no chapter named '99_nowhere'; the chapters are 01_tiny\n"


def test_no_submission(chapter, monkeypatch):
    result = run_command(chapter, monkeypatch, "01_tiny")
    where = chapter.root / "submitted" / "STUDENT" / "01_tiny" / "01_tiny.ipynb"
    assert result.exit_code == 1
    assert result.output == f"Error: no submission of 01_tiny: expected {where}\n"
    assert not (chapter.root / "gradebook.db").exists()


def test_an_unknown_student(chapter, monkeypatch):
    submit(chapter, "ada", RIGHT)
    result = run_command(chapter, monkeypatch, "01_tiny", "--student", "eve")
    assert result.exit_code == 1
    assert result.output == "Error: no submission of 01_tiny by 'eve'; there are ada\n"


@pytest.mark.parametrize("text", ['{"cells": [', json.dumps({"nbformat": 4})])
def test_a_solution_that_is_no_notebook(chapter, monkeypatch, text):
    submit(chapter, "ada", RIGHT)
    chapter.solution.write_text(text)
    before = sorted(chapter.root.rglob("*"))
    result = run_command(chapter, monkeypatch, "01_tiny")
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {chapter.solution}: not a notebook (")
    assert sorted(chapter.root.rglob("*")) == before


def test_a_solution_that_is_not_built(chapter, monkeypatch):
    submit(chapter, "ada", RIGHT)
    chapter.solution.unlink()
    result = run_command(chapter, monkeypatch, "01_tiny")
    assert result.exit_code == 1
    assert result.output.endswith("no such notebook; build it with: course build\n")


def test_the_command_prints_the_table_and_the_problems(chapter, monkeypatch):
    submit(chapter, "ada", RIGHT)
    submit_text(chapter, "eve", "{")
    result = run_command(chapter, monkeypatch, "01_tiny")
    assert result.exit_code == 0, result.output
    lines = [line.replace(" ", "") for line in result.output.splitlines()]
    assert "┃student┃points┃double┃halve┃" in lines
    assert "│ada│3/3│1│2│" in lines
    assert "│eve│0/3│–│–│" in lines
    assert "eve: not a notebook (" in result.output
    assert "1 of 2 could be graded" in result.output


def test_a_narrow_terminal_gets_numbers_and_their_names():
    exercises = [f"exercise-number-{number}" for number in range(12)]
    possible = dict.fromkeys(exercises, 2.0)
    marks = [Marks("[b]ada", 12, 24, dict.fromkeys(exercises, 1.0), possible)]
    narrow, wide = (Console(width=width, record=True, file=StringIO()) for width in (80, 250))
    for console in (narrow, wide):
        show(marks, Chapter("01_tiny", Path()), console)
    text = narrow.export_text()
    assert "…" not in text
    assert "│ [b]ada  │ 12 / 24 │ 1 │" in text
    assert " 12 exercise-number-11" in text
    assert "exercise-" in wide.export_text().splitlines()[1]


def test_a_narrow_terminal_numbers_exercises_as_the_notebook_does():
    chapter = Chapter("02_storage_and_strides", ROOT)
    possible = dict.fromkeys(exercises(chapter), 2.0)
    marks = [Marks("ada", 12, 24, dict.fromkeys(possible, 1.0), possible)]
    console = Console(width=80, record=True, file=StringIO())
    show(marks, chapter, console)
    text = console.export_text()
    assert "…" not in text
    assert " 2.12 row-major-strides" in text
