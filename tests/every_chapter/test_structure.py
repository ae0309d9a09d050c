"""Every chapter keeps the rules of ``support/structure.py``, and each rule refuses its breach."""

import base64
import io
import warnings

import nbformat
import pytest
from nbformat import NotebookNode
from PIL import Image

from course_utils.authoring.source import read_source
from course_utils.notebooks import read_notebook
from support.answers import chapters, notebook_of
from support.not_yet import NOT_YET
from support.structure import FORM, KNOWN, RULES, minutes_by_formula

# Every chapter


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_a_chapter_keeps_the_rules(chapter, rule):
    executed = read_notebook(chapter.solution) if chapter.solution.exists() else None
    complaints = complaints_of(rule, chapter.name, notebook_of(chapter), executed)
    assert not complaints, "\n".join([f"{chapter.name}: {rule.__doc__}", *complaints])


def complaints_of(rule, chapter, source, built) -> list[str]:
    """What a rule says of the source, and what else it says of the notebook that was built."""
    complaints = rule(source, chapter)
    if built is not None:
        new = [complaint for complaint in rule(built, chapter) if complaint not in complaints]
        # The author may have mended the source since.
        complaints += [f"as last built (course build {chapter}): {complaint}" for complaint in new]
    return complaints


@pytest.mark.parametrize("rule", FORM)
@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_a_chapter_has_the_form_of_today(chapter, rule):
    complaints = FORM[rule](notebook_of(chapter), chapter.name)
    if rule in NOT_YET.get(chapter.name, ()):
        assert complaints, f"{chapter.name} keeps {rule} by now: take it off tests/support/not_yet"
        return
    assert not complaints, "\n".join([f"{chapter.name}: {FORM[rule].__doc__}", *complaints])


def test_only_chapters_that_are_here_are_not_yet_in_the_form_of_today():
    assert set(NOT_YET) <= {chapter.name for chapter in chapters()}
    assert {rule for rules in NOT_YET.values() for rule in rules} <= set(FORM)


# A warning alone: an author knows the chapter's readers, the formula does not.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_the_minutes_are_near_what_the_formula_gives(chapter):
    said = notebook_of(chapter).metadata.get("course", {}).get("minutes")
    if not isinstance(said, int):
        pytest.skip("the rule of the header says what is missing")
    computed = minutes_by_formula(notebook_of(chapter))
    if abs(said - computed) > 0.15 * said:
        warnings.warn(
            f"{chapter.name}: the header says {said} minutes, words, cells and exercises give "
            f"{computed}: set the header to that, or to what is near",
            stacklevel=1,
        )


def test_there_are_chapters():
    assert chapters()


def test_the_lists_of_topics_and_errata_are_sorted_and_without_doubles():
    for kind, names in KNOWN.items():
        assert names == sorted(set(names)), kind


def test_what_cells_cover_is_known():
    """Prints the table of what is covered (shown by ``pytest -rP``)."""
    covered = {
        kind: {
            chapter.name: {
                name for cell in notebook_of(chapter).cells for name in cell.metadata.get(kind, [])
            }
            for chapter in chapters()
        }
        for kind in KNOWN
    }
    together = {kind: set().union(*covered[kind].values()) for kind in KNOWN}
    print(f"{'covered by a cell':<28}" + "".join(f"{kind:>10}" for kind in KNOWN))
    for chapter in chapters():
        counts = (len(covered[kind][chapter.name]) for kind in KNOWN)
        print(f"{chapter.name:<28}" + "".join(f"{count:>10}" for count in counts))
    totals = (f"{len(together[kind])}/{len(KNOWN[kind])}" for kind in KNOWN)
    print(f"{'together, of all':<28}" + "".join(f"{total:>10}" for total in totals))
    unknown = {kind: sorted(together[kind] - set(KNOWN[kind])) for kind in KNOWN}
    assert unknown == {"topics": [], "errata": []}


# Each rule, on a chapter that keeps them all and on one that breaks it

