"""Every object in memory is searched for tensors without dimensions and for test code."""

from support.hostile import ERROR, HIDDEN_WORDS, answer

ARRIVED = ["expected 3, got 5"]
LOOK = """
import gc, torch, types
def root_mean_square_error(outputs, targets):
    found = [o for o in gc.get_objects() if type(o) is torch.Tensor and o.shape == ()]
    codes = [o for o in gc.get_objects() if isinstance(o, types.CodeType) and "check" in o.co_name]
    texts = [s for o in gc.get_objects() if isinstance(o, dict) for s in list(o.values())
             if isinstance(s, str) and "### BEGIN " + "HIDDEN" in s]
    if texts:
        raise RuntimeError(texts[0])
    return found[0] if found else torch.tensor(5.0)
print(root_mean_square_error(torch.ones(2), torch.ones(2)))
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, ERROR, LOOK)


def harm(graded):
    for words in HIDDEN_WORDS:
        assert words not in graded.said
