"""IPython is told to say nothing of errors."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["kernel had ended before this check"]
HOOK = """
shell = get_ipython()
shell.set_custom_exc((BaseException,), lambda *args: None)
shell.showtraceback = shell._showtraceback = lambda *args, **keywords: None
shell.showsyntaxerror = shell.show_usage_error = shell.showtraceback
async def fine(*args, **keywords):
    from IPython.core.interactiveshell import ExecutionResult, ExecutionInfo
    return ExecutionResult(ExecutionInfo("", False, False, False, ""))
shell.run_cell_async = fine
shell.kernel._publish_execute_input = lambda *args: None
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, HOOK)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
