"""A learner's own folder: filled, never written over, renewed without losing anything."""

import json
import os
import subprocess
import sys

import nbformat
import pytest
from click.testing import CliRunner

from course_utils.authoring.build import build_into_place
from course_utils.cells import STUB, grade_id
from course_utils.command import lab as learning
from course_utils.command.cli import main
from course_utils.copies import copying
from course_utils.exercises import read_progress
from course_utils.notebooks import read_notebook, write_notebook
from support.classroom import fill_in
from support.tiny import make_tiny_course

HALVE = "def halve(x):\n    return x / 2  # mine"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tiny course's files, built once: before and after its author changed it."""
    files = []
    for change in (lambda text: text, changed):
        chapter = make_tiny_course(tmp_path_factory.mktemp("course"))
        text = chapter.source.read_text(encoding="utf-8")
        chapter.source.write_text(change(text), encoding="utf-8")
        build_into_place(chapter)
        files.append((chapter.source.read_bytes(), chapter.release.read_bytes()))
    return files


def changed(text):
    """A newer edition: another title, new words, a changed statement, one exercise gone."""
    text = text.replace("# # A tiny chapter", "# # A tiny chapter, second edition\n#\n# New words.")
    text = text.replace('    """Twice x."""', '    """Twice the number x."""')
    for old in ('"halve', "def halve", "halve("):
        text = text.replace(old, old.replace("halve", "half"))
    return text


@pytest.fixture
def course(built, tmp_path, monkeypatch):
    """A course whose release is the old edition, and a learner's folder beside it."""
    monkeypatch.setenv("COURSE_FOLDER", str(tmp_path / "mine"))
    chapter = make_tiny_course(tmp_path / "course")
    publish(chapter, built[0])
    monkeypatch.chdir(chapter.root)
    monkeypatch.setattr(learning, "open_lab", lambda root, folder, arguments: 0)
    return chapter


def publish(chapter, edition):
    chapter.source.write_bytes(edition[0])
    chapter.release.parent.mkdir(parents=True, exist_ok=True)
    chapter.release.write_bytes(edition[1])


def run(*arguments, **options):
    return CliRunner().invoke(main, arguments, **options)


def mine(course):
    return copying.copy_of(course.root.parent / "mine", course)


def answer(path, **answers):
    notebook = read_notebook(path)
    fill_in(notebook, answers)
    write_notebook(notebook, path)


def source_of(path, name):
    cells = read_notebook(path).cells
    (cell,) = (cell for cell in cells if grade_id(cell) == name)
    return cell.source


def test_what_is_missing_is_copied_and_what_is_there_is_left(course):
    outcome = run("lab")
    assert (outcome.exit_code, outcome.output) == (
        0,
        f"your answers are saved in {mine(course).parents[1]}\n",
    )
    answer(mine(course), halve=HALVE)
    before = mine(course).read_bytes()
    assert run("lab").exit_code == 0
    assert mine(course).read_bytes() == before


def test_a_newer_release_is_told_in_one_line_and_does_not_come_by_itself(course, built):
    run("lab")
    answer(mine(course), halve=HALVE)
    before = mine(course).read_bytes()
    publish(course, built[1])
    assert "01_tiny: there is a newer release; to get it: course renew 01\n" in run("lab").output
    assert mine(course).read_bytes() == before


def test_a_renewal_brings_answers_cells_and_outputs_and_keeps_the_old_file(course, built):
    run("lab")
    notebook = read_notebook(mine(course))
    fill_in(notebook, {"double": "def double(x):\n    return x + x", "halve": HALVE})
    place = next(i for i, c in enumerate(notebook.cells) if c.get("id") == "double-check")
    notebook.cells[place].outputs = [nbformat.v4.new_output("stream", text="✓ once\n")]
    notebook.cells[place].execution_count = 7
    notebook.cells.insert(place + 1, nbformat.v4.new_markdown_cell("a note of mine"))
    notebook.cells.append(nbformat.v4.new_code_cell("double(8)"))
    write_notebook(notebook, mine(course))
    before = mine(course).read_bytes()
    publish(course, built[1])
    outcome = run("renew", "01")
    kept = mine(course).with_name("01_tiny.before-renewal-1.ipynb")
    assert outcome.output == (
        "01_tiny: renewed: 1 answers and 2 cells of yours are in the new one; "
        f"these exercises are gone: halve; the old file is {kept}\n"
    )
    assert kept.read_bytes() == before
    cells = read_notebook(mine(course)).cells
    sources = [cell.source for cell in cells]
    assert "New words." in sources[0]
    assert "def double(x):\n    return x + x" in sources
    place = next(i for i, cell in enumerate(cells) if cell.get("id") == "double-check")
    assert sources[place + 1] == "a note of mine"
    assert cells[place].outputs[0].text == "✓ once\n"
    # What was solved stays so: neither its check nor the answer is another.
    assert [one.state for one in read_progress(mine(course)).exercises] == ["solved", "untouched"]
    assert sources[-1] == "double(8)"
    assert "YOUR CODE HERE" in source_of(mine(course), "half")
    assert run("renew", "01").output == "01_tiny: your copy is of today's release\n"
    assert "newer release" not in run("lab").output


