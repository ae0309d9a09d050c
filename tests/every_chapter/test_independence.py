"""The released notebook, untouched, runs to its end: exactly the unsolved exercises fail."""

import os
import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from course_utils.authoring.build import build_into_place
from course_utils.kernels.provisioner import WarmManager
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from support import answers
from support.answers import chapters, grader_of
from support.structure import shown_text, tags_of

# What a check asks who has not answered: "is there an answer yet?", or what is still blank.
ASKS = re.compile(r"\byet\b|\bstill (blank|None)\b")
ASKS_OTHERWISE = {
    # Its stubs are the drawings that the exercise asks to mend.
    "lie-detector-check",
    # None is an answer here, and the words show what was expected in its place.
    "topk-accuracy-check",
    "view-strides-check",
    "capture-check",
}
# Their cells train, serve, draw and start ranks for five seconds or half a minute, once already for
# nbval. `make test` leaves these releases to the weekly run and `course test`; that an untouched
# exercise is refused in words is tested without them as well (test_answers, test_verdict).
LONG = {
    *("08_modules", "09_layers", "10_losses", "11_optimizers", "12_data_pipelines"),
    *("13_training", "14_visualization", "15_debugging", "16_performance", "17_distributed"),
    *("18_sharding", "19_deployment", "21_capstone"),
}


def run(chapter: Chapter, notebook: NotebookNode) -> NotebookNode:
    """The released notebook after *Run All Cells*, errors not stopping it.

    Figures are made, and shown as their words: to draw them takes as long as everything else, and
    nbval has them drawn (test_nbval).
    """
    folder = str(chapter.release.parent)
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        kernel_manager_class=WarmManager,
        allow_errors=True,
        resources={"metadata": {"path": folder}},
    ).execute(env=dict(os.environ, COURSE_PICTURES="words"))
    return notebook


def complaints(notebook: NotebookNode) -> list[str]:
    """What is not as it should be in an untouched release that was run."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        where = f"cell {cell.id}"
        grader = grader_of(cell)
        failures = [output for output in cell.outputs if output.output_type == "error"]
        if grader.get("solution") and "# YOUR CODE HERE" not in cell.source:
            found.append(f"{where}: it does not say YOUR CODE HERE")
        if not cell.execution_count:
            found.append(f"{where}: it was never run")
        if grader.get("grade"):
            if not failures:
                found.append(f"{where}: it passes without an answer")
            for failure in failures:
                if failure.ename != "AssertionError" or not failure.evalue.strip():
                    found.append(f"{where}: {failure.ename}: {failure.evalue or 'no words'}")
                if "course_utils/" in shown_text(cell) or "site-packages" in shown_text(cell):
                    found.append(f"{where}: its traceback shows more than the notebook's lines")
        elif failures and "raises-exception" not in tags_of(cell):
            found.append(f"{where}: {failures[0].ename}: {failures[0].evalue}")
    return found


def odd_words(notebook: NotebookNode) -> list[str]:
    """What checks say to somebody who has not answered, where it does not ask for an answer."""
    return [
        f"{cell.id}: {output.evalue}"
        for cell in notebook.cells
        if grader_of(cell).get("grade") and cell.id not in ASKS_OTHERWISE
        for output in cell.outputs
        if output.output_type == "error" and not ASKS.search(output.evalue)
    ]


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_exactly_the_unsolved_exercises_fail(chapter):
    if chapter.name in LONG and not answers.every:
        pytest.skip("long: the weekly run and course test run it")
    notebook = run(chapter, read_notebook(chapter.release))
    assert any(grader_of(cell).get("grade") for cell in notebook.cells)
    assert complaints(notebook) == []
    assert odd_words(notebook) == []


def test_a_release_that_leans_on_an_answer_is_noticed(tiny_chapter):
    """The test above, on a course whose cells break the rule in every way that it names."""
    build_into_place(tiny_chapter)
    notebook = read_notebook(tiny_chapter.release)
    assert complaints(run(tiny_chapter, notebook)) == []

    notebook = read_notebook(tiny_chapter.release)
    cells = {cell.id: cell for cell in notebook.cells}
    cells["double"].source = "def double(x):\n    return 2 * x"
    cells["halve-check"].source = "assert halve(3) + 1 == 2.5"
    notebook.cells.append(nbformat.v4.new_code_cell("halve(3) + 1", id="leans"))
    assert [line.split(": ")[:2] for line in complaints(run(tiny_chapter, notebook))] == [
        ["cell double", "it does not say YOUR CODE HERE"],
        ["cell double-check", "it passes without an answer"],
        ["cell halve-check", "TypeError"],
        ["cell leans", "TypeError"],
    ]

    notebook = read_notebook(tiny_chapter.release)
    cells = {cell.id: cell for cell in notebook.cells}
    cells["halve-check"].source = "assert halve(3) == 1.5"
    assert complaints(run(tiny_chapter, notebook)) == ["cell halve-check: AssertionError: no words"]


def test_odd_words_to_an_untouched_exercise_are_noticed(tiny_chapter):
    build_into_place(tiny_chapter)
    notebook = read_notebook(tiny_chapter.release)
    cells = {cell.id: cell for cell in notebook.cells}
    cells["double-check"].source = "from course_utils import check_equal\ncheck_equal(double(3), 6)"
    assert odd_words(run(tiny_chapter, notebook)) == [
        "halve-check: halve(3) is 1.5: keep the fraction"
    ]
