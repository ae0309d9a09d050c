"""A learner's progress is read off saved notebooks; a check that passes says so."""

import json
import os

import nbformat
import pytest

from course_utils import exercises, show_progress
from course_utils.authoring.build import build_into_place
from course_utils.exercises import exercises_of, line_of, read_folder, read_progress
from course_utils.notebooks import read_notebook, write_notebook
from support.classroom import fill_in
from support.tiny import make_tiny_course


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The tiny chapter's release, built once."""
    chapter = make_tiny_course(tmp_path_factory.mktemp("course"))
    build_into_place(chapter)
    return chapter.release


@pytest.fixture
def copy(release, tmp_path):
    """A learner's copy of it."""
    path = tmp_path / "mine" / "01_tiny" / "01_tiny.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(release.read_bytes())
    return path


def run(path, answers, failed=()):
    """Fill answers in and mark the checks as run, as a saved notebook has them."""
    notebook = read_notebook(path)
    fill_in(notebook, answers)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = 1
        if cell.id in failed:
            cell.outputs = [nbformat.v4.new_output("error", ename="AssertionError", evalue="no")]
    write_notebook(notebook, path)


def states(path):
    return {exercise.name: exercise.state for exercise in read_progress(path).exercises}


def test_a_fresh_copy_is_untouched(copy):
    assert states(copy) == {"double": "untouched", "halve": "untouched"}
    assert read_progress(copy).next.label == "1 Double a number"


def test_run_all_alone_is_no_try(copy):
    run(copy, {}, failed=("double-check", "halve-check"))
    assert states(copy) == {"double": "untouched", "halve": "untouched"}


def test_what_is_solved_and_tried_and_what_it_earns(copy):
    answers = {"double": "def double(x):\n    return 2 * x", "halve": "def halve(x):\n    return x"}
    run(copy, answers, failed=("halve-check",))
    progress = read_progress(copy)
    assert states(copy) == {"double": "solved", "halve": "tried"}
    assert (progress.earned, progress.points) == (1, 3)
    assert progress.title == "A tiny chapter"
    assert line_of(progress) == (
        "01_tiny: 1 solved, 1 tried, 0 untouched; 1 of 3 points; next 2 Halve a number"
    )
    data = json.loads(json.dumps(progress.as_data()))
    assert data["next"] == "halve"
    assert data["exercises"][0]["state"] == "solved"


def test_what_is_left_of_the_core_path():
    exercises_there = [
        exercises.Exercise("a", core=True, minutes=10, state="solved"),
        exercises.Exercise("b", core=True, minutes=20, state="tried"),
        exercises.Exercise("c", minutes=40),
    ]
    chapter = exercises.ChapterProgress("01_x", "", 200, 90, exercises_there, read=0.25)
    # 60 minutes of reading, three quarters of them left, and the second exercise.
    assert chapter.core_minutes_left == 65
    assert exercises.what_is_left([chapter]) == "The core path takes some 65 minutes more."
    assert exercises.what_is_left([chapter, chapter]) == "The core path takes some 2 hours more."
    exercises_there[1].state, chapter.read = "solved", 1.0
    assert chapter.core_minutes_left == 0
    assert exercises.what_is_left([chapter]) == "The core path is done."


def test_a_cell_that_was_run_is_read_and_a_check_is_not(copy):
    assert read_progress(copy).read == 0
    run(copy, {})
    assert read_progress(copy).read == 1
    notebook = read_notebook(copy)
    shown = next(cell for cell in notebook.cells if cell.source.startswith("print"))
    shown.execution_count = None
    write_notebook(notebook, copy)
    assert 0 < read_progress(copy).read < 1
    assert read_progress(copy).exercises[0].minutes == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"metadata": {}, "cells": [3]}'])
def test_a_damaged_copy_is_told_and_the_others_are_read(copy, text):
    other = copy.parents[1] / "02_other" / "02_other.ipynb"
    other.parent.mkdir()
    other.write_text(text, encoding="utf-8")
    first, second = read_folder(copy.parents[1])
    assert first.problem == ""
    assert second.problem == "it is not a notebook"
    assert line_of(second) == "02_other: it is not a notebook"


def test_a_check_says_that_it_passed_and_the_chapter_knows(copy, capsys, monkeypatch):
    monkeypatch.setattr(exercises, "_passed", set())
    monkeypatch.chdir(copy.parent)
    namespace = {"halve": lambda x: x / 2}
    (check,) = [cell for cell in read_notebook(copy).cells if cell.id == "halve-check"]
    assert check.source.startswith("# 2 Halve a number\n")
    exec(check.source, namespace)
    assert capsys.readouterr().out == "✓ 2 Halve a number: right, 2 points\n"
    show_progress("01_tiny")
    shown = capsys.readouterr().out
    assert "  ✓ 2 Halve a number (2 of 2 points)" in shown
    assert "    1 Double a number (0 of 1 points)" in shown


def test_the_words_of_the_list_have_the_page_s_own_colour():
    """A state's colour is for its sign and its bar; as small text it can't be read everywhere."""
    listed = [exercises.Exercise(state, state, state=state) for state in exercises.STATES]
    shown = exercises._exercise_list(exercises.ChapterProgress("01_tiny", exercises=listed))
    for state in exercises.STATES:
        assert f"</span> {state}</td>" in shown
    assert exercises.COLOURS["untouched"] not in shown.split("<table>")[1]


def test_of_several_checks_each_has_to_pass(monkeypatch):
    def cell(kind, name, **marks):
        marks = {"grade_id": name, "solution": False, "grade": False, **marks}
        return {"cell_type": kind, "source": "", "metadata": {"nbgrader": marks}, "outputs": []}

    heading = {"cell_type": "markdown", "source": "### Exercise 1.1 — Two ★ · 1 min · 3 points"}
    cells = [heading, cell("code", "two", solution=True)]
    cells += [
        cell("code", f"two-check{end}", grade=True, points=n) for end, n in (("", 1), ("-2", 2))
    ]
    cells[2]["execution_count"] = 4
    (exercise,) = exercises_of(cells)
    assert (exercise.state, exercise.earned, exercise.points) == ("tried", 1, 3)
    monkeypatch.setattr(exercises, "_passed", {"1.1 Two (2 of 2)"})
    progress = exercises.ChapterProgress("01_two", exercises=[exercise])
    exercises._add_what_passed_here(progress)
    assert exercise.state == "tried"
    exercises._passed.add("1.1 Two (1 of 2)")
    exercises._add_what_passed_here(progress)
    assert exercise.state == "solved"


def test_every_chapter_has_a_bar(copy, capsys, monkeypatch):
    monkeypatch.chdir(copy.parents[1])
    show_progress()
    assert capsys.readouterr().out.startswith("01_tiny: 0 solved")
    assert "1 Double a number" in exercises._bars(read_folder(copy.parents[1]))
    os.chdir(copy.parents[2])
    monkeypatch.setenv("COURSE_FOLDER", str(copy.parents[1]))
    show_progress()
    assert capsys.readouterr().out.startswith("01_tiny: 0 solved")
