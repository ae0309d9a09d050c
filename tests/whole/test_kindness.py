"""A right answer keeps its points, whatever honest things it or its notebook does beside.

Each notebook is the released chapter 00 with cells filled in or added; it is executed and judged as
``course grade`` does it.
"""

import nbformat
import pytest

from course_utils.grading.submission import Settings
from course_utils.learner.as_it_was import LEFT, SEEDED
from course_utils.notebooks import read_notebook
from course_utils.project import pick_chapters
from support.answers import ROOT
from support.hostile import (
    ERROR,
    ERROR_CHECK,
    LIGHT_CHAPTER,
    RIGHT_ERROR,
    RIGHT_SHAPES,
    SHAPES,
    SHAPES_CHECK,
    add_cell,
    answer,
    cell_of,
)
from support.light import ALL, NONE, NOTHING_OF_THE_ERROR, outputs_of, points, released, run, solved

# What a learner's right answer does beside, in its function's first lines.
HABITS = {
    "warns": 'import warnings\n    warnings.warn("slow")',
    "prints": 'print("x", outputs)',
    "writes to stderr": 'import sys\n    print("note", file=sys.stderr)',
    "logs": 'import logging\n    logging.getLogger("a").warning("note")',
    "shows a progress bar": (
        "import sys, time\n    for i in range(20):\n"
        '        sys.stderr.write(f"\\r{i}/20")\n        sys.stderr.flush()'
    ),
    "displays": "from IPython.display import display\n    display({'a': 1})",
    "shows a plot": (
        "import matplotlib.pyplot as plt\n    plt.plot([1, 2, 3])\n    plt.show()\n    plt.close()"
    ),
    "is slow": "import time\n    time.sleep(0.05)",
    "computes in threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "    with ThreadPoolExecutor(2) as pool:\n"
        "        assert list(pool.map(abs, [-1, 2])) == [1, 2]"
    ),
    "writes a file": 'open("scratch.txt", "a").write("note")',
    "takes a name of torch": "sqrt = mean = torch = None",
    "uses NumPy": "import numpy as np\n    assert np.ones(2).sum() == 2",
    "asks for a gradient": "assert outputs.requires_grad in (True, False)",
    "keeps what it saw": "globals().setdefault('seen', []).append(outputs)",
    "works multithreaded": "import torch\n    torch.ones(300, 300) @ torch.ones(300, 300)",
    "collects garbage": "import gc\n    gc.collect()",
    "reads the time and random numbers": (
        "import random, time\n    random.random(), time.time(), __import__('torch').rand(3)"
    ),
}


@pytest.mark.parametrize("habit", HABITS.values(), ids=HABITS)
def test_a_right_answer_may(habit):
    """In a class's own time: some seventy plots in a check take ten seconds on a slow machine."""
    notebook = solved()
    head, *body = RIGHT_ERROR.splitlines()
    answer(notebook, ERROR, "\n".join([head, f"    {habit}", *body]))
    assert points(run(notebook, cell_seconds=Settings.cell_seconds)) == ALL


# What stands in a cell before the answers.
SURROUNDINGS = {
    "default dtype": "import torch\ntorch.set_default_dtype(torch.float64)",
    "no gradients": "import torch\ntorch.set_grad_enabled(False)",
    "another folder": "import os\nos.makedirs('a')\nos.chdir('a')",
    "another seed": "import torch\ntorch.manual_seed(7)",
    "deterministic algorithms": "import torch\ntorch.use_deterministic_algorithms(True)",
    "more threads": "import torch\ntorch.set_num_threads(2)\ntorch.rand(500, 500).inverse()",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')",
    "a magic": "%matplotlib inline\n%config InlineBackend.figure_format = 'svg'",
    "a shell line": "!echo hello",
    "a timed line": "%timeit -n1 -r1 sum(range(10))",
    "a widget's message": "from comm import create_comm\ncreate_comm(target_name='widget')",
    "a plot left open": "import matplotlib.pyplot as plt\nplt.plot([1, 2])",
    "threads that go on": (
        "import threading, time\n"
        "threading.Thread(target=lambda: time.sleep(60), daemon=True).start()"
    ),
    "a child process": "import subprocess\nsubprocess.run(['true'], check=True)",
    "an error": "1 / 0",
    "a syntax error": "def broken(:",
    "names of its own": "x = y = column = row = result = got = slips = because = 5",
    "stars of imports": "from math import *\nfrom torch import *",
    "printing options": "import torch\ntorch.set_printoptions(precision=1, sci_mode=True)",
    "an unread input": "input('name? ')",
    "a cleared output": "from IPython.display import clear_output\nprint(1)\nclear_output()",
    "an updated display": (
        "from IPython.display import display\n"
        "handle = display('a', display_id=True)\nhandle.update('b')"
    ),
}