GOOD = '''# ---
# jupyter:
#   course:
#     title: A good chapter
#     minutes: 10
# ---

# %% [markdown]
# # A good chapter

# %% nbgrader={"grade_id": "setup", "locked": true}
import torch
import torch.nn.functional as F
from course_utils import check_equal, device

# %% topics=["seeding"] errata=["to-device-is-cuda"]
x = torch.arange(3)
x.sum()

# %% tags=["raises-exception"]
1 / 0

# %% [markdown]
# ### Exercise 7.1 — Double a number ★ · 2 min · 3 points
#
# Double it.

# %% nbgrader={"grade_id": "given", "locked": true}
number = 4

# %% nbgrader={"grade_id": "double-it", "solution": true}
def double_it(x: float, *, times: int = 1) -> float:
    """Twice x, dimensionless."""
    ### BEGIN SOLUTION
    factor = 2**times
    return factor * x
    ### END SOLUTION

# %% nbgrader={"grade_id": "double-it-check", "grade": true, "points": 1}
assert double_it(2) == number, "double_it(2) is 4"
### BEGIN HIDDEN TESTS
assert double_it(-3) == -6, "double_it(-3) is -6"
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "double-it-check-2", "grade": true, "points": 2}
check_equal(double_it(0.5), 1, "double_it(0.5)")

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Multiply.
# </details>

# %% [markdown]
# In practice, so it goes.
#
# ### Exercise 7.2 — Say it first ★★★ · 5 min · 1 point
#
# <details>
# <summary>Hint</summary>
# Count.
# </details>

# %% nbgrader={"grade_id": "predict-size", "solution": true}
predicted = {"x": None, "y": None}
### BEGIN SOLUTION
predicted.update({"x": 3, "y": 4})
### END SOLUTION

# %% nbgrader={"grade_id": "predict-size-check", "grade": true, "points": 1}
assert predicted["x"] == 3, "x is 3"

# %% [markdown]
# The end, without a picture.

# %%
x.tolist()
'''


def parse(tmp_path, text: str) -> NotebookNode:
    path = tmp_path / "07_good.py"
    path.write_text(text, encoding="utf-8")
    return read_source(path)


def executed(notebook: NotebookNode) -> NotebookNode:
    """The good chapter as it would be executed, without a kernel."""
    for count, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), start=1):
        cell.execution_count = count
        if "raises-exception" in cell.metadata.get("tags", []):
            cell.outputs = [failure()]
    notebook.cells[-1].outputs = [picture("three boxes")]
    return notebook


def failure() -> NotebookNode:
    text = "File /tmp/ipykernel_12/345.py:1"
    return nbformat.v4.new_output("error", ename="E", evalue="no", traceback=[text])


def picture(alt: str, width: int = 3) -> NotebookNode:
    """A picture of six dots a line, shown in ``width``."""
    file = io.BytesIO()
    Image.new("RGB", (6, 2)).save(file, "png")
    data = {"image/png": base64.b64encode(file.getvalue()).decode()}
    metadata = {"image/png": {"alt": alt, "width": width}}
    return nbformat.v4.new_output("display_data", data, metadata=metadata)


def printed(text: str, name: str = "stdout") -> NotebookNode:
    return nbformat.v4.new_output("stream", name=name, text=text)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_good_chapter_has_no_complaint(tmp_path, rule):
    assert rule(parse(tmp_path, GOOD), "07_good") == []
    assert rule(executed(parse(tmp_path, GOOD)), "07_good") == []


