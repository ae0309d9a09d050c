"""What an answer leaves behind in the process is told in words, and put back."""

import functools
import os
import random
import sys
import warnings
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult
from torch import nn

from course_utils import exercises
from course_utils.learner import as_it_was
from course_utils.learner.as_it_was import LEFT, State, begin, end
from support.answers import Answer, run_answer
from support.warm import run_warm

# What some line leaves behind, and words for it.
LEAVES = {
    "torch.set_grad_enabled(False)": "gradients are off",
    "torch.set_default_dtype(torch.float64)": "the default dtype is torch.float64",
    "torch.set_default_device('meta')": "the default device is meta",
    "torch.use_deterministic_algorithms(True)": "torch.use_deterministic_algorithms",
    "torch.set_num_threads(torch.get_num_threads() + 1)": "threads",
    "torch.set_float32_matmul_precision('medium')": "precision of float32 products is medium",
    "torch.backends.cudnn.benchmark = True": "flags of torch.backends.cudnn",
    "torch.autograd.set_detect_anomaly(True)": "anomaly detection",
    "torch.set_autocast_enabled('cpu', True)": "autocast",
    "torch.set_printoptions(precision=2)": "torch.set_printoptions",
    "torch.autograd.graph.save_on_cpu().__enter__()": "hooks for saved tensors",
    "torch.overrides.BaseTorchFunctionMode().__enter__()": "BaseTorchFunctionMode",
    "nn.modules.module.register_module_forward_hook(print)": "a hook for every module",
    "torch.manual_seed(3)": "torch's global generator is seeded",
    "np.random.seed(3)": "NumPy's global generator is seeded",
    "random.seed(3)": "random's global generator is seeded",
    "np.seterr(divide='ignore' if np.geterr()['divide'] != 'ignore' else 'warn')": "np.seterr",
    "np.set_printoptions(precision=2)": "np.set_printoptions",
    "ImageFile.LOAD_TRUNCATED_IMAGES = True": "PIL.ImageFile.LOAD_TRUNCATED_IMAGES is set",
    "warnings.simplefilter('ignore')": "warnings are told otherwise (ignore",
    "os.environ['EXAMPLE'] = '1'": "EXAMPLE",
    "os.chdir('/')": "the working folder",
    "F.relu = torch.tanh": "F.relu is replaced",
    "F.gelu = type('Equal', (), {'__eq__': lambda *_: True})()": "F.gelu is replaced",
    "torch.helper = 3": "torch.helper is added",
    "nn.Linear.forward = lambda self, x: x": "nn.Linear.forward is replaced",
    "del nn.Linear.extra_repr": "nn.Linear.extra_repr is gone",
    "torch.Tensor.double_it = lambda self: self * 2": "torch.Tensor.double_it is added",
}
SETUP = """import os, random, sys, warnings
import numpy as np
import torch
from PIL import ImageFile
from torch import nn
from torch.nn import functional as F
"""


@pytest.mark.parametrize("line", LEAVES)
@pytest.mark.filterwarnings("default")
def test_what_is_left_is_told_and_put_back(line):
    names = {}
    exec(SETUP, names)
    start = State()
    begin("a check", "<the answer>")
    exec(compile(line, "<the answer>", "exec"), names)
    (words,) = end()
    assert LEAVES[line] in words
    assert start.put_back() == []


def test_an_attribute_that_has_another_name_now_is_told():
    names = {}
    exec(SETUP, names)
    last = [*vars(names["nn"].Linear)][-1]
    line = f"nn.Linear.other = nn.Linear.{last}; del nn.Linear.{last}"
    begin("a check", "<the answer>")
    exec(compile(line, "<the answer>", "exec"), names)
    told = end()
    del names["nn"].Linear.other  # torch's own function: no one minds where it is
    assert told == [f"nn.Linear.{last} is gone"]


@pytest.mark.parametrize(
    "line",
    [
        "torch.rand(3); np.random.rand(); random.random()",
        "with torch.no_grad(): nn.Linear(2, 3)(torch.ones(2))",
        "with torch.random.fork_rng(): torch.manual_seed(3)",
        "torch.optim.RMSprop([torch.ones(2)], 0.1).step()",
        "torch.compile(nn.Linear(2, 3), backend='eager')(torch.ones(2))",
    ],
)
@pytest.mark.filterwarnings("default")
def test_what_is_no_harm_is_not_told(line):
    names = {}
    exec(SETUP, names)
    begin("a check", "<the answer>")
    exec(compile(line, "<the answer>", "exec"), names)
    assert end() == []


