"""Files of named answers are read as Jupytext reads them."""

import jupytext
import pytest

from course_utils.authoring.answer_files import read_cells
from support.answers import ANSWERS

FILE = '''
"""What stands above the first cell."""

# %% [markdown]
# Rules:
#
# - "no loop"

# %% wrong="a loop" breaks="no loop" says=["row by row", "a \\"loop\\""]

def total(x):
    # %%timeit is no cell
    return sum(row.sum() for row in x)


# %% right="one call"
total = torch.sum
'''


def test_options_and_sources(tmp_path):
    path = tmp_path / "total.py"
    path.write_text(FILE, encoding="utf-8")
    text, wrong, right = read_cells(path)
    assert (text.is_text, text.options, text.source) == (True, {}, 'Rules:\n\n- "no loop"')
    assert wrong.options == {
        "wrong": "a loop",
        "breaks": "no loop",
        "says": ["row by row", 'a "loop"'],
    }
    assert wrong.source.startswith("def total(x):\n    # %%timeit")
    assert wrong.source.endswith("for row in x)")
    assert (right.is_text, right.options, right.source) == (
        False,
        {"right": "one call"},
        "total = torch.sum",
    )


def test_a_file_without_a_cell_holds_none(tmp_path):
    path = tmp_path / "total.py"
    path.touch()
    assert read_cells(path) == []


@pytest.mark.parametrize("path", sorted(ANSWERS.glob("*/*-p*.py"))[:6], ids=lambda path: path.stem)
def test_jupytext_reads_the_same(path):
    theirs = jupytext.read(path, fmt="py:percent").cells
    ours = read_cells(path)
    assert [cell.source for cell in ours] == [cell.source.strip("\n") for cell in theirs]
    assert [cell.is_text for cell in ours] == [cell.cell_type == "markdown" for cell in theirs]
    for mine, cell in zip(ours, theirs, strict=True):
        cell.metadata.pop("lines_to_next_cell", None)
        assert mine.options == cell.metadata