@pytest.mark.parametrize("source", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_a_notebook_may_hold(source):
    notebook = solved()
    add_cell(notebook, source)
    outcome = run(notebook)
    assert points(outcome) == ALL
    assert outcome.died == ""


# Right answers in other forms.
HELPER = """
import torch
class Helper:
    scale = 1
def squares(x):
    return Helper.scale * x ** 2
"""
FORMS = {
    "a helper of another cell": """
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError
    return squares(outputs - targets).mean().sqrt()
""",
    "a lambda in a partial": """
from functools import partial
def refuse():
    raise ValueError("no")
root_mean_square_error = partial(
    lambda scale, x, y: (scale * (x - y) ** 2).mean().sqrt() if x.shape == y.shape else refuse(), 1)
""",
    "an object that is called": """
class Measure:
    def __call__(self, outputs, targets):
        if outputs.shape != targets.shape:
            raise ValueError("no")
        return squares(outputs - targets).mean().sqrt()
root_mean_square_error = Measure()
""",
    "an exception of one's own": """
class ShapesDiffer(ValueError):
    pass
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ShapesDiffer(outputs.shape, targets.shape)
    return squares(outputs - targets).mean().sqrt()
""",
    "a parameter": """
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError
    return torch.nn.Parameter(squares(outputs - targets).mean().sqrt())
""",
    "a subclass": """
class Mine(torch.Tensor):
    pass
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError
    return squares(outputs - targets).mean().sqrt().as_subclass(Mine)
""",
    "a view of something larger": """
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError
    return squares(outputs - targets).mean().sqrt().expand(3, 3)[1, 1]
""",
    "a decorated function": """
from functools import lru_cache, wraps
def loud(function):
    @wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper
@loud
@torch.no_grad()
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError
    return squares(outputs - targets).mean().sqrt()
""",
}


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
def test_a_right_answer_may_be(source):
    notebook = solved()
    add_cell(notebook, HELPER)
    answer(notebook, ERROR, source)
    assert points(run(notebook)) == ALL


SHAPES_FORMS = {
    "lists and sizes": RIGHT_SHAPES + 'predict_warm_up["a + b"] = torch.Size([4, 3])\n',
    "an ordered dict": RIGHT_SHAPES + "from collections import OrderedDict\n"
    "predict_warm_up = OrderedDict(predict_warm_up)\n",
    "NumPy's numbers": RIGHT_SHAPES + "import numpy as np\n"
    'predict_warm_up["a + b"] = tuple(np.array([4, 3]))\n',
    "a named tuple": RIGHT_SHAPES + "from collections import namedtuple\n"
    'predict_warm_up["a + b"] = namedtuple("Shape", "n m")(4, 3)\n',
}


@pytest.mark.parametrize("source", SHAPES_FORMS.values(), ids=SHAPES_FORMS)
def test_right_predictions_may_be(source):
    notebook = solved()
    answer(notebook, SHAPES, source)
    assert points(run(notebook)) == ALL


@pytest.mark.parametrize(
    "source",
    ["raise SystemExit", "quit()", "import os\nos._exit(3)", "1 / 0", "del root_mean_square_error"],
)
def test_what_comes_after_the_checks_costs_nothing(source):
    notebook = solved()
    notebook.cells.append(nbformat.v4.new_code_cell(source))
    assert points(run(notebook)) == ALL


def test_an_answer_is_judged_as_it_was_at_its_check():
    notebook = solved()
    notebook.cells.append(nbformat.v4.new_code_cell("def root_mean_square_error(x, y): return 1"))
    assert points(run(notebook)) == ALL


SEEDS = "    import torch\n    torch.manual_seed(3)\n"


@pytest.mark.parametrize(
    ("source", "first"),
    [
        (RIGHT_ERROR.replace(":\n", f":\n{SEEDS}", 1), ""),
        (f"def root_mean_square_error(x, y):\n{SEEDS}    return 7.0", "of type float"),
    ],
)
def test_an_answer_that_seeds_for_everybody_is_refused_in_words(source, first):
    notebook = solved()
    answer(notebook, ERROR, source)
    outcome = run(notebook)
    assert points(outcome) == NOTHING_OF_THE_ERROR
    said = outcome.messages[ERROR_CHECK]
    assert first in said
    assert said.endswith(LEFT.format(SEEDED.format("torch")))


def test_a_crash_keeps_the_points_before_it_and_says_where():
    notebook = solved()
    answer(notebook, ERROR, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    outcome = run(notebook)
    assert points(outcome) == NOTHING_OF_THE_ERROR
    assert outcome.died.startswith(f"{ERROR}: ")
    assert ERROR in outputs_of(outcome, ERROR_CHECK)
    assert "kernel had ended" in outcome.messages[ERROR_CHECK]


def test_a_learner_who_solves_one_exercise_gets_it():
    notebook = released()
    answer(notebook, ERROR, RIGHT_ERROR)
    assert points(run(notebook)) == {**ALL, SHAPES_CHECK: 0.0}


def test_an_untouched_notebook_gets_nothing_and_words():
    outcome = run(released())
    assert points(outcome) == NONE
    assert outcome.messages.keys() >= ALL.keys()
    assert "still blank" in outcome.messages[SHAPES_CHECK]


@pytest.mark.parametrize(("says", "worth"), [("0.5", 0.5), ("0", 0.0), ("1", 1.0), ("None", 1.0)])
def test_a_check_may_give_part_of_its_points(says, worth):
    (chapter,) = pick_chapters(ROOT, [LIGHT_CHAPTER])
    source = read_notebook(chapter.solution)
    cell_of(source, SHAPES_CHECK).source += f"\n{says}"
    found = points(run(solved(), nbformat.writes(source)))
    assert found == {**ALL, SHAPES_CHECK: worth}


def test_a_check_may_warn_and_print():
    (chapter,) = pick_chapters(ROOT, [LIGHT_CHAPTER])
    source = read_notebook(chapter.solution)
    loud = 'import sys, warnings\nwarnings.warn("w")\nprint("e", file=sys.stderr)\nprint("o")\n'
    check = cell_of(source, SHAPES_CHECK)
    check.source = loud + check.source
    assert points(run(solved(), nbformat.writes(source))) == ALL


def test_a_check_may_have_a_locked_function_run_with_the_answer():
    """It works on the learner's own function, not on the judge's stand-in for it."""
    function = RIGHT_ERROR.partition("(")[0].removeprefix("def ")
    trial = f"""
from course_utils import runs_with_the_answer
@runs_with_the_answer
def try_it(of_a_module):
    keep = {{"module": torch.nn.Linear(1, 1), "answer": {function}}}
    return type(keep["answer"]).__name__, getattr(keep["module"], of_a_module)
"""
    (chapter,) = pick_chapters(ROOT, [LIGHT_CHAPTER])
    source, notebook = read_notebook(chapter.solution), solved()
    for locked in (source, notebook):
        cell_of(locked, "setup").source += trial
    cell_of(source, ERROR_CHECK).source += '\nassert try_it("in_features") == ("function", 1)'
    assert points(run(notebook, nbformat.writes(source))) == ALL


def test_a_long_honest_notebook_stays_within_its_limits():
    notebook = solved()
    for _ in range(40):
        add_cell(notebook, "for i in range(100): print('epoch', i, 'loss', 1 / (i + 1))")
    outcome = run(notebook)
    assert points(outcome) == ALL
    assert "left out" not in outcome.notebook


def test_the_unkind_would_be_noticed():
    notebook = solved()
    answer(notebook, ERROR, RIGHT_ERROR.replace("square()", "abs()"))
    assert points(run(notebook)) == {**NOTHING_OF_THE_ERROR, f"{ERROR_CHECK}-2": 1.0}