def test_how_a_notebook_draws_is_not_told_and_not_put_back():
    with plt.rc_context():
        plt.ioff()
        begin("a check")
        plt.ion()
        plt.rcParams["font.size"] = plt.rcParams["font.size"] + 1
        assert end() == ["matplotlib's rcParams differ: font.size"]
        assert plt.isinteractive()


def test_who_else_seeds_is_let():
    begin("a check", "<the answer>")
    torch.manual_seed(3)
    assert end() == []
    begin("seeds are asked for", "<the answer>")
    exec(compile("torch.manual_seed(4)", "<the answer>", "exec"), {"torch": torch})
    assert end() == []


def test_a_check_that_draws_its_own_numbers_lets_no_answer_seed():
    torch.manual_seed(3)
    begin("x = seeded(0)(2, 3)", "<the answer>")
    exec(compile("torch.manual_seed(4)", "<the answer>", "exec"), {"torch": torch})
    assert "torch's global generator is seeded" in end()[0]


def test_the_generators_of_others_are_put_back():
    np.random.seed(1)
    random.seed(1)
    begin("a check")
    drawn = np.random.rand(), random.random()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 1)
    assert end() == []
    assert (np.random.rand(), random.random()) == drawn
    assert sys.getrecursionlimit() == limit


def test_what_torch_dynamo_wraps_when_it_is_loaded_is_no_ones_doing():
    seed = torch.manual_seed
    begin("a check")
    torch.manual_seed = torch._disable_dynamo(seed)
    assert end() == []
    torch.manual_seed = seed
    begin("a check")
    torch.manual_seed = functools.wraps(seed)(lambda number: None)
    assert end() == ["torch.manual_seed is replaced"]
    assert torch.manual_seed is seed


def test_an_answer_that_leaves_something_does_not_pass(tiny_chapter):
    source = "import os\ndef double(x):\n    os.environ['LEFT'] = '1'\n    return 2 * x"
    verdicts = run_answer(tiny_chapter, Answer("01_tiny", "double", "leaves", False, (), source))
    assert "environment variables are not as they were (LEFT)" in str(verdicts["double-check"])
    assert "LEFT" not in os.environ


def test_what_is_left_is_told_below_another_failure(tiny_chapter):
    source = "import os\ndef double(x):\n    os.environ['LEFT'] = '1'\n    return x"
    verdicts = run_answer(tiny_chapter, Answer("01_tiny", "double", "leaves", False, (), source))
    said = str(verdicts["double-check"])
    assert said.startswith("double(2) is 4, not 2\n" + LEFT.partition("{")[0])


def around(cell_id: str, source: str, run) -> None:
    """What IPython does with a cell, as far as the watch is concerned."""
    info = ExecutionInfo(source, False, True, True, cell_id)
    as_it_was.before_a_cell(info)
    run()
    as_it_was.after_a_cell(ExecutionResult(info))


class Shell:
    """A notebook's shell, as far as the watch is concerned."""

    user_ns: ClassVar[dict] = {}

    class compile:
        @staticmethod
        def get_code_name(raw, code, number):
            return "<the answer>"


@pytest.fixture
def notebook(monkeypatch):
    monkeypatch.setattr(as_it_was, "WATCH", as_it_was.Watch())
    monkeypatch.setattr("IPython.get_ipython", Shell)


def test_in_a_notebook_a_check_puts_back_what_cells_above_it_left(notebook, capsys):
    around("setup", "import torch", lambda: None)
    around("double", "def double(x): …", lambda: torch.set_grad_enabled(False))
    assert not torch.is_grad_enabled()
    seen = []
    around("double-check", "…\npassed(…)", lambda: seen.append(torch.is_grad_enabled()))
    assert seen == [True]
    assert "put back before this check: gradients are off" in capsys.readouterr().out


