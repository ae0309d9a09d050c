"""One ``course grade`` after another: what is executed again, what is refused, what is said."""

import fcntl
import json
import sqlite3

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader.api import get_alembic_version
from nbgrader.utils import compute_checksum

from course_utils.authoring.build import build_into_place
from course_utils.command.cli import main
from course_utils.command.grade import show
from course_utils.gradebook.grade_class import Grading
from course_utils.gradebook.marks import Marks
from course_utils.grading.cache import FOLDER
from course_utils.notebooks import read_notebook
from support.answers import grader_of
from support.classroom import fill_in
from support.quick import LOG, execute, quick_grade, quick_resume, state_of
from support.tiny import make_tiny_course


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    chapter = make_tiny_course(tmp_path / "course")
    build_into_place(chapter)
    monkeypatch.setenv(LOG, str(tmp_path / "executed.txt"))
    monkeypatch.setattr(Grading, "execute", staticmethod(execute))
    return chapter


def submit(chapter, student, halve, edit=lambda notebook: None):
    notebook = read_notebook(chapter.release)
    fill_in(notebook, {"halve": f"def halve(x):\n    return {halve}"})
    edit(notebook)
    folder = chapter.root / "submitted" / student / chapter.name
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{chapter.name}.ipynb")


def executed(tmp_path):
    """Who was executed since this was asked last."""
    path = tmp_path / "executed.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    # Each leaves two lines; the first holds the number of its process too.
    names = sorted(line.split()[0] for line in lines if " " in line)
    path.unlink(missing_ok=True)
    return names


def spoil(notebook):
    for cell in notebook.cells:
        if grader_of(cell).get("grade_id") == "halve-check":
            cell.source = "pass"
    notebook.cells = [c for c in notebook.cells if grader_of(c).get("grade_id") != "setup"]


def test_what_is_executed_again(chapter, tmp_path):
    root = chapter.root
    submit(chapter, "ada", "x / 2")
    submit(chapter, "bob", "x / 3", spoil)
    submit(chapter, "cleo", "x / 2")
    rows = {row.student: row for row in quick_grade(root, workers=1)}
    # Two of the same content are executed once.
    assert len(executed(tmp_path)) == 2
    assert {name: row.points["halve"] for name, row in rows.items()} == {
        "ada": 2,
        "bob": 0,
        "cleo": 2,
    }
    assert rows["ada"].repairs == rows["cleo"].repairs == ()
    assert rows["bob"].repairs == (
        "setup: deleted, put back",
        "halve-check: edited, as it was again",
    )
    report = json.loads((root / "reports" / chapter.name / "report.json").read_text())
    assert [row["student"] for row in report["flags"]] == ["bob"]
    before = state_of(root)

    quick_grade(root, workers=1)
    assert executed(tmp_path) == []
    assert state_of(root) == before

    submit(chapter, "bob", "x * 0.5")
    assert quick_grade(root, workers=1)[1].points["halve"] == 2
    assert executed(tmp_path) == ["bob"], "one came late: one is executed"

    quick_grade(root, students=("ada",), workers=1, again=True)
    assert executed(tmp_path) == ["ada"]
    assert quick_resume(root) == [], "the last run came to its end"
    assert executed(tmp_path) == []


def of_an_earlier_release(notebook):
    for cell in notebook.cells:
        if grader_of(cell).get("grade_id") == "halve-check":
            cell.source = "assert halve(2) == 1"
            cell.metadata.nbgrader.checksum = compute_checksum(cell)


def test_a_check_of_an_earlier_release_is_no_edited_one(chapter):
    submit(chapter, "ada", "x / 2", of_an_earlier_release)
    submit(chapter, "bob", "x / 3", of_an_earlier_release)
    rows = {row.student: row for row in quick_grade(chapter.root, workers=1)}
    assert [row.repairs for row in rows.values()] == [(), ()]
    # Today's check counts.
    assert {name: row.points["halve"] for name, row in rows.items()} == {"ada": 2, "bob": 0}


def test_one_run_at_a_time(chapter, monkeypatch):
    submit(chapter, "ada", "x / 2")
    monkeypatch.chdir(chapter.root)
    lock = chapter.root / FOLDER / "lock"
    lock.parent.mkdir()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = CliRunner().invoke(main, ["grade", chapter.name, "--isolation", "none"])
    assert result.exit_code == 1
    assert result.output == "Error: another course grade is under way here: wait for its end\n"
    assert not (chapter.root / "gradebook.db").exists()


def test_nothing_to_resume(chapter, monkeypatch):
    monkeypatch.chdir(chapter.root)
    result = CliRunner().invoke(main, ["grade", chapter.name, "--resume"])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {chapter.name}: nothing to resume")
    result = CliRunner().invoke(main, ["grade", chapter.name, "--resume", "--seed", "3"])
    assert result.exit_code == 1
    assert "leave out" in result.output


def test_no_isolation_is_refused_unless_it_is_wanted(chapter, monkeypatch):
    submit(chapter, "ada", "x / 2")
    monkeypatch.chdir(chapter.root)
    monkeypatch.setattr("course_utils.kernels.sandbox.why_not", lambda: "no bubblewrap: install it")
    result = CliRunner().invoke(main, ["grade", chapter.name])
    assert result.exit_code == 1
    assert result.output.startswith("Error: no bubblewrap: install it; or say --isolation none")
    assert result.output.count("\n") == 1
    assert not (chapter.root / "gradebook.db").exists()


def test_feedback_keeps_the_hidden_tests_hidden(chapter):
    submit(chapter, "ada", "x / 3")
    quick_grade(chapter.root, workers=1)
    page = (chapter.root / "feedback" / "ada" / chapter.name / f"{chapter.name}.html").read_text()
    assert "keep the fraction" in page, "the message of the visible test"
    assert "HIDDEN TESTS" not in page
    assert "double(-3)" not in page
    graded = chapter.root / "autograded" / "ada" / chapter.name / f"{chapter.name}.ipynb"
    assert "double(-3)" in graded.read_text(), "formgrader shows them to the instructor"


def test_the_gradebook_is_made_whole(chapter):
    submit(chapter, "ada", "x / 2")
    quick_grade(chapter.root, workers=1)
    with sqlite3.connect(chapter.root / "gradebook.db") as book:
        versions = book.execute("SELECT version_num FROM alembic_version").fetchall()
    assert versions == [(get_alembic_version(),)], "as nbgrader's own new gradebooks say"
    assert not list(chapter.root.glob("gradebook.db.*"))


def test_repairs_are_said(capsys):
    from pathlib import Path

    from rich.console import Console

    from course_utils.project import Chapter

    marks = Marks("[b]ada", 1, 2, {"a": 1}, {"a": 2}, repairs=("a: deleted, put back",))
    console = Console(width=100)
    show([marks], Chapter("01_tiny", Path()), console)
    assert "[b]ada: a: deleted, put back" in capsys.readouterr().out
