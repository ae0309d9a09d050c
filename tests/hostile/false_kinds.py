"""Objects of classes that are called torch.Tensor, dict or tuple, and unpickle into mischief."""

from support.hostile import ERROR, SHAPES, answer, forbidden_file

ARRIVED = ["is of type Tensor, expected"]
FALSE = """
import os
class Evil:
    def __reduce__(self):
        return (os.system, ("touch {marker}",))
    def __repr__(self):
        return "tensor(5.)" * 1000
    def __getattr__(self, name):
        return Evil()
    def __enter__(self):
        return self
    def __exit__(self, *args):
        return True
Tensor = type("Tensor", (Evil,), {{"__module__": "torch"}})
Predictions = type("dict", (Evil,), {{"__module__": "builtins"}})
Predictions.__qualname__ = "x.y\\x00z"
predict_warm_up = Predictions()
def root_mean_square_error(outputs, targets):
    return Tensor()
"""


def hand_in(chapter, notebook, folder):
    source = FALSE.format(marker=forbidden_file(chapter))
    answer(notebook, SHAPES, source)
    answer(notebook, ERROR, source)


def harm(graded):
    assert not forbidden_file(graded.chapter).exists()
