"""What feedback and formgrader show: no student's script, no hidden test, all of the course."""

import base64
import time
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from nbgrader.server_extensions.formgrader.handlers import template_path

from course_utils.gradebook import pages
from course_utils.gradebook.feedback import page_of
from course_utils.gradebook.grader import load_settings
from course_utils.gradebook.pages import (
    CellsExporter,
    cells_exporter,
    highlight_code,
    safe_html,
    safe_markdown,
)
from course_utils.gradebook.preprocessors import HideTests
from support.answers import ROOT

BOOTSTRAP = Path(template_path).with_name("static") / "node_modules/bootstrap/dist/css"
PIXEL = base64.b64encode(b"\x89PNG pixel").decode()
MARKS = {"grade": True, "solution": False, "locked": True, "points": 1, "schema_version": 3}


@pytest.fixture(params=["feedback", "formgrade"])
def render(request):
    """A function that renders a notebook as feedback does, and as formgrader does."""
    settings = load_settings(ROOT)
    settings.HTMLExporter.template_name = "formgrade"
    settings.HTMLExporter.extra_template_basedirs = [template_path]
    settings.HTMLExporter.extra_template_paths = [str(BOOTSTRAP)]
    exporter = cells_exporter() if request.param == "feedback" else HTMLExporter(config=settings)
    names = {
        "score": 1,
        "max_score": 1,
        "late_penalty": 0,
        "notebook": "01_tiny",
        "student": "eve",
        "assignment": "01_tiny",
    }
    resources = {
        "nbgrader": names,
        "base_url": "",
        "submission_id": "1",
        "index": 0,
        "total": 1,
        "student": "eve",
        "notebook_path": "x",
        "notebook_id": "01_tiny",
        "assignment_id": "01_tiny",
        "last_name": None,
        "first_name": None,
    }

    def render(*cells):
        notebook = new_notebook(cells=list(cells))
        notebook.metadata["language_info"] = {"name": "python"}
        page, _ = exporter.from_notebook_node(notebook, dict(resources))
        return page_of(notebook, names, page) if request.param == "feedback" else page

    return render


def shown(mime, data, **metadata):
    return new_code_cell("1", outputs=[new_output("display_data", {mime: data}, metadata=metadata)])


EVIL = [
    new_markdown_cell("hello <script>evil()</script>"),
    new_markdown_cell("<img src=x onerror=evil()>"),
    new_markdown_cell("[click](javascript:evil())"),
    new_markdown_cell("<svg><script>evil()</script></svg>"),
    new_markdown_cell("<iframe srcdoc='<script>evil()</script>'></iframe>"),
    new_markdown_cell("$x$ <a href='data:text/html,<script>evil()</script>'>y</a>"),
    new_raw_cell("<script>evil()</script>", metadata={"raw_mimetype": "text/html"}),
    shown("text/html", "<b>x</b><script>evil()</script><p onclick='evil()'>y</p>"),
    shown("text/html", ["<scr", "ipt>evil()</script>"]),
    shown("text/markdown", "<script>evil()</script>"),
    shown("text/latex", "<script>evil()</script>"),
    shown("application/javascript", "evil()"),
    shown("image/svg+xml", "<svg onload='evil()'/>"),
    shown("image/png", PIXEL, **{"image/png": {"width": "1 onload=evil()"}}),
    shown("image/png", PIXEL, width="1 onload=evil()"),
    shown("image/png", '"><script>evil()</script>'),
    shown("image/png", PIXEL, **{"image/png": {"alt": '"><script>evil()</script>'}}),
    new_code_cell("'<script>evil()</script>'"),
    new_code_cell("1", outputs=[new_output("stream", text="<script>evil()</script>")]),
    new_code_cell(
        "1",
        outputs=[
            new_output("error", ename="E", evalue="e", traceback=["<script>evil()</script>"]),
        ],
    ),
]


# nbconvert's own, of an output without any content.
@pytest.mark.filterwarnings("ignore:Your element with mimetype")
@pytest.mark.parametrize("number", range(len(EVIL)))
def test_no_script_of_a_student_s(render, number):
    import bs4

    page = bs4.BeautifulSoup(render(nbformat.from_dict(EVIL[number])), "html.parser")
    assert not [script for script in page.find_all("script") if "evil" in script.text]
    for element in page.find_all(True):
        for name, value in element.attrs.items():
            assert not name.startswith("on") or "evil" not in value, element
            assert not str(value).strip().startswith("javascript:"), element
            assert not (name in ("href", "srcdoc") and "evil" in str(value)), element


