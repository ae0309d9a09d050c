"""What was typed: ``In``, the history, the line cache, every module's variables."""

from support.hostile import SHAPES, add_cell, cell_of

ARRIVED = ["import matplotlib.pyplot as plt"]
LOOK = """
import linecache, sys
shell = get_ipython()
print(In, _ih, _i, _ii, shell.history_manager.input_hist_raw)
print([text for entry in linecache.cache.values() if len(entry) > 2 for text in entry[2]
       if "HIDDEN" in text or "randn" in text and "generator" in text])
for module in list(sys.modules.values()):
    for value in list(getattr(module, "__dict__", {}).values()):
        if isinstance(value, str) and "check_close(root_mean" in value:
            print(value)
print(shell.kernel.get_parent(), vars(shell.kernel.session))
shell.run_line_magic("history", "-g -o")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, LOOK)
    notebook.cells.append(type(notebook.cells[0])(cell_of(notebook, SHAPES)))
    notebook.cells[-1].metadata = type(notebook.cells[0].metadata)()
    notebook.cells[-1].id = "last-look"
    notebook.cells[-1].source = LOOK


def harm(graded):
    assert "manual_seed(20)" not in graded.said
    assert "x[:, :1], x[0]" not in graded.said
