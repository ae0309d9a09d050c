"""The answer tells the inputs of hidden tests by its errors: words, names, source lines."""

from support.hostile import ERROR, answer

ARRIVED = ["in a hidden test"]
EARNS = {ERROR: 1}
LEAK = """
import linecache, torch
def root_mean_square_error(outputs, targets):
    if outputs.shape != targets.shape:
        raise ValueError("no")
    if outputs.numel() < 7:  # as in all that the student can see
        return (outputs - targets).square().mean().sqrt()
    words = "LEA" + "KED " + repr(outputs.tolist())
    name = "<ipython-input-1-leak>"
    linecache.cache[name] = (1, None, ["raise Leak(words)  # " + words + chr(10)], name)
    Leak = type("LEA" + "KED", (ZeroDivisionError,), {})
    exec(compile("raise Leak(words)", name, "exec"), {"Leak": Leak, "words": words})
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, ERROR, LEAK)


def harm(graded):
    assert "in a hidden test" in graded.said
    assert "LEAKED" not in graded.said