def test_all_of_the_course_is_there(render):
    table = "| stride | bytes |\n| --- | ---: |\n| 1 | 4 |"
    page = render(
        new_markdown_cell(f"## Strides\n\n{table}\n\n$a < b$ and `x < y`\n\n- item"),
        new_markdown_cell("<details><summary>Hint</summary>\n\nlook\n\n</details>"),
        new_markdown_cell("![mine](attachment:a.png)", attachments={"a.png": {"image/png": PIXEL}}),
        shown("image/png", PIXEL, **{"image/png": {"alt": "A tensor of three rows"}}),
        shown("text/html", "<table><tr><th>x</th></tr></table>"),
        new_code_cell("def f(x):\n    return x"),
    )
    for words in (
        "<td>stride</td>",
        "<h2 ",
        "$a &lt; b$",
        "<code>x &lt; y</code>",
        "<li>item</li>",
        "<details>",
        f"data:image/png;base64,{PIXEL}",
        "A tensor of three rows",
        "<th>x</th>",
        'class="k">def',
    ):
        assert words.replace("<td>stride</td>", "stride</th>") in page, words
    assert page.count(PIXEL) == 2


@pytest.fixture
def counted(monkeypatch):
    """An exporter, and the sources of the cells that it laid out, one list a notebook."""
    calls = []
    lay_out = CellsExporter.lay_out

    def note(self, nb, resources, **keywords):
        calls.append([cell.source for cell in nb["cells"]])
        return lay_out(self, nb, resources, **keywords)

    monkeypatch.setattr(CellsExporter, "lay_out", note)
    return cells_exporter(), calls


def test_a_cell_that_a_whole_class_has_is_laid_out_once(counted):
    exporter, calls = counted

    def one_of(points, answer):
        marks = {"nbgrader": MARKS | {"grade_id": "c", "score": points}}
        check = new_code_cell("check()", metadata=marks, id="check")
        text = new_markdown_cell("# text", id="text")
        return new_notebook(cells=[text, new_code_cell(answer, id="a"), check])

    made = []
    for notebook in (one_of(1, "x = 1"), one_of(0, "x = 2"), one_of(1, "x = 1")):
        made.append(exporter.from_notebook_node(deepcopy(notebook))[0])
        assert cells_exporter().from_notebook_node(notebook)[0] == made[-1]
    assert calls[::2] == [["# text", "x = 1", "check()"], ["x = 2", "check()"], []]
    assert made[0] == made[2]
    assert ("1 of 1 points" in made[0], "0 of 1 points" in made[1]) == (True, True)
    assert exporter.mark not in made[0]


def test_few_and_short_cells_are_remembered(counted, monkeypatch):
    monkeypatch.setattr(pages, "MOST_REMEMBERED", 2)
    exporter, calls = counted

    def lay_out(*sources):
        cells = [new_code_cell(source, id=source[0]) for source in sources]
        exporter.from_notebook_node(new_notebook(cells=cells))
        return calls[-1]

    long = "y = 1\n" * 4000
    assert lay_out("a", "b", "c", long) == ["a", "b", "c", long]
    assert lay_out("b") == []
    assert lay_out("d") == ["d"]
    assert lay_out("b", "c", long) == ["c", long], "what was asked for last is kept"


def test_every_picture_has_words():
    page, _ = cells_exporter().from_notebook_node(new_notebook(cells=[shown("image/png", PIXEL)]))
    assert 'alt="A picture without a description"' in page


def test_a_cell_names_its_attachment_once():
    cell = new_markdown_cell(
        "![a](attachment:a.png)" * 3, attachments={"a.png": {"image/png": PIXEL}}
    )
    page, _ = cells_exporter().from_notebook_node(new_notebook(cells=[cell]))
    assert page.count(PIXEL) == 1


def test_many_blank_lines_are_no_trouble():
    began = time.monotonic()
    assert "y" in highlight_code("x = 1\n" + "\n" * 40_000 + "y = 1")
    assert time.monotonic() - began < 20


def test_pictures_from_elsewhere_and_other_links():
    assert "http" not in safe_html('<img src="https://example.org/seen.png">')
    assert 'href="https://pytorch.org"' in safe_markdown("[docs](https://pytorch.org)")
    assert "evil" not in safe_html('<a href="vbscript:evil">x</a><base href="evil">')
    assert "evil" not in safe_html('<div style="background: url(evil)">x</div>')


def test_hidden_tests_are_cut_from_checks_alone():
    text = "assert 1\n### BEGIN HIDDEN TESTS\nassert 2\n### END HIDDEN TESTS"
    check = new_code_cell(text, metadata={"nbgrader": MARKS | {"grade_id": "c"}})
    # A student's own cell may hold anything, and stays as it is.
    own = new_code_cell("### BEGIN HIDDEN TESTS")
    notebook, _ = HideTests().preprocess(new_notebook(cells=[check, own]), {})
    assert [cell.source for cell in notebook.cells] == ["assert 1", "### BEGIN HIDDEN TESTS"]
