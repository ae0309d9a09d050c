"""A tensor subclass that answers every question of PyTorch's as the check would like it."""

from support.hostile import ERROR, answer

ARRIVED = ["expected 5, got 0"]
LIAR = """
import torch
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), keywords=None):
        name = getattr(function, "__name__", "")
        if name in ("isclose", "eq", "__eq__"):
            return torch.ones((), dtype=torch.bool)
        if name in ("equal", "allclose"):
            return True
        other = next((a for a in args if type(a) is torch.Tensor), torch.tensor(5.0))
        return other.sum() * 0 + 5 if name != "item" else 5.0
    shape = property(lambda self: torch.Size(()))
    dtype = property(lambda self: torch.float32)
    def item(self):
        return 5.0
    def __reduce__(self):
        return (print, ("unpickled",))
def root_mean_square_error(outputs, targets):
    return torch.zeros(()).as_subclass(Liar)
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, ERROR, LIAR)
