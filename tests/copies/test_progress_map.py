"""The map of ``course progress --html``: what is done, passed, due; and where one stopped."""

import os
from xml.etree import ElementTree

import pytest

from course_utils.copies.progress_map import draw_map, page_with_map, state_of
from course_utils.copies.stopped import where_stopped
from course_utils.exercises import ChapterProgress, Exercise
from course_utils.notebooks import read_notebook, write_notebook


def chapter(name, *states):
    """A chapter with two exercises of the core path and one beside it."""
    exercises = [
        Exercise(f"{name}-{place}", core=place < 2, state=state)
        for place, state in enumerate(states)
    ]
    return ChapterProgress(name, "Tensors & more", exercises=exercises)


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (("solved", "solved", "solved"), "done"),
        (("solved", "solved", "tried"), "passed"),
        (("solved", "tried", "solved"), "begun"),
        (("untouched", "untouched", "tried"), "begun"),
        (("untouched", "untouched", "untouched"), "open"),
        ((), "open"),
    ],
)
def test_what_a_chapter_is_called(states, state):
    assert state_of(chapter("01_tensors", *states)) == state


def test_each_chapter_has_a_tile_that_says_in_words_what_it_shows():
    done = chapter("01_tensors", "solved", "solved", "solved")
    begun = chapter("05_autograd", "solved", "untouched", "untouched")
    drawn = ElementTree.fromstring(draw_map([done, begun], {"05_autograd": 4}))
    titles = [title.text for title in drawn.iter("title")]
    assert titles == [
        "01 Tensors & more: every exercise solved; 3 of 3 solved; 0 due for review",
        "05 Tensors & more: some exercise tried; 1 of 3 solved; 4 due for review",
    ]
    # The key has one as well.
    badges = [text.text for text in drawn.iter("text") if text.get("text-anchor") == "middle"]
    assert badges == ["1", "4"]
    assert {"Tensors", "Gradients"} <= {text.text for text in drawn.iter("text")}


def test_a_copy_that_cannot_be_read_is_told_on_its_tile():
    broken = ChapterProgress("01_tensors", problem="it is <not> a notebook")
    page = page_with_map([broken], {})
    assert "01 tensors: it is &lt;not&gt; a notebook" in page
    assert "can't be read" in page


def test_where_one_stopped_is_the_section_of_the_cell_that_ran_last(course, tmp_path):
    assert where_stopped(tmp_path) == ""
    older, newer = tmp_path / "01_older", tmp_path / "02_newer"
    for place, folder in enumerate((older, newer)):
        notebook = read_notebook(course.release)
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                cell.execution_count = number + 1
        path = folder / f"{folder.name}.ipynb"
        write_notebook(notebook, path)
        os.utime(path, (10**9 + place,) * 2)
    assert where_stopped(tmp_path).startswith("02_newer: Exercise 2")
    # Copied, and nothing run in it: that is no place where anyone stopped.
    notebook = read_notebook(course.release)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
    write_notebook(notebook, newer / "02_newer.ipynb")
    assert where_stopped(tmp_path).startswith("01_older: ")


@pytest.fixture
def course(tiny_chapter):
    """A chapter of two exercises, released."""
    from course_utils.authoring.build import build_into_place

    build_into_place(tiny_chapter)
    return tiny_chapter
