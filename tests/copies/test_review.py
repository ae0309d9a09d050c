"""What was answered once is asked again when it is due, and the answers set the next date."""

import os
from datetime import UTC, datetime, timedelta

import nbformat
import pytest
from click.testing import CliRunner

from course_utils.authoring.build import build_into_place
from course_utils.cells import grade_id, is_exercise
from course_utils.command.cli import main
from course_utils.copies import copying, review
from course_utils.errors import CourseError
from course_utils.notebooks import read_notebook, write_notebook
from course_utils.project import all_chapters
from support.answers import ROOT, model_answer, run_cell
from support.classroom import fill_in
from support.tiny import make_tiny_course

PREDICTIONS = """
# %% [markdown]
# Some text of the section before.
#
# ### Exercise 3 — How many? ★ · 12 min · 1 point
#
# How long is each?

# %% nbgrader={{"grade_id": "how-many-{0}", "solution": true}}
how_many_{0} = {{"ab": None, "abc": None}}
### BEGIN SOLUTION
how_many_{0} = {{"ab": 2, "abc": 3}}
### END SOLUTION

# %% nbgrader={{"grade_id": "how-many-{0}-check", "grade": true, "points": 1}}
assert how_many_{0} == {{word: math.floor(len(word)) for word in how_many_{0}}}, "count the letters"
"""
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A chapter with two exercises of another kind and two predictions, built once."""
    chapter = make_tiny_course(tmp_path_factory.mktemp("course"))
    text = chapter.source.read_text(encoding="utf-8")
    text += PREDICTIONS.format("here") + PREDICTIONS.format("there").replace("3 —", "4 —")
    chapter.source.write_text(text, encoding="utf-8")
    build_into_place(chapter)
    return chapter


@pytest.fixture
def folder(built, tmp_path):
    """A learner's folder in which all of the chapter was solved when it began."""
    copying.fill(built.root, tmp_path)
    copy = copying.copy_of(tmp_path, built)
    solve(copy, {"double": "def double(x):\n    return 2 * x"})
    os.utime(copy, (START.timestamp(),) * 2)
    return tmp_path


def solve(path, more=(), **wrong):
    """Answer every prediction, run every check, and save."""
    notebook = read_notebook(path)
    answers = {
        name: f'{name.replace("-", "_")} = {{"ab": 2, "abc": 3}}'
        for name in ("how-many-here", "how-many-there")
    }
    there = {grade_id(cell) for cell in notebook.cells}
    answers = {name: text for name, text in {**answers, **dict(more)}.items() if name in there}
    fill_in(notebook, answers)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = 1
            if cell.metadata.get("nbgrader", {}).get("grade_id") in wrong.values():
                cell.outputs = [nbformat.v4.new_output("error", ename="AssertionError", evalue="")]
    write_notebook(notebook, path)


def code_cells(done):
    return [cell for cell in read_notebook(done.book).cells if cell.cell_type == "code"]


def asked(done):
    return [grade_id(cell) for cell in code_cells(done)]


def test_what_was_solved_is_asked_days_later_and_not_before(built, folder):
    first = review.review([built], folder, START + timedelta(hours=1))
    assert (first.asked, not first.book.exists()) == (0, True)
    assert START + timedelta(days=1) <= first.next_due <= START + timedelta(days=10)
    (line,) = first.tell()
    assert line == f"nothing is due before {first.next_due.astimezone():%d %B %Y}"
    later = review.review([built], folder, first.next_due)
    # Half of twelve minutes each: two are more than ten. Exercises of another kind are not asked.
    assert later.asked == 1
    assert asked(later) == ["setup", "how-many-here", "how-many-here-check"]
    text = "".join(cell.source for cell in read_notebook(later.book).cells)
    assert "How long is each?" in text
    assert "section before" not in text
    assert "BEGIN SOLUTION" not in text
    assert '"abc": 3' not in text
    folded = [cell.metadata.get("jupyter", {}).get("source_hidden") for cell in code_cells(later)]
    assert folded == [True, None, True]


def test_a_right_answer_comes_back_later_than_a_wrong_one(built, folder):
    due = review.review([built], folder, START).next_due
    dates = []
    for wrong in ({}, {"here": "how-many-here-check"}):
        (folder / ".course" / "review.json").unlink()
        (folder / "review" / "review.ipynb").unlink(missing_ok=True)
        review.review([built], folder, due)
        solve(folder / "review" / "review.ipynb", **wrong)
        counted = review.review([built], folder, due + timedelta(minutes=5))
        assert (counted.right, counted.wrong) == ((0, 1) if wrong else (1, 0))
        # Now the other one.
        assert asked(counted)[-2:] == ["how-many-there", "how-many-there-check"]
        cards = review.read_schedule(folder / ".course" / "review.json")
        dates.append(cards["how-many-here"].due)
        # Counted once, however often it is asked for.
        again = review.review([built], folder, due + timedelta(minutes=6))
        assert (again.right, again.wrong) == (0, 0)
    assert dates[0] > dates[1] >= due + timedelta(hours=23)


def test_what_was_not_answered_or_not_run_is_not_counted(built, folder):
    due = review.review([built], folder, START).next_due
    done = review.review([built], folder, due)
    notebook = read_notebook(done.book)
    fill_in(notebook, {"how-many-here": 'how_many_here = {"ab": 2, "abc": 3}'})
    write_notebook(notebook, done.book)
    counted = review.review([built], folder, due)
    assert (counted.right, counted.wrong, counted.asked) == (0, 0, 1)


def test_what_is_due_is_counted_by_chapter_and_nothing_is_written(built, folder):
    assert review.due_now([built], folder, START + timedelta(hours=1)) == {}
    assert review.due_now([built], folder, START + timedelta(days=30)) == {built.name: 2}
    assert not (folder / ".course" / "review.json").exists()
    assert not (folder / "review").exists()


def test_a_damaged_schedule_is_told_and_nothing_is_written(built, folder):
    schedule = folder / ".course" / "review.json"
    schedule.write_text('{"how-many-here": 3}')
    with pytest.raises(CourseError, match="remove it, and all dates begin anew"):
        review.review([built], folder, START + timedelta(days=30))
    assert not (folder / "review").exists()


def test_the_command_says_what_there_is_to_do(built, folder, monkeypatch):
    monkeypatch.chdir(built.root)
    monkeypatch.setenv("COURSE_FOLDER", str(folder))
    book = folder / "review" / "review.ipynb"
    assert CliRunner().invoke(main, ["review"]).output == (
        f"1 question to answer in {book}; then run: course review\n"
    )
    monkeypatch.setenv("COURSE_FOLDER", str(folder / "empty"))
    assert "solve a prediction in a chapter first" in CliRunner().invoke(main, ["review"]).output


# A picture may warn of NumPy's manners.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("chapter", all_chapters(ROOT), ids=lambda chapter: chapter.name)
def test_every_prediction_of_a_chapter_can_be_asked_by_itself(chapter):
    """The cells that come along are all that its check needs."""
    for cell in read_notebook(chapter.release).cells:
        if not is_exercise(cell) or not review.is_prediction(cell.source):
            continue
        name, namespace = grade_id(cell), {"__name__": "__main__"}
        for part in review.cells_of(read_notebook(chapter.release).cells, name):
            if part.cell_type == "code":
                source = part.source
                if grade_id(part) == name:
                    source = model_answer(chapter, name).source
                run_cell(source, name, namespace)
