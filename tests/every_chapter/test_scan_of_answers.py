"""The scan keeps quiet about the course's own cells and about what honest learners write."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.grading.held import held_back
from course_utils.grading.scan import scan
from course_utils.grading.solution import read_solution
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from support.answers import Answer, chapters, exercises, read_answers, tried

# Named answers that do what a person should look at, whether they are right or wrong.
FLAGGED = {
    ("predict-dtype", "asked the machine, which nobody can forbid"): [
        "predict-dtype, line 2: runs code that it does not show (eval)"
    ],
    ("view-or-copy", "by asking which results share"): [
        "view-or-copy, line 7: runs code that it does not show (eval)"
    ],
    ("folder-dataset", "a damaged file is filled with grey, for the rest of the session"): [
        "folder-dataset, line 22: replaces a part of a module (PIL.ImageFile.LOAD_TRUNCATED_IMAGES)"
    ],
    ("worker-rng", "numbers of its own making, in the place of a loader's"): [
        "worker-rng, line 5: gives a name of a locked cell another meaning (try_worker_rng)"
    ],
    ("shape-detective", "from the frames of the traceback"): [
        "shape-detective, line 15: looks at other code's frames or source (tb_frame)",
        "shape-detective, line 23: looks at other code's frames or source (tb_next)",
    ],
    (
        "shape-detective",
        "reads the argument in the frame, where forward has put another in its place",
    ): [
        "shape-detective, line 15: looks at other code's frames or source (tb_frame)",
        "shape-detective, line 19: looks at other code's frames or source (tb_next)",
    ],
    ("version-tribunal", "the judge of the verdicts is rebound"): [
        "version-tribunal, line 18: gives one of the course's names another meaning (verdict_on)"
    ],
    ("tensor-logger", "listens to functions, not operators"): [
        "tensor-logger, line 1: reaches into PyTorch's inside (torch.overrides)",
        "tensor-logger, line 6: defines an object that decides for itself what PyTorch's "
        "functions do with it (__torch_function__)",
    ],
    ("read-schemas", "asks the parser"): [
        "read-schemas, line 2: reaches into PyTorch's inside (torch._C)"
    ],
    ("elastic", "pickle in place of torch.save"): [
        "elastic, line 1: runs code that it does not show (pickle)"
    ],
    ("read-schemas", "parse_schema from torch._C"): [
        "read-schemas, line 1: reaches into PyTorch's inside (torch._C)"
    ],
}


def scanned(chapter: Chapter) -> list[Answer]:
    """All named answers of a chapter, or those that this run tries."""
    return [answer for exercise in exercises(chapter) for answer in tried(chapter, exercise)]


def answered(answer):
    """A notebook of the answer's cell alone: the others are scanned by themselves."""
    cell = new_code_cell(answer.source)
    cell.metadata["nbgrader"] = {"grade_id": answer.exercise, "solution": True}
    return new_notebook(cells=[cell])


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_chapters_own_cells_and_its_named_answers_are_no_findings(chapter):
    solution = read_notebook(chapter.solution)
    assert scan(solution, solution) == []
    assert scan(read_notebook(chapter.release), solution) == []
    answers = scanned(chapter)
    found = {
        (answer.exercise, answer.name): lines
        for answer in answers
        if (lines := scan(answered(answer), solution))
    }
    names = {(answer.exercise, answer.name) for answer in answers}
    assert found == {named: lines for named, lines in FLAGGED.items() if named in names}


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_no_points_of_the_chapters_own_cells_and_named_answers_wait(chapter):
    solution = read_solution(chapter.solution.read_text(encoding="utf-8"))
    assert held_back(solution.notebook, solution) == {}
    for answer in scanned(chapter):
        held = held_back(answered(answer), solution)
        assert not [name for name in held if name.startswith(f"{answer.exercise}-check")]


def test_each_flagged_answer_is_there():
    names = {(each.exercise, each.name) for chapter in chapters() for each in read_answers(chapter)}
    assert set(FLAGGED) <= names
