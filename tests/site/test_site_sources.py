"""What the site is made of: nothing that is kept back from learners, and indexes that find.

The sources need none of the site's packages; ``test_site.py`` builds and opens the pages.
"""

import json

import pytest

from course_site.chapters import read_chapter
from course_site.indexes import meanings
from course_site.names import index_of_names
from course_site.prose import callouts, linked, one_line_html
from course_site.sources import made_sources, write_sources
from course_utils.cells import headings, is_exercise, text_of
from course_utils.notebooks import read_notebook
from support.answers import ROOT, chapters
from support.kept_back import found_in, kept_back, squeezed


def text_in(name, source):
    """What a source says: of a notebook the cells and their outputs, of a picture nothing."""
    if isinstance(source, bytes):
        return ""
    if not name.endswith(".ipynb"):
        return source
    cells = json.loads(source)["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    pieces = ["".join(cell["source"]) for cell in cells]
    pieces += ["".join(output.get("text", "")) for output in outputs]
    pieces += ["".join(output.get("data", {}).get("text/plain", "")) for output in outputs]
    return "\n".join(pieces)


@pytest.fixture(scope="module")
def sources():
    return made_sources(ROOT)


@pytest.fixture(scope="module")
def texts(sources):
    return {name: squeezed(text_in(name, source)) for name, source in sources.items()}


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_nothing_that_is_kept_back_is_in_the_sources(texts, chapter):
    assert list(kept_back(chapter)), "nothing is kept back: the test would find nothing"
    assert found_in(texts, chapter) == []
    # The document for authors says what the markers are.
    pages = "".join(text for name, text in texts.items() if name.startswith("chapters/"))
    assert "###BEGIN" not in pages


def test_a_solution_on_a_page_would_be_found():
    chapter = chapters()[0]
    cells = read_notebook(chapter.solution).cells
    solved = next(text_of(cell) for cell in cells if is_exercise(cell))
    assert found_in({"a page": squeezed(solved)}, chapter)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_a_chapter_is_whole(texts, chapter):
    """Every cell of the release but its checks, and a line that says how to open each exercise."""
    pages = {name: text for name, text in texts.items() if f"/{chapter.name}/" in name}
    whole = "\n".join(pages.values())
    release = read_notebook(chapter.release)
    for cell in release.cells:
        checked = cell.metadata.get("nbgrader", {}).get("grade")
        if cell.cell_type == "code" and not checked and cell.id != "progress":
            assert squeezed(text_of(cell)) in whole, cell.id
    command = squeezed(f"make lab LAB_ARGS={chapter.name}/{chapter.name}.ipynb")
    assert whole.count(command) == len(headings(release.cells))


def test_outputs_are_those_of_the_solution_and_of_no_exercise():
    chapter = chapters()[0]
    solution = {cell.id: cell for cell in read_notebook(chapter.solution).cells}
    shown = [cell for section in read_chapter(chapter).sections for cell in section.cells]
    assert any(cell.outputs for cell in shown)
    for cell in shown:
        wanted = [] if cell.kind == "exercise" else solution[cell.id].get("outputs", [])
        assert cell.outputs == wanted


def test_every_erratum_that_a_chapter_corrects_leads_to_its_cell(sources):
    told = {
        name
        for chapter in chapters()
        for section in read_chapter(chapter).sections
        for cell in section.cells
        for name in cell.errata
    }
    listed = told & set(meanings(ROOT, "errata"))
    assert sources["indexes/errata.md"].count("<tr><td>") == len(listed)
    for page in sources["indexes/errata.md"].split('href="../')[1:]:
        name, _, anchor = page.partition('"')[0].partition("#")
        source = sources[name.replace(".html", ".ipynb")]
        assert f'id=\\"{anchor}\\"' in source, f"{name} lacks {anchor}"


def test_names_lead_to_the_sections_that_teach_them():
    sections = [section for chapter in chapters() for section in read_chapter(chapter).sections]
    found = {name.name: name.sections for name in index_of_names(sections)}
    for name, chapter in {
        "as_strided": "02",
        "DistributedSampler": "17",
        "fully_shard": "18",
    }.items():
        if any(section.chapter.startswith(chapter) for section in sections):
            assert found[name][0].chapter.startswith(chapter), name
    assert "print" not in found
    assert "append" not in found


def test_what_stays_the_same_is_not_written_again(tmp_path):
    write_sources(ROOT, tmp_path, ["00"])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    stale = tmp_path / "chapters" / "99_gone" / "index.ipynb"
    stale.parent.mkdir(parents=True)
    stale.write_text("{}", encoding="utf-8")
    write_sources(ROOT, tmp_path, ["00"])
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


def test_a_call_out_becomes_an_admonition_and_a_quotation_stays():
    made = callouts('Before.\n\n> **Then and now.** *"Old."* New.\n> More.\n\n> A quotation.\n')
    assert ":::{admonition} Then and now" in made
    assert 'then-and-now\n\n*"Old."* New.\nMore.\n:::' in made
    assert made.endswith("> A quotation.\n")


def test_what_a_sentence_names_becomes_a_link_and_code_does_not():
    places = {("chapter", "05"): "../05/index.ipynb", ("exercise", "5.6"): "#exercise-5-6"}
    text = "Chapter 05 and exercise 5.6, not `chapter 05`, nor section 3.\n\n```\nchapter 05\n```\n"
    made = linked(text, lambda kind, number: places.get((kind, number)))
    assert made == (
        "[Chapter 05](../05/index.ipynb) and [exercise 5.6](#exercise-5-6), not `chapter 05`, "
        "nor section 3.\n\n```\nchapter 05\n```\n"
    )


def test_a_claim_is_safe_as_html():
    assert one_line_html("a < b, `x<y>` and *so*") == (
        "a &lt; b, <code>x&lt;y&gt;</code> and <em>so</em>"
    )
