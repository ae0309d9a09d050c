"""The scan names what a person should read, keeps quiet about honest work, and never raises."""

import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_utils.grading.scan import MOST_FLAGS, scan

SETUP = (
    "import numpy as np\nimport torch\nimport torch.nn.functional as F\n"
    "from course_utils import check_equal, device"
)


def marked(source, grade_id, **marks):
    cell = new_code_cell(source)
    cell.metadata["nbgrader"] = {"grade_id": grade_id, "solution": True, **marks}
    return cell


def source(*shown):
    """A chapter with a set-up cell, an exercise, its check and cells that it shows."""
    return new_notebook(
        cells=[
            marked(SETUP, "setup", solution=False, locked=True),
            new_markdown_cell("Double it"),
            marked("def double(x):\n    return 2 * x", "double"),
            marked(
                "import gc\nassert double(2) == 4",
                "double-check",
                solution=False,
                grade=True,
                locked=True,
            ),
            *[new_code_cell(text) for text in shown],
        ]
    )


def flags(answer, *shown):
    """What is flagged when ``answer`` stands in the exercise's cell."""
    notebook = source(*shown)
    notebook.cells[2].source = answer
    return scan(notebook, source(*shown))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("import ctypes", "memory past Python (ctypes)"),
        ("import gc\ngc.get_objects()", "every object of the kernel (gc)"),
        ("from gc import get_objects as g\ng()", "(gc)"),
        ("import inspect", "frames or source (inspect)"),
        ("import sys as s\ns._getframe(1)", "frames or source (sys._getframe)"),
        ("e = 1\ne.__traceback__.tb_frame", "frames or source (tb_frame)"),
        ("getattr(double, '__code__')", "a function's or a class's inside (__code__)"),
        ("double.__code__ = 1", "a function's or a class's inside (__code__)"),
        ("import sys\nsys.meta_path.insert(0, 1)", "what import does (sys.meta_path)"),
        ("import sys\nsys.settrace(print)", "every line that runs (sys.settrace)"),
        ("import sys\nsys.setprofile(print)", "every line that runs (sys.setprofile)"),
        ("get_ipython().events.register('x', 1)", "into IPython (get_ipython)"),
        ("ip = get_ipython()", "into IPython (get_ipython)"),
        ("ip.ast_transformers.append(1)", "code of other cells (ast_transformers)"),
        ("ip.input_transformers_post.append(1)", "other cells (input_transformers_post)"),
        ("print(In[3])", "code of other cells (In)"),
        ("torch.equal = lambda *a: True", "a part of a module (torch.equal)"),
        ("F.pad = 3", "a part of a module (torch.nn.functional.pad)"),
        ("torch.Tensor.__eq__ = print", "a part of a module (torch.Tensor.__eq__)"),
        ("setattr(torch, 'eq', print)", "a part of a module (torch.…)"),
        ("torch.__dict__['eq'] = print", "a part of a module (torch.__dict__)"),
        ("import builtins\nbuiltins.AssertionError = 1", "module (builtins.AssertionError)"),
        ("import course_utils\ncourse_utils.check_equal = print", "(course_utils.check_equal)"),
        ("def check_equal(*a):\n    pass", "another meaning (check_equal)"),
        ("check_equal = print", "another meaning (check_equal)"),
        ("class T:\n    def __eq__(self, o):\n        return True", "is equal to (__eq__)"),
        ("import os\nos.fork()", "starts or ends processes (os.fork)"),
        ("import os as o\no._exit(0)", "starts or ends processes (os._exit)"),
        ("from os import kill", "starts or ends processes (os.kill)"),
        ("import os\nos.execv('a', [])", "starts or ends processes (os.execv)"),
        ("import subprocess", "starts or ends processes (subprocess)"),
        ("!ls -l", "a shell command"),
        ("files = !ls", "a shell command"),
        ("%%bash\nls", "uses the magic %%bash"),
        ("def f():\n    import os\n    %time os.abort()", "starts or ends processes (os.abort)"),
        (">>> import ctypes", "memory past Python (ctypes)"),
        ("import socket", "opens a connection (socket)"),
        ("import threading", "in the background (threading)"),
        ("import atexit", "at the kernel's end (atexit)"),
        ("import signal", "kernel's signals (signal)"),
        ("exit()", "ends the kernel (exit)"),
        ("open('/proc/self/maps')", "outside its folder ('/proc/self/maps')"),
        ("path = '/home/ada/gradebook.db'", "outside its folder"),
        ("open('../ada/notes')", "outside its folder ('../ada/notes')"),
        ("open('data/../../x')", "outside its folder"),
        ("open(f'/etc/{name}')", "outside its folder"),
        ("open('/etc/' + name)", "outside its folder"),
        ("from pathlib import Path\nPath('~').expanduser()", "outside its folder ('~')"),
        ("torch._C._set_grad_enabled(True)", "PyTorch's inside (torch._C)"),
        ("m._disable_current_modes()", "PyTorch's inside (_disable_current_modes)"),
        ("text = 'pass'\nexec(text)", "code that it does not show (exec)"),
        ("eval(input())", "code that it does not show (eval)"),
        ("exec('import ctypes')", "memory past Python (ctypes)"),
        ("__import__('ctypes')", "memory past Python (ctypes)"),
        ("__import__('cty' + 'pes')", "code that it does not show (__import__)"),
        ("key = '" + "QUJD" * 100 + "'", "a word of 400 characters"),
        ("x = 1\n" * 20_000, "120000 characters long"),
    ],
)
def test_what_a_person_should_read_is_named(answer, words):
    found = flags(answer)
    assert any(words in flag for flag in found), found
    assert all(flag.startswith("double, line ") for flag in found)