def test_a_check_that_changed_has_to_be_passed_again(course, built):
    run("lab")
    notebook = read_notebook(mine(course))
    fill_in(notebook, {"double": "def double(x):\n    return x + x"})
    for cell in notebook.cells:
        if cell.get("id") == "double-check":
            cell.source, cell.execution_count = f"{cell.source}\n", 7
    write_notebook(notebook, mine(course))
    assert read_progress(mine(course)).exercises[0].state == "solved"
    publish(course, built[1])
    assert run("renew", "01").exit_code == 0
    assert read_progress(mine(course)).exercises[0].state == "tried"


def test_renewing_again_adds_nothing_twice(course, built):
    run("lab")
    notebook = read_notebook(mine(course))
    notebook.cells.append(nbformat.v4.new_code_cell("1 + 1"))
    write_notebook(notebook, mine(course))
    for edition in (built[1], built[0], built[1]):
        publish(course, edition)
        assert run("renew", "01").exit_code == 0
    cells = read_notebook(mine(course)).cells
    assert [cell.source for cell in cells].count("1 + 1") == 1
    assert len(cells) == len(json.loads(built[1][1])["cells"]) + 1
    assert len(list(mine(course).parent.glob("*.before-renewal-*.ipynb"))) == 3


def test_a_copy_of_unknown_origin_keeps_its_answers(course, built):
    mine(course).parent.mkdir(parents=True)
    mine(course).write_bytes(course.release.read_bytes())
    answer(mine(course), double="def double(x):\n    return x * 2.0")
    publish(course, built[1])
    assert "1 answers and 0 cells" in run("renew", "01").output
    assert "x * 2.0" in source_of(mine(course), "double")


DAMAGED = pytest.mark.parametrize("text", ["", "{", '{"cells": 3}'])


@DAMAGED
def test_a_damaged_copy_is_told_with_what_to_do_and_left(course, text):
    run("lab")
    mine(course).write_text(text, encoding="utf-8")
    told = run("lab").output
    assert "01_tiny: your copy is not a notebook any more; to bring back" in told
    assert "course renew 01" in told
    assert mine(course).read_text(encoding="utf-8") == text


@DAMAGED
@pytest.mark.parametrize("kept", ["", "a checkpoint", "half a checkpoint"])
def test_for_a_damaged_copy_the_checkpoint_or_the_release_is_brought_back(course, text, kept):
    run("lab")
    answer(mine(course), double="def double(x):\n    return x * 2.0")
    checkpoint = mine(course).parent / ".ipynb_checkpoints" / "01_tiny-checkpoint.ipynb"
    checkpoint.parent.mkdir()
    content = mine(course).read_text(encoding="utf-8")
    if kept:
        half = len(content) // (2 if kept.startswith("half") else 1)
        checkpoint.write_text(content[:half], encoding="utf-8")
    mine(course).write_text(text, encoding="utf-8")
    outcome = run("renew", "01")
    assert outcome.exit_code == 0
    there = kept == "a checkpoint"
    assert ("your last checkpoint" in outcome.output) == there
    assert ("x * 2.0" in source_of(mine(course), "double")) == there
    (damaged,) = mine(course).parent.glob("*.damaged-1.ipynb")
    assert damaged.read_text(encoding="utf-8") == text
    assert "not a notebook" not in run("lab").output


KILLED = """
import os, shutil, sys
from pathlib import Path
from course_utils.copies.renewal import renew
from course_utils.project import Chapter
steps = iter(range(int(sys.argv[1])))
def dying(call):
    def wrapper(*args, **kwargs):
        if next(steps, None) is None:
            os._exit(9)
        return call(*args, **kwargs)
    return wrapper
shutil.copy2 = dying(shutil.copy2)
os.replace = dying(os.replace)
os.fsync = dying(os.fsync)
renew(Chapter("01_tiny", Path.cwd()), Path(os.environ["COURSE_FOLDER"]))
"""