FUNCTION = "def double_it(x: float, *, times: int = 1) -> float:"
CODE = "x.tolist()"
CHECK = 'assert double_it(2) == number, "double_it(2) is 4"\n'
# rule, what is replaced, by what, the words of the complaint
BROKEN_SOURCES = [
    ("header", "#     title: A good chapter\n", "", "no course: title:"),
    ("header", "minutes: 10", "minutes: soon", "no course: minutes:"),
    ("header", "# # A good chapter", "# ## A good chapter", "opens the first cell"),
    ("header", "# The end", "# # The end", "found in: ['cell cell-000"),
    ("setup_cell", '"setup", "locked": true', '"setup", "locked": false', "not a locked setup"),
    ("setup_cell", '"setup"', '"start"', "not a locked setup"),
    ("setup_cell", "import torch\n", "import torch\n" + "import math\n" * 3, "6 lines, at most 5"),
    ("kinds", '"given"', '"cell-004"', "are kept for ordinary cells"),
    ("kinds", '"given", "locked": true', '"given"', "neither locked nor an exercise nor a check"),
    ("kinds", '"solution": true}\ndef', '"solution": true, "grade": true}\ndef', "or several"),
    (
        "kinds",
        "# %% [markdown]\n# The end",
        '# %% [markdown] nbgrader={"grade_id": "end", "locked": true}\n# The end',
        "only code cells",
    ),
    ("checks", '"double-it-check"', '"double-check"', "is neither double-it-check nor"),
    (
        "checks",
        '"double-it-check-2"',
        '"double-it-check-b"',
        "and double-it is the exercise above it",
    ),
    ("checks", '"points": 2', '"points": 0', "its points are 0"),
    ("checks", '"points": 2', '"points": 1.5', "its points are 1.5"),
    ("checks", ', "points": 2', "", "its points are None"),
    (
        "checks",
        '{"grade_id": "predict-size-check", "grade": true, "points": 1}',
        '{"grade_id": "other", "locked": true}',
        'cell predict-size (predicted = {"x": None, "y": None}): no check follows',
    ),
    ("headings", "### Exercise 7.1 — Double", "### Double", "no single heading"),
    ("headings", "7.1 — Double", "7.1 - Double", "no single heading"),
    ("headings", "number ★ ·", "number ★★★★ ·", "no single heading"),
    ("headings", "★ · 2 min ·", "· 2 min · ★ ·", "no single heading"),
    (
        "headings",
        "★ · 2 min",
        "★ · some min",
        "it is not '### Exercise 7.1 — Double a number ★ · s",
    ),
    ("headings", "7.1 — ", "6.1 — ", "its heading should say 7.1"),
    ("headings", "7.2 — ", "7.3 — ", "its heading should say 7.2"),
    ("headings", "· 3 points", "· 4 points", "says 4 points, its checks 3"),
    ("headings", "· 1 point\n", "· 1 points\n", "1 point, otherwise points"),
    ("headings", "★★★ · 5 min", "★★★ · 9 min", "take 11 minutes, the header says 10"),
    ("headings", "# The end", "# ### Exercise 7.3 — None ★ · 1 min · 1 point", "3 headings for 2"),
    ("headings", '"given", "locked": true}', '"given", "solution": true}', "no single heading"),
    ("stubs", "    ### END SOLUTION\n", "", "expected ### BEGIN SOLUTION"),
    ("stubs", "    ### BEGIN SOLUTION\n", "", "expected ### BEGIN SOLUTION"),
    ("stubs", FUNCTION, FUNCTION + "\n    n = 0", "double_it has no docstring"),
    ("stubs", FUNCTION, FUNCTION.replace("double_it", "twice"), "neither def double_it nor a dict"),
    ("stubs", FUNCTION, FUNCTION.replace("x: float", "x"), "no type is given for x"),
    ("stubs", FUNCTION, FUNCTION.replace(": int", ""), "no type is given for times"),
    ("stubs", FUNCTION, FUNCTION.replace(" -> float", ""), "no type is given for its result"),
    (
        "stubs",
        '    """Twice x, dimensionless."""\n',
        "",
        "its stub is not valid Python (expected an indented block",
    ),
    ("stubs", '"x": None, "y": None', '"x": None, "y": 4', "nor a dict of blanks"),
    ("hints", "<details><summary>Hint 1</summary>", "Hint 1", "no hint that folds"),
    ("hints", "# <summary>Hint</summary>\n", "", "cell predict-size (predicted = "),
    ("hints", "# Multiply.", "#     factor = 2**times\n#     return factor * x", "prints the sol"),
    ("words", ', "double_it(-3) is -6"', "", "no words follow 'assert double_it(-3) == -6'"),
    (
        "names",
        CHECK,
        "def right():\n    return x[0]\n\n" + CHECK,
        "reads x, which cell cell-002 (x = torch.arange(3)) makes, and is not there when it is",
    ),
    ("check_ends", CHECK, CHECK + "assert time.perf_counter() < 1\n", "reads the clock (time.perf"),
    ("curriculum", '["seeding"]', '["sowing"]', "no topics named 'sowing'"),
    ("curriculum", '["to-device-is-cuda"]', '["seeding"]', "no errata named 'seeding'"),
    ("curriculum", '["raises-exception"]', '["raises-an-exception"]', "no tags named 'raises-an"),
    ("curriculum", '["seeding"]', '"seeding"', "topics is not a list"),
    (
        "lengths",
        "# %%\nx.tolist()\n",
        "\n# %%\nx\n" + "x\n\n" * 25,
        "1 of 11 code cells exceed 25 lines, and of so many none may: cell cell-014 (x): 26",
    ),
    ("imports", CODE, "import requests", "imports requests"),
    ("imports", CODE, "from urllib.request import urlopen", "imports urllib"),
    ("imports", CODE, "from course_utils import command", "imports course_utils.command"),
    ("imports", CODE, "import course_utils.command.cli", "imports course_utils.command"),
    ("imports", CODE, "import http.client as hc", "imports http.client"),
    ("imports", CODE, "from torch import *", "imports * from torch"),
    ("imports", CODE, "import torch as t", "imports torch as t"),
    ("imports", CODE, "import math as m", "imports math as m"),
    ("imports", CODE, "import numpy as numpie", "imports numpy as numpie"),
    (
        "imports",
        CODE,
        "from torch.nn import functional as f",
        "imports torch.nn.functional as f",
    ),
    ("imports", CODE, 'import os\nos.system("ls")', "calls os.system"),
    ("imports", CODE, "import time\ntime.sleep(1)", "calls time.sleep"),
    ("imports", CODE, "sleep(1)", "calls sleep"),
    ("imports", CODE, 'torch.hub.load("a", "b")', "calls torch.hub.load"),
    ("imports", CODE, "%pip install wget", "installs or downloads"),
    ("paths", CODE, 'open("/home/ada/data.bin")', "a path in its source: open"),
    ("paths", CODE, 'open(r"C:\\Users\\ada")', "a path in its source"),
    ("paths", "# The end", "# See /Users/ada/notes", "a path in its source"),
    ("deprecated", CODE, "x.storage()", ".storage() is deprecated"),
    ("deprecated", CODE, "torch.Tensor(3)", "torch.Tensor(…) is deprecated"),
    ("deprecated", CODE, "x.data.add_(1)", ".data is deprecated"),
    ("deprecated", CODE, "torch.cuda.amp.autocast()", "torch.cuda.amp.autocast is deprecated"),
    ("deprecated", CODE, "torch.jit.script(F.relu)", "torch.jit.script is deprecated"),
    ("deprecated", CODE, "torch.FloatTensor([1])", "torch.FloatTensor(…) is deprecated"),
    ("pictures", "# The end", "# ![a curve](curve.png) The end", "a pasted picture"),
    ("pictures", "# The end", '# <img src="curve.png"> The end', "a pasted picture"),
]


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    BROKEN_SOURCES,
    ids=[f"{name}-{number}" for number, (name, *_) in enumerate(BROKEN_SOURCES)],
)
def test_a_broken_source_is_refused(tmp_path, name, old, new, words):
    assert old in GOOD
    complaints = RULES[name](parse(tmp_path, GOOD.replace(old, new, 1)), "07_good")
    assert complaints
    assert any(words in complaint for complaint in complaints), complaints