@pytest.mark.parametrize(
    "answer",
    [
        "def double(x):\n    return x + x",
        "%timeit torch.ones(3) + 1",
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.rcParams['font.size'] = 9",
        "%%time\ny = 2",
        "torch.backends.cudnn.deterministic = True",
        "x = torch.ones(2)\nx.data = x\nx.grad = None",
        "device = torch.device('cpu')",
        "model.eval()\ntorch.compile(model)",
        "import re\nre.compile('a')",
        "signal = torch.ones(3)\nsignal[0] = 2",
        "print('../', 'a / b', '/')\ntorch.einsum('...i,...i->...', x, x)",
        "from IPython.display import display\ndisplay(1)",
        "eval('2 + 2')",
        "open(f'{folder}/log')",
        "open(folder + '/log')",
        "50 % of the class",
        "def double(x)",
        "",
    ],
)
def test_everyday_code_is_no_finding(answer):
    assert flags(answer) == []


def test_a_flag_names_the_line_once_and_the_cell_by_number_where_it_has_no_name():
    notebook = source()
    notebook.cells.append(new_code_cell("x = 1\nimport ctypes\nctypes.CDLL\nctypes.CDLL"))
    assert scan(notebook, source()) == ["cell 5, line 2: reaches memory past Python (ctypes)"]


def test_what_the_chapter_shows_is_no_finding_but_what_its_checks_do_is():
    shown = "import threading\nthreading.Timer(1, print)"
    assert flags("import threading\nthreading.Timer(2, print)", shown) == []
    assert flags("import threading\nthreading.Timer(2, print)")
    assert flags("import gc")


def test_locked_cells_are_not_the_students():
    notebook = source()
    notebook.cells[3].source = "import ctypes"
    assert scan(notebook, source()) == []


@pytest.mark.parametrize(
    "answer",
    ["def try_it(n): ...", "x = 1\ntry_it = lambda n: n", "from torch import sum as try_it"],
)
def test_a_locked_function_that_gets_another_meaning_is_named(answer):
    notebook = source()
    locked = marked("def try_it(n):\n    part = n", "trials", solution=False, locked=True)
    notebook.cells.insert(1, locked)
    handed_in = nbformat.from_dict(notebook)
    handed_in.cells.append(new_code_cell(answer))
    line = answer.count("\n") + 1
    words = f"cell 6, line {line}: gives a name of a locked cell another meaning (try_it)"
    assert scan(handed_in, notebook) == [words]
    handed_in.cells[-1].source = "part = n = try_it(3)"
    assert scan(handed_in, notebook) == []


def test_there_is_an_end_to_the_findings():
    many = "\n".join(f"os.exec{number}" for number in range(500))
    found = flags(f"import os\n{many}")
    assert len(found) == MOST_FLAGS + 1
    assert found[-1] == f"and {500 - MOST_FLAGS} more findings"


@pytest.mark.parametrize(
    "answer",
    [
        "(" * 5000,
        "-" * 20_000 + "1",
        "+".join(["1"] * 10_000),
        "x" + ".y" * 10_000,
        "\0",
        "\ud800",
        "%" * 10_000,
        "%timeit\n" * 5000,
        "!\n" * 5000 + "(",
        "exec('" * 50,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_no_text_makes_it_raise_or_dawdle(answer):
    start = time.monotonic()
    flags(answer)
    assert time.monotonic() - start < 10


def test_odd_notebooks_do_not_make_it_raise():
    notebook = source()
    notebook.cells[2].metadata["nbgrader"] = {"grade_id": ["x"]}
    notebook.cells[0].metadata["nbgrader"] = "?"
    notebook.cells.append(nbformat.from_dict({"cell_type": "code", "source": 3}))
    assert scan(notebook, source()) == []
