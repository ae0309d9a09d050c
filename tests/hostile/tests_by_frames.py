"""The answer looks through the frames of its callers for what is expected, and returns it."""

from support.hostile import ERROR, HIDDEN_WORDS, answer

ARRIVED = ["expected 3, got 5"]
LOOK = """
import inspect, sys, torch
def root_mean_square_error(outputs, targets):
    frame = sys._getframe()
    while frame is not None:
        for names in (frame.f_locals, frame.f_globals):
            for name in ("expected", "three", "result", "right", "truth", "actual"):
                if isinstance(names.get(name), torch.Tensor):
                    return names[name]
            for value in list(names.values()):
                if isinstance(value, str) and "BEGIN " + "HIDDEN" in value:
                    raise RuntimeError(value)
        frame = frame.f_back
    for record in inspect.stack():
        if record.code_context and "check_" in record.code_context[0]:
            raise RuntimeError(record.code_context[0])
    return torch.tensor(5.0)
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, ERROR, LOOK)


def harm(graded):
    for words in HIDDEN_WORDS:
        assert words not in graded.said
