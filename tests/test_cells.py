"""nbgrader's marks and the exercises' headings, as every room reads them."""

import pytest

from course_utils import cells
from course_utils.cells import exercise_of, grade_id, headings, is_answered, marks_of


def cell(kind="code", source="", **marks):
    return {"cell_type": kind, "source": source, "metadata": {"nbgrader": marks} if marks else {}}


ANSWER = cell(grade_id="a", solution=True, locked=False)
CHECK = cell(grade_id="a-check", grade=True, locked=True)
READ_BY_A_PERSON = cell(grade_id="b", grade=True, solution=True)
HELPER = cell(grade_id="helper", locked=True)
TEXT = cell("markdown", grade_id="text", locked=True)
ORDINARY = cell()


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("is_exercise", [ANSWER, READ_BY_A_PERSON]),
        ("gives_points", [CHECK, READ_BY_A_PERSON]),
        ("is_check", [CHECK]),
        ("is_locked", [HELPER]),
    ],
)
def test_what_a_cell_is(question, right):
    everything = [ANSWER, CHECK, READ_BY_A_PERSON, HELPER, TEXT, ORDINARY]
    assert [one for one in everything if getattr(cells, question)(one)] == right


@pytest.mark.parametrize("marks", [None, "?", ["grade_id"], {"grade_id": ["x"]}, {}])
def test_marks_that_are_none(marks):
    broken = {"cell_type": "code", "source": "", "metadata": {"nbgrader": marks}}
    assert grade_id(broken) == ""
    assert isinstance(marks_of(broken), dict)


@pytest.mark.parametrize(
    ("check", "exercise"),
    [("a-check", "a"), ("a-check-2", "a"), ("a-check-b", "a-check-b"), ("helper", "helper")],
)
def test_whose_check_it_is(check, exercise):
    assert exercise_of(check) == exercise


def test_a_heading_counts_for_the_next_exercise_alone():
    first = cell("markdown", ["### Exercise 1.1 — One ★ · 1 min · 1 point\n", "\n", "Do it."])
    found = headings([first, HELPER, ANSWER, CHECK, READ_BY_A_PERSON])
    assert list(found) == ["a", "b"]
    assert (found["a"]["number"], found["a"]["title"]) == ("1.1", "One")
    assert found["b"] is None


def test_an_answer_is_what_is_not_as_it_was_released():
    release = [cell(source="x = None", grade_id="a", solution=True)]
    assert not is_answered(release[0], release)
    assert is_answered(cell(source="x = 1", grade_id="a", solution=True), release)
    # Where the release is not known, its last line tells.
    assert not is_answered(cell(source="x = None\n# YOUR CODE HERE\n"))
    assert is_answered(release[0])
    marked = cell(source="x = None", grade_id="a", solution=True)
    marked["metadata"][cells.STUB] = cells.stub_digest("x = None")
    assert not is_answered(marked)
    assert is_answered({**marked, "source": "x = 1"})
