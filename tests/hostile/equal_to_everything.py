"""An object that equals everything, holds everything and is an instance of everything."""

from support.hostile import ERROR, SHAPES, answer

ARRIVED = ["is of type dict, expected"]
EQUAL = """
import torch
class Anything(dict):
    __class__ = torch.Tensor
    shape, dtype, device = (), torch.float32, torch.device("cpu")
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    def __hash__(self):
        return 0
    def __getattr__(self, name):
        return self
    def __call__(self, *args, **keywords):
        return self
    def __getitem__(self, key):
        return self
    get = pop = __getitem__
    def __iter__(self):
        return iter(())
    def items(self):
        return []
    def __bool__(self):
        return True
class Number(int):
    __eq__ = Anything.__eq__
    __hash__ = int.__hash__
predict_warm_up = Anything(
    {"a + b": Number(1), "c + a": Number(1), "c + d": Number(1), "c.mean()": Anything(),
     "c.mean(dim=0)": Anything()})
def root_mean_square_error(outputs, targets):
    return Anything()
"""


def hand_in(chapter, notebook, folder):
    answer(notebook, SHAPES, EQUAL)
    answer(notebook, ERROR, EQUAL)
