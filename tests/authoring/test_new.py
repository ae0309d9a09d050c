"""``course new`` lays down a chapter that keeps every rule; its answers get what they should."""

import shutil

import pytest
from click.testing import CliRunner

from course_utils.authoring import build as building
from course_utils.command.cli import main
from course_utils.project import Chapter
from support import answers
from support.answers import ROOT
from support.promises import complaint, differences
from support.structure import RULES, minutes_by_formula

NAME = "16_performance"


@pytest.fixture
def course(tmp_path, monkeypatch):
    (tmp_path / "solutions").mkdir()
    for name in ("nbgrader_config.py", "nbval_sanitize.cfg"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(answers, "ANSWERS", tmp_path / "tests" / "answers")
    return tmp_path


def new(name):
    return CliRunner().invoke(main, ["new", name])


def test_a_new_chapter_builds_and_keeps_the_rules(course):
    outcome = new(NAME)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output.splitlines()[0] == f"solutions/{NAME}/{NAME}.py: written"
    chapter = Chapter(NAME, course)
    building.build_into_place(chapter)
    notebook = building.read_notebook(chapter.solution)
    assert {name: rule(notebook, NAME) for name, rule in RULES.items()} == {
        name: [] for name in RULES
    }
    assert notebook.metadata.course.title == "Performance"
    assert notebook.metadata.course.minutes == minutes_by_formula(notebook)


def test_what_comes_next_is_said(course):
    assert new(NAME).output.splitlines()[-1] == (
        "next: write them over (another grade id: another file of answers), then: "
        f"course build {NAME}; course test {NAME}; make docs"
    )


def test_a_new_chapters_answers_get_what_they_are_promised(course):
    assert new(NAME).exit_code == 0
    chapter = Chapter(NAME, course)
    named = answers.read_answers(chapter)
    assert {answer.exercise for answer in named} == set(answers.exercises(chapter))
    for answer in named:
        assert complaint(chapter, answer) is None, answer.name
        assert differences(chapter, answer) == [], answer.name


@pytest.mark.parametrize(
    "name", ["performance", "6_x", "16-performance", "16_", "16_Performance", ""]
)
def test_what_is_no_name_is_refused(course, name):
    outcome = new(name)
    assert outcome.exit_code != 0
    assert "is no chapter's name: it is like 16_performance" in outcome.output
    assert list((course / "solutions").iterdir()) == []


def test_a_number_that_is_taken_is_refused(course):
    new(NAME)
    outcome = new("16_profiling")
    assert outcome.exit_code != 0
    assert f"the number 16 is taken by {NAME}" in outcome.output
    assert not (course / "solutions" / "16_profiling").exists()
