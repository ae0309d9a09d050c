"""A learner in a real browser: run, answer wrongly, read, answer rightly, validate."""

import shutil

import pytest
from playwright.sync_api import expect

from course_utils.authoring.build import build_into_place
from course_utils.cells import exercise_of
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from support.answers import ROOT, model_answer, read_answers
from support.lab import (
    CELL_SECONDS,
    MarkedProcesses,
    OpenNotebook,
    browser_page,
    learner_lab,
    needed_browser,
)
from support.tiny import make_tiny_course

pytestmark = pytest.mark.timeout(600)

# Where a learner begins; a longer chapter takes longer to run and shows no more.
CHAPTER, EXERCISE = "00_start_here", "root-mean-square-error"
# A name of this machine that is no local one to a browser.
ELSEWHERE = "lab.example"


@pytest.fixture(scope="module")
def marked():
    """The processes of these tests; none of them may outlive the tests."""
    processes = MarkedProcesses()
    yield processes
    assert processes.end() == [], "these processes were left behind"


@pytest.fixture(scope="module")
def opened(marked):
    """The chapter, open in JupyterLab."""
    executable = needed_browser()
    known = [f"--ServerApp.local_hostnames={name}" for name in ("localhost", ELSEWHERE)]
    found = [f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
    with (
        learner_lab(marked, options=known) as lab,
        browser_page(executable, marked, found) as page,
    ):
        console = []
        page.on("console", lambda message: console.append(message.text))
        opened = OpenNotebook(page, *lab, CHAPTER)
        opened.console, opened.lab = console, lab
        yield opened


def test_no_part_of_jupyterlab_fails_to_start(opened):
    assert [words for words in opened.console if "activating" in words or "provider" in words] == []


def test_the_first_screen_holds_what_a_learner_needs(opened):
    page = opened.page
    chapters = page.locator(".jp-DirListing-itemName")
    expect(chapters.get_by_text(CHAPTER, exact=True)).to_be_visible()
    assert page.locator(".jp-NotebookPanel-toolbar").get_by_text("Validate").is_visible()
    # A chapter's text may speak of nbgrader; what stands around it may not.
    around = page.locator(":not(.jp-Notebook *)")
    for panel in ("Formgrader", "Assignment List", "Create Assignment", "Nbgrader"):
        shown = page.get_by_text(panel).and_(around)
        assert shown.count() == 0, f"{panel} is on a learner's screen"
    assert page.locator(".jp-Notification-Toast, .Toastify__toast").count() == 0, "a pop-up"


def test_answers_are_saved_every_fifteen_seconds(opened):
    server, plugin = opened.page.url.partition("/lab")[0], "docmanager-extension:plugin"
    settings = opened.page.request.get(f"{server}/lab/api/settings/@jupyterlab/{plugin}").json()
    assert settings["schema"]["properties"]["autosaveInterval"]["default"] == 15


# How many cells are attached when the first heading can be read.
ATTACHED = """() => document.querySelector('.jp-Notebook h1')
    && document.querySelectorAll('.jp-Notebook .jp-Cell').length"""


def test_a_long_chapter_is_whole_as_soon_as_it_is_seen(opened):
    """Else a click in its table of contents would come to nothing until all cells are attached."""
    cells = {path: len(read_notebook(path).cells) for path in ROOT.glob("notebooks/*/*.ipynb")}
    path = max(cells, key=cells.get)
    old = opened.page
    context = old.context.browser.new_context(storage_state=old.context.storage_state())
    try:
        page = context.new_page()
        page.set_default_timeout(CELL_SECONDS * 1000)
        # In a workspace of its own, or JupyterLab opens the other chapter as well.
        start = f"{old.url.partition('/lab')[0]}/lab/workspaces/long/tree"
        page.goto(f"{start}/{path.parent.name}/{path.name}")
        assert page.wait_for_function(ATTACHED).json_value() == cells[path]
    finally:
        context.close()


@pytest.fixture(scope="module")
def answers():
    """The first wrong answer to the exercise, and a right one."""
    chapter = Chapter(CHAPTER, ROOT)
    named = [answer for answer in read_answers(chapter) if answer.exercise == EXERCISE]
    wrong = next(answer for answer in named if not answer.right)
    right = next((answer for answer in named if answer.right), model_answer(chapter, EXERCISE))
    return wrong, right


def answer_and_check(opened, text):
    """Type an answer, run it, and run its check. Returns what the check says, and if it failed."""
    exercise, check = opened.position(EXERCISE), opened.position(f"{EXERCISE}-check")
    opened.run(opened.position("setup"))
    opened.type_into(exercise, text)
    opened.run(exercise)
    return opened.run(check), opened.errors(check).count() > 0


def test_run_all_cells_fails_at_exactly_the_unsolved_exercises(opened):
    opened.run_all()
    for position, cell in enumerate(opened.notebook.cells):
        if cell.cell_type != "code":
            continue
        is_check = cell.metadata.get("nbgrader", {}).get("grade", False)
        if is_check or "raises-exception" not in cell.metadata.get("tags", []):
            fails = opened.errors(position).count() > 0
            assert fails == is_check, f"cell {cell.id}: fails {fails}, is a check {is_check}"


def test_a_wrong_answer_is_refused_in_words(opened, answers):
    wrong, _ = answers
    said, failed = answer_and_check(opened, wrong.source)
    assert failed, f"the check let {wrong.name!r} pass: {said}"
    for words in wrong.says:
        assert words in said


def test_a_right_answer_passes(opened, answers):
    _, right = answers
    said, failed = answer_and_check(opened, right.source)
    assert not failed, f"the check refused {right.name!r}: {said}"


def test_validate_lists_what_is_still_to_do(opened, answers):
    _, right = answers
    answer_and_check(opened, right.source)
    said = words_of(opened.validate())
    assert said.startswith("Validation Results")
    for cell in opened.notebook.cells:
        grader = cell.metadata.get("nbgrader", {})
        if grader.get("grade"):
            solved = exercise_of(grader["grade_id"]) == EXERCISE
            name, *lines = cell.source.splitlines()
            listed = words_of(name.removeprefix("# ")) in said
            assert listed != solved, f"{grader['grade_id']}: solved {solved}, listed {listed}"
            # A check explains what was wrong: that would spoil what nobody answered yet.
            told = [line for line in lines if len(line) > 20 and words_of(line) in said]
            assert told == [], f"{grader['grade_id']}: Validate prints its lines"


PICTURES = """\
import matplotlib.pyplot as plt
import torch
from course_utils import draw_graph, show
figure, axes = plt.subplots(figsize=(1, 1))
show(figure, "An empty square.")
a = torch.ones(2, requires_grad=True)
draw_graph(a.sum(), a=a)
"""


def test_who_cannot_see_a_picture_is_told_what_it_shows(opened):
    place = opened.position(EXERCISE)
    opened.type_into(place, PICTURES)
    opened.run(place)
    pictures = opened.outputs(place).locator("img")
    expect(pictures).to_have_count(2)
    square, graph = (pictures.nth(n).get_attribute("alt") for n in (0, 1))
    assert square == "An empty square."
    assert graph == "a graph"
    words = opened.outputs(place).locator("figure figcaption").text_content()
    assert "SumBackward0" in words


LIVE = """\
from course_utils import visdom_server
server = visdom_server().start()
print(server.page)
_ = server.client("first").line(Y=[1.0, 3.0, 2.0], X=[0, 1, 2], win="loss")
server.show("env/first")
"""


def test_a_curve_is_drawn_inside_of_the_notebook(opened):
    place = opened.position(EXERCISE)
    opened.type_into(place, LIVE)
    said = opened.run(place)
    if "stay white" in said:
        pytest.skip(said)
    line = opened.outputs(place).frame_locator("iframe").locator("path.js-line")
    line.wait_for()
    assert line.get_attribute("d").count(",") == 3, "a line through three points"
    assert line.bounding_box()["width"] > 100
    opened.type_into(place, "server.stop()")
    opened.run(place)


class OpenElsewhere(OpenNotebook):
    """A notebook in a workspace of its own, without what another page has open."""

    place = "lab/workspaces/elsewhere/tree/{path}?token={token}"


def test_a_browser_elsewhere_sees_the_curve_through_jupyterlab(opened, tmp_path):
    """As on a remote machine or behind a hub: by a name that is not this machine's own."""
    tiny = make_tiny_course(tmp_path)
    build_into_place(tiny)
    address, token, notebooks = opened.lab
    shutil.copytree(tiny.release.parent, notebooks / tiny.name)
    page = opened.page.context.browser.new_page()
    lab = address.replace("127.0.0.1", ELSEWHERE), token, notebooks
    elsewhere = OpenElsewhere(page, *lab, tiny.name)
    place = elsewhere.position("double")
    elsewhere.type_into(place, LIVE)
    said = elsewhere.run(place)
    if "stay white" in said:
        pytest.skip(said)
    frame = elsewhere.outputs(place).locator("iframe")
    assert "/proxy/" in frame.get_attribute("src")
    line = frame.content_frame.locator("path.js-line")
    line.wait_for()
    assert line.get_attribute("d").count(",") == 3, "a line through three points"
    elsewhere.type_into(place, "server.stop()")
    elsewhere.run(place)
    page.close()


def words_of(text):
    """The text with every run of white space as one blank."""
    return " ".join(text.split())