def test_in_a_notebook_a_check_that_failed_puts_back_too(notebook, capsys):
    around("setup", "import torch", lambda: None)
    around("double-check", "…\npassed(…)", lambda: torch.set_grad_enabled(False))
    assert torch.is_grad_enabled()
    assert "left something behind, which is put back: gradients are" in capsys.readouterr().out


def test_in_a_notebook_a_check_does_not_pass(notebook):
    def check():
        nn.Linear.forward, before = (lambda self, x: x), nn.Linear.forward
        with pytest.raises(AssertionError, match=r"behind: nn\.Linear\.forward is replaced"):
            exercises.passed("1.1 An exercise", 2)
        assert nn.Linear.forward is before

    around("setup", "import torch", lambda: None)
    around("x-check", "…\npassed(…)", check)


def test_warnings_filters_of_this_test_are_as_before():
    before = list(warnings.filters)
    begin("a check")
    warnings.simplefilter("ignore")
    assert len(end()) == 1
    assert warnings.filters == before


SETUP_CELL = "import torch\nfrom course_utils import check_close"
LEAVES_CELL = (
    "def answer():\n    torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)"
)
CHECK_CELL = (
    "print(torch.is_grad_enabled())\nanswer()\nfrom course_utils import passed\npassed('1.1 a', 1)"
)
RIGHT_CELL = "def answer(): pass"
FIGURE_CELL = "plt.close(plt.figure())"


def test_in_a_kernel_a_right_answer_passes_after_a_wrong_one():
    _, _, first, _, second = run_warm(SETUP_CELL, LEAVES_CELL, CHECK_CELL, RIGHT_CELL, CHECK_CELL)
    assert "put back before this check: gradients are off" in first
    assert "True" in first
    assert "behind: the default dtype is torch.float64, and was torch.float32" in first
    assert second.endswith("✓ 1.1 a: right, 1 point\n")
    assert "put back" not in second


HELPER_CELL = (
    "def step(x): return x + 1\ndef passed(x): return step(x)\ndef answer(): return passed(1)"
)
BINDS_CELL = CHECK_CELL.replace("from course", "step = seen = {}\nfrom course")


def test_in_a_kernel_a_check_leaves_the_answers_names_alone():
    cells = [SETUP_CELL, HELPER_CELL, BINDS_CELL.format(1), BINDS_CELL.format(2), "print(seen)"]
    _, _, first, second, seen = run_warm(*cells)
    assert "right, 1 point" in first
    assert "right, 1 point" in second
    assert seen == "2\n"


def test_a_name_that_a_check_bound_is_the_learners_once_a_cell_binds_it(notebook, monkeypatch):
    monkeypatch.setattr(Shell, "user_ns", {})
    names = Shell.user_ns

    check = "x = 1\npassed('', 1)"
    around("x-check", check, lambda: names.update(x=1))
    assert names == {"x": 1}
    around("mine", "x = 2", lambda: names.update(x=2))
    around("x-check", check, lambda: names.update(x=1))
    assert names == {"x": 2}


def test_in_a_kernel_an_answer_finds_its_own_helper_while_a_check_has_that_name():
    answer = "def case(x): return x + 1\ndef answer(): return case(1)"
    check = "for case in (answer(), answer()): print(case)\n" + CHECK_CELL
    _, _, said, after = run_warm(SETUP_CELL, answer, check, "print(case(3), '_of' in dir())")
    assert said.startswith("2\n2\n")
    assert said.endswith("right, 1 point\n")
    assert after == "4 False\n"


def test_in_a_kernel_a_check_that_evaluates_a_text_finds_its_own_names_there():
    example, check = "a = 1", "a = 2\nprint(eval('a + 1'))\n" + CHECK_CELL
    _, _, said, after = run_warm(SETUP_CELL, example + "\n" + RIGHT_CELL, check, "print(a)")
    assert said.startswith("3\n")
    assert after == "1\n"


def test_in_a_kernel_a_first_figure_is_not_told():
    asks = "plt.isinteractive()"
    setup = SETUP_CELL + f"\nimport matplotlib.pyplot as plt\nprint({asks})"
    before, _, _, said = run_warm(setup, FIGURE_CELL, RIGHT_CELL, f"print({asks})\n" + CHECK_CELL)
    assert before == "False\n"
    assert said.startswith("True\n")
    assert "put back" not in said
