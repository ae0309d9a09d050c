"""A chapter in plain Jupyter Notebook 7, with no settings of the course's: nothing needs them."""

import os

import pytest
from playwright.sync_api import expect

from course_utils.cells import grade_id
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from support.answers import ROOT, model_answer, read_answers
from support.lab import (
    CELL_SECONDS,
    MarkedProcesses,
    OpenNotebook,
    browser_page,
    find_browser,
    learner_lab,
)

pytestmark = pytest.mark.timeout(600)
CHAPTER, EXERCISE = "00_start_here", "root-mean-square-error"


class InNotebook(OpenNotebook):
    """A chapter open in Jupyter Notebook, whose page has another frame around the same cells."""

    def __init__(self, page, address, token, notebooks, chapter):
        self.page = page
        self.path = notebooks / chapter / f"{chapter}.ipynb"
        self.notebook = read_notebook(self.path)
        page.goto(f"{address}/notebooks/{chapter}/{chapter}.ipynb?token={token}")
        self.cells = page.locator(".jp-Notebook .jp-Cell")
        expect(self.cells).to_have_count(len(self.notebook.cells))
        self.wait_for_kernel()

    def wait_for_kernel(self):
        idle = self.page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
        expect(idle).to_have_count(1, timeout=CELL_SECONDS * 1000)


@pytest.fixture(scope="module")
def opened():
    executable = find_browser()
    if executable is None:
        reason = "no Chromium or Chrome on this machine"
        if os.environ.get("COURSE_REQUIRE_BROWSER") == "1":
            pytest.fail(f"{reason}, and COURSE_REQUIRE_BROWSER=1 asks for one")
        pytest.skip(reason)
    marked = MarkedProcesses()
    with (
        learner_lab(marked, program="notebook") as server,
        browser_page(executable, marked) as page,
    ):
        yield InNotebook(page, *server, CHAPTER)
    assert marked.end() == [], "these processes were left behind"


def test_checks_are_folded_and_hints_open_by_a_click(opened):
    folded = [
        place
        for place, cell in enumerate(opened.notebook.cells)
        if cell.metadata.get("jupyter", {}).get("source_hidden")
    ]
    assert folded
    for place in folded:
        assert opened.cells.nth(place).locator(".cm-content").count() == 0, place
    hint = opened.page.locator(".jp-Notebook details").first
    hint.scroll_into_view_if_needed()
    inside = hint.locator("p").first
    expect(inside).to_be_hidden()
    hint.locator("summary").click()
    expect(inside).to_be_visible()


def test_a_check_says_what_is_wrong_and_what_is_right(opened):
    chapter = Chapter(CHAPTER, ROOT)
    named = [answer for answer in read_answers(chapter) if answer.exercise == EXERCISE]
    wrong = next(answer for answer in named if not answer.right)
    exercise, check = opened.position(EXERCISE), opened.position(f"{EXERCISE}-check")
    opened.run(opened.position("setup"))
    for answer in (wrong, model_answer(chapter, EXERCISE)):
        opened.type_into(exercise, answer.source)
        opened.run(exercise)
        said = opened.run(check)
        assert (opened.errors(check).count() > 0) == (answer is wrong), said
        for words in answer.says if answer is wrong else ():
            assert words in said


def test_a_picture_is_shown_with_its_words(opened):
    """Drawn by the course's own functions, in a cell of the learner's."""
    place = opened.position(EXERCISE)
    opened.type_into(
        place,
        "from course_utils import draw_storage\nimport torch\n"
        "draw_storage(torch.arange(4), names=['x'])",
    )
    opened.run(place)
    picture = opened.outputs(place).locator("img[alt]").first
    expect(picture).to_be_visible()
    assert picture.get_attribute("alt")
    assert picture.evaluate("image => image.naturalWidth") > 100


def test_a_locked_cell_cannot_be_changed(opened):
    place = opened.position("setup")
    assert not opened.notebook.cells[place].metadata.get("editable", True)
    text = opened._focus(place).locator(".cm-content")
    before = text.inner_text()
    assert "import torch" in before
    opened.page.keyboard.insert_text("x = 1")
    assert text.inner_text() == before
    assert grade_id(opened.notebook.cells[place]) == "setup"
