"""What README promises is there: the map of chapters, the commands, the files it links to."""

import re

import pytest

from support.answers import ROOT, chapters, grader_of, notebook_of

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [
    "README.md",
    "docs/architecture.md",
    "docs/authoring.md",
    "docs/instructors.md",
]


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_map_shows_each_chapters_minutes_and_points(chapter):
    notebook = notebook_of(chapter)
    course = notebook.metadata.course
    points = sum(grader_of(cell).get("points", 0) for cell in notebook.cells)
    row = f"| {chapter.name} | {course.title} | {course.minutes} | {points:g} |"
    assert row in README, f"README's map of chapters needs the line: {row}"


def test_the_map_lists_no_chapter_as_written_that_is_not():
    written = re.findall(r"^\| (\d\d_\w+) \| .*\| \d+ \| \d+ \|$", README, re.MULTILINE)
    assert written == [chapter.name for chapter in chapters()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / document).parent.joinpath(target).exists(), f"{document} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_exist(document):
    from course_utils.command.cli import main

    text = (ROOT / document).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`(?:\w+=\S+ )*make ([a-z]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for command in re.findall(r"`(?:\.venv/bin/)?course ([a-z]+)", text):
        assert command in main.commands, f"course {command}"