@pytest.mark.parametrize("steps", range(6))
def test_a_renewal_that_is_killed_loses_nothing(course, built, steps):
    run("lab")
    answer(mine(course), double="def double(x):\n    return x * 2.0")
    publish(course, built[1])
    command = [sys.executable, "-c", KILLED, str(steps)]
    done = subprocess.run(command, cwd=course.root, timeout=60)
    assert done.returncode == (9 if steps < 5 else 0)
    assert "x * 2.0" in source_of(mine(course), "double")
    assert run("renew", "01").exit_code == 0
    assert "x * 2.0" in source_of(mine(course), "double")
    assert "New words." in read_notebook(mine(course)).cells[0].source


def test_answers_in_the_releases_come_along_where_there_is_no_copy(course, built):
    answer(course.release, halve=HALVE)
    outcome = run("lab")
    assert "01_tiny: notebooks/ holds answers, which git and builds write over" in outcome.output
    assert f"they are now in {mine(course)}" in outcome.output
    assert "# mine" in source_of(mine(course), "halve")
    assert "YOUR CODE HERE" in source_of(mine(course), "double")
    publish(course, built[0])
    assert "1 answers and 0 cells" in run("renew", "01").output
    assert "# mine" in source_of(mine(course), "halve")


def test_answers_in_the_releases_are_offered_where_the_copy_has_none(course):
    run("lab")
    answer(course.release, halve=HALVE)
    assert "to copy them: course lab --carry-over" in run("lab").output
    assert "# mine" not in source_of(mine(course), "halve")
    assert "01_tiny: copied to " in run("lab", "--carry-over").output
    assert "# mine" in source_of(mine(course), "halve")
    assert "they stay there" in run("lab", "--carry-over").output


def test_answers_in_a_release_from_before_releases_were_marked(course):
    notebook = read_notebook(course.release)
    for cell in notebook.cells:
        cell.metadata.pop(STUB, None)
    write_notebook(notebook, course.release)
    assert copying.answered_releases(course.root) == []
    answer(course.release, halve=HALVE)
    assert copying.answered_releases(course.root) == [course]


def test_a_folder_that_the_course_writes_to_is_refused(course, monkeypatch):
    monkeypatch.setenv("COURSE_FOLDER", str(course.root / "notebooks" / "mine"))
    outcome = run("lab")
    assert outcome.exit_code != 0
    assert "inside the course's own notebooks/: choose another" in outcome.output


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_named(course, tmp_path):
    (tmp_path / "mine").mkdir(mode=0o500)
    outcome = run("lab")
    assert outcome.exit_code != 0
    assert "can't be written" in outcome.output


def test_progress_as_bars_and_as_data(course):
    assert "run: course lab" in run("progress").output
    run("lab")
    bars = run("progress").output
    assert "01 A tiny chapter" in bars
    assert "··" in bars
    assert "0/3" in bars
    data = json.loads(run("progress", "--json").output)
    assert [chapter["name"] for chapter in data["chapters"]] == ["01_tiny"]
    assert data["chapters"][0]["next"] == "double"
    assert run("progress", "--html", "map.html").output == "map.html: written\n"
    page = (course.root / "map.html").read_text(encoding="utf-8")
    assert "01 A tiny chapter" in page
    assert "0 solved, 0 tried, 2 untouched" in page
    outcome = run("progress", "--html", "nowhere\0.html")
    assert outcome.exit_code != 0


def test_builds_and_tests_leave_the_folder_alone(course):
    run("lab")
    answer(mine(course), halve=HALVE)
    before = mine(course).read_bytes()
    build_into_place(course)
    assert mine(course).read_bytes() == before


def test_the_first_start_opens_the_first_chapter_and_later_ones_what_was_open(tmp_path):
    folder, workspaces = tmp_path / "mine", tmp_path / "workspaces"
    (folder / learning.FIRST).mkdir(parents=True)
    learning.first_workspace(folder, workspaces)
    (workspace,) = workspaces.iterdir()
    data = json.loads(workspace.read_text(encoding="utf-8"))["data"]
    assert "notebook:00_start_here/00_start_here.ipynb" in data
    workspace.write_text("{}", encoding="utf-8")
    learning.first_workspace(folder, workspaces)
    assert workspace.read_text(encoding="utf-8") == "{}"
