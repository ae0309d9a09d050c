"""Answers that may have read what their trial knows: their points wait for a person."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.utils import determine_grade

from course_utils.grading.execution import execute
from course_utils.grading.held import held_back
from course_utils.grading.solution import read_solution
from course_utils.grading.submission import Settings, Submission
from course_utils.kernels.sandbox import why_not

SETUP = """\
from course_utils import runs_with_the_answer


@runs_with_the_answer
def try_guess(numbers):
    secret = sum(numbers)
    return guess() == secret
"""
SOLVED = "def guess():\n    return 7"
CHECK = "assert try_guess([3, 4]), 'that is not the sum'"
FREE = "def half(x):\n    return x / 2"
FREE_CHECK = "assert half(4) == 2, 'half of 4 is 2'"


def cell(source, grade_id, **marks):
    made = new_code_cell(source, id=grade_id)
    made.metadata["nbgrader"] = {
        "grade_id": grade_id, "schema_version": 3, "locked": False, "solution": False,
        "grade": False, "task": False, **marks,
    }  # fmt: skip
    return made


def notebook_with(guess, half=FREE, between=""):
    """A notebook of two exercises: the check of the first goes by a trial."""
    return new_notebook(
        cells=[
            cell(SETUP, "setup", locked=True),
            *([new_code_cell(between, id="between")] if between else []),
            cell(guess, "guess", solution=True),
            cell(CHECK, "guess-check", grade=True, locked=True, points=2),
            cell(half, "half", solution=True),
            cell(FREE_CHECK, "half-check", grade=True, locked=True, points=1),
        ],
    )


SOURCE = nbformat.writes(notebook_with(SOLVED))
LOOKING = "def guess():\n    {}\n    return frame.f_locals['secret']"
LOOKS = {
    "_getframe": "import sys; frame = sys._getframe(1)",
    "of sys, under another name": "import sys as s; frame = getattr(s, '_get' + 'frame')(1)",
    "from sys": "from sys import _getframe as at; frame = at(1)",
    "f_back": "try:\n        1 / 0\n    except ZeroDivisionError as error:\n"
    "        frame = error.__traceback__.tb_frame.f_back",
    "by getattr": "frame = getattr((i for i in [1]).gi_frame, 'f_back')",
    "inspect": "import inspect; frame = inspect.stack()[1].frame",
    "from inspect": "from inspect import currentframe; frame = currentframe().f_back",
    "a text": "names = {}; exec(bytes([112]), names); frame = names['frame']",
    "a text in sight": "names = {}; exec('import sys; frame = sys._getframe(2)', names)\n"
    "    frame = names['frame']",
    "every object": "import gc; frame = gc.get_objects()[0]",
    "the module of another scope": "sys = 3\n    def look():\n        import sys\n"
    "        return getattr(sys, '_get' + 'frame')(2)\n    frame = look()",
    "imported for the notebook": "global gc\n    import gc\n    frame = getattr(gc, 'get_' + 'x')",
    "brought by another module": "from os import sys; frame = getattr(sys, '_get' + 'frame')(1)",
    "with all of a module": "from os import *; frame = getattr(sys, '_get' + 'frame')(1)",
    "by a text's import": "exec('import sys'); frame = getattr(sys, '_get' + 'frame')(1)",
    "imported by name": "frame = getattr(__import__('sys'), '_get' + 'frame')(1)",
    "imported by importlib": "import importlib as i\n"
    "    frame = getattr(i.import_module('sys'), '_get' + 'frame')(1)",
    "a default": "import gc\n    def look(gc=gc):\n        return vars(gc)\n    frame = look()",
    "a class's own, which its methods don't see": "import gc\n    class A:\n        gc = 3\n"
    "        def look(self):\n            return vars(gc)\n    frame = A().look()",
    "what a comprehension goes over": "import gc\n    frame = [gc for gc in vars(gc)]",
    "bound anew by itself": "import gc\n    frame = [(gc := gc) for _ in '1']",
    "the notebook's, inside of one's own": "global gc\n    import gc\n    def own(gc):\n"
    "        def look():\n            global gc\n            return vars(gc)\n"
    "        return look()\n    frame = own(3)",
    "lent by an inner function": "gc = 3\n    def bring():\n        nonlocal gc\n"
    "        import gc\n    bring()\n    frame = vars(gc)",
    "a magic beside it": "frame = sys._getframe(1)\n%time 1",
}


@pytest.mark.parametrize("how", LOOKS.values(), ids=LOOKS)
def test_a_look_into_the_trial_is_held(how):
    held = held_back(notebook_with(LOOKING.format(how)), read_solution(SOURCE))
    assert list(held) == ["guess-check"]
    assert "guess, line " in held["guess-check"]


HONEST = {
    "the solution": SOLVED,
    "prints": "import sys\ndef guess():\n    print(7, file=sys.stderr)\n    return 7",
    "collects": "import gc\ndef guess():\n    gc.collect()\n    return 7",
    "signature": "import inspect\ndef guess():\n    inspect.signature(max)\n    return 7",
    "its own traceback": "def guess():\n    try:\n        1 / 0\n"
    "    except ZeroDivisionError as error:\n"
    "        return len(error.__traceback__.tb_frame.f_locals) + 6",
    "stacks": "import torch\ndef guess():\n    return len(torch.stack([torch.ones(1)] * 7))",
    "evaluates a text": "def guess():\n    return eval('3 + 4')",
    "no Python": "def guess(",
    "a variable of that name": "gc = [3, 4]\ndef guess():\n    return sum(gc)",
    "a parameter of that name": "def total(inspect):\n    return sum(inspect)\n"
    "def guess():\n    return total([3, 4])",
    "a loop's variable": "def guess():\n    return sum(sys for sys in [3, 4])",
    "a lambda's": "guess = lambda: (lambda gc: sum(gc))([3, 4])",
    "a local one, though another function imports it": "def clean():\n    import gc\n"
    "    gc.collect()\ndef guess():\n    gc = [3, 4]\n    clean()\n    return sum(gc)",
    "a module of that ending": "import torch.cuda as gc\ndef guess():\n    return bool(gc) + 6",
    "imported by name, for a part": "def guess():\n"
    "    print(file=__import__('sys').stderr)\n    return 7",
}


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_what_leads_to_no_frame_of_others_is_not(source):
    assert held_back(notebook_with(source), read_solution(SOURCE)) == {}


LOOKER = "import sys\n\ndef seen():\n    return sys._getframe(2).f_locals['secret']"


def test_a_cell_of_ones_own_may_lend_its_look_to_any_trial():
    lent = notebook_with("def guess():\n    return seen()", between=LOOKER)
    assert (
        "code cell 2, line 4 (_getframe)" in held_back(lent, read_solution(SOURCE))["guess-check"]
    )


WHOLE = "getattr(gc, 'get_' + 'objects')()"


@pytest.mark.parametrize("imports", ["import gc", "import gc\n%time 1", "%time 1\nimport sys, gc"])
def test_a_module_may_be_imported_by_any_cell(imports):
    lent = notebook_with(f"def guess():\n    return {WHOLE}", between=imports)
    assert "line 2 (gc)" in held_back(lent, read_solution(SOURCE))["guess-check"]
    own = notebook_with("def guess(gc=(3, 4)):\n    return sum(gc)", between=imports)
    assert held_back(own, read_solution(SOURCE)) == {}


def test_another_exercise_is_held_only_where_it_uses_what_looks():
    half = f"{LOOKER}\n{FREE}"
    assert held_back(notebook_with(SOLVED, half), read_solution(SOURCE)) == {}
    lent = notebook_with("def guess():\n    return seen()", half)
    assert list(held_back(lent, read_solution(SOURCE))) == ["guess-check"]


def test_a_check_without_a_trial_is_never_held():
    half = "import sys\ndef half(x):\n    return sys._getframe(0).f_locals['x'] / 2"
    assert held_back(notebook_with(SOLVED, half), read_solution(SOURCE)) == {}


def graded(guess, **settings):
    isolation = "none" if why_not() else "bwrap"
    submission = Submission("kim", "01_tiny", nbformat.writes(notebook_with(guess)), SOURCE)
    return execute(submission, Settings(isolation=isolation, **settings))


def points_of(outcome):
    cells = nbformat.reads(outcome.notebook, as_version=4).cells
    return [determine_grade(cell)[0] for cell in cells if cell.id.endswith("-check")]


def errors_of(outcome):
    cells = nbformat.reads(outcome.notebook, as_version=4).cells
    return {
        cell.id: [output.ename for output in cell.outputs if output.output_type == "error"]
        for cell in cells
        if cell.id.endswith("-check")
    }


def test_the_points_wait_for_a_person_and_both_are_told():
    outcome = graded(LOOKING.format(LOOKS["_getframe"]))
    assert errors_of(outcome) == {"guess-check": ["HeldBack"], "half-check": []}
    assert points_of(outcome) == [0, 1]
    assert "its points wait for a person" in outcome.messages["guess-check"]
    assert any("enter its points by hand" in line for line in outcome.flags)
    outcome = graded(LOOKING.format(LOOKS["_getframe"]), hold_back=False)
    assert errors_of(outcome) == {"guess-check": [], "half-check": []}
    assert points_of(outcome) == [2, 1]


def test_what_fails_says_why_it_fails():
    outcome = graded("import sys\ndef guess():\n    return sys._getframe(1) is None")
    assert errors_of(outcome)["guess-check"] == ["AssertionError"]
    assert outcome.messages["guess-check"] == "AssertionError: that is not the sum"


def test_the_memory_of_an_answer_is_told_that_takes_it_in_a_check():
    taking = "def guess():\n    kept = b'1' * 400_000_000\n    return len(kept) // 10**8 + 3"
    less, more = (graded(guess).memory_bytes for guess in (SOLVED, taking))
    assert more - less > 350_000_000
