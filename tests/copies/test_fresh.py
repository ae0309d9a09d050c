"""Predictions that are asked again have other numbers, and answers that follow from them."""

import pytest

from course_utils.cells import gives_points, grade_id, is_exercise
from course_utils.copies.fresh import FRESH, freshen
from course_utils.copies.review import cells_of, is_prediction
from course_utils.notebooks import read_notebook
from course_utils.project import all_chapters
from support.answers import ROOT, model_answer, run_cell

CHAPTER = {
    grade_id(cell): chapter
    for chapter in all_chapters(ROOT)
    for cell in read_notebook(chapter.release).cells
    if grade_id(cell) in FRESH
}
WAYS = [(name, turn) for name, ways in FRESH.items() for turn in range(len(ways))]


def cells_for(name):
    return cells_of(read_notebook(CHAPTER[name].release).cells, name)


@pytest.mark.parametrize(("name", "turn"), WAYS)
def test_every_text_that_speaks_of_the_numbers_is_there(name, turn):
    text = "\n".join(cell.source for cell in cells_for(name))
    assert [old for old in FRESH[name][turn] if old not in text] == []


# A picture may warn of NumPy's manners.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("name", "turn"), WAYS)
def test_the_check_expects_what_the_new_numbers_give(name, turn):
    cells = cells_for(name)
    freshen(cells, name, turn)
    model = model_answer(CHAPTER[name], name).source
    namespace, expected = {"__name__": "__main__"}, {}
    code = [cell for cell in cells if cell.cell_type == "code"]
    for cell in code:
        if not gives_points(cell):
            run_cell(cell.source, grade_id(cell), namespace)
    (question,) = (cell for cell in code if is_exercise(cell))
    checks = [cell for cell in code if gives_points(cell)]
    assert is_prediction(question.source)
    (answer,) = (key for key, value in namespace.items() if key == name.replace("-", "_"))
    asked, check = list(namespace[answer]), namespace["check_predictions"]

    def listen(guesses, actual, *rest, **more):
        expected.update(actual)

    namespace["check_predictions"] = listen
    run_all(checks, namespace)
    assert list(expected) == asked, "the blanks and the check ask other things"
    namespace["check_predictions"] = check
    namespace[answer] = expected
    run_all(checks, namespace)
    # Who only remembers the old answers is refused.
    old = {"__name__": "__main__", **namespace}
    run_cell(model, name, old)
    namespace[answer] = dict(zip(asked, old[answer].values(), strict=True))
    with pytest.raises(AssertionError):
        run_all(checks, namespace)


def run_all(cells, namespace):
    for cell in cells:
        run_cell(cell.source, grade_id(cell), namespace)


def test_other_exercises_are_asked_as_they_were():
    cells = cells_for("pencil-slopes")
    before = [cell.source for cell in cells]
    freshen(cells, "another-exercise", 0)
    assert [cell.source for cell in cells] == before
