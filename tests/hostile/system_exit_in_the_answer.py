"""The answer raises what ends a check's cell without an error: SystemExit, KeyboardInterrupt."""

from support.hostile import ERROR, answer

ARRIVED = ["SystemExit: 0"]
LEAVE = """
class Leave(SystemExit, ValueError):
    pass

calls = []
def root_mean_square_error(outputs, targets):
    calls.append(1)
    if len(calls) % 2:
        raise SystemExit(0)
    raise KeyboardInterrupt
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, ERROR, LEAVE)
