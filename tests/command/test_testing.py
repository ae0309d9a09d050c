"""``course test`` says at once what a chapter lacks, and runs only what concerns chapters."""

import re
import subprocess

import pytest
from click.testing import CliRunner

from course_utils.command import testing
from course_utils.command.cli import main
from course_utils.outline import COURSE
from support.answers import ROOT


@pytest.fixture
def called(tiny_chapter, monkeypatch):
    """The commands that were run instead of pytest, in the course of ``tiny_chapter``."""
    (tiny_chapter.root / "tests").mkdir(exist_ok=True)
    (tiny_chapter.root / "tests" / "conftest.py").touch()
    (tiny_chapter.root / "tests" / "test_other.py").touch()
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
    assert command[-3:] == ["-k", "double", "tests/every_chapter"]
    assert "--tb=short" in command


def test_the_tests_of_a_chapters_package_are_run_too(tiny_chapter, called):
    own = tiny_chapter.root / "tests" / "chapters" / "test_tiny.py"
    own.parent.mkdir()
    own.touch()
    CliRunner().invoke(main, ["test", "01"])
    (command,) = called
    assert command[-2:] == ["tests/every_chapter", "tests/chapters/test_tiny.py"]


def test_who_names_tests_gets_those(tiny_chapter, called):
    CliRunner().invoke(main, ["test", "01", "tests/test_other.py::test_it"])
    (command,) = called
    assert command[-1] == "tests/test_other.py::test_it"
    assert "tests/every_chapter" not in command


def test_every_test_of_a_chapters_package_is_named_like_a_chapter():
    topics = {name.partition("_")[2] for names in COURSE.values() for name in names}
    files = {path.stem for path in (ROOT / "tests" / "chapters").glob("*.py")}
    assert "test_layers" in files
    assert files <= {f"test_{topic}" for topic in topics}


def test_the_tests_of_every_chapter_are_in_one_folder():
    """And nowhere else: ``course test`` reads no other file. The site's are the site's."""
    folder = ROOT / testing.EVERY_CHAPTER
    over_chapters = re.compile(r'parametrize\(\s*\(?"chapter".*chapters\(\)', re.MULTILINE)
    found = {
        path.parent
        for path in (ROOT / "tests").rglob("test_*.py")
        if over_chapters.search(path.read_text(encoding="utf-8"))
    }
    assert found - {ROOT / "tests" / "site"} == {folder}


def test_the_suite_is_dealt_out_by_group(request):
    """``--dist loadgroup`` marks each test with its group; without it, a file runs twice."""
    in_a_worker = hasattr(request.config, "workerinput")
    assert request.node.nodeid.endswith("@test_testing") == in_a_worker
