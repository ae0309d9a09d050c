"""The feedback page: what its table says, and that no notebook takes much time or memory."""

import subprocess
import sys
from html.parser import HTMLParser

import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_utils.gradebook.feedback import TEMPLATES, Renderer, page_of, plain_cells, rows_of
from course_utils.grading.report.page import page_style
from support.contrast import contrast, themes
from support.lab import MarkedProcesses, browser_page, needed_browser
from support.warm import eventually, gone

NAMES = {"notebook": "02_tiny", "score": 2.5, "max_score": 5, "late_penalty": 0}
ATTACK = "</td></table><script>document.title = 'taken'</script><img src=x onerror=evil()>"
# Text that mistune reads in time of its length squared.
SLOW = "[" * 200_000


def marks(grade_id, **rest):
    return {"nbgrader": {"grade_id": grade_id, **rest}}


def answer(grade_id, source="x = 1", **rest):
    return new_code_cell(source, metadata=marks(grade_id, solution=True, **rest))


def check(grade_id, title, points, score, *outputs):
    return new_code_cell(
        f"# {title}\nassert x",
        metadata=marks(grade_id, grade=True, points=points, score=score),
        outputs=list(outputs),
    )


def error(words, name="AssertionError"):
    return new_output("error", ename=name, evalue=words, traceback=[words])


def said(words):
    return new_output("stream", name="stdout", text=words)


def graded(*more):
    return new_notebook(
        cells=[
            new_markdown_cell("# A chapter"),
            answer("first", comment="**Well** done"),
            check("first-check", "2.1 From an index", 2, 2, said("✓ 2.1 From an index: right\n")),
            answer("second", source=f"y = {ATTACK!r}"),
            check("second-check", "2.2 View or copy? (1 of 2)", 1, 0.5, error(ATTACK)),
            check("second-check-2", "2.2 View or copy? (2 of 2)", 2, 0, error("no", "NoAnswer")),
            *more,
        ]
    )


@pytest.fixture
def renderer():
    renderer = Renderer()
    yield renderer
    renderer.stop()


class Table(HTMLParser):
    """The rows of a page's first table."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.inside, self.links, self.scripts = [], True, [], 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "tr" and self.inside:
            self.rows.append([])
        if tag in ("td", "th") and self.inside:
            self.rows[-1].append("")
        if tag == "a" and self.inside:
            self.links.append(dict(attributes)["href"])
        self.scripts += tag == "script"

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "table"

    def handle_data(self, data):
        if self.inside and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_feedback_begins_with_a_table_of_the_exercises(renderer):
    notebook = graded()
    page = page_of(notebook, NAMES, renderer.body(notebook))
    table = Table(page)
    rows = [[text.strip() for text in row] for row in table.rows]
    assert rows[1:] == [
        ["2 / 2", "2.1 From an index", "right a comment"],
        ["0.5 / 1", "2.2 View or copy? (1 of 2)", ATTACK],
        ["0 / 2", "2.2 View or copy? (2 of 2)", "NoAnswer: no"],
    ]
    assert table.links == [
        *("#exercise-first", "#exercise-first", "#exercise-second", "#exercise-second")
    ]
    for link in table.links:
        assert page.count(f'id="{link[1:]}"') == 1
    assert "2.5 of 5 points" in page
    assert "<strong>Well</strong> done" in page
    assert page.index("</table>") < page.index("A chapter")
    assert "plain text" not in page


def test_what_stands_around_the_notebook_is_short(renderer):
    """nbgrader's own page has 240 kB of it."""
    notebook = new_notebook(cells=[check("a-check", "2.1 A", 1, 0, error("x" * 100_000))])
    assert len(page_of(notebook, NAMES, "")) < 12_000


def test_nothing_that_a_student_wrote_is_more_than_text(renderer):
    notebook = graded(new_markdown_cell(ATTACK))
    for body in (renderer.body(notebook), None):
        page = page_of(notebook, NAMES, body)
        assert Table(page).scripts == 2, "the page's own"
        assert "onerror=evil()>" not in page


def test_a_check_without_words_and_without_a_number():
    notebook = new_notebook(cells=[check("odd-check", "what", 1, 0)])
    (row,) = rows_of(notebook)
    assert (row["title"], row["words"], row["cell"]) == ("odd-check", "", "odd-check")