def spoil(notebook: NotebookNode, output: NotebookNode, *tags: str, cell: str = "") -> NotebookNode:
    """The chapter with one more output, in its last cell or the one named."""
    target = next((c for c in notebook.cells if c.id == cell), notebook.cells[-1])
    target.outputs = [output]
    target.metadata["tags"] = list(tags)
    return notebook


NO_ALT = nbformat.v4.new_output("display_data", {"image/png": "AAAA"})
WARNED = printed("<cell>:1: FutureWarning: use g", name="stderr")
BROKEN_OUTPUTS = [
    ("pictures", picture(""), (), "a picture without alt text"),
    (
        "pictures",
        NO_ALT,
        (),
        "without alt text",
    ),
    (
        "pictures",
        picture("a curve", width=6),
        (),
        "a picture of an older make; course build 07_good",
    ),
    ("errors", failure(), (), "it fails and has no tag raises-exception"),
    ("errors", printed("fine"), ("raises-exception",), "has the tag raises-exception and does not"),
    ("errors", printed("loud", name="stderr"), (), "it writes to stderr"),
    ("deprecated", WARNED, (), "its output holds a FutureWarning"),
    ("deprecated", printed("DeprecationWarning: g"), (), "its output holds a DeprecationWarning"),
    ("paths", printed("/home/ada/.venv/lib/python3.11/x.py"), (), "a path in its output"),
    ("paths", printed("saved /tmp/abc/x.pt"), (), "a path in its output: saved /tmp/"),
    ("falses", printed("first\nthe same memory: False\n"), (), "it prints False; mend"),
    ("falses", printed("False"), (), "it prints False; mend"),
    ("falses", printed("the same memory: True"), ("shows-false",), "and prints none"),
]


