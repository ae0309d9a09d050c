"""``course test`` says at once what a chapter lacks, and runs only what concerns chapters."""

import subprocess

import pytest
from click.testing import CliRunner

from course_utils.command import testing
from course_utils.command.cli import main
from support.answers import ROOT


@pytest.fixture
def called(tiny_chapter, monkeypatch):
    """The commands that were run instead of pytest, in the course of ``tiny_chapter``."""
    (tiny_chapter.root / "tests").mkdir(exist_ok=True)
    (tiny_chapter.root / "tests" / "conftest.py").touch()
    for_chapters = '@pytest.mark.parametrize(("chapter", "answer"), CASES)\ndef test_it(): ...\n'
    (tiny_chapter.root / "tests" / "test_one.py").write_text(for_chapters, encoding="utf-8")
    (tiny_chapter.root / "tests" / "test_other.py").write_text("chapter = 1\n", encoding="utf-8")
    calls = []

    def note(command, **options):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.chdir(tiny_chapter.root)
    monkeypatch.setattr(testing.subprocess, "run", note)
    return calls


def write_answers(chapter, *names):
    folder = chapter.root / "tests" / "answers" / chapter.name
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.py").touch()


def pretend_to_build(chapter):
    for path in (chapter.solution, chapter.release):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_what_is_missing_is_said_before_the_tests(tiny_chapter, called):
    write_answers(tiny_chapter, "double", "row-shares")
    outcome = CliRunner().invoke(main, ["test", "01"])
    assert outcome.output.splitlines() == [
        "01_tiny: tests/answers/01_tiny/halve.py is missing: write three wrong answers and a right "
        "one",
        "01_tiny: tests/answers/01_tiny/row-shares.py belongs to no exercise of the chapter: "
        "rename or remove it",
        "01_tiny: it is not built; run: course build 01_tiny",
        "01_tiny: no list of rules yet: double, halve",
        "01_tiny: finding its tests takes some seconds, then each shows a dot",
    ]
    assert outcome.exit_code == 1
    assert len(called) == 1


def test_a_chapter_that_lacks_nothing_gets_the_tests_of_chapters(tiny_chapter, called):
    write_answers(tiny_chapter, "double", "halve")
    pretend_to_build(tiny_chapter)
    outcome = CliRunner().invoke(main, ["test", "01", "-k", "double"])
    assert outcome.exit_code == 0, outcome.output
    (command,) = called
    assert command[-3:] == ["-k", "double", "tests/test_one.py"]
    assert "--tb=short" in command


def test_who_names_tests_gets_those(tiny_chapter, called):
    CliRunner().invoke(main, ["test", "01", "tests/test_other.py::test_it"])
    (command,) = called
    assert command[-1] == "tests/test_other.py::test_it"
    assert "tests/test_one.py" not in command


def test_the_tests_of_chapters_are_found():
    names = {"answers", "gpu", "independence", "nbval", "structure", "sync", "verdict"}
    found = set(testing.tests_of_chapters(ROOT))
    assert found >= {f"tests/test_{name}.py" for name in names}
    assert "tests/test_hostile.py" not in found


def test_the_suite_is_dealt_out_by_group(request):
    """``--dist loadgroup`` marks each test with its group; without it, a file runs twice."""
    in_a_worker = hasattr(request.config, "workerinput")
    assert request.node.nodeid.endswith("@test_testing") == in_a_worker