# Made when they are needed: whatever else is tested in this process is forked with all that it has.
TOO_MUCH = {
    "markdown": lambda: new_markdown_cell(SLOW),
    "colours": lambda: new_code_cell("x", outputs=[said("\x1b[1mx" * 400_000)]),
    "attachments": lambda: new_markdown_cell(
        "".join(f"![](attachment:{n})" for n in range(40)),
        attachments={str(n): {"image/png": "A" * 20_000_000} for n in range(20)},
    ),
    "deep": lambda: new_markdown_cell(">" * 100_000 + "x"),
}


@pytest.mark.parametrize("kind", TOO_MUCH)
def test_a_notebook_that_takes_too_much_is_shown_as_text(kind):
    renderer = Renderer(seconds=2, memory_bytes=600 * 2**20)
    ordinary = graded()
    try:
        whole = renderer.body(ordinary)
        process = psutil.Process(renderer.process.pid)
        notebook = graded(TOO_MUCH[kind](), new_code_cell("z = 3", outputs=[said("three")]))
        body = renderer.body(notebook)
        page = page_of(notebook, NAMES, body)
        if body is None:
            assert "plain text" in page
            assert "<pre>z = 3</pre>" in page
            assert "<pre>three</pre>" in page
            assert 'id="exercise-second"' in page
            assert gone(process.pid)
        assert len(page) < 20_000_000
        # And the next student's is as it would have been.
        assert renderer.body(ordinary) == whole is not None
    finally:
        renderer.stop()


def test_what_takes_too_long_is_ended_at_the_limit():
    renderer = Renderer(seconds=1)
    try:
        assert renderer.body(graded(new_markdown_cell(SLOW))) is None
    finally:
        renderer.stop()


def test_a_process_that_was_killed_costs_nobody_the_page(renderer):
    notebook = graded()
    whole = renderer.body(notebook)
    renderer.process.kill()
    assert renderer.body(notebook) == whole is not None


def test_plain_text_is_cut():
    cells = plain_cells(graded(*[new_code_cell("x" * 50_000, id=f"c{n}") for n in range(400)]))
    assert sum(len(text) for cell in cells for text in cell["texts"]) < 4_000_000


LEFT_ALONE = """
import os, sys
from course_utils.gradebook.feedback import shared_renderer
shared_renderer().start()
print(shared_renderer().process.pid, flush=True)
if sys.argv[1] == "killed": os.kill(os.getpid(), 9)
if sys.argv[1] == "ends": os._exit(0)
"""


@pytest.mark.parametrize("way", ["returns", "ends", "killed"])
def test_no_process_stays_behind(way):
    done = subprocess.run(
        [sys.executable, "-c", LEFT_ALONE, way], capture_output=True, text=True, timeout=100
    )
    assert eventually(lambda: gone(int(done.stdout)), 30)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_text_stands_out_from_what_lies_behind(theme):
    colours = themes(page_style(TEMPLATES / "feedback.css"))[theme]
    for ink in ("ink", "quiet", "link", "good", "warn", "keyword", "text", "number"):
        for paper in ("page", "card", "code"):
            assert contrast(colours[ink], colours[paper]) >= 4.5, f"{ink} on {paper}"


def test_the_page_in_a_browser(renderer, tmp_path):
    executable = needed_browser()
    notebook = graded()
    body = renderer.body(notebook)
    html = page_of(notebook, NAMES, body)
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    # Were a text ever not escaped, the page's policy stops it.
    (tmp_path / "open.html").write_text(html.replace("</main>", f"{ATTACK}</main>"), "utf-8")
    marked = MarkedProcesses()
    with browser_page(executable, marked) as page:
        page.goto((tmp_path / "page.html").as_uri(), wait_until="domcontentloaded")
        page.get_by_role("link", name="2.2 View or copy? (2 of 2)").click()
        assert page.url.endswith("#exercise-second")
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.goto((tmp_path / "open.html").as_uri(), wait_until="domcontentloaded")
        assert page.locator("main img").count() == 1
        assert page.title() != "taken"
    assert marked.end() == []