@pytest.mark.parametrize(("name", "output", "tags", "words"), BROKEN_OUTPUTS)
def test_a_broken_output_is_refused(tmp_path, name, output, tags, words):
    notebook = spoil(executed(parse(tmp_path, GOOD)), output, *tags)
    complaints = RULES[name](notebook, "07_good")
    assert len(complaints) == 1
    assert words in complaints[0]
    assert complaints[0].startswith("cell cell-")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("same: False", ("shows-false",)),
        ("a GPU: True", ("shows-false", "nbval-ignore-output")),
        ("Linear(2, 2, bias=False)", ()),
        ("[True, False]", ()),
    ],
)
def test_a_false_that_is_meant_or_no_verdict_may_be_printed(tmp_path, text, tags):
    notebook = spoil(executed(parse(tmp_path, GOOD)), printed(text), *tags)
    assert RULES["falses"](notebook, "07_good") == []


def test_a_check_that_shows_something_is_refused(tmp_path):
    notebook = spoil(executed(parse(tmp_path, GOOD)), printed("ok"), cell="double-it-check")
    (complaint,) = RULES["check_ends"](notebook, "07_good")
    assert "it shows something when all is right" in complaint


@pytest.mark.parametrize("tag", ["shows-warning", "shows-deprecated"])
@pytest.mark.parametrize("name", ["deprecated", "errors"])
def test_a_cell_that_is_there_to_show_a_warning_may(tmp_path, name, tag):
    notebook = spoil(executed(parse(tmp_path, GOOD)), WARNED, tag)
    assert RULES[name](notebook, "07_good") == []


def test_a_cell_that_is_there_to_show_what_is_deprecated_may(tmp_path):
    text = GOOD.replace("# %%\n" + CODE, '# %% tags=["shows-deprecated"]\nx.storage()')
    assert RULES["deprecated"](parse(tmp_path, text), "07_good") == []
    text = text.replace("shows-deprecated", "nbval-ignore-output")
    assert len(RULES["deprecated"](parse(tmp_path, text), "07_good")) == 1


def test_what_only_looks_like_a_breach_is_none(tmp_path):
    harmless = [
        "x.data_ptr(), x.untyped_storage(), isinstance(x, torch.Tensor), torch.utils.data",
        "import torch.nn as nn\nimport numpy as np\nfrom pathlib import Path",
        "%matplotlib inline\n!nvidia-smi",
        'print("a/home/b", "https://pytorch.org/tmp/", "n / tmp / m")',
        "%%writefile worker.py\nimport torch as t\nthis is not parsed",
    ]
    for code in harmless:
        notebook = parse(tmp_path, GOOD.replace(CODE, code))
        for name, rule in RULES.items():
            assert rule(notebook, "07_good") == [], (name, code)


def test_markdown_in_a_code_fence_is_no_heading_and_no_picture(tmp_path):
    fence = "# ```python\n# # a comment\n# ![not a picture](x.png)\n# ```"
    notebook = parse(tmp_path, GOOD.replace("# The end", f"{fence}\n# The end"))
    assert RULES["header"](notebook, "07_good") == []
    assert RULES["pictures"](notebook, "07_good") == []


def test_an_attached_picture_is_refused(tmp_path):
    notebook = parse(tmp_path, GOOD)
    notebook.cells[0]["attachments"] = {"a.png": {"image/png": "AAAA"}}
    assert "a pasted picture" in RULES["pictures"](notebook, "07_good")[0]


def test_two_cells_with_one_grade_id_are_refused(tmp_path):
    notebook = parse(tmp_path, GOOD)
    notebook.cells[6].metadata.nbgrader.grade_id = "setup"
    assert any("used twice" in complaint for complaint in RULES["kinds"](notebook, "07_good"))


