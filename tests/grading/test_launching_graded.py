"""An exercise whose check launches ranks is graded as any other, inside the sandbox."""

import json

import nbformat
from nbgrader.utils import determine_grade

from course_utils.grading.execution import execute
from course_utils.grading.submission import Settings, Submission
from course_utils.kernels.sandbox import why_not

CHECKED = """
import torch, torch.distributed as dist
from course_utils import LaunchError, launch, runs_with_the_answer

@runs_with_the_answer
def try_total(world_size, value):
    try:
        return launch(lambda rank, size: total(torch.tensor([value * rank])), world_size, timeout=3)
    except LaunchError as error:
        return str(error)
"""
TOTAL = """
def total(x):
    dist.all_reduce(x)
    return x
"""
CHECK = """
for size in (1, 3):
    for value in (1.0, 2.0):
        got = try_total(size, value)
        assert not isinstance(got, str), got
        assert [x.item() for x in got] == [value * size * (size - 1) / 2] * size
"""


def graded(answer):
    """A submission with one exercise, whose check launches, graded as a class would be."""

    def cell(source, grade_id, **marks):
        marks = {"grade": False, "locked": False, "solution": False, **marks}
        marks |= {"grade_id": grade_id, "schema_version": 3}
        return nbformat.v4.new_code_cell(source, id=grade_id, metadata={"nbgrader": marks})

    def notebook(text):
        return nbformat.v4.new_notebook(
            cells=[
                cell(CHECKED, "setup", locked=True),
                cell(text, "total", solution=True),
                cell(CHECK, "total-check", grade=True, locked=True, points=2),
            ]
        )

    submission = Submission(
        "ranks", "17_ranks", nbformat.writes(notebook(answer)), nbformat.writes(notebook(TOTAL))
    )
    isolation = "none" if why_not() else "bwrap"
    outcome = execute(submission, Settings(isolation=isolation, cell_seconds=30))
    (check,) = [
        cell
        for cell in nbformat.reads(outcome.notebook, as_version=4).cells
        if cell.id == "total-check"
    ]
    return determine_grade(check)[0], json.dumps(check.outputs)


def test_a_class_may_launch_inside_the_sandbox():
    assert graded(TOTAL)[0] == 2
    assert graded(TOTAL + "x = torch.rand(500, 500)\n(x @ x).sum()\nlaunch(lambda r, s: r)")[0] == 2


def test_a_hanging_answer_is_told_where_it_hangs():
    hanging = "def total(x):\n    if dist.get_rank():\n        dist.all_reduce(x)\n    return x"
    points, words = graded(hanging)
    assert points == 0
    assert "rank 1 was in all_reduce" in words
