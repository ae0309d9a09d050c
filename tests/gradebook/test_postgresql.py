"""The gradebook in PostgreSQL in place of SQLite: the same marks, and a move to it."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from sqlalchemy import create_engine, text

from course_utils.authoring.build import build_into_place
from course_utils.grading.cache import FOLDER
from course_utils.notebooks import read_notebook
from support.answers import ROOT
from support.classroom import fill_in
from support.postgresql import find, running_postgresql
from support.quick import MARKS, quick_grade
from support.tiny import make_tiny_course


@pytest.fixture
def address():
    if find("postgres") is None:
        reason = "PostgreSQL is not installed"
        if os.environ.get("COURSE_REQUIRE_POSTGRESQL") == "1":
            pytest.fail(f"{reason}, and COURSE_REQUIRE_POSTGRESQL=1 asks for it")
        pytest.skip(reason)
    with running_postgresql() as address:
        yield address


def make_class(root):
    chapter = make_tiny_course(root)
    build_into_place(chapter)
    for student, halve in {"ada": "x / 2", "bob": "x // 2"}.items():
        notebook = read_notebook(chapter.release)
        fill_in(notebook, {"halve": f"def halve(x):\n    return {halve}"})
        folder = chapter.root / "submitted" / student / chapter.name
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{chapter.name}.ipynb")
    return chapter.root


def name_database(root, address):
    """Add the line of ``docs/instructors.md`` to the course's settings."""
    with (root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.CourseDirectory.db_url = {address!r}\n")


def marks_in(address):
    """The rows of marks in one order: databases differ in where NULL comes, and in truth values."""
    engine = create_engine(address)
    with engine.connect() as connection:
        rows = [
            tuple(int(value) if isinstance(value, bool) else value for value in row)
            for row in connection.execute(text(MARKS))
        ]
    engine.dispose()
    return sorted(rows, key=repr)


def sqlite(root):
    return f"sqlite:///{root}/gradebook.db"


def test_marks_in_postgresql(address, tmp_path):
    here, there = make_class(tmp_path / "sqlite"), make_class(tmp_path / "postgresql")
    name_database(there, address)
    marks = quick_grade(there, workers=1)
    assert {row.student: row.score for row in marks} == {"ada": 2, "bob": 0}
    assert not list(there.glob("gradebook.db*"))

    quick_grade(here, workers=1)
    expected = marks_in(sqlite(here))
    assert {row[3] for row in expected} == {0, 2}
    assert marks_in(address) == expected
    assert (there / "grades.csv").read_bytes() == (here / "grades.csv").read_bytes()
    # Recorded again, as after a kill: nothing doubles.
    for note in (there / FOLDER / "recorded").rglob("*.json"):
        note.unlink()
    quick_grade(there, workers=1)
    assert marks_in(address) == expected


def test_a_gradebook_moves(address, tmp_path):
    """With the lines of ``docs/instructors.md``, points given by hand and all."""
    root = make_class(tmp_path / "course")
    quick_grade(root, workers=1)
    book = create_engine(sqlite(root))
    with book.begin() as connection:
        connection.execute(text("UPDATE grade SET manual_score = 1.5 WHERE auto_score = 0"))
    book.dispose()
    before = marks_in(sqlite(root))
    words = (ROOT / "docs" / "instructors.md").read_text()
    (code,) = re.findall(r"```python\n(from nbgrader\.api.*?)```", words, re.DOTALL)
    placeholder = "postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
    assert placeholder in code
    moved = code.replace(placeholder, address)
    subprocess.run([sys.executable, "-c", moved], cwd=root, check=True, capture_output=True)
    assert marks_in(address) == before

    name_database(root, address)
    scores = {row.student: row.score for row in quick_grade(root, workers=1)}
    assert scores == {"ada": 2 + 1.5, "bob": 1.5 + 1.5}, "points given by hand stay"