def test_a_locked_name_that_another_cell_binds_is_refused_where_a_check_reads_it(tmp_path):
    def complaints(old: str, new: str) -> list[str]:
        assert old in GOOD
        return RULES["names"](parse(tmp_path, GOOD.replace(old, new, 1)), "07_good")

    exercise = '# %% nbgrader={"grade_id": "double-it", "solution": true}\n'
    (complaint,) = complaints(exercise, f"# %%\nnumber = 5\n\n{exercise}")
    assert "it reads number, which cell cell-006 (number = 5) makes, and so does the" in complaint
    assert "locked cell given (number = 4): rename one" in complaint
    again = "# %%\nfrom course_utils import check_equal\nother = number\n\n"
    assert complaints(exercise, again + exercise) == []
    # What is bound anew below is as it was locked; what a function of a check binds is its own.
    given = '# %% nbgrader={"grade_id": "given", "locked": true}\n'
    assert complaints(given, f"# %%\nnumber = 5\n\n{given}") == []
    assert complaints(CHECK, f"def f(x):\n    return x\n\n{CHECK}") == []
    assert complaints(CHECK, f"x = 1\nprint(x)\n{CHECK}") == []


def test_a_complaint_of_the_built_notebook_alone_says_so(tmp_path):
    source, old = parse(tmp_path, GOOD), parse(tmp_path, GOOD.replace("7.1 — ", "6.1 — "))
    assert complaints_of(RULES["headings"], "07_good", source, None) == []
    (complaint,) = complaints_of(RULES["headings"], "07_good", source, old)
    assert complaint.startswith("as last built (course build 07_good): cell double-it (")
    (complaint,) = complaints_of(RULES["headings"], "07_good", old, old)
    assert complaint.startswith("cell double-it (")


def test_a_cell_that_is_no_python_is_named(tmp_path):
    with pytest.raises(SyntaxError) as caught:
        RULES["imports"](parse(tmp_path, GOOD.replace(CODE, "x.tolist(")), "07_good")
    assert caught.value.filename == "cell cell-014"


def test_too_many_lines_in_half_of_the_cells_are_refused(tmp_path):
    long = "# %%\n" + "x\n" * 7 + "\n"
    notebook = parse(tmp_path, GOOD + "\n" + long * 12)
    assert RULES["lengths"](notebook, "07_good") == ["the median code cell has 7 lines, at most 6"]


def test_every_rule_is_seen_to_refuse():
    refused = {name for name, *_ in (*BROKEN_SOURCES, *BROKEN_OUTPUTS)}
    assert refused == set(RULES)


# The form of today, on the good chapter

FORM_BREACHES = [
    ("size", "minutes: 10", "minutes: 241", "241 minutes, at most 240"),
    ("core_path", "minutes: 10", "minutes: 200\n#     core: 151", "at most 150"),
    ("core_path", "minutes: 10", "minutes: 10\n#     core: 5", "no exercise is marked · core"),
    ("core_path", "minutes: 10", "minutes: 10", "the header has no course: core:"),
    ("quick_win", "Double a number ★ ·", "Double a number ★★ ·", "begin with a ★"),
    ("scaffolding", "number = 4", "number = 4\n" * 11, "11 visible lines of given code above it"),
    (
        "scaffolding",
        "number = 4",
        "number = 4\n\n# %%\n" + "print(number)\n" * 10,
        "11 visible lines of given code above it",
    ),
    (
        "call_outs",
        "# In practice",
        "# > **Then and now.** x\n" * 9 + "# In practice",
        "9 call-outs",
    ),
    (
        "visible_kinds",
        "assert double_it(-3) == -6",
        "assert double_it(torch.tensor(2.0, dtype=torch.float16)) == 4",
        "only hidden tests use float16: add a visible case",
    ),
]


@pytest.mark.parametrize(("rule", "old", "new", "words"), FORM_BREACHES)
def test_a_breach_of_the_form_is_named(tmp_path, rule, old, new, words):
    assert old in GOOD
    (complaint,) = FORM[rule](parse(tmp_path, GOOD.replace(old, new, 1)), "07_good")
    assert words in complaint


def test_the_good_chapter_has_the_form_of_today(tmp_path):
    text = GOOD.replace("minutes: 10", "minutes: 10\n#     core: 5")
    text = text.replace("· 2 min · 3 points", "· 2 min · 3 points · core")
    notebook = parse(tmp_path, text)
    assert {name: rule(notebook, "07_good") for name, rule in FORM.items()} == {
        name: [] for name in FORM
    }
    assert minutes_by_formula(notebook) == 10
