"""One check passes the inputs of its hidden tests on to the visible tests of the next one."""

from support.hostile import ERROR, answer

ARRIVED = ["were refused"]
KNOWN_LIMIT = (
    "the words of an author's visible test quote what an answer says, whatever it has heard"
)
EARNS = {ERROR: 1}
PASS_ON = """
import mmap, torch
shared = mmap.mmap(-1, 10_000)
def root_mean_square_error(outputs, targets):
    heard = bytes(shared).rstrip(bytes(1)).decode()
    if outputs.shape == (3, 1) and heard:
        raise ValueError("LEA" + "KED " + heard)
    shared[:200] = repr(outputs.tolist()).encode()[:200].ljust(200, bytes(1))
    if outputs.shape != targets.shape:
        raise ValueError("no")
    return (outputs - targets).square().mean().sqrt()
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, ERROR, PASS_ON)


def harm(graded):
    assert "LEAKED" not in graded.said
